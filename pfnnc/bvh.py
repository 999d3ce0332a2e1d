"""Clips from BVH files, and files from clips.

`load_bvh` gives a file's numbers their meaning: units, axes, rate, the joint that moves. Nothing is guessed silently.
"""

import os
import warnings
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor

import numpy as np

from . import _check, _core
from ._threads import get_num_threads
from .bvh_file import (
    LARGE,
    BVHData,
    BVHError,
    Source,
    channel_codes,
    channel_columns,
    contents_of,
    lost_offsets,
    parse,
    path_of,
    read_bvh,
    several_roots,
    unique_names,
    warn_of,
    write_bvh,
)
from .rotation import quat_from_euler, quat_mul, quat_rotate, quat_to_euler
from .skeleton import ROOT_CHANNELS, Clip, Skeleton

__all__ = ["BVHData", "BVHError", "load_bvh", "load_clips", "read_bvh", "save_bvh", "write_bvh"]

# A BVH file can hold thousands of joints without channels, each of which costs a clip 32 bytes a frame: a large clip is
# refused where it is out of all proportion to the file.
CLIP_RATIO = 256

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
    """A clip from a BVH file. Rotation channels apply in their order (``Z X Y`` is Rz Rx Ry).

    Parameters
    ----------
    path, encoding
        See `read_bvh`, also for errors.
    scale : float
        Turns the file's lengths into metres (0.01 for centimetres).
    up : "y" or "z"
        "z" turns a file with z up: every vector (x, y, z) becomes (x, z, -y), rotations alike.
    fps : float or None
        Overrides the file's frame time, which otherwise gives the rate; a time within 0.01 % of 1/n seconds means n, as
        0.008333 means 120.
    root : str or None
        The joint that becomes the clip's root: its motion in the world is kept, joints that are not below it are left
        out. None: the first ROOT. Where that one stands still with a single child that moves and carries the rest of
        the body, as in files with a joint for the scene above the pelvis, it is that child, with a warning; a name
        settles it without one.
    positions : "replace" or "add"
        A position channel stands for that component of OFFSET, on any joint; "add" is for the few files that mean an
        addition to it.

    >>> hierarchy = b"HIERARCHY ROOT hip { OFFSET 0 90 0 CHANNELS 1 Yrotation }"
    >>> clip = load_bvh(hierarchy + b"MOTION Frames: 2 Frame Time: 0.033333\\n0\\n90", scale=0.01)
    >>> clip.fps, clip.root_positions[0].tolist(), clip.rotations[1, 0].round(4).tolist()
    (30.0, [0.0, 0.9, 0.0], [0.7071, 0.0, 0.7071, 0.0])
    """
    label, clip, notes = load_with_notes(path, scale, up, fps, root, positions, encoding)
    warn_of(label, notes)
    return clip


def load_with_notes(
    path, scale=1.0, up="y", fps=None, root=None, positions="replace", encoding=None
) -> tuple[str, Clip, list[str]]:
    """`load_bvh` with its warnings in hand, since threads cannot catch each their own."""
    scale = _check.number(scale, "scale", above=0)
    _check.option(up, "up", ("y", "z"))
    _check.option(positions, "positions", ("replace", "add"))
    if fps is not None:
        fps = _check.number(fps, "fps", above=0)
    if root is not None and not isinstance(root, str):
        raise TypeError(f"root must be the name of a joint or None, got {type(root).__name__}")

    label, text, name = contents_of(path)
    data, notes = parse(label, text, encoding, allow_zero_time=fps is not None)
    if positions == "replace":
        notes += lost_offsets(data)
    if 32 * len(data.frames) * len(data.names) > max(LARGE, CLIP_RATIO * len(text)):
        raise ValueError(f"{label}: {len(data.frames)} frames of {len(data.names)} joints are too many for {len(text)} bytes")
    rotations = _core.bvh_rotations(data.frames, channel_codes(data.channels))
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
    columns, _ = channel_columns(data.channels)
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
        names = unique_names(data.names)
        if root not in names:
            listed = " ".join(names[:100]) + (" ..." if len(names) > 100 else "")
            raise ValueError(f"root={root!r} is no joint of the file, which has {listed}")
        return names.index(root), []
    pelvis = _moving_pelvis(data, places, rotations)
    if pelvis == 0:
        return 0, [f"{note}: took the first, root= names another" for note in several_roots(data)]
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
    kept, new = _joints_below(root, data.parents)
    offsets, channels = data.offsets[kept], [data.channels[j] for j in kept]
    root_places, rotations[:, root], offsets[0] = _in_the_world(root, data, places, rotations)
    if data.parents[root] >= 0:
        channels[0] = _root_channels(channels[0])
    rotations = rotations if len(kept) == len(data.names) else rotations[:, kept]
    local = None
    if any(j in places and np.any(places[j] != data.offsets[j]) for j in kept[1:]):
        local = np.repeat(offsets[None], len(data.frames), axis=0)
        for j in places.keys() & set(kept):
            local[:, new[j]] = places[j]
    ends = [(int(new[j]), place) for j, place in data.end_sites if new[j] >= 0]

    if up == "z":
        rotations = np.concatenate([rotations[..., :1], _upright(rotations[..., 1:])], axis=-1)
        offsets, root_places = _upright(offsets), _upright(root_places)
        local = None if local is None else _upright(local)
        ends = [(j, _upright(place)) for j, place in ends]
        channels = [_upright_channels(row) for row in channels]
    names, parents = unique_names(data.names), [-1, *new[data.parents[kept[1:]]]]
    ends = [(j, place * scale) for j, place in ends]
    skeleton = Skeleton([names[j] for j in kept], parents, offsets * scale, channels=channels, end_sites=ends)
    root_places = root_places * scale
    _check.check_finite(root_places, "root positions times scale")
    if local is not None:
        local = local * scale
        local[:, 0] = root_places
        _check.check_finite(local, "positions times scale")
    return Clip._of(skeleton, root_places, np.ascontiguousarray(rotations), local, fps, name)


def _joints_below(root: int, parents: np.ndarray) -> tuple[list[int], np.ndarray]:
    """``root`` and the joints below it, and for each joint of the file which of these it is, or -1."""
    kept, new = [], np.full(len(parents), -1)
    for j, parent in enumerate(parents.tolist()):
        if j == root or (parent >= 0 and new[parent] >= 0):
            new[j] = len(kept)
            kept.append(j)
    return kept, new


def _in_the_world(joint: int, data: BVHData, places, rotations) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Place (T, 3) and rotation (T, 4) of a joint in the world, and where it stands with no joint above it turned."""
    chain = [joint]
    while data.parents[chain[-1]] >= 0:
        chain.append(int(data.parents[chain[-1]]))
    top = chain.pop()
    place = places.get(top, np.repeat(data.offsets[top][None], len(data.frames), axis=0))
    rotation, offset = rotations[:, top], data.offsets[top]
    for j in reversed(chain):
        place = place + quat_rotate(rotation, places.get(j, data.offsets[j]))
        rotation = quat_mul(rotation, rotations[:, j])
        offset = offset + data.offsets[j]
    return place, rotation, offset


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


# ---- clips to files -----------------------------------------------------------------------------


def save_bvh(path: str | os.PathLike, clip: Clip) -> None:
    """Write ``clip`` as a BVH file in metres with the channels and End Sites of its skeleton.

    Reading it back gives the same positions and, to 1e-9, the same rotations. A joint that moves in a way that its
    channels cannot hold gets those that it lacks: positions in front, axes behind. The file is whole or not there (see
    `write_bvh`).
    """
    path = path_of(path)
    if not isinstance(clip, Clip):
        raise TypeError(f"clip must be a Clip, got {type(clip).__name__}")
    tree = clip.skeleton
    places = clip.translations
    if places is None:
        places = np.repeat(tree.offsets[None], len(clip), axis=0)
        places[:, 0] = clip.root_positions
    channels = _enough_channels(tree, places, clip.rotations)
    columns, orders = channel_columns(channels)

    frames = np.zeros((len(clip), sum(map(len, channels))))
    for axis in range(3):
        held = columns[:, axis] >= 0
        frames[:, columns[held, axis]] = places[:, held, axis]
    for order, joints in _by_order(orders).items():
        angles = np.degrees(_angles(clip.rotations[:, joints], order))
        for i, axis in enumerate(order):
            frames[:, columns[joints, 3 + "XYZ".index(axis)]] = angles[..., i]
    data = BVHData(tree.names, tree.parents, tree.offsets, channels, tree.end_sites, frames, 1 / clip.fps)
    write_bvh(path, data)


def _enough_channels(tree: Skeleton, places: np.ndarray, rotations: np.ndarray) -> list[tuple[str, ...]]:
    """The skeleton's channels, and more of them for joints that need more."""
    columns, orders = channel_columns(tree.channels)
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


def _by_order(orders: Sequence[str]) -> dict[str, np.ndarray]:
    """Joints of the same order, so that each order takes one vectorised call."""
    groups: dict[str, list[int]] = {}
    for j, order in enumerate(orders):
        groups.setdefault(order, []).append(j)
    return {order: np.array(joints) for order, joints in groups.items()}


def _full_order(order: str) -> str:
    """The order with the axes that it lacks behind it: their angle is 0."""
    return order + "".join(axis for axis in "XYZ" if axis not in order)


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
    paths = files_of(folder_or_paths)
    if executor is not None:
        return _gather(paths, executor, errors, options)
    with ThreadPoolExecutor(min(workers or get_num_threads(), max(len(paths), 1))) as threads:
        return _gather(paths, threads, errors, options)


def files_of(folder_or_paths, argument: str = "folder_or_paths") -> list[Source]:
    if not isinstance(folder_or_paths, (str, os.PathLike)):
        if isinstance(folder_or_paths, (bytes, bytearray)) or not isinstance(folder_or_paths, Iterable):
            raise TypeError(f"{argument} must be a folder or paths, got {type(folder_or_paths).__name__}")
        return list(folder_or_paths)
    folder = path_of(folder_or_paths)
    if os.path.isfile(folder):
        return [folder]
    names = sorted(name for name in os.listdir(folder) if name.lower().endswith((".bvh", ".bvh.gz")))
    if not names:
        raise ValueError(f"{argument}={folder!r} has no .bvh files")
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
            warn_of(label, notes, stacklevel=4)
            clips.append(clip)
    finally:
        for future in futures:
            future.cancel()
    return clips


def _load_one(path: Source, options: dict) -> tuple[str, Clip, list[str]]:
    return load_with_notes(path, **options)
