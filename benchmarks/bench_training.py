"""One training step and one epoch: pfnnc against PyTorch, interleaved in one process on one thread.

    python benchmarks/bench_training.py [--batches 32,256] [--seconds 5] [--epoch]

"Article" is the article's loop: a blended matrix a sample, PyTorch's AdamW. "Stacked" is the same mathematics as one
product, with PyTorch's fused AdamW. Times are CPU time of the process, the least of many turns; each turn is a burst of
four steps whose first, on cold caches, is dropped. GFLOP/s count the dense products, also those with zeros that are skipped.
``--epoch`` adds 20,000 samples at batch 256, and the memory it takes.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy loads

import argparse
import resource
import time

import numpy as np

import pfnnc
from pfnnc import SimplifiedPFNN, Trainer
from pfnnc._train_work import Work

SIZES, KERNELS, BETA, FRAME = (1236, 256, 256, 103), 8, 8.0, 103


def parameters(seed=0):
    """[(weights (K, in, out), bias (K, out))] of the three layers."""
    rng = np.random.default_rng(seed)
    return [
        (
            (rng.standard_normal((KERNELS, a, b)) * np.sqrt(2 / a)).astype(np.float32),
            (rng.standard_normal((KERNELS, b)) * 0.1).astype(np.float32),
        )
        for a, b in zip(SIZES, SIZES[1:], strict=False)
    ]


def batch_of(size):
    rng = np.random.default_rng(size)
    x = rng.standard_normal((size, 12, FRAME), np.float32)
    return x, rng.standard_normal((size, 1, FRAME), np.float32), rng.random(size, np.float32)


def pfnnc_step(data):
    """One step of `Trainer`."""
    model = SimplifiedPFNN()
    state = {}
    for i, (weights, bias) in enumerate(parameters(), 1):
        state |= {f"fc{i}.weights": weights, f"fc{i}.bias": bias}
    trainer = Trainer(model.load_state_dict(state), batch_size=None, shuffle=False)
    work, indices = Work(trainer, data, None), np.arange(len(data[0]))

    def step():
        loss = sum(work.gradient(indices, 1, 0))
        trainer._step(work, 1e-3)
        return loss

    return step


def torch_steps(data):
    """The same step of the article's module, and of the stacked one with fused AdamW; {} without PyTorch."""
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: its steps are left out")
        return {}
    torch.set_num_threads(1)
    x, y, phase = (torch.from_numpy(a) for a in data)

    def step(stacked, **options):
        layers = [[torch.nn.Parameter(torch.from_numpy(a.copy())) for a in layer] for layer in parameters()]
        optimiser = torch.optim.AdamW([p for layer in layers for p in layer], lr=1e-3, weight_decay=1e-4, **options)
        centres, smooth_l1 = torch.linspace(0, 1, KERNELS), torch.nn.functional.smooth_l1_loss

        def layer(h, share, weights, bias):
            if stacked:
                wide = (share.unsqueeze(2) * h.unsqueeze(1)).reshape(len(h), -1)
                return torch.addmm(share @ bias, wide, weights.reshape(-1, weights.shape[2]))
            blended = torch.einsum("bk,kij->bij", share, weights)
            return torch.bmm(h.unsqueeze(1), blended).squeeze(1) + share @ bias

        def run():
            optimiser.zero_grad()
            share = torch.exp(-BETA * (phase.unsqueeze(1) - centres) ** 2)
            share = share / share.sum(1, keepdim=True)
            h = torch.relu(layer(x.flatten(1), share, *layers[0]))
            prediction = layer(torch.relu(layer(h, share, *layers[1])), share, *layers[2])
            last, target = x[:, -1, :3], y[:, 0]
            loss = smooth_l1(prediction, target) + 0.1 * smooth_l1(prediction[:, :3] - last, target[:, :3] - last)
            loss.backward()
            optimiser.step()
            return loss.item()

        return run

    return {"PyTorch, article": step(False), "PyTorch, stacked, fused AdamW": step(True, fused=True)}


def race(candidates, seconds):
    """{name: least CPU seconds of a step}."""
    times = {name: [] for name in candidates}
    stop = time.perf_counter() + seconds
    while time.perf_counter() < stop or min(map(len, times.values())) < 3:
        for name, step in candidates.items():
            if len(times[name]) >= 3 and min(times[name]) > 0.6:
                continue
            burst = []
            while len(burst) < 4 and (not burst or burst[-1] < 0.05):
                start = time.process_time()
                step()
                burst.append(time.process_time() - start)
            times[name] += burst[1:] or burst
    return {name: min(taken) for name, taken in times.items()}


def epoch(count=20_000, size=256):
    """CPU seconds of an epoch, and how far the process's memory grew beyond the data."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((count, 12, FRAME), np.float32), rng.standard_normal((count, 1, FRAME), np.float32)
    trainer = Trainer(SimplifiedPFNN(seed=0), batch_size=size)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    trainer.fit((x, y, rng.random(count)), epochs=1)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"\n{count} samples at batch {size}: {time.process_time() - start:.2f} s, memory grew by {grown:.0f} MiB")
    print(f"(the parameters take {trainer.model._parameters.nbytes / 2**20:.0f} MiB)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--batches", default="32,256")
    parser.add_argument("--seconds", type=float, default=5.0, help="for each batch size")
    parser.add_argument("--epoch", action="store_true")
    options = parser.parse_args()
    pfnnc.set_num_threads(1)
    for size in map(int, options.batches.split(",")):
        data = batch_of(size)
        losses = {name: step() for name, step in (torch_steps(data) | {"pfnnc": pfnnc_step(data)}).items()}
        if max(losses.values()) - min(losses.values()) > 1e-4 * max(losses.values()):
            raise SystemExit(f"the candidates do not do the same work: {losses}")
        times = race(torch_steps(data) | {"pfnnc": pfnnc_step(data)}, options.seconds)
        slowest = times.get("PyTorch, article")
        flops = (
            2
            * size
            * KERNELS
            * (2 * sum(a * b for a, b in zip(SIZES, SIZES[1:], strict=False)) + SIZES[1] * (SIZES[2] + SIZES[3]))
        )
        print(f"\none step, batch {size} ({flops / 1e9:.2f} GFLOP)")
        for name, seconds in times.items():
            ratio = f"{slowest / seconds:8.2f}x" if slowest else ""
            print(f"  {name:32s} {seconds * 1e3:9.2f} ms {ratio} {flops / seconds / 1e9:8.1f} GFLOP/s")
    if options.epoch:
        epoch()


if __name__ == "__main__":
    main()
