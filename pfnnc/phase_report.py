"""Labels for the eye: a picture and a page of text."""

import os
import warnings
from pathlib import Path

import numpy as np

from ._body import make_body
from ._check import path as checked_path
from ._files import written_whole
from .phase import cycle_statistics, drop_outlier_cycles, phase_histogram
from .phase_files import save_labels, save_phase
from .phase_label import Labels, find_joints, label_phase
from .skeleton import Clip

__all__ = ["label_report", "plot_labels"]

COLOURS = ("tab:blue", "tab:red")  # left, right


def plot_labels(clip: Clip, labels: Labels | None = None, *, feet=None, axes=None):
    """Phase with its confidence, heights of the feet with contacts and strikes, and the height against the phase.

    ``labels``: those of ``label_phase(clip, feet=feet)`` where None. ``axes``: three Matplotlib axes to draw on, else a
    new figure. Returns them.
    """
    labels = label_phase(clip, feet=feet) if labels is None else labels
    if not isinstance(labels, Labels):
        raise TypeError(f"labels must be Labels, got {type(labels).__name__}")
    if len(labels) != len(clip):
        raise ValueError(f"labels must have {len(clip)} frames as clip has, got {len(labels)}")
    if axes is None:
        from matplotlib import pyplot

        _, axes = pyplot.subplots(3, 1, figsize=(12, 9), layout="constrained")
    seconds = np.arange(len(clip)) / clip.fps
    axes[0].plot(seconds, labels.phase, "k.", markersize=2)
    axes[0].fill_between(seconds, 0, labels.confidence, color="0.85", zorder=0, label="confidence")
    axes[0].set(ylabel="phase", ylim=(0, 1), title=f"{clip.name}: {labels!r}")
    axes[0].title.set_parse_math(False)  # a name may have dollar signs
    axes[0].legend(loc="upper right")
    axes[1].set(xlabel="s", ylabel="ankle height, m; bars: contacts; lines: strikes")
    axes[2].set(xlabel="phase", ylabel="ankle height, m", xlim=(0, 1))
    ankles = make_body(clip, find_joints(clip.skeleton, feet)).ankles if len(clip) else np.zeros((0, 2, 3))
    low = ankles[..., 1].min(initial=0.0)
    for foot, (colour, name) in enumerate(zip(COLOURS, ("left", "right"), strict=True)):
        height = ankles[:, foot, 1]
        axes[1].plot(seconds, height, color=colour, linewidth=1, label=name)
        axes[1].plot(seconds, np.where(labels.contacts[:, foot], low - 0.02 - 0.02 * foot, np.nan), color=colour, linewidth=4)
        for strike in labels.strikes[foot]:
            axes[1].axvline(strike / clip.fps, color=colour, linewidth=0.5)
        axes[2].plot(labels.phase, height, ".", color=colour, markersize=2, label=name)
    axes[1].legend(loc="upper right")
    return axes


def label_report(clip: Clip, folder: str | os.PathLike | None = None, *, method: str = "contacts", feet=None) -> str:
    """Label a clip and say what was found; with ``folder`` (made where missing) also write ``NAME.npz``
    (`save_labels`), ``NAME.phase`` (`save_phase`) and, where Matplotlib is there, ``NAME.png`` (`plot_labels`).

    The text: share of frames with a phase, cycles, their length, stride and speed, the cycles that
    `drop_outlier_cycles` would drop, contacts, how evenly the phase is covered, the files written.

    >>> import pfnnc
    >>> print(label_report(pfnnc.make_gait_clip("walk", seconds=8.0, speed=1.2).clip).splitlines()[0])
    walk: 241 frames, 30 a second; 100% have a phase
    """
    folder = None if folder is None else checked_path(folder, "folder")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        labels = label_phase(clip, method, feet=feet)
    lines = _text(clip, labels) + [f"  note: {warning.message}" for warning in caught]
    if folder is not None:
        lines.append("  written: " + ", ".join(str(path) for path in _write(clip, labels, folder, feet)))
    return "\n".join(lines)


def _text(clip: Clip, labels: Labels) -> list[str]:
    has = ~np.isnan(labels.phase)
    share = has.mean() if len(has) else 0.0
    if not has.all():
        share = min(share, 0.99)  # "100%" says all
    lines = [f"{clip.name or 'clip'}: {len(clip)} frames, {clip.fps:g} a second; {share:.0%} have a phase"]
    statistics = cycle_statistics(labels.phase, clip.root_positions, clip.fps)
    if len(statistics):
        far = int(np.isnan(drop_outlier_cycles(labels.phase)).sum() - (~has).sum())
        seconds = statistics.seconds
        lines.append(
            f"  {len(statistics)} whole cycles: {seconds.mean():.3f} s ({seconds.min():.3f} to {seconds.max():.3f}), "
            f"stride {statistics.avg_stride:.3f} m, {statistics.speed.mean():.3f} m/s; "
            f"{far} frames in cycles of unusual length"
        )
    if has.any():
        counts = phase_histogram(labels.phase, 10)
        lines.append(
            f"  confidence {labels.confidence[has].mean():.2f}; tenths of the cycle hold "
            f"{counts.min() / has.sum():.0%} to {counts.max() / has.sum():.0%} of the frames"
        )
    if len(has) and not has.all():
        standing, none = (labels.contacts.all(axis=1) & ~has).sum(), (~has).sum()
        which = "frame has" if none == 1 else "frames have"
        lines.append(f"  {none} {which} none: {standing} with both feet on the ground, {none - standing} others")
    left, right = labels.contacts.mean(axis=0) if len(has) else (0.0, 0.0)
    lines.append(f"  in contact: left {left:.0%}, right {right:.0%}")
    return lines


def _write(clip: Clip, labels: Labels, folder: Path, feet) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    # a name may be anything, also a way out of the folder
    name = "".join(c if c.isalnum() or c in " ._-" else "_" for c in clip.name)[:100].strip(" .") or "clip"
    paths = [folder / f"{name}.npz", folder / f"{name}.phase"]
    save_labels(paths[0], labels)
    save_phase(paths[1], labels)
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError:
        return paths
    try:
        find_joints(clip.skeleton, feet)
    except ValueError:
        return paths  # nothing to draw feet from
    figure = Figure(figsize=(12, 9), layout="constrained")
    FigureCanvasAgg(figure)
    plot_labels(clip, labels, feet=feet, axes=figure.subplots(3, 1))
    paths.append(folder / f"{name}.png")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # of a name in a script that the font lacks
        with written_whole(paths[-1]) as file:
            figure.savefig(file, format="png", dpi=80)
    return paths
