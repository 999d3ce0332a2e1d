"""One prediction against one reference: every metric, the reference's own value beside it, pass or fail.

`evaluate` makes a `Report`. It prints as a table, is a mapping from names to `Result`, and goes to JSON and plots.
"""

import json
import os
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from . import _check
from ._files import written_whole
from .metrics import (
    cadence_error,
    drift_per_metre,
    end_drift,
    feet_and_contacts,
    foot_skate,
    foot_slide,
    joint_amplitude,
    l2p,
    l2q,
    npss,
    path_ratio,
    penetration_and_float,
    phase_agreement,
    rmse,
    trajectory_correlation,
    yaw_rate_error,
    yaw_smoothness,
)
from .phase import detect_contacts
from .phase_label import label_phase
from .rotation import quat_unroll
from .skeleton import Clip, in_order_of

__all__ = ["Report", "Result", "evaluate"]

NAN = float("nan")
MOVES = 0.03  # radians; a joint with less amplitude in the reference has no ratio


@dataclass(frozen=True)
class Result:
    """One line of a report. ``passed`` is None where there is no goal or no value."""

    value: float
    goal: float | tuple[float, float] | None = None
    passed: bool | None = None
    reference: float = field(default=NAN, compare=False)
    """The same measure of the reference motion by itself, NaN where that says nothing."""
    unit: str = field(default="", compare=False)

    def __iter__(self) -> Iterator:
        """``value, goal, passed = result``."""
        return iter((self.value, self.goal, self.passed))


@dataclass(frozen=True)
class Goal:
    """What a value has to be. ``sign`` is ">", "<", "<=" or "in"."""

    sign: str
    bound: float | tuple[float, float]

    def holds(self, value: float) -> bool | None:
        if np.isnan(value):
            return None
        if self.sign == "in":
            return self.bound[0] <= value <= self.bound[1]
        return {">": value > self.bound, "<": value < self.bound, "<=": value <= self.bound}[self.sign]

    def __str__(self) -> str:
        return f"{self.bound[0]:g} .. {self.bound[1]:g}" if self.sign == "in" else f"{self.sign} {self.bound:g}"


GOALS = {
    "trajectory_correlation": Goal(">", 0.9),
    "foot_skate": Goal("<", 0.01),
    "yaw_smoothness": Goal("<=", 0.5),
    "path_ratio": Goal("in", (0.75, 1.35)),
    "cadence_error": Goal("in", (-0.2, 0.2)),
    "amplitude_ratio": Goal("in", (0.7, 1.3)),
}
"""The article's three goals, and what the three let through: another speed, another cadence, a motion that dies."""

UNITS = {
    "end_drift": "m",
    "rmse": "m",
    "yaw_smoothness": "rad/frame",
    "yaw_rate_error": "rad/s",
    "slide_median": "mm",
    "slide_90": "mm",
    "penetration": "mm",
    "float": "mm",
    "l2p": "m",
}


class Report(Mapping):
    """Names to `Result`, in the order in which they are printed.

    ``contact`` says what a contact was taken to be, ``joints`` holds the amplitude ratio of each joint. ``passed``
    is True where nothing failed; a measure without a value (NaN) neither passes nor fails.
    """

    def __init__(self, results: Mapping[str, Result], *, contact: str = "", joints=None, clips=None):
        self._results = dict(results)
        self.contact = contact
        self.joints = dict(joints or {})
        self._clips = clips

    def __getitem__(self, name: str) -> Result:
        return self._results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    @property
    def passed(self) -> bool:
        """Whether no metric failed."""
        return all(result.passed is not False for result in self.values())

    def __repr__(self) -> str:
        return f"<Report: {len(self)} metrics, {'passed' if self.passed else 'failed'}>"

    def __str__(self) -> str:
        rows = [("metric", "prediction", "reference", "goal", "", "")]
        for name, result in self.items():
            goal = str(GOALS[name]) if name in GOALS and result.goal is not None else ""
            verdict = {True: "pass", False: "FAIL", None: "no value" if np.isnan(result.value) else ""}[result.passed]
            rows.append((name, _figure(result.value), _figure(result.reference, "-"), goal, verdict, result.unit))
        widths = [max(len(row[i]) for row in rows) for i in range(6)]
        lines = [
            f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}} {row[5]:<{widths[5]}}  {row[2]:>{widths[2]}}  "
            f"{row[3]:<{widths[3]}}  {row[4]}".rstrip()
            for row in rows
        ]
        lines.insert(1, "-" * max(map(len, lines)))
        moving = [f"{name}={ratio:.2f}" for name, ratio in self.joints.items() if np.isfinite(ratio)]
        if moving:
            lines += textwrap.wrap(
                f"amplitude of each joint: {' '.join(moving)}", 120, subsequent_indent="  ", break_on_hyphens=False
            )
        lines.append(f"contact: {self.contact or 'no feet were named, so nothing is said about them'}")
        judged = [result.passed for result in self.values() if result.passed is not None]
        lines.append(f"{sum(judged)} of {len(judged)} goals reached")
        return "\n".join(lines)

    def to_json(self) -> str:
        """Strict JSON (RFC 8259): no NaN, infinities are null too.

        ``{"passed": bool, "metrics": {name: {"value": number or null, "goal": ..., "passed": ...}}, "reference":
        {name: number or null}, "contact": text, "joints": {name: amplitude ratio or null}}``
        """
        metrics = {
            name: {
                "value": _json_number(result.value),
                "goal": list(result.goal) if isinstance(result.goal, tuple) else result.goal,
                "passed": result.passed,
            }
            for name, result in self.items()
        }
        content = {
            "passed": self.passed,
            "metrics": metrics,
            "reference": {name: _json_number(result.reference) for name, result in self.items()},
            "contact": self.contact,
            "joints": {name: _json_number(value) for name, value in self.joints.items()},
        }
        return json.dumps(content, indent=2, allow_nan=False)

    def save(self, folder: str | os.PathLike) -> list[Path]:
        """Write report.json, and trajectory.png, joints.png and feet.png where Matplotlib is there. The paths written.

        The folder is made where it is missing. ``OSError`` where it cannot be written.
        """
        folder = _check.path(folder, "folder")
        folder.mkdir(parents=True, exist_ok=True)
        written = [folder / "report.json"]
        with written_whole(written[0], "w", encoding="utf-8") as file:
            file.write(self.to_json() + "\n")
        if self._clips is not None:
            from .viewer.plots import save_plots  # the viewer stands to the right of the metrics

            written += save_plots(folder, *self._clips)
        return written


def _figure(value: float, missing: str = "undefined") -> str:
    if np.isnan(value):
        return missing
    value = value if abs(value) > 1e-9 else 0.0
    return f"{value:.4g}" if abs(value) >= 1000 or 0 < abs(value) < 1e-4 else f"{value:.4f}"


def _json_number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def evaluate(predicted: Clip, reference: Clip, *, contacts=None, feet=()) -> Report:
    """Every metric of ``predicted`` against ``reference``: two clips of one length, rate and set of joints, in any order.

    ``feet``: names (or indices) of the joints that stand on the ground, one a foot, left first; without them nothing is
    said about feet. ``contacts``: (T, feet) bool, when each foot should stand; it is used for both columns. Without it
    each clip's contacts are found by `detect_contacts`, whose limits are fixed.

    The path is compared through `trajectory_correlation` of the predicted root's backward differences. ``l2p`` is
    of joint positions in the world in metres, ``l2q`` and ``npss`` of joint rotations in the world. ``penetration``
    and ``float`` are of the lowest foot against the reference's floor (its 5th percentile). ``amplitude_ratio``
    pools the joints between the root and the feet, or all joints that move where no feet are named; each joint's
    own is in ``.joints``.

    >>> from pfnnc import make_gait_clip
    >>> clip = make_gait_clip("walk", seconds=3.0).clip
    >>> report = evaluate(clip, clip, feet=("LeftFoot", "RightFoot"))
    >>> report.passed, report["foot_skate"]
    (True, Result(value=0.0, goal=0.01, passed=True, reference=0.0, unit=''))
    """
    predicted = _matching(predicted, reference)
    feet = _foot_joints(reference, feet)
    if contacts is not None and not feet:
        raise ValueError("contacts need feet: name the joints that they are of")
    values: dict[str, tuple[float, float]] = {}
    _root_metrics(values, predicted, reference)
    places = predicted.positions(), reference.positions()
    contact = _foot_metrics(values, predicted.fps, [p[:, feet] for p in places], contacts) if feet else ""
    if len(feet) == 2:
        _phase_metrics(values, (predicted, reference), feet)
    joints = _amplitudes(values, predicted, reference, feet)
    _pose_metrics(values, predicted, reference, places)
    results = {}
    for name, (value, own) in values.items():
        goal = GOALS.get(name)
        passed = goal.holds(value) if goal else None
        results[name] = Result(value, goal.bound if goal else None, passed, own, UNITS.get(name, ""))
    return Report(results, contact=contact, joints=joints, clips=(predicted, reference, feet))


def _matching(predicted, reference) -> Clip:
    """The prediction with its joints in the reference's order."""
    for clip, name in ((predicted, "predicted"), (reference, "reference")):
        if not isinstance(clip, Clip):
            raise TypeError(f"{name} must be a Clip, got {type(clip).__name__}")
    if len(predicted) != len(reference):
        raise ValueError(f"predicted has {len(predicted)} frames, reference has {len(reference)}")
    if abs(predicted.fps - reference.fps) > 1e-4 * reference.fps:
        raise ValueError(f"predicted has {predicted.fps:g} frames a second, reference has {reference.fps:g}")
    names, own = predicted.skeleton.names, reference.skeleton.names
    if names == own:
        return predicted
    found = in_order_of(predicted, reference.skeleton)
    if found is None:
        first = next((i for i, (a, b) in enumerate(zip(names, own, strict=False)) if a != b), min(len(names), len(own)))
        raise ValueError(f"predicted has other joints than reference ({len(names)} and {len(own)}), from joint {first} on")
    return found


def _foot_joints(clip: Clip, feet) -> list[int]:
    feet = _check.sequence(feet, "feet", "joint names")
    joints = []
    for i, foot in enumerate(feet):
        if isinstance(foot, str):
            joints.append(clip.skeleton.index(foot))
        else:
            joints.append(_check.integer(foot, f"feet[{i}]", least=0, most=len(clip.skeleton) - 1))
    return joints


def _root_metrics(values, predicted: Clip, reference: Clip):
    path, own = predicted.root_positions, reference.root_positions
    fps, n = reference.fps, len(path)
    values["trajectory_correlation"] = _correlation(path, own, fps), _correlation(own, own, fps)
    values["path_ratio"] = path_ratio(path, own), path_ratio(own, own)
    values["end_drift"] = (end_drift(path, own) if n else NAN, NAN)
    values["drift_per_metre"] = (drift_per_metre(path, own) if n else NAN, NAN)
    values["rmse"] = (rmse(path, own), NAN)
    turns, own_turns = predicted.rotations[:, 0], reference.rotations[:, 0]
    values["yaw_smoothness"] = (yaw_smoothness(turns), yaw_smoothness(own_turns))
    values["yaw_rate_error"] = (yaw_rate_error(turns, own_turns, fps), NAN)


def _correlation(path: np.ndarray, own: np.ndarray, fps: float) -> float:
    """Of the path by its backward differences; NaN for fewer than 2 frames."""
    if len(path) < 2:
        return NAN
    steps = np.diff(path, axis=0, prepend=path[:1]) * fps
    return trajectory_correlation(steps, own, fps).overall


def _foot_metrics(values, fps, places, contacts) -> str:
    """Skate, slide and floor of both clips. What a contact is, in words."""
    if contacts is None:
        on = [detect_contacts(ankles, fps) for ankles in places]
        words = (
            "found in each clip: less than 0.02 m above its own floor, from under 0.15 m/s until over 0.24 m/s, 0.1 s or longer"
        )
    else:
        given = feet_and_contacts(places[1], contacts)[1]
        on = [given, given]
        words = "as given, the same for both columns"
    pairs = list(zip(places, on, strict=True))
    values["foot_skate"] = tuple(foot_skate(*pair, fps) for pair in pairs)
    slides = [foot_slide(*pair) for pair in pairs]
    values["slide_median"] = tuple(float(np.median(slide)) if len(slide) else NAN for slide in slides)
    values["slide_90"] = tuple(float(np.quantile(slide, 0.9)) if len(slide) else NAN for slide in slides)
    heights = [ankles[..., 1] for ankles in places]
    floor = float(np.quantile(heights[1].min(axis=1), 0.05)) if len(heights[1]) else 0.0
    depth, height = zip(*(penetration_and_float(h, floor=floor) for h in heights), strict=True)
    values["penetration"] = tuple(1000 * d for d in depth)
    values["float"] = tuple(1000 * h for h in height)
    return words


def _phase_metrics(values, clips, feet):
    """Cadence and phase by the labels of both clips, as far as they can be labelled."""
    try:
        phases = [label_phase(clip, feet=tuple(feet)).phase for clip in clips]
    except ValueError:  # no two legs
        phases = [np.full(len(clip), NAN) for clip in clips]
    values["cadence_error"] = (cadence_error(*phases), NAN)
    values["phase_agreement"] = (phase_agreement(*phases), NAN)


def _amplitudes(values, predicted: Clip, reference: Clip, feet) -> dict[str, float]:
    """The ratio of each joint that moves; pooled over the legs, or over all of them."""
    own = joint_amplitude(reference.rotations)
    found = joint_amplitude(predicted.rotations)
    moves = own > MOVES
    ratio = np.divide(found, own, out=np.full(len(own), NAN), where=moves)
    legs = np.zeros(len(own), bool)
    for joint in feet:
        while reference.skeleton.parents[joint] >= 0:  # the root's turns belong to the path
            legs[joint] = True
            joint = reference.skeleton.parents[joint]
    counted = moves & (legs if feet else np.arange(len(own)) > 0)
    if counted.any():
        pooled = np.sqrt((found[counted] ** 2).sum() / (own[counted] ** 2).sum())
        worst = ratio[counted][np.argmax(np.abs(np.log(np.maximum(ratio[counted], 1e-9))))]
    else:
        pooled = worst = NAN
    values["amplitude_ratio"] = (float(pooled), 1.0 if counted.any() else NAN)
    values["amplitude_worst_joint"] = (float(worst), 1.0 if counted.any() else NAN)
    return {name: float(r) for name, r in zip(reference.skeleton.names, ratio, strict=True)}


def _pose_metrics(values, predicted: Clip, reference: Clip, places):
    turns = [quat_unroll(clip.world_rotations()) for clip in (predicted, reference)]
    values["l2p"] = (l2p(*places), NAN)
    values["l2q"] = (l2q(*turns), NAN)
    values["npss"] = (npss(*(t.reshape(len(t), t[:1].size if len(t) else 0) for t in turns)), NAN)
