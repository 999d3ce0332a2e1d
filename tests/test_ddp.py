"""Training on several processes: the gradients of two are those of one."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pfnnc

pytest.importorskip("torch", reason="needs PyTorch for DistributedDataParallel")
ROOT = Path(__file__).parents[1]

RUN = """
import sys
sys.path.insert(0, "examples")
import numpy as np, torch, train_ddp
from torch.nn.parallel import DistributedDataParallel
rank, size = train_ddp.join()
torch.manual_seed(3)
rng = np.random.default_rng(0)
batch = rng.normal(size=(32, 2, 7)).astype("f4"), rng.normal(size=(32, 1, 7)).astype("f4"), rng.random(32).astype("f4")
network = train_ddp.SimplifiedPFNN(14, 7, 9)
wrapped = DistributedDataParallel(network)
train_ddp.loss_of(wrapped, [a[rank::size] for a in batch]).backward()
np.savez(f"{sys.argv[1]}/{size}_{rank}.npz", **{n: p.grad.numpy() for n, p in network.named_parameters()})
train_ddp.leave()
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def launch(count, arguments, **options):
    """Processes 0..count-1 of a program, as a launcher starts them."""
    port = str(free_port())
    common = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(count), "OMP_NUM_THREADS": "1"}
    common["PYTHONPATH"] = str(ROOT)
    started = [
        subprocess.Popen(
            [sys.executable, *arguments], env=common | {"RANK": str(rank)}, text=True, stdout=-1, stderr=-1, **options
        )
        for rank in range(count)
    ]
    results = [process.communicate(timeout=300) for process in started]
    for process, (out, error) in zip(started, results, strict=True):
        assert process.returncode == 0, out + error
    return [out for out, _ in results]


@pytest.mark.slow
def test_gradients_of_two_processes_are_those_of_one(tmp_path):
    for count in (1, 2):
        launch(count, ["-c", RUN, str(tmp_path)], cwd=ROOT)
    one, first, second = (np.load(tmp_path / name) for name in ("1_0.npz", "2_0.npz", "2_1.npz"))
    assert sorted(one.files) == ["fc1.bias", "fc1.weights", "fc2.bias", "fc2.weights", "fc3.bias", "fc3.weights"]
    for name in one.files:
        assert np.abs(one[name]).max() > 0
        assert np.array_equal(first[name], second[name])
        assert np.abs(first[name] - one[name]).max() <= 1e-6 * np.abs(one[name]).max(), name


@pytest.mark.slow
def test_the_example_trains_on_two_processes(tmp_path):
    pfnnc.save_bvh(tmp_path / "walk.bvh", pfnnc.make_gait_clip("walk", seconds=6).clip)
    arguments = [str(ROOT / "examples" / "train_ddp.py"), "walk.bvh", "--epochs", "40", "--hidden", "8", "--batch", "16"]
    shown, silent = launch(2, arguments, cwd=tmp_path)
    losses = [float(line.split()[-1]) for line in shown.splitlines() if line.startswith("epoch")]
    assert len(losses) == 40 and np.mean(losses[-5:]) < np.mean(losses[:5]) and "epoch" not in silent
    assert pfnnc.SimplifiedPFNN.load(tmp_path / "network.pfnnc").hidden == 8
