"""Root motion against ``numpy.interp`` on the same work: one process, one thread, taking turns.

    python benchmarks/bench_root_motion.py

Each time is the minimum of the process's CPU time over many bursts; ratios count, milliseconds do not. Results are
compared before anything is timed.
"""

import time
import timeit

import numpy as np

import pfnnc

MILLION = 1_000_000


def race(entries, seconds=3.0):
    """Minimum CPU seconds of each callable, run in turn; the first call of a burst is dropped."""
    best = dict.fromkeys(entries, np.inf)
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop:
        for name, call in entries.items():
            call()
            for _ in range(3):
                start = time.process_time()
                call()
                best[name] = min(best[name], time.process_time() - start)
    return best


def intervals(keys: int, order: str) -> None:
    rng = np.random.default_rng(keys)
    times = np.sort(rng.random(keys)) * 100
    times[0], times[-1] = 0, 100
    positions = rng.standard_normal((keys, 3))
    t0 = rng.random(MILLION) * 99
    if order == "sorted":
        t0.sort()
    t1 = t0 + 1 / 60
    track = pfnnc.RootTrack(times, positions)

    def at(t):
        return np.stack([np.interp(t, times, positions[:, c]) for c in range(3)], 1)

    np.testing.assert_allclose(track.delta(t0, t1), at(t1) - at(t0), rtol=0, atol=1e-9)
    best = race({"numpy.interp": lambda: at(t1) - at(t0), "pfnnc": lambda: track.delta(t0, t1)})
    ratio = best["numpy.interp"] / best["pfnnc"]
    print(
        f"  {keys:6d} keys, {order:6s}   numpy.interp {best['numpy.interp'] * 1e3:7.1f} ms   pfnnc "
        f"{best['pfnnc'] * 1e3:6.2f} ms   {ratio:5.1f}x"
    )


def main() -> None:
    print("a million intervals of 3 channels")
    for keys in (4, 10_000):
        for order in ("random", "sorted"):
            intervals(keys, order)

    walk = pfnnc.RootTrack([0, 0.25, 0.75, 1], [[0, 0, 0], [0, 0, 0.2], [0, 0, 1.7], [0, 0, 2]])
    plain, clock = pfnnc.RootTrack([0, 1], [0, 1.4]), pfnnc.LoopClock(1.0)

    def step(track):
        clock.advance(1 / 60)
        clock.consume(track)

    print("advance + consume from Python")
    for name, track in (("positions (N,)", plain), ("positions (N, 3)", walk)):
        seconds = min(timeit.repeat(lambda track=track: step(track), number=100_000, repeat=7)) / 100_000
        print(f"  {name:18s} {seconds * 1e9:6.0f} ns")

    crowd = pfnnc.LoopClocks(np.full(100_000, 1.0))
    which = np.zeros(100_000, int)
    best = race({"crowd": lambda: (crowd.advance(1 / 60), crowd.consume([walk], which))}, 1.0)
    print(f"a crowd of 100,000: advance + consume {best['crowd'] * 1e3:.1f} ms, {best['crowd'] * 1e4:.0f} ns a character")


if __name__ == "__main__":
    main()
