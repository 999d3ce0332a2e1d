"""Root motion over loops: how far a character moves while its clip repeats, at any rate, over any interval.

A clip of length ``T`` that repeats moves its root, from ``t0`` to ``t1``, by the whole cycles between the two times plus
the difference of two places within the clip: ``(k1 - k0) D + p(u1) - p(u0)``, never by the difference of two large
positions. A clip that turns moves by a rigid transform; its cycles compose as a screw motion (Murray, Li, Sastry,
*A Mathematical Introduction to Robotic Manipulation*, section 2.3), so that a quarter circle played four times ends
where it began.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import _check, _core
from ._core import LoopClock, LoopCursor
from .rotation import exp_map_to_quat, from_yaw, quat_conj, quat_mul, quat_rotate, quat_slerp, quat_to_exp_map, quat_yaw

if TYPE_CHECKING:
    from .skeleton import Clip

__all__ = [
    "LoopClock",
    "LoopClocks",
    "LoopCursor",
    "RootTrack",
    "Seam",
    "apply_root_motion",
    "blend_motions",
    "blend_tracks",
    "split_root_motion",
]

MODES = ("translation", "planar", "full")
LARGEST_SEAM = np.radians(30)


class Seam(NamedTuple):
    """The velocity jump where a loop starts again, as the motion goes on through it (m/s)."""

    end_velocity: np.ndarray | float
    start_velocity: np.ndarray | float
    jump: np.ndarray | float


class RootTrack(_core.Track):
    """The root's keys over one cycle of a clip, and the motion between any two times of its endless repetition.

    Parameters
    ----------
    times : (N,)
        Strictly increasing from 0, in seconds.
    positions : (N,) or (N, D) with D 1 to 3
        Metres; between keys they are interpolated linearly.
    rotations : (N, 4) or None
        Quaternions of any norm but 0, with which D must be 3; between keys the shortest slerp.
    loop : bool
        False is a one-shot clip: before its start and after its end it stands still.
    close_loop : bool
        Spread the heading error of the seam, if it is below 30 degrees, back over the clip.
    max_cycles : int
        Times more than so many cycles away from 0 are refused.

    Everything computes in float64. A track never changes, and threads may share it.

    With rotations a motion is the pair ``(translation, rotation)`` in the root's own frame at its start,
    ``P(u0)^-1 C^(k1-k0) P(u1)`` with ``C = P(1) P(0)^-1``.

    Errors: ``ValueError`` for keys that are not so, naming the first; ``TypeError`` for what is no array of numbers.

    >>> track = RootTrack([0, 0.25, 0.75, 1], [0, 0.2, 1.7, 2])
    >>> [round(float(d), 9) for d in (track.delta(0.9, 1.1), track.delta(0.9, 3.1), track.delta(1.1, 0.9))]
    [0.2, 4.2, -0.2]
    """

    times: np.ndarray
    positions: np.ndarray
    rotations: np.ndarray | None
    loop: bool
    max_cycles: int
    duration: float

    def __new__(cls, times, positions, rotations=None, *, loop=True, close_loop=False, max_cycles=1_000_000):
        loop, close_loop = _check.flag(loop, "loop"), _check.flag(close_loop, "close_loop")
        max_cycles = _check.integer(max_cycles, "max_cycles", least=1, most=2**52)
        times = _checked_times(times)
        positions, rotations = _checked_poses(positions, rotations, len(times))
        if close_loop:
            rotations = _close(times, rotations)

        self = super().__new__(cls, times, positions.reshape(len(times), -1), rotations, positions.ndim == 1, loop, max_cycles)
        for array in (times, positions, rotations):
            if array is not None:
                array.flags.writeable = False
        vars(self).update(times=times, positions=positions, rotations=rotations)
        vars(self).update(loop=loop, max_cycles=max_cycles, duration=float(times[-1]))
        return self

    def __setattr__(self, name: str, value) -> None:
        if name in RootTrack.__annotations__:  # the core has its own copy
            raise AttributeError(f"a RootTrack never changes: {name} cannot be set")
        super().__setattr__(name, value)

    def __reduce__(self):
        return _rebuild, (type(self), self.times, self.positions, self.rotations, self.loop, self.max_cycles)

    def __repr__(self) -> str:
        kind = "" if self.loop else ", one-shot"
        turning = "" if self.rotations is None else " with rotations"
        return f"<RootTrack of {len(self.times)} keys{turning}, {self.duration:g} s{kind}>"

    @classmethod
    def from_clip(cls, clip: "Clip", mode: str = "translation", loop: bool = True, close_loop: bool = False) -> "RootTrack":
        """The root motion of a clip of N frames, ``(N - 1) / fps`` seconds long.

        ``mode`` says what of the root belongs to the track: ``"translation"``, its position alone; ``"planar"``, its
        place on the ground and its yaw (SE(2), the rotations about +y); ``"full"``, its whole pose.
        ``ValueError`` for a clip of less than two frames, another mode, or ``close_loop`` with ``"translation"``.
        """
        _check.option(mode, "mode", MODES)
        if not hasattr(clip, "root_positions"):
            raise TypeError(f"clip must be a Clip, got {type(clip).__name__}")
        if len(clip) < 2:
            raise ValueError(f"clip must have at least two frames, got {len(clip)}")
        times = np.arange(len(clip)) / clip.fps
        positions, rotations = np.array(clip.root_positions, np.float64), None
        if mode == "planar":
            positions[:, 1] = 0
            rotations = from_yaw(quat_yaw(clip.rotations[:, 0]))
        elif mode == "full":
            rotations = clip.rotations[:, 0]
        return cls(times, positions, rotations, loop=loop, close_loop=close_loop)

    @property
    def stride(self) -> np.ndarray | float:
        """``p(1) - p(0)``: what the clip's positions gain in a cycle."""
        stride = self.positions[-1] - self.positions[0]
        return float(stride) if self.positions.ndim == 1 else stride

    @property
    def cycle(self) -> tuple[np.ndarray | float, np.ndarray]:
        """Translation and rotation of ``C = P(1) P(0)^-1``, in the clip's own space."""
        if self.rotations is None:
            return self.stride, np.array([1.0, 0.0, 0.0, 0.0])
        return self._cycle()

    @property
    def seam(self) -> Seam:
        """The velocities before the end and after the start, the latter turned as the next cycle is, and start - end."""
        steps = np.diff(self.positions, axis=0)
        end, start = steps[-1] / (self.times[-1] - self.times[-2]), steps[0] / self.times[1]
        if self.rotations is not None:
            start = quat_rotate(self.cycle[1], start)
        if self.positions.ndim == 1:
            end, start = float(end), float(start)
        return Seam(end, start, start - end)

    def split(self, t) -> tuple[np.ndarray, np.ndarray]:
        """Whole cycles (int64) and phase of times ``t``, with ``0 <= phase < 1`` whatever rounding does."""
        t = _check.array(t, "t", dtype=np.float64, finite=False)
        cycle, phase = np.empty(t.shape, np.int64), np.empty(t.shape)
        if self._split(t.ravel(), cycle.reshape(-1), phase.reshape(-1)) >= 0:
            self._refuse(t, "t")
        return cycle[()], phase[()]

    def sample(self, phase):
        """The root as the clip has it at ``phase`` in [0, 1], both ends valid: position, or (position, rotation)."""
        phase = _check.phases(phase, dtype=np.float64)
        return self._motion(phase.shape, lambda *out: self._sample(phase.ravel(), *out))

    def delta(self, t0, t1):
        """The motion from ``t0`` to ``t1`` seconds, which broadcast; backwards and over many cycles too.

        A position difference, or (translation, rotation) in the root's frame at ``t0``. ``ValueError`` for a time that
        is not finite or more than ``max_cycles`` cycles away.
        """
        t0 = _check.array(t0, "t0", dtype=np.float64, finite=False)
        t1 = _check.array(t1, "t1", dtype=np.float64, finite=False)
        if t0.shape != t1.shape:
            t0, t1 = _broadcast(t0=t0, t1=t1)

        def fill(*out):
            bad, which = self._deltas(t0.ravel(), t1.ravel(), *out)
            if bad >= 0:
                self._refuse(*((t1, "t1") if which else (t0, "t0")))

        return self._motion(t0.shape, fill)

    def delta_split(self, k0, u0, k1, u1):
        """The motion from cycle ``k0``, phase ``u0`` to cycle ``k1``, phase ``u1``: `delta` for any int64 cycles."""
        k0, k1 = _cycles(k0, "k0"), _cycles(k1, "k1")
        u0, u1 = _check.phases(u0, "u0", dtype=np.float64), _check.phases(u1, "u1", dtype=np.float64)
        parts = _broadcast(k0=k0, u0=u0, k1=k1, u1=u1)
        return self._motion(parts[0].shape, lambda *out: self._delta_split(*(part.ravel() for part in parts), *out))

    def path(self, t0: float, t1: float) -> tuple[np.ndarray, ...]:
        """The way from ``t0`` to ``t1`` for a sweep test: ``(times, displacements[, rotations])``.

        The points are ``t0``, every key and cycle boundary between once, and ``t1``; the motions are those since ``t0``.
        ``ValueError`` for times that `delta` refuses and for a way of more than ten million points.
        """
        t0, t1 = _check.number(t0, "t0"), _check.number(t1, "t1")
        found = self._path(t0, t1)
        if not isinstance(found, tuple):
            if found < 0:
                for value, name in ((t0, "t0"), (t1, "t1")):
                    self._refuse(np.float64(value), name)
            raise ValueError(f"t1={t1!r} is so far from t0={t0!r} that the way has more than ten million points")
        times, translations, rotations = found
        if self.positions.ndim == 1:
            translations = translations[:, 0]
        return (times, translations) if self.rotations is None else (times, translations, rotations)

    def _motion(self, shape, fill):
        """Outputs for ``shape`` motions, filled and shaped as users see them."""
        translation = np.empty((*shape, *self.positions.shape[1:]))
        rotation = None if self.rotations is None else np.empty((*shape, 4))
        fill(translation.reshape(-1), None if rotation is None else rotation.reshape(-1))
        return translation[()] if rotation is None else (translation, rotation)

    def _refuse(self, times: np.ndarray, name: str) -> None:
        _check.check_finite(times, name)
        bad = np.abs(times) > self.max_cycles * self.duration
        if bad.any():
            raise ValueError(
                f"{_check.at(name, times, bad)} is more than max_cycles={self.max_cycles} cycles of {self.duration:g} s away"
            )


def _rebuild(cls, times, positions, rotations, loop, max_cycles):
    return cls(times, positions, rotations, loop=loop, max_cycles=max_cycles)


def _checked_times(times) -> np.ndarray:
    times = _check.array(times, "times", ("N",), dtype=np.float64, copy=True)
    if len(times) < 2:
        raise ValueError(f"times must have at least two keys, got {len(times)}")
    if times[0] != 0:
        raise ValueError(f"times[0]={times[0].item()!r} is not 0")
    if (step := np.diff(times) <= 0).any():
        i = int(np.argmax(step)) + 1
        raise ValueError(f"times[{i}]={times[i].item()!r} is not greater than times[{i - 1}]={times[i - 1].item()!r}")
    return times


def _checked_poses(positions, rotations, n: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Positions and unit rotations of n keys."""
    positions = _check.array(positions, "positions", dtype=np.float64, copy=True)
    if positions.ndim not in (1, 2) or positions.shape[0] != n or positions.shape[1:] not in ((), (1,), (2,), (3,)):
        raise ValueError(f"positions must have shape ({n},) or ({n}, D) with D 1 to 3, got {positions.shape}")
    if rotations is None:
        return positions, None
    rotations = _check.array(rotations, "rotations", (n, 4), dtype=np.float64, copy=True)
    if positions.shape[1:] != (3,):
        raise ValueError(f"positions must have shape ({n}, 3) beside rotations, got {positions.shape}")
    if (zero := ~rotations.any(axis=1)).any():
        raise ValueError(f"rotations[{int(np.argmax(zero))}] is a zero quaternion, which is no rotation")
    rotations /= np.abs(rotations).max(axis=1, keepdims=True)  # so that no square overflows or vanishes
    return positions, rotations / np.linalg.norm(rotations, axis=1, keepdims=True)


def _close(times: np.ndarray, rotations: np.ndarray | None) -> np.ndarray:
    """``rotations`` with the heading error of the seam taken off, in proportion to the time gone."""
    if rotations is None:
        raise ValueError("close_loop=True needs rotations, since it closes the heading")
    error = float(quat_yaw(quat_mul(rotations[-1], quat_conj(rotations[0]))))
    if abs(error) > LARGEST_SEAM:
        raise ValueError(
            f"close_loop=True takes off a heading error of at most 30 degrees, but the clip turns by {np.degrees(error):.1f}"
        )
    return quat_mul(from_yaw(-error * times / times[-1]), rotations)


def _broadcast(**arrays: np.ndarray) -> list[np.ndarray]:
    try:
        return np.broadcast_arrays(*arrays.values())
    except ValueError:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"shapes do not broadcast: {shapes}") from None


def _cycles(value, name: str) -> np.ndarray:
    value = np.asarray(value)
    if value.dtype.kind not in "iu":
        raise TypeError(f"{name} must be an array of integers, got dtype {value.dtype}")
    if value.dtype == np.uint64 and (bad := value > np.iinfo(np.int64).max).any():
        raise ValueError(f"{_check.at(name, value, bad)} is beyond int64")
    return value.astype(np.int64)


class LoopClocks(_core.LoopClocks):
    """Many looping clocks at once, each over a clip of its own length: a crowd's `LoopClock`.

    ``durations`` (n,) in seconds; ``rate`` a number or (n,), clip seconds a second.

    >>> walk = RootTrack([0, 1], [[0, 0, 0], [0, 0, 1.4]])
    >>> run = RootTrack([0, 0.5], [[0, 0, 0], [0, 0, 2.0]])
    >>> clocks = LoopClocks([walk.duration, run.duration])
    >>> clocks.advance(2.0)
    >>> clocks.consume([walk, run], [0, 1])
    array([[0. , 0. , 2.8],
           [0. , 0. , 8. ]])
    """

    def __new__(cls, durations, *, rate=1.0):
        durations = _check.array(durations, "durations", ("n",), dtype=np.float64)
        if (bad := durations <= 0).any():
            raise ValueError(f"{_check.at('durations', durations, bad)} is not greater than 0")
        rate = _check.array(rate, "rate", dtype=np.float64)
        if rate.shape not in ((), durations.shape):
            raise ValueError(f"rate must be a number or have shape {durations.shape}, got {rate.shape}")
        return super().__new__(cls, durations, np.broadcast_to(rate, durations.shape))

    time = property(lambda self: self._now()[0], doc="Seconds played, (n,).")
    cycle = property(lambda self: self._now()[1], doc="Whole cycles played, (n,) int64.")
    phase = property(lambda self: self._now()[2], doc="Where each clip stands, (n,) in [0, 1).")

    def advance(self, dt) -> None:
        """Run on by ``dt`` seconds, a number or (n,). A step that is refused (``ValueError``) moves none."""
        dt = _check.array(dt, "dt", dtype=np.float64)
        if dt.shape not in ((), (len(self),)):
            raise ValueError(f"dt must be a number or have shape ({len(self)},), got {dt.shape}")
        bad = self._advance(np.broadcast_to(dt, len(self)))
        if bad >= 0:
            raise ValueError(f"dt={np.broadcast_to(dt, len(self))[bad].item()!r} runs over too many cycles of clock {bad}")

    def seek(self, t, index=None) -> None:
        """Jump to ``t`` seconds, a number or one for each of ``index`` (all where None), without moving anybody."""
        index = np.arange(len(self)) if index is None else np.atleast_1d(_cycles(index, "index"))
        t = _check.array(t, "t", dtype=np.float64)
        if index.ndim != 1 or t.shape not in ((), index.shape):
            raise ValueError(f"t must be a number or have shape {index.shape}, got {t.shape}")
        if (bad := (index < 0) | (index >= len(self))).any():
            raise ValueError(f"{_check.at('index', index, bad)} is not in 0..{len(self) - 1}")
        if (at := self._seek(np.broadcast_to(t, index.shape), index)) >= 0:
            raise ValueError(f"t={np.broadcast_to(t, index.shape)[at].item()!r} is not within 2^52 cycles of clock {index[at]}")

    def consume(self, tracks, which=None):
        """The motion of each character's track since the last call, once: (n, D), or (translations, rotations).

        ``tracks``: RootTracks of one kind (dimensions and rotations alike); ``which`` (n,): the track of each
        character, by place in ``tracks``; None where there are as many tracks as characters.
        """
        tracks = _check.sequence(tracks, "tracks", "RootTracks")
        for i, track in enumerate(tracks):
            if not isinstance(track, RootTrack):
                raise TypeError(f"tracks[{i}] must be a RootTrack, got {type(track).__name__}")
            if track.positions.shape[1:] != tracks[0].positions.shape[1:] or (track.rotations is None) != (
                tracks[0].rotations is None
            ):
                raise ValueError(f"tracks[{i}] and tracks[0] differ in their dimensions or in having rotations")
        if which is None and len(tracks) != len(self):
            raise ValueError(f"which must be given: there are {len(tracks)} tracks for {len(self)} characters")
        which = np.arange(len(self)) if which is None else _cycles(which, "which")
        _check.check_shape(which, "which", (len(self),))
        if (bad := (which < 0) | (which >= len(tracks))).any():
            raise ValueError(f"{_check.at('which', which, bad)} is not in 0..{len(tracks) - 1}")
        if not tracks:
            return np.empty((0, 3))
        translations = np.empty((len(self), *tracks[0].positions.shape[1:]))
        rotations = None if tracks[0].rotations is None else np.empty((len(self), 4))
        self._consume(tracks, which, translations, rotations)
        return translations if rotations is None else (translations, rotations)


def blend_motions(motions, weights):
    """The weighted mean of motions that are each in the character's own frame.

    ``motions``: arrays of one shape, or (translation, rotation) pairs, as `RootTrack.delta` and `LoopClock.consume`
    give them; ``weights``: one number a motion, not negative, only their ratios count. Translations are averaged,
    rotations as rotation vectors. A clip recorded in any direction moves its own way ahead, so clips that face
    different ways blend to a step ahead and not to a diagonal.

    >>> ahead = blend_motions([([0, 0, 0.1], [1, 0, 0, 0]), ([0, 0, 0.2], [1, 0, 0, 0])], [1, 1])
    >>> ahead[0].round(9)
    array([0.  , 0.  , 0.15])
    """
    motions = _check.sequence(motions, "motions", "motions")
    if not motions:
        raise ValueError("motions must have at least one motion")
    shares = _shares(weights, len(motions))
    rigid = [isinstance(motion, tuple) for motion in motions]
    if any(rigid) != all(rigid):
        raise ValueError("motions must all have rotations or all have none")
    if not any(rigid):
        arrays = [_check.array(motion, f"motions[{i}]", dtype=np.float64) for i, motion in enumerate(motions)]
        for i, array in enumerate(arrays):
            _check.check_shape(array, f"motions[{i}]", arrays[0].shape)
        return sum(share * array for share, array in zip(shares, arrays, strict=True))
    translations, vectors = 0.0, 0.0
    for i, (share, (translation, rotation)) in enumerate(zip(shares, motions, strict=True)):
        translations = translations + share * _check.array(translation, f"motions[{i}][0]", (..., 3), dtype=np.float64)
        rotation = _check.array(rotation, f"motions[{i}][1]", (..., 4), dtype=np.float64)
        if not rotation.any(axis=-1).all():
            raise ValueError(f"motions[{i}][1] holds a zero quaternion, which is no rotation")
        vectors = vectors + share * quat_to_exp_map(rotation)
    return translations, exp_map_to_quat(vectors)


def blend_tracks(tracks, weights) -> RootTrack:
    """One track that moves between several, with a common cycle in phase: duration and motion blend alike.

    ``tracks``: looping RootTracks whose phases agree (a left strike at the same phase), all with rotations or all
    without; ``weights`` as in `blend_motions`. The cycle lasts the weighted mean of the durations; between any two
    neighbouring keys, by phase, the character moves by the weighted mean of the tracks' motions in its own frame.
    Speed and stride come from the same numbers, so feet do not slip as they do when speeds are blended.

    >>> walk, run = RootTrack([0, 1.0], [0, 1.4]), RootTrack([0, 0.7], [0, 2.8])
    >>> both = blend_tracks([walk, run], [0.5, 0.5])
    >>> round(both.duration, 9), round(both.stride, 9)
    (0.85, 2.1)
    """
    tracks = _check.sequence(tracks, "tracks", "RootTracks")
    if not tracks:
        raise ValueError("tracks must have at least one track")
    for i, track in enumerate(tracks):
        if not isinstance(track, RootTrack):
            raise TypeError(f"tracks[{i}] must be a RootTrack, got {type(track).__name__}")
        if track.positions.shape[1:] != tracks[0].positions.shape[1:]:
            raise ValueError(f"tracks[{i}] and tracks[0] differ in their dimensions")
        if (track.rotations is None) != (tracks[0].rotations is None):
            raise ValueError(f"tracks[{i}] and tracks[0] differ in having rotations")
        if not track.loop:
            raise ValueError(f"tracks[{i}] is one-shot: only loops have a common cycle")
    shares = _shares(weights, len(tracks))
    duration = sum(share * track.duration for share, track in zip(shares, tracks, strict=True))
    phases = np.unique(np.concatenate([track.times / track.duration for track in tracks]))
    phases = phases[np.append(np.diff(phases) > 1e-12, True)]  # keys that only rounding keeps apart are one
    phases[0] = 0.0
    steps = blend_motions([track.delta_split(0, phases[:-1], 0, phases[1:]) for track in tracks], shares)
    first = tracks[int(np.argmax(shares))]
    if first.rotations is None:
        start = first.positions[:1]
        return RootTrack(phases * duration, np.concatenate([start, start + np.cumsum(steps, axis=0)]))
    position, rotation = [first.positions[0]], [first.rotations[0]]
    for translation, turn in zip(*steps, strict=True):
        position.append(position[-1] + quat_rotate(rotation[-1], translation))
        rotation.append(quat_mul(rotation[-1], turn))
    return RootTrack(phases * duration, np.array(position), np.array(rotation))


def _shares(weights, count: int) -> np.ndarray:
    weights = _check.array(weights, "weights", (count,), dtype=np.float64)
    if (bad := weights < 0).any():
        raise ValueError(f"{_check.at('weights', weights, bad)} is negative")
    if not weights.any():
        raise ValueError("weights are all 0")
    weights = weights / weights.max()
    return weights / weights.sum()


def split_root_motion(
    clip: "Clip", mode: str = "planar", *, loop: bool = True, close_loop: bool = False
) -> tuple[RootTrack, "Clip"]:
    """The root motion of a clip and the clip without it: ``(track, in-place clip)``.

    ``mode`` as in `RootTrack.from_clip`. The track's pose is taken off the root on the left, in the world: a yaw that
    is taken off turns about the world's +y, and whatever rest rotation stands under the root stays. In place the root
    keeps what the track has not: with ``"planar"`` its height, its lean and its sway about the yaw.
    """
    track = RootTrack.from_clip(clip, mode, loop, close_loop)
    position, rotation = clip.root_positions - track.positions, clip.rotations[:, 0]
    if track.rotations is not None:
        back = quat_conj(track.rotations)
        position, rotation = quat_rotate(back, position), quat_mul(back, rotation)
    return track, _with_root(clip, position, rotation, clip.fps)


def apply_root_motion(
    track: RootTrack, clip: "Clip", t0: float = 0.0, t1: float | None = None, fps: float | None = None
) -> "Clip":
    """The in-place clip played along its track from ``t0`` to ``t1`` seconds, any number of cycles.

    The inverse of `split_root_motion`: with the default times, those of one cycle, and the clip's own ``fps`` it gives
    the clip back. ``floor((t1 - t0) fps + 1e-6) + 1`` frames at ``t0 + i / fps``. Each cycle goes on where the last one
    ended. A frame on the border of two cycles shows the start of the second, at the very end the end of the first.
    ``ValueError`` where track and clip are not equally long, ``t1`` lies before ``t0``, or the result would be huge.
    """
    if not isinstance(track, RootTrack):
        raise TypeError(f"track must be a RootTrack, got {type(track).__name__}")
    if not hasattr(clip, "root_positions"):
        raise TypeError(f"clip must be a Clip, got {type(clip).__name__}")
    if track.positions.shape[1:] != (3,):
        raise ValueError(f"track must have positions (N, 3), got {track.positions.shape}")
    length = (len(clip) - 1) / clip.fps
    if abs(length - track.duration) > 1e-9 * track.duration:
        raise ValueError(f"clip must last as long as its track, {track.duration:g} s, got {length:g} s")
    t0 = _check.number(t0, "t0")
    t1 = track.duration if t1 is None else _check.number(t1, "t1", least=t0)
    fps = clip.fps if fps is None else _check.number(fps, "fps", above=0)
    if (t1 - t0) * fps * len(clip.skeleton) > 1e8:
        raise ValueError(f"t1={t1!r} and fps={fps!r} ask for {(t1 - t0) * fps:.3g} frames, which is more than fits")

    times = t0 + np.arange(int(np.floor((t1 - t0) * fps + 1e-6)) + 1) / fps
    cycle, phase = _places(track, times)
    frame = phase * (len(clip) - 1)
    near = np.rint(frame)
    frame = np.where(np.abs(frame - near) < 1e-6, near, frame)  # a frame of the clip itself is shown as it is
    first = np.minimum(frame.astype(np.int64), len(clip) - 2)
    share = frame - first

    def between(values):
        return values[first] + share.reshape(-1, *[1] * (values.ndim - 1)) * (values[first + 1] - values[first])

    rotations = clip.rotations[first]
    rotations = np.where(share[:, None, None] > 0, quat_slerp(rotations, clip.rotations[first + 1], share[:, None]), rotations)
    position, turn = _unrolled(track, cycle, phase)
    root, rotation = between(clip.root_positions), rotations[:, 0]
    if turn is not None:
        root, rotation = quat_rotate(turn, root), quat_mul(turn, rotation)
    rotations[:, 0] = rotation
    translations = None if clip.translations is None else between(clip.translations)
    return type(clip)(clip.skeleton, position + root, rotations, fps, clip.name, translations=translations)


def _with_root(clip: "Clip", position: np.ndarray, rotation: np.ndarray, fps: float) -> "Clip":
    rotations = np.array(clip.rotations)
    rotations[:, 0] = rotation
    return type(clip)(clip.skeleton, position, rotations, fps, clip.name, translations=clip.translations)


def _places(track: RootTrack, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cycle and phase of times, the last one at the end of its cycle rather than at the start of the next."""
    if not track.loop:
        return np.zeros(len(times), np.int64), np.clip(times / track.duration, 0, 1)
    cycle, phase = track.split(times)
    near_end = phase > 1 - 1e-9  # the sum of rounded steps must not show the last frame of a cycle for the first
    cycle, phase = cycle + near_end, np.where(near_end, 0.0, phase)
    if phase[-1] < 1e-9 and len(times) > 1:
        cycle[-1], phase[-1] = cycle[-1] - 1, 1.0
    return cycle, phase


def _unrolled(track: RootTrack, cycle: np.ndarray, phase: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """The track's pose ``C^k P(u)`` in the world."""
    motion = track.delta_split(0, 0.0, cycle, phase)
    if track.rotations is None:
        return track.positions[0] + motion, None
    translation, turn = motion
    return track.positions[0] + quat_rotate(track.rotations[0], translation), quat_mul(track.rotations[0], turn)
