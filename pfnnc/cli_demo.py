"""``pfnnc demo``: the whole chain on made clips."""

import argparse
import time
from pathlib import Path

import numpy as np

from .bvh import save_bvh
from .cli_read import MODEL_NAME, Failure, Reading, count, labelled, positive, wrote

HELD_OUT = dict(
    kind="turn",
    speed=[(0, 1.1), (4, 1.4), (8, 1.4), (11, 1.2)],
    turn_rate=[(0, 0), (3, 0), (4, 0.7), (6, 0.7), (7, 0), (9, 0), (9.7, -0.8), (11, -0.8), (12, 0)],
    variation=0.5,
)
# the preset, smaller and without copies at other speeds; made clips do not slide, do not sway, and walk evenly
RECIPE = dict(
    windows=72_000, hidden=96, scales=(1.0,), smooth=0.0, straight=0.0, times=(1 / 3, 2 / 3, 1.0), planted=0.25,
    contact_weight=0.5, trajectory_weight=0.02,
)  # fmt: skip


def add_commands(commands) -> None:
    demo = commands.add_parser("demo", help="everything, on clips that are made", description=run_demo.__doc__)
    demo.add_argument("-o", "--output", metavar="FOLDER", default="demo", help="default: demo")
    demo.add_argument("--seconds", type=positive, default=10.0, help="how long to synthesise (default 10)")
    demo.add_argument("--seed", type=count, default=0, help="the same seed, the same bits (default 0)")
    demo.set_defaults(run=run_demo)


def run_demo(args: argparse.Namespace) -> None:
    """Make clips, label their phase, learn a character, let it walk ten seconds along a path that it has never seen,
    and report. Writes BVH files, the report, plots and a page with prediction and reference side by side."""
    from .cli_model import led, tell_plots
    from .motion_model import MotionModel
    from .report import evaluate
    from .synthetic import make_demo_clips, make_gait_clip
    from .viewer import write_page

    if not 1 <= args.seconds <= 600:
        raise Failure(f"--seconds {args.seconds:g}: expected 1 to 600")
    begun = time.monotonic()
    folder = Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    made = [clip for clip in make_demo_clips(args.seed) if clip.kind not in ("idle", "kick")]
    made = [clip for clip in made if clip.clip.name != "run"]
    held = make_gait_clip(**HELD_OUT, seconds=args.seconds + 2.0, seed=args.seed + 1000, name="reference")
    print(f"made {len(made)} clips, {sum(len(m.clip) for m in made) / 30:.0f} s at 30 frames a second")

    labels = [labelled(m.clip, Reading()) for m in made]
    wrong = np.concatenate([_distance(label.phase, m.phase) for label, m in zip(labels, made, strict=True)])
    print(f"labelled the phase: off by {np.nanmean(wrong):.3f} cycles in the mean from the phase they were made with")

    model = MotionModel.train([m.clip for m in made], phases=[label.phase for label in labels], seed=args.seed, **RECIPE)
    print(f"trained {len(model.history)} epochs, loss {model.history[0].loss:.3g} to {model.history[-1].loss:.3g}")

    phase, start = labelled(held.clip, Reading()).phase, 15
    frames = round(args.seconds * 30)
    predicted = led(model, held.clip, phase, start, frames)
    reference = held.clip[start : start + frames]
    report = evaluate(predicted, reference, feet=held.feet)
    print(f"\n{args.seconds:g} s along the path of a clip that it has not seen")
    print(report)
    print()
    for name, clip in (("prediction", predicted), ("reference", reference)):
        save_bvh(folder / f"{name}.bvh", clip)
        wrote(folder / f"{name}.bvh")
    for path in report.save(folder):
        wrote(path)
    tell_plots()
    seen = [labelled(clip, Reading()) for clip in (predicted, reference)]
    write_page(
        folder / "demo.html", [predicted, reference], titles=["prediction", "reference"],
        phases=[s.phase for s in seen], contacts=[s.contacts for s in seen], heading="pfnnc demo",
    )  # fmt: skip
    wrote(folder / "demo.html")
    model.save(folder / MODEL_NAME)
    wrote(folder / MODEL_NAME)
    names = ("trajectory_correlation", "foot_skate", "yaw_smoothness")
    verdict = ", ".join(f"{name} {'passed' if report[name].passed else 'FAILED'}" for name in names)
    print(f"\n{verdict}; {time.monotonic() - begun:.0f} s. Open {folder / 'demo.html'} in a browser.")


def _distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.abs(np.mod(a - b + 0.5, 1.0) - 0.5)
