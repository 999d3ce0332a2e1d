"""The network against its peers and against the limits of the machine: one process, one thread, taking turns.

    python benchmarks/bench_network.py [--batches 1,8,32,256,1024,4096] [--seconds 4]

Peers are the article's PyTorch module (one blended matrix a sample), the same mathematics as one product of stacked
matrices in PyTorch, NumPy and onnxruntime. Those not installed are left out. Each time is the minimum of the process's
CPU time over bursts of four calls, the first dropped; ratios count, milliseconds do not. Results are compared with
float64 before anything is timed. The limits, fused multiply-adds on registers alone and reading memory of the weights'
size from one end to the other, are measured in the same turns. PFNNC_ISA=avx2 holds the package and PyTorch's own
kernels to AVX2; MKL's, NumPy's and onnxruntime's products go on using what the processor has.
"""

import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before NumPy loads
if os.environ.get("PFNNC_ISA") == "avx2":
    os.environ.setdefault("ATEN_CPU_CAPABILITY", "avx2")

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

import pfnnc
from pfnnc import _core
from pfnnc.onnx import export_onnx

ROUNDS = 200_000


def race(entries, seconds):
    """Minimum CPU seconds of each callable."""
    best, stop, rounds = dict.fromkeys(entries, np.inf), time.perf_counter() + seconds, 0
    while rounds < 2 or time.perf_counter() < stop:
        rounds += 1
        for name, call in entries.items():
            for i in range(4):
                start = time.process_time()
                call()
                taken = time.process_time() - start
                best[name] = min(best[name], taken if i or taken > 0.05 else np.inf)
                if taken > 0.05:
                    break
    return best


def numpy_stacked(model):
    matrices = [(w.reshape(-1, w.shape[2]), b) for w, b in model._views()]
    centres = np.linspace(0, 1, model.n_kernels, dtype=np.float32)

    def run(x, phase):
        share = np.exp(-np.float32(model.beta) * (phase[:, None] - centres) ** 2)
        share /= share.sum(1, keepdims=True)
        for i, (weights, bias) in enumerate(matrices):
            x = (share[:, :, None] * x[:, None, :]).reshape(len(x), -1) @ weights + share @ bias
            if i < 2:
                np.maximum(x, 0, out=x)
        return x

    return run


def torch_peers(model):
    """The article's network and the stacked one, by name."""
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: its peers are left out")
        return {}
    torch.set_num_threads(1)
    layers = [(torch.from_numpy(w.copy()), torch.from_numpy(b.copy())) for w, b in model._views()]
    centres = torch.linspace(0, 1, model.n_kernels)

    def article(h, share, weights, bias):
        blended = torch.einsum("bk,kij->bij", share, weights)
        return torch.bmm(h.unsqueeze(1), blended).squeeze(1) + share @ bias

    def stacked(h, share, weights, bias):
        product = (share.unsqueeze(2) * h.unsqueeze(1)).reshape(len(h), -1)
        return torch.addmm(share @ bias, product, weights.reshape(-1, weights.shape[2]))

    def network(layer):
        def run(x, phase):
            results = []
            with torch.no_grad():
                for h, p in zip(torch.from_numpy(x).split(256), torch.from_numpy(phase).split(256), strict=True):
                    share = torch.softmax(-model.beta * (p.unsqueeze(1) - centres) ** 2, 1)
                    for i, (weights, bias) in enumerate(layers):
                        h = layer(h, share, weights, bias)
                        h = torch.relu(h) if i < 2 else h
                    results.append(h)
                return torch.cat(results).numpy()

        return run

    return {"torch, article": network(article), "torch, stacked": network(stacked)}


def onnx_peer(model, folder):
    try:
        import onnxruntime
    except ImportError:
        print("onnxruntime is not installed: it is left out")
        return {}
    export_onnx(model, folder / "a.onnx", parity_rows=0)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / "a.onnx"), options, providers=["CPUExecutionProvider"])
    return {"onnxruntime, stacked": lambda x, phase: session.run(None, {"x": x, "phase": phase})[0]}


def bench(model, peers, compiled, batch, seconds):
    rng = np.random.default_rng(batch)
    x, phase = rng.standard_normal((batch, model.in_dim), np.float32), rng.random(batch, np.float32)
    want, out = model(x.astype(np.float64), phase), np.empty((batch, model.out_dim), np.float32)
    ours = {"pfnnc": lambda x, phase: model(x, phase, out)} | compiled
    for name, call in (peers | ours).items():
        print(f"  {name:28s} error {np.abs(call(x, phase) - want).max() / np.abs(want).max():.1e} of max|y|")
    memory = np.ones(model._parameters.size, np.float32)
    entries = {name: (lambda call=call: call(x, phase)) for name, call in (peers | ours).items()}
    entries["limit: multiply-adds"] = lambda: _core.limit_flops(ROUNDS)
    entries["limit: reading"] = lambda: _core.limit_read(memory)
    best = race(entries, seconds)
    flops = _core.limit_flops(ROUNDS) / best.pop("limit: multiply-adds")
    bandwidth = memory.nbytes / best.pop("limit: reading")
    print(f"B={batch}: limits {flops / 1e9:.1f} Gflop/s, {bandwidth / 1e9:.1f} GB/s")
    article, peer = best.get("torch, article", np.nan), min((best[name] for name in peers), default=np.nan)
    for name, taken in best.items():
        print(
            f"  {name:28s} {taken * 1e3:9.3f} ms  {article / taken:6.1f}x the article  {peer / taken:5.2f}x the best peer  "
            f"{2 * model._parameters.size * batch / taken / flops:4.0%} of the multiply-adds' limit  "
            f"{memory.nbytes / taken / bandwidth:4.0%} of reading's"
        )


def bench_overhead():
    model = pfnnc.SimplifiedPFNN(4, 2, hidden=4, seed=0)
    x, phase, out = np.ones((1, 4), np.float32), np.ones(1, np.float32), np.empty((1, 2), np.float32)

    def thousand():
        for _ in range(1000):
            model(x, phase, out=out)

    print(f"model(x, phase, out=) of a tiny network: {race({'call': thousand}, 1.0)['call'] * 1e3:.2f} us a call")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--batches", default="1,8,32,64,256,1024,4096")
    parser.add_argument("--seconds", type=float, default=4.0)
    options = parser.parse_args()
    pfnnc.set_num_threads(1)
    print(f"instruction set: {_core.isa()}")
    bench_overhead()
    model = pfnnc.SimplifiedPFNN(init="he", seed=0)
    compiled = {
        "pfnnc, float16": model.compile(weights="float16"),
        "pfnnc, crowd (16, 4)": model.compile(crowd=(16, 4)),
    }
    with tempfile.TemporaryDirectory() as folder:
        peers = torch_peers(model) | {"numpy, stacked": numpy_stacked(model)} | onnx_peer(model, Path(folder))
        for batch in map(int, options.batches.split(",")):
            bench(model, peers, compiled, batch, options.seconds)


if __name__ == "__main__":
    main()
