"""Training of phase-functioned networks, without PyTorch.

The loss (weights are `Trainer`'s options):

``pose``
    SmoothL1 (beta 1, mean) of the prediction against ``Y[:, 0]``.
``velocity``
    0.1 x SmoothL1 of ``pred[:, :3] - X[:, -1, :3]`` against ``Y[:, 0, :3] - X[:, -1, :3]``, as in the article. The input
    cancels in it: it is a second weight on the velocity and no more.
``contact``
    contact x length of the foot's step, in metres, between the last input frame and the prediction, by forward
    kinematics of both, mean over windows and feet; contacts are those of ``Y[:, 0]``.

AdamW (Loshchilov, Hutter 2019), the cosine schedule and SmoothL1 have PyTorch's semantics and numbers. With
``rollout=k`` every term is a mean over k steps in which the network's own predictions, made valid, enter the window.
"""

import glob
import json
import math
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np

from . import _check, _core
from ._progress import Progress
from ._train_work import ROTATION_LOSSES, TERMS, Work
from .features import FeatureSpec
from .network import SimplifiedPFNN
from .normalizer import Normalizer
from .skeleton import Skeleton

__all__ = ["EpochReport", "Trainer"]

AUTO_SHARE = 0.25  # of the velocity term in the loss, with velocity_weight="auto"
MOST_STEPS = 10_000  # of a roll-out
MOST_COUNT = 1 << 53  # of what is counted in floating point
FIRST_WEIGHT = 0.1  # of the velocity term, and before "auto" has seen an epoch


@dataclass(frozen=True)
class EpochReport:
    """What an epoch did.

    Attributes
    ----------
    epoch : int
        From 1.
    lr : float
        The learning rate at its start.
    loss : float
        Mean over its windows, before each step.
    terms : dict
        The weighted terms by name, which sum to the loss.
    shares : dict
        Each term's share of the loss.
    validation_loss : float or None
        On the validation windows, after the epoch.
    """

    epoch: int
    lr: float
    loss: float
    terms: dict[str, float]
    shares: dict[str, float]
    validation_loss: float | None = None


class Trainer:
    """Trains a `SimplifiedPFNN` in place: AdamW, a cosine schedule stepped once an epoch, the loss of this module.

    What stands under the other parameters is off by default.

    Parameters
    ----------
    model : SimplifiedPFNN
    lr, weight_decay, betas, eps
        Of AdamW.
    t_max, eta_min
        The rate goes from ``lr`` to ``eta_min`` along half a cosine over ``t_max`` epochs, and on along it after them.
    velocity_weight : float or "auto"
        "auto" gives the velocity term a quarter of the loss: before each epoch the weight that would have done so in
        the epoch before.
    contact_weight : float
        The article uses 5. Needs contact columns in the features, and, where the data are bare arrays, ``skeleton``
        and ``feet`` (names or indices of joints, ``<joint>_end`` for an end site; one for each contact column). A
        `WindowDataset` of clips has a skeleton, whose ankles are the feet where its names tell them.
    rollout : int or sequence of int
        Steps that a window is rolled out in training, with the gradient through all of them. (4, 8, 16): the
        length for each third of ``t_max`` epochs.
    noise : float
        Normal noise on the input window, in units of each column's spread, drawn for each column and frame.
    batch_size : int or None
        None: all windows at once.
    shuffle : bool
        The order of an epoch depends on seed and epoch alone. False: windows as they stand.
    seed : int

    Other Parameters
    ----------------
    spec, normalizer, fps, avg_stride
        What bare arrays do not tell and a `WindowDataset` does: the `FeatureSpec` and `Normalizer` they were made
        with, frames a second, and metres a gait cycle. Needed for roll-outs (valid rotations, phase) and contacts.
        Bare arrays without ``spec`` are velocity, orientation, the skeleton's joints, contacts; without ``skeleton``
        too, roll-outs leave predicted rotations as they come. Without ``avg_stride`` it is measured on the windows;
        where these do not overlap, the phase stays as it is during a roll-out.
    rollout_phase : "advance" or "label"
        The phase of later steps: by the prediction (speed / avg_stride, or the network's own phase step), or as
        recorded (WindowDataset only).
    window_noise : float
        Like ``noise``, one draw for each column, held over the window.
    dropout : float
        The share of each layer's inputs, drawn anew for every window and roll-out step, that is taken for 0 in
        training; the rest is divided by 1 - dropout, as in PyTorch. As in the code of PFNN's authors (Holden et al.
        2017, with 0.3), it is the input of the network that is dropped as well as its hidden units.
    root_weight, points_weight, phase_weight, trajectory_weight : float
        Terms on columns that exist only with such a ``spec``: yaw rate and height, points, the phase's rate, the
        predicted trajectory.
    clip_norm : float or None
        Largest norm of the gradient.
    warmup : int
        Steps over which the rate rises from 0.
    schedule : "epoch" or "step"
        Whether the cosine moves once an epoch or at every step.
    average : float
        Decay of a running mean of the weights (`averaged`); 0 for none. In the first steps t it is (1 + t) / (10 + t).
    rotation_loss : "component", "sign" or "geodesic"
        How the pose term compares rotations: number by number; the same against the nearer of q and -q; or SmoothL1 of
        the angle between them in radians, for each rotation as often as it has columns.

    ``TypeError`` and ``ValueError`` name the option that is wrong.

    >>> import numpy as np
    >>> from pfnnc import SimplifiedPFNN
    >>> rng = np.random.default_rng(0)
    >>> X, Y, P = rng.normal(size=(64, 2, 5)), rng.normal(size=(64, 1, 5)), rng.random(64)
    >>> trainer = Trainer(SimplifiedPFNN(10, 5, hidden=16, seed=0), batch_size=16).fit((X, Y, P), epochs=3)
    >>> trainer.epoch, sorted(trainer.history[-1].terms)
    (3, ['pose', 'velocity'])
    """

    def __init__(
        self,
        model: SimplifiedPFNN,
        *,
        lr: float = 1e-3,
        weight_decay: float = 1e-4,
        betas: Sequence[float] = (0.9, 0.999),
        eps: float = 1e-8,
        t_max: int = 200,
        eta_min: float = 1e-5,
        velocity_weight: float | str = 0.1,
        contact_weight: float = 0.0,
        skeleton=None,
        feet: Sequence = (),
        rollout: int | Sequence[int] = 1,
        noise: float = 0.0,
        batch_size: int | None = 256,
        shuffle: bool = True,
        seed: int = 0,
        spec=None,
        normalizer=None,
        fps: float = 30.0,
        avg_stride: float | None = None,
        rollout_phase: str = "advance",
        window_noise: float = 0.0,
        dropout: float = 0.0,
        root_weight: float = 0.0,
        points_weight: float = 0.0,
        phase_weight: float = 0.05,
        trajectory_weight: float = 0.1,
        clip_norm: float | None = None,
        warmup: int = 0,
        schedule: str = "epoch",
        average: float = 0.0,
        rotation_loss: str = "component",
    ):
        given = dict(locals())  # the plain options are named once, in the signature
        if not isinstance(model, SimplifiedPFNN):
            raise TypeError(f"model must be a SimplifiedPFNN, got {type(model).__name__}")
        self._model = model
        self._options = _checked(given)
        self._skeleton, self._feet = _one_of(skeleton, "skeleton", Skeleton), _feet(feet)
        self._spec, self._normalizer = _one_of(spec, "spec", FeatureSpec), _one_of(normalizer, "normalizer", Normalizer)
        size, dtype = model._parameters.size, model.dtype
        self._first, self._second = np.zeros(size, dtype), np.zeros(size, dtype)
        self._average = model._parameters.copy() if average > 0 else None
        self._steps = 0
        self._history: list[EpochReport] = []
        self._velocity_weight = FIRST_WEIGHT if velocity_weight == "auto" else self._options["velocity_weight"]
        self._partial = _Partial()
        self._running = False
        self.about: dict = {}
        """What the run is, for people: anything that JSON can hold. Kept in checkpoints."""

    @property
    def model(self) -> SimplifiedPFNN:
        """The network that is trained."""
        return self._model

    @property
    def epoch(self) -> int:
        """Epochs done."""
        return len(self._history)

    @property
    def lr(self) -> float:
        """The learning rate of the next epoch."""
        return self._rate(self.epoch)

    @property
    def history(self) -> list[EpochReport]:
        """One report for each epoch done."""
        return self._history

    def averaged(self) -> SimplifiedPFNN:
        """A network with the running mean of the weights (``average=``); ``ValueError`` without one."""
        if self._average is None:
            raise ValueError("average must be greater than 0 for a running mean of the weights, got 0")
        model = self._model.__copy__()
        model._parameters[...] = self._average
        return model

    def fit(
        self,
        train,
        validation=None,
        *,
        epochs: int = 200,
        max_seconds: float | None = None,
        checkpoint: str | os.PathLike | None = None,
        callback: Callable[[EpochReport], object] | None = None,
        progress: bool | None = None,
        patience: int | None = None,
        best: str | os.PathLike | None = None,
    ) -> Self:
        """Train until ``epochs`` are done in all, so that the same call resumes after an interruption.

        Parameters
        ----------
        train, validation : WindowDataset or (X (N, L, F), Y (N, M, F), P (N,))
            Numbers are taken as they come and are not changed.
        max_seconds : float or None
            Stop after the step in which this time is over; the same call goes on from there, in the same bits.
        checkpoint : path or None
            Saved after each epoch, before ``callback(report)``. The file before it stays beside it as ``<name>.previous``.
        progress : bool or None
            A bar on standard error; None: on a terminal, for work of more than two seconds.
        patience : int or None
            Stop early after so many epochs without a new least validation loss.
        best : path or None
            A checkpoint of the epoch with the least validation loss.

        Raises
        ------
        ValueError, TypeError
            Shapes, numbers that are not finite (``X[7, 2, 5]``), phases outside [0, 1], no window.
        FloatingPointError
            The loss is not finite; the last checkpoint is intact.
        OSError
            The checkpoint cannot be written; the old one is intact.
        KeyboardInterrupt
            After Ctrl-C, once the step is finished and the checkpoint, if there is one, is saved.
        """
        epochs = _check.integer(epochs, "epochs", least=0)
        limit = None if max_seconds is None else _check.number(max_seconds, "max_seconds", least=0)
        if callback is not None and not callable(callback):
            raise TypeError(f"callback must be callable or None, got {type(callback).__name__}")
        progress = None if progress is None else _check.flag(progress, "progress")
        checkpoint = None if checkpoint is None else _place_for(checkpoint)
        if checkpoint is not None:
            _sweep(checkpoint)
        best = None if best is None else _place_for(best, "best")
        patience = None if patience is None else _check.integer(patience, "patience", least=1)
        if validation is None and (best is not None or patience is not None):
            raise ValueError("patience and best need validation windows, got validation=None")
        work = Work(self, train, validation)
        end = math.inf if limit is None else time.monotonic() + limit
        with self._alone(), _Interrupts() as interrupts, self._bar(epochs, work, progress) as bar:
            while self.epoch < epochs:
                if not self._run_epoch(work, end, interrupts, bar):
                    break
                self._finish_epoch(work)
                if checkpoint is not None:
                    self._save_beside_previous(checkpoint)
                if best is not None and self._since_best() == 0:
                    self.save(best)
                if callback is not None:
                    callback(self._history[-1])
                if interrupts.came or time.monotonic() >= end or (patience is not None and self._since_best() >= patience):
                    break
            if interrupts.came:
                self._stopped(checkpoint)
        return self

    def save(self, path: str | os.PathLike) -> None:
        """Write weights, moments, options and history to one checksummed file, whole or not at all (``OSError``).

        ``FloatingPointError`` where the weights are not finite: nobody could go on from them, and an older file may be there.
        """
        from .checkpoint import write

        write(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """The trainer of a file that `save` or ``fit(checkpoint=)`` wrote; its next ``fit`` goes on in the same bits.

        ``FileNotFoundError``; ``ValueError`` where the file is damaged or something else.
        """
        from .checkpoint import read

        return read(cls, path)

    def summary(self) -> str:
        """A few lines for people: network, how far it is, options, what it was told it is."""
        lines = [f"a training run, {self.epoch} epochs done", f"  network   {self._model!r}"]
        if self._history:
            last = self._history[-1]
            shares = ", ".join(f"{name} {100 * share:.0f} %" for name, share in last.shares.items())
            lines.append(f"  loss      {last.loss:.4g} in the last ({shares}), next rate {self.lr:.3g}")
        options = ", ".join(f"{name}={value!r}" for name, value in self._options.items())
        lines.append(f"  options   {options}")
        if self.about:
            lines += [f"  {line}" for line in json.dumps(self.about, indent=2).splitlines()]
        return "\n".join(lines)

    def like(self, other: "Trainer") -> Self:
        """Itself, where options and model are those of another trainer; else ``ValueError`` naming what differs.

        For a run that is told anew what it does before it goes on from a checkpoint.
        """
        if not isinstance(other, Trainer):
            raise TypeError(f"other must be a Trainer, got {type(other).__name__}")
        if repr(self._model) != repr(other._model):
            raise ValueError(f"the checkpoint's model is {self._model!r}, expected {other._model!r}")
        for name, wanted in other._options.items():
            if self._options[name] != wanted:
                shown, why = name, ""
                if name == "t_max":
                    shown, why = "t_max (the number of epochs)", ", as the learning rate falls over all epochs"
                raise ValueError(
                    f"the checkpoint was made with {shown}={self._options[name]!r}, expected {wanted!r}{why}; "
                    "without the checkpoint's file the run begins anew"
                )
        return self

    # ---- one epoch ------------------------------------------------------------------------------

    def _rate(self, at: float) -> float:
        """The learning rate after so many epochs."""
        o = self._options
        return o["eta_min"] + (o["lr"] - o["eta_min"]) * (1 + math.cos(math.pi * at / o["t_max"])) / 2

    def _rollout_at(self, at: float) -> int:
        lengths = self._options["rollout"]
        return lengths[min(len(lengths) - 1, int(at * len(lengths) / self._options["t_max"]))]

    def _run_epoch(self, work: Work, end: float, interrupts: "_Interrupts", bar: Progress) -> bool:
        """The rest of the epoch, a batch at a time; False where it was stopped within."""
        o, partial, count = self._options, self._partial, work.train.count
        size = count if o["batch_size"] is None else min(o["batch_size"], count)
        if partial.shape != (count, size):  # other data than those of the part that was done
            self._partial = partial = _Partial(shape=(count, size))
        order = _core.shuffled(count, o["seed"], self.epoch) if o["shuffle"] else np.arange(count)
        batches = -(-count // size)
        for number in range(partial.batches, batches):
            indices = order[number * size : (number + 1) * size]
            at = self.epoch + (number / batches if o["schedule"] == "step" else 0)
            losses = work.gradient(indices, self._rollout_at(at), self.epoch)
            self._step(work, self._rate(at))
            partial.sums += np.array(losses) * len(indices)
            partial.batches = number + 1
            bar.update(note=_note(losses))
            if number + 1 < batches and (interrupts.came or time.monotonic() >= end):
                return False
        return True

    def _step(self, work: Work, rate: float) -> None:
        o = self._options
        self._steps += 1
        if self._steps < o["warmup"]:
            rate *= self._steps / o["warmup"]
        clip = 0.0 if o["clip_norm"] is None else o["clip_norm"]
        # a young mean follows faster, or a short run would end with much of its start in it
        decay = min(o["average"], (1 + self._steps) / (10 + self._steps))
        work.step.update(rate, o["weight_decay"], *o["betas"], o["eps"], self._steps, clip, decay)

    def _finish_epoch(self, work: Work) -> None:
        """Close the epoch: its report, the next velocity weight."""
        if not np.isfinite(self._model._parameters).all():
            raise FloatingPointError(f"the weights are not finite after epoch {self.epoch + 1}")
        means = self._partial.sums / work.train.count
        terms = {name: float(means[TERMS.index(name)]) for name in work.terms}
        loss = float(sum(terms.values()))
        shares = {name: value / loss if loss > 0 else 0.0 for name, value in terms.items()}
        report = EpochReport(self.epoch + 1, self.lr, loss, terms, shares, work.validation_loss(self._rollout_at(self.epoch)))
        self._history.append(report)
        self._partial = _Partial()
        if self._options["velocity_weight"] == "auto":
            rest, velocity = loss - terms["velocity"], terms["velocity"] / self._velocity_weight
            if rest > 0 and velocity > 0:
                self._velocity_weight = AUTO_SHARE / (1 - AUTO_SHARE) * rest / velocity

    @contextmanager
    def _alone(self):
        """One `fit` at a time: a callback or another thread that trains the same weights would spoil both."""
        if self._running:
            raise RuntimeError("this trainer is training already")
        self._running = True
        try:
            yield
        finally:
            self._running = False

    def _since_best(self) -> int:
        """Epochs since the one with the least validation loss."""
        losses = [math.inf if r.validation_loss is None else r.validation_loss for r in self._history]
        return len(losses) - 1 - losses.index(min(losses))

    def _bar(self, epochs: int, work: Work, show: bool | None) -> Progress:
        size = self._options["batch_size"] or work.train.count
        return Progress(max(0, epochs - self.epoch) * -(-work.train.count // size), "training", show=show)

    # ---- files ----------------------------------------------------------------------------------

    def _save_beside_previous(self, path: Path) -> None:
        """Save; the file that stood there stays as ``<name>.previous``. At every moment ``path`` is whole."""
        kept = None
        if path.exists():
            kept = path.with_name(f".{path.name}.{os.getpid()}.part")
            kept.unlink(missing_ok=True)
            try:
                os.link(path, kept)
            except OSError:  # a file system without links
                shutil.copyfile(path, kept)
        try:
            self.save(path)
            if kept is not None:
                os.replace(kept, path.with_name(path.name + ".previous"))
        except BaseException:
            if kept is not None:
                kept.unlink(missing_ok=True)
            raise

    def _stopped(self, checkpoint: Path | None) -> None:
        if checkpoint is not None:
            self._save_beside_previous(checkpoint)
            how = f"saved to {checkpoint}; go on with Trainer.load({str(checkpoint)!r}).fit(...)"
        else:
            how = "call fit again to go on; nothing is saved, since checkpoint= was not given"
        print(f"\nstopped in epoch {self.epoch + 1} after {self._partial.batches} batches: {how}", file=sys.stderr)
        raise KeyboardInterrupt


@dataclass
class _Partial:
    """The part of an epoch that is done: for which data and batch size, batches, sums of the terms over their windows."""

    shape: tuple[int, int] | None = None
    batches: int = 0
    sums: np.ndarray = field(default_factory=lambda: np.zeros(len(TERMS)))


class _Interrupts:
    """Within it, the first Ctrl-C only sets ``came``; the second one interrupts as usual."""

    def __init__(self):
        self.came = False
        self._before = None

    def __enter__(self):
        main = threading.current_thread() is threading.main_thread()
        if main and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_):
        self._restore()

    def _note(self, *_):
        self.came = True
        self._restore()

    def _restore(self):
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None


def _note(losses: Sequence[float]) -> str:
    """Loss and shares of a batch, for the progress bar."""
    total = sum(losses)
    shares = " ".join(f"{name} {100 * x / total:.0f} %" for name, x in zip(TERMS, losses, strict=True) if x > 0)
    return f"loss {total:.4g} ({shares})"


def _place_for(path, name: str = "checkpoint") -> Path:
    """The path of a file to write, in a folder that exists."""
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"{name} must be a path or None, got {type(path).__name__}")
    path = Path(os.fsdecode(os.fspath(path)))
    if path.is_dir():
        raise IsADirectoryError(f"{name} must be a file, got the folder {path}")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{name} has no folder to stand in: {path.parent} does not exist")
    return path


def _sweep(path: Path) -> None:
    """Take away what a run that was killed while it saved has left beside its checkpoint."""
    for name in {path.name, path.name[:40]}:  # that of the file put aside is cut
        for left in path.parent.glob(f".{glob.escape(name)}.*.part"):
            left.unlink(missing_ok=True)


def _one_of(value, name: str, kind: type):
    """An instance of ``kind``, or None."""
    if value is not None and not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__} or None, got {type(value).__name__}")
    return value


def _feet(feet) -> tuple:
    if isinstance(feet, (str, bytes)) or not isinstance(feet, (Sequence, np.ndarray)):
        raise TypeError(f"feet must be a sequence of joints, got {feet!r}")
    return tuple(foot if isinstance(foot, str) else _check.integer(foot, f"feet[{i}]") for i, foot in enumerate(feet))


def _whole(value, name: str, least: int, most: int = MOST_COUNT) -> int:
    """An integer in [least, most]; the message names the limit that was crossed."""
    return _check.integer(_check.integer(value, name, least=least), name, most=most)


def _below_one(value, name: str) -> float:
    value = _check.number(value, name, least=0)
    if value >= 1:
        raise ValueError(f"{name} must be less than 1, got {value!r}")
    return value


def _betas(value, name: str) -> list[float]:
    if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, np.ndarray)):
        raise TypeError(f"{name} must be two numbers, got {value!r}")
    if len(value) != 2:
        raise ValueError(f"{name} must be two numbers, got {len(value)}")
    return [_below_one(beta, f"{name}[{i}]") for i, beta in enumerate(value)]


def _lengths(value, name: str) -> list[int]:
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes)):
        if len(value) < 1:
            raise ValueError(f"{name} must have at least one length, got none")
        return [_whole(k, f"{name}[{i}]", 1, MOST_STEPS) for i, k in enumerate(value)]
    return [_whole(value, name, 1, MOST_STEPS)]


def _velocity_weight(value, name: str) -> float | str:
    return _check.option(value, name, ("auto",)) if isinstance(value, str) else _not_negative(value, name)


def _or_none(check: Callable) -> Callable:
    return lambda value, name: None if value is None else check(value, name)


_not_negative, _positive = partial(_check.number, least=0), partial(_check.number, above=0)

OPTIONS: dict[str, Callable] = {  # the plain options of `Trainer`, and what each must be
    "lr": _not_negative,
    "weight_decay": _not_negative,
    "betas": _betas,
    "eps": _not_negative,
    "t_max": partial(_whole, least=1),
    "eta_min": _not_negative,
    "velocity_weight": _velocity_weight,
    "contact_weight": _not_negative,
    "rollout": _lengths,
    "noise": _not_negative,
    "batch_size": _or_none(partial(_check.integer, least=1)),
    "shuffle": _check.flag,
    "seed": partial(_check.integer, least=0, most=2**64 - 1),
    "fps": _positive,
    "avg_stride": _or_none(_positive),
    "rollout_phase": partial(_check.option, choices=("advance", "label")),
    "window_noise": _not_negative,
    "dropout": _below_one,
    "root_weight": _not_negative,
    "points_weight": _not_negative,
    "phase_weight": _not_negative,
    "trajectory_weight": _not_negative,
    "clip_norm": _or_none(_positive),
    "warmup": partial(_whole, least=0),
    "schedule": partial(_check.option, choices=("epoch", "step")),
    "average": _below_one,
    "rotation_loss": partial(_check.option, choices=ROTATION_LOSSES),
}


def _checked(given: Mapping) -> dict:
    """The plain options among these, checked, as JSON can hold them."""
    return {name: check(given[name], name) for name, check in OPTIONS.items()}
