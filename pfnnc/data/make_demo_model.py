"""Makes ``demo.pfnnc``, the character of ``pfnnc play``: ``python -m pfnnc.data.make_demo_model [FILE]``.

It learns from made clips alone: those of ``pfnnc demo``, and errands that a player would send it on: off from standing,
to a walk or a jog, bends as sharp as a key makes them, and back to a stand. Same machine, same bits.
"""

import sys
from pathlib import Path

import numpy as np

from ..motion_model import MotionModel
from ..synthetic import make_demo_clips, make_gait_clip

__all__ = ["DEMO_MODEL", "make_demo_model"]

DEMO_MODEL = Path(__file__).with_name("demo.pfnnc")
ERRANDS, LEGS, SEED = 10, 10, 1
SPEEDS = (0.0, 0.7, 1.0, 1.3, 1.3, 1.6, 2.4, 2.6)  # m/s
ANGLES = np.radians((0, 30, 60, 90, 90, 135, 180, 180))
RECIPE = dict(windows=160_000, hidden=56, scales=(1.0,), trajectory_weight=0.02, straight=0.0)


def errand(seed: int):
    """Half a minute of walking about: every three seconds another speed, a bend, or both."""
    rng = np.random.default_rng(seed)
    speeds, turns, speed, at = [(0.0, 0.0)], [(0.0, 0.0)], 0.0, 0.7
    for leg in range(LEGS):
        wanted = float(rng.choice(SPEEDS)) if leg < LEGS - 1 else 0.0
        if speed == 0.0 and wanted == 0.0:
            wanted = 1.2
        speeds += [(at, speed), (at + max(0.5, abs(wanted - speed) / 2.2), wanted)]
        angle = float(rng.choice(ANGLES) * rng.choice((-1, 1)))
        if angle and min(wanted, speed) > 0:
            # the mean of a ramp up, a plateau and a ramp down is two thirds of its height
            begin, long = at + 0.5, max(0.5, abs(angle) / (4.0 if speed < 2 else 2.8))
            rate = angle / (long * 2 / 3)
            turns += [(begin, 0.0), (begin + long / 3, rate), (begin + 2 * long / 3, rate), (begin + long, 0.0)]
        speed, at = wanted, at + float(rng.uniform(2.5, 3.2))
    return make_gait_clip(
        "auto", seconds=at + 1.0, speed=speeds, turn_rate=turns, variation=0.0, seed=seed, name=f"errand_{seed}",
        start_foot=("left", "right")[seed % 2],
    )  # fmt: skip


def make_demo_model(*, progress: bool = True) -> MotionModel:
    """The demo model, trained anew: a minute of one core."""
    made = [clip for clip in make_demo_clips(SEED) if clip.kind not in ("idle", "kick")]
    made += [errand(SEED + i) for i in range(ERRANDS)]
    # phases as made: the labels of `label_phase` come close, but here the truth is known
    return MotionModel.train([m.clip for m in made], phases=[m.phase for m in made], seed=SEED, progress=progress, **RECIPE)


if __name__ == "__main__":
    target = sys.argv[1] if len(sys.argv) > 1 else DEMO_MODEL
    make_demo_model(progress=False).save(target)
    print(target)
