"""Skeletons and clips: a tree of joints and what it does over time.

A `Clip` keeps what it is given as C-contiguous float64 arrays of its own, and hands out those arrays: it shares no
memory with its arguments, and slicing, mirroring and the like return new clips. Rotations are unit quaternions
``[w, x, y, z]``, child to parent: one whose norm is off by more than rounding is normalised, a zero one is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from . import _check, _core
from .rotation import quat_normalize, quat_slerp

__all__ = ["Clip", "Skeleton", "forward_kinematics"]

CHANNELS = tuple(f"{axis}{kind}" for kind in ("position", "rotation") for axis in "XYZ")
ROOT_CHANNELS = ("Xposition", "Yposition", "Zposition", "Zrotation", "Xrotation", "Yrotation")
JOINT_CHANNELS = ("Zrotation", "Xrotation", "Yrotation")
MOST_ROTATIONS = 1 << 28  # 8 GiB of quaternions: where a clip asked for by a wrong number stops


class Skeleton:
    """A tree of J joints with names, in an order in which a parent stands before its children.

    Parameters
    ----------
    names
        J different strings.
    parents : (J,)
        Integers, -1 for a root; the first joint is one.
    offsets : (J, 3)
        Local places, metres.
    channels
        For each joint the names of its BVH channels in their order. None: positions and Z X Y rotations on the first
        joint, Z X Y rotations on the others.
    end_sites
        Pairs of a joint's index and a (3,) offset.

    Wrong values are ``ValueError``, wrong types ``TypeError``, naming the first index at fault.

    >>> skeleton = Skeleton(["Hips", "LeftLeg", "RightLeg"], [-1, 0, 0], [[0, 0, 0], [0.1, -0.5, 0], [-0.1, -0.5, 0]])
    >>> len(skeleton), skeleton.index("RightLeg")
    (3, 2)
    """

    __slots__ = ("_names", "_parents", "_offsets", "_channels", "_end_sites", "_indices")

    def __init__(
        self,
        names: Iterable[str],
        parents: ArrayLike,
        offsets: ArrayLike,
        *,
        channels: Iterable[Iterable[str]] | None = None,
        end_sites: Iterable[tuple[int, ArrayLike]] = (),
    ) -> None:
        self._names = tuple(strings(names, "names"))
        self._indices = {name: j for j, name in enumerate(self._names)}
        joints = len(self._names)
        if joints == 0:
            raise ValueError("names must hold at least one joint, got none")
        for j, name in enumerate(self._names):
            if not name:
                raise ValueError(f"names[{j}]={name!r} is empty")
            if self._indices[name] != j:
                raise ValueError(f"names[{self._indices[name]}]={name!r} is already the name of names[{j}]")
        self._parents = _parents(parents, joints)
        self._offsets = _check.array(offsets, "offsets", (joints, 3), dtype=np.float64, copy=True)
        self._channels = _channels(channels, joints)
        self._end_sites = tuple(_end_site(item, i, joints) for i, item in enumerate(_iterable(end_sites, "end_sites")))
        for array in (self._parents, self._offsets, *(place for _, place in self._end_sites)):
            array.flags.writeable = False

    @property
    def names(self) -> list[str]:
        """The joints' names, in order (a new list)."""
        return list(self._names)

    @property
    def parents(self) -> np.ndarray:
        """(J,) int64, read-only: the parent's index, -1 for a root."""
        return self._parents

    @property
    def offsets(self) -> np.ndarray:
        """(J, 3) float64, read-only: each joint's place in its parent's space, in metres."""
        return self._offsets

    @property
    def channels(self) -> tuple[tuple[str, ...], ...]:
        """The names of each joint's BVH channels, as in the file."""
        return self._channels

    @property
    def end_sites(self) -> list[tuple[int, np.ndarray]]:
        """Pairs of a joint's index and the (3,) offset of an End Site under it (a new list)."""
        return list(self._end_sites)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<Skeleton of {len(self)} joints from {self._names[0]!r}>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Skeleton):
            return NotImplemented
        return (
            self._names == other._names
            and self._channels == other._channels
            and np.array_equal(self._parents, other._parents)
            and np.array_equal(self._offsets, other._offsets)
            and [j for j, _ in self._end_sites] == [j for j, _ in other._end_sites]
            and all(np.array_equal(a[1], b[1]) for a, b in zip(self._end_sites, other._end_sites, strict=True))
        )

    def __hash__(self) -> int:
        return hash(self._names)

    def index(self, name: str) -> int:
        """The index of the joint of that name; ``ValueError`` names an absent one."""
        if not isinstance(name, str):
            raise TypeError(f"name must be a string, got {type(name).__name__}")
        if name not in self._indices:
            raise ValueError(f"name={name!r} is no joint of this skeleton, which has {_some(self._names)}")
        return self._indices[name]

    def find_pairs(self) -> dict[str, str]:
        """Left joints and their right counterparts by name: ``{"LeftFoot": "RightFoot", ...}``.

        It knows left and right in words (``LeftFoot``, ``left_foot``, ``foot_left``), as a letter apart (``L_Foot``,
        ``foot.L``, ``foot_l``, ``Bip01 L Foot``) and as a first letter (``lFoot``, ``LFoot``, ``lfoot``). Joints
        without a counterpart are in the middle.

        >>> Skeleton(["hip", "lHip", "rHip"], [-1, 0, 0], [[0, 0, 0]] * 3).find_pairs()
        {'lHip': 'rHip'}
        """
        pairs = {}
        for name in self._names:
            for partner in _mirrored_names(name):
                if partner in self._indices:
                    pairs[name] = partner
                    break
        return pairs

    def find_feet(self) -> tuple[list[int], list[int]]:
        """Indices of the joints of the left and of the right foot, ``([ankle, toe], [ankle, toe])``, or without toes.

        By the usual names (ankle, foot, toe, ball) among the left and right joints of `find_pairs`: the ankle is the
        one from which the others hang, the toe the first joint below it. ``ValueError`` where the names do not tell:
        then pass them yourself, functions that need feet have a ``feet`` argument.

        >>> names = ["hip", "lShin", "lFoot", "lToe", "rShin", "rFoot", "rToe"]
        >>> Skeleton(names, [-1, 0, 1, 2, 0, 4, 5], [[0, 0, 0]] * 7).find_feet()
        ([2, 3], [5, 6])
        """
        pairs = self.find_pairs()
        left = {self._indices[name] for name in pairs if FOOT.search(name)}
        ankles = sorted(left - self._below(left))
        if len(ankles) > 1:  # a leg is a pair of joints too; the targets of an engine's IK hang from none
            ankles = [j for j in ankles if self._names[self._parents[j]] in pairs]
        if len(ankles) != 1:
            raise ValueError(f"cannot find the feet by name among {_some(self._names)}: pass feet=(left, right)")
        feet = ankles + sorted(left & self._below({ankles[0]}))[:1]
        return feet, [self._indices[pairs[self._names[j]]] for j in feet]

    def _below(self, joints: set[int]) -> set[int]:
        """All joints that hang from one of these."""
        below: set[int] = set()
        for j, parent in enumerate(self._parents.tolist()):
            if parent in joints or parent in below:
                below.add(j)
        return below


def _some(names: tuple[str, ...]) -> str:
    """Names for a message, not more than a person reads."""
    return " ".join(names[:40]) + (f" and {len(names) - 40} more" if len(names) > 40 else "")


def _iterable(value, name: str):
    try:
        return list(value)
    except TypeError:
        raise TypeError(f"{name} must be a sequence, got {type(value).__name__}") from None


def strings(value, name: str) -> list[str]:
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name} must be a sequence of strings, got {type(value).__name__}")
    items = _iterable(value, name)
    for i, item in enumerate(items):
        if not isinstance(item, str):
            raise TypeError(f"{name}[{i}] must be a string, got {type(item).__name__}")
    return [str(item) for item in items]


def _parents(value: ArrayLike, joints: int) -> np.ndarray:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"parents must be an array of integers, got {error}") from None
    if array.dtype.kind not in "iu" and array.size:
        raise TypeError(f"parents must be integers, got dtype {array.dtype}")
    _check.check_shape(array, "parents", (joints,))
    bad = (array < -1) | (array >= np.arange(joints))
    if bad.any():
        raise ValueError(f"{_check.at('parents', array, bad)} must be -1 for a root or the index of a joint before it")
    return array.astype(np.int64)


def _channels(value, joints: int) -> tuple[tuple[str, ...], ...]:
    if value is None:
        return (ROOT_CHANNELS, *[JOINT_CHANNELS] * (joints - 1))
    rows = tuple(tuple(strings(row, f"channels[{j}]")) for j, row in enumerate(_iterable(value, "channels")))
    if len(rows) != joints:
        raise ValueError(f"channels must hold one sequence for each of the {joints} joints, got {len(rows)}")
    for j, row in enumerate(rows):
        plain = [name.lower() for name in row]
        for i, name in enumerate(plain):
            if name not in _PLAIN_CHANNELS:
                raise ValueError(f"channels[{j}][{i}]={row[i]!r} must be one of {' '.join(CHANNELS)}")
            if name in plain[:i]:
                raise ValueError(f"channels[{j}][{i}]={row[i]!r} is there twice")
    return rows


_PLAIN_CHANNELS = {name.lower() for name in CHANNELS}


def _end_site(item, i: int, joints: int) -> tuple[int, np.ndarray]:
    try:
        parent, place = item
    except (TypeError, ValueError):
        got = repr(item) if isinstance(item, (str, int, float, type(None))) else type(item).__name__
        raise ValueError(f"end_sites[{i}] must be a pair of a joint's index and an offset, got {got}") from None
    parent = _check.integer(parent, f"end_sites[{i}][0]", least=0, most=joints - 1)
    return parent, _check.array(place, f"end_sites[{i}][1]", (3,), dtype=np.float64, copy=True)


# ---- left and right by name ---------------------------------------------------------------------

# a pattern for the left mark and what stands for it on the right; the letters count only at the edge of a word
_SIDES = (
    (re.compile("Left"), "Right"),
    (re.compile("left"), "right"),
    (re.compile("LEFT"), "RIGHT"),
    (re.compile(r"(?<![A-Za-z])L(?![a-z0-9])"), "R"),
    (re.compile(r"(?<![A-Za-z])l(?![a-z0-9])"), "r"),
    (re.compile(r"(?<=[a-z0-9])L(?![A-Za-z0-9])"), "R"),
    (re.compile(r"(?<![A-Za-z])l(?=[a-z])"), "r"),
)
FOOT = re.compile(r"ankle|foot|toe|ball", re.IGNORECASE)


def _mirrored_names(name: str) -> list[str]:
    """What the right counterpart of a left joint may be called, the likeliest first."""
    names = []
    for pattern, right in _SIDES:
        names += [name[: m.start()] + right + name[m.end() :] for m in reversed(list(pattern.finditer(name)))]
    return names


class Clip:
    """A skeleton's motion: T frames at ``fps`` frames a second.

    Parameters
    ----------
    skeleton : Skeleton
    root_positions : (T, 3)
        World place of the first joint, metres.
    rotations : (T, J, 4)
        Local.
    fps : float
    name : str
        A label.
    translations : (T, J, 3) or None
        Local places that stand for the skeleton's offsets frame by frame; None where only the root moves. The root's
        own row repeats ``root_positions``.

    ``ValueError`` or ``TypeError`` names the argument and the first index at fault.

    >>> skeleton = Skeleton(["root", "tip"], [-1, 0], [[0, 0, 0], [0, 1, 0]])
    >>> clip = Clip(skeleton, [[0, 0, 0], [1, 0, 0]], [[[1, 0, 0, 0]] * 2] * 2, fps=30)
    >>> len(clip), clip.positions()[1].tolist()
    (2, [[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    """

    __slots__ = ("_skeleton", "_root_positions", "_rotations", "_fps", "_name", "_translations")

    def __init__(
        self,
        skeleton: Skeleton,
        root_positions: ArrayLike,
        rotations: ArrayLike,
        fps: float,
        name: str = "",
        *,
        translations: ArrayLike | None = None,
    ) -> None:
        if not isinstance(skeleton, Skeleton):
            raise TypeError(f"skeleton must be a Skeleton, got {type(skeleton).__name__}")
        if not isinstance(name, str):
            raise TypeError(f"name must be a string, got {type(name).__name__}")
        self._skeleton = skeleton
        self._root_positions = _own(root_positions, "root_positions", ("T", 3))
        frames, joints = len(self._root_positions), len(skeleton)
        self._rotations = _unit(_own(rotations, "rotations", (frames, joints, 4)))
        self._fps = _check.number(fps, "fps", above=0)
        self._name = name
        self._translations = None
        if translations is not None:
            self._translations = _own(translations, "translations", (frames, joints, 3))
            self._translations[:, 0] = self._root_positions

    @property
    def skeleton(self) -> Skeleton:
        """The joints."""
        return self._skeleton

    @property
    def root_positions(self) -> np.ndarray:
        """(T, 3) float64: world place of the first joint in metres."""
        return self._root_positions

    @property
    def rotations(self) -> np.ndarray:
        """(T, J, 4) float64: local rotations, unit."""
        return self._rotations

    @property
    def fps(self) -> float:
        """Frames a second."""
        return self._fps

    @property
    def name(self) -> str:
        """A label; for a file its name without folder and suffix."""
        return self._name

    @property
    def translations(self) -> np.ndarray | None:
        """(T, J, 3) float64: local places, or None where only the root moves."""
        return self._translations

    def __len__(self) -> int:
        return len(self._root_positions)

    def __repr__(self) -> str:
        return f"<Clip {self._name!r}: {len(self)} frames of {len(self._skeleton)} joints at {self._fps:g} fps>"

    @classmethod
    def _of(cls, skeleton, root_positions, rotations, translations, fps, name) -> Clip:
        """A clip from arrays that are its own and valid already: C-contiguous float64, finite, unit rotations."""
        clip = object.__new__(cls)
        clip._skeleton, clip._fps, clip._name = skeleton, fps, name
        clip._root_positions, clip._rotations, clip._translations = root_positions, rotations, translations
        return clip

    def _with(self, root_positions, rotations, translations, fps=None) -> Clip:
        """The same with this clip's skeleton and name."""
        fps = self._fps if fps is None else fps
        return Clip._of(self._skeleton, root_positions, rotations, translations, fps, self._name)

    def __getitem__(self, key: slice) -> Clip:
        """The frames of a slice, as a clip of its own with the same skeleton and fps."""
        if not isinstance(key, slice):
            raise TypeError(f"a clip is cut with a slice such as clip[10:20], got {type(key).__name__}")
        parts = (self._root_positions, self._rotations, self._translations)
        return self._with(*(None if part is None else np.array(part[key], order="C") for part in parts))

    def concat(self, *others: Clip) -> Clip:
        """This clip and the others, one after the other. ``ValueError`` where joint names, parents or fps differ.

        The skeleton is this clip's; where another one's offsets differ, they are kept as translations.
        """
        clips = (self, *others)
        for i, other in enumerate(others):
            if not isinstance(other, Clip):
                raise TypeError(f"others[{i}] must be a Clip, got {type(other).__name__}")
            if other.skeleton._names != self._skeleton._names:
                raise ValueError(f"others[{i}] must have the same joint names, {_first_difference(self, other)}")
            if not np.array_equal(other.skeleton.parents, self._skeleton.parents):
                raise ValueError(f"others[{i}] must have the same parents, got another tree of the same names")
            if other.fps != self._fps:
                raise ValueError(f"others[{i}] must have fps {self._fps:g}, got {other.fps:g}")
        same = all(np.array_equal(c.skeleton.offsets[1:], self._skeleton.offsets[1:]) for c in others)
        plain = same and all(clip._translations is None for clip in clips)
        return self._with(
            np.concatenate([clip._root_positions for clip in clips]),
            np.concatenate([clip._rotations for clip in clips]),
            None if plain else np.concatenate([clip._local_places() for clip in clips]),
        )

    def _local_places(self) -> np.ndarray:
        if self._translations is not None:
            return self._translations
        places = np.repeat(self._skeleton.offsets[None], len(self), axis=0)
        places[:, 0] = self._root_positions
        return places

    def resample(self, fps: float) -> Clip:
        """The motion at another rate: ``floor((T-1) fps / self.fps + 1e-6) + 1`` frames, frame i at ``i / fps`` s.

        Places are interpolated linearly, rotations along the shorter way. There is no low-pass: what moves faster than
        half of a lower rate folds back.
        """
        fps = _check.number(fps, "fps", above=0)
        count = math.floor(min((len(self) - 1) * (fps / self._fps), 1e300) + 1e-6) + 1 if len(self) > 1 else len(self)
        if count * len(self._skeleton) > MOST_ROTATIONS:
            raise ValueError(f"fps={fps!r} would make {count:g} frames of this clip of {len(self)} at {self._fps:g}")
        where = np.arange(count) * self._fps / fps
        nearest = np.rint(where)
        where = np.where(np.abs(where - nearest) < 1e-9 * np.maximum(1, nearest), nearest, where)
        first = np.minimum(where.astype(np.int64), max(len(self) - 1, 0))
        second = np.minimum(first + 1, max(len(self) - 1, 0))
        share = where - first

        def line(places):
            return None if places is None else _between(places[first], places[second], share)

        rotations = self._rotations[first]
        moved = (share > 0) & (second > first)
        rotations[moved] = quat_slerp(rotations[moved], self._rotations[second[moved]], share[moved, None])
        return self._with(line(self._root_positions), rotations, line(self._translations), fps)

    def mirror(self, pairs: Mapping[str, str] | None = None) -> Clip:
        """The motion in a mirror across x = 0; twice is the identity to the bit.

        The root's x changes sign, rotations (w, x, y, z) become (w, x, -y, -z), and the joints of a pair change places.
        ``pairs`` maps left to right names; by default `Skeleton.find_pairs` tells them from the names. A joint of no
        pair is mirrored where it is. The skeleton is kept. An unknown name, or one in two pairs, is ``ValueError``.
        """
        order = _swap(self._skeleton, self._skeleton.find_pairs() if pairs is None else pairs)
        root = self._root_positions * [-1.0, 1.0, 1.0]
        rotations = self._rotations.take(order, axis=1) * [1.0, 1.0, -1.0, -1.0]
        translations = None
        if self._translations is not None:
            translations = self._translations.take(order, axis=1) * [-1.0, 1.0, 1.0]
            translations[:, 0] = root
        return self._with(root, rotations, translations)

    def positions(self) -> np.ndarray:
        """(T, J, 3): world places of the joints in metres, in the skeleton's order."""
        return self._pose(False)

    def world_rotations(self) -> np.ndarray:
        """(T, J, 4): rotations of the joints from their own space to the world."""
        return self._pose(True)[1]

    def _pose(self, world_rotations: bool):
        skeleton = self._skeleton
        return _core.forward_kinematics(
            skeleton.parents.astype(np.int32),
            skeleton.offsets,
            self._root_positions,
            self._rotations,
            self._translations,
            world_rotations,
        )


def in_order_of(clip: Clip, skeleton: Skeleton) -> Clip | None:
    """The clip with its joints in the order of another skeleton; None where that is another tree of names."""
    own = clip.skeleton
    if own._names == skeleton._names and np.array_equal(own.parents, skeleton.parents):
        return clip
    if own._names[0] != skeleton._names[0] or _tree(own) != _tree(skeleton):
        return None
    order = [own.index(name) for name in skeleton._names]
    ends = [(order.index(joint), place) for joint, place in own.end_sites]
    channels = [own.channels[j] for j in order]
    same = Skeleton(skeleton._names, skeleton.parents, own.offsets[order], channels=channels, end_sites=ends)
    translations = None if clip._translations is None else clip._translations[:, order]
    return Clip(same, clip._root_positions, clip._rotations[:, order], clip._fps, clip._name, translations=translations)


def _tree(skeleton: Skeleton) -> dict[str, str | None]:
    """The parent of each joint, by name."""
    names = skeleton._names
    return {name: names[p] if p >= 0 else None for name, p in zip(names, skeleton.parents.tolist(), strict=True)}


def forward_kinematics(
    skeleton: Skeleton, root_positions: ArrayLike, rotations: ArrayLike, translations: ArrayLike | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """World positions (T, J, 3) and world rotations (T, J, 4) of poses given as arrays; see `Clip` for the arguments.

    >>> skeleton = Skeleton(["root", "tip"], [-1, 0], [[0, 0, 0], [0, 1, 0]])
    >>> forward_kinematics(skeleton, [[0, 0, 0]], [[[0, 1, 0, 0], [1, 0, 0, 0]]])[0].tolist()
    [[[0.0, 0.0, 0.0], [0.0, -1.0, 0.0]]]
    """
    return Clip(skeleton, root_positions, rotations, 1.0, translations=translations)._pose(True)


def _own(value: ArrayLike, name: str, shape: tuple) -> np.ndarray:
    return np.ascontiguousarray(_check.array(value, name, shape, dtype=np.float64, copy=True))


def _unit(rotations: np.ndarray) -> np.ndarray:
    """Quaternions off by more than rounding made unit in place; zero ones refused."""
    with np.errstate(over="ignore", under="ignore"):
        off = np.abs(np.einsum("tjk,tjk->tj", rotations, rotations) - 1) > 1e-12
    if off.any():
        with np.errstate(invalid="ignore"):
            rotations[off] = quat_normalize(rotations[off])
        bad = np.isnan(rotations[..., 0])
        if bad.any():
            t, j = np.argwhere(bad)[0]
            raise ValueError(f"rotations[{t}, {j}]=[0, 0, 0, 0] is no rotation: its norm is 0")
    return rotations


def _between(a: np.ndarray, b: np.ndarray, share: np.ndarray) -> np.ndarray:
    share = share.reshape(-1, *[1] * (a.ndim - 1))
    return np.where(share == 0, a, a * (1 - share) + b * share)


def _first_difference(one: Clip, other: Clip) -> str:
    ours, theirs = one.skeleton._names, other.skeleton._names
    if len(ours) != len(theirs):
        return f"got {len(theirs)} joints instead of {len(ours)}"
    j = next(j for j in range(len(ours)) if ours[j] != theirs[j])
    return f"got names[{j}]={theirs[j]!r} instead of {ours[j]!r}"


def _swap(skeleton: Skeleton, pairs: Mapping[str, str]) -> np.ndarray:
    """For each joint the one that takes its place in the mirror."""
    if not isinstance(pairs, Mapping):
        raise TypeError(f"pairs must be a mapping of left to right names, got {type(pairs).__name__}")
    order = np.arange(len(skeleton))
    for left, right in pairs.items():
        for name in (left, right):
            if not isinstance(name, str):
                raise TypeError(f"pairs must map names to names, got {name!r}")
            if name not in skeleton._indices:
                raise ValueError(f"pairs: {name!r} is no joint of this skeleton, which has {_some(skeleton._names)}")
        i, j = skeleton.index(left), skeleton.index(right)
        if order[i] == j and order[j] == i:
            continue
        if order[i] != i or order[j] != j:
            raise ValueError(f"pairs: {left!r}: {right!r} names a joint that another pair has already")
        order[i], order[j] = j, i
    return order
