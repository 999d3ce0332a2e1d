"""The package's own file format: named arrays and a checksum, readable from C (csrc/core/store.c).

Little-endian. A header of 64 bytes::

    0   8 bytes   magic  "PFNNC\\r\\n\\x1a"
    8   uint32    format version, 1
    12  uint32    number of arrays
    16  uint64    length of the file in bytes
    24  uint32    CRC-32 (that of zlib) of all bytes from 28 on
    28  4 bytes   zero
    32  32 bytes  kind ("network", "checkpoint", "motion-model"), padded with zeros

Then 128 bytes an array::

    0   64 bytes  name, UTF-8, padded with zeros
    64  8 bytes   type as NumPy writes it ("<f4" "<f8" "<i8" "<i4" "|u1" "|b1"), padded with zeros
    72  uint32    number of dimensions, 0..4
    76  4 bytes   zero
    80  uint64[4] lengths, unused ones 1
    112 uint64    where the array begins in the file, a multiple of 64
    120 uint64    its length in bytes

Text and structured settings are a JSON text in an array of bytes. Nothing in a file is ever executed.
"""

import json
import os
import struct
import zlib

import numpy as np

from ._files import written_whole

MAGIC = b"PFNNC\r\n\x1a"
VERSION = 1
TYPES = ("<f4", "<f8", "<i8", "<i4", "|u1", "|b1")
HEADER = struct.Struct("<8sIIQII32s")
ENTRY = struct.Struct("<64s8sII4QQQ")


def pack(kind: str, arrays: dict[str, np.ndarray], settings: dict | None = None) -> bytes:
    """The bytes of a file. ``settings`` is stored as JSON under the name "settings"."""
    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    if settings is not None:
        text = json.dumps(settings, allow_nan=False).encode()
        arrays["settings"] = np.frombuffer(text, np.uint8)
    table, body, start = [], [], HEADER.size + ENTRY.size * len(arrays)
    for name, array in arrays.items():
        if array.dtype.str not in TYPES or array.ndim > 4 or len(name.encode()) > 64:
            raise ValueError(f"cannot store {name!r} of type {array.dtype} and {array.ndim} dimensions")
        padding = -start % 64
        start += padding
        table.append(
            ENTRY.pack(
                name.encode(),
                array.dtype.str.encode(),
                array.ndim,
                0,
                *array.shape,
                *[1] * (4 - array.ndim),
                start,
                array.nbytes,
            )
        )
        body += [b"\0" * padding, array.tobytes()]
        start += array.nbytes
    rest = b"".join([b"\0" * 4, kind.encode().ljust(32, b"\0"), *table, *body])
    return HEADER.pack(MAGIC, VERSION, len(arrays), start, zlib.crc32(rest), 0, b"")[:28] + rest


def unpack(data: bytes, kind: str, path: str = "data") -> tuple[dict[str, np.ndarray], dict]:
    """Arrays (writable copies) and settings of a file's bytes. Whatever is damaged or foreign is ``ValueError``."""

    def refuse(why: str):
        return ValueError(f"{path} is no {kind} file of pfnnc: {why}")

    if len(data) < HEADER.size:
        raise refuse(f"{len(data)} bytes are too few")
    magic, version, count, length, checksum, _, found = HEADER.unpack_from(data)
    if magic != MAGIC:
        raise refuse("it does not begin as one")
    if version != VERSION:
        raise refuse(f"its format version is {version}, this package reads {VERSION}")
    if length != len(data):
        raise refuse(f"it should have {length} bytes and has {len(data)}")
    if zlib.crc32(memoryview(data)[28:]) != checksum:
        raise refuse("its checksum is wrong, so it is damaged")
    found = found.rstrip(b"\0").decode(errors="replace")
    if found != kind:
        raise refuse(f"it holds a {found}")
    if HEADER.size + ENTRY.size * count > len(data):
        raise refuse("its table is cut")
    arrays = {}
    for i in range(count):
        name, dtype, ndim, _, *rest = ENTRY.unpack_from(data, HEADER.size + i * ENTRY.size)
        shape, start, nbytes = tuple(rest[:4]), rest[4], rest[5]
        name, dtype = name.rstrip(b"\0").decode(errors="replace"), dtype.rstrip(b"\0").decode(errors="replace")
        if dtype not in TYPES or ndim > 4 or start + nbytes > len(data):
            raise refuse(f"its entry {name!r} is wrong")
        size = np.dtype(dtype).itemsize
        for n in shape[:ndim]:
            size *= n  # Python integers do not overflow
        if size != nbytes:
            raise refuse(f"its entry {name!r} is wrong")
        arrays[name] = np.frombuffer(data, dtype, nbytes // np.dtype(dtype).itemsize, start).reshape(shape[:ndim]).copy()
    try:
        settings = json.loads(arrays.pop("settings").tobytes()) if "settings" in arrays else {}
    except (ValueError, RecursionError):
        raise refuse("its settings are no JSON") from None
    if not isinstance(settings, dict):
        raise refuse(f"its settings are a {type(settings).__name__}")
    return arrays, settings


def save(path: str | os.PathLike, kind: str, arrays: dict[str, np.ndarray], settings: dict | None = None) -> None:
    """Write a file, whole or not at all (``OSError``)."""
    data = pack(kind, arrays, settings)
    with written_whole(path) as file:
        file.write(data)


def load(path: str | os.PathLike, kind: str) -> tuple[dict[str, np.ndarray], dict]:
    """Read a file. Missing: ``FileNotFoundError``; damaged or of another kind: ``ValueError``."""
    path = os.fspath(path)  # a number would be taken for an open file
    with open(path, "rb") as file:
        data = file.read(HEADER.size)
        if data.startswith(MAGIC):  # else it may be anything, endless even
            data += file.read(max(0, os.fstat(file.fileno()).st_size - HEADER.size) + 1)
    return unpack(data, kind, path)
