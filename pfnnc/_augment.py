"""The same motion at another speed or frame rate, with its labels."""

import numpy as np

from . import _check
from .skeleton import Clip


def speeds_of(value, name: str = "speeds") -> tuple[float, ...]:
    """Different positive numbers as a tuple."""
    speeds = _check.sequence(value, name, "numbers")
    speeds = tuple(_check.number(speed, f"{name}[{i}]", least=0.01, most=100) for i, speed in enumerate(speeds))
    if not speeds or len(set(speeds)) != len(speeds):
        raise ValueError(f"{name} must hold different numbers, at least one, got {speeds}")
    return speeds


def played(clip: Clip, phase: np.ndarray, contacts, speed: float, fps: float) -> tuple[Clip, np.ndarray, np.ndarray | None]:
    """A clip played ``speed`` times as fast, at ``fps`` frames a second, with its phase (T,) and contacts (T, 2).

    Poses are interpolated as by `Clip.resample`, phases on the circle (NaN next to a frame without), contacts are
    those of the nearest frame.
    """
    if speed == 1 and fps == clip.fps:
        return clip, phase, contacts
    fast = Clip(clip.skeleton, clip.root_positions, clip.rotations, clip.fps * speed, clip.name, translations=clip.translations)
    result = fast.resample(fps)
    at = np.minimum(np.arange(len(result)) * (speed * clip.fps / fps), max(len(clip) - 1, 0))
    near = np.rint(at).astype(np.int64)
    return result, phase_at(phase, at), None if contacts is None else np.asarray(contacts)[near]


def phase_at(phase: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Phases between frames, the shorter way round the circle; NaN where a frame that counts has none."""
    before = np.floor(at + 1e-9).astype(np.int64)
    share = np.maximum(at - before, 0)
    share[share < 1e-9] = 0
    after = np.where(share > 0, before + 1, before)
    step = (phase[after] - phase[before] + 0.5) % 1.0 - 0.5
    between = (phase[before] + share * step) % 1.0
    return np.where(share == 0, phase[before], np.where(between == 1, 0.0, between))
