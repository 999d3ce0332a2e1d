"""Files that are whole or absent: written aside, then renamed."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def written_whole(path: str | os.PathLike, mode: str = "wb", **options) -> Iterator[IO]:
    """A file to write to that takes the place of ``path`` when the block ends well.

    The bytes go to a new file in the same folder, reach the disk, and are renamed over ``path``. When anything
    fails, ``path`` is untouched and the new file is removed. ``OSError`` where the folder cannot be written, or where
    ``path`` is no regular file: a folder, a device or a pipe is not something to put a file in the place of.
    """
    given = os.fspath(path)
    path = Path(os.path.realpath(given))  # a link stays a link, to the new file
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), given)
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", given)
    handle, aside = tempfile.mkstemp(prefix=f".{path.name[:80]}.", suffix=".part", dir=path.parent)
    try:
        with open(handle, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            mode_bits = path.stat().st_mode & 0o777
        else:
            mask = os.umask(0)
            os.umask(mask)
            mode_bits = 0o666 & ~mask
        os.chmod(aside, mode_bits)
        os.replace(aside, path)
    except BaseException:
        try:
            os.unlink(aside)
        except OSError:
            pass
        raise
