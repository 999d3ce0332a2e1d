"""Candidate recipes on real clips, whole takes held out, several seeds each; the tables go into docs/recipes.md.

    python benchmarks/recipes.py CLIPS [--seeds 3] [--epochs 2] [--only NAME,...] [--results recipes.json]
    python benchmarks/recipes.py CLIPS --budgets        what roll-out training is for, at three budgets
    python benchmarks/recipes.py --table                the page anew, from the results alone

CLIPS is the folder with the recordings (`cmu/*.bvh` beside `cmu/*.phase`). Each candidate changes one thing of the
"controller" preset; all get the same seeds. Results are kept in a JSON file after every run, so that an interrupted
benchmark goes on, and the page is made from what is there. Everything runs at 30 frames a second on one thread; a run
takes `--epochs` passes over the data, fewer than the preset's, so that differences are cheap to see.
"""

import argparse
import json
import time
from pathlib import Path

import numpy as np
from real_clips import FPS, RIGS, amplitudes, ground, leg_joints, load, skate, turns_of, yaw_of

import pfnnc
from pfnnc._recipes import leg_points

CANDIDATES = {
    "preset": {},
    "one step (no roll-out)": {"rollout": 1},
    "roll-out 4": {"rollout": 4},
    "roll-out 16 from the start": {"rollout": 16},
    "no noise": {"noise": 0.0, "window_noise": 0.0},
    "noise x 2": {"noise": 0.1, "window_noise": 0.2},
    "dropout 0.1": {"dropout": 0.1},
    "no contact loss": {"contact_weight": 0.0},
    "no weight averaging": {"average": 0.0},
    "no mirroring": {"mirror": False},
    "no time scaling": {"scales": (1.0,)},
    "residual output": {"predict": "delta"},
    "one frame of history": {"input_len": 1},
    "six frames of history": {"input_len": 6},
    "no smoothed paths": {"smooth": 0.0},
    "no copies with other turns": {"straight": 0.0},
    "straightened copies alone": {"turns": (1.0,)},
    "wanted path at 3 times": {"times": (1 / 3, 2 / 3, 1.0)},
    "quaternions": {"representation": "quat"},
    "exponential maps": {"representation": "exp_map"},
    "cyclic kernel (K = 8)": {"kernel": "cyclic", "n_kernels": 8, "beta": 32.0},
    "64 hidden units": {"hidden": 64},
    "128 hidden units": {"hidden": 128},
    "trajectory at a fifth": {"trajectory_weight": 0.02},
    "stride 6": {"stride": 6},
}

BUDGETS = (2, 5, 15)  # epochs; the preset takes 15 of these clips
ROLLING = {
    "one step": {"rollout": 1},
    "one step without averaging": {"rollout": 1, "average": 0.0},
    "one step without noise": {"rollout": 1, "noise": 0.0, "window_noise": 0.0},
    "the preset's roll-outs": {},
    "roll-outs without noise": {"noise": 0.0, "window_noise": 0.0},
}

ALONG = {"correlation": "correlation", "led_path": "path", "led_legs": "legs", "skate_over": "skate", "cadence": "cadence"}
ALONE = {"free_end": "speed of the last 5 s", "free_legs": "legs", "free_skate": "skate", "long_legs": "60 s"}


def ratio_of_legs(a: pfnnc.Clip, b: pfnnc.Clip, joints) -> list[float]:
    ratio = amplitudes(a, joints) / amplitudes(b, joints)
    return [float(ratio.min()), float(ratio.max())]


def examine(model: pfnnc.MotionModel, clip: pfnnc.Clip, phase: np.ndarray) -> dict[str, float | list[float]]:
    """Sixty seconds straight on, and the labelled take led along its path: the numbers of the tables."""
    labelled = np.flatnonzero(np.isfinite(phase))
    first, last = max(int(labelled[0]), model.input_len - 1), int(labelled[-1])
    start, walk, ahead = clip[: first + 1], clip[labelled[0] : last + 1], clip[first + 1 : last + 1]
    joints, soles = leg_joints(clip.skeleton), leg_points(clip.skeleton, ())[1]
    speed, begin = ground(walk.root_positions) / (len(walk) - 1) * FPS, {"phase": float(phase[first])}
    long = model.synthesize(start, 1800, **begin).to_clip(clip.skeleton, FPS)
    result = model.synthesize(start, len(ahead), **begin, path=(ahead.root_positions, yaw_of(ahead)))
    led, free = result.to_clip(clip.skeleton, FPS), long[:300]
    centred = [c.root_positions - c.root_positions.mean(0) for c in (led, ahead)]
    return {
        "free_path": ground(free.root_positions) / 299 * FPS / speed,
        "free_end": ground(free.root_positions[150:]) / 149 * FPS / speed,
        "free_legs": ratio_of_legs(free, walk, joints),
        "free_skate": skate(free, soles) - skate(walk, soles),
        "correlation": (centred[0] * centred[1]).sum() / np.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum()),
        "led_path": ground(led.root_positions) / ground(ahead.root_positions),
        "led_legs": ratio_of_legs(led, ahead, joints),
        "skate_over": skate(led, soles) - skate(ahead, soles),
        "cadence": turns_of(result.phase) / turns_of(phase[first + 1 : last + 1]),
        "long_legs": ratio_of_legs(long[-300:], free, joints),
    }


def run_one(overrides: dict, seed: int, epochs: int, kept, held) -> dict:
    begin = time.process_time()
    try:
        model = pfnnc.MotionModel.train(
            [c for c, _ in kept], phases=[p for _, p in kept], seed=seed, epochs=epochs, progress=False, **overrides
        )
        seconds = time.process_time() - begin
        takes = {name: examine(model, clip, phase) for name, (clip, phase) in held.items()}
    except FloatingPointError as error:
        return {"failed": str(error)}
    return {"seconds": seconds, "loss": model.history[-1].loss, "takes": takes}


# ---- the page


def cell(runs: list[dict], column: str) -> str:
    """Mean over takes and seeds and the range; of the legs the mean of the least and of the greatest joint."""
    values = np.array([take[column] for run in runs for take in run["takes"].values()])
    if values.ndim == 2:
        least, most = values.mean(axis=0)
        return f"{least:.2f} to {most:.2f}"
    digits = 3 if column == "correlation" else 2
    return f"{values.mean():.{digits}f} ({values.min():.{digits}f} to {values.max():.{digits}f})"


def rows_of(results: dict, epochs: int, columns: dict) -> list[str]:
    lines = ["| recipe | seeds | " + " | ".join(columns.values()) + " |", "|---" * (len(columns) + 2) + "|"]
    for name in CANDIDATES:
        runs = [r for key, r in results.items() if key.split(" / ")[:2] == [name, str(epochs)]]
        whole = [r for r in runs if "takes" in r]
        if whole:
            failed = f" ({len(runs) - len(whole)} of {len(runs)} exploded)" if len(runs) > len(whole) else ""
            lines.append(f"| {name}{failed} | {len(runs)} | " + " | ".join(cell(whole, column) for column in columns) + " |")
    return lines


def rolling_rows(results: dict) -> list[str]:
    lines = ["| training | epochs | runs within 0.9 to 1.1 | least | most | skate |", "|---|---|---|---|---|---|"]
    for name in ROLLING:
        for epochs in BUDGETS:
            runs = [r for key, r in results.items() if key.split(" / ")[:2] == [name, str(epochs)] and "takes" in r]
            if not runs:
                continue
            legs = np.array([take["long_legs"] for run in runs for take in run["takes"].values()])
            within = int(((legs[:, 0] >= 0.9) & (legs[:, 1] <= 1.1)).sum())
            over = np.mean([take["free_skate"] for run in runs for take in run["takes"].values()])
            lines.append(
                f"| {name} | {epochs} | {within} of {len(legs)} | {legs[:, 0].mean():.2f} ({legs[:, 0].min():.2f})"
                f" | {legs[:, 1].mean():.2f} ({legs[:, 1].max():.2f}) | {over:+.2f} |"
            )
    return lines


def page(results: dict, epochs: int, text: str) -> str:
    """The page: what people wrote in it stays, the tables between their marks are made anew."""
    tables = {
        "along": rows_of(results, epochs, ALONG),
        "alone": rows_of(results, epochs, ALONE),
        "rolling": rolling_rows(results),
    }
    for name, lines in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        before, _, rest = text.partition(begin)
        _, _, after = rest.partition(end)
        text = before + begin + "\n".join(lines) + "\n" + end + after
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path, nargs="?")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--only", help="candidates, separated by commas")
    parser.add_argument("--budgets", action="store_true", help="with and without roll-outs, at three budgets")
    parser.add_argument("--table", action="store_true", help="make the page from the results, train nothing")
    parser.add_argument("--results", type=Path, default=Path("recipes.json"))
    parser.add_argument("--page", type=Path, default=Path(__file__).parents[1] / "docs" / "recipes.md")
    options = parser.parse_args()
    if options.clips is None and not options.table:
        parser.error("CLIPS is needed to train on")
    pfnnc.set_num_threads(1)
    results = json.loads(options.results.read_text()) if options.results.exists() else {}
    candidates = ROLLING if options.budgets else CANDIDATES
    names = options.only.split(",") if options.only else list(candidates)
    budgets = BUDGETS if options.budgets else (options.epochs,)
    if not options.table:
        clips, held = load(options.clips, "cmu"), RIGS["cmu"][1]
        kept = [pair for name, pair in clips.items() if name not in held]
        for epochs, seed, name in ((e, s, n) for e in budgets for s in range(options.seeds) for n in names):
            key = f"{name} / {epochs} / {seed}"
            if key not in results:
                results[key] = run_one(candidates[name], seed, epochs, kept, {n: clips[n] for n in held})
                options.results.write_text(json.dumps(results, indent=1))
                print(key, {k: v for k, v in results[key].items() if k != "takes"}, flush=True)
    options.page.write_text(page(results, options.epochs, options.page.read_text()))


if __name__ == "__main__":
    main()
