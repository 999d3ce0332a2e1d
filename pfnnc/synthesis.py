"""Roll-outs: a network's frames put end to end, with drift correction and phase.

A frame of a roll-out (the loop is ``csrc/core/rollout.c``):

1. The network predicts from the window of the last frames and the phase; the answer is denormalised and its rotations
   are made valid: quaternions of length 1 (a zero one keeps the frame before), rotation vectors of at most pi, 6d
   columns orthonormal.
2. Shown velocity = predicted - mean over the last ``window`` frames of (predicted - expected); the yaw rate alike.
3. root += shown velocity * dt, phase += ground speed / avg_stride * dt (or the phase step that the network predicts).
4. The window takes the frame of step 1.
"""

import struct
import zlib
from dataclasses import dataclass, field

import numpy as np

from . import _check, _core
from .features import FeatureSpec
from .rotation import exp_map_to_quat, from_yaw, quat_from_6d, quat_mul
from .skeleton import Clip, Skeleton

__all__ = ["Character", "Drift", "Synthesis", "synthesize"]

MOST_WINDOW = 1 << 20  # frames of a drift mean: each character keeps them
MOST_OFFSET = 1 << 17  # frames that a trajectory reaches back: each character keeps them too
MOST_NUMBERS = 1 << 31  # of features, 8 GiB: where a synthesis asked for by a wrong number stops
MOST_RATE = 1e9  # m/s or rad/s of a drift: float32 features hold it


class Drift:
    """The motion that a roll-out is held to.

    The mean over the last ``window`` frames of (predicted - expected) is taken off the shown velocity, and off the yaw
    rate where ``yaw_rate`` is given. The mean is over as many frames as there are, this one included. It is a mean over
    frames, so the same behaviour at twice the frame rate needs twice the window.

    Parameters
    ----------
    expected
        Velocity in m/s, in the frame of the features: (3,) for every frame, (n, 3) one row a frame, (B, n, 3) one a
        character and frame, or with ``by_phase`` a table (bins, 3).
    window
        Frames of the mean, at least 1.
    yaw_rate
        rad/s, a number or one a frame, (n,); None leaves the yaw alone.
    by_phase
        Take row ``floor(phase * bins)`` of ``expected``, of the phase that the network was asked with. See
        `WindowDataset.mean_velocity`.

    The article subtracts the mean velocity itself, which stops a walker: that is ``Drift((0, 0, 0))``.

    Raises
    ------
    ValueError
        Wrong shape, a value that is not finite, window < 1.
    TypeError
        Wrong type.

    >>> Drift((0, 0, 1.4), window=30).expected
    array([0. , 0. , 1.4])
    """

    __slots__ = ("by_phase", "expected", "window", "yaw_rate")

    def __init__(self, expected, *, window: int = 30, yaw_rate=None, by_phase: bool = False):
        by_phase = _check.flag(by_phase, "by_phase")
        expected = _check.array(expected, "expected", dtype=np.float64, copy=True)
        if by_phase and (expected.ndim != 2 or expected.shape[1] != 3 or len(expected) == 0):
            raise ValueError(f"expected must have shape (bins, 3) with by_phase, got {expected.shape}")
        if not 1 <= expected.ndim <= 3 or expected.shape[-1] != 3:
            raise ValueError(f"expected must have shape (3,), (n, 3) or (B, n, 3), got {expected.shape}")
        if yaw_rate is not None:
            yaw_rate = _check.array(yaw_rate, "yaw_rate", dtype=np.float64, copy=True)
            if yaw_rate.ndim > 1:
                raise ValueError(f"yaw_rate must be a number or have shape (n,), got {yaw_rate.shape}")
            yaw_rate = float(yaw_rate) if yaw_rate.ndim == 0 else _frozen(yaw_rate)
        for name, value in (("expected", expected), ("yaw_rate", np.asarray(0.0 if yaw_rate is None else yaw_rate))):
            if (np.abs(value) > MOST_RATE).any():
                raise ValueError(f"{_check.at(name, value, np.abs(value) > MOST_RATE)} is more than {MOST_RATE:g} a second")
        self.expected = _frozen(expected)
        self.window = _check.integer(window, "window", least=1, most=MOST_WINDOW)
        self.yaw_rate = yaw_rate
        self.by_phase = by_phase

    def __repr__(self) -> str:
        shape = self.expected.tolist() if self.expected.ndim == 1 else f"<{self.expected.shape}>"
        return f"Drift({shape}, window={self.window}, yaw_rate={self.yaw_rate}, by_phase={self.by_phase})"

    def _for(self, characters: int | None, frames: int | None) -> tuple:
        """What the core takes, for so many characters (None: one, not a batch) and frames (None: not known)."""
        expected, rates = self.expected, self.yaw_rate
        if not self.by_phase and expected.ndim > 1:
            if expected.ndim == 3 and len(expected) != characters:
                wanted = "a batch" if characters is None else f"{characters} characters"
                raise ValueError(f"drift.expected has {len(expected)} characters, shape {expected.shape}, not {wanted}")
            if frames is None and expected.shape[-2] == 0 or frames is not None and expected.shape[-2] != frames:
                raise ValueError(f"drift.expected must have one row a frame, {frames}, got shape {expected.shape}")
        if isinstance(rates, np.ndarray) and (len(rates) == 0 if frames is None else len(rates) != frames):
            raise ValueError(f"drift.yaw_rate must have one value a frame, {frames}, got shape {rates.shape}")
        window = self.window if frames is None else max(1, min(self.window, frames))
        expected = expected[(None,) * (3 - expected.ndim)]
        rates = None if rates is None else np.atleast_1d(np.asarray(rates, np.float64))
        if expected.size == 0:  # no frame is asked for
            return window, False, None, None
        return window, self.by_phase, expected, rates


@dataclass(frozen=True, eq=False)
class Synthesis:
    """What a roll-out made: arrays (n, ...) of one character, (B, n, ...) of a batch.

    Attributes
    ----------
    features : (…, n, F)
        In the model's dtype, as shown: velocity (and yaw rate or orientation) after drift correction.
    root_positions : (…, n, 3)
        World, metres, float64, after each frame.
    root_velocity : (…, n, 3)
        World, m/s, float64, the velocity that the root moved with.
    phase : (…, n)
        After each frame, in [0, 1), float64.
    yaw : (…, n)
        Heading of the root after each frame, radians, not wrapped in frame "heading", float64.
    spec
        The features.
    rest
        Rotations (4,) of joints, by name, that are not encoded; others stand at identity.
    """

    features: np.ndarray
    root_positions: np.ndarray
    root_velocity: np.ndarray
    phase: np.ndarray
    yaw: np.ndarray
    spec: FeatureSpec = field(repr=False)
    rest: dict[str, np.ndarray] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        """Number of frames."""
        return self.features.shape[-2]

    def __getitem__(self, index: int) -> "Synthesis":
        """One character of a batch."""
        if self.features.ndim != 3:
            raise TypeError("a synthesis of one character has no characters to choose from")
        index = _check.integer(index, "index")
        if not -len(self.features) <= index < len(self.features):
            raise IndexError(f"there is no character {index} among {len(self.features)}")
        arrays = (self.features, self.root_positions, self.root_velocity, self.phase, self.yaw)
        return Synthesis(*(a[index] for a in arrays), self.spec, self.rest)

    def to_clip(self, skeleton: Skeleton, fps: float, name: str = "synthesis") -> Clip:
        """The shown frames of one character as a clip: its root positions and rotations.

        Joints that are not encoded stand as in ``rest``. ``ValueError`` for a batch (take one with ``synthesis[i]``), no
        frame at all, or a skeleton that does not fit the features.
        """
        if self.features.ndim != 2:
            raise ValueError(f"to_clip needs one character, got a batch of {len(self.features)}: take synthesis[i]")
        fps = _check.number(fps, "fps", above=0)
        if not isinstance(skeleton, Skeleton):
            raise TypeError(f"skeleton must be a Skeleton, got {type(skeleton).__name__}")
        if not len(self):
            raise ValueError("to_clip needs at least one frame, got 0")
        rotations = rotations_of(self.features, self.yaw, self.spec, skeleton, self.rest)
        return Clip(skeleton, self.root_positions, rotations, fps, name)


def rotations_of(
    features: np.ndarray, yaw: np.ndarray, spec: FeatureSpec, skeleton: Skeleton, rest: dict[str, np.ndarray]
) -> np.ndarray:
    """Local rotations (T, J, 4) of frames (T, F): the yaw in front of the orientation in frame "heading"."""
    joints = spec.joint_indices(skeleton)
    still = np.array([rest.get(name, (1, 0, 0, 0)) for name in skeleton.names], np.float64)
    rotations = np.tile(still, (len(features), 1, 1))
    flat = features[:, 3 : spec.slices["joints"].stop].astype(np.float64).reshape(len(features), -1, spec.width)
    if spec.representation == "exp_map":
        flat = exp_map_to_quat(flat)
    elif spec.representation == "6d":
        flat = quat_from_6d(flat)
    rotations[:, joints] = flat[:, 1:]
    root = flat[:, 0]
    if spec.frame == "heading":
        root = quat_mul(from_yaw(yaw), root)
    rotations[:, 0] = root
    return rotations


def synthesize(
    model,
    spec: FeatureSpec,
    normalizer,
    init_window,
    phase,
    n_frames: int,
    dt,
    avg_stride,
    *,
    drift: Drift | None = None,
    origin=(0.0, 0.0, 0.0),
    yaw=0.0,
    path=None,
) -> Synthesis:
    """Let a network walk: ``n_frames`` frames from a window, for one character or a batch.

    Parameters
    ----------
    model
        A `SimplifiedPFNN`, what its `compile` made, or any callable ``(x (B, in_dim), phase (B,)) -> (B, out_dim)``.
    spec
        The features of a frame.
    normalizer
        What the network's numbers are scaled with; None: it sees physical numbers.
    init_window
        The frames before the first, physical, (L, F) or (B, L, F); finite.
    phase
        Of the last frame of the window, a number or (B,), in [0, 1].
    n_frames
        How many frames, 0 or more.
    dt
        Seconds a frame, a number or (n_frames,), greater than 0.
    avg_stride
        Metres a cycle, a number or (B,), greater than 0. Not used with ``spec.phase_step``.
    drift
        The motion to hold to, see `Drift`.
    origin
        World position of the root at the window's last frame, (3,) or (B, 3).
    yaw
        Heading there, radians, a number or (B,); for ``spec.frame == "heading"``.
    path
        For a spec with control: (positions (M, 3), yaw (M,)) wanted of the root from the next frame on, or (B, M, 3)
        and (B, M); None: straight on at the mean speed of the window.

    The characters of a batch do not touch each other. The arguments are not changed.

    Raises
    ------
    ValueError
        Wrong shape or value, named.
    TypeError
        Wrong type.
    FloatingPointError
        The prediction of a frame is not finite.
    """
    window, single = _window(init_window, model, spec)
    characters = len(window)
    frames = check_frames(n_frames, characters, spec)
    dts = check_steps(dt, frames)
    start = _start(window, phase, avg_stride, origin, yaw)
    drift = check_drift(drift, None if single else characters, frames)
    path = _path(path, spec, None if single else characters)
    rollout = Rollout()
    begin(rollout, model, spec, normalizer, window, *start, drift, float(np.median(dts)) if frames else 1.0)
    follow(rollout, spec, window, path)
    return run(rollout, model, spec, dts, characters, single)


def run(rollout, model, spec: FeatureSpec, dts: np.ndarray, characters: int, single: bool, **more) -> Synthesis:
    """Frames of a roll-out that has begun, as arrays."""
    frames = len(dts)
    features = np.empty((characters, frames, spec.dim), model_dtype(model))
    positions, velocity = np.empty((2, characters, frames, 3))
    phases, yaws = np.empty((2, characters, frames))
    rollout._run(dts, features, positions, velocity, phases, yaws)
    arrays = (features, positions, velocity, phases, yaws)
    return Synthesis(*((a[0] for a in arrays) if single else arrays), spec, **more)


class Rollout(_core.Rollout):
    """The core's roll-out with what Python keeps beside it."""

    _frame_seconds: float  # of the trajectory's frames
    _fingerprint: int  # of everything that a state depends on
    spec: FeatureSpec  #: of its frames
    skeleton: Skeleton | None = None  #: of the MotionModel that made it
    rest: dict = {}  #: rotations of joints that are not encoded
    feet: tuple = ()  #: names of the soles

    @property
    def fps(self) -> float:
        """Frames a second that the times of a trajectory are counted in."""
        return 1 / self._frame_seconds


class Character(Rollout):
    """One character that goes on a frame at a time; equal to `synthesize` to the bit.

    Arguments are those of `synthesize`, for one character: ``init_window`` (L, F). ``fps`` is the frame rate that the
    times of a trajectory are counted in. ``step(dt, out=None)`` goes on by one
    frame and returns it as shown, (F,) in the model's dtype, a new array or ``out``; with ``out`` it allocates nothing. A
    prediction that is not finite is ``FloatingPointError`` and leaves the state as it was. A `Drift` with one row a frame
    ends with its rows: the step after them is ``ValueError``.
    """

    def __init__(
        self,
        model,
        spec,
        normalizer,
        init_window,
        phase,
        avg_stride,
        *,
        drift=None,
        origin=(0.0, 0.0, 0.0),
        yaw=0.0,
        path=None,
        fps=30.0,
    ):
        window, single = _window(init_window, model, spec)
        if not single:
            raise ValueError(f"init_window must have shape (L, {spec.dim}), got {np.shape(init_window)}")
        start = _start(window, phase, avg_stride, origin, yaw)
        fps = _check.number(fps, "fps", above=0)
        begin(self, model, spec, normalizer, window, *start, check_drift(drift, None, None), 1 / fps)
        follow(self, spec, window, _path(path, spec, None))

    @property
    def phase(self) -> float:
        """Phase after the last frame, in [0, 1)."""
        return self._root(0)[2]

    @property
    def root_position(self) -> np.ndarray:
        """World position of the root after the last frame, (3,) float64."""
        return self._root(0)[0]

    @property
    def yaw(self) -> float:
        """Heading of the root after the last frame, radians."""
        return self._root(0)[1]

    def state(self) -> bytes:
        """Everything that changes from frame to frame, to be given to `restore` of a Character made alike."""
        body = self._save()
        return STATE.pack(STATE_MAGIC, len(body), zlib.crc32(body), self._fingerprint) + body

    def restore(self, state: bytes) -> None:
        """Go back to a `state`. ``TypeError`` for no bytes; ``ValueError``, state unchanged, for those of no such Character."""
        if not isinstance(state, bytes):
            raise TypeError(f"state must be bytes, got {type(state).__name__}")
        if len(state) < STATE.size:
            raise ValueError(f"state is no state of a Character: {len(state)} bytes are too few")
        magic, length, checksum, fingerprint = STATE.unpack_from(state)
        body = state[STATE.size :]
        if magic != STATE_MAGIC or length != len(body) or zlib.crc32(body) != checksum:
            raise ValueError("state is no state of a Character, or it is damaged")
        if fingerprint != self._fingerprint:
            raise ValueError("state is that of a Character with other features, window or drift")
        self._restore(body)


STATE = struct.Struct("<8sQII")
STATE_MAGIC = b"PFNNCHA1"


def begin(
    rollout,
    model,
    spec,
    normalizer,
    window,
    phase,
    stride,
    origin,
    yaw,
    drift,
    dt,
    *,
    past=None,
    before=None,
    follow_height=False,
    limits=(None, None),
) -> None:
    """Open and start a roll-out: checked float64 arrays of every character, ``drift`` as the core takes it. What the
    trajectory looks back on is ``past``, or follows from the rows ``before`` (B, n, F), the window's own where None."""
    mean, scale = _scaling(normalizer, spec)
    float32 = model_dtype(model) == np.float32
    offsets = None
    if spec.control is not None:
        offsets = np.array(spec.control.times, np.float64)
        if not abs(offsets).max() <= MOST_OFFSET * dt:
            raise ValueError(f"dt={dt!r} is too small for a trajectory of {abs(offsets).max():g} s: over {MOST_OFFSET} frames")
        offsets /= dt
    rollout._open(
        model,
        is_core(model),
        *window.shape[:2],
        spec.layout,
        float32,
        follow_height,
        mean,
        scale,
        *limits,
        stride,
        offsets,
        drift,
    )
    history = rollout._history()
    if past is None and history:
        past = _past(window if before is None else before, spec, origin, yaw, dt, history)
    rollout._start(window, phase, origin, yaw, past)
    made_of = repr((window.shape, spec.layout, float32, None if offsets is None else offsets.tolist(), drift and drift[:2]))
    rollout._fingerprint, rollout._frame_seconds, rollout.spec = zlib.crc32(made_of.encode()), dt, spec


def is_core(model) -> bool:
    """Whether a model's call is the core's own, a plain or compiled network's, so that a step needs no Python."""
    return isinstance(model, _core.Network) and type(model).__call__ is _core.Network.__call__


def model_dtype(model) -> np.dtype:
    """The type of a model's numbers: its `dtype` where that is float32 or float64, else float32."""
    try:
        dtype = np.dtype(getattr(model, "dtype", np.float32))
    except TypeError:
        return np.dtype(np.float32)
    return dtype if dtype in (np.float32, np.float64) else np.dtype(np.float32)


def _frozen(array: np.ndarray) -> np.ndarray:
    array.flags.writeable = False
    return array


def _window(init_window, model, spec) -> tuple[np.ndarray, bool]:
    """The window as (B, L, F) float64, and whether it was one character's."""
    if not isinstance(spec, FeatureSpec):
        raise TypeError(f"spec must be a FeatureSpec, got {type(spec).__name__}")
    if not callable(model):
        raise TypeError(f"model must be a SimplifiedPFNN or another callable, got {type(model).__name__}")
    window = _check.array(init_window, "init_window", dtype=np.float64)
    if window.ndim not in (2, 3) or window.shape[-1] != spec.dim or window.shape[-2] < 1:
        raise ValueError(f"init_window must have shape (L, {spec.dim}) or (B, L, {spec.dim}), got {window.shape}")
    length = window.shape[-2]
    for name, wanted in (("in_dim", spec.in_dim(length)), ("out_dim", spec.out_dim)):
        if getattr(model, name, wanted) != wanted:
            raise ValueError(
                f"model has {name} {getattr(model, name)}, the spec with a window of {length} frames asks for {wanted}"
            )
    single = window.ndim == 2
    return np.ascontiguousarray(window[None] if single else window), single


def _each(value, name: str, characters: int, *, above: float | None = None) -> np.ndarray:
    """A number or (B,) as (B,) float64."""
    result = _check.array(value, name, dtype=np.float64)
    if result.ndim > 1 or (result.ndim == 1 and len(result) != characters):
        raise ValueError(f"{name} must be a number or have shape ({characters},), got {result.shape}")
    if above is not None and (result <= above).any():
        raise ValueError(f"{_check.at(name, result, result <= above)} is not greater than {above:g}")
    return np.ascontiguousarray(np.broadcast_to(result, (characters,)))


def _start(window, phase, avg_stride, origin, yaw) -> tuple[np.ndarray, ...]:
    """Phase, stride, origin and yaw of every character."""
    characters = len(window)
    phase = _check.phases(phase, "phase")
    phase = _each(phase, "phase", characters)
    stride = _each(avg_stride, "avg_stride", characters, above=0)
    origin = _check.array(origin, "origin", dtype=np.float64)
    if origin.shape not in ((3,), (characters, 3)):
        raise ValueError(f"origin must have shape (3,) or ({characters}, 3), got {origin.shape}")
    origin = np.ascontiguousarray(np.broadcast_to(origin, (characters, 3)))
    return phase, stride, origin, _each(yaw, "yaw", characters)


def check_frames(n_frames, characters: int, spec: FeatureSpec) -> int:
    """How many frames, of as many characters."""
    frames = _check.integer(n_frames, "n_frames", least=0)
    if frames * characters * spec.dim > MOST_NUMBERS:
        raise ValueError(f"n_frames={frames} of {spec.dim} columns and {characters} characters: over {MOST_NUMBERS} numbers")
    return frames


def check_steps(dt, frames: int) -> np.ndarray:
    """The frames' seconds, (n_frames,)."""
    dts = _check.array(dt, "dt", dtype=np.float64)
    if dts.ndim > 1 or (dts.ndim == 1 and len(dts) != frames):
        raise ValueError(f"dt must be a number or have shape ({frames},), got {dts.shape}")
    if (dts <= 0).any():
        raise ValueError(f"{_check.at('dt', dts, dts <= 0)} is not greater than 0")
    return np.ascontiguousarray(np.broadcast_to(dts, (frames,)))


def check_drift(drift, characters: int | None, frames: int | None):
    """A Drift or None as the core takes it, for so many characters (None: not a batch) and frames (None: not known)."""
    if drift is None:
        return None
    if not isinstance(drift, Drift):
        raise TypeError(f"drift must be a Drift or None, got {type(drift).__name__}")
    return drift._for(characters, frames)


def _scaling(normalizer, spec) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Mean and scale of every column, of a `Normalizer` or whatever has its fitted attributes."""
    if normalizer is None:
        return None, None
    mean, scale = getattr(normalizer, "mean_", None), getattr(normalizer, "scale_", None)
    if mean is None or scale is None:
        if hasattr(normalizer, "fit"):
            raise ValueError("normalizer is not fitted: call fit first")
        raise TypeError(f"normalizer must be a Normalizer or None, got {type(normalizer).__name__}")
    mean = _check.array(mean, "normalizer.mean_", (None,), dtype=np.float64)
    scale = _check.array(scale, "normalizer.scale_", mean.shape, dtype=np.float64)
    if len(mean) not in (3, spec.dim):
        raise ValueError(f"normalizer is fitted to {len(mean)} columns, a frame has {spec.dim}")
    if (scale <= 0).any():
        raise ValueError(f"{_check.at('normalizer.scale_', scale, scale <= 0)} is not greater than 0")
    whole_mean, whole_scale = np.zeros(spec.dim), np.ones(spec.dim)
    whole_mean[: len(mean)], whole_scale[: len(mean)] = mean, scale
    return whole_mean, whole_scale


def _past(window, spec, origin, yaw, dt: float, history: int) -> np.ndarray:
    """Ground position and yaw of the frames before the window's last, nearest first: (B, history, 3)."""
    past = np.empty((len(window), history, 3))
    heading = spec.frame == "heading"
    x, z, facing = origin[:, 0].copy(), origin[:, 2].copy(), yaw.copy()
    for i in range(history):
        frame = window[:, max(window.shape[1] - 1 - i, 0)]
        c, s = (np.cos(facing), np.sin(facing)) if heading else (1.0, 0.0)
        x -= (c * frame[:, 0] + s * frame[:, 2]) * dt
        z -= (c * frame[:, 2] - s * frame[:, 0]) * dt
        if heading:
            facing -= frame[:, spec.slices["yaw_rate"].start] * dt
        past[:, i] = np.stack([x, z, facing], axis=-1)
    return past


def _path(path, spec, characters: int | None):
    """The wanted path as (groups, M, 3) and (groups, M), or None."""
    if path is None:
        return None
    if spec.control is None:
        raise ValueError("path needs a spec with control=Trajectory(...)")
    return check_path(path, characters)


def check_path(path, characters: int | None) -> tuple[np.ndarray, np.ndarray]:
    """(positions (M, 3), yaw (M,)), or one each a character, as (groups, M, 3) and (groups, M)."""
    if not isinstance(path, (tuple, list)) or len(path) != 2:
        raise TypeError(f"path must be (positions, yaw), got {type(path).__name__}")
    positions = _check.array(path[0], "path positions", dtype=np.float64)
    yaw = _check.array(path[1], "path yaw", dtype=np.float64)
    single = positions.ndim == 2
    if positions.ndim not in (2, 3) or positions.shape[-1] != 3 or positions.shape[-2] < 1:
        raise ValueError(f"path positions must have shape (M, 3) or (B, M, 3), got {positions.shape}")
    if not single and len(positions) != characters:
        raise ValueError(f"path positions are of {len(positions)} characters, shape {positions.shape}, not of {characters}")
    if yaw.shape != positions.shape[:-1]:
        raise ValueError(f"path yaw must have shape {positions.shape[:-1]}, got {yaw.shape}")
    if single:
        positions, yaw = positions[None], yaw[None]
    return np.ascontiguousarray(positions), np.ascontiguousarray(yaw)


def to_world(vectors: np.ndarray, yaw: np.ndarray) -> np.ndarray:
    """Vectors (n, 3) of heading frames turned by the yaw (n,) of each."""
    c, s = np.cos(yaw), np.sin(yaw)
    x, y, z = vectors.T
    return np.stack([c * x + s * z, y, c * z - s * x], axis=-1)


def follow(rollout, spec, window: np.ndarray, path, speed: np.ndarray | None = None) -> None:
    """Let the characters follow a checked path, or go straight on at the mean velocity of the window; the ground speed
    of that is `speed` (B,) where given. Without control nothing happens."""
    if spec.control is None:
        return
    if path is None:
        facing = np.array([rollout._root(i)[1] for i in range(len(window))])
        places = np.array([rollout._root(i)[0] for i in range(len(window))]).reshape(-1, 3)
        mean = window[:, :, :3].mean(axis=1)
        if spec.frame == "heading":
            mean = to_world(mean, facing)
        mean[:, 1] = 0
        if speed is not None:
            mean *= (speed / np.maximum(np.hypot(mean[:, 0], mean[:, 2]), 1e-6))[:, None]
        # two rows are enough: a path goes straight on beyond its end
        step = mean[:, None] * rollout._frame_seconds * np.array([1.0, 2.0])[:, None]
        path = places[:, None] + step, np.tile(facing[:, None], 2)
    rollout._follow(*(np.ascontiguousarray(part) for part in path))
