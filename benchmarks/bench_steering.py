"""Steer a character through a script of commands from eight starts, and print how well it obeys.

    python benchmarks/bench_steering.py MODEL CLIP... [--scale 0.056444] [--minutes 0]

Script, 60 s: 1.2 m/s straight; 90 degrees left; straight; stop for 3 s; start; 180 degrees; jog at 2 m/s; 1.2 m/s
again. Measures, means over the starts:

- speed error: | mean ground speed - commanded |, last five seconds of each stretch at 1.2 m/s;
- heading error: angle between the way gone in a second and the command, in the same stretches;
- turns: seconds until the facing is within 10 degrees of the new command;
- slide: path over the ground of a toe tip in a walking stance, mm. A: it is under 3 cm and slower than 0.8 m/s; B: the
  network says that it touches the ground;
- amplitude: mean leg joint amplitude of the last ten seconds to the first ten (both at 1.2 m/s);
- frozen: frames without any motion while motion is commanded.

``--minutes`` of random commands: spread of poses in the last minute to the first.
"""

import argparse
from pathlib import Path

import numpy as np

import pfnnc
from pfnnc.features import point_positions

WALK, JOG = 1.2, 2.0
SCRIPT = (  # seconds, speed, heading in degrees
    (10, WALK, 0), (10, WALK, 90), (3, 0, 90), (10, WALK, 90), (9, WALK, 270), (8, JOG, 270), (10, WALK, 270),
)  # fmt: skip
TURNS = {"90": 1, "180": 4}


def drive(model, start, phase, script, **options):
    """Poses at 30 frames a second, and the command (speed, heading in radians) of each."""
    controller = pfnnc.Controller(model.character(start, phase=phase), **options)
    yaw = controller.character.yaw
    poses, commands = [], []
    for seconds, speed, degrees in script:
        heading = yaw + np.radians(degrees)
        for _ in range(round(seconds * 30)):
            poses.append(controller.step(1 / 30, (speed * np.sin(heading), speed * np.cos(heading)), heading))
            commands.append((speed, heading))
    return poses, np.array(commands)


def clip_of(model, poses):
    return pfnnc.Clip(model.skeleton, [p.root_position for p in poses], [p.rotations for p in poses], 30)


def slides(touches: np.ndarray, tips: np.ndarray) -> list[float]:
    """mm over the ground in each stance of at least 0.1 s."""
    result = []
    for foot in range(touches.shape[1]):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], touches[:, foot].astype(int), [0]])))
        for begin, end in edges.reshape(-1, 2):
            if end - begin >= 4:
                result.append(1000 * np.hypot(*np.diff(tips[begin:end, foot][:, [0, 2]], axis=0).T).sum())
    return result


def leg_amplitude(clip, joints):
    total = []
    for j in joints:
        q = clip.rotations[:, j]
        away = pfnnc.quat_to_exp_map(pfnnc.quat_mul(pfnnc.quat_conj(pfnnc.quat_mean(q)), q))
        total.append(np.sqrt((away**2).sum(-1).mean()))
    return np.array(total)


def measure(model, poses, commands) -> dict[str, float]:
    clip = clip_of(model, poses)
    root = clip.root_positions[:, [0, 2]]
    yaw = np.unwrap([p.yaw for p in poses])
    bounds = np.cumsum([0, *(round(s * 30) for s, _, _ in SCRIPT)])
    result: dict[str, list] = {name: [] for name in ("speed error", "heading error", "frozen")}
    for i, (_, speed, _) in enumerate(SCRIPT):
        if speed == WALK:
            steady = slice(bounds[i + 1] - 150, bounds[i + 1])
            way = np.diff(root[steady], axis=0)
            result["speed error"].append(abs(np.hypot(*way.T).mean() * 30 - WALK))
            second = root[steady][30:] - root[steady][:-30]
            angle = np.arctan2(second[:, 0], second[:, 1]) - commands[bounds[i + 1] - 1, 1]
            result["heading error"].append(np.degrees(abs((angle + np.pi) % (2 * np.pi) - np.pi).mean()))
    for name, i in TURNS.items():
        off = abs((yaw[bounds[i] :] - commands[bounds[i], 1] + np.pi) % (2 * np.pi) - np.pi)
        result[f"turn {name}"] = [np.argmax(off < np.radians(10)) / 30]
    tips = point_positions(clip, model.feet)
    speed = np.zeros(tips.shape[:2])
    speed[1:] = np.linalg.norm(np.diff(tips, axis=0), axis=-1) * 30
    walking = (commands[:, 0] == WALK)[:, None]
    low = tips[:, :, 1] < np.percentile(tips[:, :, 1], 1) + 0.03
    result["slide A"] = slides(low & (speed < 0.8) & walking, tips)
    result["slide B"] = slides(np.array([p.contacts > 0.5 for p in poses]) & walking, tips)
    standing = slice(bounds[3] - 30, bounds[3])
    result["speed when stopped"] = [np.hypot(*np.diff(root[standing], axis=0).T).mean() * 30]
    result["slide of a stop"] = [1000 * np.hypot(*np.diff(tips[standing, f][:, [0, 2]], axis=0).T).sum() for f in (0, 1)]
    joints = [j for chain in model.skeleton.find_feet() for j in _leg(model.skeleton, chain[0])]
    result["amplitude"] = [(leg_amplitude(clip[-300:], joints) / leg_amplitude(clip[:300], joints)).mean()]
    still = abs(np.diff(clip.rotations, axis=0)).max(axis=(1, 2)) < 1e-5
    result["frozen"] = [float((still & (commands[1:, 0] > 0)).sum())]
    jog = slice(bounds[6] - 120, bounds[6])
    result["jog speed"] = [np.hypot(*np.diff(root[jog], axis=0).T).mean() * 30]
    return {name: float(np.mean(values)) if values else np.nan for name, values in result.items()}


def _leg(skeleton, ankle):
    knee = int(skeleton.parents[ankle])
    return int(skeleton.parents[knee]), knee, ankle


def spread(clip) -> float:
    """Root mean square of the joints' rotations from their means."""
    return float(np.sqrt((leg_amplitude(clip, range(1, len(clip.skeleton))) ** 2).mean()))


def random_script(minutes: float, seed: int) -> list[tuple[float, float, float]]:
    rng, script, total = np.random.default_rng(seed), [], 0.0
    while total < minutes * 60:
        seconds = rng.uniform(1, 5)
        script.append((seconds, rng.choice([0, 0.8, WALK, 1.6, JOG]), rng.uniform(0, 360)))
        total += seconds
    return script


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("clips", type=Path, nargs="+")
    parser.add_argument("--scale", type=float, default=0.056444)
    parser.add_argument("--starts", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("options", nargs="*", help="of Controller, name=value")
    arguments, rest = parser.parse_known_args()
    options = {k: eval(v, {}) for k, _, v in (o.partition("=") for o in rest)}
    model = pfnnc.MotionModel.load(arguments.model)
    clips = [pfnnc.load_bvh(path, scale=arguments.scale).resample(30) for path in arguments.clips]
    rng = np.random.default_rng(0)
    for locked in (False, True):
        rows = []
        for _ in range(arguments.starts):
            clip = clips[rng.integers(len(clips))]
            first = int(rng.integers(len(clip) // 4, 3 * len(clip) // 4))
            poses, commands = drive(model, clip[first - 60 : first], None, SCRIPT, lock_feet=locked, **options)
            rows.append(measure(model, poses, commands))
        print("feet locked" if locked else "plain")
        for name in rows[0]:
            values = [row[name] for row in rows]
            print(f"  {name:<20}{np.mean(values):9.3f}   {min(values):9.3f} .. {max(values):.3f}")
    if arguments.minutes:
        poses, _ = drive(model, clips[0][200:260], None, random_script(arguments.minutes, 1), **options)
        clip = clip_of(model, poses)
        print(
            f"random commands, {arguments.minutes:g} min: spread last / first minute"
            f" {spread(clip[-1800:]) / spread(clip[:1800]):.3f}"
        )


if __name__ == "__main__":
    main()
