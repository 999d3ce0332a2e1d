"""Steer a character through a script of commands from eight starts, and print how well it obeys.

    python benchmarks/bench_steering.py [MODEL CLIP...] [--train SEED] [--recipe JSON] [--minutes 10]
        [--published ../shared/oracles]

MODEL is a file of `MotionModel`, with ``--train`` made anew from the clips; or "demo", the default, the one of the package,
which starts from made clips. With ``--published`` the published weights go through the same commands, where they are.

Script, 60 s: 1.2 m/s straight; 90 degrees left; straight; stop for 3 s; start; 180 degrees; jog at 2 m/s; 1.2 m/s
again. Measures, means over the starts, poses at 30 frames a second:

- speed error: | mean ground speed - commanded |, last five seconds of each stretch at 1.2 m/s;
- heading error: angle between the way gone in a second and the command, in the same stretches;
- turns: seconds until the facing is within 10 degrees of the new command;
- slide: path over the ground of a toe tip in a stance of at least 0.1 s while walking is commanded, mm. A: it is
  under 3 cm and slower than 0.8 m/s; B: the network says that it touches the ground;
- amplitude: mean leg joint amplitude of the last ten seconds to the first ten (both straight on at 1.2 m/s; the jog has
  ended two seconds before). Settled: of the last five to seconds 5 to 10, when nothing is left of how the start moved;
- frozen: frames without any motion while motion is commanded;
- acceleration: root mean square of that of the root over the ground, m/s^2;
- stop: ground speed in the last second of the stop, and the way that a toe tip slides from the command on.

``--minutes`` of random commands, the last minute's those of the first: spread of poses in the last to the first.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import published_pfnn

import pfnnc
from pfnnc.features import point_positions

FPS, WALK, JOG = 30, 1.2, 2.0
SCRIPT = (  # seconds, speed, heading in degrees
    (10, WALK, 0), (9, WALK, 90), (3, 0, 90), (9, WALK, 90), (9, WALK, 270), (8, JOG, 270), (12, WALK, 270),
)  # fmt: skip
TURNS, STOP = {"90": 1, "180": 4}, 2
LEGS = ((2, 3, 4), (7, 8, 9))  # of the skeleton of the published weights: hip, knee, ankle


@dataclass
class Run:
    """What was shown, frame by frame, and what had been commanded."""

    root: np.ndarray  # (T, 2) x and z
    yaw: np.ndarray  # (T,)
    tips: np.ndarray  # (T, 2, 3) of the toes
    contacts: np.ndarray  # (T, 2)
    rotations: np.ndarray  # (T, J, 4) local
    legs: list[int]  # their joints
    commands: np.ndarray  # (T, 2) speed and heading


def frames_of(script, yaw: float):
    """Velocity (x, z), facing and speed of each frame."""
    for seconds, speed, degrees in script:
        heading = yaw + np.radians(degrees)
        for _ in range(round(seconds * FPS)):
            yield (speed * np.sin(heading), speed * np.cos(heading)), heading, speed


def drive(model, start, script, **options) -> Run:
    controller = pfnnc.Controller(model.character(start), **options)
    poses, commands = [], []
    for velocity, facing, speed in frames_of(script, controller.character.yaw):
        poses.append(controller.step(1 / FPS, velocity, facing))
        commands.append((speed, facing))
    clip = pfnnc.Clip(model.skeleton, [p.root_position for p in poses], [p.rotations for p in poses], FPS)
    joints = [j for chain in model.skeleton.find_feet() for j in _leg(model.skeleton, chain[0])]
    return Run(
        clip.root_positions[:, [0, 2]], np.array([p.yaw for p in poses]), point_positions(clip, model.feet),
        np.array([p.contacts for p in poses]), clip.rotations, joints, np.array(commands),
    )  # fmt: skip


def _leg(skeleton, ankle):
    knee = int(skeleton.parents[ankle])
    return int(skeleton.parents[knee]), knee, ankle


def drive_published(files, row: int, script, parents) -> Run:
    character = published_pfnn.PublishedPFNN(files, row)
    shown, commands = [], []
    for velocity, facing, speed in frames_of(script, character.yaw):
        for _ in range(published_pfnn.FPS // FPS):
            frame = character.step(velocity, facing)
        shown.append(frame)
        commands.append((speed, facing))
    rotations = np.array([frame.rotations for frame in shown])
    local = rotations.copy()
    local[:, 1:] = pfnnc.quat_mul(pfnnc.quat_conj(rotations[:, np.asarray(parents[1:])]), rotations[:, 1:])
    return Run(
        np.array([frame.root for frame in shown])[:, [0, 2]], np.array([frame.yaw for frame in shown]),
        np.array([frame.positions[published_pfnn.TOES] for frame in shown]), np.array([frame.contacts for frame in shown]),
        local, [j for leg in LEGS for j in leg], np.array(commands),
    )  # fmt: skip


def slides(touches: np.ndarray, tips: np.ndarray) -> list[float]:
    """mm over the ground in each stance of at least 0.1 s."""
    result = []
    for foot in range(touches.shape[1]):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], touches[:, foot].astype(int), [0]])))
        for begin, end in edges.reshape(-1, 2):
            if end - begin >= 4:
                result.append(1000 * path(tips[begin:end, foot]))
    return result


def path(places: np.ndarray) -> float:
    """Metres over the ground."""
    return float(np.hypot(*np.diff(places[:, [0, -1]], axis=0).T).sum())


def amplitudes(rotations: np.ndarray) -> np.ndarray:
    """Root mean square of each joint's rotations (T, J, 4) from their mean, radians."""
    total = []
    for j in range(rotations.shape[1]):
        q = rotations[:, j]
        away = pfnnc.quat_to_exp_map(pfnnc.quat_mul(pfnnc.quat_conj(pfnnc.quat_mean(q)), q))
        total.append(np.sqrt((away**2).sum(-1).mean()))
    return np.array(total)


def between(angle: np.ndarray) -> np.ndarray:
    return abs((angle + np.pi) % (2 * np.pi) - np.pi)


def measure(run: Run) -> dict[str, float]:
    bounds = np.cumsum([0, *(round(s * FPS) for s, _, _ in SCRIPT)])
    result: dict[str, list] = {"speed error": [], "heading error": []}
    for i, (_, speed, _) in enumerate(SCRIPT):
        if speed == WALK:
            steady = run.root[bounds[i + 1] - 5 * FPS : bounds[i + 1]]
            result["speed error"].append(abs(path(steady) / (len(steady) - 1) * FPS - WALK))
            second = steady[FPS:] - steady[:-FPS]
            angle = np.arctan2(second[:, 0], second[:, 1]) - run.commands[bounds[i + 1] - 1, 1]
            result["heading error"].append(np.degrees(between(angle).mean()))
    for name, i in TURNS.items():
        off = between(run.yaw[bounds[i] : bounds[i + 1]] - run.commands[bounds[i], 1])
        result[f"turn {name}"] = [np.argmax(off < np.radians(10)) / FPS if off.min() < np.radians(10) else np.inf]
    speed = np.zeros(run.tips.shape[:2])
    speed[1:] = np.linalg.norm(np.diff(run.tips, axis=0), axis=-1) * FPS
    walking = (run.commands[:, 0] == WALK)[:, None]
    low = run.tips[:, :, 1] < np.percentile(run.tips[:, :, 1], 1) + 0.03
    result["slide A"] = slides(low & (speed < 0.8) & walking, run.tips)
    result["slide B"] = slides((run.contacts > 0.5) & walking, run.tips)
    result["contact share"] = [(run.contacts > 0.5)[walking[:, 0]].mean()]
    stop = slice(bounds[STOP], bounds[STOP + 1])
    result["speed stopped"] = [path(run.root[stop][-FPS:]) / (FPS - 1) * FPS]
    result["slide of a stop"] = [1000 * path(run.tips[stop][:, f][-2 * FPS :]) for f in (0, 1)]
    legs = run.rotations[:, run.legs]
    result["amplitude"] = [(amplitudes(legs[-10 * FPS :]) / amplitudes(legs[: 10 * FPS])).mean()]
    result["amplitude settled"] = [(amplitudes(legs[-5 * FPS :]) / amplitudes(legs[5 * FPS : 10 * FPS])).mean()]
    still = abs(np.diff(run.rotations, axis=0)).max(axis=(1, 2)) < 1e-5
    result["acceleration"] = [np.sqrt((np.diff(run.root, 2, axis=0) ** 2).sum(axis=1).mean()) * FPS**2]
    result["frozen"] = [float((still & (run.commands[1:, 0] > 0)).sum())]
    jog = run.root[bounds[6] - 4 * FPS : bounds[6]]
    result["jog speed"] = [path(jog) / (len(jog) - 1) * FPS]
    return {name: float(np.mean(values)) if values else np.nan for name, values in result.items()}


def spread(run: Run, frames: slice) -> float:
    """Root mean square of the joints' rotations from their means."""
    return float(np.sqrt((amplitudes(run.rotations[frames, 1:]) ** 2).mean()))


def random_minute(rng) -> list[tuple[float, float, float]]:
    ends = np.append(np.cumsum(rng.integers(FPS, 5 * FPS, 60)), 0)
    ends = np.append(np.sort(ends[ends < 60 * FPS]), 60 * FPS)
    return [(frames / FPS, rng.choice([0, 0.8, WALK, 1.6, JOG]), rng.uniform(0, 360)) for frames in np.diff(ends)]


def random_script(minutes: int, seed: int) -> list[tuple[float, float, float]]:
    """Its last minute has the commands of the first, so that the two can be compared."""
    rng = np.random.default_rng(seed)
    parts = [random_minute(rng) for _ in range(minutes - 1)]
    return sum([*parts, parts[0]], [])


def starts_of(clips, count: int) -> list:
    rng, starts = np.random.default_rng(0), []
    for _ in range(count):
        clip = clips[rng.integers(len(clips))]
        first = int(rng.integers(len(clip) // 4, 3 * len(clip) // 4))
        starts.append(clip[first - 2 * FPS : first])
    return starts


def report(title: str, rows: list[dict[str, float]]) -> None:
    print(title)
    for name in rows[0]:
        values = [row[name] for row in rows]
        print(f"  {name:<20}{np.mean(values):9.3f}   {min(values):9.3f} .. {max(values):.3f}")


def published_rows(files, count: int) -> list[int]:
    """Rows of real motion that walk, the first of each eighth of them."""
    with np.load(files[1]) as rows:
        walks = np.flatnonzero(rows["X"][:, 48 + 12 * published_pfnn.WALK + 6] > 0.9)
    return walks[np.linspace(0, len(walks) - 1, count).astype(int)].tolist()


def clips_of(arguments) -> tuple[pfnnc.MotionModel, list]:
    if arguments.model == "demo":
        from pfnnc.data.make_demo_model import DEMO_MODEL

        made = [m.clip for m in pfnnc.make_demo_clips(2) if m.kind not in ("idle", "kick")]
        return pfnnc.MotionModel.load(DEMO_MODEL), made
    clips = [pfnnc.load_bvh(file, scale=arguments.scale).resample(FPS) for file in arguments.clips]
    if arguments.train is None:
        return pfnnc.MotionModel.load(arguments.model), clips
    model = pfnnc.MotionModel.train(clips, seed=arguments.train, **arguments.recipe)
    model.save(arguments.model)
    return model, clips


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", nargs="?", default="demo")
    parser.add_argument("clips", type=Path, nargs="*")
    parser.add_argument("--scale", type=float, default=0.056444)
    parser.add_argument("--starts", type=int, default=8)
    parser.add_argument("--minutes", type=int, default=0, help="2 or more")
    parser.add_argument("--train", type=int, metavar="SEED", help="train MODEL from the clips first")
    parser.add_argument("--recipe", type=json.loads, default={}, help='overrides: {"hidden": 256}')
    parser.add_argument("--published", type=Path)
    parser.add_argument("--options", type=json.loads, default={}, help='of Controller: {"trust": 0.2}')
    arguments = parser.parse_args()
    model, clips = clips_of(arguments)
    starts = starts_of(clips, arguments.starts)
    for title, options in (("plain", {}), ("without a grip", {"grip": 0.0}), ("feet locked", {"lock_feet": True})):
        options = {**options, **arguments.options}
        report(title, [measure(drive(model, start, SCRIPT, **options)) for start in starts])
    files = published_pfnn.find(arguments.published) if arguments.published else None
    if files:
        parents = published_pfnn.PARENTS
        rows = published_rows(files, arguments.starts)
        report("the published weights", [measure(drive_published(files, row, SCRIPT, parents)) for row in rows])
    elif arguments.published:
        print(f"no published weights in {arguments.published}: not compared")
    for seed in range(3 if arguments.minutes > 1 else 0):
        run = drive(model, starts[seed], random_script(arguments.minutes, seed), **arguments.options)
        ratio = spread(run, slice(-60 * FPS, None)) / spread(run, slice(60 * FPS))
        print(f"random commands, {arguments.minutes} min, seed {seed}: spread last / first minute {ratio:.3f}")


if __name__ == "__main__":
    main()
