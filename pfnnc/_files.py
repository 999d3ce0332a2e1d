"""Files that are whole or absent, written aside and then renamed; and files that may have no end, read up to a limit."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

MOST_STREAMED = 1 << 28  # bytes of what has no size of its own: a pipe, a device


class TooLargeError(ValueError):
    """A file or a stream of more bytes than anybody would mean."""


def read_whole(path: str | os.PathLike, most: int) -> bytes:
    """All bytes of a file of at most ``most``; of a pipe or a device, which may have no end, at most 256 MiB.

    `TooLargeError` beyond that, ``OSError`` where the file cannot be opened or read.
    """
    with open(path, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            return read_stream(file, os.fspath(path), min(most, MOST_STREAMED))
        if status.st_size > most:
            raise TooLargeError(f"{os.fspath(path)} has {status.st_size >> 20} MiB, more than {most >> 20}")
        return file.read()


def read_stream(file: IO[bytes], name: str, most: int) -> bytes:
    """All that comes from a binary file object, at most ``most`` bytes, else `TooLargeError`."""
    parts, size = [], 0
    while True:  # a raw stream gives what it has: less than asked for is not yet its end
        part = file.read(1 << 24)
        if not isinstance(part, bytes):
            raise TypeError(f"path must be a binary file, got one that reads {type(part).__name__}")
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > most:
            raise TooLargeError(f"{name} gives more than {most >> 20} MiB, and nothing tells where it ends")


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
