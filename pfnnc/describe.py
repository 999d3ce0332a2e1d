"""What a recording seems to be: its skeleton, unit, up axis and rate, each with the reason.

Nothing here changes a clip, and nothing else in the package calls it to guess: it suggests what to pass to `load_bvh`.
"""

import math
import os
from dataclasses import dataclass

import numpy as np

from .bvh import BVHError, files_of, load_with_notes
from .bvh_file import Source
from .skeleton import Clip, Skeleton

__all__ = ["Description", "Descriptions", "Suggestion", "describe"]

LEG = 0.84  # hip to ankle of an adult, in metres: recordings of people differ from it by a fifth at most
UNITS = {"metres": 1.0, "centimetres": 0.01, "decimetres": 0.1, "millimetres": 0.001, "inches": 0.0254}
UNITS |= {"units of CMU's BVH files": 0.056444}  # 1/0.45 inches
USUAL_RATES = (60.0, 30.0, 120.0, 24.0, 100.0, 50.0, 25.0, 240.0)  # the most usual first

# People who walk freely keep step length over cadence near 0.0064 m a step a minute, whatever the speed (Sekiya and
# Nagasaki 1998); running adults come near it too. With strides of two steps that is 1.54 m for each cycle a second.
# Short strides are turns and shuffles, which are not as slow as that would make them.
STRIDE_OVER_FREQUENCY = 1.54
SHORTEST_CYCLE, LONGEST_CYCLE = 0.6, 1.4  # seconds


@dataclass(frozen=True)
class Suggestion:
    """A value for an option of `load_bvh`, and why. ``sure`` is False where nothing speaks clearly."""

    value: float | str
    reason: str
    sure: bool


@dataclass(frozen=True)
class Description:
    """What `describe` found. Lengths are in the clip's units; ``str()`` is a paragraph to read.

    ``feet``: names of the left and right foot joints, or None where names do not tell. ``ground``: height along the
    suggested up axis under which the feet hardly go. ``speed``: mean ground speed of the root in m/s by the suggested
    scale and rate. ``oddities``: what a user should know, a sentence each.
    """

    name: str
    joints: int
    root: str
    feet: tuple[list[str], list[str]] | None
    frames: int
    fps: float
    seconds: float
    scale: Suggestion
    up: Suggestion
    rate: Suggestion
    ground: float
    speed: float
    oddities: tuple[str, ...]

    def __str__(self) -> str:
        feet = "not found by name"
        if self.feet is not None:
            feet = f"left {' '.join(self.feet[0])}, right {' '.join(self.feet[1])}"
        lines = [
            f"{self.name or 'clip'}: {self.joints} joints from {self.root}, {self.frames} frames at {self.fps:g} fps, "
            f"{self.seconds:.2f} s",
            f"  feet    {feet}",
            f"  scale   {_said(self.scale)}",
            f"  up      {_said(self.up)}",
            f"  fps     {_said(self.rate)}",
            f"  ground  {self.ground:.4g}, mean speed over it {self.speed:.2f} m/s",
            *(f"  note    {text}" for text in self.oddities),
        ]
        return "\n".join(lines)


def _said(suggestion: Suggestion) -> str:
    value = suggestion.value if isinstance(suggestion.value, str) else f"{suggestion.value:g}"
    return f"{value}{'' if suggestion.sure else ' (a guess)'}: {suggestion.reason}"


class Descriptions(tuple):
    """The `Description` of each file of a folder; ``str()`` is a table.

    ``errors``: the message of each file that cannot be read, by path.
    """

    errors: dict[str, str]

    def __str__(self) -> str:
        head = ("name", "joints", "frames", "fps", "seconds", "scale", "up", "ground", "m/s", "notes")
        rows = [head]
        for d in self:
            fps = f"{d.fps:g}" if d.rate.value == d.fps else f"{d.fps:g} -> {d.rate.value:g}?"
            scale = f"{d.scale.value:g}" + ("" if d.scale.sure else "?")
            up = f"{d.up.value}" + ("" if d.up.sure else "?")
            size = f"{d.joints}", f"{d.frames}", fps, f"{d.seconds:.2f}"
            rows.append((d.name, *size, scale, up, f"{d.ground:.3g}", f"{d.speed:.2f}", f"{len(d.oddities) or ''}"))
        widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, *(f"not read: {message}" for message in self.errors.values())])


def describe(source: Clip | Source) -> Description | Descriptions:
    """What the clip, or the BVH file, seems to be; of a folder, of each file in it.

    Scale, up axis and rate are suggestions with their reasons, from the length of the legs, from where the feet are
    and from how people walk. Errors are those of `load_bvh`; a folder's unreadable files stand in ``.errors``.

    >>> from pfnnc import Skeleton, Clip
    >>> names, parents = ["Hips", "LeftUpLeg", "LeftFoot", "RightUpLeg", "RightFoot"], [-1, 0, 1, 0, 3]
    >>> skeleton = Skeleton(names, parents, [[0, 90, 0], [9, 0, 0], [0, -85, 0], [-9, 0, 0], [0, -85, 0]])
    >>> found = describe(Clip(skeleton, [[0, 90, 0]], [[[1, 0, 0, 0]] * 5], 30))
    >>> found.scale.value, found.up.value, found.ground
    (0.01, 'y', 5.0)
    """
    if isinstance(source, Clip):
        return _describe(source, source.name, ())
    if isinstance(source, (str, os.PathLike)) and os.path.isdir(source):
        found, errors = [], {}
        for path in files_of(source, "source"):
            try:
                found.append(describe(path))
            except (BVHError, OSError) as error:
                errors[os.fspath(path)] = str(error)
        result = Descriptions(found)
        result.errors = errors
        return result
    label, clip, notes = load_with_notes(source)
    return _describe(clip, clip.name or label, tuple(notes))


def _describe(clip: Clip, name: str, notes: tuple[str, ...]) -> Description:
    skeleton = clip.skeleton
    try:
        feet = skeleton.find_feet()
    except ValueError:
        feet = None
    places = clip.positions()
    up = _up(clip, places, feet)
    scale = _scale(skeleton, feet)
    axis = "xyz".index(up.value[-1])
    heights = places[:, :, axis] * (-1 if up.value[0] == "-" else 1)
    flat = np.delete(places, axis, axis=2) * scale.value
    rate = _rate(clip, flat, feet)
    path = np.linalg.norm(np.diff(flat[:, 0], axis=0), axis=1)
    lowest = heights[:, [*feet[0], *feet[1]]] if feet else heights
    return Description(
        name=name,
        joints=len(skeleton),
        root=skeleton.names[0],
        feet=feet and tuple([skeleton.names[j] for j in foot] for foot in feet),
        frames=len(clip),
        fps=clip.fps,
        seconds=len(clip) / clip.fps,
        scale=scale,
        up=up,
        rate=rate,
        ground=float(np.percentile(lowest.min(axis=1), 5)) if len(clip) else math.nan,
        speed=float(path.mean() * rate.value) if len(path) else 0.0,
        oddities=(*notes, *_oddities(clip, scale.value)),
    )


def _legs(skeleton: Skeleton, feet) -> list[tuple[int, int]]:
    """Pairs of left and right joints from the hips down to the ankles, behind the joint that carries both legs."""
    sides = []
    for foot in feet:
        chain = [foot[0]]
        while skeleton.parents[chain[0]] >= 0:
            chain.insert(0, int(skeleton.parents[chain[0]]))
        sides.append(chain)
    return [(left, right) for left, right in zip(*sides, strict=False) if left != right]


def _pelvis(skeleton: Skeleton, feet) -> int:
    return max(int(skeleton.parents[_legs(skeleton, feet)[0][0]]), 0)


def _up(clip: Clip, places: np.ndarray, feet) -> Suggestion:
    if feet is None or not len(clip):
        return Suggestion("y", "nothing speaks against it without feet", False)
    pelvis = _pelvis(clip.skeleton, feet)
    ankles = places[:, [feet[0][0], feet[1][0]]].mean(axis=1)
    leg = (places[:, pelvis] - ankles).mean(axis=0)
    axis, length = int(np.argmax(np.abs(leg))), float(np.linalg.norm(leg))
    if not length:
        return Suggestion("y", "the feet are at the pelvis", False)
    share = abs(leg[axis]) / length
    value = ("-" if leg[axis] < 0 else "") + "xyz"[axis]
    name = clip.skeleton.names[pelvis]
    reason = f"{name} is on average {leg[axis]:.3g} above the ankles along {'xyz'[axis]}"
    return Suggestion(value, reason, bool(share > 0.8))


def _scale(skeleton: Skeleton, feet) -> Suggestion:
    """By the length of the leg, from the hip down; or by the longest chain of bones."""
    lengths = np.linalg.norm(skeleton.offsets, axis=1)
    parents = skeleton.parents.tolist()
    if feet is not None:
        left = [left for left, _ in _legs(skeleton, feet)]
        length, expected, what = float(lengths[left[1:]].sum()), LEG, "the left leg"
    else:
        reach = np.zeros(len(skeleton))
        for j, parent in enumerate(parents):
            reach[j] = reach[parent] + lengths[j] if parent >= 0 else 0
        length, expected, what = float(reach.max()), 1.1, "the longest chain of bones"
    if not length > 0:
        return Suggestion(1.0, f"{what} has no length", False)
    name, unit = min(UNITS.items(), key=lambda item: abs(math.log(length * item[1] / expected)))
    said = f"{what} is {length:.4g} long, which"
    if abs(math.log(length * unit / expected)) < 0.25:
        return Suggestion(unit, f"{said} is {length * unit:.2f} m in {name}", feet is not None)
    return Suggestion(float(f"{expected / length:.2g}"), f"{said} no usual unit makes about {expected} m", False)


def _rate(clip: Clip, flat: np.ndarray, feet) -> Suggestion:
    """The header's rate, unless the clip walks and its cycles would take far longer or shorter than people's do."""
    periods, strides = _gait_cycles(clip.skeleton, flat, feet) if feet is not None else ([], [])
    if not len(periods):
        return Suggestion(clip.fps, "as the clip says; it does not walk steadily enough to check it", False)
    seconds = np.clip(STRIDE_OVER_FREQUENCY / strides, SHORTEST_CYCLE, LONGEST_CYCLE)
    likely = float(np.median(periods / seconds))
    period, stride = float(np.median(periods)), float(np.median(strides))
    said = f"a gait cycle of {period:g} frames and {stride:.2f} m takes {period / clip.fps:.2f} s at {clip.fps:g} fps"
    if 1 / 1.8 < likely / clip.fps < 1.8:
        return Suggestion(clip.fps, f"{said}, as people's do", True)
    near = [rate for rate in USUAL_RATES if abs(math.log(rate / likely)) < 0.3]
    rate = near[0] if near else min(USUAL_RATES, key=lambda rate: abs(math.log(rate / likely)))
    said = f"{said}, people's take about {np.median(seconds):.1f} s"
    if 1 / 1.5 < rate / clip.fps < 1.5:  # no usual rate explains it: short quick steps, not a wrong header
        return Suggestion(clip.fps, f"{said}, which no other usual rate would explain", False)
    return Suggestion(rate, f"{said}: is the rate right?", False)


def _gait_cycles(skeleton: Skeleton, flat: np.ndarray, feet) -> tuple[np.ndarray, np.ndarray]:
    """Frames and path in metres of the steady gait cycles, each from the left foot's passing the right one to the next.

    Steady: the root's speed hardly changes, the feet are ahead half of the time each, and the stride is a walker's.
    """
    none = np.zeros(0)
    across = [flat[:, left] - flat[:, right] for left, right in _legs(skeleton, feet)]
    apart = [lateral for lateral in across if len(flat) and np.linalg.norm(lateral, axis=1).min() > 0.02]
    if not apart:
        return none, none
    facing = apart[0][:, ::-1] * [-1, 1] / np.linalg.norm(apart[0], axis=1, keepdims=True)
    ahead = np.sum(across[-1] * facing, axis=1)

    # a foot has passed when it is 10 cm ahead: what is between keeps the last side
    side = np.where(ahead > 0.1, 1, np.where(ahead < -0.1, -1, 0))
    decided = np.flatnonzero(side)
    if not len(decided):
        return none, none
    side = side[decided[np.maximum(np.searchsorted(decided, np.arange(len(side)), "right") - 1, 0)]]
    passes = 1 + np.flatnonzero((side[1:] > 0) & (side[:-1] < 0))

    # means over each cycle from running sums
    speed = np.linalg.norm(np.diff(flat[:, 0], axis=0), axis=1)
    sums = np.cumsum(np.stack([speed, speed**2, side[:-1] > 0]), axis=1)
    sums = np.concatenate([np.zeros((3, 1)), sums], axis=1)[:, passes]
    periods = np.diff(passes)
    mean, square, share = np.diff(sums, axis=1) / periods
    variation = np.sqrt(np.maximum(square - mean**2, 0))
    strides = mean * periods
    steady = (variation < 0.4 * mean) & (np.abs(share - 0.5) < 0.1) & (strides > 0.6) & (strides < 4)
    return periods[steady], strides[steady]


def _oddities(clip: Clip, scale: float) -> list[str]:
    skeleton, found = clip.skeleton, []
    names = skeleton.names
    orders: dict[str, int] = {}
    for row in skeleton.channels:
        order = "".join(channel[0] for channel in row if channel.lower().endswith("rotation"))
        orders[order or "none"] = orders.get(order or "none", 0) + 1
    if len(orders) > 1:
        found.append("rotation orders differ: " + ", ".join(f"{order} on {count}" for order, count in orders.items()))
    if clip.translations is not None and len(clip):
        spread = np.ptp(clip.translations[:, 1:], axis=0).max(axis=1)
        moving = int((spread * scale > 1e-3).sum())
        off = np.abs(clip.translations[:, 1:] - skeleton.offsets[1:]).max(axis=(0, 2)) * scale > 1e-3
        if off.any() or moving:
            found.append(f"positions of {int(off.sum())} joints leave their OFFSET by over 1 mm, {moving} move")
    found += root_jumps(clip, scale)
    still = [names[j] for j in range(len(names)) if len(clip) > 1 and not np.ptp(clip.rotations[:, j], axis=0).any()]
    if len(still) == len(names):
        found.append("no joint turns")
    elif len(still) > len(names) // 3:
        found.append(f"{len(still)} of {len(names)} joints never turn, such as {still[0]}")
    if len(clip) > 1 and not np.ptp(clip.root_positions, axis=0).any():
        found.append(f"the root, {names[0]}, stands still")
    return found


def root_jumps(clip: Clip, scale: float = 1.0) -> list[str]:
    """Frames to which the root leaps: a rest pose before the motion, a row of zeros, a cut."""
    steps = np.linalg.norm(np.diff(clip.root_positions, axis=0), axis=1) * scale
    if len(steps) < 3:
        return []
    far = np.flatnonzero(steps > max(0.1, 8 * float(np.percentile(steps, 90)))).tolist()
    found = [f"the root jumps {steps[i]:.2f} m between frames {i} and {i + 1} of {len(clip)}" for i in far[:3]]
    return [*found, f"and {len(far) - 3} more such jumps"] if len(far) > 3 else found
