"""The control block: where a root was and shall be, seen from where it is."""

from dataclasses import dataclass

import numpy as np

from . import _check, _core

__all__ = ["Trajectory"]

LARGEST = 1e100  # metres or radians: differences and what is extrapolated from them stay finite


@dataclass(frozen=True)
class Trajectory:
    """Past and future root positions and facings beside a network's input: what steers it.

    ``times`` are seconds from the frame that the block belongs to, ascending; negative ones lie in the past. The
    block has four columns a time, in the order of ``times``: x and z of the root (metres, on the ground) and sine and
    cosine of its facing (yaw), all seen from the root's own position and heading at that frame. So a character that
    walks straight ahead at 1 m/s has (0, t, 0, 1) at time t. The columns are not normalised.

    A network with such a control gets the block of its last input frame, and predicts that of the next frame for the
    times greater than zero. Times need not fall on frames: between two frames the path is linear in x, z and the
    unwrapped yaw. Beyond the ends of a recording it goes straight on at the mean velocity of the recording's last
    (first) half second, and keeps its facing.

    >>> Trajectory((-0.5, 0.5, 1.0)).dim
    12
    """

    times: tuple[float, ...] = (1 / 3, 2 / 3, 1.0)

    def __post_init__(self):
        times = _check.sequence(self.times, "times", "seconds")
        times = tuple(_check.number(time, f"times[{i}]") for i, time in enumerate(times))
        if not 1 <= len(times) <= 1000:
            raise ValueError(f"times must hold 1 to 1000 numbers, got {len(times)}")
        for i in range(1, len(times)):
            if times[i] <= times[i - 1]:
                raise ValueError(f"times[{i}]={times[i]} is not greater than times[{i - 1}]={times[i - 1]}")
        object.__setattr__(self, "times", times)

    @property
    def future(self) -> tuple[float, ...]:
        """The times that a network predicts: those greater than zero."""
        return tuple(time for time in self.times if time > 0)

    @property
    def dim(self) -> int:
        """Columns of the block in a network's input."""
        return 4 * len(self.times)

    @property
    def out_dim(self) -> int:
        """Columns of the block in a network's output."""
        return 4 * len(self.future)

    @property
    def columns(self) -> tuple[str, ...]:
        """A name for each column of the input's block: "x+0.5s", "z+0.5s", "sin+0.5s", "cos+0.5s"."""
        return tuple(f"{what}{time:+.3g}s" for time in self.times for what in ("x", "z", "sin", "cos"))

    def encode(self, positions, yaw, fps: float, frames=None, *, root=None, future: bool = False) -> np.ndarray:
        """Blocks ``(n, dim)`` of a path, float64.

        Parameters
        ----------
        positions : (T, 3), or (T, 2) as x and z
            The path, metres.
        yaw : (T,)
            Its facing, radians, wrapped or not.
        fps : float
        frames : (n,) or None
            The frames that the blocks belong to, fractions and frames beyond the ends allowed; None: all T.
        root : (n, 3) or None
            The places (x, z, yaw) that the blocks are seen from, where they are not on the path itself.
        future : bool
            Only the times greater than zero, so ``(n, out_dim)``.

        >>> line = np.arange(61)[:, None] / 30 * [0.0, 0.0, 1.2]
        >>> Trajectory((0.5, 1.0)).encode(line, np.zeros(61), 30, [0])
        array([[0. , 0.6, 0. , 1. , 0. , 1.2, 0. , 1. ]])
        """
        track = path_track(positions, yaw)
        fps = _check.number(fps, "fps", above=0)
        frames = np.arange(len(track), dtype=np.float64) if frames is None else _check.array(frames, "frames", ("n",))
        arrays = _core.ClipArrays((track,))
        clip = np.zeros(len(frames), np.int64)
        if root is None:
            root = track_at(track, fps, frames)
        else:
            root = _check.array(root, "root", (len(frames), 3))
        times = self.future if _check.flag(future, "future") else self.times
        return arrays.blocks(np.asarray(times, np.float64), np.full(len(frames), fps), clip, frames, root)


def path_track(positions, yaw) -> np.ndarray:
    """(T, 3) float64: x, z and unwrapped yaw, contiguous."""
    positions = _check.array(positions, "positions", ("T", None), dtype=np.float64)
    if positions.shape[1] not in (2, 3):
        raise ValueError(f"positions must have shape (T, 3) or (T, 2), got {positions.shape}")
    if len(positions) == 0:
        raise ValueError("positions must hold at least one frame, got 0")
    yaw = _check.array(yaw, "yaw", (len(positions),), dtype=np.float64)
    for array, name in ((positions, "positions"), (yaw, "yaw")):
        far = np.abs(array) > LARGEST
        if far.any():
            raise ValueError(f"{_check.at(name, array, far)} is beyond {LARGEST:g}")
    return np.column_stack([positions[:, 0], positions[:, -1], np.unwrap(yaw)])


def track_at(track: np.ndarray, fps: float, frames: np.ndarray) -> np.ndarray:
    """(n, 3): x, z and wrapped yaw of a track at frames that may be fractions, beyond the ends too."""
    n = len(frames)
    clip, world = np.zeros(n, np.int64), np.zeros((n, 3))
    frames, rates = np.asarray(frames, np.float64), np.full(n, fps)
    blocks = _core.ClipArrays((track,)).blocks(np.zeros(1), rates, clip, frames, world)
    return np.column_stack([blocks[:, 0], blocks[:, 1], np.arctan2(blocks[:, 2], blocks[:, 3])])
