"""Rows of numbers for a network from a motion, and the motion back from rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from . import _check, _core
from .phase_label import label_phase
from .rotation import quat_rotate
from .skeleton import Clip, Skeleton
from .trajectory import Trajectory

__all__ = ["FeatureSpec"]

REPRESENTATIONS = ("quat", "exp_map", "6d")  # in the order of pfnn_representation
AXES = {"quat": "wxyz", "exp_map": "xyz", "6d": ("xx", "xy", "xz", "yx", "yy", "yz")}
MOST_JOINTS = 100_000
END_SITE = re.compile(r"_end\d*$")


@dataclass(frozen=True)
class FeatureSpec:
    """What one frame of features holds, and what a network predicts from them.

    The columns of a frame, physical units, in this order:

    =============  ============  ==========================================================================
    slice          columns       what
    =============  ============  ==========================================================================
    "velocity"     3             of the root, m/s: backward difference x fps, that of frame 0 is frame 1's
    "orientation"  4, 3 or 6     rotation of the root
    "joints"       n x (4|3|6)   local rotations of ``joints``, in their order
    "yaw_rate"     1             rad/s: backward difference of the unwrapped yaw x fps; frame 0 has frame 1's
    "height"       1             of the root, m
    "points"       3 p + 3 p     positions of ``points``, then their velocities, m and m/s
    "contacts"     2             left and right foot, 1 where it stands
    =============  ============  ==========================================================================

    Parameters
    ----------
    joints
        A count: all joints of a skeleton that has exactly so many, the root included. Or names, in the order wanted.
    representation
        Of every rotation: "quat" (4: w, x, y, z, sign continuous from a first frame with w >= 0), "exp_map" (3:
        rotation vector of at most pi), "6d" (6: first two columns of the matrix, one after the other).
    frame
        "world", or "heading": velocity turned by minus the yaw of its frame, and the yaw taken out of the root's
        orientation (and of the root's slot among the joints) from the left. The yaw rate is then always there, and
        the features do not depend on where and which way the clip was recorded.
    yaw_rate, height
        The columns of that name.
    points
        Names of joints or end sites whose positions and velocities stand beside the rotations, in the root's heading
        frame: seen from the root joint, axes turned by the root's yaw; the velocity is the point's own over the
        ground, 0 for a planted foot. The end site of joint "Toe" is "Toe_end", its second one "Toe_end2".
    contacts
        The two columns of that name.
    phase_step
        The network predicts the rate of the phase too: one more output column, in cycles a second.
    control
        A `Trajectory`: its block stands beside the network's input, and its future times in the output.
    predict
        "frame": the network's output is the next frame. "delta": it is the change from the last input frame.

    The article's frame is ``FeatureSpec()``; `controller` is what this package recommends. The position channels of
    joints other than the root (``Clip.translations``) are no part of the features.

    >>> spec = FeatureSpec()
    >>> spec.dim, spec.in_dim(12), spec.out_dim
    (103, 1236, 103)
    >>> spec.slices["joints"]
    slice(7, 103, None)
    """

    joints: int | tuple[str, ...] = 24
    representation: str = "quat"
    frame: str = "world"
    yaw_rate: bool = False
    height: bool = False
    points: tuple[str, ...] = ()
    contacts: bool = False
    phase_step: bool = False
    control: Trajectory | None = None
    predict: str = "frame"

    def __post_init__(self):
        keep = object.__setattr__
        if hasattr(self.joints, "__index__") and np.ndim(self.joints) == 0:  # bool too, which `integer` refuses
            keep(self, "joints", _check.integer(self.joints, "joints", least=1, most=MOST_JOINTS))
        else:
            keep(self, "joints", names_of(self.joints, "joints"))
            if not self.joints:
                raise ValueError("joints must hold at least one name, got none")
        keep(self, "points", names_of(self.points, "points"))
        for name in ("yaw_rate", "height", "contacts", "phase_step"):
            keep(self, name, _check.flag(getattr(self, name), name))
        _check.option(self.representation, "representation", REPRESENTATIONS)
        _check.option(self.frame, "frame", ("world", "heading"))
        _check.option(self.predict, "predict", ("frame", "delta"))
        if self.control is not None and not isinstance(self.control, Trajectory):
            raise TypeError(f"control must be a Trajectory or None, got {type(self.control).__name__}")

    @classmethod
    def controller(cls, joints, **options) -> FeatureSpec:
        """The package's recommended features: what trials on real walks found to keep a character alive.

        Heading frame, 6d rotations, root height, the phase's rate and a wanted trajectory of one second; with joints
        given by name, the positions and velocities of the shins, feet and toes among them too. Any option of
        `FeatureSpec` takes precedence. Meant for two frames of history and a "catmull_rom" network with four kernels.

        >>> spec = FeatureSpec.controller(["LeftLeg", "LeftFoot", "RightLeg", "RightFoot"])
        >>> spec.points
        ('LeftLeg', 'LeftFoot', 'RightLeg', 'RightFoot')
        >>> spec.in_dim(2), spec.out_dim
        (130, 72)
        """
        names = () if hasattr(joints, "__index__") else names_of(joints, "joints")
        recommended = {
            "representation": "6d",
            "frame": "heading",
            "height": True,
            "points": tuple(name for name in names if is_leg_point(name)),
            "phase_step": True,
            "control": Trajectory(),
        }
        return cls(joints, **{**recommended, **options})

    # ---- sizes and names

    @property
    def n_joints(self) -> int:
        """How many joints stand in a frame, beside the root's orientation."""
        return self.joints if isinstance(self.joints, int) else len(self.joints)

    @property
    def width(self) -> int:
        """Numbers a rotation: 4, 3 or 6."""
        return len(AXES[self.representation])

    @property
    def slices(self) -> dict[str, slice]:
        """The columns of each part that is present, by the names in the table above."""
        counts = {
            "velocity": 3,
            "orientation": self.width,
            "joints": self.width * self.n_joints,
            "yaw_rate": int(self.yaw_rate or self.frame == "heading"),
            "height": int(self.height),
            "points": 6 * len(self.points),
            "contacts": 2 * self.contacts,
        }
        slices, start = {}, 0
        for name, count in counts.items():
            if count:
                slices[name] = slice(start, start + count)
                start += count
        return slices

    @cached_property
    def dim(self) -> int:
        """Columns of a frame."""
        return max(part.stop for part in self.slices.values())

    def in_dim(self, length: int) -> int:
        """Columns of a network's input: ``length`` frames, oldest first, then the control block."""
        length = _check.integer(length, "length", least=1)
        return length * self.dim + (self.control.dim if self.control else 0)

    @property
    def out_dim(self) -> int:
        """Columns of a network's output: a frame, then the phase's rate, then the next frame's control block."""
        return self.dim + self.phase_step + (self.control.out_dim if self.control else 0)

    @property
    def columns(self) -> tuple[str, ...]:
        """A name for every column of a frame.

        >>> FeatureSpec(["Hips", "Head"], "exp_map", height=True).columns[3:8]
        ('orientation_x', 'orientation_y', 'orientation_z', 'Hips_x', 'Hips_y')
        """
        names = [f"joint{i}" for i in range(self.joints)] if isinstance(self.joints, int) else self.joints
        rotations = [f"{name}_{axis}" for name in ("orientation", *names) for axis in AXES[self.representation]]
        points = [f"{name}_{what}_{axis}" for what in ("position", "velocity") for name in self.points for axis in "xyz"]
        parts = {
            "yaw_rate": ["yaw_rate"],
            "height": ["height"],
            "points": points,
            "contacts": ["contact_left", "contact_right"],
        }
        beside = [name for part, names in parts.items() if part in self.slices for name in names]
        return ("velocity_x", "velocity_y", "velocity_z", *rotations, *beside)

    @property
    def layout(self) -> tuple[int, ...]:
        """The settings as the C core takes them: the first block of ``pfnn_feature_layout``."""
        times = (len(self.control.times), len(self.control.future)) if self.control else (0, 0)
        return (
            REPRESENTATIONS.index(self.representation),
            int(self.frame == "heading"),
            self.n_joints,
            int(self.yaw_rate or self.frame == "heading"),
            int(self.height),
            len(self.points),
            2 * self.contacts,
            int(self.phase_step),
            *times,
            int(self.predict == "delta"),
        )

    def to_dict(self) -> dict:
        """The settings as JSON can hold them; `from_dict` is the way back.

        >>> spec = FeatureSpec(["Hips"], control=Trajectory((0.5,)))
        >>> FeatureSpec.from_dict(spec.to_dict()) == spec
        True
        """
        settings = {field.name: getattr(self, field.name) for field in fields(self)}
        for name in ("joints", "points"):
            if isinstance(settings[name], tuple):
                settings[name] = list(settings[name])
        if self.control:
            settings["control"] = {"times": list(self.control.times)}
        return settings

    @classmethod
    def from_dict(cls, settings: dict) -> FeatureSpec:
        """The spec that `to_dict` told of. Unknown or wrong settings are ``ValueError`` or ``TypeError``."""
        if not isinstance(settings, dict):
            raise TypeError(f"settings must be a dict, got {type(settings).__name__}")
        settings = dict(settings)
        known = {field.name for field in fields(cls)}
        for name in settings:
            if name not in known:
                raise ValueError(f"settings[{name!r}] is no setting of a FeatureSpec")
        control = settings.get("control")
        if isinstance(control, dict):
            if set(control) != {"times"}:
                raise ValueError(f"settings['control'] must hold times, got {sorted(map(str, control))}")
            settings["control"] = Trajectory(control["times"])
        return cls(**settings)

    # ---- motion to rows and back

    def encode(self, clip: Clip, *, contacts=None) -> np.ndarray:
        """The frames of a clip as rows ``(T, dim)``, float64, physical units.

        ``contacts`` (T, 2), numbers in [0, 1] or bool: left and right foot, for a spec with contacts; where None,
        `label_phase` finds them. ``ValueError`` where the clip's skeleton has not the joints asked for.

        >>> skeleton = Skeleton(["Hips"], [-1], [[0, 0, 0]])
        >>> clip = Clip(skeleton, [[0, 1, 0], [0, 1, 0.1]], np.tile([1.0, 0, 0, 0], (2, 1, 1)), fps=10)
        >>> FeatureSpec(1).encode(clip)[0]
        array([0., 0., 1., 1., 0., 0., 0., 1., 0., 0., 0.])
        """
        if not isinstance(clip, Clip):
            raise TypeError(f"clip must be a Clip, got {type(clip).__name__}")
        joints = self.joint_indices(clip.skeleton)
        points = point_positions(clip, self.points) if self.points else None
        contacts = self._contacts(clip, contacts)
        rows = _core.features_encode(
            self.layout, clip.root_positions, clip.rotations, joints, points, contacts, float(clip.fps)
        )
        for part in ("velocity", "points"):  # differences of finite places that overflow
            _check.check_finite(rows[:, self.slices.get(part, slice(0))], part)
        return rows

    def decode(self, features, origin=(0, 0, 0), *, yaw: float = 0.0, skeleton: Skeleton, fps: float = 30.0) -> Clip:
        """The motion of rows ``(T, dim)``, so that ``decode(encode(clip))`` is the clip.

        Frame t stands at ``origin`` + the sum of the velocities of frames 1..t / ``fps``. With the heading frame the
        yaw starts at ``yaw`` and grows by the yaw rate / ``fps``, and the velocity of a frame is turned by its yaw.
        Joints that are not encoded are at identity. Rotations are made valid as by `make_valid`.

        >>> spec = FeatureSpec(1)
        >>> rows = np.tile([0.0, 0, 1.5, 1, 0, 0, 0, 1, 0, 0, 0], (3, 1))
        >>> spec.decode(rows, skeleton=Skeleton(["Hips"], [-1], [[0, 0, 0]]), fps=30).root_positions[:, 2]
        array([0.  , 0.05, 0.1 ])
        """
        if not isinstance(skeleton, Skeleton):
            raise TypeError(f"skeleton must be a Skeleton, got {type(skeleton).__name__}")
        rows = _check.array(features, "features", ("T", self.dim))
        origin = _check.array(origin, "origin", (3,), dtype=np.float64)
        yaw, fps = _check.number(yaw, "yaw"), _check.number(fps, "fps", above=0)
        joints = self.joint_indices(skeleton)
        root, rotations = _core.features_decode(self.layout, rows, len(skeleton), joints, tuple(origin.tolist()), yaw, fps)
        return Clip(skeleton, root, rotations, fps)

    def track(self, features, fps: float, origin=(0, 0, 0), *, yaw: float = 0.0) -> np.ndarray:
        """The path of the root through rows ``(T, dim)``: x, z (m) and unwrapped yaw (rad) a frame, ``(T, 3)``."""
        rows = _check.array(features, "features", ("T", self.dim))
        origin = _check.array(origin, "origin", (3,), dtype=np.float64)
        yaw, fps = _check.number(yaw, "yaw"), _check.number(fps, "fps", above=0)
        return _core.features_track(self.layout, rows, tuple(origin.tolist()), yaw, fps)

    def make_valid(self, features, previous=None) -> np.ndarray:
        """A copy of rows ``(dim,)`` or ``(n, dim)`` in which every rotation is one.

        Quaternions get unit length, exponential maps at most pi, 6d columns are made orthonormal. What has no
        direction at all (a zero quaternion) takes the place of the same rotation in ``previous``, rows of the same
        shape, or identity without one. Not finite numbers pass through.
        """
        rows = _check.array(features, "features", (..., self.dim), finite=False)
        if rows.ndim > 2:
            raise ValueError(f"features must have shape ({self.dim},) or (n, {self.dim}), got {rows.shape}")
        if previous is not None:
            previous = _check.array(previous, "previous", rows.shape, dtype=rows.dtype, finite=False)
            previous = previous.reshape(-1, self.dim)
        return _core.features_make_valid(self.layout, rows.reshape(-1, self.dim), previous).reshape(rows.shape)

    def mirror(self, skeleton: Skeleton | None = None, pairs: dict[str, str] | None = None) -> tuple[np.ndarray, np.ndarray]:
        """How rows are mirrored across x = 0: columns (dim,) int64 and signs (dim,), for ``rows[:, columns] * signs``.

        That is what `encode` gives for ``clip.mirror(pairs)``, up to the sign of quaternions, and for points as far
        as the skeleton's left and right sides are alike. ``pairs`` maps left to right names; by default
        `Skeleton.find_pairs` tells them, from the skeleton or from the spec's own names. ``ValueError`` where joints
        are a count and there is no skeleton, or where one of a pair is encoded and the other is not.

        >>> FeatureSpec(["Hips", "lHand", "rHand"], "exp_map").mirror()[0]
        array([ 0,  1,  2,  3,  4,  5,  6,  7,  8, 12, 13, 14,  9, 10, 11])
        """
        if skeleton is not None and not isinstance(skeleton, Skeleton):
            raise TypeError(f"skeleton must be a Skeleton or None, got {type(skeleton).__name__}")
        partner = partners(self._names(skeleton), skeleton, pairs)
        joints = range(self.n_joints)
        if isinstance(self.joints, tuple):
            joints = [counterpart(self.joints, partner, "joints", i) for i in joints]
        elif skeleton is not None:
            joints = [counterpart(skeleton.names, partner, "joints", i) for i in joints]
        points = [counterpart(self.points, partner, "points", i) for i in range(len(self.points))]

        width, slices = self.width, self.slices
        columns, signs = np.arange(self.dim), np.ones(self.dim)
        flip = {"quat": (1, 1, -1, -1), "exp_map": (1, -1, -1), "6d": (1, -1, -1, -1, 1, 1)}[self.representation]
        signs[slices["velocity"]] = -1, 1, 1
        signs[slices["orientation"]] = flip
        signs[slices["joints"]] = np.tile(flip, self.n_joints)
        columns[slices["joints"]] = slices["joints"].start + spread(joints, width)
        if "yaw_rate" in slices:
            signs[slices["yaw_rate"]] = -1
        if "points" in slices:
            both = [*points, *(len(points) + p for p in points)]  # positions, then velocities
            columns[slices["points"]] = slices["points"].start + spread(both, 3)
            signs[slices["points"]] = np.tile([-1, 1, 1], len(both))
        if "contacts" in slices:
            columns[slices["contacts"]] = columns[slices["contacts"]][::-1].copy()
        return columns, signs

    def _names(self, skeleton: Skeleton | None) -> list[str]:
        """Of all joints that the spec or the skeleton speaks of."""
        if skeleton is not None:
            self.joint_indices(skeleton)
            return skeleton.names
        if isinstance(self.joints, int):
            raise ValueError(f"joints={self.joints} is a count: mirroring needs the joints' names")
        sites = [END_SITE.sub("", name) for name in self.points]
        return list(dict.fromkeys([*self.joints, *self.points, *sites]))

    def joint_indices(self, skeleton: Skeleton) -> np.ndarray:
        """Where the spec's joints stand in a skeleton, int64. ``ValueError`` where they are not all there."""
        if not isinstance(skeleton, Skeleton):
            raise TypeError(f"skeleton must be a Skeleton, got {type(skeleton).__name__}")
        if isinstance(self.joints, int):
            if len(skeleton) != self.joints:
                raise ValueError(
                    f"joints={self.joints} asks for a skeleton with {self.joints} joints, this one has {len(skeleton)}"
                )
            return np.arange(self.joints)
        return np.array([skeleton.index(name) for name in self.joints], np.int64)

    def _contacts(self, clip: Clip, contacts) -> np.ndarray | None:
        if not self.contacts:
            if contacts is not None:
                raise ValueError("contacts are given, but the spec has contacts=False")
            return None
        if contacts is None:
            contacts = label_phase(clip).contacts
        contacts = _check.array(contacts, "contacts", (len(clip), 2), dtype=np.float64)
        bad = (contacts < 0) | (contacts > 1)
        if bad.any():
            raise ValueError(f"{_check.at('contacts', contacts, bad)} is not in [0, 1]")
        return contacts


def names_of(value, name: str) -> tuple[str, ...]:
    """A sequence of different strings as a tuple."""
    seen: dict[str, int] = {}
    for i, item in enumerate(_check.sequence(value, name, "names")):
        if not isinstance(item, str):
            raise TypeError(f"{name}[{i}] must be a name, got {item!r}")
        if item in seen:
            raise ValueError(f"{name}[{i}]={item!r} is named before, as {name}[{seen[item]}]")
        seen[str(item)] = i
    return tuple(seen)


def is_leg_point(name: str) -> bool:
    """Whether a joint is the knee, ankle or toe base of a leg, by the names of the usual rigs."""
    name = name.split(":")[-1].lower()
    if any(word in name for word in ("upleg", "upperleg", "thigh", "hip", "arm", "hand", "finger")):
        return False
    return any(word in name for word in ("leg", "shin", "calf", "knee", "foot", "ankle", "toe"))


def partners(names: list[str], skeleton: Skeleton | None, pairs: dict[str, str] | None) -> dict[str, str]:
    """Each name's counterpart on the other side, both ways, for those that have one."""
    if pairs is None:
        skeleton = skeleton or Skeleton(names, [-1] * len(names), np.zeros((len(names), 3)))
        pairs = skeleton.find_pairs()
    if not isinstance(pairs, dict):
        raise TypeError(f"pairs must be a dict of names, got {type(pairs).__name__}")
    both: dict[str, str] = {}
    for left, right in pairs.items():
        for name, other in ((left, right), (right, left)):
            if name not in names:
                raise ValueError(f"pairs: {name!r} is no joint")
            if both.setdefault(name, other) != other:
                raise ValueError(f"pairs: {left!r}: {right!r} names a joint that another pair has already")
    return both


def counterpart(names: Sequence[str], partner: dict[str, str], what: str, i: int) -> int:
    """Where the counterpart of names[i] stands among names; an end site goes with its joint."""
    name = names[i]
    site = END_SITE.search(name)
    if name in partner or site is None:
        wanted = partner.get(name, name)
    else:
        joint = name[: site.start()]
        wanted = partner.get(joint, joint) + site.group()
    if wanted not in names:
        raise ValueError(f"{what}[{i}]={name!r} cannot be mirrored, as {wanted!r} is not among the {what}")
    return list(names).index(wanted)


def spread(items: Sequence[int], width: int) -> np.ndarray:
    """Columns of items that have ``width`` columns each."""
    return (np.asarray(items, np.int64)[:, None] * width + np.arange(width)).reshape(-1)


def point_positions(clip: Clip, names: tuple[str, ...]) -> np.ndarray:
    """World positions (T, n, 3) of joints and end sites, by forward kinematics."""
    skeleton = clip.skeleton
    sites: dict[str, tuple[int, np.ndarray]] = {}
    for parent, offset in skeleton.end_sites:
        name, count = f"{skeleton.names[parent]}_end", 2
        while name in sites:
            name, count = f"{skeleton.names[parent]}_end{count}", count + 1
        sites[name] = (parent, offset)
    for i, name in enumerate(names):
        if name not in skeleton.names and name not in sites:
            raise ValueError(f"points[{i}]={name!r} is neither a joint nor the end site of one")
    positions, turns = clip.positions(), None
    result = np.empty((len(clip), len(names), 3))
    for i, name in enumerate(names):
        if name in skeleton.names:
            result[:, i] = positions[:, skeleton.index(name)]
        else:
            parent, offset = sites[name]
            turns = clip.world_rotations() if turns is None else turns
            result[:, i] = positions[:, parent] + quat_rotate(turns[:, parent], offset)
    return result
