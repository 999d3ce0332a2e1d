"""Networks in other packages' files: PyTorch checkpoints in, safetensors in and out. Each package only when asked for."""

import json
import os
from collections.abc import Mapping

import numpy as np

from . import _check
from ._files import written_whole
from .network import SimplifiedPFNN

__all__ = ["load_safetensors", "load_torch_checkpoint", "save_safetensors"]

METADATA = "pfnnc"


def load_torch_checkpoint(path: str | os.PathLike, *, beta=8.0, kernel="rbf", activation="relu") -> SimplifiedPFNN:
    """The network of a file that ``torch.save(module.state_dict(), path)`` of the article's module wrote.

    Sizes are those of the tensors; what a state dict does not say, ``beta``, ``kernel`` and ``activation``, is as given. A
    checkpoint that holds the state dict under "model", "state_dict" or "model_state_dict" is taken too, and a
    "module." or "_orig_mod." that a parallel wrapper or `torch.compile` put before the names is left out. Nothing in
    the file is executed (``weights_only``). ``ImportError`` without PyTorch; ``FileNotFoundError``; ``ValueError`` where it
    is something else.
    """
    import torch

    path = _check.path(path)
    with open(path, "rb") as file:
        try:
            content = torch.load(file, map_location="cpu", weights_only=True)
        except Exception as error:  # torch.load raises many kinds for what is no checkpoint
            raise ValueError(f"{os.fspath(path)} is no checkpoint that can be read safely: {error}") from None
    for name in ("model_state_dict", "state_dict", "model"):
        if isinstance(content, Mapping) and isinstance(content.get(name), Mapping):
            content = content[name]
    if not isinstance(content, Mapping) or not all(isinstance(name, str) for name in content):
        raise ValueError(f"{os.fspath(path)} holds no state dict")
    state = {name.removeprefix("module.").removeprefix("_orig_mod."): value for name, value in content.items()}
    return _from_state(state, os.fspath(path), beta=beta, kernel=kernel, activation=activation)


def save_safetensors(model: SimplifiedPFNN, path: str | os.PathLike) -> None:
    """Write the parameters, named as in the state dict, with the options in the file's metadata.

    Whole or not at all (``OSError``). ``ImportError`` without the package safetensors.
    """
    from safetensors.numpy import save

    if not isinstance(model, SimplifiedPFNN):
        raise TypeError(f"model must be a SimplifiedPFNN, got {type(model).__name__}")
    options = {"beta": model.beta, "kernel": model.kernel, "activation": model.activation}
    data = save(model.state_dict(), metadata={METADATA: json.dumps(options)})
    with written_whole(path) as file:
        file.write(data)


def load_safetensors(path: str | os.PathLike, *, beta=None, kernel=None, activation=None) -> SimplifiedPFNN:
    """The network of a safetensors file with the state dict's names.

    ``beta``, ``kernel`` and ``activation`` are those of the file's metadata where `save_safetensors` wrote it, else as given
    (8.0, "rbf", "relu"). ``FileNotFoundError``; ``ValueError`` where it is something else; ``ImportError``.
    """
    from safetensors import SafetensorError, safe_open

    path = _check.path(path)
    with open(path, "rb"):
        pass  # FileNotFoundError and its like, as for every other file
    try:
        with safe_open(path, framework="numpy") as file:
            state = {name: file.get_tensor(name) for name in file.keys()}
            found = json.loads((file.metadata() or {}).get(METADATA, "{}"))
    except (SafetensorError, json.JSONDecodeError, TypeError, RecursionError) as error:
        raise ValueError(f"{os.fspath(path)} is no safetensors file: {error}") from None
    options = {"beta": 8.0, "kernel": "rbf", "activation": "relu"}
    if isinstance(found, dict):
        options |= {name: found[name] for name in options if name in found}
    given = {"beta": beta, "kernel": kernel, "activation": activation}
    options |= {name: value for name, value in given.items() if value is not None}
    return _from_state(state, os.fspath(path), **options)


def _from_state(state: Mapping, path: str, *, beta, kernel, activation) -> SimplifiedPFNN:
    """A network of the sizes that the state's tensors have."""
    shapes = []
    for name in ("fc1.weights", "fc2.weights", "fc3.weights"):
        if name not in state:
            raise ValueError(f"{path} holds no network: it has no entry {name!r}")
        if np.ndim(state[name]) != 3:
            raise ValueError(f"{path} holds no network: {name} has shape {tuple(np.shape(state[name]))}")
        shapes.append(tuple(map(int, np.shape(state[name]))))
    (kernels, in_dim, hidden), *_, (_, _, out_dim) = shapes
    is_double = str(getattr(state["fc1.weights"], "dtype", "")).endswith("float64")
    model = SimplifiedPFNN.__new__(SimplifiedPFNN)
    sizes = tuple(_check.integer(n, "sizes", least=1, most=1 << 20) for n in (in_dim, hidden, hidden, out_dim))
    options = {"n_kernels": kernels, "beta": beta, "kernel": kernel, "activation": activation}
    model._set_up(sizes, {**options, "dtype": np.float64 if is_double else np.float32})
    try:
        return model.load_state_dict(state)
    except ValueError as error:
        raise ValueError(f"{path} holds no network: {error}") from None
