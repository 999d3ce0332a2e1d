"""Candidate recipes on real clips, whole takes held out, several seeds each; the table goes into docs/recipes.md.

    python benchmarks/recipes.py CLIPS [--seeds 3] [--windows 12000] [--only NAME,...] [--results recipes.json]

CLIPS is the folder with the recordings (`cmu/*.bvh` beside `cmu/*.phase`). Each candidate changes one thing of the
"controller" preset. Results are kept in a JSON file after every run, so that an interrupted benchmark goes on, and the
table is made from what is there. Everything runs at 30 frames a second on one thread; a run trains on `--windows`
windows in all, fewer than the preset takes, so that differences are cheap to see.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from real_clips import FPS, RIGS, amplitudes, ground, largest_turn, leg_joints, load, skate, yaw_of

import pfnnc
from pfnnc._recipes import leg_points

CANDIDATES = {
    "preset": {},
    "one step (no roll-out)": {"rollout": 1},
    "roll-out 4": {"rollout": 4},
    "roll-out 8": {"rollout": 8},
    "roll-out 16 from the start": {"rollout": 16},
    "recorded phases in training": {"rollout_phase": "label"},
    "no noise": {"noise": 0.0, "window_noise": 0.0},
    "noise x 2": {"noise": 0.1, "window_noise": 0.2},
    "no contact loss": {"contact_weight": 0.0},
    "contact loss x 3": {"contact_weight": 6.0},
    "no weight averaging": {"average": 0.0},
    "no mirroring": {"mirror": False},
    "no time scaling": {"scales": (1.0,)},
    "residual output": {"predict": "delta"},
    "one frame of history": {"input_len": 1},
    "six frames of history": {"input_len": 6},
    "quaternions": {"representation": "quat"},
    "exponential maps": {"representation": "exp_map"},
    "geodesic loss": {"rotation_loss": "geodesic"},
    "cyclic kernel, K = 8": {"kernel": "cyclic", "n_kernels": 8, "beta": 32.0},
    "rbf kernel, K = 8": {"kernel": "rbf", "n_kernels": 8},
    "64 hidden units": {"hidden": 64},
    "256 hidden units": {"hidden": 256},
    "stride 6": {"stride": 6},
    "no leg points and contacts": {"legs": False, "contact_weight": 0.0},
}

COLUMNS = {
    "free_path": "free path",
    "free_end": "speed of the last 5 s",
    "correlation": "led correlation",
    "led_path": "led path",
    "led_legs_least": "legs, least",
    "led_legs_most": "legs, most",
    "skate_over": "skate over the reference's",
    "long_least": "60 s, least",
    "long_most": "60 s, most",
    "yaw_step": "yaw step",
}


def ratio_of_legs(a: pfnnc.Clip, b: pfnnc.Clip, joints) -> np.ndarray:
    return amplitudes(a, joints) / amplitudes(b, joints)


def examine(model: pfnnc.MotionModel, clip: pfnnc.Clip, phase: np.ndarray) -> dict[str, float]:
    """Ten seconds free, the whole take led along its path, sixty seconds free: the numbers of the table."""
    labelled = np.flatnonzero(np.isfinite(phase))
    first, last = max(int(labelled[0]), model.input_len - 1), int(labelled[-1])
    start, walk, ahead = clip[: first + 1], clip[labelled[0] : last + 1], clip[first + 1 :]
    joints, soles = leg_joints(clip.skeleton), leg_points(clip.skeleton, ())[1]
    speed, begin = ground(walk.root_positions) / (len(walk) - 1) * FPS, {"phase": float(phase[first])}

    def run(frames, **lead):
        return model.synthesize(start, frames, **begin, **lead).to_clip(clip.skeleton, FPS)

    free, long = run(300), run(1800)
    led = run(len(ahead), path=(ahead.root_positions, yaw_of(ahead)))
    centred = [c.root_positions - c.root_positions.mean(0) for c in (led, ahead)]
    pooled = (centred[0] * centred[1]).sum() / np.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum())
    led_legs, long_legs = ratio_of_legs(led, ahead, joints), ratio_of_legs(long[-300:], long[:300], joints)
    return {
        "free_path": ground(free.root_positions) / 299 * FPS / speed,
        "free_end": ground(free.root_positions[150:]) / 149 * FPS / speed,
        "correlation": pooled,
        "led_path": ground(led.root_positions) / ground(ahead.root_positions),
        "led_legs_least": led_legs.min(),
        "led_legs_most": led_legs.max(),
        "skate_over": skate(led, soles) - skate(ahead, soles),
        "long_least": long_legs.min(),
        "long_most": long_legs.max(),
        "yaw_step": max(largest_turn(c) for c in (free, led, long)),
    }


def run_one(overrides: dict, seed: int, windows: int, kept, held) -> dict:
    begin = time.process_time()
    try:
        model = pfnnc.MotionModel.train(
            [c for c, _ in kept], phases=[p for _, p in kept], seed=seed, windows=windows, progress=False, **overrides
        )
        seconds = time.process_time() - begin
        takes = {name: examine(model, clip, phase) for name, (clip, phase) in held.items()}
    except FloatingPointError as error:
        return {"failed": str(error)}
    return {"seconds": seconds, "loss": model.history[-1].loss, "takes": takes}


def table(results: dict, windows: int) -> str:
    """Mean over takes and seeds, and below it the range."""
    lines = [
        "# Recipes tried",
        "",
        "Made by `benchmarks/recipes.py`: the `controller` preset of `MotionModel.train`, one thing changed at a time, trained",
        f"on seven CMU walks ({windows:,} windows in all; the preset takes 72,000), measured on the two takes that were",
        "held out whole. Each cell: mean over takes and seeds (least to most). Ratios are to the reference, but for the 60 s",
        "columns: amplitude of the leg joints in the last ten seconds to that in the first ten.",
        "",
        "| recipe | runs | " + " | ".join(COLUMNS.values()) + " | CPU s |",
        "|---|---|" + "---|" * (len(COLUMNS) + 1),
    ]
    for name in CANDIDATES:
        runs = [r for key, r in results.items() if key.rpartition(" / ")[0] == name]
        whole = [r for r in runs if "takes" in r]
        if not runs:
            continue
        cells = []
        for column in COLUMNS:
            values = [take[column] for r in whole for take in r["takes"].values()]
            cells.append(f"{np.mean(values):.2f} ({min(values):.2f} to {max(values):.2f})" if values else "-")
        seconds = f"{np.mean([r['seconds'] for r in whole]):.0f}" if whole else "-"
        failed = f", {len(runs) - len(whole)} exploded" if len(runs) > len(whole) else ""
        lines.append(f"| {name} | {len(runs)}{failed} | " + " | ".join(cells) + f" | {seconds} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--windows", type=int, default=12_000)
    parser.add_argument("--only", help="candidates, separated by commas")
    parser.add_argument("--results", type=Path, default=Path("recipes.json"))
    parser.add_argument("--table", type=Path, default=Path(__file__).parents[1] / "docs" / "recipes.md")
    options = parser.parse_args()
    pfnnc.set_num_threads(1)
    clips, held = load(options.clips, "cmu"), RIGS["cmu"][1]
    kept = [pair for name, pair in clips.items() if name not in held]
    results = json.loads(options.results.read_text()) if options.results.exists() else {}
    names = options.only.split(",") if options.only else list(CANDIDATES)
    for seed in range(options.seeds):
        for name in names:
            key = f"{name} / {seed}"
            if key in results:
                continue
            results[key] = run_one(CANDIDATES[name], seed, options.windows, kept, {n: clips[n] for n in held})
            options.results.write_text(json.dumps(results, indent=1))
            options.table.write_text(table(results, options.windows))
            print(key, {k: v for k, v in results[key].items() if k != "takes"}, flush=True)


if __name__ == "__main__":
    main()
