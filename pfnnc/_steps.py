"""Steps of a recorded walker, for `label_phase`: where the feet are, when each swings, when it strikes, when it stands.

Nothing here knows a unit or a rate: lengths are in legs, speeds in legs a second, widths of filters in seconds. The
few constants say what a step is, not how one recording looks.
"""

from dataclasses import dataclass, fields

import numpy as np

from .skeleton import Clip

SMOOTHING = 0.025  # s, standard deviation: far below a swing's 0.3 s, above the jitter of markers
WIDER = (1.0, 1.2, 1.4, 1.7, 2.0)  # times that, for noise
QUIET = 0.005  # share of a swing's top speed that noise may have before its filter gets wider
SWING_LEAD = 0.2  # legs/s by which the swinging foot is faster than the other one
SWING_TOP = (0.3, 0.5)  # legs/s that a swing reaches, a weak and a clear one: a walk at 0.3 legs/s has swings of 1
SWING_REACH = (0.05, 0.12)  # legs from lift to strike, likewise: less is a shifted foot, a kick on the spot
SWING_RISE = 0.35  # legs above the other foot that a swing may end, as on stairs: more is a kick that stops at its top
STRAIGHT = 0.3  # of the way of a swing that leads from lift to strike: a kick comes back
CUT_TOP = 0.3  # of the usual top speed that a swing has at least which the first frame cuts: slower, the foot was down
SAME_SWING = 0.2  # s: a slower moment within one swing
FALL = (0.5, 0.25)  # shares of a swing's top speed between which its braking is taken for a straight line
LONGEST_BRAKING = 0.08  # s from the lower of them to the strike
BRAKING_LAG = (0.48, -0.0018, 0.2)  # by how much that line ends late: times the filter's width squared over the time
# between those speeds, plus s, plus frames, as made clips tell, whose strikes are known exactly
SIGNS_AROUND = 0.25  # s on either side of the end of braking in which the other signs of a strike lie
TOES_LOW = 0.2  # share of the toes' way down that is left where they count as down
NEAR = 5  # steps on either side that belong to the same gait
LEAST_JITTER = 0.02  # s: signs that jitter less than this have an equal say
OTHER_GAIT = (0.001, 6.0)  # a distance between signs is really another one where it is off by more than jitter squared
# over this many s, or this many times the jitter
FARTHEST_OFF = 0.15  # cycles that a sign can be off
LONGEST_STEP = 1.5  # s from strike to strike; whoever takes longer has stopped
SUDDEN = (1.8, 1.5)  # times the speed a moment before and after, plus legs/s: no body moves so, a glitch does
SHORTEST_PIECE = 0.1  # s of sound frames between two glitches
STANCE_SPEED = (0.15, 0.25)  # shares of the swings' top speed at which a stance begins and ends
STANCE_HEIGHT = (0.06, 0.1)  # legs above where the joint rests, likewise
LARGEST = 1e100  # of a coordinate times the rate: squares of speeds stay finite
SHORTEST_STANCE = 0.06  # s, and the shortest gap in one


@dataclass(frozen=True)
class Body:
    """What of a clip tells steps: T frames, feet left and right."""

    pelvis: np.ndarray  # (T, 3)
    ankles: np.ndarray  # (T, 2, 3)
    toes: np.ndarray  # (T, 2, 3); the ankles again where the rig has none
    fps: float
    leg: float  # length, in the clip's unit

    def cut(self, start: int, stop: int) -> "Body":
        return Body(self.pelvis[start:stop], self.ankles[start:stop], self.toes[start:stop], self.fps, self.leg)


@dataclass
class Swing:
    """One swing of a foot (0 left, 1 right); times in frames and fractions of one."""

    foot: int
    lift: float  # where it begins to move
    strike: float
    top: float  # legs/s, its greatest speed
    steadiness: float  # 0..1: how much slower the other foot is
    clear: bool  # fast and far enough to be a step by itself


def make_body(clip: Clip, feet: tuple[list[int], list[int]]) -> Body:
    """``feet``: joints ``([ankle(, toe)], [ankle(, toe)])``. The pelvis is the joint from which both legs hang."""
    skeleton, positions = clip.skeleton, clip.positions()
    parents = skeleton.parents
    line = [ancestors(parents, foot[0]) for foot in feet]
    shared = [joint for joint in line[0] if joint in line[1]]
    pelvis = positions[:, shared[0] if shared else 0]
    ankles = positions[:, [foot[0] for foot in feet]]
    toes = positions[:, [foot[-1] for foot in feet]]
    if any(len(foot) == 1 for foot in feet):
        toes = _tips(clip, feet, ankles)
    if len(clip) == 0:
        return Body(pelvis, ankles, toes, clip.fps, 1.0)
    largest = max(np.abs(points).max() for points in (pelvis, ankles, toes))
    if not largest * clip.fps < LARGEST:
        raise ValueError(f"clip must have positions and a rate of less than {LARGEST:g}, got {largest:g} at {clip.fps:g} fps")
    # in a walk the leg is stretched now and then; 0 for a rig of points
    leg = float(np.percentile(np.linalg.norm(ankles - pelvis[:, None], axis=2), 95)) or 1.0
    return _on_ground(Body(pelvis, ankles, toes, clip.fps, leg))


def ancestors(parents, joint: int) -> list[int]:
    line = []
    while joint >= 0:
        line.append(int(joint))
        joint = parents[joint]
    return line


def _tips(clip: Clip, feet, ankles: np.ndarray) -> np.ndarray:
    """End sites of the ankles, (T, 2, 3), where both have one, else the ankles."""
    from .rotation import quat_rotate

    ends = dict(reversed(list(clip.skeleton.end_sites)))
    if not all(foot[0] in ends for foot in feet):
        return ankles
    world = clip.world_rotations()
    return np.stack([ankles[:, k] + quat_rotate(world[:, foot[0]], ends[foot[0]]) for k, foot in enumerate(feet)], axis=1)


def _on_ground(body: Body) -> Body:
    """A walker on the spot, moved so that the lower foot stands: some clips are stored without their way."""
    if len(body.pelvis) < 3:
        return body
    ground = body.ankles[..., [0, 2]]
    low = np.argmin(body.ankles[:-1, :, 1], axis=1)
    step = np.diff(ground, axis=0)[np.arange(len(low)), low] * body.fps / body.leg
    drift = np.median(step, axis=0)
    speed = float(np.hypot(*drift))
    if speed < SWING_TOP[1] or np.mean(np.hypot(*(step - drift).T) < 0.5 * speed) < 0.6:
        return body
    way = np.zeros((len(ground), 3))
    way[:, [0, 2]] = -drift * body.leg / body.fps * np.arange(len(ground))[:, None]
    return Body(body.pelvis + way, body.ankles + way[:, None], body.toes + way[:, None], body.fps, body.leg)


def gaussian(width: float, most: int) -> np.ndarray:
    """Weights of a filter of ``width`` frames of standard deviation, at most ``2 * most + 1`` of them."""
    radius = min(int(np.ceil(3 * width)), most)
    if radius < 1 or width < 0.1:  # narrower than that it changes nothing
        return np.ones(1)
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / width) ** 2)
    return kernel / kernel.sum()


def smooth(x: np.ndarray, width: float) -> np.ndarray:
    """Gaussian along axis 0, ``width`` frames of standard deviation, odd reflection at the ends."""
    kernel = gaussian(width, len(x) - 1)
    radius = len(kernel) // 2
    if radius == 0:
        return x
    flat = x.reshape(len(x), -1)
    padded = np.concatenate([2 * flat[0] - flat[radius:0:-1], flat, 2 * flat[-1] - flat[-2 : -radius - 2 : -1]])
    return np.stack([_convolved(column, kernel) for column in padded.T], axis=1).reshape(x.shape)


def _convolved(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """``np.convolve(x, kernel, "valid")``, in time that hardly grows with the kernel's length."""
    if len(kernel) < 1024:  # so are those of all real rates
        return np.convolve(x, kernel, "valid")
    size = 1 << (len(x) - 1).bit_length()
    product = np.fft.rfft(x, size) * np.fft.rfft(kernel, size)
    return np.fft.irfft(product, size)[len(kernel) - 1 : len(x)]


def speed_of(points: np.ndarray, body: Body, axes=(0, 1, 2)) -> np.ndarray:
    """legs/s of (T, ..., 3), central differences."""
    if len(points) < 2:
        return np.zeros(points.shape[:-1])
    return np.linalg.norm(np.gradient(points[..., list(axes)], axis=0), axis=-1) * (body.fps / body.leg)


def runs(values: np.ndarray) -> list[tuple[int, int]]:
    """(start, stop) of each stretch of equal values."""
    if len(values) == 0:
        return []
    bounds = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return list(zip(bounds[:-1], bounds[1:], strict=True))


# ---- glitches ---------------------------------------------------------------------------------


def sound_pieces(body: Body) -> list[list[tuple[int, int]]]:
    """Stretches of sound frames. Those of one list belong together: only a few bad frames lie between.

    A frame is bad where both feet get there or away faster than they move a moment before and after: a T-pose at the
    start, a row of zeros. A jump between two long stretches parts them (joined takes, a teleport).
    """
    frames, rate = len(body.pelvis), body.fps / body.leg
    step = np.linalg.norm(np.diff(body.ankles, axis=0), axis=2).min(axis=1, initial=np.inf) * rate
    limit = SUDDEN[0] * _around(step, int(round(0.1 * body.fps)), int(round(0.6 * body.fps))) + SUDDEN[1]
    cuts = np.flatnonzero(step > limit) + 1
    bounds = [0, *cuts.tolist(), frames]
    least = SHORTEST_PIECE * body.fps if len(cuts) else 0
    pieces = [(a, b) for a, b in zip(bounds[:-1], bounds[1:], strict=True) if b - a > least]
    groups: list[list[tuple[int, int]]] = []
    for a, b in pieces:
        if groups and a - groups[-1][-1][1] <= least:
            last = groups[-1][-1][1] - 1
            way = np.linalg.norm(body.ankles[a] - body.ankles[last], axis=1).min() * rate / (a - last)
            if way <= limit[max(last - 1, 0)] and a > groups[-1][-1][1]:
                groups[-1].append((a, b))
                continue
        groups.append([(a, b)])
    return groups


def _around(x: np.ndarray, near: int, far: int) -> np.ndarray:
    """The greatest value from ``near`` to ``far`` places before and after each."""
    near, far = max(min(near, len(x)), 1), min(far, len(x))
    width = max(far - near, 0) + 1
    padded = np.concatenate([np.zeros(near + width - 1), x, np.zeros(near + width - 1)])
    top = _windows(padded, width, np.maximum)
    return np.maximum(top[: len(x)], top[2 * near + width - 1 :][: len(x)])


def _windows(x: np.ndarray, width: int, extreme) -> np.ndarray:
    """The greatest (or least) value of each ``width`` neighbours, in time that hardly grows with it."""
    span = 1
    while span < width:
        shift = min(span, width - span)
        x = extreme(x[:-shift], x[shift:])
        span += shift
    return x


def mended(body: Body, pieces: list[tuple[int, int]]) -> Body:
    """The frames from the first piece's start to the last one's end, straight lines over what lies between."""
    start, stop = pieces[0][0], pieces[-1][1]
    if len(pieces) == 1:
        return body.cut(start, stop)
    frames = np.arange(start, stop)
    good = np.concatenate([np.arange(a, b) for a, b in pieces])

    def line(x):
        columns = [np.interp(frames, good, column[good]) for column in x.reshape(len(x), -1).T]
        return np.stack(columns, axis=1).reshape(len(frames), *x.shape[1:])

    return Body(line(body.pelvis), line(body.ankles), line(body.toes), body.fps, body.leg)


# ---- swings and strikes -----------------------------------------------------------------------


@dataclass
class _Signals:
    """Smoothed; over the ground but for the toes."""

    ankles: np.ndarray  # (T, 2, 2)
    toes: np.ndarray  # (T, 2, 3)
    pelvis: np.ndarray  # (T, 2)
    heading: np.ndarray  # (T, 2), the pelvis's, of length 1
    speed: np.ndarray  # (T, 2) of the ankles
    middle: np.ndarray  # (T, 2) of the middle of the foot
    width: float  # of the filter, in frames

    def cut(self, start: int, stop: int) -> "_Signals":
        values = (getattr(self, field.name) for field in fields(self))
        return _Signals(*(x[start:stop] if isinstance(x, np.ndarray) else x for x in values))


def _signals(body: Body, wider: float = 1.0) -> _Signals:
    width = wider * SMOOTHING * body.fps
    ankles, toes = smooth(body.ankles, width), smooth(body.toes, width)
    pelvis = smooth(body.pelvis, width)
    heading = np.zeros((len(pelvis), 2))
    if len(pelvis) > 1:
        heading = np.gradient(smooth(body.pelvis, 0.2 * body.fps)[:, [0, 2]], axis=0)
        heading /= np.maximum(np.linalg.norm(heading, axis=1), 1e-12 * body.leg)[:, None]
    middle = speed_of((ankles + toes) / 2, body, (0, 2))
    return _Signals(ankles[..., ::2], toes, pelvis[:, ::2], heading, speed_of(ankles, body, (0, 2)), middle, width)


def find_swings(body: Body) -> tuple[list[Swing], np.ndarray]:
    """The swings that end within the frames, in order of their strikes; and where somebody is on the way, bool (T,), a kick
    being none.

    A foot swings where it is faster than the other one: in a walk, a run, sideways, backwards and round alike. Its
    strike is the end of its braking, see `_agreed`. A weak swing, such as the second half of a stop, counts only where
    it completes the alternation of two clear ones of the other foot.
    """
    frames = len(body.pelvis)
    signals, noise = {1.0: _signals(body)}, speed_noise(body)
    speed, middle = signals[1.0].speed, signals[1.0].middle
    lead = smooth(speed[:, 0] - speed[:, 1], SMOOTHING * body.fps)

    # each swing with what comes before and after it, up to the end of the next one
    stretches, around = _swing_stretches(lead, body.fps), int(LONGEST_STEP * body.fps) + 1
    found, kicks = [], np.zeros(frames, bool)
    for k, (start, stop, foot) in enumerate(stretches):
        limit = stretches[k + 1][1] if k + 1 < len(stretches) else frames
        low, high = max(start - around, 0), min(max(limit, stop), stop + around)
        share = noise / max(float(middle[start:stop, foot].max()), 1e-9)
        wider = min(WIDER, key=lambda factor: abs(factor - (share / QUIET) ** (2 / 3)))
        if wider not in signals:
            signals[wider] = _signals(body, wider)
        swing = _swing(signals[wider].cut(low, high), body, start - low, stop - low, foot, low)
        if swing is not None:
            found.append(swing)
        elif stop + SAME_SWING * body.fps < frames:  # not one that the last frame cuts
            rise = signals[1.0].toes[start:stop, foot, 1] - signals[1.0].toes[start:stop, 1 - foot, 1]
            kicks[start:stop] = rise.max() > SWING_RISE * body.leg
    usual = float(np.median([swing.top for swing, _ in found])) if found else 0.0
    found = [(swing, signs) for swing, signs in found if swing.lift > 0 or swing.top >= CUT_TOP * usual]
    way = speed_of(smooth(body.pelvis, 0.1 * body.fps), body, (0, 2)) > 0.25
    swings = _alternating(_agreed(found, body.fps), body.fps)
    if len(swings) == 1 and frames < LONGEST_STEP * body.fps:
        swings = _with_counterpart(signals[1.0], body, swings[0])
    return swings, (way | (np.abs(lead) > 1.5 * SWING_LEAD)) & ~kicks


def speed_noise(body: Body) -> float:
    """legs/s, standard deviation a coordinate, of the ankles' smoothed speed by white noise on their positions.

    From fourth differences, and from the calmest third of them: a foot that stands, slides or rolls has nothing else.
    """
    curve = np.abs(np.diff(body.ankles, n=4, axis=0)).reshape(-1) / body.leg
    if len(curve) == 0:
        return 0.0
    slope = np.convolve(gaussian(SMOOTHING * body.fps, len(body.ankles) - 1), [0.5, 0.0, -0.5])
    return _deviation(curve, 70) * float(np.linalg.norm(slope)) * body.fps


def _swing_stretches(lead: np.ndarray, fps: float) -> list[tuple[int, int, int]]:
    """(start, stop, foot) of the stretches in which one foot leads clearly."""
    side = np.where(lead > SWING_LEAD, 1, np.where(lead < -SWING_LEAD, -1, 0))
    merged: list[tuple[int, int, int]] = []
    for start, stop in runs(side):
        if side[start] == 0:
            continue
        foot = 0 if side[start] > 0 else 1
        if merged and merged[-1][2] == foot and start - merged[-1][1] < SAME_SWING * fps:
            merged[-1] = (merged[-1][0], stop, foot)
        else:
            merged.append((start, stop, foot))
    return merged


def _swing(s: _Signals, body: Body, start: int, stop: int, foot: int, shift: int) -> tuple[Swing, np.ndarray] | None:
    """The swing of a stretch with the signs of its strike, or None where it is none or does not end in the signals.

    The signals begin ``shift`` frames later than those that the answer counts from.
    """
    middle = s.middle[:, foot]
    peak = start + int(np.argmax(middle[start:stop]))
    top = float(middle[peak])
    if top < SWING_TOP[0]:
        return None

    # lifting and landing by the speed of the middle of the foot; the way between
    late = start + int(np.flatnonzero(middle[start:stop] >= 0.5 * top)[-1])
    landed = _first(middle < FALL[1] * top, late)
    if landed is None:
        return None
    lifted = np.flatnonzero(middle[:peak] < FALL[1] * top)
    lift, whole = (int(lifted[-1]), True) if len(lifted) else (0, shift > 0)
    way = np.diff(s.ankles[lift : landed + 1, foot], axis=0) / body.leg
    reach, length = float(np.linalg.norm(way.sum(axis=0))), float(np.linalg.norm(way, axis=1).sum())
    rise = float(s.toes[landed, foot, 1] - s.toes[landed, 1 - foot, 1]) / body.leg
    if (whole and reach < SWING_REACH[0]) or reach < STRAIGHT * length or rise > SWING_RISE:
        return None
    clear = top >= SWING_TOP[1] and (reach >= SWING_REACH[1] or not whole)

    end, even = _strike_signs(s, body, start, stop, foot, late, landed)
    own, other = (float(s.speed[start:stop, k].mean()) for k in (foot, 1 - foot))
    steady = 1.0 - min(other / max(own, 1e-9), 1.0)
    signs = np.array([end, even, *_other_signs(s, body.fps, foot, end)]) + shift
    return Swing(foot, float(lift + shift), end + shift, top, steady, clear), signs


def _strike_signs(s: _Signals, body: Body, start: int, stop: int, foot: int, late: int, landed: int) -> tuple[float, float]:
    """Where the line through the braking ends, and where the foot is no faster than the other one any more."""
    own, other, top = s.speed[:, foot], s.speed[:, 1 - foot], float(s.middle[start:stop, foot].max())
    fastest = float(own[start:stop].max())
    # the last time that the foot is fast, which may be after the other one has taken the lead
    fast = start + int(np.flatnonzero(own[start:stop] >= FALL[0] * fastest)[-1])
    braking = _first(own < FALL[0] * fastest, fast)
    slow = None if braking is None else _first(own < FALL[1] * fastest, braking)
    longest = LONGEST_BRAKING * body.fps
    if braking is None or slow is None:
        end, falls = _crossing(s.middle[:, foot], landed, FALL[1] * top), longest
    else:
        high, low = _crossing(own, braking, FALL[0] * fastest), _crossing(own, slow, FALL[1] * fastest)
        falls = max(low - high, 1e-9)
        end = low + min(falls * FALL[1] / (FALL[0] - FALL[1]), longest)
    lag = BRAKING_LAG[0] * s.width**2 / max(falls, s.width) + BRAKING_LAG[1] * body.fps + BRAKING_LAG[2]
    excess = own - np.maximum(other, 0.1 * top)
    even = _first(excess < 0, late)
    return end - lag, end if even is None else _crossing(excess, even, 0.0)


def _other_signs(s: _Signals, fps: float, foot: int, strike: float) -> tuple[float, float, float]:
    """Where the toes are down, the foot is farthest ahead of the pelvis, and the feet are farthest apart along its way."""
    at, around = int(np.clip(round(strike), 0, len(s.pelvis) - 1)), int(SIGNS_AROUND * fps) + 1
    first = max(at - around, 0)
    part, before = s.cut(first, at + around + 1), at - first
    own, other = part.ankles[:, foot], part.ankles[:, 1 - foot]
    height = part.toes[:, foot, 1]
    top, low = int(np.argmax(height[: before + 1])), float(height[before:].min())
    level = low + TOES_LOW * float(height[top] - low)
    down = _first(height < level, top)
    ahead = _top(((own + part.toes[:, foot, ::2] - 2 * part.pelvis) * part.heading).sum(axis=1))
    apart = _top(((own - other) * part.heading).sum(axis=1))
    return np.nan if down is None else first + _crossing(height, down, level), first + ahead, first + apart


def _top(x: np.ndarray) -> float:
    """Where the greatest value lies, between frames."""
    i = int(np.argmax(x))
    if not 0 < i < len(x) - 1:
        return float(i)
    return i + 0.5 * float(x[i - 1] - x[i + 1]) / min(float(x[i - 1] - 2 * x[i] + x[i + 1]), -1e-300)


def _first(condition: np.ndarray, start: int) -> int | None:
    """The first true place from ``start`` on."""
    found = np.flatnonzero(condition[start:])
    return start + int(found[0]) if len(found) else None


def _crossing(x: np.ndarray, i: int, level: float) -> float:
    """Where x passes ``level`` between frames i - 1 and i."""
    if i == 0 or x[i] == x[i - 1]:
        return float(i)
    return i - 1 + float(np.clip((level - x[i - 1]) / (x[i] - x[i - 1]), 0, 1))


def _agreed(found: list[tuple[Swing, np.ndarray]], fps: float) -> list[Swing]:
    """One strike from its signs: the end of the line through the braking, being no faster than the other foot, the toes
    down, the foot farthest ahead of the pelvis, the feet farthest apart.

    The first tells when a foot stops that stands still, but jitters with noise and where feet slide and roll. The others come
    at distances from it that belong to the gait; what such a distance differs from its usual value corrects the strike.
    """
    if not found:
        return []
    signs = np.stack([f[1] for f in found])
    strikes = signs[:, 0] + _correction(signs / fps) * fps
    for (swing, _), strike in zip(found, strikes, strict=True):
        swing.strike = float(strike)
    return sorted((f[0] for f in found), key=lambda swing: swing.strike)


def _correction(signs: np.ndarray) -> np.ndarray:
    """s to add to the first of the signs (S, n) of each strike, in s."""
    distance = signs[:, 1:] - signs[:, :1]
    if len(signs) < 5:  # too few to tell jitter
        return 0.85 * (distance[:, 0] - np.median(distance[:, 0]))
    n = signs.shape[1]
    pairs = np.array([[_jitter(a - b) ** 2 for a in signs.T] for b in signs.T])
    rows = pairs.sum(axis=1)  # each: n - 2 times its own variance and the sum of all, where they are independent
    variance = np.maximum((rows - rows.sum() / (2 * (n - 1))) / (n - 2), 0)
    say = 1 / np.maximum(variance, LEAST_JITTER**2)
    say /= say.sum()
    cycle = 2 * np.clip(np.gradient(signs[:, 0]), 0.2, LONGEST_STEP)
    total = np.zeros(len(signs))
    for k in range(1, n):
        off = distance[:, k - 1] - _usual(distance[:, k - 1], pairs[0, k] ** 0.5)
        off = np.clip(np.nan_to_num(off), -FARTHEST_OFF * cycle, FARTHEST_OFF * cycle)
        far = min(pairs[0, k] / OTHER_GAIT[0], OTHER_GAIT[1] * pairs[0, k] ** 0.5) + 1e-9
        total += say[k] * off * np.clip(2 - np.abs(off) / far, 0, 1)
    return total


def _usual(distance: np.ndarray, jitter: float) -> np.ndarray:
    """The median distance, or that of the steps around where jitter does not explain why it differs: a walk that becomes
    a run."""
    known = np.isfinite(distance)
    if not known.any():
        return distance
    usual = float(np.median(distance[known]))
    filled = np.where(known, distance, usual)
    near = np.array([np.median(filled[max(k - NEAR, 0) : k + NEAR + 1]) for k in range(len(filled))]) - usual
    return usual + near * near**2 / (near**2 + jitter**2 + 1e-12)


def _jitter(x: np.ndarray) -> float:
    """Standard deviation of white noise on a slow series, from second differences between neighbours or of every other
    value (left and right may differ), and from the calmest third of them, so that changes of pace do not count."""
    x = x[np.isfinite(x)]
    if len(x) < 5:
        return 1.0
    return min(_deviation(np.abs(x[: -2 * n] - 2 * x[n:-n] + x[2 * n :]), 6) for n in (1, 2))


def _deviation(differences: np.ndarray, gain: float) -> float:
    """Standard deviation of white noise from the sizes of its differences, whose variance is ``gain`` times its own. Of them
    the smallest third counts."""
    return float(np.quantile(differences, 0.3)) / (0.385 * gain**0.5)


def _alternating(swings: list[Swing], fps: float) -> list[Swing]:
    """Without the weak swings, but for those between clear ones of the other foot: their strike is halfway."""
    kept = []
    for k, swing in enumerate(swings):
        if not swing.clear:
            if not 0 < k < len(swings) - 1:
                continue
            before, after = swings[k - 1], swings[k + 1]
            if not (before.clear and after.clear and before.foot == after.foot != swing.foot):
                continue
            if after.strike - before.strike > 2 * LONGEST_STEP * fps:
                continue
            swing.strike = 0.5 * swing.strike + 0.25 * (before.strike + after.strike)
        kept.append(swing)
    return kept


def _with_counterpart(s: _Signals, body: Body, swing: Swing) -> list[Swing]:
    """A single strike and the other foot's before or after it, for clips of hardly a cycle, which cut the other swing.

    Along the swing, the foot is farthest ahead of the other one near its strike, and farthest behind near the other's.
    """
    frames, at = len(s.ankles), int(np.clip(round(swing.strike), 0, len(s.ankles) - 1))
    way = s.ankles[at, swing.foot] - s.ankles[int(swing.lift), swing.foot]
    ahead = (s.ankles[:, swing.foot] - s.ankles[:, 1 - swing.foot]) @ (way / max(np.linalg.norm(way), 1e-9))
    near = slice(max(at - int(0.1 * body.fps) - 1, 0), at + int(0.1 * body.fps) + 2)
    later = swing.strike - (near.start + int(np.argmax(ahead[near])))
    found, slope = [swing], np.abs(np.diff(ahead))
    for start, stop in (
        (max(at - int(LONGEST_STEP * body.fps), 0), at),
        (at, min(at + int(LONGEST_STEP * body.fps), frames)),
    ):
        if stop - start < 3:
            continue
        least = start + int(np.argmin(ahead[start:stop]))
        turned = slope[min(least, frames - 2)] < 0.6 * slope.max()  # at the clip's edge too: not just cut
        if turned and ahead[at] - ahead[least] > 2 * SWING_REACH[1] * body.leg:
            other = Swing(1 - swing.foot, least + later, least + later, swing.top, 0.5 * swing.steadiness, True)
            found.append(other)
    return sorted(found, key=lambda swing: swing.strike)


# ---- stances ----------------------------------------------------------------------------------


def find_stances(body: Body, swings: list[Swing]) -> np.ndarray:
    """Contacts (T, 2) for training: either end of the foot slow, as the swings around go, and near the floor around.

    Fixed speeds miss whole stances of recordings whose feet slide, and one floor those of a walk that drifts upwards.
    """
    frames, width = len(body.pelvis), 0.7 * SMOOTHING * body.fps
    scale = np.full(frames, 2 * SWING_TOP[1])
    if swings:
        order = sorted(swings, key=lambda swing: swing.strike)
        tops = np.pad([swing.top for swing in order], 2, mode="edge")
        usual = np.median(np.lib.stride_tricks.sliding_window_view(tops, 5), axis=1)
        scale = np.interp(np.arange(frames), [swing.strike for swing in order], np.maximum(usual, 2 * SWING_TOP[1]))
    near, far = np.zeros((frames, 2), bool), np.ones((frames, 2), bool)
    for points in (body.ankles, body.toes):
        points = smooth(points, width)
        speed = speed_of(points, body) / scale[:, None]
        height = (points[..., 1] - _floor(points[..., 1], int(body.fps))[:, None]) / body.leg
        near |= (speed < STANCE_SPEED[0]) & (height < STANCE_HEIGHT[0])
        far &= (speed > STANCE_SPEED[1]) | (height > STANCE_HEIGHT[1])
    contacts = np.stack([_latched(near[:, k], far[:, k]) for k in range(2)], axis=1)
    for k in range(2):
        for value in (False, True):
            _flip_short(contacts[:, k], value, SHORTEST_STANCE * body.fps)
    return contacts


def _floor(heights: np.ndarray, around: int) -> np.ndarray:
    """Where a joint of (T, 2) feet rests: the lower foot's least height within so many frames, without steps."""
    around = min(around, len(heights))
    lower = np.pad(heights.min(axis=1), around, mode="edge")
    least = _windows(lower, 2 * around + 1, np.minimum)
    return smooth(least, 0.25 * around)


def _latched(on: np.ndarray, off: np.ndarray) -> np.ndarray:
    """True from a frame that is on to the next that is off; before the first of either as that one leaves it."""
    last = np.maximum.accumulate(np.where(on | off, np.arange(len(on)), -1))
    first = int(np.argmax(on | off)) if (on | off).any() else 0
    return on[np.where(last < 0, first, last)] if len(on) else on


def _flip_short(contact: np.ndarray, value: bool, least: float) -> None:
    """Runs of ``value`` inside that are shorter than ``least`` frames become the other value."""
    for start, stop in runs(contact):
        if contact[start] == value and stop - start < least and start > 0 and stop < len(contact):
            contact[start:stop] = not value
