"""Files that are whole or absent: written aside, then renamed."""

import errno
import os
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
    aside = path.with_name(f".{path.name[:40]}.{os.urandom(6).hex()}.part")
    try:
        handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)  # less the umask
    except OSError as error:  # names the file that was asked for
        raise OSError(error.errno, error.strerror, given) from None
    try:
        with open(handle, mode, **options) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            os.chmod(aside, path.stat().st_mode & 0o777)
        os.replace(aside, path)
    except BaseException:
        try:
            os.unlink(aside)
        except OSError:
            pass
        raise
