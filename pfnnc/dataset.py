"""Windows of feature rows for training: cut, normalised, split, gathered in C from the frames."""

from __future__ import annotations

import copy
import math
import operator
import warnings
from collections.abc import Iterator, Sequence

import numpy as np

from . import _augment, _check, _core, _split
from .features import FeatureSpec
from .normalizer import CHUNK, Normalizer, chunks
from .phase_label import label_phase
from .rotation import quat_yaw
from .skeleton import Clip
from .trajectory import path_track
from .windows import MOST_FRAMES, below_one, window_sizes, window_starts

__all__ = ["WindowDataset"]


class WindowDataset:
    """Windows over the frames of many clips, as a training loop wants them. Windows are gathered when asked for.

    Parameters
    ----------
    clips
        `Clip` objects, or arrays ``(T, F)`` already encoded with ``spec``, memory maps included. Arrays of the
        wanted ``dtype`` that are contiguous are used where they lie, not copied: leave them as they are.
    spec
        The `FeatureSpec`.
    phases
        For each clip ``(T,)`` in [0, 1] or NaN, or the `Labels` of `label_phase`, whose contacts are then used for a
        spec with contacts. None: `label_phase` labels the clips.
    input_len, output_len, stride
        As for `make_windows`. No window crosses from one clip to the next, and windows whose last input frame has
        no phase are left out; with ``spec.phase_step`` also those with an output frame that has none.
    normalizer
        X and Y come normalised by it. One without statistics gets them where they are first needed: from all frames,
        or, if that is `split`, from the training part. It is not changed; ``.normalizer`` is a fitted one.
    dtype
        float32 or float64, of X, Y, P.
    fps
        Frames a second of the clips, which have to agree; for arrays it is needed for what counts in seconds
        (`control`, `phase_step`).
    groups
        For each clip a label; clips of one label show the same motion and stay on one side of a `split`. None: copies,
        mirror images and overlapping pieces are found by their frames.
    mirror
        True: beside each window its mirror image, made when it is gathered (windows N/2 to N-1). Left and right are
        told by the joints' names; or give pairs of names as to `Clip.mirror`. The phase is that of a whole gait
        cycle: a mirrored window's is half a cycle on.
    speeds
        Windows of every clip at each of these: the clip played so many times as fast, at its own frame rate. They are
        made when they are gathered, between the frames there are, so speeds take no memory; arrays need ``fps``.

    Window i begins at frame ``starts[i]`` of clip ``clip_index[i]`` played ``speed[i]`` times as fast, which is frame
    ``starts[i] * speed[i]`` of the clip itself; its phases, velocities, control blocks are those of that motion. A clip
    that is shorter than a window is left out with a ``UserWarning`` that names it.

    >>> spec = FeatureSpec(1)
    >>> rows = np.zeros((40, spec.dim))
    >>> dataset = WindowDataset([rows, rows], spec, [np.full(40, 0.25)] * 2, output_len=1)
    >>> len(dataset), dataset.batch([0, 13])[0].shape
    (14, (2, 12, 11))
    """

    def __init__(
        self,
        clips,
        spec: FeatureSpec,
        phases=None,
        *,
        input_len: int = 12,
        output_len: int = 6,
        stride: int = 4,
        normalizer: Normalizer | None = None,
        dtype=np.float32,
        fps: float | None = None,
        groups: Sequence | None = None,
        mirror: bool | dict[str, str] = False,
        speeds: Sequence[float] = (1.0,),
    ):
        if not isinstance(spec, FeatureSpec):
            raise TypeError(f"spec must be a FeatureSpec, got {type(spec).__name__}")
        if normalizer is not None and not isinstance(normalizer, Normalizer):
            raise TypeError(f"normalizer must be a Normalizer or None, got {type(normalizer).__name__}")
        self.spec, self.dtype = spec, float_type(dtype)
        self.input_len, self.output_len, self.stride = window_sizes(input_len, output_len, stride)
        clips = list_of(clips, "clips")
        self.skeleton = next((clip.skeleton for clip in clips if isinstance(clip, Clip)), None)
        self.fps = common_fps(clips, fps)
        self._clips = [clip if isinstance(clip, Clip) else None for clip in clips]
        self._groups, self._ready = None if groups is None else groups_of(groups, len(clips)), None
        phases, contacts = labels_of(phases, clips)
        self.speeds = _augment.speeds_of(speeds)
        self.names = tuple(clip.name if isinstance(clip, Clip) else "" for clip in clips)
        self.frames = tuple(rows_of(clip, i, spec, contacts[i], self.dtype) for i, clip in enumerate(clips))
        self.phases = phases
        for i, (phase, rows) in enumerate(zip(phases, self.frames, strict=True)):
            _check.check_shape(phase, f"phases[{i}]", (len(rows),))
        self.tracks = tracks_of(clips, self.frames, spec, self.fps)
        if self.speeds != (1.0,):
            self._rate()
        self._finish(normalizer, mirror)

    def _finish(self, normalizer: Normalizer | None, mirror: bool | dict[str, str]) -> None:
        """The windows, from spec, sizes, frames, phases and tracks."""
        if normalizer is not None and normalizer.fitted and len(normalizer.mean_) != self.spec.dim:
            raise ValueError(f"normalizer has {len(normalizer.mean_)} columns, the spec {self.spec.dim}")
        self._given, self._own = normalizer, None
        self._mirror = None
        if not isinstance(mirror, dict) and not isinstance(mirror, (bool, np.bool_)):
            raise TypeError(f"mirror must be True, False or a dict of names, got {mirror!r}")
        if isinstance(mirror, dict) or mirror:
            self._mirror = self.spec.mirror(self.skeleton, mirror if isinstance(mirror, dict) else None)
        self._lengths = np.array([len(rows) for rows in self.frames])
        self._shift = 0
        self._warn_short()
        self._connect()
        self._cut([(i, 0, len(rows)) for i, rows in enumerate(self.frames)])

    def _cut(self, parts: list[tuple[int, int, int]]) -> None:
        """All windows inside the given parts of clips: (clip, first frame, end)."""
        found: list[tuple[int, float, np.ndarray, np.ndarray]] = []
        for clip, begin, end in parts:
            for speed in self.speeds:
                inside = _augment.frames_inside(begin, end, speed, len(self.frames[clip]))
                phase = self.phases[clip] if speed == 1 else _augment.played_phase(self.phases[clip], speed)
                own = window_starts(
                    phase, inside, self.input_len, self.output_len, self.stride, shift=self._shift, whole=self.spec.phase_step
                )
                found.append((clip, speed, own, phase[own + self.input_len - 1]))
        counts = [len(own) for _, _, own, _ in found]
        self._parts = parts
        self.starts = np.concatenate([np.empty(0, np.int64), *(own for _, _, own, _ in found)])
        self.clip_index = np.repeat(np.array([clip for clip, *_ in found], np.int64), counts)
        self.speed = np.repeat(np.array([speed for _, speed, *_ in found], np.float64), counts)
        phase = np.concatenate([np.empty(0), *(last for *_, last in found)])
        self.mirrored = np.zeros(len(phase), bool)
        if self._mirror is not None:
            self.starts, self.clip_index, self.speed = (np.tile(a, 2) for a in (self.starts, self.clip_index, self.speed))
            self.mirrored = np.repeat([False, True], len(phase))
            phase = np.concatenate([phase, (phase + 0.5) % 1.0])
        self._phase = below_one(phase, self.dtype)

    def _connect(self) -> None:
        """The core's tables of the arrays."""
        self._source = _core.ClipArrays(self.frames)
        self._phase_source = _core.ClipArrays(tuple(phase[:, None] for phase in self.phases))
        self._track_source = None if self.tracks is None else _core.ClipArrays(self.tracks)

    def follow(self, tracks) -> None:
        """Take other paths for the control blocks, one (T, 3) of x, z and yaw a clip, such as smoother ones."""
        tracks = _check.sequence(tracks, "tracks", "arrays")
        if len(tracks) != len(self.frames):
            raise ValueError(f"tracks must hold one for each of the {len(self.frames)} clips, got {len(tracks)}")
        shapes = [(len(rows), 3) for rows in self.frames]
        self.tracks = tuple(
            np.ascontiguousarray(_check.array(track, f"tracks[{i}]", shape, dtype=np.float64))
            for i, (track, shape) in enumerate(zip(tracks, shapes, strict=True))
        )
        self._connect()

    def __getstate__(self) -> dict:
        return {name: value for name, value in self.__dict__.items() if not name.endswith("_source")}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._connect()

    # ---- windows

    def __len__(self) -> int:
        return len(self.starts)

    def __repr__(self) -> str:
        frames = sum(len(rows) for rows in self.frames)
        return f"<WindowDataset: {len(self)} windows over {frames} frames of {len(self.frames)} clips>"

    def __getitem__(self, i: int) -> tuple[np.ndarray, np.ndarray, np.floating]:
        """Window i: X ``(input_len, F)``, Y ``(output_len, F)``, P."""
        if isinstance(i, (bool, np.bool_)):
            raise TypeError(f"the index of a window must be an integer, got {i!r}")
        try:
            i = operator.index(i)
        except TypeError:
            raise TypeError(f"the index of a window must be an integer, got {type(i).__name__}") from None
        if not -len(self) <= i < len(self):
            raise IndexError(f"index {i} is out of range for {len(self)} windows")
        X, Y, P = self.batch([i])
        return X[0], Y[0], P[0]

    def batch(self, indices, *, out=None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Windows by index: X ``(B, input_len, F)``, Y ``(B, output_len, F)``, P ``(B,)``.

        ``out``: three contiguous arrays of the data set's type to fill and return. Negative indices count from the
        end. Out of range: ``IndexError``.
        """
        indices = self._indices(indices)
        size, dim = len(indices), self.spec.dim
        if out is None:
            X = np.empty((size, self.input_len, dim), self.dtype)
            Y = np.empty((size, self.output_len, dim), self.dtype)
            P = np.empty(size, self.dtype)
        else:
            X, Y, P = self._outputs(out, size)
        self._source.gather(X, Y, self.clip_index[indices], self.starts[indices], *self._how(indices))
        np.take(self._phase, indices, out=P, mode="clip")
        return X, Y, P

    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """All windows at once: X, Y, P. They take ``input_len + output_len`` times the memory of a frame each."""
        return self.batch(np.arange(len(self)))

    @property
    def normalizer(self) -> Normalizer | None:
        """The fitted normalizer of X and Y, or None."""
        if self._given is None or self._given.fitted:
            return self._given
        if self._own is None:
            self._own = self._fit(self._given)
        return self._own

    def _how(self, indices: np.ndarray, *, normalized: bool = True) -> tuple:
        """Mean, 1/scale, the mirror's columns, signs and windows, speeds, layout and rate, as ``gather`` takes them."""
        normalizer = self.normalizer if normalized else None
        scales = (None, None) if normalizer is None else (normalizer.mean_, 1 / normalizer.scale_)
        mirror = (None,) * 3 if self._mirror is None else (*self._mirror, self.mirrored[indices].view(np.uint8))
        played = () if self.speeds == (1.0,) else (self.speed[indices], self.spec.layout, self._rate())
        return *scales, *mirror, *played

    def _indices(self, indices) -> np.ndarray:
        try:
            array = np.asarray(indices)
        except (TypeError, ValueError) as error:
            raise type(error)(f"indices must be a list of integers, got {type(indices).__name__}") from None
        if array.ndim == 0 and array.dtype.kind not in "iu":
            raise TypeError(f"indices must be a list of integers, got {type(indices).__name__}")
        if array.ndim != 1:
            raise ValueError(f"indices must have shape (B,), got {array.shape}")
        if array.size == 0:
            return np.empty(0, np.int64)
        if array.dtype.kind not in "iu":
            raise TypeError(f"indices must be integers, got dtype {array.dtype}")
        bad = (array >= len(self)) | (array < -len(self))
        if bad.any():
            raise IndexError(f"{_check.at('indices', array, bad)} is out of range for {len(self)} windows")
        array = array.astype(np.int64, copy=False)
        return np.where(array < 0, array + len(self), array)

    def _outputs(self, out, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if not isinstance(out, (tuple, list)) or len(out) != 3 or not all(isinstance(a, np.ndarray) for a in out):
            raise TypeError("out must be three arrays (X, Y, P)")
        shapes = ((size, self.input_len, self.spec.dim), (size, self.output_len, self.spec.dim), (size,))
        for i, (array, shape) in enumerate(zip(out, shapes, strict=True)):
            if array.shape != shape or array.dtype != self.dtype or not array.flags.carray:
                raise ValueError(
                    f"out[{i}] must be a writable contiguous array of shape {shape} and type {self.dtype}, "
                    f"got {array.shape} {array.dtype}"
                )
        for i, j in ((0, 1), (0, 2), (1, 2)):
            if np.may_share_memory(out[i], out[j]):
                raise ValueError(f"out[{j}] must not share memory with out[{i}]")
        return tuple(out)

    # ---- what roll-out training and steering need beside the windows

    def root(self, indices, step: int = 0) -> np.ndarray:
        """The recorded root ``(B, 3)``: x, z (m), yaw (rad), ``step`` frames after each window's last input frame."""
        indices, frame = self._frames(indices, step)
        blocks = self._blocks(np.zeros(1), indices, frame, np.zeros((len(indices), 3)))
        root = np.column_stack([blocks[:, 0], blocks[:, 1], np.arctan2(blocks[:, 2], blocks[:, 3])])
        return self._mirror_root(root, indices)

    def control(self, indices, step: int = 0, *, root=None, future: bool = False) -> np.ndarray:
        """Control blocks ``(B, 4 times)`` of the frame ``step`` after each window's last input frame (`Trajectory`).

        ``root`` (B, 3): x, z, yaw that they are seen from, where the character has rolled out to another place than
        the recorded one. With ``future`` the times greater than zero only, as the network predicts them. The
        network's input at roll-out step k is ``control(i, k, root=own)``, the target of its output
        ``control(i, k + 1, future=True)``.
        """
        if self.spec.control is None:
            raise ValueError("the spec has no control")
        indices, frame = self._frames(indices, step)
        own = self.root(indices, step) if root is None else _check.array(root, "root", (len(indices), 3))
        times = self.spec.control.future if _check.flag(future, "future") else self.spec.control.times
        own = self._mirror_root(np.array(own, np.float64), indices)  # its place in the recording
        blocks = self._blocks(np.array(times), indices, frame, own)
        if self._mirror is not None:
            blocks.reshape(len(indices), len(times), 4)[self.mirrored[indices], :, ::2] *= -1  # x and sine
        return blocks.astype(self.dtype, copy=False)

    def phase(self, indices, step: int = 0) -> np.ndarray:
        """The labelled phase ``(B,)``, float64, ``step`` frames after the last input frame; NaN where there is none."""
        indices, frame = self._frames(indices, step)
        phase = self._phase_source.phases(self.clip_index[indices], frame, self.speed[indices])
        return np.where(self.mirrored[indices], (phase + 0.5) % 1.0, phase)

    def phase_step(self, indices, step: int = 0) -> np.ndarray:
        """The rate of the labelled phase ``(B,)`` in cycles a second, from frame ``step`` to the next one."""
        before, after = self.phase(indices, step), self.phase(indices, step + 1)
        return ((after - before + 0.5) % 1.0 - 0.5) * self._rate()

    def _frames(self, indices, step: int) -> tuple[np.ndarray, np.ndarray]:
        indices = self._indices(indices)
        step = _check.integer(step, "step", least=-MOST_FRAMES, most=MOST_FRAMES)
        return indices, self.starts[indices] + (self.input_len - 1 + step)

    def _blocks(self, times: np.ndarray, indices: np.ndarray, frame: np.ndarray, root: np.ndarray) -> np.ndarray:
        """Control blocks of frames of the windows' clips as they are played, seen from places in the recording."""
        rates, speed = self._rate() * self.speed[indices], self.speed[indices]
        return self._track_source.blocks(times, rates, self.clip_index[indices], frame * speed, root)

    def _mirror_root(self, root: np.ndarray, indices: np.ndarray) -> np.ndarray:
        if self._mirror is not None:
            root[self.mirrored[indices], ::2] *= -1
        return root

    def _rate(self) -> float:
        if self.fps is None:
            raise ValueError("fps must be given for clips that are arrays, where seconds count")
        return self.fps

    # ---- statistics and split

    def mean_velocity(self, bins: int = 32) -> np.ndarray:
        """The mean of ``Y[:, 0, :3]`` by phase: ``(bins, 3)`` in m/s, row floor(P·bins), for `Drift`.

        An empty bin is interpolated round the circle between its neighbours. ``ValueError`` without any window.
        """
        bins = _check.integer(bins, "bins", least=1, most=1_000_000)
        if len(self) == 0:
            raise ValueError("there is no window to take a mean velocity of")
        sums, counts = np.zeros((bins, 3)), np.zeros(bins)
        for start in range(0, len(self), 4096):
            indices = np.arange(start, min(start + 4096, len(self)))
            rows = np.empty((len(indices), 1, self.spec.dim), np.float64)
            first = self.starts[indices] + self.input_len
            self._source.gather(rows, None, self.clip_index[indices], first, *self._how(indices, normalized=False))
            row = np.floor(self.phase(indices) * bins).astype(np.int64) % bins  # a phase of 1 is one of 0
            counts += np.bincount(row, minlength=bins)
            for axis in range(3):
                sums[:, axis] += np.bincount(row, rows[:, 0, axis], bins)
        full = np.flatnonzero(counts)
        means = sums[full] / counts[full, None]
        return np.column_stack([np.interp(np.arange(bins), full, means[:, axis], period=bins) for axis in range(3)])

    def split(self, validation: float = 0.2, by: str = "clip", seed: int = 0) -> tuple[WindowDataset, WindowDataset]:
        """Training and validation part over the same frames. No frame stands on both sides.

        by="clip": whole clips, ``validation`` × their number, rounded; it needs two. by="block": of each clip one
        stretch with about that share of its windows; windows nearer to it than a window's length, or than control
        blocks see from both sides, are in no part.
        Copies of one motion (mirror images, overlapping pieces, ``groups``) stay together. Same seed, same split.
        A normalizer without statistics gets those of the training part.
        """
        validation = _check.number(validation, "validation")
        if not 0 < validation < 1:
            raise ValueError(f"validation must be between 0 and 1, got {validation!r}")
        _check.option(by, "by", ("clip", "block"))
        rng = np.random.default_rng(_check.integer(seed, "seed", least=0))
        used = np.unique(self.clip_index)
        groups = [group for group in self._timelines() if np.isin(group.clips, used).any()]
        cut = self._by_clip if by == "clip" else self._by_block
        train, held = (self._with(parts) for parts in cut(groups, validation, rng))
        if not len(train) or not len(held):
            window = self.input_len + self.output_len
            raise ValueError(f"by={by!r} needs clips several times as long as a window of {window} frames")
        if self._given is not None and not self._given.fitted:
            train._given = held._given = train._fit(self._given)
        return train, held

    def shifted(self, shift: int) -> WindowDataset:
        """The same frames with windows that begin at ``shift``, ``shift + stride``, … instead of 0, ``stride``, ….

        With a stride above 1, another shift an epoch shows every window in time. ``normalizer`` stays the same.
        """
        shift = _check.integer(shift, "shift", least=0, most=MOST_FRAMES)
        moved = copy.copy(self)
        moved._given, moved._shift = self.normalizer, shift % self.stride
        moved._cut(self._parts)
        return moved

    def _with(self, parts: list[tuple[int, int, int]]) -> WindowDataset:
        part = copy.copy(self)
        part._own = None
        part._cut(parts)
        return part

    def _timelines(self) -> list[_split.Timeline]:
        if self._ready is not None:
            return self._ready
        if self._groups is None:
            return _split.by_content([self._marks(i) for i in range(len(self.frames))])
        return _split.by_label(self._groups, self._lengths)

    def _marks(self, i: int) -> np.ndarray:
        clip = self._clips[i]
        end = self.spec.slices["joints"].stop
        return _split.marks_of_rows(self.frames[i][:, :end]) if clip is None else _split.marks_of_clip(clip)

    def _by_clip(self, groups, share: float, rng) -> tuple[list, list]:
        if len(groups) < 2:
            raise ValueError(
                f'by="clip" needs at least two clips that share no frames, got {len(groups)}: by="block" takes one'
            )
        held = set(_split.choose_clips(groups, share, rng))
        return tuple([part for part in self._parts if (part[0] in held) == side] for side in (False, True))

    def _by_block(self, groups, share: float, rng) -> tuple[list, list]:
        window = self.input_len + self.output_len
        slow, gap = min(self.speeds), self._gap()
        counts = np.bincount(self.clip_index, minlength=len(self.frames))
        kept, held = [], []
        for group in groups:
            lead = int(np.argmax(counts[group.clips]))
            starts = np.unique(self.starts[(self.clip_index == group.clips[lead]) & (self.speed == slow)])
            block = _split.choose_block(starts, window, gap / slow, share, rng)
            for i, clip in enumerate(group.clips):
                if block is None:
                    kept += self._inside(clip, -np.inf, np.inf)
                    continue
                begin, end = group.interval(i, lead, *_augment.frames_shown(*block, slow))
                kept += self._inside(clip, -np.inf, begin - gap) + self._inside(clip, end + gap, np.inf)
                held += self._inside(clip, begin, end)
        return kept, held

    def _gap(self) -> int:
        """Frames of a clip between the parts: a window, and what control blocks of both sides see, at the highest speed."""
        frames = self.input_len + self.output_len
        if self.spec.control is not None and self.fps is not None:
            past, future = min(self.spec.control.times[0], 0), max(self.spec.control.times[-1], 0)
            frames = max(frames, (future - past) * self.fps + 2)  # frames on either side of a moment between them
        return math.ceil(frames * max(self.speeds))

    def _inside(self, clip: int, begin: float, end: float) -> list[tuple[int, int, int]]:
        """What of this data set's own parts of a clip lies in frames [begin, end)."""
        cut = [(c, int(max(a, begin)), int(min(b, end))) for c, a, b in self._parts if c == clip]
        return [part for part in cut if part[1] < part[2]]

    def _fit(self, normalizer: Normalizer) -> Normalizer:
        return Normalizer(normalizer.columns).fit_chunks(self._chunks, self.spec.dim, self.spec.columns)

    def _chunks(self) -> Iterator[np.ndarray]:
        """All frames of this part at all speeds, and their mirror images where windows are mirrored."""
        for clip, begin, end in self._parts:
            for speed in self.speeds:
                for chunk in self._played(clip, begin, end, speed):
                    yield chunk
                    if self._mirror is not None:
                        yield chunk[:, self._mirror[0]] * self._mirror[1]

    def _played(self, clip: int, begin: int, end: int, speed: float) -> Iterator[np.ndarray]:
        """Frames of a part of a clip, a bounded number at a time."""
        if speed == 1:
            yield from chunks([self.frames[clip][begin:end]])
            return
        frames = _augment.frames_inside(begin, end, speed, len(self.frames[clip]))
        for start in frames[::CHUNK]:
            own = np.arange(start, min(start + CHUNK, frames.stop))
            rows = np.empty((len(own), 1, self.spec.dim), self.dtype)
            played = (np.full(len(own), speed), self.spec.layout, self._rate())
            self._source.gather(rows, None, np.full(len(own), clip), own, *(None,) * 5, *played)
            yield rows[:, 0]

    def _warn_short(self) -> None:
        window = self.input_len + self.output_len
        slow = min(self.speeds)
        short = [i for i, rows in enumerate(self.frames) if _augment.played_length(len(rows), slow) < window]
        if short:
            listed = [f"{titled(i, self.names[i])} has {len(self.frames[i])} frames" for i in short[:5]]
            more = f" and {len(short) - 5} more" if len(short) > 5 else ""
            text = f"{', '.join(listed)}{more}: shorter than a window of {window}, left out"
            warnings.warn(text, UserWarning, stacklevel=4)


# ---- arguments


def titled(i: int, name: str) -> str:
    return f"clips[{i}] ({name})" if name else f"clips[{i}]"


def float_type(dtype) -> np.dtype:
    if dtype is None:  # float64 to NumPy
        raise TypeError("dtype must be float32 or float64, got None")
    try:
        dtype = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"dtype must be float32 or float64, got {dtype!r}") from None
    if dtype not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}")
    return dtype.newbyteorder("=")


def list_of(value, name: str) -> list:
    """A non-empty list from a sequence of things that is not itself one of them."""
    if isinstance(value, Clip) or (isinstance(value, np.ndarray) and value.ndim < 3):
        raise TypeError(f"{name} must be a sequence of clips, got {type(value).__name__}")
    items = _check.sequence(value, name, "clips")
    if not items:
        raise ValueError(f"{name} must hold at least one clip, got none")
    return items


def common_fps(clips: list, fps) -> float | None:
    """The frame rate that clips and ``fps`` agree on; None where nothing tells it."""
    fps = None if fps is None else _check.number(fps, "fps", above=0)
    for i, clip in enumerate(clips):
        if isinstance(clip, Clip):
            if fps is not None and clip.fps != fps:
                raise ValueError(f"clips[{i}] has {clip.fps:g} frames a second, expected {fps:g}: resample it")
            fps = clip.fps
    return fps


def labels_of(phases, clips: list) -> tuple[tuple[np.ndarray, ...], list]:
    """Phases (T,) float64 and contacts (or None) of each clip."""
    phases = [None] * len(clips) if phases is None else _check.sequence(phases, "phases", "arrays")
    if len(phases) != len(clips):
        raise ValueError(f"phases must hold one array for each of the {len(clips)} clips, got {len(phases)}")
    result, contacts = [], []
    for i, (labels, clip) in enumerate(zip(phases, clips, strict=True)):
        if labels is None:
            if not isinstance(clip, Clip):
                raise ValueError(f"phases[{i}] must be given, as clips[{i}] is an array that nobody can label")
            labels = label_phase(clip)
        phase = getattr(labels, "phase", labels)
        result.append(np.ascontiguousarray(_check.phases(phase, f"phases[{i}]", ("T",), nan=True, dtype=np.float64)))
        contacts.append(getattr(labels, "contacts", None))
    return tuple(result), contacts


def rows_of(clip, i: int, spec: FeatureSpec, contacts, dtype: np.dtype) -> np.ndarray:
    """The rows of one clip: contiguous, of that type, finite."""
    if isinstance(clip, Clip):
        try:
            rows = spec.encode(clip, contacts=contacts if spec.contacts else None)
        except ValueError as error:
            raise ValueError(f"{titled(i, clip.name)}: {error}") from None
    else:
        rows = _check.array(clip, f"clips[{i}]", ("T", spec.dim), finite=False)
        check_rows(rows, rows, f"clips[{i}]", "finite")
    with np.errstate(over="ignore"):
        own = np.require(rows, dtype, ["C", "A"])
    if own.itemsize < rows.itemsize:
        check_rows(own, rows, f"clips[{i}]", f"finite in {dtype}")
    return own


def check_rows(rows: np.ndarray, shown: np.ndarray, name: str, what: str) -> None:
    """All of them are finite, a bounded number at a time; else the first that is not, as ``shown`` has it, is named."""
    for start, chunk in zip(range(0, len(rows), CHUNK), chunks([rows]), strict=True):
        bad = ~np.isfinite(chunk)
        if bad.any():
            t, c = np.argwhere(bad)[0]
            raise ValueError(f"{name}[{start + t}, {c}]={shown[start + t, c].item()!r} is not {what}")


def tracks_of(clips: list, frames, spec: FeatureSpec, fps: float | None) -> tuple[np.ndarray, ...] | None:
    """(T, 3): x, z, unwrapped yaw of each clip; None where nothing tells the frame rate."""
    if fps is None:
        return None
    return tuple(
        path_track(clip.root_positions, quat_yaw(clip.rotations[:, 0]))
        if isinstance(clip, Clip) and len(clip)
        else _core.features_track(spec.layout, rows, (0.0, 0.0, 0.0), 0.0, fps)
        for clip, rows in zip(clips, frames, strict=True)
    )


def groups_of(groups, n: int) -> list:
    groups = _check.sequence(groups, "groups", "labels")
    if len(groups) != n:
        raise ValueError(f"groups must hold one label for each of the {n} clips, got {len(groups)}")
    for i, label in enumerate(groups):
        try:
            hash(label)
        except TypeError:
            raise TypeError(f"groups[{i}] must be a name or a number, got {label!r}") from None
    return groups
