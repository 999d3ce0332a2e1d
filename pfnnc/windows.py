"""Windows cut from one clip's rows."""

import numpy as np

from . import _check, _core

__all__ = ["make_windows"]

MOST_FRAMES = 1_000_000  # of a window


def make_windows(
    features, phase, input_len: int = 12, output_len: int = 6, stride: int = 4
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Windows of one clip: X ``(N, input_len, F)``, Y ``(N, output_len, F)``, P ``(N,)``, in the type of the features.

    Windows begin at frames s = 0, stride, … while all their frames are in the clip; X is ``features[s:s+input_len]``,
    Y the frames after it, P the phase of the last frame of X. Windows whose P is NaN (no phase) are left out.
    ``phase`` (T,) is in [0, 1] or NaN. A clip that is too short gives empty arrays of the right shape.

    >>> X, Y, P = make_windows(np.zeros((40, 103)), np.linspace(0, 0.9, 40), 12, 1)
    >>> X.shape, Y.shape, P.shape
    ((7, 12, 103), (7, 1, 103), (7,))
    """
    features = _check.array(features, "features", ("T", "F"))
    phase = _check.phases(phase, "phase", (len(features),), nan=True)
    input_len, output_len, stride = window_sizes(input_len, output_len, stride)
    starts = window_starts(phase, range(0, len(features)), input_len, output_len, stride)
    X = np.empty((len(starts), input_len, features.shape[1]), features.dtype)
    Y = np.empty((len(starts), output_len, features.shape[1]), features.dtype)
    source = _core.ClipArrays((np.ascontiguousarray(features),))
    source.gather(X, Y, np.zeros(len(starts), np.int64), starts)
    return X, Y, below_one(phase[starts + input_len - 1], features.dtype)


def window_sizes(input_len, output_len, stride) -> tuple[int, int, int]:
    """The three lengths in frames, checked."""
    return (
        _check.integer(input_len, "input_len", least=1, most=MOST_FRAMES),
        _check.integer(output_len, "output_len", least=1, most=MOST_FRAMES),
        _check.integer(stride, "stride", least=1, most=MOST_FRAMES),
    )


def window_starts(
    phase: np.ndarray, part: range, input_len: int, output_len: int, stride: int, *, shift: int = 0, whole: bool = False
) -> np.ndarray:
    """Frames at which windows of a clip begin, int64: those ``shift`` + a multiple of ``stride``, all inside ``part``.

    The last input frame has a phase; with ``whole`` all frames after it have one too.
    """
    first = part.start + (shift - part.start) % stride
    starts = np.arange(first, part.stop - input_len - output_len + 1, stride, dtype=np.int64)
    missing = np.isnan(phase)
    if not whole:
        return starts[~missing[starts + input_len - 1]]
    before = np.concatenate([[0], np.cumsum(missing)])
    return starts[before[starts + input_len + output_len] == before[starts + input_len - 1]]


def below_one(phase: np.ndarray, dtype) -> np.ndarray:
    """Phases in another type; none that was below 1 becomes 1 by rounding."""
    rounded = phase.astype(dtype)
    up = (rounded >= 1) & (phase < 1)
    if up.any():
        rounded[up] = np.nextafter(np.ones((), dtype), np.zeros((), dtype))
    return rounded
