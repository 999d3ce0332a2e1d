"""What a frame of a character costs: one `Character.step` against its forward pass, a crowd against the article's code.

    python benchmarks/bench_synthesis.py [--peers]

Interleaved in one process, one thread, minimum of the process's CPU time. ``--peers`` needs PyTorch.
"""

import argparse
import time

import numpy as np

import pfnnc
from pfnnc import Character, Drift, FeatureSpec, SimplifiedPFNN, synthesize


def race(candidates: dict, seconds: float) -> dict:
    """The least CPU seconds a call of each, taking turns."""
    best = dict.fromkeys(candidates, np.inf)
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for name, call in candidates.items():
            call()
            begin = time.process_time()
            for _ in range(4):
                call()
            best[name] = min(best[name], (time.process_time() - begin) / 4)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--seconds", type=float, default=5)
    arguments = parser.parse_args()
    pfnnc.set_num_threads(1)
    spec, rng = FeatureSpec(), np.random.default_rng(0)
    model = SimplifiedPFNN(seed=0)
    for layer in (model.fc1, model.fc2, model.fc3):
        layer.weights[...] *= 0.1
    window = rng.normal(0, 0.1, (12, spec.dim))
    window[:, 3::4] += 1

    character = Character(model, spec, None, window, 0.1, 1.3, drift=Drift((0, 0, 1.2)))
    out, x, y, phase = (
        np.empty(spec.dim, np.float32),
        rng.normal(size=(1, 1236)).astype(np.float32),
        np.empty((1, 103), np.float32),
        np.array([0.3]),
    )
    times = race(
        {"forward pass": lambda: model(x, phase, out=y), "Character.step": lambda: character.step(1 / 30, out)},
        arguments.seconds,
    )
    for name, seconds in times.items():
        print(f"{name:<16}{seconds * 1e6:9.1f} us")
    print(f"{'ratio':<16}{times['Character.step'] / times['forward pass']:9.3f}")

    count = 1000
    crowd = np.tile(window, (count, 1, 1))
    phases = rng.random(count)
    candidates = {
        "crowd of 1000": lambda: synthesize(model, spec, None, crowd, phases, 4, 1 / 30, 1.3),
        "its forward passes": lambda: [model(xs, phases) for _ in range(4)],
    }
    xs = rng.normal(size=(count, 1236)).astype(np.float32)
    if arguments.peers:
        candidates["article, PyTorch"] = article(model, crowd.reshape(count, -1), phases)
    times = race(candidates, arguments.seconds * (6 if arguments.peers else 1))
    for name, seconds in times.items():
        frames = 1 if name.startswith("article") else 4
        print(f"{name:<20}{seconds / frames * 1e3:9.1f} ms a frame")
    if arguments.peers:
        print(f"{'ratio':<20}{times['article, PyTorch'] * 4 / times['crowd of 1000']:9.1f}")


def article(model: SimplifiedPFNN, x: np.ndarray, phase: np.ndarray):
    """One frame the way the article's module computes it: weights blended a sample."""
    import torch

    torch.set_num_threads(1)
    layers = [[torch.tensor(layer.weights), torch.tensor(layer.bias)] for layer in (model.fc1, model.fc2, model.fc3)]
    centres, x, phase = (
        torch.linspace(0, 1, 8),
        torch.tensor(x, dtype=torch.float32),
        torch.tensor(phase, dtype=torch.float32),
    )

    def frame():
        with torch.no_grad():
            share = torch.exp(-8.0 * (phase[:, None] - centres) ** 2)
            share = share / share.sum(1, keepdim=True)
            h = x
            for i, (weights, bias) in enumerate(layers):
                blended = torch.einsum("bk,kio->bio", share, weights)
                h = torch.bmm(h[:, None], blended)[:, 0] + share @ bias
                h = torch.relu(h) if i < 2 else h
        return h

    return frame


if __name__ == "__main__":
    main()
