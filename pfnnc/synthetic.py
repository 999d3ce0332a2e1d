"""Made clips of a walking, running, turning, standing and kicking figure, with everything about them known.

They are the data that the package ships: enough to try the whole chain without a recording, and an exact oracle for
tests. Feet that stand really stand still (the planted ankle and toe joints are fixed points of the world to rounding),
the gait phase, the contacts and the path are those that the clip was made from, not estimates.

A figure of 24 joints, 1.7 m, facing +z with its left side at +x. Where the path leads and how fast is given by
numbers or by profiles; the steps follow from it, so that it also starts, stops and turns on the spot.
"""

from dataclasses import dataclass, field

import numpy as np

from . import _check
from ._gait import (
    ANKLE_HEIGHT,
    GRID_RATE,
    HIP_DROP,
    HIP_SIDE,
    RUN,
    SHIN,
    THIGH,
    TOE_AHEAD,
    TOE_HEIGHT,
    TOE_LENGTH,
    WALK,
    Foot,
    Timeline,
    bend_leg,
    forward,
    hip_limit,
    leftward,
    lower_envelope,
    make_timeline,
    smoothstep,
    standing_foot,
    walking_foot,
)
from .rotation import quat_conj, quat_from_matrix, quat_mul, quat_rotate
from .skeleton import Clip, Skeleton

__all__ = ["SyntheticClip", "make_demo_clips", "make_gait_clip", "synthetic_skeleton"]

KINDS = ("walk", "run", "auto", "turn", "idle", "kick")
DEFAULT_SPEED = {"walk": 1.3, "run": 3.0, "auto": 1.3, "turn": 1.0, "idle": 0.0, "kick": 0.0}
LOWEST_ROOT = 0.6  # metres
FARTHEST = 1e6  # metres, radians: beyond it steps lose their millimetres
MOST_FRAMES, MOST_SECONDS = 1_000_000, 3600.0

# name, parent, offset; of each limb the left one: its twin follows it, so the order is that of a depth-first walk
_JOINTS = (
    (("Hips", None, (0.0, 0.96, 0.0)),),
    (
        ("LeftUpLeg", "Hips", (HIP_SIDE, -HIP_DROP, 0.0)),
        ("LeftLeg", "LeftUpLeg", (0.0, -THIGH, 0.0)),
        ("LeftFoot", "LeftLeg", (0.0, -SHIN, 0.0)),
        ("LeftToeBase", "LeftFoot", (0.0, TOE_HEIGHT - ANKLE_HEIGHT, TOE_AHEAD)),
    ),
    (
        ("Spine", "Hips", (0.0, 0.11, -0.01)),
        ("Spine1", "Spine", (0.0, 0.13, 0.0)),
        ("Spine2", "Spine1", (0.0, 0.13, 0.0)),
        ("Neck", "Spine2", (0.0, 0.17, -0.01)),
        ("Head", "Neck", (0.0, 0.10, 0.02)),
    ),
    (
        ("LeftShoulder", "Spine2", (0.05, 0.12, 0.0)),
        ("LeftArm", "LeftShoulder", (0.13, 0.0, 0.0)),
        ("LeftForeArm", "LeftArm", (0.27, 0.0, 0.0)),
        ("LeftHand", "LeftForeArm", (0.25, 0.0, 0.0)),
        ("LeftFingers", "LeftHand", (0.09, 0.0, 0.0)),
    ),
)
_ENDS = (("Head", (0.0, 0.17, 0.0)), ("LeftToeBase", (0.0, 0.0, TOE_LENGTH)), ("LeftFingers", (0.09, 0.0, 0.0)))


@dataclass(frozen=True)
class SyntheticClip:
    """A made clip and what is known about it. T frames; time of frame i is ``i / clip.fps``."""

    clip: Clip
    kind: str
    phase: np.ndarray = field(repr=False)
    """(T,) cycles: 0 at a left strike, 0.5 at a right one; NaN where the figure stands."""
    contacts: np.ndarray = field(repr=False)
    """(T, 2) bool: left and right ankle stand still, from the strike to the lift of the heel."""
    support: np.ndarray = field(repr=False)
    """(T, 2) bool: left and right foot carry, from the strike to the toe-off."""
    planted: np.ndarray = field(repr=False)
    """(T, 4) bool: left ankle, left toe, right ankle, right toe stands exactly still."""
    path: np.ndarray = field(repr=False)
    """(T, 3) the path on the ground, metres; the root sways about it."""
    heading: np.ndarray = field(repr=False)
    """(T,) yaw of the path, radians, unwrapped."""
    strikes: tuple[np.ndarray, np.ndarray] = field(repr=False)
    """Seconds at which the left and the right foot strike within the clip."""
    feet: tuple[str, str] = ("LeftFoot", "RightFoot")
    toes: tuple[str, str] = ("LeftToeBase", "RightToeBase")


def synthetic_skeleton() -> Skeleton:
    """The figure of the made clips: 24 joints, metres, T-pose, facing +z.

    >>> skeleton = synthetic_skeleton()
    >>> len(skeleton), skeleton.names[:3]
    (24, ['Hips', 'LeftUpLeg', 'LeftLeg'])
    """
    rows = []
    for limb in _JOINTS:
        rows += limb
        if limb[0][0].startswith("Left"):
            rows += [(_twin(name), _twin(parent), _mirrored(offset)) for name, parent, offset in limb]
    names = [row[0] for row in rows]
    parents = [-1 if parent is None else names.index(parent) for _, parent, _ in rows]
    ends = [(names.index(name), offset) for name, offset in _ENDS]
    ends += [(names.index(_twin(name)), _mirrored(offset)) for name, offset in _ENDS if name.startswith("Left")]
    return Skeleton(names, parents, np.array([row[2] for row in rows]), end_sites=sorted(ends))


def _twin(name: str) -> str:
    return name.replace("Left", "Right")


def _mirrored(offset):
    return (-offset[0], offset[1], offset[2])


def make_gait_clip(
    kind: str = "walk",
    *,
    seconds: float = 10.0,
    fps: float = 30.0,
    speed=None,
    turn_rate=None,
    cadence: float | None = None,
    start_foot: str = "left",
    heading: float = 0.0,
    origin=(0.0, 0.0),
    variation: float = 0.0,
    seed: int = 0,
    name: str | None = None,
) -> SyntheticClip:
    """One made clip of ``floor(seconds * fps) + 1`` frames.

    Parameters
    ----------
    kind : str
        "walk", "run", "auto" (walks below 2 m/s and runs above), "turn" (a walk that turns left at 45 degrees a
        second), "idle" (stands and sways), "kick" (stands and kicks with the foot opposite to ``start_foot``).
    seconds, fps : float
    speed, turn_rate
        m/s and rad/s, positive to the left: a number, or a profile ``[(seconds, value), ...]`` with straight lines
        between and the end values kept outside. Where both are 0 the figure closes its feet and stands, unless the time
        is too short for that.
    cadence : float or None
        Cycles a second; a gait has one of its own, which grows with speed.
    start_foot : "left" or "right"
        The foot that strikes at time 0, or steps first where the clip begins standing.
    heading : float
        Radians, of the path's begin.
    origin : (2,)
        x and z of the path's begin, metres.
    variation : float
        0 is the same figure always, 1 other people's arms, hips and posture drawn from ``seed``; the steps stay as they
        are.
    seed : int
    name : str or None
        Of the clip.

    ``ValueError`` where a leg could not reach the steps that speed and cadence ask for.

    >>> made = make_gait_clip("walk", seconds=2.0, speed=1.2)
    >>> len(made.clip), made.clip.fps, made.contacts.shape
    (61, 30.0, (61, 2))
    >>> float(made.phase[0]), bool(made.contacts[0, 0])
    (0.0, True)
    """
    kind = _check.option(kind, "kind", KINDS)
    stands = kind in ("idle", "kick")
    if stands and not (speed is None and turn_rate is None and cadence is None):
        raise ValueError(f"a clip of kind {kind!r} has no speed, turn_rate or cadence")
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name must be a string, got {type(name).__name__}")
    start_foot = _check.option(start_foot, "start_foot", ("left", "right"))
    variation = _check.number(variation, "variation", least=0, most=2)
    rng = np.random.default_rng(_check.integer(seed, "seed", least=0))
    walk, run = (style.varied(rng, variation) for style in (WALK, RUN))
    times, shown, fps = _grid(seconds, fps, cadence)
    line, gait = _line(kind, times, speed, turn_rate, cadence, start_foot, heading, origin)
    left, right = _feet(kind, line, walk, run, start_foot)
    moods = _moods(times, rng, variation)
    clip = _pose(line, left, right, walk.blend(run, gait), moods, shown, fps, kind if name is None else name, kind)
    moving = ~line.standing[shown] & (not stands)
    return SyntheticClip(
        clip,
        kind,
        np.where(moving, _wrapped(line.phase[shown]), np.nan),
        np.stack([left.ankle_planted[shown], right.ankle_planted[shown]], axis=1),
        np.stack([left.support[shown], right.support[shown]], axis=1),
        np.stack([foot[shown] for side in (left, right) for foot in (side.ankle_planted, side.toe_planted)], axis=1),
        line.path[shown],
        line.yaw[shown],
        _strikes(line, times, (len(shown) - 1) / fps, kind),
    )


def _grid(seconds, fps, cadence) -> tuple[np.ndarray, np.ndarray, float]:
    """Times of a finer grid that goes on beyond both ends of a clip, the indices of the clip's frames in it, their rate."""
    fps = _check.number(fps, "fps", least=1e-3, most=1000)
    seconds = _check.number(seconds, "seconds", least=0, most=MOST_SECONDS)
    frames = int(np.floor(seconds * fps * (1 + 1e-12))) + 1
    if frames > MOST_FRAMES:
        raise ValueError(f"seconds * fps must be less than {MOST_FRAMES}, got {seconds * fps:g}")
    if cadence is not None:
        cadence = _check.number(cadence, "cadence", least=0.3, most=4.0)
    stride = max(1, int(np.ceil(GRID_RATE / fps - 1e-9)))
    margin = int(np.ceil(fps * stride * 1.6 / min(WALK.cadence[0], cadence or np.inf)))  # more than a cycle
    times = np.arange(-margin, (frames - 1) * stride + margin + 1) / (fps * stride)
    return times, margin + stride * np.arange(frames), fps


def _line(kind, times, speed, turn_rate, cadence, start_foot, heading, origin) -> tuple[Timeline, np.ndarray]:
    """Where the path leads and when steps fall, and how much of the gait is a run, 0 to 1, at each time."""
    heading = _check.number(heading, "heading", least=-FARTHEST, most=FARTHEST)
    origin = _check.array(origin, "origin", (2,), dtype=np.float64)
    if (np.abs(origin) > FARTHEST).any():
        raise ValueError(f"{_check.at('origin', origin, np.abs(origin) > FARTHEST)} is not in [-1e6, 1e6]")
    pace = _profile(DEFAULT_SPEED[kind] if speed is None else speed, "speed", times, 0.0, 8.0)
    usual = np.pi / 4 if kind == "turn" else 0.0
    turning = _profile(usual if turn_rate is None else turn_rate, "turn_rate", times, -10.0, 10.0)
    gait = smoothstep((pace - 1.8) / 0.4) if kind == "auto" else np.full(len(times), float(kind == "run"))
    first = 0.0 if start_foot == "left" else 0.5
    return make_timeline(times, pace, turning, gait, cadence, first, heading, origin), gait


def _feet(kind: str, line: Timeline, walk, run, start_foot: str) -> tuple[Foot, Foot]:
    """The left and the right foot at each time."""
    if kind not in ("idle", "kick"):
        return walking_foot(line, 1, walk, run), walking_foot(line, -1, walk, run)
    left, right = (standing_foot(line, side, walk.width, walk.toe_out) for side in (1, -1))
    return _kick(line, left, right, start_foot) if kind == "kick" else (left, right)


def make_demo_clips(seed: int = 0, *, fps: float = 30.0) -> list[SyntheticClip]:
    """The clips that ``pfnnc demo`` learns from: walks, turns to both sides, runs, starts and stops, a kick, standing.

    >>> [made.clip.name for made in make_demo_clips()][:3]
    ['walk_slow', 'walk', 'walk_fast']
    """
    seed = _check.integer(seed, "seed", least=0)
    quarter = np.pi / 2

    def bend(*turns):  # straight on, a turn of so many radians within 2 s, straight on ...
        knots, at = [(0.0, 0.0)], 1.0
        for angle in turns:
            knots += [(at, 0.0), (at + 0.5, angle / 1.5), (at + 1.5, angle / 1.5), (at + 2.0, 0.0)]
            at += 4.0
        return knots

    stop_and_go = [(0, 0), (1, 0), (2, 1.3), (6, 1.3), (7, 0), (10, 0), (11, 1.3), (15, 1.3), (16, 0), (18, 0)]
    recipes = [
        ("walk", "walk_slow", dict(seconds=12.0, speed=0.9)),
        ("walk", "walk", dict(seconds=12.0, speed=1.3)),
        ("walk", "walk_fast", dict(seconds=12.0, speed=1.7)),
        ("walk", "walk_changing", dict(seconds=16.0, speed=[(0, 0.8), (5, 1.7), (9, 1.7), (12, 1.0), (16, 1.4)])),
        ("turn", "turn_left", dict(seconds=16.0, speed=1.2, turn_rate=bend(quarter, quarter, 2 * quarter, quarter))),
        (
            "turn",
            "turn_right",
            dict(seconds=16.0, speed=1.2, turn_rate=bend(-quarter, -quarter, -2 * quarter, -quarter)),
        ),
        ("turn", "turn_both", dict(seconds=16.0, speed=1.4, turn_rate=bend(quarter, -quarter, -quarter, quarter))),
        ("walk", "walk_stop", dict(seconds=18.0, speed=stop_and_go)),
        ("run", "run", dict(seconds=8.0, speed=3.0)),
        (
            "auto",
            "walk_to_run",
            dict(seconds=14.0, speed=[(0, 1.2), (4, 1.2), (6, 3.0), (9, 3.0), (11, 1.2), (14, 1.2)]),
        ),
        ("idle", "idle", dict(seconds=6.0)),
        ("kick", "kick", dict(seconds=6.0)),
    ]
    return [
        make_gait_clip(
            kind,
            fps=fps,
            name=name,
            variation=0.5,
            seed=seed * len(recipes) + i,
            start_foot=("left", "right")[i % 2],
            **recipe,
        )
        for i, (kind, name, recipe) in enumerate(recipes)
    ]


def _wrapped(phase):
    wrapped = phase - np.floor(phase)
    return np.where(wrapped < 1.0, wrapped, 0.0)


def _profile(value, name, times, least, most):
    """A number or ``[(time, value), ...]`` as values at ``times``."""
    profile = _check.array(value, name, dtype=np.float64)
    if profile.ndim == 0:
        profile = np.array([[0.0, float(profile)]])
    _check.check_shape(profile, name, (None, 2))
    if len(profile) == 0:
        raise ValueError(f"{name} has no knots")
    falling = np.flatnonzero(np.diff(profile[:, 0]) <= 0)
    if len(falling):
        i = int(falling[0]) + 1
        raise ValueError(f"{name}[{i}, 0]={profile[i, 0]:g} is not greater than {name}[{i - 1}, 0]={profile[i - 1, 0]:g}")
    bad = (profile[:, 1] < least) | (profile[:, 1] > most)
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(f"{name}[{i}, 1]={profile[i, 1]:g} is not in [{least:g}, {most:g}]")
    return np.interp(times, profile[:, 0], profile[:, 1])


def _strikes(line: Timeline, times, end, kind):
    if kind in ("idle", "kick"):
        return np.empty(0), np.empty(0)
    found = []
    for offset in (0.0, 0.5):
        own = np.arange(np.floor(line.phase[0]), np.ceil(line.phase[-1]) + 1) + offset
        own = own[(own >= line.phase[0]) & (own <= line.phase[-1])]
        at = np.interp(line.at(own), np.arange(len(times)), times)
        found.append(np.maximum(at[(at > -1e-9) & (at <= end + 1e-9)], 0.0))
    return found[0], found[1]


def _moods(times, rng, variation):
    """Slow wandering of posture, head and arms (3, G), about one radian's hundredth: nobody repeats a step exactly."""
    rate, shift = rng.uniform(0.05, 0.35, (3, 4, 1)), rng.uniform(0, 2 * np.pi, (3, 4, 1))
    return 0.5 * variation * np.sin(2 * np.pi * rate * times + shift).sum(axis=1)


def _kick(line: Timeline, left: Foot, right: Foot, standing: str):
    """One foot stands, the other kicks every 2.5 s: back, forward and up, back to its place."""
    side, foot = (-1, right) if standing == "left" else (1, left)
    at = np.mod(line.times, 2.5)
    keys = np.array([0.0, 0.45, 0.85, 1.15, 1.6, 1.95])
    ahead = _through(at, keys, [0.0, 0.0, -0.35, 0.72, 0.2, 0.0])
    height = _through(at, keys, [0.0, 0.0, 0.32, 0.58, 0.22, 0.0])
    pitch = _through(at, keys, [0.0, 0.0, 1.0, 0.2, 0.1, 0.0])
    lifted = (at > keys[1]) & (at < keys[-1])
    ankle = foot.ankle + ahead[:, None] * forward(line.yaw)
    ankle[:, 1] += height
    moved = Foot(ankle, foot.yaw, pitch, np.zeros(len(at)), ~lifted, ~lifted, ~lifted)
    return (left, moved) if side < 0 else (moved, right)


def _through(at, keys, values):
    """Through the values, at rest at each."""
    i = np.clip(np.searchsorted(keys, at, side="right") - 1, 0, len(keys) - 2)
    values = np.asarray(values)
    share = smoothstep((at - keys[i]) / (keys[i + 1] - keys[i]))
    return values[i] + share * (values[i + 1] - values[i])


def _turn(axis: int, angle):
    """Quaternions of turns about x, y or z (axis 0, 1, 2)."""
    result = np.zeros((len(angle), 4))
    result[:, 0] = np.cos(0.5 * angle)
    result[:, 1 + axis] = np.sin(0.5 * angle)
    return result


def _pose(line, left, right, looks, moods, shown, fps, name, kind) -> Clip:
    """Joint rotations of the frames ``shown``."""
    swing = 2 * np.pi * line.phase
    drive = smoothstep(line.speed / 0.9)  # arms and hips come to rest with the feet
    pelvis, root = _pelvis(line, left, right, looks, moods, swing, drive, kind)
    pelvis, root, drive, swing, moods = pelvis[shown], root[shown], drive[shown], swing[shown], moods[:, shown]
    look = {
        key: np.broadcast_to(getattr(looks, key), len(line.times))[shown]
        for key in vars(looks)
        if key not in ("cadence", "duty")
    }
    turns = {"Hips": pelvis}
    _turn_trunk(turns, look, moods, drive, swing)
    for side, arm in ((1.0, "Left"), (-1.0, "Right")):
        _turn_arm(turns, look, moods, drive, swing, side, arm)
    for side, foot, leg in ((1, left.sample(shown), "Left"), (-1, right.sample(shown), "Right")):
        _turn_leg(turns, foot, pelvis, root, side, leg)
    skeleton = synthetic_skeleton()
    return Clip(skeleton, root, np.stack([turns[joint] for joint in skeleton.names], axis=1), fps, name)


def _turn_trunk(turns, look, moods, drive, swing) -> None:
    """Spine, neck and head: they turn against the pelvis and keep the eyes ahead."""
    ahead = drive * np.cos(swing)
    sideways = look["pelvis_roll"] * drive * np.sin(swing)
    counter = (look["pelvis_yaw"] + look["twist"]) * ahead
    bow = (0.4 * look["lean"] + 0.02 * moods[0]) / 3
    for joint in ("Spine", "Spine1", "Spine2"):
        turns[joint] = _product(_turn(1, counter / 3), _turn(2, sideways / 3), _turn(0, bow))
    back = -0.5 * look["twist"] * ahead
    turns["Neck"] = _product(_turn(1, back + 0.02 * moods[1]), _turn(0, -0.5 * look["lean"]))
    turns["Head"] = _product(_turn(1, back + 0.03 * moods[1]), _turn(0, -0.5 * look["lean"] + 0.02 * moods[2]))


def _turn_arm(turns, look, moods, drive, swing, side: float, arm: str) -> None:
    """Shoulder to fingers, swinging against the leg of their side."""
    ahead = drive * np.cos(swing)
    back = side * look["arm_swing"] * ahead * (1 + 0.05 * moods[2]) + 0.05
    bend = look["elbow"] * (0.55 + 0.45 * drive) - look["elbow_swing"] * side * ahead
    still = np.ones(len(swing))
    turns[arm + "Shoulder"] = _turn(1, 0.15 * side * back)
    turns[arm + "Arm"] = _product(_turn(0, back), _turn(2, -1.36 * side * still), _turn(1, -0.1 * side * still))
    turns[arm + "ForeArm"] = _turn(1, -side * bend)
    turns[arm + "Hand"] = _turn(2, -0.05 * side * still)
    turns[arm + "Fingers"] = _turn(2, -0.25 * side * still)


def _product(first, *others):
    for other in others:
        first = quat_mul(first, other)
    return first


def _pelvis(line, left, right, looks, moods, swing, drive, kind):
    """World rotation and position of the root on the grid, as high as both legs allow at all times."""
    tilt = looks.lean * (0.3 + 0.7 * drive) + 0.01 * moods[0]
    lean_in = np.clip(0.06 * line.speed * np.gradient(line.yaw, line.times), -0.25, 0.25)  # into the curve
    roll = -looks.pelvis_roll * drive * np.sin(swing) + lean_in
    pelvis = quat_mul(
        quat_mul(_turn(1, line.yaw - looks.pelvis_yaw * drive * np.cos(swing)), _turn(2, roll)), _turn(0, 0.5 * tilt)
    )
    aside = looks.sway * drive * np.sin(swing)
    lift = np.zeros(len(swing))
    if kind == "kick":  # over the foot that stands
        weight = smoothstep(np.minimum(np.mod(line.times, 2.5) / 0.45, (2.5 - np.mod(line.times, 2.5)) / 0.5))
        aside = (0.06 if left.support.all() else -0.06) * weight
    elif line.standing.all() or kind == "idle":
        aside = 0.012 * np.sin(2 * np.pi * 0.11 * line.times)
        lift = 0.003 * np.sin(2 * np.pi * 0.25 * line.times)  # breath
    lift = lift + looks.bob * drive * np.cos(2 * (swing - 2 * np.pi * looks.lead * looks.duty[0]))
    root = line.path + aside[:, None] * leftward(line.yaw)
    step, limit = line.times[1] - line.times[0], np.full(len(swing), np.inf)
    radius = int(round(0.35 / step))
    margin = int(np.searchsorted(line.times, -0.5 * step)) - 2 * radius  # beyond it the first and last steps have no neighbours
    inside = slice(margin, len(swing) - margin)
    for side, foot in ((1, left), (-1, right)):
        hip = quat_rotate(pelvis, np.array([side * HIP_SIDE, -HIP_DROP, 0.0]))
        height, room = hip_limit(foot.ankle, hip, root)
        if (room[inside] <= 0).any() or height[inside].min() < LOWEST_ROOT:
            raise ValueError("speed and cadence ask for steps that the legs cannot reach")
        limit = np.minimum(limit, height)
    limit = np.pad((limit - lift)[inside], margin, mode="edge")
    root[:, 1] = lower_envelope(limit, radius) + lift
    return pelvis, root


def _turn_leg(turns, foot: Foot, pelvis, root, side: int, leg: str) -> None:
    """Thigh, shin, foot and toes, so that the ankle stands where the foot is."""
    hip = root + quat_rotate(pelvis, np.array([side * HIP_SIDE, -HIP_DROP, 0.0]))
    hips_forward = quat_rotate(pelvis, np.array([0.0, 0.0, 1.0]))
    facing = hips_forward + forward(foot.yaw)
    thigh, shin = (quat_from_matrix(matrix) for matrix in bend_leg(hip, foot.ankle, facing))
    sole = quat_mul(_turn(1, foot.yaw), _turn(0, foot.pitch))
    parent = pelvis
    for joint, world in ((leg + "UpLeg", thigh), (leg + "Leg", shin), (leg + "Foot", sole)):
        turns[joint] = quat_mul(quat_conj(parent), world)
        parent = world
    turns[leg + "ToeBase"] = _turn(0, foot.toe_pitch)
