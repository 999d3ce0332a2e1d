"""Windows: a batch of 256 against NumPy indexing, rows a second, and training from more frames than fit in memory.

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


def bench_rows(seconds):
    made = pfnnc.make_gait_clip("walk", seconds=100, turn_rate=[(0, 0.2), (100, -0.2)])
    names, frames = made.clip.skeleton.names, len(made.clip)
    specs = {"the article's": pfnnc.FeatureSpec(), "controller": pfnnc.FeatureSpec.controller(names)}
    best = race({name: lambda spec=spec: spec.encode(made.clip) for name, spec in specs.items()}, seconds)
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


def train(folder):
    data = pfnnc.open_dataset(folder, input_len=12, output_len=1, stride=8, normalizer=pfnnc.Normalizer("all"))
    assert data.normalizer.fitted  # statistics: two passes over everything
    model = pfnnc.SimplifiedPFNN(data.spec.in_dim(12), data.spec.out_dim, hidden=64, n_kernels=4, init="he", seed=0)
    own, _ = memory()
    start = time.perf_counter()
    trainer = pfnnc.Trainer(model, batch_size=256, t_max=1).fit(data, epochs=1, progress=False)
    seconds, (after, mapped) = time.perf_counter() - start, memory()
    frames = sum(map(len, data.frames))
    print(f"  {frames:,} frames, {len(data):,} windows: {seconds:.0f} s, loss {trainer.history[-1].loss:.4f}")
    print(f"  its own memory {own:.0f} MB before, {after:.0f} MB after; mapped files {mapped:.0f} MB", flush=True)


def bench_large():
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        paths = []
        for seed in range(10):
            paths.append(folder / f"{seed}.seed")
            paths[-1].write_text(str(seed))
        spec = pfnnc.FeatureSpec(frame="heading")
        for name, speeds in (("tenth", (1.0,)), ("whole", tuple(np.linspace(0.8, 1.25, 11)))):
            start = time.perf_counter()
            manifest = pfnnc.build_dataset(paths, spec, folder / name, load=generated, speeds=speeds)
            frames = sum(clip["frames"] for clip in manifest["clips"])
            size = sum(path.stat().st_size for path in (folder / name / "clips").iterdir()) / 1e6
            print(f"built {frames:,} frames in {time.perf_counter() - start:.0f} s, {size:.0f} MB", flush=True)
        for name in ("tenth", "whole"):  # each in a process of its own
            subprocess.run([sys.executable, __file__, "--train", str(folder / name)], check=True, env=os.environ)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--large", action="store_true", help="train on two million frames too")
    parser.add_argument("--train", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        return train(options.train)
    print(f"batches of {BATCH} windows of 12 + 6 frames, 103 columns, from {FRAMES:,} frames (ms)")
    for columns in (None, "velocity", "all"):
        bench_batches(columns, options.seconds)
    bench_rows(options.seconds)
    if options.large:
        bench_large()


if __name__ == "__main__":
    main()
