"""Commands that give away and measure: export, bench."""

import argparse
import os
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .bvh import load_bvh, save_bvh
from .cli_read import Failure, Reading, add_reading, find_files, new_file, positive, read_told, wrote

ENDINGS = (".bvh", ".glb", ".gif", ".html")


def add_commands(commands) -> None:
    export = commands.add_parser("export", help="a clip in another format", description=export_clip.__doc__)
    export.add_argument("clip", metavar="CLIP", help="a BVH file")
    export.add_argument("-o", "--output", required=True, metavar="FILE", help="its ending says what: " + " ".join(ENDINGS))
    export.add_argument("--rate", type=positive, help="resample to so many frames a second")
    export.add_argument("--mirror", action="store_true", help="left and right exchanged")
    export.add_argument("--force", action="store_true", help="write over a file that exists")
    add_reading(export)
    export.set_defaults(run=export_clip)

    bench = commands.add_parser("bench", help="how fast this machine is at it", description=run_bench.__doc__)
    bench.add_argument("--seconds", type=positive, default=1.0, help="for each measurement (default 1)")
    bench.set_defaults(run=run_bench)


def export_clip(args: argparse.Namespace) -> None:
    """Write a clip in metres and y up as BVH, glTF binary (.glb), animated GIF or a page, as the ending says."""
    path = find_files([args.clip])[0]
    ending = Path(args.output).suffix.lower()
    if ending not in ENDINGS:
        raise Failure(f"{args.output}: cannot write {ending or 'a file without an ending'}; there are {' '.join(ENDINGS)}")
    target = new_file(args.output, args.force, [path])
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


# ---- bench


def run_bench(args: argparse.Namespace) -> None:
    """Measure reading, forward kinematics, the network, a character's step and training on made data. The numbers are
    the fastest of many runs, in this process; `benchmarks/` compares them with others' programs."""
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
