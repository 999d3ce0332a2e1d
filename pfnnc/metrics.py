"""Numbers that say how near a motion comes to another, and how well its feet stand.

The article's three are here under its names: `trajectory_correlation`, `foot_skate`, `yaw_smoothness`. None of them
can be trusted alone. A correlation is 1 at double speed and at a tenth of the amplitude; skate is 0 by definition
where contact means "slow enough", and 9 to 14 % on real recordings where it means "low enough"; 0.5 rad a frame is
859 degrees a second at 30 fps. So the others stand beside them, and `pfnnc.evaluate` prints them all together.

Horizontal means x and z; lengths are metres unless the name says otherwise. NaN is the answer where there is none.
"""

from dataclasses import dataclass

import numpy as np

from . import _check
from ._body import runs
from .rotation import quat_conj, quat_mean, quat_mul, quat_to_exp_map, quat_yaw

__all__ = [
    "TrajectoryCorrelation",
    "amplitude_ratio",
    "cadence_error",
    "drift_per_metre",
    "foot_skate",
    "foot_slide",
    "joint_amplitude",
    "l2p",
    "l2q",
    "npss",
    "path_ratio",
    "penetration_and_float",
    "phase_agreement",
    "rmse",
    "trajectory_correlation",
    "yaw_rate_error",
    "yaw_smoothness",
]

HORIZONTAL = [0, 2]
STANDS = 1e-12  # metres; less than this is rounding
LARGEST = 1e100  # beyond it squares overflow


def _numbers(value, name: str, shape=None, *, dtype=None) -> np.ndarray:
    """`_check.array`, and nothing so large that its square is none."""
    result = _check.array(value, name, shape, dtype=dtype)
    beyond = np.abs(result) > LARGEST
    if beyond.any():
        raise ValueError(f"{_check.at(name, result, beyond)} is not in [-{LARGEST:g}, {LARGEST:g}]")
    return result


@dataclass(frozen=True)
class TrajectoryCorrelation:
    """What `trajectory_correlation` found."""

    per_axis: np.ndarray
    """(D,) Pearson's r of each axis, NaN where either side stands."""
    overall: float
    """Pearson's r of all axes pooled, each with its own mean taken off."""
    path: np.ndarray
    """(T, D) the path that the velocity leads along, from the first true position."""


def trajectory_correlation(velocity, positions, fps) -> TrajectoryCorrelation:
    """How the path that ``velocity`` (T, D) m/s leads along goes with ``positions`` (T, D); above 0.9 is good.

    ``path[0] = positions[0]``, ``path[t] = path[t-1] + velocity[t]/fps``. It is blind to scale: look at
    `path_ratio` too.

    >>> trajectory_correlation([[0, 0, 1.0]] * 4, [[0, 0, 0.1 * i] for i in range(4)], 10).per_axis
    array([nan, nan,  1.])
    """
    velocity = _numbers(velocity, "velocity", (None, None), dtype=np.float64)
    positions = _numbers(positions, "positions", (None, None), dtype=np.float64)
    _same_shape(velocity, "velocity", positions, "positions")
    fps = _check.number(fps, "fps", above=0)
    if len(velocity) < 2:
        raise ValueError(f"velocity must have at least 2 frames, got {len(velocity)}")
    path = positions[0] + np.concatenate([np.zeros_like(velocity[:1]), np.cumsum(velocity[1:], axis=0)]) / fps
    a, b = _centred(path), _centred(positions)
    per_axis = np.array([_cosine(a[:, i], b[:, i]) for i in range(a.shape[1])])
    return TrajectoryCorrelation(np.clip(per_axis, -1, 1), float(np.clip(_cosine(a.ravel(), b.ravel()), -1, 1)), path)


def _centred(values: np.ndarray) -> np.ndarray:
    """Each column less its mean; a column that stands is exactly 0."""
    result = values - values.mean(axis=0)
    still = np.ptp(values, axis=0) <= STANDS * np.maximum(1.0, np.abs(values).max(axis=0))
    result[:, still] = 0.0
    return result


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    scale_a, scale_b = np.abs(a).max(initial=0.0), np.abs(b).max(initial=0.0)
    if scale_a == 0 or scale_b == 0:
        return np.nan
    a, b = a / scale_a, b / scale_b  # so that no square overflows or vanishes
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def foot_skate(ankles, contacts, fps, *, threshold: float = 0.24, trim: int = 0) -> float:
    """Share of the steps on the ground that are faster than ``threshold`` m/s; the article's goal is below 0.01.

    ``ankles`` (T, feet, 3); ``contacts`` (T, feet) bool. A step counts where the foot is in contact at both of its ends;
    its speed is three-dimensional. ``trim`` leaves out the first and last so many frames of each contact. NaN when
    no step is left.

    The default is the article's 8 mm a frame at 30 fps. Published numbers use other limits (0.04 to 0.9 m/s) and
    are not to be compared with this one. Slow slides do not show at all: see `foot_slide`.

    >>> ankles = np.zeros((4, 1, 3)); ankles[:, 0, 0] = [0, 0, 0.02, 0.02]
    >>> foot_skate(ankles, np.ones((4, 1), bool), 30)
    0.3333333333333333
    """
    ankles, contacts = feet_and_contacts(ankles, contacts)
    fps = _check.number(fps, "fps", above=0)
    threshold = _check.number(threshold, "threshold", least=0)
    trim = _check.integer(trim, "trim", least=0)
    on = _trimmed(contacts, trim)
    both = on[1:] & on[:-1]
    if not both.any():
        return float("nan")
    speed = np.linalg.norm(np.diff(ankles, axis=0), axis=-1) * fps
    return float((speed[both] > threshold).mean())


def foot_slide(ankles, contacts, *, trim: int = 0) -> np.ndarray:
    """Millimetres that a foot moves over the ground in each of its stances, foot by foot: ``(stances,)``.

    Horizontal path from the first to the last frame of a contact; contacts of one frame do not count. People see
    slides of about 20 mm. Arguments as for `foot_skate`.

    >>> ankles = np.zeros((26, 1, 3)); ankles[:, 0, 0] = 0.004 * np.arange(26)
    >>> foot_slide(ankles, np.ones((26, 1), bool)).round(6)
    array([100.])
    """
    ankles, contacts = feet_and_contacts(ankles, contacts)
    trim = _check.integer(trim, "trim", least=0)
    step = np.linalg.norm(np.diff(ankles[..., HORIZONTAL], axis=0), axis=-1)
    slides = []
    for foot in range(ankles.shape[1]):
        begin, end = _runs(contacts[:, foot])
        begin, end = begin + trim, end - trim
        total = np.r_[0.0, np.cumsum(step[:, foot])]
        slides.append([total[b - 1] - total[a] for a, b in zip(begin, end, strict=True) if b - a > 1])
    return 1000 * np.array([slide for of_foot in slides for slide in of_foot])


def feet_and_contacts(ankles, contacts):
    ankles = _numbers(ankles, "ankles", (None, None, 3), dtype=np.float64)
    contacts = bools(contacts, "contacts")
    if contacts.shape != ankles.shape[:2]:
        raise ValueError(f"ankles of shape {ankles.shape} need contacts of shape {ankles.shape[:2]}, got {contacts.shape}")
    return ankles, contacts


def bools(value, name: str) -> np.ndarray:
    """``value`` as an array of bool, which it must be: nothing is taken for true."""
    try:
        value = np.asarray(value)
    except ValueError as error:  # ragged lists
        raise ValueError(f"{name} must be an array of bool, got {error}") from None
    if value.dtype != np.bool_:
        raise TypeError(f"{name} must be an array of bool, got dtype {value.dtype}")
    return value


def _runs(on: np.ndarray):
    """First frames and ends (exclusive) of the runs of True."""
    return np.array([run for run in runs(on) if on[run[0]]], np.int64).reshape(-1, 2).T


def _trimmed(contacts: np.ndarray, trim: int) -> np.ndarray:
    if trim == 0:
        return contacts
    trim = min(trim, len(contacts))
    result = np.zeros_like(contacts)
    for foot in range(contacts.shape[1]):
        for begin, end in zip(*_runs(contacts[:, foot]), strict=True):
            result[begin + trim : max(end - trim, 0), foot] = True
    return result


def yaw_smoothness(orientation) -> float:
    """Largest |second difference| of the unwrapped yaw, radians a frame; the article's goal is at most 0.5.

    ``orientation``: (T, 4) quaternions of any norm and sign, or (T,) yaw in radians. 0 for fewer than 3 frames. That a
    turn is missing altogether does not show here: see `yaw_rate_error`.

    >>> yaw_smoothness([3.0, 3.1, -3.08, -2.98]) < 0.01
    True
    """
    yaw = _unwrapped_yaw(orientation, "orientation")
    if len(yaw) < 3:
        return 0.0
    return float(np.abs(np.diff(yaw, 2)).max())


def yaw_rate_error(predicted, true, fps) -> float:
    """Mean |difference| of two yaw rates, rad/s. Each (T, 4) quaternions or (T,) yaw; NaN for fewer than 2 frames."""
    fps = _check.number(fps, "fps", above=0)
    a, b = _unwrapped_yaw(predicted, "predicted"), _unwrapped_yaw(true, "true")
    _same_shape(a, "predicted", b, "true")
    if len(a) < 2:
        return float("nan")
    return float(np.abs(np.diff(a) - np.diff(b)).mean() * fps)


def _unwrapped_yaw(value, name: str) -> np.ndarray:
    array = _check.array(value, name, dtype=np.float64)
    if array.ndim == 1:
        return np.unwrap(_numbers(array, name))
    if array.ndim != 2 or array.shape[1] != 4:
        raise ValueError(f"{name} must have shape (any, 4) or (any,), got {array.shape}")
    zero = ~array.any(axis=1)
    if zero.any():
        raise ValueError(f"{name}[{int(np.argmax(zero))}] is a zero quaternion")
    largest = np.abs(array).max(axis=1, keepdims=True)
    return np.unwrap(quat_yaw(array / largest))


def path_ratio(predicted, true) -> float:
    """Horizontal length of the predicted path (T, 3) over that of the true one; NaN when the true one stands."""
    predicted, true = _two_paths(predicted, true)
    length = _path_length(true)
    return _path_length(predicted) / length if length > STANDS else float("nan")


def drift_per_metre(predicted, true) -> float:
    """Horizontal error gained from first to last frame, per metre of the true path (T, 3). NaN when that stands.

    >>> round(drift_per_metre([[0, 0, 0], [0.3, 0, 9.6]], [[0, 0, 0], [0, 0, 10.0]]), 9)
    0.05
    """
    predicted, true = _two_paths(predicted, true)
    length = _path_length(true)
    if length <= STANDS:
        return float("nan")
    return end_drift(predicted, true) / length


def end_drift(predicted, true) -> float:
    """Horizontal error gained from the first to the last frame, metres."""
    error = (predicted - true)[:, HORIZONTAL]
    return float(np.hypot(*(error[-1] - error[0])))


def _two_paths(predicted, true):
    predicted = _numbers(predicted, "predicted", (None, 3), dtype=np.float64)
    true = _numbers(true, "true", (None, 3), dtype=np.float64)
    _same_shape(predicted, "predicted", true, "true")
    return predicted, true


def _path_length(path: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(path[:, HORIZONTAL], axis=0), axis=-1).sum())


def rmse(predicted, true) -> float:
    """Root of the mean squared difference of two arrays of one shape; NaN when they are empty."""
    predicted, true = _pair(predicted, true, None)
    return float(np.sqrt(np.mean((predicted - true) ** 2))) if predicted.size else float("nan")


def amplitude_ratio(predicted, true) -> np.ndarray:
    """Spread (standard deviation along the first axis) of the prediction over the truth's; NaN where that stands.

    It tells a motion that fades away from one that lives, which no correlation does.

    >>> t = np.arange(60) / 30
    >>> float(amplitude_ratio(0.1 * np.sin(2 * np.pi * t), np.sin(2 * np.pi * t)).round(9))
    0.1
    """
    predicted, true = _pair(predicted, true, None)
    if predicted.ndim == 0:
        raise ValueError("predicted must have at least one axis, got ()")
    if len(predicted) == 0:
        return np.full(predicted.shape[1:], np.nan)
    return _ratio(_spread(predicted), _spread(true))


def _spread(values: np.ndarray) -> np.ndarray:
    flat = values.reshape(len(values), -1)
    return np.sqrt((_centred(flat) ** 2).mean(axis=0)).reshape(values.shape[1:])


def _ratio(a, b) -> np.ndarray:
    b = np.asarray(b, float)
    return np.divide(a, b, out=np.full(b.shape, np.nan), where=b > 0)


def joint_amplitude(rotations) -> np.ndarray:
    """Root mean squared angle (radians) of each joint's rotation from its own mean: (T, J, 4) to (J,)."""
    rotations = _numbers(rotations, "rotations", (None, None, 4), dtype=np.float64)
    zero = ~rotations.any(axis=-1)
    if zero.any():
        index = np.argwhere(zero)[0]
        raise ValueError(f"rotations[{index[0]}, {index[1]}] is a zero quaternion")
    if len(rotations) == 0:
        return np.full(rotations.shape[1], np.nan)
    off = quat_to_exp_map(quat_mul(quat_conj(quat_mean(rotations, axis=0)), rotations))
    amplitude = np.sqrt((off**2).sum(axis=-1).mean(axis=0))
    return np.where(amplitude > 1e-7, amplitude, 0.0)  # the square root of rounding


def phase_agreement(predicted, true) -> float:
    """Mean of cos(2 pi difference) of two phases in cycles, over the frames where both have one; 1 is agreement.

    Pearson's r will not do: of wrapped phases it punishes a lag of one frame, of unwrapped ones it passes everything.

    >>> round(phase_agreement([0.0, 0.25, 0.5, np.nan], [0.1, 0.35, 0.6, 0.0]), 6)
    0.809017
    """
    predicted, true = _two_phases(predicted, true)
    both = ~np.isnan(predicted) & ~np.isnan(true)
    if not both.any():
        return float("nan")
    return float(np.cos(2 * np.pi * (predicted[both] - true[both])).mean())


def cadence_error(predicted, true) -> float:
    """Cycles of the predicted phase per cycle of the true one, less 1: +0.3 is 30 % too fast.

    Steps of a phase are taken the short way round, in (-0.5, 0.5]. NaN when the true phase does not move.
    """
    predicted, true = _two_phases(predicted, true)
    rates = [_mean_step(phase) for phase in (predicted, true)]
    if not abs(rates[1]) > 0:
        return float("nan")
    return rates[0] / rates[1] - 1.0


def _mean_step(phase: np.ndarray) -> float:
    step = np.diff(phase)
    step = step[~np.isnan(step)]
    return float((step - np.ceil(step - 0.5)).mean()) if len(step) else float("nan")


def _two_phases(predicted, true):
    predicted = _check.phases(predicted, "predicted", (None,), nan=True, dtype=np.float64)
    true = _check.phases(true, "true", (None,), nan=True, dtype=np.float64)
    _same_shape(predicted, "predicted", true, "true")
    return predicted, true


def penetration_and_float(heights, *, floor: float = 0.0) -> tuple[float, float]:
    """Mean depth below the floor and mean height above it of the lowest point, each averaged over **all** frames.

    ``heights``: (T,) of the lowest point, or (T, points). NaN for no frames.

    >>> penetration_and_float([-0.010, 0.0, 0.020])
    (0.0033333333333333335, 0.006666666666666667)
    """
    heights = _numbers(heights, "heights", dtype=np.float64)
    floor = _check.number(floor, "floor", least=-LARGEST, most=LARGEST)
    if heights.ndim not in (1, 2):
        raise ValueError(f"heights must have shape (any,) or (any, any), got {heights.shape}")
    if heights.size == 0:
        return float("nan"), float("nan")
    lowest = (heights if heights.ndim == 1 else heights.min(axis=1)) - floor
    return float(np.maximum(-lowest, 0).mean()), float(np.maximum(lowest, 0).mean())


def l2p(predicted, true, *, mean=None, std=None) -> float:
    """L2 distance of joint positions (..., T, J, 3): the norm over all joints of a frame, then the mean over the rest.

    The measure of the LAFAN1 benchmark (Harvey et al. 2020), which takes positions z-scored by the training data's
    ``mean`` and ``std`` (broadcastable to the arrays). Without them: metres.

    >>> l2p([[[1, 2, 2], [0, 0, 0]]], np.zeros((1, 2, 3)))
    3.0
    """
    predicted, true = _pair(predicted, true, (..., None, None, 3))
    error = predicted - true
    if mean is not None:
        _broadcast(mean, "mean", error.shape)  # it cancels
    if std is not None:
        std = _broadcast(std, "std", error.shape)
        if (std <= 0).any():
            raise ValueError(f"{_check.at('std', std, std <= 0)} is not greater than 0")
        error = error / std
    return _mean_norm(error)


def _broadcast(value, name: str, shape):
    value = _numbers(value, name, dtype=np.float64)
    try:
        np.broadcast_to(value, shape)
    except ValueError:
        raise ValueError(f"{name} of shape {value.shape} does not broadcast to {shape}") from None
    return value


def l2q(predicted, true) -> float:
    """L2 distance of joint rotations (..., T, J, 4), reduced as in `l2p`; each pair's signs are aligned first.

    >>> l2q([[[1, 0, 0, 0]]], [[[-1, 0, 0, 0]]])
    0.0
    """
    predicted, true = _pair(predicted, true, (..., None, None, 4))
    sign = np.where((predicted * true).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
    return _mean_norm(predicted - sign * true)


def _mean_norm(error: np.ndarray) -> float:
    norms = np.sqrt((error**2).sum(axis=(-2, -1)))
    return float(norms.mean()) if norms.size else float("nan")


def npss(predicted, true) -> float:
    """Normalised power spectrum similarity (Gopalakrishnan et al. 2019) of (B, T, D) or (T, D); 0 is equal spectra.

    Power is the squared real part of the FFT over time. A channel's distance is the sum of |difference| of the two
    cumulated and normalised spectra, its weight the power of the truth: a zero channel has weight 0. NaN when all
    are zero.
    """
    predicted, true = _pair(predicted, true, None)
    if predicted.ndim not in (2, 3):
        raise ValueError(f"predicted must have shape (any, any, any) or (any, any), got {predicted.shape}")
    if predicted.size == 0:
        return float("nan")
    powers = [np.fft.fft(x, axis=-2).real ** 2 for x in (predicted, true)]
    totals = [power.sum(axis=-2, keepdims=True) for power in powers]
    shares = [_ratio(power, np.broadcast_to(total, power.shape)) for power, total in zip(powers, totals, strict=True)]
    cumulated = [np.cumsum(np.nan_to_num(share), axis=-2) for share in shares]
    distance = np.abs(cumulated[0] - cumulated[1]).sum(axis=-2)
    weight = totals[1][..., 0, :]
    return float((distance * weight).sum() / weight.sum()) if weight.sum() > 0 else float("nan")


def _pair(predicted, true, shape):
    predicted = _numbers(predicted, "predicted", shape, dtype=np.float64)
    true = _numbers(true, "true", shape, dtype=np.float64)
    _same_shape(predicted, "predicted", true, "true")
    return predicted, true


def _same_shape(first: np.ndarray, name: str, second: np.ndarray, other: str) -> None:
    if first.shape != second.shape:
        raise ValueError(f"{name} has shape {first.shape}, {other} has shape {second.shape}")
