"""Windows: a batch of 256 against NumPy indexing, at other speeds, in an epoch of training; rows a second; more frames
than fit in memory.

    python benchmarks/bench_dataset.py [--seconds 3] [--large]

The candidates take turns in one process; what counts is the least CPU time. Results are compared first. `--large`
makes a data set of two million frames with the generator (some minutes, 1 GB of disk), trains on it and on a tenth of
it, and prints how much memory each run took: memory of its own, and pages of the mapped files, which the system takes
back when it needs them.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import pfnnc

FRAMES, BATCH = 200_000, 256


def race(candidates, seconds):
    """Least CPU seconds of each callable, in turn."""
    best = dict.fromkeys(candidates, np.inf)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, call in candidates.items():
            for _ in range(10):
                start = time.process_time()
                call()
                best[name] = min(best[name], time.process_time() - start)
    return best


def bench_batches(columns, seconds):
    rng = np.random.default_rng(0)
    spec = pfnnc.FeatureSpec()
    rows = rng.normal(size=(FRAMES, spec.dim)).astype(np.float32)
    phase = rng.random(FRAMES)
    normalizer = columns and pfnnc.Normalizer(columns).fit(rows)
    data = pfnnc.WindowDataset([rows], spec, [phase], stride=1, normalizer=normalizer)
    order = rng.permutation(len(data))
    out, at = data.batch(order[:BATCH]), iter(range(10**9))

    def indices():
        k = next(at) * BATCH % (len(order) - BATCH)
        return order[k : k + BATCH]

    def numpy_batch(i):
        frames = rows[data.starts[i][:, None] + np.arange(18)]
        if normalizer:
            frames = (frames - normalizer.mean_.astype(np.float32)) / normalizer.scale_.astype(np.float32)
        return frames[:, :12], frames[:, 12:], phase[data.starts[i] + 11].astype(np.float32)

    for ours, theirs in zip(data.batch(order[:BATCH]), numpy_batch(order[:BATCH]), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    candidates = {
        "batch": lambda: data.batch(indices()),
        "batch(out=)": lambda: data.batch(indices(), out=out),
        "NumPy": lambda: numpy_batch(indices()),
    }
    best = race(candidates, seconds)
    print(f"  normalised: {columns or 'nothing':9}" + "".join(f"{k}: {v * 1e3:.3f}   " for k, v in best.items()))


def walked():
    """A long walk and its phase."""
    made = pfnnc.make_gait_clip("walk", seconds=100, turn_rate=[(0, 0.2), (100, -0.2)])
    return made.clip, made.phase


def bench_speeds(seconds):
    clip, phase = walked()
    names, order = clip.skeleton.names, np.random.default_rng(0)
    specs = {"the article's": pfnnc.FeatureSpec(), "controller": pfnnc.FeatureSpec.controller(names)}
    for name, spec in specs.items():
        rows = spec.encode(clip).astype(np.float32)
        calls = {}
        for label, speeds in (("1", (1.0,)), ("0.8 to 1.2", (0.8, 0.9, 1.0, 1.1, 1.2)), ("1.13", (1.13,))):
            data = pfnnc.WindowDataset([rows] * 40, spec, [phase] * 40, fps=30, speeds=speeds, stride=2)
            out = data.batch(np.arange(BATCH))
            calls[label] = lambda data=data, out=out: data.batch(order.integers(0, len(data), BATCH), out=out)
        best = race(calls, seconds)
        line = "   ".join(f"{label}: {best[label] * 1e3:.3f}" for label in calls)
        print(f"  speeds of {name} frame ({spec.dim} columns)   {line}")


def bench_epoch():
    """CPU seconds of an epoch of as many windows, stored and made between the frames, the runs in turn."""
    clip, phase = walked()
    spec = pfnnc.FeatureSpec.controller(clip.skeleton.names)
    trainers = {}
    for label, speeds, stride in (("1", (1.0,), 1), ("0.8 to 1.2", (0.8, 0.9, 1.0, 1.1, 1.2), 5)):
        data = pfnnc.WindowDataset([clip], spec, [phase], input_len=2, output_len=1, speeds=speeds, stride=stride)
        model = pfnnc.SimplifiedPFNN(spec.in_dim(2), spec.out_dim, hidden=256, n_kernels=4, init="he", seed=0)
        trainers[label] = (pfnnc.Trainer(model, phase_weight=1.0, trajectory_weight=1.0, batch_size=32), data)
    best = dict.fromkeys(trainers, np.inf)
    for epoch in range(1, 8):
        for label, (trainer, data) in trainers.items():
            start = time.process_time()
            trainer.fit(data, epochs=epoch, progress=False)
            best[label] = min(best[label], (time.process_time() - start) / len(data))
    line = "   ".join(f"speeds {label}: {value * 1e6:.1f} µs" for label, value in best.items())
    print(f"training on a window, controller frame, hidden 256, batches of 32:   {line}")


def bench_rows(seconds):
    clip, _ = walked()
    names, frames = clip.skeleton.names, len(clip)
    specs = {"the article's": pfnnc.FeatureSpec(), "controller": pfnnc.FeatureSpec.controller(names)}
    best = race({name: lambda spec=spec: spec.encode(clip) for name, spec in specs.items()}, seconds)
    for name, spec in specs.items():
        print(f"rows of {name} frame ({spec.dim} columns): {frames / best[name]:,.0f} frames a second")


# ---- two million frames


def generated(path):
    """Ten minutes of walking and turning."""
    seed = int(Path(path).read_text())
    rng = np.random.default_rng(seed)
    times = np.linspace(0, 600, 30)
    made = pfnnc.make_gait_clip(
        "walk",
        seconds=600,
        speed=list(zip(times, rng.uniform(0.7, 1.6, 30), strict=True)),
        turn_rate=list(zip(times, rng.uniform(-0.5, 0.5, 30), strict=True)),
        variation=0.5,
        seed=seed,
    )
    return made.clip, made


def memory():
    """MB of this process: its own, of mapped files."""
    lines = Path("/proc/self/status").read_text().splitlines()
    size = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines if line.startswith("Rss")}
    return size["RssAnon"], size["RssFile"]


def train(folder, speeds):
    sizes = {"input_len": 12, "output_len": 1, "stride": 8}
    data = pfnnc.open_dataset(folder, **sizes, speeds=speeds, normalizer=pfnnc.Normalizer("all"))
    assert data.normalizer.fitted  # statistics: two passes over everything
    model = pfnnc.SimplifiedPFNN(data.spec.in_dim(12), data.spec.out_dim, hidden=64, n_kernels=4, init="he", seed=0)
    own, _ = memory()
    start = time.perf_counter()
    trainer = pfnnc.Trainer(model, batch_size=256, t_max=1).fit(data, epochs=1, progress=False)
    seconds, (after, mapped) = time.perf_counter() - start, memory()
    frames = sum(map(len, data.frames))
    loss = trainer.history[-1].loss
    print(f"  {frames:,} frames, {len(speeds)} speeds, {len(data):,} windows: {seconds:.0f} s, loss {loss:.4f}")
    print(f"  its own memory {own:.0f} MB before, {after:.0f} MB after; mapped files {mapped:.0f} MB", flush=True)


def bench_large():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        paths = []
        for seed in range(111):
            paths.append(folder / f"{seed}.seed")
            paths[-1].write_text(str(seed))
        spec = pfnnc.FeatureSpec(frame="heading")
        for name, some in (("tenth", paths[:11]), ("whole", paths)):
            start = time.perf_counter()
            manifest = pfnnc.build_dataset(some, spec, folder / name, load=generated)
            frames = sum(clip["frames"] for clip in manifest["clips"])
            size = sum(path.stat().st_size for path in (folder / name / "clips").iterdir()) / 1e6
            print(f"built {frames:,} frames in {time.perf_counter() - start:.0f} s, {size:.0f} MB", flush=True)
        for name, speeds in (("tenth", "1"), ("whole", "1"), ("tenth", "0.8,0.9,1,1.1,1.2")):  # each in a process of its own
            command = [sys.executable, __file__, "--train", str(folder / name), "--speeds", speeds]
            subprocess.run(command, check=True, env=os.environ)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--large", action="store_true", help="train on two million frames too")
    parser.add_argument("--train", help=argparse.SUPPRESS)
    parser.add_argument("--speeds", default="1", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        return train(options.train, [float(speed) for speed in options.speeds.split(",")])
    print(f"batches of {BATCH} windows of 12 + 6 frames, 103 columns, from {FRAMES:,} frames (ms)")
    for columns in (None, "velocity", "all"):
        bench_batches(columns, options.seconds)
    bench_speeds(options.seconds)
    bench_epoch()
    bench_rows(options.seconds)
    if options.large:
        bench_large()


if __name__ == "__main__":
    main()
