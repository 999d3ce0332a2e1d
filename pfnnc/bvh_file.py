"""BVH files as they are: read what exporters write, refuse the rest, write what reads back bit by bit.

Units, degrees and channels stay those of the file; clips are made from it in `bvh`. What is read although it is
odd comes with a ``UserWarning``; what two readers could understand differently is a `BVHError` at the token at fault.
"""

import gzip
import os
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from . import _check, _core
from ._files import TooLargeError, read_stream, read_whole, written_whole
from .skeleton import CHANNELS, Skeleton, strings

__all__ = ["BVHData", "BVHError", "read_bvh", "write_bvh"]

Source = str | os.PathLike | bytes | BinaryIO

# A gzip file can hold a thousand times its size: a large one is refused where it is out of all proportion to the file.
LARGE, LIKELY_RATIO = 1 << 30, 100
MOST_BYTES = 1 << 34  # of a file; days of motion


class BVHError(ValueError):
    """A file that is no BVH, or one that could be understood in two ways.

    ``path``: as it was given. ``line`` and ``column`` of the token at fault count from 1, the column in bytes; at the
    end of the file they are those of the last text. ``message``: what was expected and what came.

    >>> str(BVHError("walk.bvh", 12, 7, "expected a number after OFFSET, got 'x'"))
    "walk.bvh:12:7: expected a number after OFFSET, got 'x'"
    """

    def __init__(self, path: str, line: int, column: int, message: str) -> None:
        super().__init__(path, line, column, message)
        self.path, self.line, self.column, self.message = path, line, column, message

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}: {self.message}"


@dataclass(eq=False, repr=False)
class BVHData:
    """A BVH file as it is: its units, degrees, nothing converted.

    ``names``: J names. ``parents``: (J,) integers, -1 for a root, a parent before its children. ``offsets``: (J, 3).
    ``channels``: for each joint its channels in order, such as ``("Zrotation", "Xrotation", "Yrotation")``.
    ``end_sites``: pairs of a joint's index and a (3,) offset. ``frames``: (T, C) float64, the channels joint by joint.
    ``frame_time``: seconds.
    """

    names: Sequence[str]
    parents: np.ndarray
    offsets: np.ndarray
    channels: Sequence[Sequence[str]]
    end_sites: Sequence[tuple[int, np.ndarray]]
    frames: np.ndarray
    frame_time: float

    def __repr__(self) -> str:
        shape = "x".join(map(str, np.shape(self.frames)))
        return f"<BVHData of {len(self.names)} joints, {shape} values, {self.frame_time!r} s a frame>"


# ---- reading ------------------------------------------------------------------------------------


def read_bvh(path: Source, *, encoding: str | None = None) -> BVHData:
    """The BVH file at ``path`` as it is.

    ``path``: a path, the bytes of a file, or a binary file object; gzip is unpacked. ``encoding`` is that of the
    names: UTF-8 by default, and Latin-1 with a warning where they are not. ``OSError`` where the file cannot be
    opened, `BVHError` where it is no BVH, or does not end: a pipe or a device is read up to 256 MiB, a file object up
    to 1 GiB, a file up to 16 GiB.

    ``UserWarning`` names what was read although it is odd: other counts of frames than ``Frames:`` says, rows broken
    over lines, joints without CHANNELS, more than one ROOT, a name twice, positions of 0 beside an OFFSET.

    >>> text = b"HIERARCHY ROOT hip { OFFSET 0 0 0 CHANNELS 1 Yrotation } MOTION Frames: 2 Frame Time: 0.04\\n10\\n20"
    >>> data = read_bvh(text)
    >>> data, data.frames.tolist()
    (<BVHData of 1 joints, 2x1 values, 0.04 s a frame>, [[10.0], [20.0]])
    """
    label, text, _ = contents_of(path)
    data, notes = parse(label, text, encoding)
    warn_of(label, [*notes, *several_roots(data), *lost_offsets(data)])
    return data


def contents_of(path: Source) -> tuple[str, bytes, str]:
    """What to call it in messages, its bytes, and the name of a clip made from it."""
    if isinstance(path, (bytes, bytearray, memoryview)):
        return "<bytes>", _unpacked(bytes(path), "<bytes>"), ""
    try:
        if hasattr(path, "read"):
            label = getattr(path, "name", None)
            label = label if isinstance(label, str) else "<file>"
            text = read_stream(path, label, LARGE)
        else:
            label = path_of(path)
            text = read_whole(label, MOST_BYTES)
    except TooLargeError as error:
        raise BVHError(label, 1, 1, f"{str(error).removeprefix(f'{label} ')}: that is no motion") from None
    name = Path(label).name
    name = name[:-3] if name.lower().endswith(".gz") else name
    return label, _unpacked(text, label), "" if label == "<file>" else Path(name).stem


def path_of(path) -> str:
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"path must be a path, bytes or a binary file, got {type(path).__name__}")
    return os.fsdecode(path)


def _unpacked(text: bytes, label: str) -> bytes:
    """The bytes themselves, or those that gzip made them from."""
    if text[:2] != b"\x1f\x8b":
        return text
    parts, size, rest = [], 0, text
    try:
        while rest[:2] == b"\x1f\x8b":  # a file may hold several streams
            stream = zlib.decompressobj(wbits=31)
            while not stream.eof:
                part = stream.decompress(rest, 1 << 24)
                rest = stream.unconsumed_tail
                if not part and not rest and not stream.eof:
                    raise BVHError(label, 1, 1, "the gzip data end early")
                size += len(part)
                if size > LARGE and size > LIKELY_RATIO * len(text):
                    raise BVHError(label, 1, 1, f"the gzip data unpack to over {size >> 20} MiB: that is no motion")
                parts.append(part)
            rest = stream.unused_data
    except zlib.error as error:
        raise BVHError(label, 1, 1, f"the gzip data are damaged: {error}") from None
    return b"".join(parts)


def parse(label: str, text: bytes, encoding: str | None, allow_zero_time: bool = False) -> tuple[BVHData, list[str]]:
    """The data and what there is to say about them."""
    try:
        parts = _core.bvh_read(text, allow_zero_time)
    except ValueError as error:
        raise BVHError(label, *error.args) from None
    raw_names, parents, offsets, channels, end_parents, end_offsets, frames, frame_time, declared, lines = parts
    notes = []
    by_count, other_count, no_channels, end_channels, _ = lines
    if by_count:
        notes.append(f"line {by_count} is not one frame of {frames.shape[1]} values: read by their number")
    if other_count:
        notes.append(f"Frames: says {declared}, the file has {len(frames)}: read {len(frames)}")
    if no_channels:
        notes.append(f"the joint of line {no_channels} has no CHANNELS: read as CHANNELS 0")
    if end_channels:
        notes.append(f"line {end_channels} gives channels to an End Site, none: ignored")
    names, note = _decoded(raw_names, encoding)
    notes += note
    for name, unique in zip(names, unique_names(names), strict=True):
        if name != unique:
            notes.append(f"more than one joint is called {name!r}: a clip calls the next one {unique!r}")
            break
    end_sites = list(zip(end_parents.tolist(), end_offsets, strict=True))
    return BVHData(names, parents, offsets, channels, end_sites, frames, frame_time), notes


def _decoded(raw_names: list[bytes], encoding: str | None) -> tuple[list[str], list[str]]:
    if encoding is not None:
        if not isinstance(encoding, str):
            raise TypeError(f"encoding must be a string, got {type(encoding).__name__}")
        try:
            return [name.decode(encoding) for name in raw_names], []
        except LookupError:
            raise ValueError(f"encoding={encoding!r} is unknown") from None
    try:
        return [name.decode() for name in raw_names], []
    except UnicodeDecodeError as error:
        name = error.object.decode("latin-1")
        return (
            [name.decode("latin-1") for name in raw_names],
            [f"the name {name!r} is not UTF-8: names read as Latin-1, pass encoding= where they are in another one"],
        )


def several_roots(data: BVHData) -> list[str]:
    roots = [repr(data.names[j]) for j in np.flatnonzero(data.parents < 0)]
    more = ", ..." if len(roots) > 3 else ""
    return [f"the file has {len(roots)} ROOTs, {', '.join(roots[:3])}{more}"] if len(roots) > 1 else []


def lost_offsets(data: BVHData) -> list[str]:
    """A warning where positions look like what they are not: 0 beside an OFFSET, as additions to it would be."""
    columns, _ = channel_columns(data.channels)
    lost = []
    for j in np.flatnonzero((data.parents >= 0) & (columns[:, :3] >= 0).any(axis=1) & data.offsets.any(axis=1)):
        values = data.frames[:, columns[j, :3][columns[j, :3] >= 0]]
        if len(values) and np.abs(values).max() <= 1e-3 * np.abs(data.offsets[j]).max():
            lost.append(data.names[j])
    if not lost:
        return []
    more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
    return [
        f"the positions of {lost[0]!r}{more} are 0 all the time beside an OFFSET: they replace it as everywhere, "
        "load_bvh(positions='add') adds them"
    ]


def warn_of(label: str, notes: list[str], stacklevel: int = 3) -> None:
    for note in notes:
        warnings.warn(f"{label}: {note}", UserWarning, stacklevel)


# ---- writing ------------------------------------------------------------------------------------


def write_bvh(path: str | os.PathLike, data: BVHData) -> None:
    """Write ``data`` as a BVH file, every value such that it reads back as the same double.

    Joints are written depth first, children in their order, with their columns. The file is written aside and renamed:
    it is whole or not there. A ``path`` that ends in ``.gz`` is packed. Wrong data are ``ValueError`` or ``TypeError``
    naming what is wrong, a folder that cannot be written is ``OSError``.
    """
    if not isinstance(data, BVHData):
        raise TypeError(f"data must be a BVHData, got {type(data).__name__}")
    path, text = path_of(path), _text(data)
    if path.lower().endswith(".gz"):
        text = gzip.compress(text, 6, mtime=0)
    with written_whole(path) as file:
        file.write(text)


def _text(data: BVHData) -> bytes:
    frame_time = _check.number(data.frame_time, "frame_time", above=0)
    # what a tree of joints must be is the skeleton's knowledge, except that a file may have a name twice
    given = strings(data.names, "names")
    numbers = [f"{j}" for j in range(len(given))]
    tree = Skeleton(numbers, data.parents, data.offsets, channels=data.channels, end_sites=data.end_sites)
    names = []
    for j, name in enumerate(given):
        if "\0" in name:
            raise ValueError(f"names[{j}]={name!r} must not hold NUL")
        try:
            names.append(name.encode())
        except UnicodeEncodeError:
            raise ValueError(f"names[{j}]={name!r} cannot be written as UTF-8") from None
    columns = sum(map(len, tree.channels))
    frames = _check.array(data.frames, "frames", ("T", columns), dtype=np.float64)
    end_parents = np.array([joint for joint, _ in tree.end_sites], np.int32)
    end_offsets = np.array([place for _, place in tree.end_sites], np.float64).reshape(-1, 3)
    parents, codes = tree.parents.astype(np.int32), channel_codes(tree.channels)
    return _core.bvh_write(names, parents, tree.offsets, codes, end_parents, end_offsets, frames, frame_time)


def channel_codes(channels: Sequence[Sequence[str]]) -> list[bytes]:
    """The channels of each joint as the core numbers them."""
    return [bytes(_CODES[channel.lower()] for channel in row) for row in channels]


_CODES = {channel.lower(): code for code, channel in enumerate(CHANNELS)}


# ---- channels -----------------------------------------------------------------------------------


def channel_columns(channels: Sequence[Sequence[str]]) -> tuple[np.ndarray, list[str]]:
    """Where each joint's X Y Z position and X Y Z rotation stand, (J, 6) with -1 for none, and the orders of rotation.

    An order is the axes of a joint's rotation channels as listed: ZXY, Z or nothing.
    """
    columns = np.full((len(channels), 6), -1, np.int64)
    orders, column = [], 0
    for j, row in enumerate(channels):
        order = ""
        for channel in row:
            code = _CODES[channel.lower()]
            columns[j, code] = column
            column += 1
            if code >= 3:
                order += "XYZ"[code - 3]
        orders.append(order)
    return columns, orders


def unique_names(names: Sequence[str]) -> list[str]:
    """The names, made all different: a clip's joints are told apart by name."""
    taken, seen, result = set(names), set(), []
    last: dict[str, int] = {}
    for name in names:
        new, n = name, last.get(name, 1)
        while new in seen or (new != name and new in taken):
            n += 1
            new = f"{name}_{n}"
        last[name] = n
        seen.add(new)
        result.append(new)
    return result
