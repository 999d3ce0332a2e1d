"""Commands that give away and measure: export, bench."""

import argparse
import inspect
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ._files import written_whole
from .bvh import load_bvh, save_bvh
from .cli_read import (
    Failure,
    Reading,
    add_reading,
    find_file,
    is_model,
    kind_of,
    new_file,
    positive,
    read_model,
    read_told,
    wrote,
)
from .motion_model import MotionModel
from .network import SimplifiedPFNN
from .training import Trainer

CLIP_ENDINGS = (".bvh", ".glb", ".gif", ".html")
MODEL_ENDINGS = (".onnx", ".safetensors", ".pfnnc")


def add_commands(commands) -> None:
    about, raw = inspect.cleandoc(export_file.__doc__), argparse.RawDescriptionHelpFormatter
    export = commands.add_parser(
        "export", help="a clip or a model in another format", description=about, epilog=EXPORT_EXAMPLES, formatter_class=raw
    )
    export.add_argument(
        "source", metavar="CLIP|MODEL", help="a BVH file; or a folder that `pfnnc train` wrote, a model, network or checkpoint"
    )
    target = export.add_mutually_exclusive_group(required=True)
    endings = f"its ending says what: {' '.join(CLIP_ENDINGS)} of a clip, {' '.join(MODEL_ENDINGS)} of a model"
    target.add_argument("-o", "--output", metavar="FILE", help=endings)
    target.add_argument("--onnx", metavar="FILE.onnx", help="the same as -o FILE.onnx")
    export.add_argument("--force", action="store_true", help="write over files that exist")
    clip = export.add_argument_group("clips")
    clip.add_argument("--rate", type=positive, help="resample to so many frames a second")
    clip.add_argument("--mirror", action="store_true", help="left and right exchanged")
    add_reading(export)
    export.set_defaults(run=export_file)

    bench = commands.add_parser("bench", help="how fast this machine is at it", description=run_bench.__doc__)
    bench.add_argument("--seconds", type=positive, default=1.0, help="for each measurement (default 1)")
    bench.set_defaults(run=run_bench)


EXPORT_EXAMPLES = """\
pfnnc export walk.bvh -o walk.glb
pfnnc export out/ --onnx walker.onnx         also walker.parity.npz and walker.json
pfnnc export out/checkpoint.pfnnc -o net.pfnnc
"""


def export_file(args: argparse.Namespace) -> None:
    """Write a clip, in metres and y up, as BVH, glTF binary (.glb), animated GIF or a page; or a model's network for
    ONNX runtimes, as safetensors, or as a file that the C core reads (.pfnnc)."""
    output = args.output or args.onnx
    ending = Path(output).suffix.lower()
    if args.onnx and ending != ".onnx":
        raise Failure(f"{output}: name a file that ends in .onnx")
    if is_model(args.source):
        _export_model(args, output, ending)
    else:
        _export_clip(args, output, ending)


def _export_clip(args: argparse.Namespace, output: str, ending: str) -> None:
    path = find_file(args.source)
    if ending in MODEL_ENDINGS:
        raise Failure(f"{path}: that is no model, and only one can be written as {ending}")
    if ending not in CLIP_ENDINGS:
        raise Failure(f"{output}: cannot write {ending or 'a file without an ending'}; there are {' '.join(CLIP_ENDINGS)}")
    target = new_file(output, args.force, [path])
    (clip,), _ = read_told([path], Reading.of(args))
    if args.rate is not None:
        clip = clip.resample(args.rate)
    if args.mirror:
        clip = clip.mirror()
    _writer(ending)(target, clip)
    wrote(target)


def _writer(ending: str) -> Callable:
    if ending == ".bvh":
        return save_bvh
    if ending == ".glb":
        from .gltf import save_glb

        return save_glb
    if ending == ".gif":
        try:
            import PIL  # noqa: F401
        except ImportError:
            raise Failure("a GIF needs Pillow (pip install pillow)") from None
        from .viewer import write_gif

        return write_gif
    from .viewer import write_page

    return write_page


# ---- models


def _export_model(args: argparse.Namespace, output: str, ending: str) -> None:
    if ending in CLIP_ENDINGS:
        raise Failure(f"{output}: {args.source} is a model; `pfnnc synth` makes a clip of it")
    if ending not in MODEL_ENDINGS:
        raise Failure(f"{output}: cannot write {ending or 'a file without an ending'}; there are {' '.join(MODEL_ENDINGS)}")
    given = [name for name in ("rate", "mirror", "scale", "up", "fps", "root", "feet", "positions") if getattr(args, name)]
    if given:
        raise Failure(f"--{given[0]} is for clips, and {args.source} is a model")
    source = Path(args.source)
    inputs = sorted(source.iterdir()) if source.is_dir() else [source]
    walker, network = _model_of(source)
    target = new_file(output, args.force, inputs)
    if ending == ".onnx":
        _export_onnx(target, walker, network, args.force, inputs)
    elif ending == ".safetensors":
        try:
            import safetensors  # noqa: F401
        except ImportError:
            raise Failure("a .safetensors file needs safetensors (pip install safetensors)") from None
        from .exchange import save_safetensors

        save_safetensors(network, target)
        wrote(target)
    else:
        (walker or network).save(target)
        wrote(target)


def _model_of(path: Path) -> tuple[MotionModel | None, SimplifiedPFNN]:
    """The whole model, where the file holds one, and its network: of a checkpoint the running mean, where it keeps one."""
    kind = "motion-model" if path.is_dir() else kind_of(path)
    if kind == "network":
        return None, SimplifiedPFNN.load(path)
    if kind == "checkpoint":
        trainer = Trainer.load(path)
        return None, trainer.model if trainer._average is None else trainer.averaged()
    walker = read_model(path).model
    return walker, walker.model


def _export_onnx(target: Path, walker: MotionModel | None, network: SimplifiedPFNN, force: bool, inputs: list[Path]) -> None:
    """The graph, inputs and outputs to check a runtime with, and what the rows mean."""
    from .onnx import export_onnx, rows_of

    new_file(target.with_suffix(".parity.npz"), force, inputs)
    rows = new_file(target.with_suffix(".json"), force, inputs) if walker else None
    parity = export_onnx(network, target)
    wrote(target)
    wrote(parity)
    if rows:
        text = json.dumps(rows_of(walker), indent=1, allow_nan=False)
        with written_whole(rows, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        wrote(rows)


# ---- bench


def run_bench(args: argparse.Namespace) -> None:
    """Measure reading, forward kinematics, the network, a character's step and training on made data. The numbers are
    the fastest of many runs, in this process; those in benchmarks/ compare with other programs."""
    from . import get_num_threads

    machine = f"{platform.machine()}, {os.cpu_count()} processors, {get_num_threads()} threads"
    print(f"{machine}, Python {platform.python_version()}")
    for name, measure in MEASUREMENTS.items():
        work, amount, unit = measure()
        best = _fastest(work, args.seconds)
        print(f"{name:<36} {_duration(best):>12}   {amount / best:>12,.0f} {unit}/s", flush=True)


def _fastest(work: Callable, seconds: float) -> float:
    work()
    best, end = np.inf, time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def _duration(seconds: float) -> str:
    unit, size = next((u, s) for u, s in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)) if seconds >= s)
    return f"{seconds / size:.3g} {unit}"


def _reading():
    from .synthetic import make_gait_clip

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "walk.bvh"
        save_bvh(path, make_gait_clip("walk", seconds=60.0).clip)
        text = path.read_bytes()

    def work():
        load_bvh(text)

    return work, len(text) / 1e6, "MB"


def _kinematics():
    from .synthetic import make_gait_clip

    clip = make_gait_clip("walk", seconds=60.0).clip
    return clip.positions, len(clip), "frames"


def _forward(batch: int):
    from .network import SimplifiedPFNN

    model = SimplifiedPFNN(seed=0)
    rng = np.random.default_rng(0)
    x, phase = rng.standard_normal((batch, 1236), np.float32), rng.random(batch)
    out = np.empty((batch, 103), np.float32)

    def work():
        model(x, phase, out=out)

    return work, batch, "frames"


def _step():
    from .features import FeatureSpec
    from .network import SimplifiedPFNN
    from .synthesis import Character
    from .synthetic import make_gait_clip

    spec, made = FeatureSpec(), make_gait_clip("walk", seconds=1.0)
    model = SimplifiedPFNN(seed=0)
    for layer in (model.fc1, model.fc2, model.fc3):
        layer.weights *= 0.01
    character = Character(model, spec, None, spec.encode(made.clip)[:12].astype(np.float32), 0.0, 1.4)
    out = np.empty(spec.dim, np.float32)

    def work():
        character.step(1 / 30, out=out)

    return work, 1, "steps"


def _training():
    from .network import SimplifiedPFNN
    from .training import Trainer

    rng = np.random.default_rng(0)
    trainer = Trainer(SimplifiedPFNN(seed=0), batch_size=256)
    data = (
        rng.standard_normal((512, 12, 103), np.float32),
        rng.standard_normal((512, 1, 103), np.float32),
        rng.random(512),
    )

    def work():
        trainer.fit(data, epochs=trainer.epoch + 1)

    return work, 512, "windows"


MEASUREMENTS = {
    "read BVH, 1,801 frames of 24 joints": _reading,
    "forward kinematics, 1,801 frames": _kinematics,
    "network 1236-256-256-103, one row": lambda: _forward(1),
    "network 1236-256-256-103, 256 rows": lambda: _forward(256),
    "a character's step, that network": _step,
    "training, an epoch of 512 windows": _training,
}
