"""Steering: a wanted velocity and facing, a pose every tick, feet that stand still.

A virtual root follows the wish on critically damped springs (``csrc/core/control.c``). Where it will be at the times
of the character's `Trajectory`, mixed with what the network itself foresees (Holden, Komura, Saito 2017), is the
wanted trajectory of the next frame. The character steps at its own frame rate; poses between two of its frames are
interpolated.
"""

from __future__ import annotations

import math
import struct
import zlib
from dataclasses import dataclass

import numpy as np

from . import _check, _core
from .rotation import from_yaw, quat_mul, quat_normalize, quat_slerp
from .skeleton import Skeleton
from .synthesis import Character, rotations_of

__all__ = ["Controller", "Pose"]

LONGEST = 10.0  # seconds that one call may go on
MOST_FPS = 10_000.0  # so that these are not endless frames
LONGEST_HALFLIFE = 3600.0  # seconds: beyond, a spring's sums lose the digits that move it
STATE, STATE_MAGIC = struct.Struct("<8sQI"), b"PFNNCON2"


@dataclass(frozen=True, eq=False)
class Pose:
    """What a tick shows.

    Attributes
    ----------
    root_position : (3,)
        World, metres.
    rotations : (J, 4)
        Local, of the controller's skeleton.
    yaw
        Of the root, radians.
    phase
        Of the character's last frame, in [0, 1).
    velocity : (3,)
        Of the root, world, m/s.
    contacts : (2,)
        What the network says of the left and right foot, about 1 where it stands; None without contacts.
    """

    root_position: np.ndarray
    rotations: np.ndarray
    yaw: float
    phase: float
    velocity: np.ndarray
    contacts: np.ndarray | None


class Controller:
    """Steers a `Character` whose features have ``control=Trajectory(...)``.

    Parameters
    ----------
    character
        Of `MotionModel.character`; or any `Character`, with ``skeleton`` and ``fps``.
    skeleton
        Of the poses; None: the character's own.
    fps
        Frames a second that the character was trained at; None: the character's own.
    velocity_halflife
        Seconds in which half of a change of velocity is done.
    facing_halflife
        Seconds in which half of a turn is done.
    trust
        Share of the network's own prediction in the wanted trajectory now, falling to 0 at its last time.
    leash
        Metres that the virtual root may get away from the character's.
    max_speed
        m/s; a faster wish is cut to it.
    grip
        Share of what standing feet would slide that the root moves instead, 0 to 1. At 0 the root goes as the network
        says, and so it does where features have no contacts or a skeleton no legs.
    lock_feet
        Hold feet where they came to stand, by inverse kinematics, while the network predicts contact.
    lock_radius
        A foot that would be held farther than this from its animation is let go, metres.
    lock_halflife
        Seconds in which a foot that was let go has come back half of the way.

    The character's frames stay those of the network: `grip` moves its root over the ground, foot locking changes the
    poses only. Velocity and facing have one half-life, so that the wanted path and the way that it faces turn together:
    a facing that is there at once does not tell, where a half turn is wanted, over which shoulder, and nor does a
    network that is not asked what it is about (``trust``).

    Raises
    ------
    ValueError
        A character without a trajectory, a wrong value.
    TypeError
        Wrong types.
    """

    def __init__(
        self,
        character: Character,
        *,
        skeleton: Skeleton | None = None,
        fps: float | None = None,
        velocity_halflife: float = 0.2,
        facing_halflife: float = 0.2,
        trust: float = 0.5,
        leash: float = 1.0,
        max_speed: float = 5.0,
        grip: float = 1.0,
        lock_feet: bool = False,
        lock_radius: float = 0.15,
        lock_halflife: float = 0.08,
    ):
        if not isinstance(character, Character):
            raise TypeError(f"character must be a Character, got {type(character).__name__}")
        if character.spec.control is None:
            raise ValueError("character must have features with control=Trajectory(...), its spec has none")
        self._character, self._spec = character, character.spec
        self._skeleton = character.skeleton if skeleton is None else skeleton
        if not isinstance(self._skeleton, Skeleton):
            missing = "this character knows none: pass skeleton=" if skeleton is None else f"got {type(skeleton).__name__}"
            raise TypeError(f"skeleton must be a Skeleton, {missing}")
        self._spec.joint_indices(self._skeleton)
        self._frame = 1 / _check.number(character.fps if fps is None else fps, "fps", least=1, most=MOST_FPS)
        self._settings = (
            _check.number(velocity_halflife, "velocity_halflife", above=0, most=LONGEST_HALFLIFE),
            _check.number(facing_halflife, "facing_halflife", above=0, most=LONGEST_HALFLIFE),
            _check.number(leash, "leash", least=0),
            _check.number(max_speed, "max_speed", least=0),
            _check.number(trust, "trust", least=0, most=1),
        )
        self._times = np.array(self._spec.control.times, np.float64)
        self._lock = (
            _check.number(lock_radius, "lock_radius", least=0),
            _check.number(lock_halflife, "lock_halflife", above=0, most=LONGEST_HALFLIFE),
        )
        self._locking = _check.flag(lock_feet, "lock_feet")
        if self._locking and not self._spec.contacts:
            raise ValueError("lock_feet needs features with contacts=True")
        self._grip = _check.number(grip, "grip", least=0, most=1)
        self._legs = self._legs_of(character.feet) if self._locking or self._grip else None

        position, yaw, _ = character._root(0)
        velocity = character._velocity(0)
        self._control, self._wanted = np.zeros(_core.CONTROL_SIZE), np.zeros((len(self._times), 3))
        _core.control_start(self._control, (position[0], position[2], yaw), (velocity[0], velocity[2]))
        self._wanted[:] = position[0], position[2], yaw
        self._foreseen = None
        self._ahead = 0.0  # seconds from the shown pose to the character's last frame, less than one of its frames
        self._features = character._features(0)
        self._before = self._now = self._pose_now(0.0)
        character._follow(None, None)
        character._want(0, self._wanted)

    @property
    def character(self) -> Character:
        """The character that is steered."""
        return self._character

    @property
    def skeleton(self) -> Skeleton:
        """Of the poses."""
        return self._skeleton

    @property
    def pose(self) -> Pose:
        """The pose of the last tick."""
        return self._between(1 - self._ahead / self._frame)

    @property
    def trajectory(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the character was last told to be at each future time of its trajectory: positions (n, 3), yaw (n,)."""
        rows = self._wanted[self._times > 0]
        return np.stack([rows[:, 0], np.zeros(len(rows)), rows[:, 1]], axis=1), rows[:, 2].copy()

    def step(self, dt: float, velocity=(0.0, 0.0), facing: float | None = None, *, camera: float | None = None) -> Pose:
        """Go on by ``dt`` seconds and return the pose.

        Parameters
        ----------
        dt
            Seconds, more than 0 and at most 10. The character makes its own frames up to that moment or just beyond;
            the pose lies between the last two of them.
        velocity
            Wanted, (x, z) in m/s. In the world; with ``camera`` x is to the right of the view and z ahead.
        facing
            Wanted yaw, radians, in the world or with ``camera`` from the view's; None: the way that it moves, and the
            last one where it stands.
        camera
            Yaw of the direction of view; None: velocity and facing are in the world.

        Raises
        ------
        ValueError, TypeError
            Wrong arguments; nothing has changed.
        FloatingPointError
            A prediction is not finite; nothing has changed.
        """
        dt = _check.number(dt, "dt", above=0, most=LONGEST)
        command = self._command(velocity, facing, camera)
        late = (dt - self._ahead) / self._frame
        due = max(0, math.ceil(late - 1e-6))  # a millionth of a frame is rounding
        before = self.state() if due > 1 else None
        try:
            for _ in range(due):
                self._step(command)
        except BaseException:
            if before is not None:
                self.restore(before)
            raise
        self._ahead = min(max((due - late) * self._frame, 0.0), self._frame)
        return self.pose

    def state(self) -> bytes:
        """Everything that changes from tick to tick, for `restore`."""
        parts = [np.array([self._frame, self._ahead, float(self._foreseen is not None)]), self._control, self._wanted]
        parts += [self._features.astype(np.float64)]
        parts += [np.zeros((len(self._wanted[self._times > 0]), 4)) if self._foreseen is None else self._foreseen]
        for pose in (self._before, self._now):
            contacts = np.zeros(2) if pose.contacts is None else pose.contacts
            parts += [pose.root_position, pose.rotations, np.array([pose.yaw, pose.phase]), pose.velocity, contacts]
        parts += [self._legs.locks, self._legs.places] if self._legs is not None else []
        own = np.concatenate([part.ravel() for part in parts]).astype("<f8").tobytes()
        return STATE.pack(STATE_MAGIC, len(own), zlib.crc32(own)) + own + self._character.state()

    def restore(self, state: bytes) -> None:
        """Go back to a `state`. ``TypeError`` for no bytes; ``ValueError``, nothing changed, for those of another."""
        if not isinstance(state, bytes):
            raise TypeError(f"state must be bytes, got {type(state).__name__}")
        size = len(self.state()) - len(self._character.state())
        if len(state) <= size:
            raise ValueError(f"state is no state of such a Controller: {len(state)} bytes are too few")
        magic, length, checksum = STATE.unpack_from(state)
        own = state[STATE.size : size]
        if magic != STATE_MAGIC or length != len(own) or zlib.crc32(own) != checksum:
            raise ValueError("state is no state of such a Controller, or it is damaged")
        numbers = np.frombuffer(own, "<f8").astype(np.float64)
        frame, ahead, has = numbers[:3]
        if frame != self._frame:
            raise ValueError(f"state is of a Controller of other fps than {1 / self._frame:g}")
        self._character.restore(state[size:])
        at = 3

        def take(shape):
            nonlocal at
            size = int(np.prod(shape))
            at += size
            return numbers[at - size : at].reshape(shape).copy()

        self._control, self._wanted = take(self._control.shape), take(self._wanted.shape)
        self._ahead, self._features = float(ahead), take(self._features.shape).astype(self._features.dtype)
        foreseen = take((int((self._times > 0).sum()), 4))
        self._foreseen = foreseen if has else None
        poses = []
        for pose in (self._before, self._now):
            place, rotations, (yaw, phase), velocity = take(3), take(pose.rotations.shape), take(2), take(3)
            contacts = take(2)
            poses.append(Pose(place, rotations, float(yaw), float(phase), velocity, contacts if self._spec.contacts else None))
        self._before, self._now = poses
        if self._legs is not None:
            self._legs.locks, self._legs.places = take(self._legs.locks.shape), take(self._legs.places.shape)

    # ---- a frame

    def _command(self, velocity, facing, camera) -> tuple[float, float, float]:
        velocity = _check.array(velocity, "velocity", (2,), dtype=np.float64)
        x, z = velocity.tolist()
        facing = math.nan if facing is None else _check.number(facing, "facing")
        if camera is not None:
            camera = _check.number(camera, "camera")
            c, s = math.cos(camera), math.sin(camera)
            # seen from above with y up, the right hand of someone who looks along +z points to -x
            x, z = -c * x + s * z, s * x + c * z
            facing += camera
        return x, z, facing

    def _step(self, command: tuple[float, float, float]) -> None:
        position, yaw, _ = self._character._root(0)
        control, wanted = self._control.copy(), self._wanted.copy()
        root = (position[0], position[2], yaw)
        _core.control_step(control, wanted, self._times, self._settings, command, root, self._foreseen, self._frame)
        self._character._want(0, wanted)
        try:
            self._character.step(self._frame, self._features)
        except BaseException:
            self._character._want(0, self._wanted)
            raise
        self._control, self._wanted = control, wanted
        self._foreseen = self._character._foreseen(0)
        self._before, self._now = self._now, self._pose_now(self._grip)

    def _legs_of(self, feet: tuple) -> _Legs | None:
        """The legs, where they are known and needed; only ``lock_feet`` cannot do without."""
        if not self._spec.contacts:
            return None
        try:
            return _Legs(self._skeleton, feet)
        except ValueError:
            if self._locking:
                raise
            return None

    def _pose_now(self, grip: float) -> Pose:
        """The character's last frame, its root moved by what standing feet have slid."""
        character = self._character
        position, yaw, phase = character._root(0)
        rotations = rotations_of(self._features[None], np.zeros(1), self._spec, self._skeleton, character.rest)[0]
        contacts = None
        if self._spec.contacts:
            contacts = self._features[self._spec.slices["contacts"]].astype(np.float64)
        if self._legs is not None and self._grip:
            heading = yaw if self._spec.frame == "heading" else 0.0
            by = self._legs.grip(rotations, heading, position, contacts, grip, self._frame)
            character._shift(0, *by, self._frame)
            position = character._root(0)[0]
        if self._spec.frame == "heading":
            rotations[0] = quat_mul(from_yaw(yaw), rotations[0])
        if self._locking:
            self._legs.lock(rotations, position, contacts > 0.5, self._frame, *self._lock)
        return Pose(position, rotations, yaw, phase, character._velocity(0), contacts)

    def _between(self, share: float) -> Pose:
        a, b = self._before, self._now
        if a is b:
            return b
        turn = math.remainder(b.yaw - a.yaw, 2 * math.pi)
        return Pose(
            a.root_position + share * (b.root_position - a.root_position),
            quat_slerp(a.rotations, b.rotations, share),
            a.yaw + share * turn,
            b.phase,
            a.velocity + share * (b.velocity - a.velocity),
            b.contacts,
        )


class _Legs:
    """The legs of a skeleton as the core takes them, and what is kept of the feet."""

    def __init__(self, skeleton: Skeleton, feet: tuple):
        soles = (
            [_sole(skeleton, name) for name in feet] if feet else [(chain[-1], np.zeros(3)) for chain in skeleton.find_feet()]
        )
        legs = []
        ankles = [chain[0] for chain in skeleton.find_feet()] if not feet else [_ankle(skeleton, j) for j, _ in soles]
        for (sole, _), ankle in zip(soles, ankles, strict=True):
            knee = int(skeleton.parents[ankle])
            hip = int(skeleton.parents[knee]) if knee >= 0 else -1
            if hip < 0:
                raise ValueError(f"lock_feet needs two bones above {skeleton.names[ankle]!r}")
            legs.append((hip, knee, ankle, sole))
        self.legs = np.array(legs, np.int64)
        self.soles = np.ascontiguousarray([offset for _, offset in soles], np.float64)
        self.parents = np.ascontiguousarray(skeleton.parents, np.int64)
        self.offsets = np.ascontiguousarray(skeleton.offsets, np.float64)
        self.locks = np.zeros((len(legs), _core.LOCK_SIZE))
        self.places = np.zeros((len(legs), 3))  # of the soles in the last frame

    def grip(
        self, rotations: np.ndarray, yaw: float, root: np.ndarray, contacts: np.ndarray, grip: float, dt: float
    ) -> tuple[float, float]:
        """The way (x, z) that a root moves so that feet which stand do not slide; rotations (J, 4) are without its yaw."""
        figure = self.parents, self.offsets, root, self.legs, self.soles
        return _core.grip(self.places, rotations, yaw, *figure, contacts, grip, dt)

    def lock(
        self, rotations: np.ndarray, root: np.ndarray, contacts: np.ndarray, dt: float, radius: float, halflife: float
    ) -> None:
        """Change the legs' rotations (J, 4) in place so that feet in contact stay where they came to stand."""
        rotations[...] = quat_normalize(rotations)
        _core.lock_feet(
            self.locks,
            rotations,
            self.parents,
            self.offsets,
            root,
            self.legs,
            self.soles,
            contacts,
            dt,
            radius,
            halflife,
        )


def _sole(skeleton: Skeleton, name: str) -> tuple[int, np.ndarray]:
    """Joint and offset of a joint or of the end site ``<joint>_end``."""
    if name in skeleton.names:
        return skeleton.index(name), np.zeros(3)
    joint = skeleton.index(name.removesuffix("_end"))
    ends = [offset for parent, offset in skeleton.end_sites if parent == joint]
    return joint, np.asarray(ends[0] if ends else np.zeros(3), np.float64)


def _ankle(skeleton: Skeleton, sole: int) -> int:
    """The ankle above a sole: by the names, or else the sole itself."""
    try:
        for chain in skeleton.find_feet():
            if sole in chain:
                return chain[0]
    except ValueError:
        pass
    return sole
