"""The machinery of the made clips: a clock of steps, feet that stand still, legs that reach them.

Everything is a function of time on a fine grid (240 Hz or a multiple of the clip's rate), so a clip at 30 fps is
every fourth frame of the clip at 120. `pfnnc.synthetic` is the public side.

A foot is described by its ankle, the foot's yaw and pitch (positive: heel up) and the pitch of the toes. From the
strike to the heel's lift the ankle is a fixed point of the world, from the toes' touch-down to the toe-off the toe
joint is. In between the swing is a cubic Hermite arc that starts with the velocity of the push-off and ends at rest.
"""

from dataclasses import dataclass, fields, replace

import numpy as np

GRID_RATE = 240.0
THIGH, SHIN = 0.42, 0.41  # metres
HIP_SIDE, HIP_DROP = 0.09, 0.05  # hip joint beside and below the root
ANKLE_HEIGHT, TOE_HEIGHT, TOE_AHEAD = 0.08, 0.025, 0.135  # of the foot on the floor
TOE_LENGTH = 0.07
REACH = 0.99 * (THIGH + SHIN)  # hip to ankle, at most: a knee never stretches out


@dataclass(frozen=True)
class Style:
    """How a gait looks. Lengths in metres, angles in radians."""

    cadence: tuple[float, float]  # cycles a second at no speed, and their growth per m/s
    duty: tuple[float, float]  # share of the cycle that a foot is on the ground, and its growth per m/s
    lead: float  # the hip passes over the ankle after this share of the stance
    toe_down: float  # the toes touch down after this share
    heel_off: float  # the heel lifts after this share
    heel_strike: float  # toes up at the strike
    push_off: float  # heel up at the toe-off
    lift: float  # extra height of the ankle in mid-swing
    width: float  # between the feet
    toe_out: float
    bob: float  # of the root; positive: highest over the standing foot
    sway: float  # of the root, towards the standing foot
    pelvis_yaw: float
    pelvis_roll: float
    lean: float
    twist: float  # of the shoulders against the pelvis
    arm_swing: float
    elbow: float
    elbow_swing: float

    def blend(self, other: "Style", share) -> "Style":
        """Between this style and ``other``, field by field; ``share`` may be an array."""

        def mix(a, b):
            return tuple(map(mix, a, b)) if isinstance(a, tuple) else a + share * (b - a)

        return Style(*(mix(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)))

    def varied(self, rng: "np.random.Generator", variation: float) -> "Style":
        """Another person's way of the same gait; the times of the steps stay."""
        factors = np.exp(0.2 * variation * rng.uniform(-1, 1, len(VARIED)))
        return replace(self, **{name: getattr(self, name) * factor for name, factor in zip(VARIED, factors, strict=True)})


WALK = Style(
    cadence=(0.56, 0.29), duty=(0.66, -0.03), lead=0.39, toe_down=0.14, heel_off=0.60, heel_strike=0.30,
    push_off=1.02, lift=0.03, width=0.15, toe_out=0.09, bob=0.018, sway=0.018, pelvis_yaw=0.08, pelvis_roll=0.05,
    lean=0.03, twist=0.10, arm_swing=0.40, elbow=0.30, elbow_swing=0.14,
)  # fmt: skip
RUN = Style(
    cadence=(1.08, 0.12), duty=(0.44, -0.03), lead=0.36, toe_down=0.14, heel_off=0.48, heel_strike=0.10,
    push_off=1.05, lift=0.20, width=0.10, toe_out=0.05, bob=-0.034, sway=0.008, pelvis_yaw=0.13, pelvis_roll=0.06,
    lean=0.16, twist=0.22, arm_swing=0.75, elbow=1.45, elbow_swing=0.25,
)  # fmt: skip


VARIED = ("lift", "width", "bob", "sway", "pelvis_yaw", "pelvis_roll", "lean", "twist")
VARIED += ("arm_swing", "elbow", "elbow_swing")


def smoothstep(x):
    x = np.clip(x, 0.0, 1.0)
    return x * x * (3.0 - 2.0 * x)


def hermite(s, start, start_slope, end):
    """Cubic from ``start`` with ``start_slope`` to ``end`` at rest, ``s`` in [0, 1]."""
    return start + start_slope * s * (1 - s) ** 2 + (end - start) * s * s * (3 - 2 * s)


def forward(yaw):
    return np.stack([np.sin(yaw), np.zeros_like(yaw), np.cos(yaw)], axis=-1)


def leftward(yaw):
    return np.stack([np.cos(yaw), np.zeros_like(yaw), -np.sin(yaw)], axis=-1)


@dataclass(frozen=True)
class Timeline:
    """The course of a clip on the fine grid, with a margin before and after it. ``halts``: phases where it stands."""

    times: np.ndarray
    speed: np.ndarray
    gait: np.ndarray  # 0 walks, 1 runs
    phase: np.ndarray  # in cycles, unwrapped
    standing: np.ndarray  # bool
    path: np.ndarray  # (G, 3)
    yaw: np.ndarray
    halts: tuple[float, ...]

    def at(self, phase):
        """Grid position (real) at which the gait reaches ``phase``."""
        return np.interp(phase, self.phase, np.arange(len(self.phase)))

    def pick(self, track, position):
        """``track`` between two grid points."""
        low = np.minimum(position.astype(np.intp), len(track) - 2)
        share = (position - low).reshape(-1, *[1] * (track.ndim - 1))
        return track[low] + share * (track[low + 1] - track[low])


def make_timeline(times, speed, turn_rate, gait, cadence, start_phase, heading, origin) -> Timeline:
    """Integrate speed, turn and cadence over the grid, with stops that end in closing steps."""
    step = times[1] - times[0]
    rate = cadence if cadence is not None else _cadence(np.hypot(speed, 0.3 * turn_rate), gait)
    rate = np.broadcast_to(rate, speed.shape)
    zero = int(np.searchsorted(times, -0.5 * step))  # where the clip begins
    still = np.zeros(len(times), bool)
    phase, halts = np.empty(len(times)), []
    ends = np.flatnonzero(np.diff(np.r_[False, (speed == 0) & (turn_rate == 0), False].astype(np.int8)))
    spans = [(int(a), int(b)) for a, b in zip(ends[::2], ends[1::2], strict=True) if b - a > 1]
    settle, look_ahead = 0.5 * (WALK.duty[0] - 0.5), WALK.lead * WALK.duty[0]
    gain = np.r_[0.0, np.cumsum(0.5 * step * (rate[1:] + rate[:-1]))]
    phase[:] = gain - gain[zero] + start_phase
    for a, b in spans:
        if a == 0:  # it stands from the beginning: the start foot is the one to step first
            stop = start_phase - 0.5 + settle
            first = 0
        else:
            stop = np.ceil(2 * (phase[a] - look_ahead)) / 2 + 0.5 + settle
            first = a + int(np.searchsorted(phase[a:b], stop))
            if first >= b:
                continue  # too short to come to rest: it steps on the spot
        still[first:b] = True
        phase[b:] += stop - phase[b - 1]
        phase[first:b] = stop
        halts.append(float(stop))
    yaw = heading + _integral(turn_rate, step, zero)
    middle = yaw[:-1] + 0.5 * (yaw[1:] - yaw[:-1])
    arc = 0.5 * (speed[1:] + speed[:-1]) * step * np.sinc((yaw[1:] - yaw[:-1]) / (2 * np.pi))
    path = np.zeros((len(times), 3))
    path[1:] = np.cumsum(arc[:, None] * forward(middle), axis=0)
    path += np.array([origin[0], 0.0, origin[1]]) - path[zero]
    return Timeline(times, speed, gait, phase, still, path, yaw, tuple(halts))


def _cadence(speed, gait):
    walk, run = (style.cadence[0] + style.cadence[1] * speed for style in (WALK, RUN))
    return walk + gait * (run - walk)


def _integral(values, step, zero):
    total = np.r_[0.0, np.cumsum(0.5 * step * (values[1:] + values[:-1]))]
    return total - total[zero]


@dataclass(frozen=True)
class Foot:
    """One foot over the grid."""

    ankle: np.ndarray  # (G, 3)
    yaw: np.ndarray
    pitch: np.ndarray
    toe_pitch: np.ndarray
    support: np.ndarray  # from the strike to the toe-off
    ankle_planted: np.ndarray
    toe_planted: np.ndarray

    def sample(self, frames) -> "Foot":
        return Foot(*(getattr(self, f.name)[frames] for f in fields(self)))


def standing_foot(line: Timeline, side: int, width: float, toe_out: float) -> Foot:
    """A foot that never moves: ``side`` is +1 on the left, -1 on the right."""
    n = len(line.times)
    ankle = line.path[:1] + side * 0.5 * width * leftward(line.yaw[:1]) + [0.0, ANKLE_HEIGHT, 0.0]
    yes, none = np.ones(n, bool), np.zeros(n)
    return Foot(np.repeat(ankle, n, axis=0), line.yaw + side * toe_out, none, none, yes, yes, yes)


def walking_foot(line: Timeline, side: int, walk: Style, run: Style) -> Foot:
    """Footholds from the path, stances that stand still, swings between them."""
    own = line.phase - (0.0 if side > 0 else 0.5)
    cycle = np.floor(own).astype(np.intp)
    u = own - cycle
    base, count = cycle[0], cycle[-1] - cycle[0] + 2
    strike = np.arange(base, base + count) + (0.0 if side > 0 else 0.5)
    at_strike = line.at(strike)
    style = walk.blend(run, line.pick(line.gait, at_strike))
    stance = np.clip(style.duty[0] + style.duty[1] * line.pick(line.speed, at_strike), 0.2, 0.75)
    hold, yaw = _footholds(line, strike, stance, style, side)
    drive = _drive(line, strike, stance, style)

    k = cycle - base
    duty, heel_off, toe_down = (share[k] for share in (stance, stance * style.heel_off, stance * style.toe_down))
    support = u < duty
    early, late = u < heel_off, support & (u >= heel_off)
    heel_strike = style.heel_strike * drive[0]
    push_off = style.push_off * drive[1]

    # the foot on the ground: toes come down about the ankle, the heel goes up about the toes
    s = np.clip((u - heel_off) / (duty - heel_off), 0.0, 1.0)
    pitch = np.where(early, -heel_strike[k] * (1 - smoothstep(u / toe_down)), push_off[k] * s * s * (1.2 - 0.2 * s))
    up = np.where(early, 0.0, pitch)
    ankle = hold[k] + _heel_rise(up, yaw[k])

    # the foot in the air
    air = ~support
    s = np.clip((u - duty) / (1 - duty), 0.0, 1.0)[air]
    ka = k[air]
    slope = 1.8 * push_off[ka] * (1 - duty[air]) / (duty[air] - heel_off[air])
    rise = _heel_rise(push_off[ka], yaw[ka])
    rise_slope = _heel_rise_slope(push_off[ka], yaw[ka]) * slope[:, None]
    bump = 16 * style.lift[ka] * (s * (1 - s)) ** 2
    ankle[air] = hermite(s[:, None], hold[ka] + rise, rise_slope, hold[ka + 1])
    ankle[air, 1] += bump
    pitch[air] = hermite(s, push_off[ka], slope, -heel_strike[ka + 1])
    turn = np.zeros(len(u))
    turn[air] = smoothstep(s) * (yaw[ka + 1] - yaw[ka])
    toe = np.where(late, -pitch, 0.0)
    toe[air] = _toes_clear(ankle[air, 1], pitch[air], -np.maximum(pitch[air], 0.0) * (1 - smoothstep(1.4 * s)))
    ankle_planted = support & (early | (push_off[k] == 0))
    toe_planted = support & ((u >= toe_down) | (heel_strike[k] == 0))
    return Foot(ankle, yaw[k] + turn, pitch, toe, support, ankle_planted, toe_planted)


def _toes_clear(ankle_height, pitch, toe_pitch):
    """The toes' pitch in the foot's frame, less where their tips would go through the floor."""
    height = ankle_height - TOE_AHEAD * np.sin(pitch) - (ANKLE_HEIGHT - TOE_HEIGHT) * np.cos(pitch)
    most = np.arcsin(np.clip((height - 0.5 * TOE_HEIGHT) / TOE_LENGTH, -1.0, 1.0))
    return np.minimum(pitch + toe_pitch, most) - pitch


def _footholds(line: Timeline, strike, stance, style: Style, side: int):
    """Where the ankle stands after each strike: under the hip's path a little later. At a halt, under the halt."""
    over = strike + style.lead * stance
    for halt in line.halts:
        over = np.where((strike <= halt) & (halt <= over), halt, over)
    position = line.at(over)
    yaw = line.pick(line.yaw, position)
    hold = line.pick(line.path, position) + side * 0.5 * style.width[:, None] * leftward(yaw)
    hold[:, 1] = ANKLE_HEIGHT
    return hold, yaw + side * style.toe_out


def _drive(line: Timeline, strike, stance, style: Style):
    """How much of heel strike and push-off there is at the speed of the step: none when it starts from standing."""
    at_strike = np.clip(line.pick(line.speed, line.at(strike)) / 1.2, 0.0, 1.0)
    off, lift = strike + stance, strike + stance * style.heel_off
    at_push = np.clip(line.pick(line.speed, line.at(0.5 * (off + lift))) / 1.2, 0.0, 1.0)
    for halt in line.halts:
        at_push = np.where((lift - 0.02 <= halt) & (halt <= off), 0.0, at_push)
        at_strike = np.where((strike <= halt) & (halt <= strike + stance * style.toe_down), 0.0, at_strike)
    return at_strike, at_push


def _heel_rise(pitch, yaw):
    """From the ankle of the flat foot to the ankle when the heel is up: a turn about the toe joint."""
    d, c, s = ANKLE_HEIGHT - TOE_HEIGHT, np.cos(pitch), np.sin(pitch)
    rise = (TOE_AHEAD * (1 - c) + d * s)[:, None] * forward(yaw)
    rise[:, 1] = TOE_AHEAD * s - d * (1 - c)
    return rise


def _heel_rise_slope(pitch, yaw):
    d, c, s = ANKLE_HEIGHT - TOE_HEIGHT, np.cos(pitch), np.sin(pitch)
    slope = (TOE_AHEAD * s + d * c)[:, None] * forward(yaw)
    slope[:, 1] = TOE_AHEAD * c - d * s
    return slope


def lower_envelope(values, radius: int):
    """A smooth curve that is nowhere above ``values``: the least within ``radius``, then a raised-cosine mean."""
    least, width = np.pad(values, radius, mode="edge"), 1
    while width < 2 * radius + 1:  # windows of doubling width
        shift = min(width, 2 * radius + 1 - width)
        least = np.minimum(least[:-shift], least[shift:])
        width += shift
    window = 0.5 + 0.5 * np.cos(np.pi * np.arange(-radius, radius + 1) / (radius + 1))
    return np.convolve(np.pad(least, radius, mode="edge"), window / window.sum(), "valid")


def hip_limit(ankle, hip, root):
    """The greatest root height at which a leg still reaches its ankle; ``hip``: the hip joint relative to the root."""
    flat = ankle - root - hip
    room = REACH**2 - flat[:, 0] ** 2 - flat[:, 2] ** 2
    return ankle[:, 1] - hip[:, 1] + np.sqrt(np.maximum(room, 0.0)), room


def bend_leg(hip, ankle, facing):
    """Two-bone inverse kinematics. Rotation matrices (T, 3, 3) of thigh and shin in the world.

    The bones point along -y of their frames, the knee bends towards ``facing``; x is the knee's axis.
    """
    reach = ankle - hip
    length = np.linalg.norm(reach, axis=-1)
    down = reach / length[:, None]
    axis = np.cross(facing, down)  # to the left of a leg that hangs down
    axis /= np.linalg.norm(axis, axis=-1, keepdims=True)
    ahead = np.cross(down, axis)
    cos_hip = (THIGH**2 + length**2 - SHIN**2) / (2 * THIGH * length)
    cos_hip = np.clip(cos_hip, -1.0, 1.0)[:, None]
    knee = hip + THIGH * (cos_hip * down + np.sqrt(1 - cos_hip**2) * ahead)
    return _bone_frame(knee - hip, axis), _bone_frame(ankle - knee, axis)


def _bone_frame(bone, axis):
    up = -bone / np.linalg.norm(bone, axis=-1, keepdims=True)
    return np.stack([axis, up, np.cross(axis, up)], axis=-1)
