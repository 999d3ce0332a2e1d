"""The history of a training run as a table, a plot, or for TensorBoard."""

import csv
import os
from collections.abc import Sequence

from ._files import written_whole
from .training import EpochReport

__all__ = ["TensorBoardLog", "plot_history", "save_history"]


def save_history(history: Sequence[EpochReport], path: str | os.PathLike) -> None:
    """Write one line an epoch as CSV: epoch, lr, loss, validation_loss, each weighted term, each share.

    Whole or not at all (``OSError``). A term that an epoch did not have stays empty.

    >>> import tempfile, pathlib
    >>> report = EpochReport(1, 1e-3, 0.5, {"pose": 0.4, "velocity": 0.1}, {"pose": 0.8, "velocity": 0.2})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "history.csv")
    ...     save_history([report], path)
    ...     print(path.read_text().splitlines()[0])
    epoch,lr,loss,validation_loss,pose,velocity,pose_share,velocity_share
    """
    history = _reports(history)
    terms = list(dict.fromkeys(name for report in history for name in report.terms))
    with written_whole(path, "w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["epoch", "lr", "loss", "validation_loss", *terms, *(f"{name}_share" for name in terms)])
        for r in history:
            parts = [part.get(name, "") for part in (r.terms, r.shares) for name in terms]
            lines.writerow([r.epoch, r.lr, r.loss, "" if r.validation_loss is None else r.validation_loss, *parts])


def plot_history(history: Sequence[EpochReport], ax=None):
    """Loss, terms and validation loss by epoch, on a logarithmic scale; returns the Matplotlib axes."""
    history = _reports(history)
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(7, 4), layout="constrained")[1]
    epochs = [report.epoch for report in history]
    ax.plot(epochs, [report.loss for report in history], color="black", label="loss")
    for name in dict.fromkeys(name for report in history for name in report.terms):
        values = [report.terms.get(name) or float("nan") for report in history]
        ax.plot(epochs, values, lw=1, label=name)
    if any(report.validation_loss is not None for report in history):
        values = [float("nan") if r.validation_loss is None else r.validation_loss for r in history]
        ax.plot(epochs, values, "k--", label="validation")
    if any(report.loss > 0 for report in history):
        ax.set_yscale("log")
    ax.set(xlabel="epoch", ylabel="loss, weighted terms")
    if history:
        ax.legend()
    return ax


class TensorBoardLog:
    """A callback of `Trainer.fit` that writes each epoch for TensorBoard, where that is installed (``ImportError``).

    ``Trainer(model).fit(data, callback=TensorBoardLog("runs/first"))``
    """

    def __init__(self, folder: str | os.PathLike):
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            try:
                from torch.utils.tensorboard import SummaryWriter
            except ImportError:
                raise ImportError(
                    "TensorBoardLog needs tensorboardX, or torch with tensorboard: neither is installed"
                ) from None
        self._writer = SummaryWriter(os.fspath(folder))

    def __call__(self, report: EpochReport) -> None:
        """Write an epoch."""
        values = {"loss": report.loss, "lr": report.lr, "validation_loss": report.validation_loss}
        values |= {f"terms/{name}": value for name, value in report.terms.items()}
        values |= {f"shares/{name}": value for name, value in report.shares.items()}
        for name, value in values.items():
            if value is not None:
                self._writer.add_scalar(name, value, report.epoch)
        self._writer.flush()


def _reports(history) -> list[EpochReport]:
    """The reports of a history, or of a trainer or model that has one."""
    history = list(getattr(history, "history", history))
    for i, report in enumerate(history):
        if not isinstance(report, EpochReport):
            raise TypeError(f"history[{i}] must be an EpochReport, got {type(report).__name__}")
    return history
