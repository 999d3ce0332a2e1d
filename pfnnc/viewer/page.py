"""One HTML file that plays one or two clips and needs nothing else: no server, no network, no library."""

import base64
import html
import json
import os
import re
from collections.abc import Sequence
from importlib.resources import files
from string import Template

import numpy as np

from .. import _check
from .._files import written_whole
from ..metrics import bools
from ..rotation import quat_rotate
from ..skeleton import Clip

MOST_FRAMES = 200_000
WIDTHS = (  # of limbs in shares of the figure's height, by the name of the joint at their upper end
    (r"head", 0.095),
    (r"neck", 0.055),
    (r"finger|thumb|index|middle|ring|pinky|hand|wrist", 0.026),
    (r"toe|foot|ankle", 0.040),
    (r"fore|elbow|lowerarm|shoulder$|arm$", 0.042),
    (r"upleg|hip$|thigh|upperleg|hipjoint", 0.070),
    (r"leg|knee|shin|calf", 0.052),
    (r"spine|chest|hips|pelvis|torso|lowerback|abdomen|root", 0.085),
    (r"collar|clav", 0.050),
)


def write_page(
    path: str | os.PathLike,
    clips: Clip | Sequence[Clip],
    *,
    titles: Sequence[str] | None = None,
    phases: Sequence | None = None,
    contacts: Sequence | None = None,
    feet: Sequence | None = None,
    heading: str | None = None,
) -> None:
    """Write a self-contained page that plays one or two clips side by side.

    Parameters
    ----------
    path
    clips : Clip or one or two of them
    titles
        One a clip; None: the clips' names.
    phases
        For each clip (T,) cycles, NaN where there is none, or None.
    contacts
        For each clip (T, feet) bool, or None.
    feet
        For each clip one entry a foot, left first: the names or indices of its joints (an ankle, or ankle and toe).
        None: what the skeleton's names tell.
    heading : str or None
        The page's title.

    Positions are kept to a tenth of a millimetre. ``ValueError`` and ``TypeError`` for wrong arguments, ``OSError``
    where the file cannot be written; it is written whole or not at all.
    """
    clips = [clips] if isinstance(clips, Clip) else _check.sequence(clips, "clips", "one or two clips")
    if not 1 <= len(clips) <= 2:
        raise ValueError(f"clips must be one or two clips, got {len(clips)}")
    if heading is not None and not isinstance(heading, str):
        raise TypeError(f"heading must be a string, got {type(heading).__name__}")
    for i, clip in enumerate(clips):
        if not isinstance(clip, Clip):
            raise TypeError(f"clips[{i}] must be a Clip, got {type(clip).__name__}")
        if not 1 <= len(clip) <= MOST_FRAMES:
            raise ValueError(f"clips[{i}] must have 1 to {MOST_FRAMES} frames, got {len(clip)}")
    titles = titles_of(clips, titles)
    parts = [_one_each(*given, len(clips)) for given in ((phases, "phases"), (contacts, "contacts"), (feet, "feet"))]
    shown = [_clip_data(clip, i, *part) for i, (clip, *part) in enumerate(zip(clips, titles, *parts, strict=True))]
    _write(path, heading or " and ".join(item["title"] for item in shown), {"clips": shown})


def write_trials(path: str | os.PathLike, trials: Sequence[Sequence[Clip]], *, test: str, question: str) -> None:
    """Write a page of a blind test: pairs of clips under the names A and B, and votes as a file to download.

    ``test``: what the votes are to be known by. Nothing in the page tells what A and B are: the caller keeps the key.
    """
    shown = []
    for i, pair in enumerate(_check.sequence(trials, "trials", "pairs of clips")):
        pair = _check.sequence(pair, f"trials[{i}]", "two clips")
        for n, clip in enumerate(pair):
            if not isinstance(clip, Clip):
                raise TypeError(f"trials[{i}][{n}] must be a Clip, got {type(clip).__name__}")
        if len(pair) != 2 or not all(1 <= len(clip) <= MOST_FRAMES for clip in pair):
            raise ValueError(f"trials[{i}] must be two clips of 1 to {MOST_FRAMES} frames")
        shown.append(
            [_clip_data(clip, n, name, None, None, None) for n, (clip, name) in enumerate(zip(pair, "AB", strict=True))]
        )
    if not shown:
        raise ValueError("trials must hold at least one pair")
    _write(path, "blind test", {"trials": shown, "test": str(test), "question": str(question)})


def _write(path, heading: str, data: dict) -> None:
    write_html(path, "page.html", heading, data, styles=("page.css",), scripts=("scene.js", "page.js"))


def write_html(
    path, body: str, heading: str, data: dict, *, styles: Sequence[str], scripts: Sequence[str], policy: str = ""
) -> None:
    """One file of this folder's frame, a body, styles and scripts, and data as JSON; whole or not at all.

    ``policy``: sources of scripts that the page allows itself beside those that stand in it.
    """

    def parts(*names: str) -> str:
        return "\n".join(files(__package__).joinpath(name).read_text("utf-8") for name in names)

    page = Template(parts("frame.html")).substitute(
        title=html.escape(heading),
        policy=policy and f" {policy}",
        style=parts(*styles),
        body=parts(body),
        script=parts(*scripts),
        data=json.dumps(data, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c"),
    )
    with written_whole(path, "w", encoding="utf-8") as file:
        file.write(page)


def titles_of(clips: Sequence[Clip], titles: Sequence[str] | None) -> list[str]:
    """One title a clip, its name where none is given."""
    given = _one_each(titles, "titles", len(clips))
    for i, title in enumerate(given):
        if not isinstance(title, (str, type(None))):
            raise TypeError(f"titles[{i}] must be a string, got {type(title).__name__}")
    names = [clip.name or f"clip {i + 1}" for i, clip in enumerate(clips)]
    return [name if title is None else title for title, name in zip(given, names, strict=True)]


def _one_each(given, name: str, count: int) -> list:
    if given is None:
        return [None] * count
    given = _check.sequence(given, name, "entries, one a clip")
    if len(given) != count:
        raise ValueError(f"{name} must have one entry a clip ({count}), got {len(given)}")
    return given


def _clip_data(clip: Clip, i: int, title: str, phase, contact, feet) -> dict:
    """What the page needs of one clip, arrays in base64."""
    points, bones, size, floor = clip_geometry(clip)
    root = np.ascontiguousarray(points[:, 0], np.float32)
    offset = points - root[:, None].astype(np.float64)
    step = max(1e-4, float(np.abs(offset).max(initial=0.0)) / 32767)
    feet = feet_of(clip, i, feet)
    if contact is not None:
        contact = bools(contact, f"contacts[{i}]")
        if contact.shape != (len(clip), len(feet)):
            raise ValueError(f"contacts[{i}] must have shape ({len(clip)}, {len(feet)}), got {contact.shape}")
    if phase is not None:
        phase = _check.phases(phase, f"phases[{i}]", (len(clip),), nan=True, dtype=np.float64)
    return {
        "title": title,
        "fps": clip.fps,
        "frames": len(clip),
        "count": points.shape[1],
        "size": size,
        "floor": floor,
        "step": step,
        "root": base64_of(root, "<f4"),
        "points": base64_of(np.rint(offset / step), "<i2"),
        "bones": [list(bone) for bone in bones],
        "feet": feet,
        "phase": None if phase is None else base64_of(phase, "<f4"),
        "contacts": None if contact is None else base64_of(contact, "|u1"),
    }


def clip_geometry(clip: Clip) -> tuple[np.ndarray, list[tuple[int, int, float, int]], float, float]:
    """What is drawn of a clip: points (T, P, 3), bones (child, parent, width in metres, side: 0 left, 1 right, 2
    middle), the figure's height, and the floor's."""
    points, bones = _points(clip)
    size = _height(points)
    low = float(np.quantile(points[..., 1].min(axis=1), 0.02))
    floor = 0.0 if abs(low) < 0.06 * size else low
    return points, [(child, parent, width * size, side) for child, parent, width, side in bones], size, floor


def base64_of(array, dtype: str) -> str:
    """An array's bytes as text."""
    return base64.b64encode(np.ascontiguousarray(array).astype(dtype).tobytes()).decode("ascii")


def _height(points: np.ndarray) -> float:
    """About the height of the figure: the greatest extent of a typical frame."""
    extent = np.ptp(points, axis=1)
    height = float(np.median(extent.max(axis=1)))
    return height if height > 1e-9 else 1.0


def _points(clip: Clip):
    """Joints and End Sites (T, P, 3), and the bones between them: child, parent, relative width, side."""
    skeleton, positions = clip.skeleton, clip.positions()
    ends = skeleton.end_sites
    bones = []
    for joint, parent in enumerate(skeleton.parents.tolist()):
        if parent >= 0:
            bones.append((joint, parent, *_look(skeleton.names[parent], skeleton.names[joint])))
    if ends:
        turns = clip.world_rotations()
        tips = [positions[:, joint] + quat_rotate(turns[:, joint], offset) for joint, offset in ends]
        for n, (joint, _) in enumerate(ends):
            bones.append((len(skeleton) + n, joint, *_look(skeleton.names[joint], skeleton.names[joint])))
        positions = np.concatenate([positions, np.stack(tips, axis=1)], axis=1)
    if not bones:
        bones.append((0, 0, 0.1, 2))
    return positions, bones


def _look(parent: str, child: str) -> tuple[float, int]:
    """Width of the limb and its side: 0 left, 1 right, 2 middle."""
    name = re.sub(r"[^a-z]", "", parent.split(":")[-1].lower())
    width = next((width for pattern, width in WIDTHS if re.search(pattern, name)), 0.045)
    own = child.split(":")[-1]
    if re.search(r"left|^l(?=[A-Z_.])|[_.]l$", own, re.IGNORECASE if "left" in own.lower() else 0):
        return width, 0
    if re.search(r"right|^r(?=[A-Z_.])|[_.]r$", own, re.IGNORECASE if "right" in own.lower() else 0):
        return width, 1
    return width, 2


def feet_of(clip: Clip, i: int, feet) -> list[list[int]]:
    if feet is None:
        try:
            return [list(map(int, foot)) for foot in clip.skeleton.find_feet()]
        except ValueError:
            return []
    result = []
    for n, foot in enumerate(_check.sequence(feet, f"feet[{i}]", "joints, one entry a foot")):
        whole = isinstance(foot, (str, int, np.integer))
        joints = [foot] if whole else _check.sequence(foot, f"feet[{i}][{n}]", "joints")
        last = len(clip.skeleton) - 1
        result.append(
            [
                clip.skeleton.index(j) if isinstance(j, str) else _check.integer(j, f"feet[{i}][{n}]", least=0, most=last)
                for j in joints
            ]
        )
        if not result[-1]:
            raise ValueError(f"feet[{i}][{n}] names no joint")
    return result
