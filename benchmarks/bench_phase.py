"""Phase from the height of the root: ours against the article's code and vectorised NumPy + SciPy.

    python benchmarks/bench_phase.py [--samples 1000000] [--seconds 5]

The candidates take turns in one process; what counts is the least CPU time. Results are compared first.
"""

import argparse
import time

import numpy as np
from scipy.signal import find_peaks

import pfnnc


def valleys(y, fps):
    return find_peaks(-np.convolve(y, np.ones(5) / 5, "same"), distance=int(fps * 0.4))[0]


def article(y, fps):
    found, phase = valleys(y, fps), np.full(len(y), np.nan)
    for a, b in zip(found[:-1], found[1:], strict=True):
        phase[a:b] = np.linspace(0, 1, b - a, endpoint=False)
    return phase, found


def vectorised(y, fps):
    found, phase = valleys(y, fps), np.full(len(y), np.nan)
    length, a, b = np.diff(found), found[0], found[-1]
    phase[a:b] = (np.arange(a, b) - np.repeat(found[:-1], length)) / np.repeat(length, length)
    return phase, found


def ours(y, fps):
    return pfnnc.extract_phase_from_root_y(y, fps)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()

    fps, rng = 60, np.random.default_rng(0)
    y = 0.9 + 0.03 * np.sin(2 * np.pi * 1.8 * np.arange(options.samples) / fps)
    y += 0.005 * rng.standard_normal(options.samples)
    for a, b in zip(ours(y, fps), article(y, fps), strict=True):
        np.testing.assert_array_equal(a, b)

    best = dict.fromkeys((article, vectorised, ours), np.inf)
    end = time.perf_counter() + options.seconds
    while time.perf_counter() < end:
        for candidate in best:
            for _ in range(1 if candidate is article else 4):
                start = time.process_time()
                candidate(y, fps)
                best[candidate] = min(best[candidate], time.process_time() - start)
    print(f"phase of {options.samples:,} samples, least CPU time")
    for candidate, seconds in best.items():
        print(f"  {candidate.__name__:12} {seconds * 1e3:9.3f} ms   ours is {seconds / best[ours]:6.1f} times as fast")


if __name__ == "__main__":
    main()
