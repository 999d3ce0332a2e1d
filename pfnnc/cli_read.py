"""Reading for the command line: clips with their units told, labels, models, and outputs that overwrite nothing."""

import argparse
import json
import os
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import numpy as np

from ._augment import at_rate
from ._files import MOST_STREAMED, read_whole
from ._store import MAGIC
from .bvh import load_bvh
from .describe import describe
from .motion_model import MotionModel
from .phase_label import label_phase
from .skeleton import Clip

MODEL_NAME, SETTINGS_NAME, REFERENCE_NAME = "model.pfnnc", "train.json", "reference.bvh"
CHECKPOINT_NAME = "checkpoint.pfnnc"
BVH_ENDINGS = (".bvh", ".bvh.gz")


class Failure(Exception):
    """Something that the user can put right; its text is all that is shown."""


def note(text: str) -> None:
    """A remark beside the result, on standard error."""
    print(text, file=sys.stderr, flush=True)


def add_reading(parser: argparse.ArgumentParser) -> None:
    """The options of `load_bvh`."""
    group = parser.add_argument_group("reading", "Left out, each is suggested by the clips themselves and said.")
    group.add_argument("--scale", type=positive, help="metres a unit of the file: 0.01 for centimetres")
    group.add_argument("--up", choices=("y", "z"), help="which axis of the file points up")
    group.add_argument("--fps", type=positive, help="the true frame rate, where the file's is wrong")
    group.add_argument("--root", metavar="JOINT", help="the joint that moves, where it is not the file's root")
    group.add_argument("--feet", nargs=2, metavar=("LEFT", "RIGHT"), help="the ankles, where names do not tell")
    group.add_argument("--positions", choices=("replace", "add"), help="what child position channels mean")


def positive(text: str) -> float:
    """A finite number above 0, for argparse."""
    value = float(text)
    if not (value > 0 and np.isfinite(value)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number greater than 0")
    return value


def count(text: str) -> int:
    """A whole number from 0 on, for argparse."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is less than 0")
    return value


@dataclass(frozen=True)
class Reading:
    """How files are read: None leaves it to the file's own looks."""

    scale: float | None = None
    up: str | None = None
    fps: float | None = None
    root: str | None = None
    positions: str | None = None
    feet: tuple[str, str] | None = None

    @classmethod
    def of(cls, args: argparse.Namespace) -> "Reading":
        feet = None if args.feet is None else tuple(args.feet)
        return cls(args.scale, args.up, args.fps, args.root, args.positions, feet)

    def options(self) -> dict:
        """Those of `load_bvh`."""
        return {name: value for name, value in vars(self).items() if value is not None and name != "feet"}

    def over(self, other: "Reading") -> "Reading":
        """This one, with ``other`` where this says nothing."""
        mine, theirs = vars(self), vars(other)
        return Reading(**{name: theirs[name] if mine[name] is None else mine[name] for name in mine})


def read_clip(path: str | os.PathLike, reading: Reading) -> Clip:
    """One BVH file, its warnings as notes."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        clip = load_bvh(path, **reading.options())
    for warning in found:
        note(f"note: {warning.message}")
    return clip


def read_told(paths: Sequence[Path], reading: Reading) -> tuple[list[Clip], Reading]:
    """Clips of one kind, read as they suggest where the options say nothing, which is told. And the reading."""
    sources = [_again(path) for path in paths]
    plain = [read_clip(source(), Reading(up=reading.up, fps=reading.fps, root=reading.root)) for source in sources]
    told = _suggested(plain, reading)
    if told.scale == 1.0 and told.up in (None, "y", reading.up) and told.fps == reading.fps and not reading.positions:
        return plain, told
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said above
        return [load_bvh(source(), **told.options()) for source in sources], told


def _again(path: Path) -> Callable[[], Path | BinaryIO]:
    """What gives a file to read as often as it is asked: a pipe can be read once, so its bytes are kept."""
    if path.is_file():
        return lambda: path
    text = read_whole(path, MOST_STREAMED)

    def opened() -> BinaryIO:
        file = BytesIO(text)
        file.name = str(path)
        return file

    return opened


def _suggested(clips: list[Clip], reading: Reading) -> Reading:
    found = [describe(clip) for clip in clips]
    who = clips[0].name if len(clips) == 1 else f"{len(clips)} clips"
    scale, up, fps = reading.scale, reading.up, reading.fps
    if scale is None:
        scale, reason = _vote([d.scale for d in found])
        scale = float(scale)
        if scale != 1.0:
            note(f"note: {who} read at --scale {scale:g}: {reason}")
    if up is None:
        value, reason = _vote([d.up for d in found])
        if value == "z":
            up = "z"
            note(f"note: {who} read with --up z: {reason}")
        elif value != "y":
            note(f"note: {who}: {reason}, and that is read as y")
    if fps is None:
        rate, reason = _vote([d.rate for d in found if not d.rate.sure] or [d.rate for d in found])
        walking = [d for d in found if "gait cycle" in d.rate.reason]
        odd = [d for d in walking if d.rate.value != d.fps]
        if walking and len(odd) > len(walking) / 2:  # most of what walks says the header is wrong
            rate, reason = _vote([d.rate for d in odd])
            fps = float(rate)
            note(f"note: {who} read at --fps {fps:g} and not the files' {clips[0].fps:g}: {reason}")
    return replace(reading, scale=scale, up=up, fps=fps)


def _vote(suggestions) -> tuple[float | str, str]:
    """The value that most clips suggest, and one's reason."""
    value = Counter(s.value for s in suggestions).most_common(1)[0][0]
    return value, next(s.reason for s in suggestions if s.value == value)


def find_files(paths: Sequence[str]) -> list[Path]:
    """BVH files named, or in the folders named, in order and without repeats."""
    found: list[Path] = []
    for given in map(Path, paths):
        if given.is_dir():
            inside = sorted(p for p in given.rglob("*") if p.name.lower().endswith(BVH_ENDINGS) and p.is_file())
            if not inside:
                raise Failure(f"{given}: no .bvh file in this folder")
            found += inside
        elif given.exists():
            found.append(given)
        else:
            raise Failure(f"{given}: no such file or folder")
    return list(dict.fromkeys(found))


def find_file(path: str | os.PathLike) -> Path:
    """One BVH file: of a folder none is taken unasked."""
    path = Path(path)
    if path.is_dir():
        raise Failure(f"{path}: that is a folder; name a BVH file")
    if not path.exists():
        raise Failure(f"{path}: no such file or folder")
    return path


def feet_of(clip: Clip, reading: Reading) -> list[str]:
    """Names of the left and right ankle, or none where neither ``--feet`` nor the names tell."""
    if reading.feet is not None:
        for name in reading.feet:
            clip.skeleton.index(name)
        return list(reading.feet)
    try:
        return [clip.skeleton.names[foot[0]] for foot in clip.skeleton.find_feet()]
    except ValueError:
        return []


def labelled(clip: Clip, reading: Reading):
    """`Labels` of a clip, its warnings as notes."""
    if not feet_of(clip, reading):
        raise Failure(f"{clip.name}: the joints' names do not tell the feet; name them with --feet LEFT RIGHT")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        labels = label_phase(clip, feet=reading.feet)
    for warning in found:
        note(f"note: {clip.name}: {warning.message}")
    return labels


def resampled(clip: Clip, phase: np.ndarray, fps: float) -> tuple[Clip, np.ndarray]:
    """A clip and its phase at another rate; a frame has a phase where both of its neighbours have one."""
    if abs(clip.fps - fps) <= 1e-6 * fps:
        return clip, phase
    return at_rate(clip, phase, None, fps)[:2]


@dataclass(frozen=True)
class Trained:
    """A model and how the clips that it learnt from were read. ``folder``: where ``pfnnc train`` wrote it, or None."""

    model: MotionModel
    reading: Reading
    folder: Path | None
    clips: tuple[Path, ...] = ()  # learnt from
    held_out: tuple[Path, ...] = ()
    phases: str = "auto"
    phase_unit: str = "cycle"
    settings: dict = field(default_factory=dict)  # all of train.json


def kind_of(path: str | os.PathLike) -> str | None:
    """What a file of the package holds ("motion-model", "checkpoint", "network"); None for any other file."""
    if not os.path.isfile(path):  # what is read of a pipe is gone
        return None
    try:
        with open(path, "rb") as file:
            head = file.read(64)
    except OSError:
        return None
    return head[32:].rstrip(b"\0").decode("ascii", "replace") if head[:8] == MAGIC and len(head) == 64 else None


def is_model(path: str | os.PathLike) -> bool:
    """A folder that ``pfnnc train`` wrote, or a file of the package."""
    path = Path(path)
    return (path / MODEL_NAME).exists() if path.is_dir() else kind_of(path) is not None


def read_model(path: str | os.PathLike) -> Trained:
    """The model of a folder that ``pfnnc train`` wrote, or of a file."""
    path = Path(path)
    folder = path if path.is_dir() else path.parent
    file = path / MODEL_NAME if path.is_dir() else path
    if path.is_dir() and not file.exists():
        raise Failure(f"{path}: no {MODEL_NAME} in this folder; `pfnnc train ... -o {path}` makes one")
    model = MotionModel.load(file)
    try:
        settings = json.loads((folder / SETTINGS_NAME).read_text("utf-8"))
        reading = Reading(**settings["reading"])
        reading = replace(reading, feet=reading.feet and tuple(reading.feet))
        clips, held_out = (tuple(map(Path, settings[name])) for name in ("clips", "held_out"))
        return Trained(model, reading, folder, clips, held_out, settings["phases"], settings["phase_unit"], settings)
    except (OSError, ValueError, KeyError, TypeError):  # a model on its own
        return Trained(model, Reading(), folder if path.is_dir() else None)


def new_file(path: str | os.PathLike, force: bool, inputs: Sequence[str | os.PathLike] = ()) -> Path:
    """A path to write to: not over an input, not over anything without ``--force``. Its folder is made."""
    path = Path(path)
    for given in inputs:
        if path.exists() and os.path.exists(given) and os.path.samefile(path, given):
            raise Failure(f"{path}: that is an input; write to another file")
    if path.is_dir():
        raise Failure(f"{path}: that is a folder; name a file")
    if path.exists() and not force:
        raise Failure(f"{path}: exists already; --force writes over it")
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def wrote(path: str | os.PathLike) -> None:
    """Tell of a file."""
    print(f"wrote {path}", flush=True)
