"""Phase-functioned networks: layers whose weights are a blend, by phase, of a few kernels.

The layer is ``y = sum_k a_k(p) (x W_k + b_k)``; its shares ``a_k`` come from one of three phase functions:

``"rbf"``
    ``exp(-beta (p - c_k)^2)`` over their sum, ``c = linspace(0, 1, K)``. The article's. It does not close at the
    wrap: the shares at phase 0 and at phase 1 differ.
``"cyclic"``
    proportional to ``exp(beta / (2 pi^2) (cos 2 pi (p - k/K) - 1))``. Nearly flat at ``beta=8``; near 32 suits K = 8.
``"catmull_rom"``
    the cyclic cubic of Holden, Komura, Saito, *Phase-Functioned Neural Networks for Character Control* (2017).
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from . import _check, _core, _store
from ._files import read_whole

__all__ = ["CompiledPFNN", "PFNNLayer", "SimplifiedPFNN", "load_pfnn_folder"]

KERNELS = ("rbf", "cyclic", "catmull_rom")
ACTIVATIONS = ("relu", "elu")
INITS = ("article", "he")
MOST_KERNELS, MOST_SIZE, MOST_PARAMETERS = 64, 1 << 20, 1 << 30


class _Network(_core.Network):
    """What a layer and a network share: one flat array of parameters, views of it by name, and the call."""

    _options: dict

    def _set_up(self, sizes: tuple[int, ...], options: dict, parameters: np.ndarray | None = None) -> None:
        """Check the options, take or make the flat array of parameters."""
        kernel = _check.option(options["kernel"], "kernel", KERNELS)
        activation = _check.option(options.get("activation", "relu"), "activation", ACTIVATIONS)
        least = 4 if kernel == "catmull_rom" else 1
        kernels = _check.integer(options["n_kernels"], "n_kernels", least=least, most=MOST_KERNELS)
        beta = _check.number(options["beta"], "beta", above=0)
        count = sum(kernels * m * (n + 1) for n, m in zip(sizes, sizes[1:], strict=False))
        if count > MOST_PARAMETERS:
            raise ValueError(f"sizes {sizes} with n_kernels={kernels} make {count} parameters, at most {MOST_PARAMETERS}")
        if parameters is None:
            parameters = _aligned_zeros(count, _float_type(options["dtype"]))
        self._bind(parameters, sizes, kernels, beta, KERNELS.index(kernel), ACTIVATIONS.index(activation))
        self._parameters, self._sizes = parameters, sizes
        self._options = {**options, "n_kernels": kernels, "beta": beta, "dtype": parameters.dtype.type}

    def _views(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """(weights, bias) of each layer, views of the flat array."""
        views, at, kernels = [], 0, self.n_kernels
        for n, m in zip(self._sizes, self._sizes[1:], strict=False):
            weights = self._parameters[at : at + kernels * n * m].reshape(kernels, n, m)
            bias = self._parameters[at + weights.size : at + weights.size + kernels * m].reshape(kernels, m)
            views.append((weights, bias))
            at += weights.size + bias.size
        return views

    @property
    def in_dim(self) -> int:
        """Number of inputs."""
        return self._sizes[0]

    @property
    def out_dim(self) -> int:
        """Number of outputs."""
        return self._sizes[-1]

    @property
    def n_kernels(self) -> int:
        """Number of kernels, K."""
        return self._options["n_kernels"]

    @property
    def beta(self) -> float:
        """Sharpness of the phase function."""
        return self._options["beta"]

    @property
    def kernel(self) -> str:
        """The phase function: "rbf", "cyclic" or "catmull_rom"."""
        return self._options["kernel"]

    @property
    def dtype(self) -> np.dtype:
        """Type of the parameters, float32 or float64."""
        return self._parameters.dtype

    def shares(self, phase) -> np.ndarray:
        """The kernels' shares at each phase, (B, K) float64."""
        phase = _check.phases(phase, "phase", (None,), dtype=np.float64)
        return _core.phase_shares(phase, self.n_kernels, self.beta, KERNELS.index(self.kernel))[0]

    def _prepare(self, x, phase, out):
        """The call for every argument that is not yet a plain array of the right shape."""
        x = _check.array(x, "x", (None, self.in_dim), finite=False)
        phase = _check.phases(phase, "phase", (len(x),))
        if out is None:
            return self._forward(_aligned(x), _aligned(phase), None)
        if not isinstance(out, np.ndarray):
            raise TypeError(f"out must be a NumPy array, got {type(out).__name__}")
        if out.dtype != x.dtype:
            raise TypeError(f"out must have dtype {x.dtype}, that of the result, got {out.dtype}")
        _check.check_shape(out, "out", (len(x), self.out_dim))
        if not out.flags.writeable:
            raise ValueError("out must be writable, got a read-only array")
        out[...] = self._forward(_aligned(x), _aligned(phase), None)  # it may overlap the inputs
        return out

    def __reduce__(self):
        return _rebuilt, (type(self), self._sizes, self._options, self._parameters)

    def __copy__(self):
        return _rebuilt(type(self), self._sizes, self._options, self._parameters.copy())


class PFNNLayer(_Network):
    """One phase-functioned layer: ``layer(x, phase)`` is ``sum_k a_k(phase) (x @ weights[k] + bias[k])``.

    Parameters
    ----------
    in_dim, out_dim : int
    n_kernels : int
        K, 1 to 64; the usual range is 4 to 16. "catmull_rom" needs at least 4.
    beta : float
        Sharpness of "rbf" and "cyclic".
    kernel : "rbf", "cyclic" or "catmull_rom"
    seed : int, numpy.random.Generator or None
        Weights start as N(0, 1) * 0.1, the bias as 0. The same seed gives the same bits; None draws fresh.
    dtype : float32 or float64

    Calls take x (B, in_dim) of any strides and phase (B,) in [0, 1], and return (B, out_dim) of x's type
    (float64 for integers); ``out=`` takes the result instead of a new array. NaN in a row of x stays in that row.
    ``ValueError`` for wrong shapes and phases.

    >>> import numpy as np
    >>> layer = PFNNLayer(3, 2, n_kernels=4, seed=0)
    >>> layer.weights.shape, layer.bias.shape
    ((4, 3, 2), (4, 2))
    >>> layer(np.ones((5, 3)), np.linspace(0, 1, 5)).shape
    (5, 2)
    """

    def __init__(self, in_dim, out_dim, n_kernels=8, beta=8.0, *, kernel="rbf", seed=None, dtype=np.float32):
        sizes = (_size(in_dim, "in_dim"), _size(out_dim, "out_dim"))
        self._set_up(sizes, {"n_kernels": n_kernels, "beta": beta, "kernel": kernel, "dtype": dtype})
        _draw(self._views(), _generator(seed), "article")

    @property
    def weights(self) -> np.ndarray:
        """(K, in_dim, out_dim), a writable view."""
        return self._views()[0][0]

    @weights.setter
    def weights(self, value):
        self._assign("weights", self.weights, value)

    @property
    def bias(self) -> np.ndarray:
        """(K, out_dim), a writable view."""
        return self._views()[0][1]

    @bias.setter
    def bias(self, value):
        self._assign("bias", self.bias, value)

    def _assign(self, name: str, view: np.ndarray, value) -> None:
        view[...] = _check.array(value, name, view.shape)

    def __repr__(self):
        return (
            f"PFNNLayer({self.in_dim}, {self.out_dim}, n_kernels={self.n_kernels}, beta={self.beta:g}, "
            f"kernel={self.kernel!r}, dtype={self.dtype.name})"
        )


class SimplifiedPFNN(_Network):
    """Three phase-functioned layers with an activation between: in_dim, hidden, hidden, out_dim.

    Parameters
    ----------
    in_dim, out_dim, hidden : int
    n_kernels, beta, kernel, seed, dtype
        As of `PFNNLayer`; the layers ``fc1``, ``fc2``, ``fc3`` draw from one generator in turn.
    activation : "relu" or "elu" (alpha 1)
    init : "article" or "he"
        Weights N(0, 1) * 0.1, or N(0, 2 / inputs). The bias starts as 0.

    ``model(x, phase, out=None)`` is the forward pass, see `PFNNLayer`. It computes in float32 where x and the
    parameters are float32, else in float64. A row has the same bits whatever the number of threads and, in
    batches of less than 128 rows, whatever stands beside it; large batches may take a short cut within 1e-6 of max|y|.

    >>> import numpy as np
    >>> model = SimplifiedPFNN(6, 2, hidden=8, kernel="cyclic", beta=32, seed=0)
    >>> model(np.ones((3, 6), np.float32), np.array([0.0, 0.5, 1.0])).dtype
    dtype('float32')
    >>> sorted(model.state_dict())
    ['fc1.bias', 'fc1.weights', 'fc2.bias', 'fc2.weights', 'fc3.bias', 'fc3.weights']
    """

    def __init__(
        self,
        in_dim=1236,
        out_dim=103,
        hidden=256,
        n_kernels=8,
        beta=8.0,
        *,
        kernel="rbf",
        activation="relu",
        init="article",
        seed=None,
        dtype=np.float32,
    ):
        hidden = _size(hidden, "hidden")
        sizes = (_size(in_dim, "in_dim"), hidden, hidden, _size(out_dim, "out_dim"))
        options = {"n_kernels": n_kernels, "beta": beta, "kernel": kernel, "activation": activation, "dtype": dtype}
        init = _check.option(init, "init", INITS)
        generator = _generator(seed)
        self._set_up(sizes, options)
        _draw(self._views(), generator, init)

    def _set_up(self, sizes, options, parameters=None):
        super()._set_up(sizes, options, parameters)
        layer_options = {key: value for key, value in self._options.items() if key != "activation"}
        at, self._layers = 0, []
        for n, m in zip(sizes, sizes[1:], strict=False):
            layer, count = PFNNLayer.__new__(PFNNLayer), self.n_kernels * m * (n + 1)
            layer._set_up((n, m), layer_options, self._parameters[at : at + count])
            self._layers.append(layer)
            at += count

    @property
    def fc1(self) -> PFNNLayer:
        """The first layer; its weights and bias are views of the model's."""
        return self._layers[0]

    @property
    def fc2(self) -> PFNNLayer:
        """The second layer."""
        return self._layers[1]

    @property
    def fc3(self) -> PFNNLayer:
        """The last layer."""
        return self._layers[2]

    @property
    def hidden(self) -> int:
        """Number of hidden units."""
        return self._sizes[1]

    @property
    def activation(self) -> str:
        """ "relu" or "elu"."""
        return self._options["activation"]

    def __repr__(self):
        return (
            f"SimplifiedPFNN({self.in_dim}, {self.out_dim}, hidden={self.hidden}, n_kernels={self.n_kernels}, "
            f"beta={self.beta:g}, kernel={self.kernel!r}, activation={self.activation!r}, dtype={self.dtype.name})"
        )

    def state_dict(self) -> dict[str, np.ndarray]:
        """Copies of the parameters: "fc1.weights" (K, in, out), "fc1.bias" (K, out), and so on."""
        return {name: view.copy() for name, view in self._named().items()}

    def _named(self) -> dict[str, np.ndarray]:
        return {
            f"fc{i}.{part}": view
            for i, views in enumerate(self._views(), 1)
            for part, view in zip(("weights", "bias"), views, strict=True)
        }

    def load_state_dict(self, state: Mapping) -> Self:
        """Take the parameters of a mapping of NumPy arrays or PyTorch tensors: all of them or, on error, none.

        A "fc1.centers" entry, as PyTorch modules of the article have it, is accepted and checked. ``ValueError``
        naming the entry that is missing, unknown, misshapen, not finite, or the centres of another phase function.
        """
        if not isinstance(state, Mapping):
            raise TypeError(f"state must be a mapping of names to arrays, got {type(state).__name__}")
        views, values = self._named(), {}
        for name, value in state.items():
            if name in views:
                values[name] = _entry(name, value, views[name].shape, self.dtype)
            elif name in ("fc1.centers", "fc2.centers", "fc3.centers") and self._centers() is not None:
                self._check_centers(name, value)
            else:
                raise ValueError(f"state has an unknown entry {name!r}, expected {', '.join(views)}")
        for name in views:
            if name not in values:
                raise ValueError(f"state has no entry {name!r}")
        for name, value in values.items():
            views[name][...] = value
        return self

    def _centers(self) -> np.ndarray | None:
        if self.kernel == "rbf":
            return np.linspace(0, 1, self.n_kernels)
        return np.arange(self.n_kernels) / self.n_kernels if self.kernel == "cyclic" else None

    def _check_centers(self, name: str, value) -> None:
        wanted = self._centers()
        got = _entry(name, value, wanted.shape, np.float64)
        wrong = np.abs(got - wanted) > 1e-5
        if wrong.any():
            raise ValueError(f"{_check.at(name, got, wrong)} is not the centre {wanted[np.argmax(wrong)]:g} of {self.kernel!r}")

    def compile(self, weights: str = "float32", crowd: tuple[int, int] | None = None) -> "CompiledPFNN":
        """An immutable copy for run time, see `CompiledPFNN`; later changes of this model do not reach it.

        Parameters
        ----------
        weights : "float32" or "float16"
            Float16 halves what one character has to read; sums stay float32. ``ValueError`` where a weight is over
            65504.
        crowd : (segments, rank) or None
            Blend ``rank`` matrices for each of ``segments`` parts of the cycle beforehand; batches of 16 rows a
            segment or more use them. (16, 4) suits ``rbf`` with 8 kernels and beta 8. It takes segments * rank /
            n_kernels times the memory.

        >>> model = SimplifiedPFNN(6, 2, hidden=8, seed=0)
        >>> model.compile(weights="float16", crowd=(16, 4)).weights
        'float16'
        """
        return CompiledPFNN(self, weights, crowd)

    def save(self, path: str | os.PathLike) -> None:
        """Write sizes, kernel, activation and parameters to one checksummed file, whole or not at all (``OSError``)."""
        _store.save(path, "network", self._to_arrays())

    @classmethod
    def load(cls, path: str | os.PathLike) -> Self:
        """Read a file that `save` wrote. ``FileNotFoundError``; ``ValueError`` where it is damaged or something else."""
        return cls._from_arrays(_store.load(path, "network")[0], os.fspath(path))

    def _to_arrays(self, prefix: str = "") -> dict[str, np.ndarray]:
        """The arrays of a file, in which csrc/core/store.c finds the network too."""
        kinds = [KERNELS.index(self.kernel), ACTIVATIONS.index(self.activation)]
        arrays = {"config": np.array([*self._sizes, self.n_kernels, *kinds], "<i8"), "beta": np.array([self.beta], "<f8")}
        arrays.update(self._named())
        little = self.dtype.newbyteorder("<")
        return {prefix + k: v.astype(little, copy=False) if v.dtype == self.dtype else v for k, v in arrays.items()}

    @classmethod
    def _from_arrays(cls, arrays: Mapping[str, np.ndarray], path: str, prefix: str = "") -> Self:
        """The network of a file's arrays; ``ValueError`` where they do not make one."""
        arrays = {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
        try:
            config, beta = arrays.pop("config").astype(np.int64, casting="safe"), arrays.pop("beta")
            in_dim, hidden, hidden_2, out_dim, kernels, kernel, activation = config.tolist()
            if hidden != hidden_2 or not (0 <= kernel < len(KERNELS) and 0 <= activation < len(ACTIVATIONS)):
                raise ValueError(f"its config {config.tolist()} is wrong")
            dtype = arrays["fc1.weights"].dtype
            if (kernels, in_dim, hidden) != arrays["fc1.weights"].shape or beta.shape != (1,):
                raise ValueError("its shapes do not fit its config")
            model = cls.__new__(cls)
            options = {"n_kernels": kernels, "beta": float(beta[0]), "kernel": KERNELS[kernel], "dtype": dtype}
            model._set_up((in_dim, hidden, hidden, out_dim), {**options, "activation": ACTIVATIONS[activation]})
            return model.load_state_dict(arrays)
        except KeyError as error:
            raise ValueError(f"{path} holds no network: it has no entry {error}") from None
        except (ValueError, TypeError) as error:
            raise ValueError(f"{path} holds no network: {error}") from None


def load_pfnn_folder(path: str | os.PathLike) -> "PFNNFolder":
    """The published weights of PFNN (Holden, Komura, Saito 2017) from a folder as its demo reads them.

    The folder holds headerless little-endian float32: ``W0_000.bin``, ``b0_000.bin``, ... for layers 0, 1, 2 and the
    samples of the phase function (each W as (output, input)), and ``Xmean.bin Xstd.bin Ymean.bin Ystd.bin``. The
    samples are those of one of the demo's modes: "constant", 50 round the cycle; "linear", every fifth of these, named
    000, 005, ... or 000 to 009; "cubic", 000, 012, 025, 037 of them, or the control points themselves as 000 to 003.
    The four control points are recovered from the samples by least squares.

    Returns
    -------
    PFNNFolder
        ``.model`` (`SimplifiedPFNN` with "catmull_rom", "elu", 4 kernels), ``.x_mean .x_std .y_mean .y_std``, and
        ``.residual``, the largest difference between a sample and the cubic through the control points.

    ``FileNotFoundError`` where a file is missing; ``ValueError`` where sizes do not fit, a number is not finite, or
    the samples are those of no set.
    """
    folder = _check.path(path)
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is no folder")
    stats = {name: _floats(folder / f"{name}.bin") for name in ("Xmean", "Xstd", "Ymean", "Ystd")}
    in_dim, out_dim = len(stats["Xmean"]), len(stats["Ymean"])
    for name, count in (("Xstd", in_dim), ("Ystd", out_dim)):
        if len(stats[name]) != count:
            raise ValueError(f"{folder / name}.bin must have {count} numbers, got {len(stats[name])}")
    wrong = stats["Xstd"] <= 0
    if wrong.any():
        raise ValueError(f"{_check.at(str(folder / 'Xstd.bin'), stats['Xstd'], wrong)} is not greater than 0")
    names, cycle = _samples(folder)
    hidden = len(_floats(folder / "b0_000.bin"))
    blend = _core.phase_shares(np.array(names) / cycle, 4, 1.0, KERNELS.index("catmull_rom"))[0]
    solve = np.linalg.pinv(blend)
    model = SimplifiedPFNN(in_dim, out_dim, hidden, 4, kernel="catmull_rom", activation="elu", seed=0)
    residual, sizes = 0.0, (in_dim, hidden, hidden, out_dim)
    for i, (weights, bias) in enumerate(model._views()):
        for letter, view, shape in (("W", weights, (sizes[i + 1], sizes[i])), ("b", bias, (sizes[i + 1],))):
            table = np.stack([_floats(folder / f"{letter}{i}_{j:03}.bin", shape).ravel() for j in names])
            points = solve @ table
            residual = max(residual, float(np.abs(blend @ points - table).max()))
            view[...] = points.reshape(4, *shape).swapaxes(1, -1)
    return PFNNFolder(model, stats["Xmean"], stats["Xstd"], stats["Ymean"], stats["Ystd"], residual)


@dataclass(frozen=True)
class PFNNFolder:
    """What `load_pfnn_folder` found: ``y = model((x - x_mean) / x_std, phase) * y_std + y_mean``."""

    model: SimplifiedPFNN
    x_mean: np.ndarray
    x_std: np.ndarray
    y_mean: np.ndarray
    y_std: np.ndarray
    residual: float


SAMPLE_SETS = (  # numbers in the files' names, and how many of them make a cycle
    ((0, 1, 2, 3), 4),
    ((0, 12, 25, 37), 50),
    (tuple(range(10)), 10),
    (tuple(range(0, 50, 5)), 50),
    (tuple(range(50)), 50),
)


def _samples(folder: Path) -> tuple[tuple[int, ...], int]:
    """The set of samples that a folder holds, all of it."""
    found = {int(path.name[3:6]) for path in folder.glob("W0_[0-9][0-9][0-9].bin")}
    for names, cycle in SAMPLE_SETS:
        missing = sorted(set(names) - found)
        if found <= set(names):
            if missing:
                raise FileNotFoundError(
                    f"{folder} has no W0_{missing[0]:03}.bin: {len(found)} of {len(names)} samples are there"
                )
            return names, cycle
    raise ValueError(f"{folder} must hold 50, 10 or 4 samples W0_000.bin ..., got {len(found)} with W0_{max(found):03}.bin")


def _floats(path: Path, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """The float32 numbers of a file without header."""
    data = read_whole(path, 4 * MOST_PARAMETERS)
    count = len(data) // 4 if shape is None else int(np.prod(shape))
    if len(data) != 4 * count or count == 0:
        wanted = "float32 numbers" if shape is None else f"{count} float32 numbers, {4 * count} bytes"
        raise ValueError(f"{path} must hold {wanted}, got {len(data)} bytes")
    values = np.frombuffer(data, "<f4").astype(np.float32)
    _check.check_finite(values, str(path))
    return values if shape is None else values.reshape(shape)


class CompiledPFNN(_Network):
    """A network made ready by `SimplifiedPFNN.compile`: immutable, safe to call from several threads at once.

    ``runtime(x, phase, out=None)`` as the model's call, computed in float32 whatever the type of x.

    Attributes
    ----------
    weights : "float32" or "float16"
    crowd : (segments, rank) or None
    error_bound : float
        Twice the largest difference to the same network in float64 that 512 probe rows showed (standard normal, the
        phase all round), relative to the largest output. Compared with the float64 parameters where the model has
        those.
    """

    def __init__(self, model: SimplifiedPFNN, weights: str = "float32", crowd: tuple[int, int] | None = None):
        if not isinstance(model, SimplifiedPFNN):
            raise TypeError(f"model must be a SimplifiedPFNN, got {type(model).__name__}")
        self.weights = _check.option(weights, "weights", ("float32", "float16"))
        self.crowd = _crowd(crowd, model.n_kernels)
        with np.errstate(over="ignore"):
            parameters = _aligned_zeros(model._parameters.size, np.dtype(np.float32))
            parameters[...] = model._parameters
        _check.check_finite(parameters, "parameters")
        self._set_up(model._sizes, {**model._options, "dtype": np.float32}, parameters)
        if self.crowd and self.crowd[0] * self.crowd[1] * parameters.size > MOST_PARAMETERS * self.n_kernels:
            raise ValueError(f"crowd={self.crowd} makes more than {MOST_PARAMETERS} blended parameters")
        self._compile(weights == "float16", *(self.crowd or (0, 0)))
        parameters.flags.writeable = False
        self.error_bound = self._measure(model)

    def _measure(self, model: SimplifiedPFNN) -> float:
        rows = max(512, 16 * self.crowd[0] if self.crowd else 0)
        x = np.random.default_rng(0).standard_normal((rows, self.in_dim), np.float32)
        phase = np.arange(rows) / rows
        with np.errstate(all="ignore"):
            want = model(x.astype(np.float64), phase)
            wrong = max(np.abs(self(part, p) - y).max() for part, p, y in ((x, phase, want), (x[:1], phase[:1], want[:1])))
            return float(2 * wrong / max(np.abs(want).max(), np.finfo(np.float32).tiny))

    @property
    def activation(self) -> str:
        """ "relu" or "elu"."""
        return self._options["activation"]

    @property
    def hidden(self) -> int:
        """Number of hidden units."""
        return self._sizes[1]

    def __setattr__(self, name, value):
        if "error_bound" in self.__dict__:
            raise AttributeError(f"a compiled network is immutable, cannot set {name!r}")
        super().__setattr__(name, value)

    def _to_arrays(self, prefix: str = "") -> dict[str, np.ndarray]:
        raise TypeError("model is compiled, and that is for run time: save the SimplifiedPFNN that it was made from")

    def __reduce__(self):
        model = _rebuilt(SimplifiedPFNN, self._sizes, self._options, self._parameters.copy())
        return CompiledPFNN, (model, self.weights, self.crowd)

    def __copy__(self):
        return self

    def __repr__(self):
        return (
            f"CompiledPFNN({self.in_dim}, {self.out_dim}, hidden={self.hidden}, weights={self.weights!r}, "
            f"crowd={self.crowd}, error_bound={self.error_bound:.1e} of max|y|)"
        )


def _crowd(value, kernels: int) -> tuple[int, int] | None:
    if value is None:
        return None
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise TypeError(f"crowd must be None or (segments, rank), got {value!r}")
    segments = _check.integer(value[0], "crowd[0]", least=1, most=4096)
    return segments, _check.integer(value[1], "crowd[1]", least=1, most=kernels)


def _aligned_zeros(count: int, dtype) -> np.ndarray:
    """Zeros that begin on a cache line: weights are read up to a quarter faster where rows do not straddle lines."""
    memory = np.zeros(count + 64 // dtype.itemsize, dtype)
    start = -memory.__array_interface__["data"][0] % 64 // dtype.itemsize
    return memory[start : start + count]


def _size(value, name: str) -> int:
    return _check.integer(value, name, least=1, most=MOST_SIZE)


def _float_type(value) -> np.dtype:
    try:
        dtype = np.dtype(value)
    except TypeError:
        raise TypeError(f"dtype must be float32 or float64, got {value!r}") from None
    if value is None or dtype.newbyteorder("=") not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {value if value is None else dtype}")
    return dtype.newbyteorder("=")


def _generator(seed) -> "np.random.Generator":
    if seed is None or isinstance(seed, np.random.Generator):
        return np.random.default_rng(seed)
    return np.random.default_rng(_check.integer(seed, "seed", least=0))


def _draw(views, generator: "np.random.Generator", init: str) -> None:
    """Normal weights, drawn in float64 layer by layer."""
    for weights, _ in views:
        scale = 0.1 if init == "article" else np.sqrt(2 / weights.shape[1])
        for kernel in weights:
            kernel[...] = generator.standard_normal(kernel.shape) * scale


def _entry(name: str, value, shape: tuple[int, ...], dtype) -> np.ndarray:
    """A finite array of the shape and type from a NumPy array or a PyTorch tensor."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if value.dtype.is_floating_point:
            value = value.double()
        value = value.numpy()
    array = _check.array(value, name, shape)
    with np.errstate(over="ignore"):
        array = array.astype(dtype)
    _check.check_finite(array, name)
    return array


def _aligned(array: np.ndarray) -> np.ndarray:
    return np.require(array, requirements="A")


def _rebuilt(cls, sizes, options, parameters):
    model = cls.__new__(cls)
    model._set_up(sizes, options)
    model._parameters[...] = parameters
    return model
