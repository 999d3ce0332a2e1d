"""Plots of motion with Matplotlib, which is optional. Each returns its axes; `save_plots` writes a report's files."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .. import _check
from .._files import written_whole
from ..metrics import bools, joint_amplitude
from ..phase import detect_contacts
from ..rotation import quat_conj, quat_mean, quat_mul, quat_to_exp_map
from ..skeleton import Clip

COLOURS = ("#2f6fde", "#e07b24")


def plot_trajectory(clips: Sequence[Clip], *, titles: Sequence[str] | None = None, axes=None):
    """The root's paths from above, a dot each second. Returns the Matplotlib axes."""
    clips, titles = _named(clips, titles)
    axes = _axes(axes)
    for i, (clip, title) in enumerate(zip(clips, titles, strict=True)):
        x, z = clip.root_positions[:, 0], clip.root_positions[:, 2]
        every = max(1, round(clip.fps))
        axes.plot(x, z, color=COLOURS[i % 2], label=title, lw=1.8, ls=("-", "--")[i % 2])
        axes.plot(x[::every], z[::every], "o", color=COLOURS[i % 2], ms=3.5)
        axes.plot(x[:1], z[:1], "s", color=COLOURS[i % 2], ms=6)
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlabel("x in m")
    axes.set_ylabel("z in m")
    axes.set_title("path from above (square: start, dot: a second)")
    axes.grid(alpha=0.3)
    axes.legend()
    return axes


def plot_joint_angles(clips: Sequence[Clip], joint: str | int, *, titles: Sequence[str] | None = None, axes=None):
    """How far a joint is turned from the mean of the last clip, over time, in degrees. Returns the Matplotlib axes.

    Signed along the axis in which that clip's joint moves most. The last clip is the reference.
    """
    clips, titles = _named(clips, titles)
    axes = _axes(axes)
    joints = [_joint(clip, joint) for clip in clips]
    own = clips[-1].rotations[:, joints[-1]]
    if len(own):
        mean = quat_conj(quat_mean(own))
        main = np.linalg.svd(quat_to_exp_map(quat_mul(mean, own)), full_matrices=False)[2][0]
        for i, (clip, j, title) in enumerate(zip(clips, joints, titles, strict=True)):
            angle = np.degrees(quat_to_exp_map(quat_mul(mean, clip.rotations[:, j])) @ main)
            axes.plot(np.arange(len(clip)) / clip.fps, angle, color=COLOURS[i % 2], label=title, lw=1.3)
    axes.set_ylabel(f"{clips[-1].skeleton.names[joints[-1]]} in degrees", fontsize=8)
    axes.grid(alpha=0.3)
    return axes


def plot_feet(clip: Clip, feet, *, contacts=None, title: str = "", axes=None):
    """Height of the feet over time, thick where they are in contact. Returns the Matplotlib axes.

    ``feet``: names or indices of joints, one a foot. ``contacts`` (T, feet) bool; without it `detect_contacts` finds them.
    """
    (clip,), _ = _named([clip], None)
    axes = _axes(axes)
    joints = [_joint(clip, foot) for foot in _check.sequence(feet, "feet", "joints")]
    if not joints:
        raise ValueError("feet must name at least one joint")
    places = clip.positions()[:, joints]
    if contacts is None:
        contacts = detect_contacts(places, clip.fps)
    contacts = bools(contacts, "contacts")
    if contacts.shape != places.shape[:2]:
        raise ValueError(f"contacts must have shape {places.shape[:2]}, got {contacts.shape}")
    time = np.arange(len(clip)) / clip.fps
    for i, joint in enumerate(joints):
        height = places[:, i, 1]
        axes.plot(time, height, color=COLOURS[i % 2], lw=1.0, label=clip.skeleton.names[joint])
        axes.plot(time, np.where(contacts[:, i], height, np.nan), color=COLOURS[i % 2], lw=4, alpha=0.6)
    axes.set_xlabel("s")
    axes.set_ylabel("height in m")
    axes.set_title(f"{title or clip.name}: feet, thick in contact")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper right")
    return axes


def save_plots(folder: str | os.PathLike, predicted: Clip, reference: Clip, feet=()) -> list[Path]:
    """trajectory.png, joints.png and, with feet, feet.png into a folder that exists. Nothing without Matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return []
    if len(reference) == 0:
        return []
    clips, titles, written = (predicted, reference), ("prediction", "reference"), []

    def save(figure, name):
        path = Path(folder) / name
        with written_whole(path) as file:
            figure.savefig(file, format="png", dpi=110)
        written.append(path)

    figure = Figure(figsize=(7, 7), layout="constrained")
    plot_trajectory(clips, titles=titles, axes=figure.add_subplot())
    save(figure, "trajectory.png")
    joints = _liveliest(reference, feet)
    figure = Figure(figsize=(11, 1.6 * len(joints) + 0.8), layout="constrained")
    panels = np.ravel(figure.subplots(len(joints), 1, sharex=True))
    for axes, joint in zip(panels, joints, strict=True):
        plot_joint_angles(clips, joint, titles=titles, axes=axes)
    panels[0].legend(loc="upper right")
    panels[-1].set_xlabel("s")
    save(figure, "joints.png")
    if feet:
        figure = Figure(figsize=(11, 6), layout="constrained")
        for axes, clip, title in zip(figure.subplots(2, 1, sharex=True), clips, titles, strict=True):
            plot_feet(clip, feet, title=title, axes=axes)
        save(figure, "feet.png")
    return written


def _liveliest(clip: Clip, feet) -> list[int]:
    """The joints above the feet, else the six that move most."""
    legs = []
    for foot in feet:
        chain, joint = [], foot
        while clip.skeleton.parents[joint] >= 0:
            chain.append(int(joint))
            joint = clip.skeleton.parents[joint]
        legs += chain[::-1][:4]
    if legs:
        return list(dict.fromkeys(legs))[:8]
    return np.argsort(-joint_amplitude(clip.rotations), kind="stable")[:6].tolist()


def _named(clips, titles):
    clips = _check.sequence(clips, "clips", "clips")
    for i, clip in enumerate(clips):
        if not isinstance(clip, Clip):
            raise TypeError(f"clips[{i}] must be a Clip, got {type(clip).__name__}")
    if not clips:
        raise ValueError("clips must hold at least one clip")
    titles = [clip.name for clip in clips] if titles is None else _check.sequence(titles, "titles", "strings")
    if len(titles) != len(clips):
        raise ValueError(f"titles must have one entry a clip ({len(clips)}), got {len(titles)}")
    return clips, titles


def _joint(clip: Clip, joint) -> int:
    if isinstance(joint, str):
        return clip.skeleton.index(joint)
    return _check.integer(joint, "joint", least=0, most=len(clip.skeleton) - 1)


def _axes(axes):
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt

    return plt.figure(layout="constrained").add_subplot()
