"""Everything that a character needs, trained, used and kept as one: network, features, scaling, skeleton, gait."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field

import numpy as np

from . import _check, _recipes, _store
from .dataset import WindowDataset
from .features import FeatureSpec
from .network import SimplifiedPFNN
from .normalizer import Normalizer
from .phase import cycle_statistics
from .report import Report, evaluate
from .rotation import quat_yaw
from .skeleton import Clip, Skeleton
from .synthesis import (
    Character,
    Drift,
    Rollout,
    Synthesis,
    begin,
    check_drift,
    check_frames,
    check_path,
    check_steps,
    follow,
    run,
    to_world,
)
from .training import EpochReport, Trainer

__all__ = ["MotionModel"]

BINS = 32  # of the tables by phase
EVALUATED = 10.0  # seconds of a clip that `evaluate` rolls out


@dataclass(eq=False)
class MotionModel:
    """A trained character: what `train` made or `load` read.

    Attributes
    ----------
    model
        The `SimplifiedPFNN`; for run time also what its `compile` made:
        ``dataclasses.replace(walker, model=walker.model.compile("float16"))``.
    spec
        The `FeatureSpec` of its frames.
    normalizer
        The fitted `Normalizer`.
    skeleton
        Of the first clip it was trained on.
    fps
        Frames a second that it was trained at.
    input_len
        Frames of history, L.
    avg_stride
        Metres of ground a gait cycle.
    mean_velocity : (bins, 3)
        m/s by phase, in the frame of the features: ``Drift(mean_velocity, by_phase=True)``.
    history
        One `EpochReport` an epoch.
    preset
        "article" or "controller".
    feet
        Names of the left and right sole, empty where the features have no contacts.
    rest
        Rotations of joints that do not move and are not encoded, by name.
    cadence
        Gait cycles a second.
    frames : (bins, F)
        The mean frame of features by phase: how a start without a phase finds its own.
    paces : (n, 4)
        How fast people went on who moved like this: how a start finds its speed.
    limits : (2, F)
        Least and largest of each column seen in training, and a tenth of that range beyond: predictions are kept
        between them.
    """

    model: SimplifiedPFNN
    spec: FeatureSpec
    normalizer: Normalizer
    skeleton: Skeleton
    fps: float
    input_len: int
    avg_stride: float
    mean_velocity: np.ndarray
    history: list[EpochReport] = field(repr=False)
    preset: str = "controller"
    feet: tuple[str, ...] = ()
    rest: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    cadence: float = 1.0
    frames: np.ndarray = field(default=None, repr=False)
    paces: np.ndarray = field(default=None, repr=False)
    limits: np.ndarray = field(default=None, repr=False)

    def __post_init__(self):
        if not callable(self.model) or not hasattr(self.model, "in_dim"):
            raise TypeError(f"model must be a SimplifiedPFNN, got {type(self.model).__name__}")
        for name, kind in (("spec", FeatureSpec), ("normalizer", Normalizer), ("skeleton", Skeleton)):
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} must be a {kind.__name__}, got {type(getattr(self, name)).__name__}")
        self.fps = _check.number(self.fps, "fps", above=0)
        self.input_len = _check.integer(self.input_len, "input_len", least=1)
        self.avg_stride = _check.number(self.avg_stride, "avg_stride", above=0)
        self.cadence = _check.number(self.cadence, "cadence", least=0)
        _check.option(self.preset, "preset", tuple(_recipes.PRESETS))
        dim = self.spec.dim
        for name, array, shape in (
            ("normalizer.mean_", self.normalizer.mean_, (dim,)),
            ("normalizer.scale_", self.normalizer.scale_, (dim,)),
            ("mean_velocity", self.mean_velocity, (None, 3)),
            ("frames", self.frames, (BINS, dim)),
            ("paces", self.paces, (None, 4)),
            ("limits", self.limits, (2, dim)),
        ):
            _check.array(array, name, shape)
        wanted = (self.spec.in_dim(self.input_len), self.spec.out_dim)
        if (self.model.in_dim, self.model.out_dim) != wanted:
            raise ValueError(
                f"model has {self.model.in_dim} inputs and {self.model.out_dim} outputs, the spec asks for {wanted}"
            )
        self.spec.joint_indices(self.skeleton)

    # ---- training

    @classmethod
    def train(
        cls,
        clips,
        preset: str = "controller",
        *,
        phases=None,
        max_seconds: float | None = None,
        epochs: int | None = None,
        seed: int = 0,
        progress: bool = True,
        checkpoint: str | os.PathLike | None = None,
        about: dict | None = None,
        **overrides,
    ) -> MotionModel:
        """Train a character from clips.

        ``"article"`` is the article's recipe (world frame, quaternions of all joints, or of those that move where a
        skeleton has more than its 24; twelve frames of history; its RBF network), with the cures without which it does
        not keep walking: input noise, and a loss over four steps of roll-out. ``"controller"`` is the best that this
        package knows: heading frame, 6d rotations, two frames of history, wanted trajectory, predicted phase,
        contacts; a Catmull-Rom network with ELU; roll-outs of 4, 8, then 16 steps; every clip mirrored, at five speeds
        and with other turns, half of them along a smoothed path.

        Parameters
        ----------
        clips
            `Clip` objects, all of one frame rate and with the same joints. The recipes were found at 30 frames a
            second: ``clip.resample(30)``.
        preset
            "controller" or "article".
        phases
            For each clip an array (T,), [0, 1] or NaN, or the `Labels` of `label_phase`; None labels them.
        max_seconds
            Stop training then.
        epochs
            Passes over the data; None: as the preset has it.
        seed
            Same seed, clips and machine, same bits.
        progress
            Show a bar where it takes longer than two seconds.
        checkpoint
            A file that is written after each epoch; where it exists, training goes on from it.
        about
            What the run is, for people, kept in the checkpoint.
        overrides
            Fields of the recipe (``hidden``, ``input_len``, ``scales``, ...), options of `FeatureSpec` and of
            `Trainer`, by name.

        Raises
        ------
        ValueError
            Clips that do not fit each other, phases of another length, nothing to train on.
        TypeError
            Wrong types, unknown options.
        FloatingPointError
            The loss left the finite numbers.
        """
        recipe = _recipes.recipe_of(preset, overrides)
        clips = _recipes.check_clips(clips)
        seed, progress = _check.integer(seed, "seed", least=0), _check.flag(progress, "progress")
        if max_seconds is not None:
            _check.number(max_seconds, "max_seconds", least=0)
        epochs = recipe.epochs if epochs is None else _check.integer(epochs, "epochs", least=0, most=1 << 40)
        labels = _recipes.check_labels(phases, clips)
        spec, feet, rest = _recipes.spec_of(recipe, clips)
        stride = _stride(clips, labels)
        data = _dataset(recipe, spec, feet, clips, labels, stride)
        if epochs is None:
            epochs = max(4, round(recipe.windows / len(data)))
        model = _network(recipe, spec, seed)
        trainer = Trainer(
            model, seed=seed, t_max=max(epochs, 1), skeleton=clips[0].skeleton, feet=feet, avg_stride=stride,
            **recipe.training,
        )  # fmt: skip
        checkpoint = None if checkpoint is None else _check.path(checkpoint, "checkpoint")
        if checkpoint is not None and checkpoint.exists():
            try:
                trainer = Trainer.load(checkpoint).like(trainer)
            except ValueError as error:
                raise ValueError(f"{checkpoint}: {error}") from None
            model = trainer.model
        trainer.about = dict(about or {})
        shown = None if progress else False
        trainer.fit(data, epochs=epochs, max_seconds=max_seconds, checkpoint=checkpoint, progress=shown)
        if recipe.training.get("average") and epochs:
            model = trainer.averaged()
        frames = _recipes.by_phase(recipe, spec, feet, clips, labels, BINS)
        velocity = frames[:, :3].copy() if recipe.standing else data.mean_velocity(BINS)
        return cls(
            model, spec, data.normalizer, clips[0].skeleton, float(clips[0].fps), recipe.input_len, stride, velocity,
            list(trainer.history), preset, tuple(feet), rest, _cadence(clips, labels), frames,
            _recipes.paces_of(clips, labels), _limits(data),
        )  # fmt: skip

    # ---- use

    def synthesize(
        self, start: Clip, n_frames: int, *, dt=None, phase=None, drift: Drift | None = None, path=None
    ) -> Synthesis:
        """Go on from the end of a clip for ``n_frames`` frames.

        Parameters
        ----------
        start
            ``input_len`` frames or more; place and yaw go on from its last. Another frame rate is resampled.
        n_frames
            How many frames.
        dt
            Seconds a frame, a number or (n_frames,); None: 1 / fps.
        phase
            Of the last frame; None: `label_phase` of the start, or else that of the most similar frame seen in
            training.
        drift
            The motion to hold to, see `Drift`. A model with control is better led by ``path``.
        path
            (positions (M, 3), yaw (M,)) wanted of the root from the next frame on, one row a frame of 1 / fps seconds,
            for models with control; None: where ``drift`` has a row a frame, the path that it expects, else straight on
            at the speed of the start.

        Raises
        ------
        ValueError, TypeError
            As `synthesize`.
        FloatingPointError
            A prediction is not finite.
        """
        frames = check_frames(n_frames, 1, self.spec)
        dts = check_steps(1 / self.fps if dt is None else dt, frames)
        rollout = Rollout()
        self._begin(rollout, start, phase, check_drift(drift, None, frames), path)
        return run(rollout, self.model, self.spec, dts, 1, True, rest=self.rest)

    def character(self, start: Clip, *, phase=None, drift: Drift | None = None, path=None) -> Character:
        """A `Character` that goes on from the end of a clip a step at a time; arguments as of `synthesize`."""
        character = Character.__new__(Character)
        self._begin(character, start, phase, check_drift(drift, None, None), path)
        character.skeleton, character.rest, character.feet = self.skeleton, self.rest, self.feet
        return character

    def pose(self, features: np.ndarray, position, yaw: float) -> tuple[np.ndarray, np.ndarray]:
        """Root position (3,) and local rotations (J, 4) of a frame that `Character.step` returned."""
        features = _check.array(features, "features", (self.spec.dim,))
        position = _check.array(position, "position", (3,), dtype=np.float64)
        shown = Synthesis(
            features[None], position[None], np.zeros((1, 3)), np.zeros(1), np.array([_check.number(yaw, "yaw")]),
            self.spec, self.rest,
        )  # fmt: skip
        clip = shown.to_clip(self.skeleton, self.fps)
        return clip.root_positions[0], clip.rotations[0]

    def evaluate(self, clips) -> Report:
        """Roll out along recordings and compare: for each clip ten seconds (or what there is) from its first labelled
        window, led along the recording by its path, or by `Drift` for models without control.

        A list of clips gives the mean of each measure; it has passed where it passed for every clip.
        """
        clips = _recipes.check_clips(clips)
        reports = []
        for clip in clips:
            predicted, reference = self._led(clip)
            reports.append(evaluate(predicted, reference, feet=self._feet_of(reference)))
        return reports[0] if len(reports) == 1 else _mean_report(reports)

    # ---- files

    def save(self, path: str | os.PathLike) -> None:
        """Write one checksummed file, whole or not at all (``OSError``)."""
        _store.save(path, "motion-model", *self._contents())

    def to_bytes(self) -> bytes:
        """The bytes of the file that `save` writes."""
        return _store.pack("motion-model", *self._contents())

    def _contents(self) -> tuple[dict, dict]:
        arrays = {
            **self.model._to_arrays("model."),
            "normalizer.mean": np.asarray(self.normalizer.mean_, "<f8"),
            "normalizer.scale": np.asarray(self.normalizer.scale_, "<f8"),
            "skeleton.parents": np.asarray(self.skeleton.parents, "<i8"),
            "skeleton.offsets": np.asarray(self.skeleton.offsets, "<f8"),
            "skeleton.end_parents": np.array([p for p, _ in self.skeleton.end_sites], "<i8"),
            "skeleton.end_offsets": np.array([o for _, o in self.skeleton.end_sites], "<f8").reshape(-1, 3),
            "rest": np.array(list(self.rest.values()), "<f8").reshape(-1, 4),
            "mean_velocity": np.asarray(self.mean_velocity, "<f8"),
            "frames": np.asarray(self.frames, "<f8"),
            "paces": np.asarray(self.paces, "<f8"),
            "limits": np.asarray(self.limits, "<f8"),
            # what the C core needs beside these, in numbers
            "layout": np.array(self.spec.layout, "<i8"),
            "times": np.array(self.spec.control.times if self.spec.control else (), "<f8"),
            "joints": np.asarray(self.spec.joint_indices(self.skeleton), "<i8"),
            "rest_joints": np.array([self.skeleton.index(name) for name in self.rest], "<i8"),
            "gait": np.array([self.fps, self.input_len, self.avg_stride, self.cadence], "<f8"),
        }
        settings = {
            "preset": self.preset,
            "spec": self.spec.to_dict(),
            "normalizer": self.normalizer.columns,
            "names": list(self.skeleton.names),
            "channels": [list(c) for c in self.skeleton.channels] if self.skeleton.channels is not None else None,
            "feet": list(self.feet),
            "rest": list(self.rest),
            "fps": self.fps,
            "input_len": self.input_len,
            "avg_stride": self.avg_stride,
            "cadence": self.cadence,
            "history": [dataclasses.asdict(report) for report in self.history],
        }
        return arrays, settings

    @classmethod
    def load(cls, path: str | os.PathLike) -> MotionModel:
        """Read a file that `save` wrote. ``FileNotFoundError``; ``ValueError`` where it is damaged or something else."""
        arrays, settings = _store.load(path, "motion-model")
        try:
            return cls._from(arrays, settings, os.fspath(path))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            raise ValueError(f"{os.fspath(path)} holds no motion model: {error!r}") from None

    @classmethod
    def _from(cls, arrays: dict, settings: dict, path: str) -> MotionModel:
        ends = zip(arrays["skeleton.end_parents"].tolist(), arrays["skeleton.end_offsets"], strict=True)
        channels = settings["channels"]
        skeleton = Skeleton(
            settings["names"], arrays["skeleton.parents"], arrays["skeleton.offsets"],
            channels=None if channels is None else tuple(tuple(c) for c in channels), end_sites=tuple(ends),
        )  # fmt: skip
        normalizer = Normalizer(settings["normalizer"])
        normalizer.mean_, normalizer.scale_ = arrays["normalizer.mean"], arrays["normalizer.scale"]
        normalizer.floored_ = np.zeros(0, np.int64)
        return cls(
            SimplifiedPFNN._from_arrays(arrays, path, "model."), FeatureSpec.from_dict(settings["spec"]), normalizer,
            skeleton, settings["fps"], settings["input_len"], settings["avg_stride"], arrays["mean_velocity"],
            [EpochReport(**report) for report in settings["history"]], settings["preset"], tuple(settings["feet"]),
            dict(zip(settings["rest"], arrays["rest"], strict=True)), settings["cadence"], arrays["frames"],
            arrays["paces"], arrays["limits"],
        )  # fmt: skip

    # ---- starts

    def _begin(self, rollout: Rollout, start: Clip, phase, drift, path) -> None:
        """Put a roll-out at the end of a clip."""
        if path is not None:
            if self.spec.control is None:
                raise ValueError(f"path needs a model with control, and preset {self.preset!r} has none")
            path = check_path(path, None)
        start = self._at_own_rate(start)
        window, phase, origin, yaw = self._start(start, phase)
        begin(
            rollout, self.model, self.spec, self.normalizer, window[None, -self.input_len :], np.array([phase]),
            np.array([self.avg_stride]), origin[None], np.array([yaw]), drift, 1 / self.fps,
            before=window[None],
            follow_height=self.spec.height,
            limits=tuple(np.ascontiguousarray(self.limits)),
        )  # fmt: skip
        speed = None if self.spec.control is None else np.array([self._speed(start, phase)])
        if path is None and self.spec.control is not None:
            path = self._path_of(drift, origin, yaw)
        follow(rollout, self.spec, window[None, -self.input_len :], path, speed)

    def _path_of(self, drift, origin: np.ndarray, yaw: float) -> tuple[np.ndarray, np.ndarray] | None:
        """The path that a drift correction with a row a frame expects: a model that wanted another one would fight it."""
        if drift is None:
            return None
        _, by_phase, expected, rates = drift
        if expected is None or by_phase or expected.shape[1] < 2 or (rates is None and self.spec.frame == "heading"):
            return None
        velocity, frames = expected[0], expected.shape[1]
        facing = yaw + np.cumsum(np.broadcast_to(0.0 if rates is None else rates, frames)) / self.fps
        if self.spec.frame == "heading":
            velocity = to_world(velocity, facing)
        return (origin + np.cumsum(velocity, axis=0) / self.fps)[None], facing[None]

    def _at_own_rate(self, start: Clip) -> Clip:
        """A start at the model's frame rate, its last frame kept."""
        if not isinstance(start, Clip):
            raise TypeError(f"start must be a Clip, got {type(start).__name__}")
        self._check_size(start)
        if abs(start.fps - self.fps) > 1e-6 * self.fps and len(start):
            start = start[::-1].resample(self.fps)[::-1]
        if len(start) < self.input_len:
            raise ValueError(f"start must have at least {self.input_len} frames at {self.fps:g} a second, got {len(start)}")
        return start

    def _check_size(self, start: Clip) -> None:
        """No person is twice as large as another: such bones are in another unit."""
        shared = [name for name in self.skeleton.names[1:] if name in start.skeleton.names]
        ours, theirs = (
            float(np.linalg.norm(skeleton.offsets[[skeleton.index(name) for name in shared]], axis=1).sum())
            for skeleton in (self.skeleton, start.skeleton)
        )
        if ours > 0 and not 0.5 * ours <= theirs <= 2 * ours:
            unit = f": load_bvh(..., scale={ours / theirs:.3g})?" if theirs > 0 else ""
            raise ValueError(f"start must have bones as long as the model's, got {theirs / ours:.3g} times their length{unit}")

    def _start(self, start: Clip, phase) -> tuple[np.ndarray, float, np.ndarray, float]:
        """Rows of features of a clip's last frames, phase, place and yaw of the last."""
        if phase is not None:
            phase = _check.number(phase, "phase", least=0, most=1)
        contacts = None
        if self.spec.contacts:
            rows = self.spec.encode(start, contacts=np.zeros((len(start), 2)))
            last = self._phase_of(rows) if phase is None else phase
            past = last - np.arange(len(start))[::-1] * self.cadence / self.fps
            contacts = np.clip(self.frames[(past % 1 * BINS).astype(int) % BINS, self.spec.slices["contacts"]], 0, 1)
        rows = self.spec.encode(start, contacts=contacts)
        if phase is None:
            phase = self._phase_of(rows)
        return rows, phase % 1.0, start.root_positions[-1], float(quat_yaw(start.rotations[-1, 0]))

    def _phase_of(self, rows: np.ndarray) -> float:
        """Phase of the last row: where the frames seen in training were most like the last ones."""
        back = np.arange(min(self.input_len, len(rows)))
        scale = np.maximum(self.normalizer.scale_, 1e-6)
        if self.normalizer.columns == "velocity":
            scale = np.maximum(self.frames.std(axis=0), 1e-3)
        used = np.ones(self.spec.dim, bool)
        if self.spec.contacts:
            used[self.spec.slices["contacts"]] = False
        if self.spec.frame == "world":  # the way that it faces says nothing
            used[: 3 + self.spec.width] = False
        apart = np.zeros(BINS)
        for i in back:
            table = np.roll(self.frames, round(i * self.cadence / self.fps * BINS), axis=0)
            apart += (((table - rows[-1 - i]) / scale)[:, used] ** 2).sum(axis=1)
        return (int(np.argmin(apart)) + 0.5) / BINS

    def _speed(self, start: Clip, phase: float) -> float:
        """Mean ground speed to go on with: that of the last gait cycle of the start, as far as it is steady, and else
        that of people who moved like its last frames."""
        cycle = max(2, round(self.fps / max(self.cadence, 0.1)))
        speed = _recipes.ground_speed(start)[-cycle:]
        back = np.arange(len(speed))[::-1] * self.cadence / self.fps
        return _recipes.pace_to_keep(self.paces, speed, (phase - back) % 1, cycle)

    # ---- evaluation

    def _led(self, clip: Clip) -> tuple[Clip, Clip]:
        """Prediction and recording from the clip's first labelled window on."""
        if abs(clip.fps - self.fps) > 1e-6 * self.fps:
            clip = clip.resample(self.fps)
        phase, *_ = _recipes.check_labels(None, [clip])
        labelled = np.flatnonzero(np.isfinite(phase[self.input_len - 1 :])) + self.input_len - 1
        first = int(labelled[0]) if len(labelled) else len(clip)
        n = min(len(clip) - 1 - first, round(EVALUATED * self.fps))
        if n < 2:
            raise ValueError(f"clip {clip.name!r} has no two frames after its first labelled window")
        reference = clip[first + 1 : first + 1 + n]
        yaw = np.unwrap(quat_yaw(reference.rotations[:, 0]))
        lead = {}
        if self.spec.control is not None:
            lead["path"] = (clip.root_positions[first + 1 :], np.unwrap(quat_yaw(clip.rotations[first + 1 :, 0])))
        else:
            rows = self.spec.encode(clip)[first + 1 : first + 1 + n]
            rate = np.diff(np.concatenate([[quat_yaw(clip.rotations[first, 0])], yaw])) * self.fps
            rate = (rate / self.fps + np.pi) % (2 * np.pi) - np.pi
            lead["drift"] = Drift(rows[:, :3], window=max(1, round(self.fps / 2)), yaw_rate=rate * self.fps)
        result = self.synthesize(clip[: first + 1], n, phase=float(phase[first]), **lead)
        return result.to_clip(reference.skeleton, self.fps, f"{clip.name} predicted"), reference

    def _feet_of(self, clip: Clip) -> tuple:
        """Feet for the metrics: the soles that are joints, or what the names tell."""
        names = [name.removesuffix("_end") for name in self.feet]
        if names and all(name in clip.skeleton.names for name in names):
            return tuple(names)
        try:
            return tuple(clip.skeleton.names[chain[0]] for chain in clip.skeleton.find_feet())
        except ValueError:
            return ()


# ---- training


def _dataset(recipe, spec: FeatureSpec, feet, clips: list[Clip], labels, stride: float) -> WindowDataset:
    rows, phases = _recipes.training_rows(recipe, spec, feet, clips, labels, stride)
    with _recipes.quiet():
        data = WindowDataset(
            rows, spec, phases, input_len=recipe.input_len, output_len=recipe.output_len, stride=recipe.stride,
            normalizer=_recipes.fitted(recipe, spec, rows), fps=float(clips[0].fps), mirror=recipe.mirror,
        )  # fmt: skip
        if len(data) == 0:
            length = recipe.input_len + recipe.output_len
            raise ValueError(f"clips must hold {length} frames in a row with a phase somewhere, got none")
    if recipe.smooth and data.tracks is not None:
        tracks = list(data.tracks)
        tracks[1::2] = [_recipes.smoothed(track, recipe.smooth, data.fps) for track in tracks[1::2]]
        data.follow(tracks)
    return data


def _limits(data: WindowDataset) -> np.ndarray:
    """(2, F) physical: the range of each column in the windows, widened by a tenth of it on either side."""
    low, high = np.full(data.spec.dim, np.inf), np.full(data.spec.dim, -np.inf)
    for i in range(0, len(data), 4096):
        X, _, _ = data.batch(np.arange(i, min(i + 4096, len(data))))
        low, high = np.minimum(low, X.min(axis=(0, 1))), np.maximum(high, X.max(axis=(0, 1)))
    scale, mean = data.normalizer.scale_, data.normalizer.mean_
    margin = np.maximum(0.1 * (high - low), 0.1)
    return np.stack([(low - margin) * scale + mean, (high + margin) * scale + mean])


def _network(recipe, spec: FeatureSpec, seed: int) -> SimplifiedPFNN:
    model = SimplifiedPFNN(
        spec.in_dim(recipe.input_len), spec.out_dim, recipe.hidden, recipe.n_kernels, recipe.beta, kernel=recipe.kernel,
        activation=recipe.activation, init=recipe.init, seed=seed,
    )  # fmt: skip
    model.fc3.weights[...] *= recipe.last_layer
    return model


def _stride(clips: list[Clip], labels) -> float:
    """Metres of ground a cycle: path of all whole cycles by their number, or of all labelled frames by their phase."""
    path = cycles = 0.0
    for clip, phase in zip(clips, labels, strict=True):
        statistics = cycle_statistics(phase, clip.root_positions, clip.fps)
        path, cycles = path + statistics.stride.sum(), cycles + len(statistics)
    if cycles == 0 or path <= 0:
        for clip, phase in zip(clips, labels, strict=True):
            step = np.hypot(*np.diff(clip.root_positions[:, [0, 2]], axis=0).T)
            turn = (np.diff(phase) + 0.5) % 1 - 0.5
            path, cycles = path + step[np.isfinite(turn)].sum(), cycles + np.nansum(turn)
    return float(path / cycles) if path > 0 and cycles > 0 else 1.0


def _cadence(clips: list[Clip], labels) -> float:
    """Cycles a second over all labelled frames."""
    turn = np.concatenate([(np.diff(phase) + 0.5) % 1 - 0.5 for phase in labels])
    return float(max(turn[np.isfinite(turn)].mean() * clips[0].fps, 0.0)) if np.isfinite(turn).any() else 1.0


def _mean_report(reports: list[Report]) -> Report:
    """The mean of every measure; passed where it passed for every clip."""
    results = {}
    for name in reports[0]:
        several = [report[name] for report in reports if name in report]
        passed = [result.passed for result in several if result.passed is not None]
        with np.errstate(invalid="ignore"):
            means = {
                key: float(np.nanmean(values)) if np.isfinite(values).any() else float("nan")
                for key in ("value", "reference")
                if (values := np.array([getattr(result, key) for result in several], np.float64)).size
            }
        results[name] = dataclasses.replace(several[0], passed=all(passed) if passed else None, **means)
    joints = {name: float(np.mean([r.joints[name] for r in reports])) for name in reports[0].joints}
    return Report(results, contact=reports[0].contact, joints=joints)
