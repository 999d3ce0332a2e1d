"""Train on real clips, roll out from unseen ones, and print how the character walks beside how the person did.

    python benchmarks/real_clips.py CLIPS [--rig cmu | holden] [--preset controller] [--seed 0] [--epochs N]
                                    [--labels hand | own] [--held NAME,NAME] [--model FILE] [OPTION=VALUE ...]

CLIPS is the folder with the recordings (``cmu/*.bvh`` beside ``cmu/*.phase``, and the like). Everything runs at 30
frames a second. "free": ten seconds straight on from the first labelled window of an unseen clip (from `input_len`
frames, then the path from all that comes before); "led": along the recording, by its path or, for a model without
control, by a `Drift` of half a second (a second lags too far behind sharp turns); "long": sixty seconds, last ten to
first ten. Skate is `foot_skate` with contacts where the toe tip is within 2 cm of its floor, two frames trimmed.
Cadence: cycles of the model's phase to those of the labels. ``--labels own`` trains on the phases of `label_phase`.
"""

import argparse
import time
from pathlib import Path

import numpy as np

import pfnnc
from pfnnc.features import point_positions

FPS = 30.0
RIGS = {
    "cmu": ({"scale": 0.01, "fps": 60}, ("08_04", "46_01"), 1.0),
    "holden": ({"scale": 0.056444}, ("LocomotionFlat09_000", "LocomotionFlat09_000_mirror"), 2.0),
}


def read_phase(path: Path, unit: float, frames: int) -> np.ndarray:
    """The hand-made labels, 0 at a left strike, NaN where there are none. `unit` 1: in pi; 2: in cycles."""
    raw = np.loadtxt(path)[:frames]
    raw = np.pad(raw, (0, frames - len(raw)), mode="edge")
    phase = (raw * unit / 2 + 0.5) % 1
    moves = np.flatnonzero(np.diff(raw))
    phase[: moves[0] + (0 if unit == 1 else 1)] = np.nan
    phase[moves[-1] + 1 :] = np.nan
    return phase


def at_30(clip: pfnnc.Clip, phase: np.ndarray) -> tuple[pfnnc.Clip, np.ndarray]:
    step = round(clip.fps / FPS)
    resampled = clip.resample(FPS)
    return resampled, phase[::step][: len(resampled)]


def load(folder: Path, rig: str) -> dict[str, tuple[pfnnc.Clip, np.ndarray]]:
    options, _, unit = RIGS[rig]
    clips = {}
    for path in sorted((folder / rig).glob("*.bvh")):
        clip = pfnnc.load_bvh(path, **options)
        clips[path.stem] = at_30(clip, read_phase(path.with_suffix(".phase"), unit, len(clip)))
    return clips


def amplitudes(clip: pfnnc.Clip, joints) -> np.ndarray:
    """Root mean square angle of each joint from its own mean rotation."""
    result = []
    for name in joints:
        q = clip.rotations[:, clip.skeleton.index(name)]
        away = pfnnc.quat_to_exp_map(pfnnc.quat_mul(pfnnc.quat_conj(pfnnc.quat_mean(q)), q))
        result.append(np.sqrt((away**2).sum(-1).mean()))
    return np.array(result)


def skate(clip: pfnnc.Clip, soles) -> float:
    tips = point_positions(clip, soles)
    low = tips[:, :, 1] < np.percentile(tips[:, :, 1], 1) + 0.02
    return pfnnc.foot_skate(tips, low, clip.fps, trim=2)


def leg_joints(skeleton: pfnnc.Skeleton) -> list[str]:
    names = []
    for chain in skeleton.find_feet():
        ankle = chain[0]
        knee = int(skeleton.parents[ankle])
        names += [skeleton.names[j] for j in (int(skeleton.parents[knee]), knee, ankle)]
    return names


def ground(path: np.ndarray) -> float:
    return float(np.hypot(*np.diff(path[:, [0, 2]], axis=0).T).sum())


def yaw_of(clip: pfnnc.Clip) -> np.ndarray:
    return np.unwrap(pfnnc.quat_yaw(clip.rotations[:, 0]))


def turns_of(phase: np.ndarray) -> float:
    """Cycles that a phase goes through."""
    return float(np.nansum((np.diff(phase) + 0.5) % 1 - 0.5))


def largest_turn(clip: pfnnc.Clip) -> float:
    return float(abs(np.diff(yaw_of(clip))).max())


def examine(model: pfnnc.MotionModel, name: str, clip: pfnnc.Clip, phase: np.ndarray, soles) -> None:
    labelled = np.flatnonzero(np.isfinite(phase))
    first, last = max(int(labelled[0]), model.input_len - 1), int(labelled[-1])
    start, walk = clip[: first + 1], clip[labelled[0] : last + 1]
    joints = leg_joints(clip.skeleton)
    speed = ground(walk.root_positions) / (len(walk) - 1) * FPS
    begin = {"phase": float(phase[first])}
    print(
        f"{name}: speed {speed:.2f} m/s, yaw step {largest_turn(walk):.3f}, skate {skate(walk, soles):.3f},"
        f" legs {' '.join(joints)}"
    )

    free = model.synthesize(clip[first - model.input_len + 1 : first + 1], 300, **begin).to_clip(clip.skeleton, FPS)
    whole = model.synthesize(start, 300, **begin).to_clip(clip.skeleton, FPS)
    height = free.root_positions[:, 1]
    print(
        f"  free  path {ground(free.root_positions) / 299 * FPS / speed:.3f}"
        f" ({ground(whole.root_positions) / 299 * FPS / speed:.3f})"
        f"  last 5 s {ground(free.root_positions[150:]) / 149 * FPS / speed:.3f}"
        f"  yaw step {largest_turn(free):.3f}  skate {skate(free, soles):.3f}"
        f"  height {height.min() - walk.root_positions[:, 1].min():+.3f}"
        f" {height.max() - walk.root_positions[:, 1].max():+.3f}"
        f"  legs {np.round(amplitudes(free, joints) / amplitudes(walk, joints), 2)}"
    )
    n = len(clip) - 1 - first
    ahead = clip[first + 1 :]
    if model.spec.control is not None:
        lead = {"path": (ahead.root_positions, yaw_of(ahead))}
    else:
        rate = np.diff(np.concatenate([yaw_of(clip[: first + 1])[-1:], yaw_of(ahead)]))
        rate = ((rate + np.pi) % (2 * np.pi) - np.pi) * FPS
        lead = {
            "drift": pfnnc.Drift(
                model.spec.encode(clip, **({"contacts": np.zeros((len(clip), 2))} if model.spec.contacts else {}))[
                    first + 1 :, :3
                ],
                window=15,
                yaw_rate=rate,
            )
        }
    result = model.synthesize(start, n, **begin, **lead)
    led, labelled = result.to_clip(clip.skeleton, FPS), np.isfinite(phase[first + 1 :])
    cadence = turns_of(result.phase[labelled]) / turns_of(phase[first + 1 :][labelled])
    correlation = pfnnc.trajectory_correlation(np.gradient(led.root_positions, axis=0) * FPS, ahead.root_positions, FPS)
    centred = [c.root_positions - c.root_positions.mean(0) for c in (led, ahead)]
    pooled = (centred[0] * centred[1]).sum() / np.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum())
    print(
        f"  led   correlation {pooled:.4f} ({correlation.overall:.4f})"
        f"  path {ground(led.root_positions) / ground(ahead.root_positions):.3f}"
        f"  yaw step {largest_turn(led):.3f}  skate {skate(led, soles):.3f} (reference {skate(ahead, soles):.3f})"
        f"  height {abs(led.root_positions[:, 1] - ahead.root_positions[:, 1]).max():.3f}  cadence {cadence:.2f}"
        f"  legs {np.round(amplitudes(led, joints) / amplitudes(ahead, joints), 2)}"
    )
    long = model.synthesize(start, 1800, **begin).to_clip(clip.skeleton, FPS)
    print(f"  long  legs {np.round(amplitudes(long[-300:], joints) / amplitudes(long[:300], joints), 2)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clips", type=Path)
    parser.add_argument("--rig", default="cmu", choices=RIGS)
    parser.add_argument("--preset", default="controller", choices=("controller", "article"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--labels", default="hand", choices=("hand", "own"))
    parser.add_argument("--held", help="clips to hold out, separated by commas")
    parser.add_argument("--model", type=Path, help="load it if it is there, else train and save it")
    parser.add_argument("options", nargs="*", help="overrides of the recipe, name=value")
    arguments = parser.parse_intermixed_args()
    overrides = {}
    for option in arguments.options:
        key, _, value = option.partition("=")
        try:
            overrides[key] = eval(value, {})
        except NameError:
            overrides[key] = value

    clips = load(arguments.clips, arguments.rig)
    held = arguments.held.split(",") if arguments.held else RIGS[arguments.rig][1]
    if arguments.model and arguments.model.exists():
        model = pfnnc.MotionModel.load(arguments.model)
    else:
        kept = [pair for name, pair in clips.items() if name not in held]
        begin = time.process_time()
        model = pfnnc.MotionModel.train(
            [c for c, _ in kept], arguments.preset, phases=[p for _, p in kept] if arguments.labels == "hand" else None,
            seed=arguments.seed, epochs=arguments.epochs, **overrides,
        )  # fmt: skip
        report = model.history[-1]
        print(
            f"trained {report.epoch} epochs in {time.process_time() - begin:.0f} s of CPU, loss {report.loss:.4f},"
            f" {model.model}"
        )
        if arguments.model:
            model.save(arguments.model)
    soles = pfnnc._recipes.leg_points(model.skeleton, ())[1]
    for name in held:
        examine(model, name, *clips[name], soles)


if __name__ == "__main__":
    main()
