"""Commands that make and use models: train, synth, eval."""

import argparse
import json
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ._files import written_whole
from ._recipes import recipe_of
from ._split import by_content, marks_of_clip
from .bvh import save_bvh
from .bvh_file import unique_names
from .cli_read import (
    CHECKPOINT_NAME,
    MODEL_NAME,
    REFERENCE_NAME,
    SETTINGS_NAME,
    Failure,
    Reading,
    add_reading,
    count,
    feet_of,
    find_file,
    find_files,
    is_model,
    labelled,
    new_file,
    note,
    positive,
    read_clip,
    read_model,
    read_told,
    resampled,
    wrote,
)
from .describe import root_jumps
from .motion_model import MotionModel
from .phase_files import load_labels, load_phase
from .report import evaluate
from .rotation import quat_yaw
from .scene import Scene, load_scene
from .skeleton import Clip
from .synthesis import Drift

MOST_FRAMES = 1_000_000  # of one motion
RATE = 30.0  # frames a second: where the recipes were found


def add_commands(commands) -> None:
    train = commands.add_parser("train", help="learn a character from clips", description=train_model.__doc__)
    train.add_argument(
        "paths",
        nargs="+",
        metavar="PATH",
        help="BVH files or folders of them, or one scene.toml that names them and all else",
    )
    train.add_argument("-o", "--output", metavar="FOLDER", help="where the model goes")
    train.add_argument(
        "--preset", choices=("controller", "article"), default="controller", help="the recipe (default controller: steerable)"
    )
    train.add_argument("--phases", choices=("auto", "beside"), default="auto", help="label them, or files beside the clips")
    train.add_argument("--phase-unit", choices=("cycle", "pi"), default="cycle", help="of .phase files beside")
    train.add_argument("--holdout", action="append", default=[], metavar="NAME", help="a clip to keep for `pfnnc eval`")
    train.add_argument("--rate", type=positive, default=RATE, help="frames a second of the model (default 30)")
    train.add_argument("--epochs", type=count, help="passes over the data")
    train.add_argument("--max-seconds", type=positive, help="stop training then")
    train.add_argument("--seed", type=count, default=0, help="the same seed, the same bits (default 0)")
    train.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="an option of the recipe, such as hidden=64"
    )
    train.add_argument("--force", action="store_true", help="write over a model that exists")
    add_reading(train)
    train.set_defaults(run=train_model, misuse=train.error)

    synth = commands.add_parser("synth", help="let a model move", description=synthesize_motion.__doc__)
    synth.add_argument("model", metavar="MODEL", help="a trained folder or model file")
    synth.add_argument("start", nargs="?", metavar="CLIP", help="a BVH file to start from (default: the model's reference)")
    synth.add_argument("-o", "--output", metavar="FILE.bvh", help="default: synth.bvh in the model's folder")
    synth.add_argument("--seconds", type=positive, default=10.0, help="how long (default 10)")
    synth.add_argument("--at", type=float, default=None, metavar="SECONDS", help="where in the clip to start")
    synth.add_argument("--free", action="store_true", help="not led along the clip's path")
    synth.add_argument("--force", action="store_true", help="write over a file that exists")
    add_reading(synth)
    synth.set_defaults(run=synthesize_motion)

    evaluation = commands.add_parser("eval", help="compare a motion or a model with clips", description=evaluate_motion.__doc__)
    evaluation.add_argument("first", metavar="PREDICTED|MODEL", help="a BVH file, or a trained folder or model file")
    evaluation.add_argument("references", nargs="*", metavar="CLIP", help="the recording, or for a model several")
    evaluation.add_argument(
        "-o", "--output", metavar="FOLDER", help="report.json and plots (default for a trained folder: eval/ in it)"
    )
    evaluation.add_argument("--seconds", type=positive, default=10.0, help="of each clip, at most (default 10)")
    evaluation.add_argument("--free", action="store_true", help="not led along the clip's path")
    evaluation.add_argument("--force", action="store_true", help="write over a report that exists")
    add_reading(evaluation)
    evaluation.set_defaults(run=evaluate_motion)


# ---- train


@dataclass
class Take:
    """A clip to learn from: its file, the clip at the model's rate, its phase and what it is called."""

    path: Path
    clip: Clip
    phase: np.ndarray


def train_model(args: argparse.Namespace) -> None:
    """Learn a character from BVH clips of one skeleton. Clips with other joints, rates and units are told apart and
    named. Writes model.pfnnc, train.json and a reference clip into the folder."""
    scene = _take_scene(args)
    if args.output is None:
        args.misuse("-o FOLDER is missing: where shall the model go?")
    files = find_files(args.paths)
    target = new_file(Path(args.output) / MODEL_NAME, args.force)
    overrides = (scene.options if scene else {}) | dict(map(_override, args.set))
    recipe_of(args.preset, overrides)  # an option that is none is told before the clips are read
    takes, reading = gather(files, Reading.of(args), args.rate, args.phases, args.phase_unit)
    if reading.feet is not None:
        overrides.setdefault("feet", reading.feet)
    held = _held_out(takes, args.holdout)
    kept = [take for take in takes if take not in held]
    if not kept:
        raise Failure("every clip is held out: none is left to learn from")
    seconds = sum(np.isfinite(take.phase).sum() for take in kept) / args.rate
    print(f"training on {len(kept)} clips, {seconds:.0f} s with a phase, at {args.rate:g} frames a second", flush=True)
    model = MotionModel.train(
        [take.clip for take in kept], args.preset, phases=[take.phase for take in kept],
        epochs=args.epochs, max_seconds=args.max_seconds, seed=args.seed, progress=True,
        checkpoint=target.with_name(CHECKPOINT_NAME) if scene and scene.checkpoint else None,
        about={"scene": scene.resolved()} if scene else None, **overrides,
    )  # fmt: skip
    if not model.history:
        note("note: no epoch was trained")
    else:
        first, last = model.history[0].loss, model.history[-1].loss
        print(f"loss {first:.4g} in the first of {len(model.history)} epochs, {last:.4g} in the last")
    model.save(target)
    wrote(target)
    reference = (held or kept)[0]
    save_bvh(target.with_name(REFERENCE_NAME), reference.clip)
    wrote(target.with_name(REFERENCE_NAME))
    settings = {
        "clips": [str(take.path.resolve()) for take in kept],
        "held_out": [str(take.path.resolve()) for take in held],
        "reference": str(reference.path.resolve()),
        "phases": args.phases,
        "phase_unit": args.phase_unit,
        "reading": vars(reading),
        "preset": args.preset,
        "rate": args.rate,
        "seed": args.seed,
        "options": overrides,
        "scene": scene.resolved() if scene else None,
    }
    with written_whole(target.with_name(SETTINGS_NAME), "w", encoding="utf-8") as file:
        json.dump(settings, file, indent=2, allow_nan=False)
    wrote(target.with_name(SETTINGS_NAME))


def _take_scene(args: argparse.Namespace) -> Scene | None:
    """A scene file as the one path says what the command line would; -o, --epochs, --max-seconds and --set stand."""
    if len(args.paths) != 1 or not args.paths[0].endswith(".toml"):
        return None
    scene = load_scene(args.paths[0])
    args.paths, args.holdout = [str(file) for file in scene.files], list(scene.hold_out)
    args.rate, args.phases, args.phase_unit, args.preset, args.seed = (
        scene.rate, scene.phases, scene.phase_unit, scene.preset, scene.seed
    )  # fmt: skip
    for name in ("scale", "up", "fps", "root", "positions", "feet"):
        setattr(args, name, scene.reading.get(name))
    args.epochs = scene.epochs if args.epochs is None else args.epochs
    args.max_seconds = scene.max_seconds if args.max_seconds is None else args.max_seconds
    args.output = scene.folder if args.output is None else args.output
    return scene


def _override(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise Failure(f"--set {text}: expected NAME=VALUE, such as hidden=64")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def gather(files: list[Path], reading: Reading, rate: float, phases: str = "auto", unit: str = "cycle"):
    """The clips of the most common skeleton, labelled, at one rate; what is left out is said. And the reading."""
    groups: dict[tuple, list[Path]] = {}
    for path in files:
        try:
            clip = read_clip(path, Reading(up=reading.up, fps=reading.fps, root=reading.root))
        except (ValueError, OSError) as error:
            note(f"left out: {error}")
            continue
        if len(clip) < 2:
            note(f"left out: {path}: {len(clip)} frames")
            continue
        groups.setdefault(_rig(clip), []).append(path)
    if not groups:
        raise Failure("no clip could be read")
    largest = max(groups.values(), key=len)
    for rig, others in groups.items():
        if others is not largest:
            named = ", ".join(path.name for path in others[:4]) + (" ..." if len(others) > 4 else "")
            note(f"left out: {named}: another skeleton ({len(rig)} joints from {rig[0]})")
    clips, reading = read_told(largest, reading)
    rates = sorted({clip.fps for clip in clips})
    if rates != [rate]:
        note(f"note: {', '.join(f'{r:g}' for r in rates)} frames a second, resampled to {rate:g}")
    _tell_sizes(largest, clips)
    takes = []
    for path, clip in zip(largest, clips, strict=True):
        phase = _phase_of(path, clip, reading, phases, unit)
        if phase is None or not np.isfinite(phase).any():
            note(f"left out: {path}: no gait was found in it")
            continue
        for jump in root_jumps(clip):
            note(f"note: {path.name}: {jump}; what has no phase there is left out, see `pfnnc phase`")
        takes.append(Take(path, *resampled(clip, phase, rate)))
    if not takes:
        raise Failure("no clip has a gait to learn; `pfnnc inspect` tells whether scale and rate are right")
    return takes, reading


def _rig(clip: Clip) -> tuple[str, ...]:
    """What clips must share to be learnt from together: the root and the other joints, in any order."""
    return (clip.skeleton.names[0], *sorted(clip.skeleton.names[1:]))


def _tell_sizes(paths: list[Path], clips: list[Clip]) -> None:
    """Same joints may still be another person: say whose bones are longer."""
    sizes = np.array([np.linalg.norm(clip.skeleton.offsets, axis=1)[1:].sum() for clip in clips])
    usual = np.median(sizes)
    for path, size in zip(paths, sizes, strict=True):
        if usual > 0 and abs(size / usual - 1) > 0.05:
            note(f"note: {path.name}: its bones are {size / usual:.2f} times as long as the others'")


def _phase_of(path: Path, clip: Clip, reading: Reading, phases: str, unit: str) -> np.ndarray | None:
    if phases == "auto":
        return labelled(clip, reading).phase
    base = path.name.removesuffix(".gz").removesuffix(".bvh").removesuffix(".BVH")
    if (path.parent / (base + ".npz")).exists():
        phase = load_labels(path.parent / (base + ".npz")).phase
        if len(phase) != len(clip):
            raise Failure(f"{path.parent / base}.npz: {len(phase)} frames, the clip has {len(clip)}")
        return phase
    if (path.parent / (base + ".phase")).exists():
        return load_phase(path.parent / (base + ".phase"), unit=unit, frames=len(clip))
    note(f"note: {path}: no phase file beside it")
    return None


def _held_out(takes: list[Take], names: list[str]) -> list[Take]:
    """The clips named (by file name, with or without suffix); one of four or more where none is named."""
    held = []
    for name in names:
        found = [take for take in takes if name in (take.path.name, take.path.stem, str(take.path), take.clip.name)]
        if not found:
            raise Failure(f"--holdout {name}: there is no such clip; there are {', '.join(t.path.stem for t in takes)}")
        held += [take for take in found if take not in held]
    if not names and len(takes) >= 4:
        held = [takes[-1]]
        note(f"note: {takes[-1].path.name} is held out as the reference; --holdout names others")
    named = set(map(id, held))
    for group in by_content([marks_of_clip(take.clip) for take in takes]):
        same = [takes[i] for i in sorted(group.clips)]
        more = [take for take in same if id(take) not in named]
        if len(more) < len(same):  # a copy or mirror image of what is held out would leak
            held += more
            for take in more:
                note(f"note: {take.path.name} is the same motion as one that is held out, or its mirror image: held out too")
    return held


# ---- synth, eval


def first_window(model: MotionModel, phase: np.ndarray) -> int:
    """Frames of a clip up to its first labelled window."""
    ends = np.flatnonzero(np.isfinite(phase[model.input_len - 1 :]))
    if not len(ends):
        raise Failure(f"no frame after the first {model.input_len} has a gait phase to start from")
    return int(ends[0]) + model.input_len


def frames_of(seconds: float, fps: float) -> int:
    """So many seconds in frames, within reason."""
    if seconds * fps > MOST_FRAMES:
        raise Failure(f"--seconds {seconds:g}: that is more than {MOST_FRAMES} frames")
    return math.ceil(seconds * fps - 1e-9)


def led(model: MotionModel, clip: Clip, phase: np.ndarray, start: int, frames: int, free: bool = False) -> Clip:
    """Roll out from the first ``start`` frames of a clip; along the rest of it, unless ``free``."""
    options: dict = {}
    yaw = np.unwrap(quat_yaw(clip.rotations[:, 0])) if len(clip) else np.zeros(0)
    if not free and len(clip) - start >= 2:
        if model.spec.control is not None:
            options["path"] = (clip.root_positions[start:], yaw[start:])
        else:
            last = min(len(clip), start + frames)
            expected = model.spec.encode(clip)[start:last, :3]
            rate = np.diff(yaw[start - 1 : last]) * clip.fps
            more = frames - len(expected)
            expected = np.concatenate([expected, np.repeat(expected.mean(axis=0)[None], more, axis=0)])
            half = max(1, round(clip.fps / 2))  # of a second: a mean over a whole one lags too far behind a turn
            options["drift"] = Drift(expected, window=half, yaw_rate=np.concatenate([rate, np.zeros(more)]))
    made = model.synthesize(clip[:start], frames, phase=float(phase[start - 1]), **options)
    return made.to_clip(model.skeleton, model.fps)


def at_rate(trained, path: Path, reading: Reading) -> tuple[Clip, np.ndarray]:
    """A clip and its phase at the model's rate, joints checked."""
    (clip,), reading = read_told([path], reading.over(trained.reading))
    lacking = [name for name in trained.model.skeleton.names if name not in clip.skeleton.names]
    if lacking:
        raise Failure(f"{path}: the model's skeleton has {len(lacking)} joints that this one lacks, such as {lacking[0]}")
    phase = None
    if trained.phases == "beside" and path.name != REFERENCE_NAME:
        phase = _phase_of(path, clip, reading, trained.phases, trained.phase_unit)
    if phase is None:
        phase = labelled(clip, reading).phase
    return resampled(clip, phase, trained.model.fps)


def _reference_of(trained) -> Path:
    if trained.folder is None or not (trained.folder / REFERENCE_NAME).exists():
        raise Failure("name a BVH clip: there is no reference beside the model")
    return trained.folder / REFERENCE_NAME


AS_WRITTEN = Reading(1.0, "y")  # the reference beside a model


def synthesize_motion(args: argparse.Namespace) -> None:
    """Let a model go on from a clip, along its path as far as that goes, and write the motion as BVH (metres, y up)."""
    trained = read_model(args.model)
    path = Path(args.start) if args.start else _reference_of(trained)
    reading = Reading.of(args) if args.start else AS_WRITTEN
    output = args.output or (trained.folder or Path(".")) / "synth.bvh"
    target = new_file(output, args.force, [path, args.model])
    clip, phase = at_rate(trained, find_file(path), reading)
    model = trained.model
    start = first_window(model, phase)
    if args.at is not None:
        start = round(args.at * model.fps)
        if not model.input_len <= start <= len(clip):
            raise Failure(f"--at {args.at:g}: expected {model.input_len / model.fps:.2f} to {len(clip) / model.fps:.2f} s")
        if not np.isfinite(phase[start - 1]):
            raise Failure(f"--at {args.at:g}: the clip has no gait phase there")
    frames = frames_of(args.seconds, model.fps)
    made = led(model, clip, phase, start, frames, args.free)
    save_bvh(target, made)
    left = len(clip) - start
    way = "free" if args.free or left < 2 else "along its path"
    if way != "free" and frames > left:
        way += f", which ends after {left / model.fps:.2f} s"
    print(f"{frames} frames from {path.name} at {start / model.fps:.2f} s, {way}")
    wrote(target)


def evaluate_motion(args: argparse.Namespace) -> None:
    """Report on a motion against a recording, or on a model against recordings that it is led along (by default those
    held out in training). Exit code 0 even where a goal is missed: the report says so."""
    if is_model(args.first):
        reports = _evaluate_model(args)
    elif len(args.references) == 1:
        reports = [_evaluate_pair(args)]
    else:
        if not Path(args.first).exists():
            raise Failure(f"{args.first}: no such file or folder")
        if Path(args.first).is_dir():
            raise Failure(f"{args.first}: no {MODEL_NAME} in this folder")
        raise Failure(f"a motion needs one recording to be compared with, got {len(args.references)}")
    for name, report, folder in reports:
        print(f"\n{name}")
        print(report)
        if folder is not None:
            for path in report.save(folder):
                wrote(path)
    if any(folder is not None for _, _, folder in reports):
        tell_plots()


def tell_plots() -> None:
    """Say why there are no plots where Matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        note("note: no plots without Matplotlib (pip install matplotlib)")


def _evaluate_pair(args):
    paths = [find_file(path) for path in (args.first, args.references[0])]
    if paths[0].samefile(paths[1]):
        raise Failure("name two different BVH files")
    reading = Reading.of(args)
    predicted, reference = (read_told([path], reading)[0][0] for path in paths)
    if abs(predicted.fps - reference.fps) > 1e-4 * reference.fps:
        note(f"note: {predicted.fps:g} frames a second, resampled to the recording's {reference.fps:g}")
        predicted = predicted.resample(reference.fps)
    frames = min(len(predicted), len(reference))
    if len(predicted) != len(reference):
        note(f"note: {len(predicted)} and {len(reference)} frames; the first {frames} are compared")
    report = evaluate(predicted[:frames], reference[:frames], feet=feet_of(reference, reading))
    folder = None
    if args.output:
        folder = new_file(Path(args.output) / "report.json", args.force).parent
    return f"{paths[0]} against {paths[1]}", report, folder


def _evaluate_model(args):
    trained = read_model(args.first)
    reading = Reading.of(args)
    paths = find_files(args.references or [p for p in trained.held_out if p.exists()])
    if not paths:
        paths, reading = [_reference_of(trained)], AS_WRITTEN
        if trained.settings and not trained.held_out:
            note("note: the reference was trained on; --holdout in `pfnnc train` keeps clips apart")
    output = Path(args.output) if args.output else trained.folder / "eval" if trained.folder else None
    reports = []
    for path, name in zip(paths, unique_names([path.stem for path in paths]), strict=True):
        folder = None if output is None else output if len(paths) == 1 else output / name
        if folder is not None:
            new_file(folder / "report.json", args.force or not args.output)
        clip, phase = at_rate(trained, path, reading)
        start = first_window(trained.model, phase)
        frames = min(len(clip) - start, frames_of(args.seconds, trained.model.fps))
        if frames < 2:
            raise Failure(f"{path}: fewer than two frames after its first labelled window")
        predicted = led(trained.model, clip, phase, start, frames, args.free)
        reference = clip[start : start + frames]
        reports.append(
            (
                f"{path}, {frames / trained.model.fps:.1f} s",
                evaluate(predicted, reference, feet=feet_of(reference, reading.over(trained.reading))),
                folder,
            )
        )
    return reports
