"""Commands that look at clips: inspect, phase, root-motion, view."""

import argparse
import json
import textwrap
from pathlib import Path

import numpy as np

from .cli_read import (
    Failure,
    Reading,
    add_reading,
    feet_of,
    find_file,
    find_files,
    is_model,
    kind_of,
    labelled,
    new_file,
    read_model,
    read_told,
    wrote,
)
from .describe import describe
from .network import SimplifiedPFNN
from .phase_report import label_report
from .root_motion import RootTrack
from .skeleton import Clip
from .training import Trainer

REFERENCE_PAGE = "view.html"
ALIKE = 0.3  # metres a joint: what a synthesis may differ in its first frame from where it goes on


def add_commands(commands) -> None:
    inspect = commands.add_parser("inspect", help="what BVH files or a model are", description=inspect_files.__doc__)
    inspect.add_argument("paths", nargs="+", metavar="PATH", help="BVH files, folders of them, models")
    inspect.set_defaults(run=inspect_files)

    phase = commands.add_parser("phase", help="label the gait phase", description=label_files.__doc__)
    phase.add_argument("paths", nargs="+", metavar="CLIP", help="BVH files or folders")
    phase.add_argument("-o", "--output", metavar="FOLDER", default=".", help="where to write (default: here)")
    phase.add_argument("--method", choices=("contacts", "root_y", "auto"), default="contacts", help="by feet or root height")
    phase.add_argument("--dry-run", action="store_true", help="say what there is, write nothing")
    phase.add_argument("--force", action="store_true", help="write over files that exist")
    add_reading(phase)
    phase.set_defaults(run=label_files)

    root = commands.add_parser("root-motion", help="motion of the root over loops", description=root_motion.__doc__)
    root.add_argument("clip", metavar="CLIP", help="a BVH file")
    root.add_argument("--mode", choices=("translation", "planar", "full"), default="planar", help="what the track holds")
    root.add_argument("--once", action="store_true", help="a clip that does not loop")
    root.add_argument("--close-loop", action="store_true", help="spread the seam's heading error over the clip")
    root.add_argument("--from", dest="t0", type=float, default=0.0, metavar="SECONDS", help="of the displacement (default 0)")
    root.add_argument("--to", dest="t1", type=float, default=None, metavar="SECONDS", help="default: ten cycles on")
    add_reading(root)
    root.set_defaults(run=root_motion)

    view = commands.add_parser("view", help="a page that plays one or two clips", description=view_files.__doc__)
    view.add_argument("paths", nargs="+", metavar="CLIP", help="one or two BVH files, or a trained folder")
    view.add_argument("-o", "--output", metavar="PAGE.html", help="default: named after the first clip, here")
    view.add_argument("--no-labels", action="store_true", help="no phase and contacts")
    view.add_argument("--force", action="store_true", help="write over a page that exists")
    add_reading(view)
    view.set_defaults(run=view_files)


def inspect_files(args: argparse.Namespace) -> None:
    """Say what BVH files and models are: skeleton, likely unit and up axis with the reason, rate, length, oddities."""
    for i, path in enumerate(args.paths):
        if i:
            print()
        kind = "motion-model" if Path(path).is_dir() and is_model(path) else kind_of(path)
        if kind is not None:
            {"checkpoint": _print_checkpoint, "network": _print_network}.get(kind, _print_model)(path)
            continue
        if Path(path).is_dir():
            find_files([path])  # there are some
        print(describe(path if Path(path).is_dir() else find_file(path)))


def _print_checkpoint(path: str) -> None:
    print(f"{path}: {Trainer.load(path).summary()}")


def _print_network(path: str) -> None:
    print(f"{path}: a network, {_sizes(SimplifiedPFNN.load(path))}")


def _sizes(network) -> str:
    layers = f"{network.in_dim}-{network.hidden}-{network.hidden}-{network.out_dim}"
    return f"{layers}, {network.n_kernels} {network.kernel} kernels, {network.activation}"


def _print_model(path: str) -> None:
    trained = read_model(path)
    model = trained.model
    print(f"{path}: a model, preset {model.preset!r}, {model.fps:g} frames a second, {model.input_len} of history")
    print(f"  skeleton  {len(model.skeleton)} joints from {model.skeleton.names[0]}")
    print(f"  network   {_sizes(model.model)}")
    cycle = f" and {1 / model.cadence:.2f} s" if model.cadence else ""
    print(f"  gait      {model.avg_stride:.2f} m{cycle} a cycle")
    if model.history:
        print(f"  training  {len(model.history)} epochs, loss {model.history[-1].loss:.4g} in the last")
    if trained.settings:
        print(f"  made from\n{textwrap.indent(json.dumps(trained.settings, indent=2), '    ')}")


def label_files(args: argparse.Namespace) -> None:
    """Label gait phase and contacts of clips: for each the labels (NAME.npz), PFNN's own format (NAME.phase) and, with
    Matplotlib, a picture (NAME.png)."""
    written: dict[str, Path] = {}
    for path in find_files(args.paths):
        (clip,), reading = read_told([path], Reading.of(args))
        if args.dry_run:
            print(label_report(clip, method=args.method, feet=reading.feet))
            continue
        if clip.name in written:
            raise Failure(f"{path}: its labels would go over those of {written[clip.name]}")
        written[clip.name] = path
        for ending in ("npz", "phase", "png"):
            new_file(Path(args.output) / f"{clip.name}.{ending}", args.force, [path])
        print(label_report(clip, args.output, method=args.method, feet=reading.feet))


def root_motion(args: argparse.Namespace) -> None:
    """Say what the root of a clip does over loops: length, stride, the cycle's transform, the seam, a displacement."""
    (clip,), _ = read_told([find_file(args.clip)], Reading.of(args))
    track = RootTrack.from_clip(clip, args.mode, loop=not args.once, close_loop=args.close_loop)
    end = args.t1 if args.t1 is not None else args.t0 + 10 * track.duration
    print(f"duration  {track.duration:.4f} s, {len(clip)} frames at {clip.fps:g} fps")
    print(f"stride    {_vector(track.stride)} m")
    translation, rotation = track.cycle
    print(f"cycle     moves {_vector(translation)} m, turns {_vector(rotation)} (w x y z)")
    seam = track.seam
    print(f"seam      ends at {_vector(seam[0])} m/s, starts at {_vector(seam[1])} m/s, a jump of {_vector(seam[2])}")
    delta = track.delta(args.t0, end)
    if isinstance(delta, tuple):
        moved, turned = map(_vector, delta)
        print(f"delta     from {args.t0:g} to {end:g} s: {moved} m, turn {turned}, in the root's frame")
    else:
        print(f"delta     from {args.t0:g} to {end:g} s: {_vector(delta)} m")


def _vector(values) -> str:
    return " ".join(f"{value:.4f}" for value in np.atleast_1d(values))


def view_files(args: argparse.Namespace) -> None:
    """Write one self-contained HTML page that plays one clip, or two side by side. Of a trained folder: its last
    synthesis beside the reference."""
    paths, reading = args.paths, Reading.of(args)
    trained = read_model(paths[0]) if len(paths) == 1 and Path(paths[0]).is_dir() and is_model(paths[0]) else None
    if trained is not None:
        folder, reading = Path(paths[0]), reading.over(Reading(1.0, "y", trained.model.fps))
        paths = [str(folder / name) for name in ("synth.bvh", "prediction.bvh", "reference.bvh")]
        paths = [path for path in paths if Path(path).exists()]
        paths = paths[:1] + paths[-1:] if len(paths) > 1 else paths
        if not paths:
            raise Failure(f"{folder}: nothing to show yet; `pfnnc synth {folder}` writes a motion")
        output = args.output or folder / REFERENCE_PAGE
    else:
        output = args.output or Path(Path(paths[0]).name).with_suffix(".html")
    if len(paths) > 2:
        raise Failure(f"one or two clips can be shown, got {len(paths)}")
    files = [find_file(path) for path in paths]
    target = new_file(output, args.force, files)
    clips = [read_told([file], reading)[0][0] for file in files]
    if trained is not None and len(clips) == 2:
        clips[1] = alongside(*clips)
    write_view(target, clips, [file.stem for file in files], None if args.no_labels else reading)
    wrote(target)


def alongside(made: Clip, reference: Clip) -> Clip:
    """The stretch of a reference that a synthesis went on along: from the frame most like its first. All of the reference
    where none is like it."""
    if reference.skeleton.names != made.skeleton.names or not len(made) or not len(reference):
        return reference
    apart = np.linalg.norm(reference.positions() - made[:1].positions(), axis=-1).mean(axis=-1)
    start = int(np.argmin(apart))
    return reference[start : start + len(made)] if apart[start] < ALIKE else reference


def write_view(path, clips, titles, reading: Reading | None) -> None:
    """The page, with phases and contacts where a reading is given and the feet are told."""
    from .viewer import write_page

    feet = [feet_of(clip, reading) if reading and len(clip) > 1 else [] for clip in clips]
    found = [labelled(clip, reading) if own else None for clip, own in zip(clips, feet, strict=True)]
    write_page(
        path,
        clips,
        titles=titles,
        phases=[label and label.phase for label in found],
        contacts=[label and label.contacts for label in found],
        feet=[own or None for own in feet] if reading and reading.feet else None,
    )
