"""What a trainer is fed: bare arrays or a WindowDataset, behind one face.

A source has ``count``, ``length`` (input frames), ``dim`` (columns of a frame), ``frames_out``, and
``batch(indices) -> x, y, phase`` of the network's type. It never holds a converted copy of the data.
"""

import numpy as np

from . import _check
from .dataset import WindowDataset

CHUNK = 1 << 22  # items looked at at a time


class ArraySource:
    """(X (N, L, F), Y (N, M, F), P (N,)); the numbers are taken as they come."""

    tracks = None

    def __init__(self, data, name: str, dtype: np.dtype):
        x, y, p = data
        self.dtype = dtype
        self.x = _numbers(x, "X", name, dtype)
        self.y = _numbers(y, "Y", name, dtype)
        self.p = _check.phases(p, "P", (None,), dtype=np.float64)
        if len(self.x) < 1:
            raise ValueError(f"{name} must have at least one window, got X of shape {self.x.shape}")
        for array, label in ((self.y, "Y"), (self.p, "P")):
            if len(array) != len(self.x):
                raise ValueError(f"{label} must have {len(self.x)} windows as X has, got {len(array)}")
        if self.y.shape[2] != self.x.shape[2]:
            raise ValueError(f"Y must have {self.x.shape[2]} columns a frame as X has, got {self.y.shape[2]}")
        self.count, self.length, self.dim = self.x.shape
        self.frames_out = self.y.shape[1]

    def batch(self, indices: np.ndarray):
        """The windows of ``indices``, contiguous, of the network's type."""
        x, y = (np.ascontiguousarray(a[indices], self.dtype) for a in (self.x, self.y))
        return x, y, self.p[indices]

    def spread(self) -> np.ndarray:
        """Standard deviation of each column over all windows and frames, (dim,)."""
        step = max(1, CHUNK // (self.length * self.dim))
        parts = [slice(i, i + step) for i in range(0, self.count, step)]
        total = self.count * self.length
        mean = sum(self.x[part].sum((0, 1), dtype=np.float64) for part in parts) / total
        square = sum(((self.x[part] - mean) ** 2).sum((0, 1)) for part in parts)
        return np.sqrt(square / total)

    def cycle_stride(self, ground_speed) -> float:
        """Metres a cycle from windows that overlap the next one, or 0 where none does.

        Two neighbours overlap by ``s`` frames where the first one's frames from ``s`` on are the second one's first.
        """
        path = cycles = 0.0
        for i in range(min(self.count - 1, 10_000)):
            first, second = self.x[i], self.x[i + 1]
            shifts = np.flatnonzero((first[1:] == second[0]).all(1)) + 1
            for s in shifts[:1]:
                if np.array_equal(first[s:], second[: self.length - s]):
                    cycles += (self.p[i + 1] - self.p[i]) % 1.0
                    path += float(ground_speed(second[self.length - s :]).sum())
        return path / cycles if cycles > 0 else 0.0


class DatasetSource:
    """A WindowDataset: frames are gathered by it, batch by batch."""

    def __init__(self, data: WindowDataset, name: str, dtype: np.dtype):
        if len(data) < 1:
            raise ValueError(f"{name} must have at least one window, got an empty WindowDataset")
        self.data, self.dtype = data, dtype
        self.count, self.length, self.dim = len(data), data.input_len, data.spec.dim
        self.frames_out = data.output_len
        self.tracks = data.tracks

    def batch(self, indices: np.ndarray):
        """The windows of ``indices``, contiguous, of the network's type."""
        x, y, p = self.data.batch(indices)
        x, y = (np.ascontiguousarray(a, self.dtype) for a in (x, y))
        return x, y, np.ascontiguousarray(p, np.float64)

    def spread(self) -> np.ndarray:
        """Standard deviation of each column over all frames, in normalised units, (dim,)."""
        total = sum(len(part) for part in self.data._chunks())
        mean = sum(part.sum(0, dtype=np.float64) for part in self.data._chunks()) / total
        square = sum(((part - mean) ** 2).sum(0) for part in self.data._chunks())
        scale = 1.0 if self.data.normalizer is None else self.data.normalizer.scale_
        return np.sqrt(square / total) / scale

    def cycle_stride(self, ground_speed) -> float:
        """Metres a cycle over all frames that have a phase, or 0 where none has."""
        path = cycles = 0.0
        for clip, begin, end in self.data._parts:
            phase = self.data.phases[clip][begin:end]
            step = (phase[1:] - phase[:-1]) % 1.0
            known = np.isfinite(step)
            cycles += float(step[known].sum())
            path += float(ground_speed(np.asarray(self.data.frames[clip][begin + 1 : end, :3], np.float64))[known].sum())
        return path / cycles if cycles > 0 else 0.0

    def phases(self, indices: np.ndarray, steps: int) -> np.ndarray:
        """Recorded phases of the last input frame and those after it, (B, steps); a missing one goes on at the rate before."""
        phases = np.stack([self.data.phase(indices, step=j) for j in range(steps)], 1).astype(np.float64)
        for j in range(1, steps):
            lost = ~np.isfinite(phases[:, j])
            step = (phases[:, j - 1] - phases[:, j - 2]) % 1.0 if j > 1 else np.zeros(len(phases))
            phases[lost, j] = (phases[lost, j - 1] + step[lost]) % 1.0
        return phases

    def rates(self, indices: np.ndarray, steps: int) -> np.ndarray:
        """The phase's rate after the last input frame and those after it, cycles a second, (B, steps)."""
        rates = np.stack([self.data.phase_step(indices, step=j) for j in range(steps)], 1)
        return np.ascontiguousarray(rates, np.float64)

    def places(self, indices: np.ndarray):
        """The tracks of all clips, and of each window its clip, last input frame, whether it is a mirror image, speed."""
        clips = np.ascontiguousarray(self.data.clip_index[indices], np.int64)
        frames = np.ascontiguousarray(self.data.starts[indices] + self.length - 1, np.int64)
        return self.tracks, clips, frames, self.data.mirrored[indices].view(np.uint8), self.data.speed[indices]


def source(data, name: str, dtype: np.dtype):
    """The source for what a user gave, or a ``TypeError``."""
    if isinstance(data, WindowDataset):
        return DatasetSource(data, name, dtype)
    if isinstance(data, (tuple, list)) and len(data) == 3:
        return ArraySource(data, name, dtype)
    kind = f"{len(data)} items" if isinstance(data, (tuple, list)) else type(data).__name__
    raise TypeError(f"{name} must be a WindowDataset or (X, Y, P), got {kind}")


def _numbers(value, label: str, name: str, dtype: np.dtype) -> np.ndarray:
    """A (N, frames, columns) array of finite numbers, checked a part at a time, not converted."""
    array = _check.array(value, label, (None, None, None), finite=False)
    if array.shape[1] < 1 or array.shape[2] < 3:
        raise ValueError(f"{label} must have at least one frame of at least 3 columns, got shape {array.shape}")
    step = max(1, CHUNK // (array.shape[1] * array.shape[2]))
    for i in range(0, len(array), step):
        part = array[i : i + step]
        with np.errstate(over="ignore"):
            bad = ~np.isfinite(part.astype(dtype, copy=False))
        if bad.any():
            at = np.unravel_index(int(np.argmax(bad)), bad.shape)
            index = ", ".join(map(str, (at[0] + i, *at[1:])))
            raise ValueError(f"{label}[{index}]={part[at].item()!r} is not finite in {dtype.name}")
    return array
