"""One call of `Trainer.fit` at work: its data, and the training step in C made for their layout."""

import numpy as np

from . import _core, _layout
from ._batches import ArraySource, source
from .network import ACTIVATIONS, KERNELS

TERMS = ("pose", "velocity", "contact", "root", "points", "phase", "trajectory")  # in the order of train.h
ROTATION_LOSSES = ("component", "sign", "geodesic")  # pfnn_rotation_loss
GIVEN, SPEED, PREDICTED = range(3)  # pfnn_phase_source
EVALUATION_ROWS = 1024


class Work:
    """Sources, layout and step. Everything that can be wrong with the data is found here, before the first step."""

    def __init__(self, trainer, train, validation):
        self._options = trainer._options
        self._trainer = trainer
        dtype = trainer.model.dtype
        self.train = source(train, "train", dtype)
        self.validation = None if validation is None else source(validation, "validation", dtype)
        self._find_context(train)
        self._check_sizes()
        spread = self.train.spread() if self._noise() else np.ones(self.layout.dim)
        self.step = self._make_step(trainer.model._parameters, spread)
        shown = trainer.model._parameters if trainer._average is None else trainer._average
        self._judge = self.step if shown is trainer.model._parameters else self._make_step(shown, spread)
        self.terms = tuple(name for name, weight in zip(TERMS, self._weights(), strict=True) if self._counts(name, weight))

    # ---- set-up ---------------------------------------------------------------------------------

    def _find_context(self, train) -> None:
        """Skeleton, feet, scale, rate: from the data where they know, else from the trainer's options."""
        trainer, o = self._trainer, self._options
        bare = isinstance(self.train, ArraySource)
        spec = trainer._spec if bare else train.spec
        normalizer = trainer._normalizer if bare else train.normalizer
        self._skeleton, self._feet = trainer._skeleton, trainer._feet
        if not bare and self._skeleton is None:
            self._skeleton = train.skeleton
        if not bare and not self._feet and o["contact_weight"] > 0 and self._skeleton is not None:
            self._feet = tuple(foot[0] for foot in self._skeleton.find_feet())  # the ankles
        self.fps = o["fps"] if bare or train.fps is None else float(train.fps)
        if spec is not None:
            self.layout = _layout.from_spec(spec, self._skeleton)
        elif self._skeleton is not None:
            self.layout = _layout.from_skeleton(self.train.dim, self._skeleton, len(self._feet))
        else:
            self.layout = _layout.Layout(self.train.dim)
        dim = self.layout.dim
        self._mean, self._scale = np.zeros(dim), np.ones(dim)
        if normalizer is not None:
            self._mean, self._scale = _scaling(normalizer, dim)
        self._stride = 0.0
        if o["rotation_loss"] != "component" and not self.layout.width:
            raise ValueError(f"rotation_loss={o['rotation_loss']!r} needs spec= or skeleton= for bare arrays")
        if o["contact_weight"] > 0:
            self._check_contacts(bare)
        if max(o["rollout"]) > 1:
            self._set_phase_source()
        else:
            self._source = GIVEN

    def _check_contacts(self, bare: bool) -> None:
        if self._skeleton is None or not self._feet:
            what = "bare arrays" if bare else "this WindowDataset"
            raise ValueError(f"contact_weight={self._options['contact_weight']:g} needs skeleton= and feet= for {what}")
        if self.layout.contacts < 0:
            raise ValueError(
                f"contact_weight={self._options['contact_weight']:g} needs contact columns in the features "
                "(FeatureSpec(contacts=True)), got none"
            )

    def _set_phase_source(self) -> None:
        o = self._options
        if o["rollout_phase"] == "label":
            if isinstance(self.train, ArraySource):
                raise ValueError('rollout_phase="label" needs a WindowDataset, got bare arrays')
            self._source = GIVEN
        elif self.layout.phase != _layout.NONE:
            self._source = PREDICTED
        else:
            self._source = SPEED
            self._stride = o["avg_stride"] or self.train.cycle_stride(self._ground_metres)

    def _ground_metres(self, frames: np.ndarray) -> np.ndarray:
        """Metres that the root goes over the ground in each frame."""
        if isinstance(self.train, ArraySource):
            frames = frames[:, :3] * self._scale[:3] + self._mean[:3]
        return np.hypot(frames[:, 0], frames[:, 2]) / self.fps

    def _check_sizes(self) -> None:
        model, layout, steps = self._trainer.model, self.layout, max(self._options["rollout"])
        outputs = max(layout.dim, layout.phase[1], layout.trajectory[1])
        inputs = self.train.length * layout.dim + 4 * len(layout.times)
        if model.in_dim != inputs:
            raise ValueError(
                f"train gives the network {inputs} inputs ({self.train.length} frames of {layout.dim} columns), "
                f"model.in_dim is {model.in_dim}"
            )
        if model.out_dim != outputs:
            raise ValueError(f"train asks the network for {outputs} outputs, model.out_dim is {model.out_dim}")
        for given, name in ((self.train, "train"), (self.validation, "validation")):
            if given is None:
                continue
            if given.dim != layout.dim or given.length != self.train.length:
                raise ValueError(
                    f"{name} must have windows of {self.train.length} frames of {layout.dim} columns, "
                    f"got {given.length} of {given.dim}"
                )
            if given.frames_out < steps:
                raise ValueError(f"{name} must have at least rollout={steps} frames of output, got {given.frames_out}")
            if layout.times and given.tracks is None:
                raise ValueError(f"{name} must be a WindowDataset of clips for a spec with control, got none of their paths")
            if self._weight("phase") > 0 and isinstance(given, ArraySource):
                raise ValueError(f"{name} must be a WindowDataset for a spec with phase_step, got bare arrays")

    def _make_step(self, parameters: np.ndarray, spread: np.ndarray):
        trainer, model, layout = self._trainer, self._trainer.model, self.layout
        network = (*model._sizes, model.n_kernels, model.beta)
        network += (KERNELS.index(model.kernel), ACTIVATIONS.index(model.activation))
        table = (layout.dim, layout.width, layout.slots, layout.heading, layout.yaw_rate, layout.contacts, 1 / self.fps)
        feet = self._feet if self._options["contact_weight"] > 0 else ()
        skeleton = self._skeleton if feet else None
        output = (self.train.length, layout.delta, layout.root, layout.points, layout.phase, layout.trajectory)
        output += (np.array(layout.times, np.float64), self._source, self._stride)
        output += (ROTATION_LOSSES.index(self._options["rotation_loss"]),)
        average = trainer._average if parameters is model._parameters else None
        return _core.TrainStep(
            parameters,
            trainer._first,
            trainer._second,
            average,
            network,
            (*table, self._mean, self._scale, np.ascontiguousarray(spread, np.float64)),
            _layout.kinematics(layout, skeleton, feet),
            output,
        )

    # ---- the loss -------------------------------------------------------------------------------

    def _noise(self) -> bool:
        return self._options["noise"] > 0 or self._options["window_noise"] > 0

    def _random(self) -> bool:
        """Whether a step depends on lots."""
        return self._noise() or self._options["dropout"] > 0

    def _weight(self, term: str) -> float:
        """A term's weight; 0 where its columns do not exist."""
        o, layout = self._options, self.layout
        if term == "pose":
            return 1.0
        if term == "velocity":
            return self._trainer._velocity_weight
        exists = term == "contact" or getattr(layout, term) != _layout.NONE
        return o[term + "_weight"] if exists else 0.0

    def _weights(self) -> tuple[float, ...]:
        return tuple(map(self._weight, TERMS))

    @staticmethod
    def _counts(name: str, weight: float) -> bool:
        return name in ("pose", "velocity") or weight > 0

    def gradient(self, indices: np.ndarray, steps: int, epoch: int) -> tuple[float, ...]:
        """The weighted terms of a batch, its gradient left in the step. ``FloatingPointError`` where they are not finite."""
        o = self._options
        seeds = _core.window_seeds(indices, o["seed"], epoch) if self._random() else None
        return self._run(self.step, self.train, indices, steps, seeds, True)

    def validation_loss(self, steps: int) -> float | None:
        """The mean loss over the validation windows, without noise and dropout."""
        if self.validation is None:
            return None
        total, count, size = 0.0, self.validation.count, self._options["batch_size"] or EVALUATION_ROWS
        for start in range(0, count, size):
            indices = np.arange(start, min(count, start + size))
            total += sum(self._run(self._judge, self.validation, indices, steps, None, False)) * len(indices)
        return total / count

    def _run(self, step, given, indices, steps, seeds, backward) -> tuple[float, ...]:
        o = self._options
        x, y, phase = given.batch(indices)
        phases = rates = None
        places = (None,) * 5
        if steps > 1 and self._source == GIVEN:
            phases = given.phases(indices, steps)
        if self._weight("phase") > 0:
            rates = given.rates(indices, steps)
        if self.layout.times:
            places = given.places(indices)
        return step.gradient(
            *(x, y, phase, phases, rates, *places, seeds),
            *(o["noise"], o["window_noise"], o["dropout"], self._weights(), steps, backward),
        )


def _scaling(normalizer, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """mean_ and scale_ of a fitted normaliser, (dim,) each."""
    if not normalizer.fitted:
        raise ValueError("normalizer must be fitted before it is used, got one that is not")
    if len(normalizer.mean_) != dim:
        raise ValueError(f"normalizer must have {dim} columns as a frame has, got {len(normalizer.mean_)}")
    return np.array(normalizer.mean_, np.float64), np.array(normalizer.scale_, np.float64)
