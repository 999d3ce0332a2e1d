"""Gait phase: from the height of the root, from contacts, and its arithmetic and statistics.

A phase is in cycles, cyclic, in ``[0, 1)``. NaN marks a frame that has none. The gait cycle begins (phase 0) at a
strike of the left foot; the right foot strikes at 0.5. Times are in seconds, lengths in metres, y is up.
"""

from dataclasses import dataclass

import numpy as np

from . import _core
from ._check import array, at, check_finite, integer, number, phases

__all__ = [
    "CycleStatistics",
    "advance_phase",
    "cycle_statistics",
    "detect_contacts",
    "drop_outlier_cycles",
    "drop_sparse_bins",
    "extract_gait_phase",
    "extract_phase_from_root_y",
    "phase_difference",
    "phase_histogram",
    "phase_mean",
    "plot_cycles",
]

LONGEST_SMOOTHING = 1000  # samples; the sum is taken afresh for each of them, so that no rounding is carried along


def extract_phase_from_root_y(root_y, fps=30, *, min_period=0.4, smooth=5) -> tuple[np.ndarray, np.ndarray]:
    """Phase from valley to valley of the root's height, as the article does it.

    The root is lowest twice a gait cycle, so this phase cannot tell left from right and its cycles are single
    steps; for the whole gait cycle see `label_phase` and `extract_gait_phase`.

    Parameters: ``root_y`` (N,) in m; ``fps``; ``min_period``, the shortest time between valleys in s (0.25 for runs);
    ``smooth``, the number of taps of the running mean, in which samples beyond the ends count as zero.

    Returns ``(phase, valleys)``: float64 (N,), i/n over the n frames from one valley to the next, NaN before the first
    valley and from the last one on; int64 (V,), ascending. With fewer than two valleys, or fewer samples than
    ``smooth``, all of the phase is NaN.

    The result is that of ``np.convolve(root_y, ones / smooth, "same")``, ``scipy.signal.find_peaks(-y,
    distance=int(fps * min_period))`` and ``np.linspace(0, 1, n, endpoint=False)`` to the bit, with one exception: of
    valleys equally deep and too close the later one stays, where SciPy's unstable sort leaves it to the processor.
    (NumPy's convolution sums in order up to 15 taps; on some processors its BLAS fuses or reorders sums of 12 and
    more, and at the ends.)

    ``ValueError`` where ``root_y`` is not finite or ``fps * min_period`` is less than one frame.

    >>> phase, valleys = extract_phase_from_root_y([3, 2, 1, 2, 3, 2, 1, 2, 3], fps=10, smooth=1)
    >>> valleys.tolist(), phase.tolist()
    ([2, 6], [nan, nan, 0.0, 0.25, 0.5, 0.75, nan, nan, nan])
    """
    y = array(root_y, "root_y", (None,), dtype=np.float64, finite=False)
    fps = number(fps, "fps", above=0)
    min_period = number(min_period, "min_period", above=0)
    smooth = integer(smooth, "smooth", least=1)
    if not fps * min_period >= 1:
        raise ValueError(f"fps * min_period must be at least one frame, got {fps:g} * {min_period:g} = {fps * min_period:g}")
    if smooth <= len(y):
        integer(smooth, "smooth", most=LONGEST_SMOOTHING)
    distance = int(min(fps * min_period, 2.0**62))
    try:
        return _core.phase_from_root_y(y, distance, min(smooth, len(y) + 1))
    except ValueError:
        check_finite(y, "root_y")  # the core looked already; this names the value
        raise


def detect_contacts(positions, fps, *, height=0.02, enter_speed=0.15, leave_speed=0.24, min_duration=0.1) -> np.ndarray:
    """Which feet stand on the ground, by fixed thresholds: the definition of contact behind the package's metrics.

    Parameters
    ----------
    positions : (T, feet, 3)
        Metres; one joint a foot, of one kind (ankles, or toes), since one floor holds for all.
    fps : float
    height : float
        Metres above the clip's floor that a foot in contact is at most.
    enter_speed, leave_speed : float
        m/s in space: a contact begins where the foot is no faster than the one, and ends where it is faster than the
        other.
    min_duration : float
        Seconds: gaps shorter than this between two contacts are closed, then contacts shorter than this are dropped.

    The floor is the 2nd percentile over the frames of the lowest foot's height, so that a corrupt frame does not move
    it. Speed is the backward difference; frame 0 takes that of frame 1.

    Returns bool (T, feet). `label_phase` has contacts that scale themselves to the clip, for recordings whose feet
    slide.

    >>> import numpy as np
    >>> x = np.cumsum([0, 0, 0, 0, 0.05, 0.05, 0.05, 0, 0, 0])
    >>> foot = np.stack([x, np.zeros(10), np.zeros(10)], 1)
    >>> detect_contacts(foot[:, None], 30)[:, 0].astype(int).tolist()
    [1, 1, 1, 1, 0, 0, 0, 1, 1, 1]
    """
    positions = array(positions, "positions", (None, None, 3), dtype=np.float64)
    fps = number(fps, "fps", above=0)
    height = number(height, "height", least=0)
    enter_speed = number(enter_speed, "enter_speed", least=0)
    leave_speed = number(leave_speed, "leave_speed", least=0)
    if leave_speed < enter_speed:
        raise ValueError(f"leave_speed must be at least enter_speed, got {leave_speed:g} < {enter_speed:g}")
    min_duration = number(min_duration, "min_duration", least=0)
    return _core.contacts(positions, fps, height, enter_speed, leave_speed, min_duration)


def extract_gait_phase(left, right, fps) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
    """The whole gait cycle from the contacts of both feet.

    ``left``, ``right``: bool (T,), True where the foot stands. Returns ``(phase, (left strikes, right strikes))``:
    float64 (T,), 0 at a left strike, 0.5 at the next right strike, linear between; the strikes as int64 frames.

    - NaN before the first strike, from the last one on, and over a step longer than 1.5 s: whoever stands has no phase.
    - A left cycle without a right strike is linear from 0 to 1; of several right strikes in one the first counts.
    - A foot that stands in frame 0 may have come down long before. Frame 0 is a strike only if that contact lasts as
      long as the foot's whole contacts do (between the shortest and the longest).

    >>> left, right = [0, 1, 1, 0, 0, 1, 1, 0, 0, 1], [0, 0, 0, 1, 1, 0, 0, 1, 1, 0]
    >>> phase, (left_strikes, right_strikes) = extract_gait_phase(left, right, 10)
    >>> phase.tolist(), left_strikes.tolist(), right_strikes.tolist()
    ([nan, 0.0, 0.25, 0.5, 0.75, 0.0, 0.25, 0.5, 0.75, nan], [1, 5, 9], [3, 7])
    """
    left, right = _contact(left, "left"), _contact(right, "right")
    if len(left) != len(right):
        raise ValueError(f"right must have shape {left.shape} as left has, got {right.shape}")
    phase, left_strikes, right_strikes = _core.gait_phase(left, right, number(fps, "fps", above=0))
    return phase, (left_strikes, right_strikes)


def _contact(value, name: str) -> np.ndarray:
    """(T,) of True and False, or of 1 and 0."""
    result = array(value, name, (None,))
    if (bad := (result != 0) & (result != 1)).any():
        raise ValueError(f"{at(name, result, bad)} is neither True nor False")
    return result.astype(bool)


def _fits(value: np.ndarray, name: str, shape: tuple, others: str) -> tuple:
    """The broadcast shape, or ``ValueError`` naming ``name``."""
    try:
        return np.broadcast_shapes(shape, value.shape)
    except ValueError:
        raise ValueError(f"{name} of shape {value.shape} does not fit {others} of shape {shape}") from None


def advance_phase(phase, root_vel, avg_stride, dt, *, horizontal=(0, 2)):
    """The phase after a time ``dt``: it goes on by ground speed / ``avg_stride`` × ``dt``.

    ``phase`` () or (B,) in [0, 1]; ``root_vel`` (..., D) in m/s, of which the components ``horizontal`` make the ground
    speed; ``avg_stride`` m a cycle, as `cycle_statistics` gives it for the same kind of cycle; ``dt`` s. Phase,
    velocities, strides and times broadcast. (The article took ``horizontal=(0, 1)``, which on y-up data counts the
    vertical.)

    Returns a float, or an array with the type of ``phase``, always in [0, 1). NaN, a frame without a phase, stays NaN.
    ``ValueError`` for a velocity that is not finite, a stride that is not positive, a negative time.

    >>> round(advance_phase(0.98, [0, 0, 1.2], 1.2, 0.03), 9)
    0.01
    """
    phase = phases(phase, "phase", nan=True)
    velocity = array(root_vel, "root_vel", dtype=np.float64)
    stride = array(avg_stride, "avg_stride", dtype=np.float64)
    dt = array(dt, "dt", dtype=np.float64)
    if (bad := stride <= 0).any():
        raise ValueError(f"{at('avg_stride', stride, bad)} is not positive")
    if (bad := dt < 0).any():
        raise ValueError(f"{at('dt', dt, bad)} is negative")
    speed = _ground_speed(velocity, horizontal)
    shape = _fits(speed, "root_vel without its last axis,", phase.shape, "phase")
    shape = _fits(stride, "avg_stride", shape, "phase and root_vel")
    _fits(dt, "dt", shape, "phase, root_vel and avg_stride")
    with np.errstate(over="ignore", invalid="ignore"):
        result = _core.phase_advance(phase, speed, stride, dt)
        if (np.isnan(result) & ~np.isnan(phase)).any():
            raise ValueError("root_vel / avg_stride * dt overflows")
    return float(result) if result.ndim == 0 else result


def _ground_speed(velocity: np.ndarray, horizontal) -> np.ndarray:
    try:
        a, b = horizontal
    except (TypeError, ValueError):
        raise ValueError(f"horizontal must be two component numbers, got {horizontal!r}") from None
    a, b = (integer(i, f"horizontal[{k}]", least=0) for k, i in enumerate((a, b)))
    if velocity.ndim == 0 or velocity.shape[-1] <= max(a, b):
        raise ValueError(
            f"root_vel must have the components horizontal={horizontal!r} on its last axis, got shape {velocity.shape}"
        )
    if a == b:
        raise ValueError(f"horizontal must be two different components, got {horizontal!r}")
    with np.errstate(over="ignore"):
        return np.hypot(velocity[..., a], velocity[..., b])


def phase_difference(a, b):
    """``a - b`` on the circle, in [-0.5, 0.5) cycle. Broadcasts; NaN where either is NaN.

    >>> round(phase_difference(0.05, 0.95), 9), phase_difference(0.25, 0.75)
    (0.1, -0.5)
    """
    a, b = phases(a, "a", nan=True), phases(b, "b", nan=True)
    _fits(b, "b", a.shape, "a")
    with np.errstate(invalid="ignore"):
        result = _core.phase_difference(a, b)
    return float(result) if result.ndim == 0 else result


def phase_mean(phases, weights=None) -> float:
    """The circular mean of phases, in [0, 1): the direction of the (weighted) sum of their unit vectors.

    NaN where one of them with a weight is NaN, and where they cancel, such as 0 and 0.5, so that no mean exists.
    ``weights`` not negative, broadcast against ``phases``, their sum positive, else ``ValueError``.

    >>> phase_mean([0.95, 0.05]), round(phase_mean([0.9, 0.2]), 9)
    (0.0, 0.05)
    """
    p = _phases(phases, "phases")
    if p.size == 0:
        raise ValueError("phases must not be empty")
    w = array(1.0 if weights is None else weights, "weights", dtype=np.float64)
    if (bad := w < 0).any():
        raise ValueError(f"{at('weights', w, bad)} is negative")
    if _fits(w, "weights", p.shape, "phases") != p.shape or not w.any():
        raise ValueError(f"weights must fit phases of shape {p.shape} and have a positive sum, got {weights!r}")
    w = np.broadcast_to(w / w.max(), p.shape)
    angle = 2 * np.pi * p.astype(np.float64)
    x, y = (float(np.where(w > 0, w * f(angle), 0.0).sum()) for f in (np.cos, np.sin))
    if not np.hypot(x, y) > 1e-12 * w.sum():
        return float("nan")
    mean = np.arctan2(y, x) / (2 * np.pi)
    mean -= np.floor(mean)
    return 0.0 if mean >= 1 else float(mean)


def _phases(value, name="phase", shape=None) -> np.ndarray:
    return phases(value, name, shape, nan=True)


@dataclass(frozen=True, eq=False)
class CycleStatistics:
    """What `cycle_statistics` found, one entry a whole cycle."""

    frames: np.ndarray  #: int64, frames whose phase lies in the cycle
    seconds: np.ndarray  #: s
    stride: np.ndarray  #: m, along the root's path over the ground
    speed: np.ndarray  #: m/s, stride / seconds
    avg_stride: float  #: m a cycle: path of all whole cycles / their number; NaN without one
    cycle_frequency: float  #: Hz: number of whole cycles / their time; NaN without one

    def __len__(self) -> int:
        return len(self.frames)

    def __str__(self) -> str:
        rows = [
            f"{n:6d} {s:8.3f} {m:9.3f} {v:9.3f}"
            for n, s, m, v in zip(self.frames, self.seconds, self.stride, self.speed, strict=True)
        ]
        head = "frames  seconds  stride m  speed m/s"
        tail = f"{len(self)} cycles, {self.avg_stride:.3f} m each, {self.cycle_frequency:.3f} a second"
        return "\n".join([head, *rows, tail])


def find_cycles(phase: np.ndarray) -> np.ndarray:
    """(C, 2): where each whole cycle begins and ends, in frames and fractions of one.

    A cycle ends where the phase wraps; at the end of a labelled stretch also where its next step would reach 1, in time
    for the frame that has none any more. Whole cycles lie between two such ends without a gap.
    """
    p = np.asarray(phase, dtype=np.float64)
    has = np.isfinite(p)
    step = np.diff(p)
    with np.errstate(invalid="ignore"):
        wraps = step < -0.5
        step = np.where(wraps, step + 1, step)
    bounds = np.flatnonzero(wraps) + 1
    after, before = p[bounds], 1 - p[bounds - 1]
    bounds = bounds - np.divide(after, after + before, out=np.zeros(len(bounds)), where=after > 0)

    # ends of labelled stretches, told from the step beside them
    around = np.concatenate([[False, False], has, [False]])  # shifted by two
    first = np.flatnonzero(~around[1:-3] & has[:-1] & has[1:])
    last = np.flatnonzero(around[1:-3] & has[:-1] & ~has[1:])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        begins = first - np.where(p[first] > 0, p[first] / step[first], 0)
        ends = last + (1 - p[last]) / step[last - 1]
        begins = begins[(begins > first - 1) & (begins <= first) & (begins >= 0)]
        ends = ends[(ends <= last + 1 + 1e-6) & (ends > last)]
    starts, stops = np.sort(np.concatenate([bounds, begins])), np.sort(np.concatenate([bounds, ends]))

    # each start with the first stop after it, where no gap lies between
    k = np.searchsorted(stops, starts, side="right")
    starts, stops = starts[k < len(stops)], stops[k[k < len(stops)]]
    gaps = np.concatenate([[0], np.cumsum(~has)])
    whole = gaps[np.ceil(stops - 1e-6).astype(int)] == gaps[np.ceil(starts - 1e-6).astype(int)]
    cycles = np.stack([starts[whole], stops[whole]], 1)
    near = np.round(cycles)
    return np.where(np.abs(cycles - near) < 1e-6, near, cycles)


def cycle_statistics(phase, root_positions, fps) -> CycleStatistics:
    """Length, time, stride and speed of each whole cycle of ``phase`` (T,), with the root's path (T, 3) in m.

    Strides are horizontal, along the path. ``avg_stride`` = path of all whole cycles / their number = mean speed / mean
    cycle frequency: what `advance_phase` needs, for the same kind of cycle as ``phase``.

    >>> import numpy as np
    >>> z = 1.2 * np.arange(61) / 30
    >>> cycle_statistics(np.arange(61) / 30 % 1, np.stack([0 * z, 0 * z, z], 1), 30).avg_stride.__round__(9)
    1.2
    """
    phase = _phases(phase, shape=(None,))
    positions = array(root_positions, "root_positions", (None, 3), dtype=np.float64)
    fps = number(fps, "fps", above=0)
    if len(positions) != len(phase):
        raise ValueError(
            f"root_positions must have shape ({len(phase)}, 3) as phase has {len(phase)} frames, got {positions.shape}"
        )
    cycles = find_cycles(phase)
    if len(cycles) == 0:
        none = np.zeros(0)
        return CycleStatistics(np.zeros(0, np.int64), none, none, none, float("nan"), float("nan"))
    path = np.concatenate([[0], np.cumsum(np.hypot(*np.diff(positions[:, [0, 2]], axis=0).T))])
    stride = np.diff(np.interp(cycles, np.arange(len(path)), path), axis=1)[:, 0]
    length = np.diff(cycles, axis=1)[:, 0]
    frames = np.diff(np.ceil(cycles).astype(np.int64), axis=1)[:, 0]
    with np.errstate(over="ignore"):  # of a rate next to nothing
        seconds, speed = length / fps, stride / length * fps
    return CycleStatistics(
        frames, seconds, stride, speed, float(stride.sum() / len(cycles)), float(len(cycles) / length.sum() * fps)
    )


def drop_outlier_cycles(phase, n_sigma=2) -> np.ndarray:
    """A copy of ``phase`` with NaN over whole cycles whose length is more than ``n_sigma`` standard deviations off the
    mean.

    Frames outside whole cycles keep their phase.
    """
    result = _phases(phase, shape=(None,)).copy()
    n_sigma = number(n_sigma, "n_sigma", least=0)
    cycles = find_cycles(result)
    length = np.diff(cycles, axis=1)[:, 0]
    if len(length):
        far = np.abs(length - length.mean()) > n_sigma * length.std() + 1e-9
        for start, stop in np.ceil(cycles[far]).astype(int):
            result[start:stop] = np.nan
    return result


def phase_histogram(phase, bins=32) -> np.ndarray:
    """How many frames have a phase in each of ``bins`` equal parts of the cycle: int64 (bins,). NaN counts nowhere.

    >>> phase_histogram([0.1, 0.2, 0.9, float("nan")], bins=4).tolist()
    [2, 0, 0, 1]
    """
    phase = _phases(phase)
    bins = integer(bins, "bins", least=1, most=1 << 24)
    return np.bincount(_bin(phase[~np.isnan(phase)], bins), minlength=bins).astype(np.int64)


def _bin(phase: np.ndarray, bins: int) -> np.ndarray:
    """Row of a table of ``bins``; a phase of 1.0 (a float32 that rounded up) is one of 0."""
    return (phase.astype(np.float64) * bins).astype(np.int64) % bins


def drop_sparse_bins(phase, bins, min_share=0.5) -> np.ndarray:
    """A copy of ``phase`` with NaN over frames in bins that hold fewer than ``min_share`` of the mean bin's frames.

    >>> drop_sparse_bins([0.1, 0.2, 0.15, 0.6, 0.7, 0.6, 0.9], bins=4).tolist()
    [0.1, 0.2, 0.15, 0.6, 0.7, 0.6, 0.9]
    >>> drop_sparse_bins([0.1, 0.2, 0.15, 0.6, 0.7, 0.6, 0.9], bins=4, min_share=0.6).tolist()
    [0.1, 0.2, 0.15, 0.6, 0.7, 0.6, nan]
    """
    result = _phases(phase).copy()
    min_share = number(min_share, "min_share", least=0)
    counts = phase_histogram(result, bins)
    has = ~np.isnan(result)
    if has.any():
        sparse = np.zeros(result.shape, bool)
        sparse[has] = (counts / counts.mean() < min_share)[_bin(result[has], len(counts))]
        result[sparse] = np.nan
    return result


def plot_cycles(phase, root_positions, fps, *, bins=32, n_sigma=2, axes=None):
    """Length of each whole cycle, with those that `drop_outlier_cycles` drops in red, and the histogram of the phase.

    ``axes``: two Matplotlib axes to draw on, else a new figure. Returns them.
    """
    statistics = cycle_statistics(phase, root_positions, fps)
    counts = phase_histogram(phase, bins)
    n_sigma = number(n_sigma, "n_sigma", least=0)
    if axes is None:
        from matplotlib import pyplot

        _, axes = pyplot.subplots(1, 2, figsize=(10, 3.5), layout="constrained")
    seconds = statistics.seconds
    if len(seconds):
        mean, spread = seconds.mean(), n_sigma * seconds.std()
        far = np.abs(seconds - mean) > spread + 1e-9 / fps
        axes[0].bar(np.arange(len(seconds)), seconds, color=np.where(far, "tab:red", "tab:blue"))
        axes[0].axhspan(mean - spread, mean + spread, color="0.85", zorder=0)
    axes[0].set(xlabel="cycle", ylabel="s", title=f"{len(seconds)} cycles, {statistics.avg_stride:.2f} m each")
    axes[1].bar((np.arange(bins) + 0.5) / bins, counts, width=0.9 / bins)
    missing = np.isnan(_phases(phase)).mean() if np.size(phase) else 0.0
    axes[1].set(xlabel="phase", ylabel="frames", title=f"{missing:.0%} of the frames have no phase", xlim=(0, 1))
    return axes
