"""Train the article's network on several processes or machines, with PyTorch's DistributedDataParallel.

    torchrun --nproc-per-node 2 examples/train_ddp.py walk1.bvh walk2.bvh -o network.pfnnc
    srun --ntasks 8 torchrun ... examples/train_ddp.py ...          # or any launcher that sets RANK, WORLD_SIZE, MASTER_*

Without clips it learns the package's synthetic ones. Every process gathers its own part of each batch, forward and
backward passes run in the core, gloo averages the gradients, and process 0 writes a network file that
`pfnnc.SimplifiedPFNN.load` reads. With one process it needs no launcher.
"""

import argparse
import os
import sys

import torch
import torch.distributed as dist
from torch.nn.functional import smooth_l1_loss
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DistributedSampler

import pfnnc
from pfnnc.torch import SimplifiedPFNN


def join() -> tuple[int, int]:
    """Join the other processes; this one's number and how many there are. Alone, nothing is joined but itself."""
    for name, alone in (("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", "127.0.0.1"), ("MASTER_PORT", "29511")):
        os.environ.setdefault(name, alone)
    dist.init_process_group("gloo")
    return dist.get_rank(), dist.get_world_size()


def leave() -> None:
    """Leave the other processes and end this one, at once.

    The wrapped network keeps gloo's threads alive past `destroy_process_group`. One that still lets go of a tensor while
    Python takes itself down asks for a lock that is no more, and the process aborts after all its work is done
    (pytorch/pytorch#190489, #179291). So the interpreter is not taken down.
    """
    dist.destroy_process_group()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def windows(paths: list[str]) -> pfnnc.WindowDataset:
    """Windows of BVH clips in metres, or of synthetic ones."""
    clips = [pfnnc.load_bvh(path) for path in paths] or [made.clip for made in pfnnc.make_demo_clips()]
    spec = pfnnc.FeatureSpec(len(clips[0].skeleton))
    return pfnnc.WindowDataset(clips, spec, output_len=1, normalizer=pfnnc.Normalizer())


def loss_of(network: torch.nn.Module, batch) -> torch.Tensor:
    """The article's loss of a batch (X, Y, P) of NumPy arrays."""
    x, y, phase = (torch.from_numpy(array) for array in batch)
    prediction, last, target = network(x.flatten(1), phase), x[:, -1, :3], y[:, 0]
    return smooth_l1_loss(prediction, target) + 0.1 * smooth_l1_loss(prediction[:, :3] - last, target[:, :3] - last)


def train(network: torch.nn.Module, data: pfnnc.WindowDataset, epochs: int, batch: int, rank: int) -> None:
    """AdamW with the article's cosine schedule; `batch` windows a step over all processes together."""
    optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3, weight_decay=1e-4)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs, 1e-5)
    sampler = DistributedSampler(range(len(data)), shuffle=True, seed=0)
    share = max(1, batch // dist.get_world_size())
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        order, total = list(sampler), 0.0
        for start in range(0, len(order), share):
            optimiser.zero_grad()
            loss = loss_of(network, data.batch(order[start : start + share]))
            loss.backward()
            optimiser.step()
            total += loss.item() * len(order[start : start + share])
        cosine.step()
        if rank == 0:
            print(f"epoch {epoch + 1}: loss {total / len(order):.4f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("clips", nargs="*", help="BVH files of one skeleton, in metres")
    parser.add_argument("-o", "--output", default="network.pfnnc")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--hidden", type=int, default=256)
    options = parser.parse_args()

    rank, size = join()
    pfnnc.set_num_threads(max(1, (os.cpu_count() or 1) // size))
    torch.manual_seed(0)  # the same start everywhere
    data = windows(options.clips)
    network = SimplifiedPFNN(data.spec.in_dim(data.input_len), data.spec.out_dim, options.hidden)
    train(DistributedDataParallel(network), data, options.epochs, options.batch, rank)
    if rank == 0:
        kept = pfnnc.SimplifiedPFNN(network.fc1.weights.shape[1], data.spec.out_dim, options.hidden)
        kept.load_state_dict(network.state_dict()).save(options.output)
        print(f"wrote {options.output}")
    leave()


if __name__ == "__main__":
    main()
