"""The trainer as a peer in the races of a benchmark harness: ``peers(section, inputs)``."""

import numpy as np

from pfnnc import SimplifiedPFNN, Trainer
from pfnnc._train_work import Work

FRAME = 103


def peers(section, inputs):
    """One training step of `Trainer` on the batch that the other candidates get."""
    if section != "train":
        return None
    model = SimplifiedPFNN(dtype=np.float32)
    state = {}
    for i, (weights, bias) in enumerate(inputs["parameters"], 1):
        state |= {f"fc{i}.weights": weights, f"fc{i}.bias": bias}
    model.load_state_dict(state)
    count = len(inputs["x"])
    x, y = inputs["x"].reshape(count, -1, FRAME), inputs["y"].reshape(count, 1, FRAME)
    trainer = Trainer(model, batch_size=None, shuffle=False)
    work, indices = Work(trainer, (x, y, inputs["phase"]), None), np.arange(count)

    def step():
        losses = work.gradient(indices, 1, 0)
        trainer._step(work, 1e-3)
        return sum(losses)

    return {"pfnnc": step}
