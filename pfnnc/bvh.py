"""BVH files: read what exporters write, refuse the rest, and write files that read back bit by bit (SPEC S5).

`read_bvh` and `write_bvh` deal with a file as it is: its units, its degrees, every channel in its place. `load_bvh` and
`save_bvh` turn it into a `Clip` and back. What is read although it is odd comes with a ``UserWarning``; what two
readers could understand differently is a `BVHError` at the token at fault.
"""

import gzip
import os
import warnings
import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from . import _check, _core
from ._files import written_whole
from ._threads import get_num_threads
from .rotation import quat_from_euler, quat_mul, quat_rotate, quat_to_euler
from .skeleton import CHANNELS, ROOT_CHANNELS, Clip, Skeleton, _strings

__all__ = ["BVHData", "BVHError", "load_bvh", "load_clips", "read_bvh", "save_bvh", "write_bvh"]

Source = str | os.PathLike | bytes | BinaryIO

# A gzip file can hold a thousand times its size, and a BVH file thousands of joints without channels, each of which
# costs a clip 32 bytes a frame: a large result is refused where it is out of all proportion to the file.
LARGE, LIKELY_RATIO, CLIP_RATIO = 1 << 30, 100, 256


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
    opened, `BVHError` where it is no BVH.

    ``UserWarning`` names what was read although it is odd: other counts of frames than ``Frames:`` says, rows broken
    over lines, joints without CHANNELS, more than one ROOT, a name twice, positions of 0 beside an OFFSET.

    >>> text = b"HIERARCHY ROOT hip { OFFSET 0 0 0 CHANNELS 1 Yrotation } MOTION Frames: 2 Frame Time: 0.04\\n10\\n20"
    >>> data = read_bvh(text)
    >>> data, data.frames.tolist()
    (<BVHData of 1 joints, 2x1 values, 0.04 s a frame>, [[10.0], [20.0]])
    """
    label, text, _ = _contents(path)
    data, notes = _parse(label, text, encoding)
    _warn(label, [*notes, *_several_roots(data), *_lost_offsets(data)])
    return data


def _contents(path: Source) -> tuple[str, bytes, str]:
    """What to call it in messages, its bytes, and the name of a clip made from it."""
    if isinstance(path, (bytes, bytearray, memoryview)):
        return "<bytes>", _unpacked(bytes(path), "<bytes>"), ""
    if hasattr(path, "read"):
        label = getattr(path, "name", None)
        text = path.read()
        if not isinstance(text, bytes):
            raise TypeError(f"path must be a binary file, got one that reads {type(text).__name__}")
        label = label if isinstance(label, str) else "<file>"
    else:
        label = _path(path)
        with open(label, "rb") as file:
            text = file.read()
    name = Path(label).name
    name = name[:-3] if name.lower().endswith(".gz") else name
    return label, _unpacked(text, label), "" if label == "<file>" else Path(name).stem


def _path(path) -> str:
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


def _parse(label: str, text: bytes, encoding: str | None, allow_zero_time: bool = False) -> tuple[BVHData, list[str]]:
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
    for name, unique in zip(names, _unique(names), strict=True):
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


def _several_roots(data: BVHData) -> list[str]:
    roots = [repr(data.names[j]) for j in np.flatnonzero(data.parents < 0)]
    more = ", ..." if len(roots) > 3 else ""
    return [f"the file has {len(roots)} ROOTs, {', '.join(roots[:3])}{more}"] if len(roots) > 1 else []


def _lost_offsets(data: BVHData) -> list[str]:
    """A warning where positions look like what they are not: 0 beside an OFFSET, as additions to it would be."""
    columns, _ = _columns(data.channels)
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


def _warn(label: str, notes: list[str], stacklevel: int = 3) -> None:
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
    _write(_path(path), _text(data))


def _write(path: str, text: bytes) -> None:
    if path.lower().endswith(".gz"):
        text = gzip.compress(text, 6, mtime=0)
    with written_whole(path) as file:
        file.write(text)


def _text(data: BVHData) -> bytes:
    frame_time = _check.number(data.frame_time, "frame_time", above=0)
    # what a tree of joints must be is the skeleton's knowledge, except that a file may have a name twice
    given = _strings(data.names, "names")
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
    parents = tree.parents.astype(np.int32)
    return _core.bvh_write(names, parents, tree.offsets, _codes(tree.channels), end_parents, end_offsets, frames, frame_time)


def _codes(channels: Sequence[Sequence[str]]) -> list[bytes]:
    """The channels of each joint as the core numbers them."""
    return [bytes(_CODES[channel.lower()] for channel in row) for row in channels]


_CODES = {channel.lower(): code for code, channel in enumerate(CHANNELS)}


# ---- channels -----------------------------------------------------------------------------------


def _columns(channels: Sequence[Sequence[str]]) -> tuple[np.ndarray, list[str]]:
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


def _by_order(orders: Sequence[str]) -> dict[str, np.ndarray]:
    """Joints of the same order, so that each order takes one vectorised call."""
    groups: dict[str, list[int]] = {}
    for j, order in enumerate(orders):
        groups.setdefault(order, []).append(j)
    return {order: np.array(joints) for order, joints in groups.items()}


def _full_order(order: str) -> str:
    """The order with the axes that it lacks behind it: their angle is 0."""
    return order + "".join(axis for axis in "XYZ" if axis not in order)


# ---- clips from files ---------------------------------------------------------------------------


def load_bvh(
    path: Source,
    *,
    scale: float = 1.0,
    up: str = "y",
    fps: float | None = None,
    root: str | None = None,
    positions: str = "replace",
    encoding: str | None = None,
) -> Clip:
    """A clip from a BVH file; for ``path``, ``encoding`` and errors see `read_bvh`.

    ``scale`` turns the file's lengths into metres (0.01 for centimetres). ``up="z"`` turns a file with z up: every
    vector (x, y, z) becomes (x, z, -y), rotations alike. ``fps`` overrides the file's frame time, which otherwise gives
    the rate; a time within 0.01 % of 1/n seconds means n, as 0.008333 means 120. Rotation channels apply in their order
    (``Z X Y`` is Rz Rx Ry). A position channel stands for that component of OFFSET, on any joint;
    ``positions="add"`` is for the few files that mean an addition to it.

    ``root`` names the joint that becomes the clip's root: its motion in the world is kept, joints that are not below it
    are left out. By default it is the first ROOT. Where that one stands still with a single child that moves and
    carries the rest of the body, as in files with a joint for the scene above the pelvis, it is that child, with a
    warning; ``root`` settles it without one.

    >>> hierarchy = b"HIERARCHY ROOT hip { OFFSET 0 90 0 CHANNELS 1 Yrotation }"
    >>> clip = load_bvh(hierarchy + b"MOTION Frames: 2 Frame Time: 0.033333\\n0\\n90", scale=0.01)
    >>> clip.fps, clip.root_positions[0].tolist(), clip.rotations[1, 0].round(4).tolist()
    (30.0, [0.0, 0.9, 0.0], [0.7071, 0.0, 0.7071, 0.0])
    """
    label, clip, notes = _load(path, scale, up, fps, root, positions, encoding)
    _warn(label, notes)
    return clip


def _load(path, scale=1.0, up="y", fps=None, root=None, positions="replace", encoding=None) -> tuple[str, Clip, list[str]]:
    """`load_bvh` with its warnings in hand, since threads cannot catch each their own."""
    scale = _check.number(scale, "scale", above=0)
    _check.option(up, "up", ("y", "z"))
    _check.option(positions, "positions", ("replace", "add"))
    if fps is not None:
        fps = _check.number(fps, "fps", above=0)
    if root is not None and not isinstance(root, str):
        raise TypeError(f"root must be the name of a joint or None, got {type(root).__name__}")

    label, text, name = _contents(path)
    data, notes = _parse(label, text, encoding, allow_zero_time=fps is not None)
    if positions == "replace":
        notes += _lost_offsets(data)
    if 32 * len(data.frames) * len(data.names) > max(LARGE, CLIP_RATIO * len(text)):
        raise ValueError(f"{label}: {len(data.frames)} frames of {len(data.names)} joints are too many for {len(text)} bytes")
    rotations = _core.bvh_rotations(data.frames, _codes(data.channels))
    with np.errstate(over="ignore", invalid="ignore"):  # what becomes infinite is refused by name
        places = _local_places(data, positions == "add")
        joint, note = _choose_root(data, places, rotations, root)
        clip = _clip_below(joint, data, places, rotations, scale, up, fps or _rate(data.frame_time), name)
    return label, clip, notes + note


def _rate(frame_time: float) -> float:
    """Frames a second, a whole number where the time is within 0.01 % of its inverse."""
    rate = 1 / frame_time
    whole = round(rate)
    if whole and abs(frame_time * whole - 1) <= 1e-4 * (1 + 1e-9):
        return float(whole)
    return rate


def _local_places(data: BVHData, add: bool) -> dict[int, np.ndarray]:
    """Local places (T, 3), in the file's units, of the joints that have position channels; the others are at OFFSET."""
    columns, _ = _columns(data.channels)
    places = {}
    for j in np.flatnonzero((columns[:, :3] >= 0).any(axis=1)).tolist():
        place = np.repeat(data.offsets[j][None], len(data.frames), axis=0)
        for axis in np.flatnonzero(columns[j, :3] >= 0):
            values = data.frames[:, columns[j, axis]]
            place[:, axis] = values + data.offsets[j, axis] if add else values
        places[j] = place
    return places


def _choose_root(data: BVHData, places, rotations, root: str | None) -> tuple[int, list[str]]:
    """The joint that is to be the clip's root, and what to say about it."""
    if root is not None:
        names = _unique(data.names)
        if root not in names:
            listed = " ".join(names[:100]) + (" ..." if len(names) > 100 else "")
            raise ValueError(f"root={root!r} is no joint of the file, which has {listed}")
        return names.index(root), []
    pelvis = _moving_pelvis(data, places, rotations)
    if pelvis == 0:
        return 0, [f"{note}: took the first, root= names another" for note in _several_roots(data)]
    return pelvis, [
        f"the ROOT {data.names[0]!r} stands still and {data.names[pelvis]!r} moves: took {data.names[pelvis]!r} as the "
        f"root, root={data.names[pelvis]!r} or root={data.names[0]!r} settles it"
    ]


def _moving_pelvis(data: BVHData, places, rotations) -> int:
    """The first joint that moves from its place, down a chain of still joints with one child each, or 0.

    A pelvis has at least two children: with fewer, what moves is a limb or a prop and the file is taken as it is.
    """
    children: list[list[int]] = [[] for _ in data.names]
    for j, parent in enumerate(data.parents.tolist()):
        if parent >= 0:
            children[parent].append(j)

    def moves(track: np.ndarray) -> bool:
        return bool((track != track[:1]).any())

    joint = 0
    while not (joint in places and moves(places[joint])) and not moves(rotations[:, joint]):
        if len(children[joint]) != 1:
            return 0
        joint = children[joint][0]
    return joint if joint in places and moves(places[joint]) and len(children[joint]) >= 2 else 0


def _clip_below(root: int, data: BVHData, places, rotations, scale, up, fps, name) -> Clip:
    """The clip of ``root`` and the joints below it."""
    kept, new = [], np.full(len(data.names), -1)
    for j, parent in enumerate(data.parents.tolist()):
        if j == root or (parent >= 0 and new[parent] >= 0):
            new[j] = len(kept)
            kept.append(j)
    parents = np.array([-1, *(new[data.parents[j]] for j in kept[1:])])

    # what stands above the root moves it in the world and is gone
    chain = [root]
    while data.parents[chain[-1]] >= 0:
        chain.append(int(data.parents[chain[-1]]))
    top = chain.pop()
    root_places = places.get(top, np.repeat(data.offsets[top][None], len(data.frames), axis=0))
    root_rotations, offset = rotations[:, top], data.offsets[top]
    for j in reversed(chain):
        root_places = root_places + quat_rotate(root_rotations, places.get(j, data.offsets[j]))
        root_rotations = quat_mul(root_rotations, rotations[:, j])
        offset = offset + data.offsets[j]

    whole = len(kept) == len(data.names)
    offsets = data.offsets[kept]
    offsets[0] = offset
    channels = [data.channels[j] for j in kept]
    if chain:
        channels[0] = _root_channels(channels[0])
        rotations[:, root] = root_rotations
    rotations = rotations if whole else rotations[:, kept]
    local = None
    if any(j in places and np.any(places[j] != data.offsets[j]) for j in kept[1:]):
        local = np.repeat(offsets[None], len(data.frames), axis=0)
        for new_j, j in enumerate(kept):
            if j in places:
                local[:, new_j] = places[j]
    ends = [(int(new[j]), place) for j, place in data.end_sites if new[j] >= 0]

    if up == "z":
        rotations = np.concatenate([rotations[..., :1], _upright(rotations[..., 1:])], axis=-1)
        offsets, root_places = _upright(offsets), _upright(root_places)
        local = None if local is None else _upright(local)
        ends = [(j, _upright(place)) for j, place in ends]
        channels = [_upright_channels(row) for row in channels]
    names = _unique(data.names)
    skeleton = Skeleton(
        [names[j] for j in kept],
        parents,
        offsets * scale,
        channels=channels,
        end_sites=[(j, place * scale) for j, place in ends],
    )
    root_places = root_places * scale
    _check.check_finite(root_places, "root positions times scale")
    if local is not None:
        local = local * scale
        local[:, 0] = root_places
        _check.check_finite(local, "positions times scale")
    return Clip._of(skeleton, root_places, np.ascontiguousarray(rotations), local, fps, name)


def _upright(vectors: np.ndarray) -> np.ndarray:
    """(x, y, z) with z up as (x, z, -y) with y up."""
    return np.stack([vectors[..., 0], vectors[..., 2], 0.0 - vectors[..., 1]], axis=-1)


def _upright_channels(row: Sequence[str]) -> tuple[str, ...]:
    """The channels of a joint after `_upright`. All three of a kind hold anything; fewer must follow their axes."""
    turned = {"X": "X", "Y": "Z", "Z": "Y"}
    counts = {kind: sum(channel[1:] == kind for channel in row) for kind in ("position", "rotation")}
    return tuple(c if counts[c[1:]] == 3 else turned[c[0]] + c[1:] for c in row)


def _root_channels(row: Sequence[str]) -> tuple[str, ...]:
    """Channels that hold any motion: a joint that had a parent may lack some."""
    if sum(c.endswith("rotation") for c in row) < 3:
        return ROOT_CHANNELS
    return tuple(row) if len(row) == 6 else ROOT_CHANNELS[:3] + tuple(c for c in row if c.endswith("rotation"))


def _unique(names: Sequence[str]) -> list[str]:
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


# ---- clips to files -----------------------------------------------------------------------------


def save_bvh(path: str | os.PathLike, clip: Clip) -> None:
    """Write ``clip`` as a BVH file in metres with the channels and End Sites of its skeleton.

    Reading it back gives the same positions and, to 1e-9, the same rotations. A joint that moves in a way that its
    channels cannot hold gets those that it lacks: positions in front, axes behind. The file is whole or not there (see
    `write_bvh`).
    """
    path = _path(path)
    if not isinstance(clip, Clip):
        raise TypeError(f"clip must be a Clip, got {type(clip).__name__}")
    tree = clip.skeleton
    places = clip.translations
    if places is None:
        places = np.repeat(tree.offsets[None], len(clip), axis=0)
        places[:, 0] = clip.root_positions
    channels = _enough_channels(tree, places, clip.rotations)
    columns, orders = _columns(channels)

    frames = np.zeros((len(clip), sum(map(len, channels))))
    for axis in range(3):
        held = columns[:, axis] >= 0
        frames[:, columns[held, axis]] = places[:, held, axis]
    for order, joints in _by_order(orders).items():
        angles = np.degrees(_angles(clip.rotations[:, joints], order))
        for i, axis in enumerate(order):
            frames[:, columns[joints, 3 + "XYZ".index(axis)]] = angles[..., i]
    data = BVHData(tree.names, tree.parents, tree.offsets, channels, tree.end_sites, frames, 1 / clip.fps)
    _write(path, _text(data))


def _enough_channels(tree: Skeleton, places: np.ndarray, rotations: np.ndarray) -> list[tuple[str, ...]]:
    """The skeleton's channels, and more of them for joints that need more."""
    columns, orders = _columns(tree.channels)
    moved = (places != tree.offsets).any(axis=0)
    short_of_places = (moved & (columns[:, :3] < 0)).any(axis=1)
    short_of_axes = np.zeros(len(tree), bool)
    for order, joints in _by_order(orders).items():
        if len(order) < 3:
            q = rotations[:, joints]
            held = quat_from_euler(_angles(q, order), _full_order(order))
            apart = np.minimum(np.abs(q - held).max(axis=-1), np.abs(q + held).max(axis=-1))
            short_of_axes[joints] = (apart > 2e-10).any(axis=0)  # 1e-9 radians show as half, and 0.58 of that, at least

    channels = list(tree.channels)
    for j in np.flatnonzero(short_of_axes):
        channels[j] = (*channels[j], *(f"{axis}rotation" for axis in _full_order(orders[j])[len(orders[j]) :]))
    for j in np.flatnonzero(short_of_places):
        rest = (channel for channel in channels[j] if channel.lower().endswith("rotation"))
        channels[j] = (*ROOT_CHANNELS[:3], *rest)
    return channels


def _angles(q: np.ndarray, order: str) -> np.ndarray:
    """Angles about the axes of ``order``, 0 about those that it lacks: the rotation itself where it can be that."""
    if len(order) == 2:
        return _two_angles(q, order)
    angles = quat_to_euler(q, _full_order(order))
    angles[..., len(order) :] = 0
    return angles


def _two_angles(q: np.ndarray, order: str) -> np.ndarray:
    """Angles (a, b, 0) of rotations that are a turn a about the first axis of ``order`` times b about the second."""
    first, second = (1 + "XYZ".index(axis) for axis in order)
    third = 6 - first - second
    sign = 1.0 if order in ("XY", "YZ", "ZX") else -1.0
    # with half angles: w = ca cb, first = sa cb, second = ca sb, third = sign sa sb; the larger pair gives a
    wide = np.hypot(q[..., 0], q[..., first]) >= np.hypot(q[..., second], q[..., third])
    a = np.where(wide, np.arctan2(q[..., first], q[..., 0]), np.arctan2(sign * q[..., third], q[..., second]))
    cosine = q[..., 0] * np.cos(a) + q[..., first] * np.sin(a)
    sine = q[..., second] * np.cos(a) + sign * q[..., third] * np.sin(a)
    return np.stack([2 * a, 2 * np.arctan2(sine, cosine), np.zeros_like(a)], axis=-1)


# ---- folders ------------------------------------------------------------------------------------


def load_clips(
    folder_or_paths: str | os.PathLike | Iterable[Source],
    *,
    workers: int | None = None,
    executor: Executor | None = None,
    errors: str = "raise",
    **options,
) -> list[Clip]:
    """The clips of a folder, or of the given files, in a fixed order; ``options`` are those of `load_bvh`.

    A folder stands for its files ``*.bvh`` and ``*.bvh.gz``, by name, without those of folders in it. ``workers``
    files are read at a time over threads (by default `get_num_threads`), or as many as ``executor``, any
    `concurrent.futures.Executor`, takes. The first file in order that fails raises its error, a `BVHError` or
    ``OSError`` that names it; with ``errors="warn"`` such a file is left out with a ``UserWarning``.
    """
    _check.option(errors, "errors", ("raise", "warn"))
    if workers is not None:
        workers = _check.integer(workers, "workers", least=1)
        if executor is not None:
            raise ValueError("workers and executor exclude each other, got both")
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {type(executor).__name__}")
    paths = _files_of(folder_or_paths)
    if executor is not None:
        return _gather(paths, executor, errors, options)
    with ThreadPoolExecutor(min(workers or get_num_threads(), max(len(paths), 1))) as threads:
        return _gather(paths, threads, errors, options)


def _files_of(folder_or_paths) -> list[Source]:
    if not isinstance(folder_or_paths, (str, os.PathLike)):
        if isinstance(folder_or_paths, (bytes, bytearray)) or not isinstance(folder_or_paths, Iterable):
            raise TypeError(f"folder_or_paths must be a folder or paths, got {type(folder_or_paths).__name__}")
        return list(folder_or_paths)
    folder = _path(folder_or_paths)
    if os.path.isfile(folder):
        return [folder]
    names = sorted(name for name in os.listdir(folder) if name.lower().endswith((".bvh", ".bvh.gz")))
    if not names:
        raise ValueError(f"folder_or_paths={folder!r} has no .bvh files")
    return [os.path.join(folder, name) for name in names]


def _gather(paths: list[Source], executor: Executor, errors: str, options: dict) -> list[Clip]:
    clips = []
    futures = [executor.submit(_load_one, path, options) for path in paths]
    try:
        for future in futures:
            try:
                label, clip, notes = future.result()
            except (BVHError, OSError) as error:
                if errors == "raise":
                    raise
                warnings.warn(f"left out: {error}", UserWarning, stacklevel=3)
                continue
            _warn(label, notes, stacklevel=4)
            clips.append(clip)
    finally:
        for future in futures:
            future.cancel()
    return clips


def _load_one(path: Source, options: dict) -> tuple[str, Clip, list[str]]:
    return _load(path, **options)
