"""Steps of a recorded walker, for `label_phase`: when each foot swings, when it strikes, when it stands.

Lengths are in legs, speeds in legs a second, widths of filters in seconds, as in `_body`. The few constants say what a
step is, not how one recording looks.
"""

from dataclasses import dataclass, fields

import numpy as np

from ._body import SMOOTHING, SWING_TOP, Body, ankle_noise, deviation, runs, smooth, speed_noise, speed_of, windows

WIDER = (1.0, 1.2, 1.4, 1.7, 2.0)  # times SMOOTHING, for noise
QUIET = 0.005  # share of a swing's top speed that noise may have before its filter gets wider
HIDDEN = (0.5, 1.5)  # times that share, between which a landing takes the place of the line through the braking
SWING_LEAD = 0.23  # legs/s by which the swinging foot is faster than the other one
SWING_REACH = (0.05, 0.14)  # legs from lift to strike, of a weak and a clear swing: less is a shifted foot, a kick on the spot
SWING_RISE = 0.35  # legs above the other foot where a swing may begin and end, as on stairs: more is a kick, up or back
STRAIGHT = 0.3  # of the way of a swing that leads from lift to strike: a kick comes back
TOGETHER = 0.85  # of that way that the other foot goes along: a run has up to 0.75, more is a jump
CUT_TOP = 0.3  # of the usual top speed that a swing has at least which the first frame cuts: slower, the foot was down
SAME_SWING = 0.2  # s: a slower moment within one swing
FALL = (0.5, 0.25)  # shares of a swing's top speed between which its braking is taken for a straight line
SLOW_FALL = 0.05  # s between them from which on that line bends; at twice as many only the shares nearer to the end count
LATE_FALL = (0.3, 0.15)
LONGEST_BRAKING = 0.1  # s from the lower of them to the strike
BRAKING_LAG = (0.48, -0.0018, 0.2)  # by how much that line ends late: times the filter's width squared over the time
# between those speeds, plus s, plus frames, as made clips tell, whose strikes are known exactly
LANDING = (1.6, 0.2, 0.25)  # what belongs to a landing: times its time since the top speed; after it so much of the swing, at
# most so many s, for which the ankle rests
LANDING_NEAR = 0.06  # s on either side of the end of braking in which it is looked for
LANDING_RATE = 120  # frames a second that are enough for it
STANDS = 2.0  # times its noise that the other foot's places spread by where it stands meanwhile
SIGNS_AROUND = 0.25  # s on either side of the end of braking in which the other signs of a strike lie
TOES_LOW = 0.2  # share of the toes' way down that is left where they count as down
NEAR = 6  # steps on either side that belong to the same gait
LEAST_JITTER = 0.02  # s: signs that jitter less than this have an equal say
OTHER_GAIT = (0.002, 8.0)  # a distance between signs is really another one where it is off by more than jitter squared
# over this many s, or this many times the jitter
FARTHEST_OFF = 0.19  # cycles that a sign can be off
SHUFFLES = 4  # weak swings in a row that are steps; so many do not happen to alternate
CLOSING_LIFT = (0.02, 0.15)  # legs that a whole foot is lifted by in the step that closes a walk
HALF_LIFTED = 0.92  # of the time for which it is lifted by more than half of that: half of its swing, were it a quartic
SHORTEST_CLOSING = 0.3  # s that such a step takes at least, rest included
LONGEST_STEP = 1.5  # s from strike to strike; whoever takes longer has stopped
STANCE_SPEED = (0.15, 0.25)  # shares of the swings' top speed at which a stance begins and ends
STANCE_HEIGHT = (0.06, 0.1)  # legs above where the joint rests, likewise
SHORTEST_STANCE = 0.06  # s, and the shortest gap in one


@dataclass
class Swing:
    """One swing of a foot (0 left, 1 right); times in frames and fractions of one."""

    foot: int
    lift: float  # where it begins to move
    peak: float  # where it is fastest
    strike: float
    top: float  # legs/s, its greatest speed
    steadiness: float  # 0..1: how much slower the other foot is
    clear: bool  # fast and far enough to be a step by itself


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
    strike is the end of its braking, see `_agreed`, or where noise hides that, of its landing. Weak swings count only in
    company, see `_alternating`, or at the end of a walk, see `_with_closing_steps`.
    """
    frames = len(body.pelvis)
    signals, noise, jitter = {1.0: _signals(body)}, speed_noise(body), ankle_noise(body)
    speed, middle = signals[1.0].speed, signals[1.0].middle
    lead = smooth(speed[:, 0] - speed[:, 1], SMOOTHING * body.fps)

    # each swing with what comes before and after it, up to the end of the next one
    stretches, around = _swing_stretches(lead, body.fps), int(LONGEST_STEP * body.fps) + 1
    found, kicks = [], np.zeros(frames, bool)
    for k, (start, stop, foot) in enumerate(stretches):
        limit = stretches[k + 1][1] if k + 1 < len(stretches) else frames
        low, high = max(start - around, 0), min(max(limit, stop), stop + around)
        share = noise / max(float(middle[start:stop, foot].max()), 1e-9) / QUIET
        wider = min(WIDER, key=lambda factor: abs(factor - share ** (2 / 3)))
        if wider not in signals:
            signals[wider] = _signals(body, wider)
        new = _swing(signals[wider].cut(low, high), body, start - low, stop - low, foot, low)
        if new is not None:
            swing, signs = new
            hidden = float(np.clip((share - HIDDEN[0]) / (HIDDEN[1] - HIDDEN[0]), 0, 1))
            if hidden > 0:
                signs[0] += hidden * (_landing(body, swing, jitter) - signs[0])
            found.append(new)
        elif stop + SAME_SWING * body.fps < frames:  # not one that the last frame cuts
            rise = signals[1.0].toes[start:stop, foot, 1] - signals[1.0].toes[start:stop, 1 - foot, 1]
            kicks[start:stop] = rise.max() > SWING_RISE * body.leg
    usual = float(np.median([swing.top for swing, _ in found])) if found else 0.0
    found = [(swing, signs) for swing, signs in found if swing.lift > 0 or swing.top >= CUT_TOP * usual]
    way = speed_of(smooth(body.pelvis, 0.1 * body.fps), body, (0, 2)) > 0.25
    swings = _with_closing_steps(body, _alternating(_agreed(found, body.fps), body.fps), jitter)
    if len(swings) == 1 and frames < LONGEST_STEP * body.fps:
        swings = _with_counterpart(signals[1.0], body, swings[0])
    return swings, (way | (np.abs(lead) > 1.5 * SWING_LEAD)) & ~kicks


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
    ways = np.diff(s.ankles[lift : landed + 1], axis=0) / body.leg
    way, others = ways.sum(axis=0)[[foot, 1 - foot]]
    reach, length = float(np.linalg.norm(way)), float(np.linalg.norm(ways[:, foot], axis=1).sum())
    rises = (s.toes[:, foot, 1] - s.toes[:, 1 - foot, 1]) / body.leg
    rise = float(max(rises[landed], rises[lift] if whole else 0))
    if reach < STRAIGHT * length or rise > SWING_RISE:
        return None
    if whole and (reach < SWING_REACH[0] or way @ others > TOGETHER * reach**2):
        return None
    clear = top >= SWING_TOP[1] and (reach >= SWING_REACH[1] or not whole)

    end, even = _strike_signs(s, body, start, stop, foot, late, landed)
    own, other = (float(s.speed[start:stop, k].mean()) for k in (foot, 1 - foot))
    steady = 1.0 - min(other / max(own, 1e-9), 1.0)
    signs = np.array([end, even, *_other_signs(s, body.fps, foot, end)]) + shift
    return Swing(foot, float(lift + shift), float(peak + shift), end + shift, top, steady, clear), signs


def _strike_signs(s: _Signals, body: Body, start: int, stop: int, foot: int, late: int, landed: int) -> tuple[float, float]:
    """Where the line through the braking ends, and where the foot is no faster than the other one any more."""
    own, other, top = s.speed[:, foot], s.speed[:, 1 - foot], float(s.middle[start:stop, foot].max())
    fastest = float(own[start:stop].max())
    # the last time that the foot is fast, which may be after the other one has taken the lead
    fast = start + int(np.flatnonzero(own[start:stop] >= FALL[0] * fastest)[-1])
    longest = LONGEST_BRAKING * body.fps
    line = _line(own, fast, FALL[0] * fastest, FALL[1] * fastest, longest)
    if line is None:
        end, falls = _crossing(s.middle[:, foot], landed, FALL[1] * top), longest
    else:
        end, falls = line
        slowly = min(falls / (SLOW_FALL * body.fps) - 1, 1)
        late_line = _line(own, fast, LATE_FALL[0] * fastest, LATE_FALL[1] * fastest, longest) if slowly > 0 else None
        if late_line is not None:
            end += slowly * (late_line[0] - end)
    lag = BRAKING_LAG[0] * s.width**2 / max(falls, s.width) + BRAKING_LAG[1] * body.fps + BRAKING_LAG[2]
    excess = own - np.maximum(other, 0.1 * top)
    even = _first(excess < 0, late)
    return end - lag, end if even is None else _crossing(excess, even, 0.0)


def _line(speed: np.ndarray, fast: int, high: float, low: float, longest: float) -> tuple[float, float] | None:
    """Where the line through the braking from ``high`` to ``low`` reaches zero, but at most ``longest`` after the latter; and
    how long it takes between them."""
    above = _first(speed < high, fast)
    below = None if above is None else _first(speed < low, above)
    if above is None or below is None:
        return None
    at = _crossing(speed, below, low)
    falls = max(at - _crossing(speed, above, high), 1e-9)
    return at + min(falls * low / (high - low), longest), falls


def _landing(body: Body, swing: Swing, noise: np.ndarray) -> float:
    """Where a foot comes to rest whose braking hides in ``noise`` (legs, of an ankle over the ground and in height): about the
    swing's strike so far.

    The ankle's way down from its top speed is a cubic over the ground and a quartic in height that end in rest: the time at
    which they leave the least squares. It sees far more than the last moment, and the height, which noise in the joints'
    rotations moves least; at a slow step it errs by half of what a line through the filtered speed does.
    """
    end = swing.strike
    back = LANDING[0] * (end - swing.peak)
    rest = min(LANDING[1] * (end - swing.lift), LANDING[2] * body.fps)
    first, stop = max(int(end - back), 0), min(int(end + rest) + 2, len(body.ankles))
    every = max(int(body.fps / LANDING_RATE), 1)
    frames = _means(np.arange(first, stop, dtype=np.float64), every)
    ankle = _means(body.ankles[first:stop, swing.foot], every) / body.leg
    if len(ankle) < 8:
        return end
    way = (ankle[-1] - ankle[0])[[0, 2]]
    axes = np.array([[way[0], 0.0, way[1]], [0.0, 1.0, 0.0]]) / [[max(float(np.hypot(*way)), 1e-9)], [1.0]]
    stands = _means(body.toes[first:stop, 1 - swing.foot], every) / body.leg
    tracks, calmer = _without_shared_noise(ankle @ axes.T, stands @ axes.T)
    noise = noise * calmer
    tracks = (tracks - tracks.mean(axis=0)) / np.maximum(noise, max(0.1 * float(noise.max()), 1e-9))

    # one basis a candidate: 1, u^2, u^3, u^4 of the time u that is left to it
    near = int(np.ceil(min(LANDING_NEAR * body.fps, 0.5 * back) / (0.5 * every)))
    candidates = end + 0.5 * every * np.arange(-near, near + 1)
    left = np.maximum(candidates[:, None] - frames, 0) / max(back, 1.0)
    basis = np.linalg.qr(np.stack([np.ones_like(left), left**2, left**3, left**4], axis=2))[0]
    explained = (basis.transpose(0, 2, 1) @ tracks) ** 2
    best = _top(explained[:, :3, 0].sum(axis=1) + explained[:, :, 1].sum(axis=1))
    return float(candidates[0]) + 0.5 * every * best


def _without_shared_noise(tracks: np.ndarray, still: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``tracks`` (n, m) less what they have in common with the noise of ``still`` (n, m), where that stands; and which share of
    the tracks' noise is left, (m,). The root's jitter, say, is in both feet.
    """
    a, b = np.diff(tracks, n=4, axis=0), np.diff(still, n=4, axis=0)
    both, own, other = (a * b).sum(axis=0), (a**2).sum(axis=0), (b**2).sum(axis=0)
    off = still - np.median(still, axis=0)
    stands = (off**2).sum(axis=0) < STANDS * other / 70
    shared = np.where(stands, both / np.maximum(other, 1e-300), 0)
    left = 1 - np.where(stands, both**2 / np.maximum(own * other, 1e-300), 0)
    return tracks - shared * off, np.sqrt(np.clip(left, 0, 1))


def _means(x: np.ndarray, every: int) -> np.ndarray:
    """Of ``every`` neighbours along axis 0."""
    return x if every == 1 else x[: len(x) // every * every].reshape(-1, every, *x.shape[1:]).mean(axis=1)


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
    return min(deviation(np.abs(x[: -2 * n] - 2 * x[n:-n] + x[2 * n :]), 6) for n in (1, 2))


def _alternating(swings: list[Swing], fps: float) -> list[Swing]:
    """Without the weak swings, but for those between clear ones of the other foot: their strike is halfway. And but for
    four or more with left and right in turn: whoever shuffles or turns on the spot takes steps."""
    kept, shuffled = [], _shuffled(swings, fps)
    for k, swing in enumerate(swings):
        if not (swing.clear or shuffled[k]):
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


def _shuffled(swings: list[Swing], fps: float) -> np.ndarray:
    """Which weak swings follow each other, left and right in turn, in rows of `SHUFFLES` or more."""
    result = np.zeros(len(swings), bool)
    start = 0
    for k, swing in enumerate(swings):
        last = swings[k - 1] if k > start else None
        goes_on = last is None or (last.foot != swing.foot and swing.strike - last.strike <= LONGEST_STEP * fps)
        start = k + 1 if swing.clear else start if goes_on else k
        result[start : k + 1] = k + 1 - start >= SHUFFLES
    return result


def _with_closing_steps(body: Body, swings: list[Swing], noise: np.ndarray) -> list[Swing]:
    """With the one or two steps that end a walk: hardly a way over the ground, but up and down again."""
    more, longest = [], LONGEST_STEP * body.fps
    for k, swing in enumerate(swings):
        after = swings[k + 1] if k + 1 < len(swings) else None
        goes_on = after is not None and after.foot != swing.foot and after.strike - swing.strike <= longest
        if swing.clear and not goes_on:
            stop = len(body.ankles) if after is None else int(after.lift)
            step = _closing_step(body, swing, stop, noise)
            more += [step, step and _closing_step(body, step, stop, noise)]
    return sorted(swings + [step for step in more if step], key=lambda swing: swing.strike)


def _closing_step(body: Body, last: Swing, stop: int, noise: np.ndarray) -> Swing | None:
    """The step of the other foot after the ``last`` one, before the frame ``stop``."""
    fps, first = body.fps, max(int(np.ceil(last.strike)), 0)
    stop = min(stop, first + int(LONGEST_STEP * fps))
    if stop - first < SHORTEST_CLOSING * fps:
        return None
    heights = np.stack([body.ankles[first:stop, :, 1], body.toes[first:stop, :, 1]], axis=2)
    heights = smooth(heights, 2 * SMOOTHING * fps) / body.leg
    lifted = (heights - heights.min(axis=0)).min(axis=2)  # of whole feet
    own = lifted[:, 1 - last.foot]
    peak = int(np.argmax(own))
    up, down = np.flatnonzero(own[:peak] < 0.5 * own[peak]), _first(own < 0.5 * own[peak], peak)
    if down is None or len(up) == 0 or not CLOSING_LIFT[0] < own[peak] < CLOSING_LIFT[1]:
        return None
    middle, half = first + 0.5 * (up[-1] + down), HALF_LIFTED * (down - up[-1] - 1)
    step = Swing(1 - last.foot, middle - half, middle, middle + half, last.top, 0.5 * last.steadiness, False)
    rests = step.lift >= first and step.strike + LANDING_NEAR * fps < stop
    if not rests or lifted[: down + 1, last.foot].max() > CLOSING_LIFT[0]:  # cut, or a jump
        return None
    step.strike = _landing(body, step, noise)
    return step


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
            other = Swing(1 - swing.foot, least + later, least + later, least + later, swing.top, 0.5 * swing.steadiness, True)
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
    least = windows(lower, 2 * around + 1, np.minimum)
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
