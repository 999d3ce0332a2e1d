"""ONNX export: the network as a graph that other runtimes read, without PyTorch and without the onnx package.

A layer is one product of stacked matrices, ``[a_1 x .. a_K x] @ [W_1; ..; W_K] + a @ b``. The graph is opset 15 (IR
version 8), with inputs ``x`` (batch, in) and ``phase`` (batch,), output ``y`` (batch, out), all float32. Outside of
[0, 1] a phase is not refused, as it is in the package; for "cyclic" and "catmull_rom" it wraps.
"""

import os
from pathlib import Path

import numpy as np

from . import _check
from ._files import written_whole
from .motion_model import MotionModel
from .network import SimplifiedPFNN

__all__ = ["export_onnx", "rows_of"]

OPSET, IR_VERSION = 15, 8
FLOAT, INT64 = 1, 7  # of TensorProto.DataType
MOST_BYTES = (1 << 31) - (1 << 20)  # a protobuf message has at most 2 GiB


def export_onnx(model: SimplifiedPFNN, path: str | os.PathLike, *, parity_rows: int = 16) -> Path | None:
    """Write ``model`` to ``path`` and, beside it, inputs and outputs to check a runtime with.

    Parameters
    ----------
    model : SimplifiedPFNN
        Its parameters are written as float32.
    path : str or PathLike
        Written whole or not at all (``OSError``).
    parity_rows : int
        Rows of the parity file ``<path without suffix>.parity.npz`` with ``x``, ``phase`` and the package's ``y``;
        0 writes none.

    Returns the path of the parity file, or None.

    >>> import tempfile, pfnnc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     parity = export_onnx(pfnnc.SimplifiedPFNN(6, 2, hidden=8, seed=0), folder + "/walk.onnx")
    ...     sorted(np.load(parity))
    ['phase', 'x', 'y']
    """
    if not isinstance(model, SimplifiedPFNN):
        raise TypeError(f"model must be a SimplifiedPFNN, got {type(model).__name__}")
    parity_rows = _check.integer(parity_rows, "parity_rows", least=0, most=1 << 20)
    path = Path(path)
    if model._parameters.size * 4 > MOST_BYTES:
        raise ValueError(f"model has {model._parameters.size} parameters, an ONNX file holds at most {MOST_BYTES // 4}")
    data = _model(model)
    with written_whole(path) as file:
        file.write(data)
    if not parity_rows:
        return None
    rng = np.random.default_rng(0)
    x, phase = rng.standard_normal((parity_rows, model.in_dim), np.float32), rng.random(parity_rows, np.float32)
    phase[0] = 0
    parity = path.with_suffix(".parity.npz")
    with written_whole(parity) as file:
        np.savez(file, x=x, phase=phase, y=model(x, phase))
    return parity


def rows_of(walker) -> dict:
    """What an engine must know of a `MotionModel` beside its network, as JSON can hold it.

    ``input``: `frames` rows of `columns`, oldest first, each (value - mean) / scale; then the control block as it is:
    for each of ``control_times`` x, z (m) and sine, cosine of the facing, seen from the last frame's root.
    ``output``: the next row, scaled alike (its change where "predict" is "delta") and kept within low and high; then
    cycles a second where "phase_step" is true; then the next control block. ``start``: a mean row for each part of the
    cycle, physical, to start from.

    >>> import pfnnc
    >>> walk = pfnnc.make_gait_clip("walk", seconds=4.0)
    >>> model = pfnnc.MotionModel.train([walk.clip], phases=[walk.phase], hidden=8, epochs=0, progress=False)
    >>> rows = rows_of(model)
    >>> rows["input"]["columns"]["velocity"], len(rows["output"]["mean"]) == model.spec.dim
    ([0, 3], True)
    """
    if not isinstance(walker, MotionModel):
        raise TypeError(f"walker must be a MotionModel, got {type(walker).__name__}")
    spec, skeleton = walker.spec, walker.skeleton
    scaling = {"mean": walker.normalizer.mean_.tolist(), "scale": walker.normalizer.scale_.tolist()}
    return {
        "fps": walker.fps,
        "avg_stride": walker.avg_stride,
        "cadence": walker.cadence,
        "features": spec.to_dict(),
        "input": {
            "size": walker.model.in_dim,
            "frames": walker.input_len,
            "columns": {name: [part.start, part.stop] for name, part in spec.slices.items()},
            "control_times": list(spec.control.times) if spec.control else [],
            **scaling,
        },
        "output": {
            "size": walker.model.out_dim,
            **scaling,
            "low": walker.limits[0].tolist(),
            "high": walker.limits[1].tolist(),
        },
        "skeleton": {
            "names": list(skeleton.names),
            "parents": np.asarray(skeleton.parents).tolist(),
            "offsets": np.asarray(skeleton.offsets, np.float64).tolist(),
        },
        "joints": [skeleton.names[i] for i in spec.joint_indices(skeleton)],
        "rest": {name: np.asarray(value, np.float64).tolist() for name, value in walker.rest.items()},
        "start": walker.frames.tolist(),
    }


# ---- the graph


class _Graph:
    """Nodes and constants as they are added; a node's output is named after it."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, value, dtype=np.float32) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(_tensor(name, np.asarray(value, dtype)))
        return name

    def add(self, kind: str, *inputs: str, output: str | None = None, **attributes: int) -> str:
        output = output or f"n{len(self.nodes)}"
        parts = [_bytes(1, name) for name in inputs] + [_bytes(2, output), _bytes(4, kind)]
        parts += [_bytes(5, _bytes(1, name) + _int(3, value) + _int(20, 2)) for name, value in attributes.items()]
        self.nodes.append(b"".join(parts))
        return output


def _model(model: SimplifiedPFNN) -> bytes:
    graph = _Graph()
    share = _shares(graph, model)
    share_column = graph.add("Unsqueeze", share, graph.constant([2], np.int64))
    h = "x"
    for i, (weights, bias) in enumerate(model._views()):
        kernels, inputs, outputs = weights.shape
        row = graph.add("Unsqueeze", h, graph.constant([1], np.int64))
        scaled = graph.add("Mul", share_column, row)
        stacked = graph.add("Reshape", scaled, graph.constant([-1, kernels * inputs], np.int64))
        product = graph.add("MatMul", stacked, graph.constant(weights.reshape(-1, outputs)))
        offset = graph.add("MatMul", share, graph.constant(bias))
        h = graph.add("Add", product, offset, output="y" if i == 2 else None)
        if i < 2:
            h = graph.add("Relu" if model.activation == "relu" else "Elu", h)
    body = b"".join(_bytes(1, node) for node in graph.nodes) + _bytes(2, "pfnn")
    body += b"".join(_bytes(5, constant) for constant in graph.constants)
    body += _bytes(11, _value("x", model.in_dim)) + _bytes(11, _value("phase")) + _bytes(12, _value("y", model.out_dim))
    opset = _bytes(1, "") + _int(2, OPSET)
    return _int(1, IR_VERSION) + _bytes(2, "pfnnc") + _bytes(7, body) + _bytes(8, opset)


def _shares(graph: _Graph, model: SimplifiedPFNN) -> str:
    """(batch, K) shares of the kernels."""
    kernels = model.n_kernels
    phase = graph.add("Unsqueeze", "phase", graph.constant([1], np.int64))
    if model.kernel == "catmull_rom":
        return _catmull_rom(graph, phase, kernels)
    if model.kernel == "rbf":
        distance = graph.add("Sub", phase, graph.constant(np.linspace(0, 1, kernels)[None]))
        exponent = graph.add("Mul", graph.add("Mul", distance, distance), graph.constant(-model.beta))
    else:
        turn = graph.add("Sub", phase, graph.constant(np.arange(kernels)[None] / kernels))
        cosine = graph.add("Cos", graph.add("Mul", turn, graph.constant(2 * np.pi)))
        exponent = graph.add("Mul", cosine, graph.constant(model.beta / (2 * np.pi**2)))
    return graph.add("Softmax", exponent, axis=1)


def _catmull_rom(graph: _Graph, phase: str, kernels: int) -> str:
    """The cubic's weight of a kernel by its cyclic distance d: 1.5 d^3 - 2.5 d^2 + 1 below 1, and
    -0.5 d^3 + 2.5 d^2 - 4 d + 2 from there to 2."""

    def polynomial(d: str, *coefficients: float) -> str:
        value = graph.constant(coefficients[0])
        for c in coefficients[1:]:
            value = graph.add("Add", graph.add("Mul", value, d), graph.constant(c))
        return value

    half = graph.constant(kernels / 2)
    offset = graph.add("Sub", graph.add("Mul", phase, graph.constant(kernels)), graph.constant(np.arange(kernels)[None]))
    turns = graph.add("Floor", graph.add("Add", graph.add("Div", offset, graph.constant(kernels)), graph.constant(0.5)))
    nearest = graph.add("Sub", offset, graph.add("Mul", turns, graph.constant(kernels)))
    d = graph.add("Min", graph.add("Abs", nearest), half)
    near, far = polynomial(d, 1.5, -2.5, 0, 1), polynomial(d, -0.5, 2.5, -4, 2)
    zero = graph.constant(0)
    far = graph.add("Where", graph.add("Less", d, graph.constant(2)), far, zero)
    return graph.add("Where", graph.add("Less", d, graph.constant(1)), near, far)


# ---- protobuf


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _int(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes | str) -> bytes:
    value = value.encode() if isinstance(value, str) else value
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _tensor(name: str, value: np.ndarray) -> bytes:
    kind = FLOAT if value.dtype == np.float32 else INT64
    little = np.ascontiguousarray(value, value.dtype.newbyteorder("<"))
    return b"".join(_int(1, n) for n in value.shape) + _int(2, kind) + _bytes(8, name) + _bytes(9, little.tobytes())


def _value(name: str, columns: int | None = None) -> bytes:
    """A float32 input or output of shape (batch,) or (batch, columns)."""
    shape = _bytes(1, _bytes(2, "batch"))
    if columns is not None:
        shape += _bytes(1, _int(1, columns))
    return _bytes(1, name) + _bytes(2, _bytes(1, _int(1, FLOAT) + _bytes(2, shape)))
