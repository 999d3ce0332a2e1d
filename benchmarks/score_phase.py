"""`label_phase` against hand-made labels and against made clips.

    python benchmarks/score_phase.py [--clips ../shared/clips] [--method contacts]

Hand-made labels need the recordings that lie beside the checkout (`holden`, `cmu`: see their README). A frame is
compared where both have a phase (in `cmu` also only where the root walks, over 0.35 m/s in 0.7 s). One constant offset
a data set, its convention, is estimated and printed. `unlabelled` is the share of hand-labelled (walking) frames
without a phase of ours; `idle` is the share of standing frames with one: `.gait` says "stand" there, no hand-made
phase, and the root is slower than 0.1 m/s. `steps` is the share of hand-made footsteps (where that phase passes 0 or
0.5) which a strike of ours on the same foot matches within 0.12 s, no offset taken off, and of how many.
"""

import argparse
from pathlib import Path

import numpy as np

import pfnnc

HERE = Path(__file__).resolve().parents[1]
SETS = {"holden": dict(scale=0.056444), "cmu": dict(scale=0.01, fps=60)}


def hand_made(path: Path, frames: int) -> np.ndarray:
    """Phase in the package's terms, NaN where there is none."""
    if path.parent.name == "holden":
        return pfnnc.load_phase(path, frames=frames)
    return pfnnc.load_phase(path, frames=frames, unit="pi")


def root_speed(clip: pfnnc.Clip, seconds: float = 0.7) -> np.ndarray:
    """m/s over the ground, over a window about each frame."""
    ground, half = clip.root_positions[:, [0, 2]], max(1, round(seconds * clip.fps / 2))
    frame = np.arange(len(clip))
    a, b = np.maximum(frame - half, 0), np.minimum(frame + half, len(clip) - 1)
    return np.linalg.norm(ground[b] - ground[a], axis=1) * clip.fps / np.maximum(b - a, 1)


def circular_mean(d: np.ndarray) -> float:
    return float(np.angle(np.mean(np.exp(2j * np.pi * d)))) / (2 * np.pi)


def footsteps(phase: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Frames, with fractions, at which the left foot (phase 0) and the right one (0.5) strike."""
    step = (np.diff(phase) + 0.5) % 1 - 0.5
    found = []
    for strike in (0.0, 0.5):
        before = (phase[:-1] - strike + 0.5) % 1 - 0.5
        at = np.flatnonzero((step > 0) & (before <= 0) & (before + step > 0) & (before > -0.25))
        found.append(at - before[at] / step[at])
    return found[0], found[1]


def matched(labels: pfnnc.Labels, hand: np.ndarray, fps: float, seconds: float = 0.12) -> list[bool]:
    return [
        bool(np.abs(ours - step).min(initial=np.inf) <= seconds * fps)
        for ours, steps in zip(labels.strikes, footsteps(hand), strict=True)
        for step in steps
    ]


def score_set(folder: Path, method: str, options: dict) -> None:
    rows, differences = [], []
    for path in sorted(folder.glob("*.phase")):
        clip = pfnnc.load_bvh(path.with_suffix(".bvh"), **options)
        hand = hand_made(path, len(clip))
        labels = pfnnc.label_phase(clip, method)
        speed = root_speed(clip)
        walks = ~np.isnan(hand) & ((speed > 0.35) | (folder.name != "cmu"))
        both = walks & ~np.isnan(labels.phase)
        idle = np.isnan(hand) & (speed < 0.1)
        if path.with_suffix(".gait").exists():
            idle &= np.loadtxt(path.with_suffix(".gait"))[: len(clip), 0] > 0.5
        difference = pfnnc.phase_difference(labels.phase[both], hand[both])
        differences.append(difference)
        fast = walks & (speed > 0.35)
        rows.append(
            (
                path.stem,
                difference,
                missing(labels, walks),
                missing(labels, fast),
                idle.sum(),
                1 - missing(labels, idle),
                matched(labels, np.where(walks, hand, np.nan), clip.fps),
            )
        )
    offset = circular_mean(np.concatenate(differences))
    print(f"{folder.name}: {len(rows)} clips, constant offset {offset:+.3f} cycle (ours - hand-made)")
    print(f"  {'clip':30} distance   cos    unlabelled (over .35 m/s)   idle labelled    own offset   steps")
    for name, difference, unlabelled, fast, idle, labelled, steps in rows:
        d = (difference - offset + 0.5) % 1 - 0.5
        print(
            f"  {name:30} {np.abs(d).mean():7.4f} {np.cos(2 * np.pi * d).mean():7.4f} {unlabelled:9.1%} {fast:12.1%}"
            f" {labelled if idle else 0:12.1%} of {idle:<6} {circular_mean(d):+7.3f} {np.mean(steps):9.0%} of {len(steps)}"
        )
    d = (np.concatenate(differences) - offset + 0.5) % 1 - 0.5
    steps = np.concatenate([row[-1] for row in rows])
    line = f"  {'all frames':30} {np.abs(d).mean():7.4f} {np.cos(2 * np.pi * d).mean():7.4f}"
    print(f"{line}{'':59} {steps.mean():9.0%} of {len(steps)}\n")


def missing(labels: pfnnc.Labels, frames: np.ndarray) -> float:
    return float(np.isnan(labels.phase[frames]).mean()) if frames.any() else 0.0


def noisy(clip: pfnnc.Clip, rng: np.random.Generator, metres: float, radians: float) -> pfnnc.Clip:
    """The clip with white noise on the root's position and on every rotation."""
    turn = pfnnc.exp_map_to_quat(rng.normal(scale=radians, size=clip.rotations.shape[:2] + (3,)))
    places = clip.root_positions + rng.normal(scale=metres, size=clip.root_positions.shape)
    return pfnnc.Clip(clip.skeleton, places, pfnnc.quat_mul(clip.rotations, turn), clip.fps, clip.name)


def score_made() -> None:
    print("made clips: strikes off the true ones, in frames (mean, 95 %, greatest), missed and false ones")
    print(f"  {'clip':16}" + "".join(f"{fps:5} fps{'':21}" for fps in (30, 50, 60, 100, 120)))
    for metres, radians in ((0.0, 0.0), (0.002, np.radians(0.3))):
        for name in [made.clip.name for made in pfnnc.make_demo_clips()]:
            line = f"  {name:16}"
            for fps in (30, 50, 60, 100, 120):
                made = next(m for m in pfnnc.make_demo_clips(fps=float(fps)) if m.clip.name == name)
                clip = noisy(made.clip, np.random.default_rng(0), metres, radians) if metres else made.clip
                labels, off, missed, false = pfnnc.label_phase(clip), [], 0, 0
                for true, found in zip(made.strikes, labels.strikes, strict=True):
                    true = true[(true > 0.25) & (true < (len(clip) - 1) / fps - 0.1)] * fps
                    near = [np.abs(found - t).min(initial=np.inf) for t in true]
                    off += [d for d in near if d < 0.2 * fps]
                    missed += sum(d >= 0.2 * fps for d in near)
                    false += sum(
                        np.abs(true - f).min(initial=np.inf) > 0.2 * fps
                        for f in found
                        if 0.25 * fps < f < len(clip) - 1 - 0.1 * fps
                    )
                mean, most, top = (np.mean(off), np.percentile(off, 95), np.max(off)) if off else (0, 0, 0)
                line += f"{mean:6.2f} {most:5.2f} {top:5.2f}  {missed:3d} {false:3d}    "
            print(line + ("noise" if metres else ""))


STANDS = [(0, 0), (1.5, 0), (2.5, 1.3), (6, 1.3), (7, 0), (10, 0), (11, 1.3), (15, 1.3), (16, 0), (18, 0)]
SLOWLY = [(0, 0), (1, 0), (3, 0.9), (6, 0.9), (8, 0), (11, 0), (13, 0.9), (15, 0.9), (17, 0), (19, 0)]
MADE = {
    "gaits": [
        ("walk", 8, {}),
        ("walk", 8, dict(speed=0.7)),
        ("run", 8, {}),
        ("run", 8, dict(speed=1.5)),
        ("run", 8, dict(speed=6.0)),
        ("turn", 8, {}),
        ("auto", 8, dict(speed=[(0, 1.2), (3, 1.2), (5, 3.0), (8, 3.0)])),
    ],
    "starts and halts": [("walk", 18, dict(speed=STANDS)), ("walk", 19, dict(speed=SLOWLY))],
}


def strike_errors(made: pfnnc.SyntheticClip, clip: pfnnc.Clip) -> np.ndarray:
    """Frames from each true strike, but for the clip's edges, to the nearest of ours."""
    fps, found = clip.fps, pfnnc.label_phase(clip).strikes
    inside = [true[(true > 0.25) & (true < (len(clip) - 1) / fps - 0.1)] * fps for true in made.strikes]
    return np.array([np.abs(f - t).min(initial=np.inf) for f, true in zip(found, inside, strict=True) for t in true])


def score_noise(seeds: int = 8) -> None:
    print("\nthe same of other made clips: frames off (mean, greatest), within one frame, missed (off by over 0.2 s)")
    for metres, degrees in ((0.0, 0.0), (0.002, 0.3), (0.005, 0.75), (0.01, 1.0)):
        for name, recipes in MADE.items():
            line = f"  {1000 * metres:3.0f} mm {degrees:4.2f} deg  {name:18}"
            for fps in (30, 60, 120):
                off = []
                for kind, seconds, options in recipes:
                    made = pfnnc.make_gait_clip(kind, seconds=seconds, fps=fps, variation=0.5, **options)
                    for seed in range(seeds if metres else 1):
                        clip = noisy(made.clip, np.random.default_rng(seed), metres, np.radians(degrees))
                        off.append(strike_errors(made, clip))
                off = np.concatenate(off)
                near = off[off < 0.2 * fps]
                line += f"{fps:5} fps {near.mean():5.2f} {near.max():5.2f} {np.mean(off <= 1):6.1%} {len(off) - len(near):3d}"
            print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clips", type=Path, default=HERE.parent / "shared" / "clips")
    parser.add_argument("--method", default="contacts", choices=("contacts", "root_y"))
    options = parser.parse_args()
    for name, reading in SETS.items():
        if (options.clips / name).is_dir():
            score_set(options.clips / name, options.method, reading)
        else:
            print(f"{name}: no such recordings in {options.clips}")
    score_made()
    score_noise()


if __name__ == "__main__":
    main()
