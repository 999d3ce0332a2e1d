"""BVH reading against pybvh, interleaved in one process; minima of its CPU time.

    python benchmarks/bench_bvh.py [FILE]       the largest of the recordings beside the checkout, or a synthetic one

Goal: at least 10 times pybvh, and 150 MB/s or more of one core.
"""

import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import pfnnc

REPEATS = 7


def race(candidates: dict, repeats: int = REPEATS) -> dict[str, float]:
    """Seconds of CPU time of each candidate: the least of several turns, which all take one after the other."""
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(repeats):
        for name, call in candidates.items():
            start = time.process_time()
            call()
            best[name] = min(best[name], time.process_time() - start)
    return best


def largest_recording() -> Path | None:
    files = (Path(__file__).resolve().parents[2] / "shared" / "clips").glob("*/*.bvh")
    return max(files, key=lambda path: path.stat().st_size, default=None)


def made_file(folder: str) -> Path:
    rng = np.random.default_rng(0)
    joints, frames = 40, 2500
    names, parents = [f"joint{j}" for j in range(joints)], np.arange(joints) - 1
    axes = ("Zrotation", "Xrotation", "Yrotation")
    channels = [("Xposition", "Yposition", "Zposition", *axes), *[axes] * (joints - 1)]
    values = rng.normal(0, 30, (frames, 3 * joints + 3)).round(5)
    path = Path(folder) / "made.bvh"
    pfnnc.write_bvh(path, pfnnc.BVHData(names, parents, rng.normal(size=(joints, 3)), channels, [], values, 1 / 60))
    return path


def main() -> None:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]) if len(sys.argv) > 1 else largest_recording() or made_file(folder)
        size = path.stat().st_size / 1e6
        data = pfnnc.read_bvh(path)
        print(f"{path.name}: {size:.2f} MB, {data.frames.shape[0]} frames of {data.frames.shape[1]} channels")

        clip = pfnnc.load_bvh(path)
        copy = Path(folder) / "copy.bvh"
        candidates = {
            "read_bvh": lambda: pfnnc.read_bvh(path),
            "load_bvh (quaternions)": lambda: pfnnc.load_bvh(path),
            "write_bvh": lambda: pfnnc.write_bvh(copy, data),
            "save_bvh (17 digits)": lambda: pfnnc.save_bvh(copy, clip),
            "numpy.array(text.split(), float)": lambda: np.array(path.read_bytes().partition(b"Time:")[2].split(), float),
        }
        try:
            import pybvh
        except ImportError:
            print("pybvh is not installed: no race against it")
        else:
            candidates["pybvh.read_bvh_file"] = lambda: pybvh.read_bvh_file(path)
        seconds = race(candidates)
        peer = seconds.get("pybvh.read_bvh_file")
        for name, least in seconds.items():
            ratio = f"   {peer / least:6.1f} times pybvh" if peer and name.startswith(("read", "load")) else ""
            print(f"  {name:34s} {least * 1e3:8.2f} ms {size / least:8.0f} MB/s{ratio}")
        if peer:
            print(f"goal 10 times pybvh: {peer / seconds['read_bvh']:.1f}; goal 150 MB/s: {size / seconds['read_bvh']:.0f}")

        # many files over threads: wall time, since that is what they are for
        for workers in (1, 2):
            start = time.perf_counter()
            pfnnc.load_clips([path] * 16, workers=workers)
            wall = time.perf_counter() - start
            print(f"  load_clips of 16 files, {workers} thread{'s' if workers > 1 else ''}: {16 * size / wall:.0f} MB/s")


if __name__ == "__main__":
    main()
