"""The same motion at another speed or frame rate."""

import math
from bisect import bisect_left

import numpy as np

from . import _check, _core
from .skeleton import Clip


def speeds_of(value, name: str = "speeds") -> tuple[float, ...]:
    """Different positive numbers as a tuple."""
    speeds = _check.sequence(value, name, "numbers")
    speeds = tuple(_check.number(speed, f"{name}[{i}]", least=0.01, most=100) for i, speed in enumerate(speeds))
    if not speeds or len(set(speeds)) != len(speeds):
        raise ValueError(f"{name} must hold different numbers, at least one, got {speeds}")
    return speeds


def at_rate(clip: Clip, phase: np.ndarray, contacts, fps: float) -> tuple[Clip, np.ndarray, np.ndarray | None]:
    """A clip at ``fps`` frames a second, with its phase (T,) and contacts (T, 2).

    Poses are interpolated by `Clip.resample`, phases on the circle (NaN next to a frame without), contacts are those
    of the nearest frame.
    """
    if fps == clip.fps:
        return clip, phase, contacts
    result, speed = clip.resample(fps), clip.fps / fps
    near = np.rint(moments(np.arange(len(result)), speed, len(clip))).astype(np.int64)
    return result, played_phase(phase, speed, len(result)), None if contacts is None else np.asarray(contacts)[near]


# ---- frames of a clip that is played ``speed`` times as fast, as the core has them (dataset.c)


def played_length(frames: int, speed: float) -> int:
    """How many frames it has."""
    return int((frames - 1) / speed + 1e-6) + 1 if frames > 1 else frames


def moments(frames: np.ndarray, speed: float, length: int) -> np.ndarray:
    """Where they stand among the ``length`` frames of the clip itself, fractions."""
    at = frames * speed
    nearest = np.rint(at)
    at = np.where(np.abs(at - nearest) < 1e-9 * np.maximum(1, nearest), nearest, at)
    return np.minimum(at, max(length - 1, 0))


def played_phase(phase: np.ndarray, speed: float, count: int | None = None) -> np.ndarray:
    """The phase of each of its frames, or of the first ``count``; a frame has one where both its neighbours have one."""
    frames = np.arange(played_length(len(phase), speed) if count is None else count)
    source = _core.ClipArrays((np.ascontiguousarray(phase, np.float64)[:, None],))
    return source.phases(np.zeros(len(frames), np.int64), frames, np.full(len(frames), speed))


def frames_inside(begin: int, end: int, speed: float, length: int) -> range:
    """Those that show nothing of the clip but its frames ``begin`` to ``end - 1``.

    A frame between two shows both, and its velocity is that of the way from the frame before it.
    """
    if speed == 1:
        return range(begin, end)

    def first(frame: int) -> float:
        at, before = moments(np.array([frame, frame - 1]), speed, length)
        return min(np.floor(at), np.floor(before) + 1) if frame else 0

    def last(frame: int) -> float:  # the velocity of frame 0 is that of frame 1
        return np.ceil(moments(np.array([max(frame, 1)]), speed, length)[0])

    frames = range(played_length(length, speed))
    start, stop = bisect_left(frames, begin, key=first), bisect_left(frames, end, key=last)
    return range(start, max(start, stop))


def frames_shown(begin: int, end: int, speed: float) -> tuple[int, int]:
    """The clip's own frames, [first, end), that frames ``begin`` to ``end - 1`` show."""
    if speed == 1:
        return begin, end
    return max(math.floor((begin - 1) * speed), 0), math.ceil((end - 1) * speed) + 1
