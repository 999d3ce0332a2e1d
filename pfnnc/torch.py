"""`PFNNLayer` and `SimplifiedPFNN` as PyTorch modules whose forward and backward passes run in the core.

A training script of the article changes one line, ``from pfnnc.torch import SimplifiedPFNN``: names, start values
(``torch.randn(K, in, out) * 0.1``, layer by layer), ``state_dict`` and loss curve stay. Float32 and float64, on the
CPU. Gradients go to x, phase, weights and bias; second derivatives are not there. Works under ``torch.compile``.

Trained weights go to the package's own network by ``pfnnc.SimplifiedPFNN(...).load_state_dict(module.state_dict())``.
"""

import numpy as np
import torch
from torch import nn

from . import _check, _core
from .network import ACTIVATIONS, INITS, KERNELS, MOST_KERNELS, MOST_SIZE

__all__ = ["PFNNLayer", "SimplifiedPFNN"]


def _array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().numpy()


@torch.library.custom_op("pfnnc::layer", mutates_args=())
def _forward(
    x: torch.Tensor, phase: torch.Tensor, weights: torch.Tensor, bias: torch.Tensor, beta: float, kernel: int
) -> torch.Tensor:
    return torch.from_numpy(_core.layer_forward(*map(_array, (x, phase, weights, bias)), beta, kernel))


@_forward.register_fake
def _(x, phase, weights, bias, beta, kernel):
    return x.new_empty((x.shape[0], weights.shape[2]))


@torch.library.custom_op("pfnnc::layer_backward", mutates_args=())
def _backward(
    x: torch.Tensor,
    phase: torch.Tensor,
    weights: torch.Tensor,
    bias: torch.Tensor,
    grad: torch.Tensor,
    beta: float,
    kernel: int,
    want: int,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    inputs = (x, phase, weights, bias)
    made = _core.layer_backward(*map(_array, inputs), _array(grad), beta, kernel, want)
    return tuple(
        like.new_empty(0) if array is None else torch.from_numpy(array).to(like.dtype)
        for array, like in zip(made, inputs, strict=True)
    )


@_backward.register_fake
def _(x, phase, weights, bias, grad, beta, kernel, want):
    inputs = (x, phase, weights, bias)
    return tuple(like.new_empty(like.shape if want >> i & 1 else 0) for i, like in enumerate(inputs))


def _one_by_one(run):
    """The rule of `torch.func.vmap`: a call for each."""

    def batched(info, dims, *inputs):
        calls = [
            run(*(value if dim is None else value.select(dim, i) for value, dim in zip(inputs, dims, strict=True)))
            for i in range(info.batch_size)
        ]
        if isinstance(calls[0], torch.Tensor):
            return torch.stack(calls), 0
        return tuple(map(torch.stack, zip(*calls, strict=True))), (0,) * len(calls[0])

    return batched


_forward.register_vmap(_one_by_one(_forward))
_backward.register_vmap(_one_by_one(_backward))


def _save(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:4])
    ctx.options = inputs[4:]


def _gradients(ctx, grad, run=_backward):
    want = sum(1 << i for i in range(4) if ctx.needs_input_grad[i])
    made = run(*ctx.saved_tensors, grad.contiguous(), *ctx.options, want)
    return *(gradient if want >> i & 1 else None for i, gradient in enumerate(made)), None, None


def _no_second(ctx, *grads):
    raise NotImplementedError("pfnnc.torch has no second derivatives (create_graph=True)")


_forward.register_autograd(_gradients, setup_context=_save)
_backward.register_autograd(_no_second)


class _Layer(torch.autograd.Function):
    """The same for `torch.func.grad`, `jacrev` and their like, which do not go through an operator's autograd."""

    generate_vmap_rule = True
    setup_context = staticmethod(_save)

    @staticmethod
    def forward(x, phase, weights, bias, beta, kernel):
        return _forward(x, phase, weights, bias, beta, kernel)

    @staticmethod
    def backward(ctx, grad):
        return _gradients(ctx, grad, _LayerBackward.apply)

    @staticmethod
    def jvp(ctx, *tangents):
        raise NotImplementedError("pfnnc.torch has no forward-mode derivatives: use backward")


class _LayerBackward(torch.autograd.Function):
    """Its gradients."""

    generate_vmap_rule = True
    backward = staticmethod(_no_second)

    @staticmethod
    def forward(x, phase, weights, bias, grad, beta, kernel, want):
        return _backward(x, phase, weights, bias, grad, beta, kernel, want)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass


def _run(*inputs) -> torch.Tensor:
    """The layer by the operator, or under a function transform by what that needs."""
    if torch.compiler.is_compiling() or not torch._C._are_functorch_transforms_active():
        return _forward(*inputs)
    return _Layer.apply(*inputs)


class PFNNLayer(nn.Module):
    """One phase-functioned layer, ``sum_k a_k(phase) (x @ weights[k] + bias[k])``; options as of `pfnnc.PFNNLayer`.

    ``weights`` (K, in, out) start as ``torch.randn(K, in, out) * 0.1`` from PyTorch's generator (or from a generator of
    ``seed``), ``bias`` (K, out) as 0. ``centers`` (K,) is in the ``state_dict`` as in the article's module; a
    checkpoint may come without it.

    Call with x (B, in) of the parameters' type and phase (B,) in [0, 1]. ``ValueError`` for wrong shapes and phases.
    """

    def __init__(self, in_dim, out_dim, n_kernels=8, beta=8.0, *, kernel="rbf", seed=None, dtype=None):
        super().__init__()
        self.in_dim = _check.integer(in_dim, "in_dim", least=1, most=MOST_SIZE)
        self.out_dim = _check.integer(out_dim, "out_dim", least=1, most=MOST_SIZE)
        self.kernel = _check.option(kernel, "kernel", KERNELS)
        least = 4 if kernel == "catmull_rom" else 1
        self.n_kernels = _check.integer(n_kernels, "n_kernels", least=least, most=MOST_KERNELS)
        self.beta = _check.number(beta, "beta", above=0)
        shape, dtype = (self.n_kernels, self.in_dim, self.out_dim), _float_type(dtype)
        self.weights = nn.Parameter(torch.randn(shape, generator=_generator(seed), dtype=dtype) * 0.1)
        self.bias = nn.Parameter(torch.zeros(self.n_kernels, self.out_dim, dtype=dtype))
        if kernel != "catmull_rom":
            self.register_buffer("centers", self._centers(dtype))

    def _centers(self, dtype: torch.dtype) -> torch.Tensor:
        if self.kernel == "rbf":
            return torch.linspace(0, 1, self.n_kernels, dtype=dtype)
        return torch.arange(self.n_kernels, dtype=dtype) / self.n_kernels

    def forward(self, x: torch.Tensor, phase: torch.Tensor) -> torch.Tensor:
        """(B, out) from x (B, in) and phase (B,)."""
        dtype, device = self.weights.dtype, self.weights.device
        if dtype not in (torch.float32, torch.float64) or device.type not in ("cpu", "meta"):
            raise TypeError(f"weights must be torch.float32 or torch.float64 on the CPU, got {dtype} on {device}")
        for name, value in (("x", x), ("phase", phase)):
            if not isinstance(value, torch.Tensor):
                raise TypeError(f"{name} must be a tensor, got {type(value).__name__}")
            if value.layout != torch.strided or value.device != device:
                raise TypeError(
                    f"{name} must be a dense tensor on {device} as the weights, got {value.layout} on {value.device}"
                )
        if x.ndim != 2 or x.shape[1] != self.in_dim:
            raise ValueError(f"x must have shape (any, {self.in_dim}), got {tuple(x.shape)}")
        if phase.shape != (x.shape[0],):
            raise ValueError(f"phase must have shape ({x.shape[0]},), got {tuple(phase.shape)}")
        if x.dtype in (torch.float16, torch.bfloat16) and torch.is_autocast_enabled("cpu"):
            x = x.to(dtype)  # other modules may compute in less, this one does not
        if x.dtype != dtype:
            raise TypeError(f"x must be of {dtype} as the weights, got {x.dtype}")
        if phase.dtype.is_complex or phase.dtype == torch.bool:
            raise TypeError(f"phase must be of real numbers, got {phase.dtype}")
        if phase.dtype not in (torch.float32, torch.float64):
            phase = phase.to(dtype)
        return _run(x, phase, self.weights, self.bias, self.beta, KERNELS.index(self.kernel))

    def extra_repr(self) -> str:
        return f"{self.in_dim}, {self.out_dim}, n_kernels={self.n_kernels}, beta={self.beta:g}, kernel={self.kernel!r}"

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        """Centres are no parameters: they may be absent, and where they are present they must be this layer's."""
        name, state_dict = prefix + "centers", dict(state_dict)
        got = state_dict.pop(name, None)
        if "centers" in self._buffers:
            mine = self._centers(self.centers.dtype)  # the buffer may be empty memory still, as `to_empty` leaves it
            fits = got is None or (got.shape == mine.shape and torch.allclose(got.to(mine), mine, rtol=0, atol=1e-5))
            if not fits:
                error_msgs.append(f"{name} are not the centres of {self.kernel!r} with n_kernels={self.n_kernels}: {got}")
            state_dict[name] = mine
        elif got is not None:
            state_dict[name] = got  # not known here, as the strict loading says
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)


class SimplifiedPFNN(nn.Module):
    """The article's network as a PyTorch module; options as of `pfnnc.SimplifiedPFNN`.

    ``fc1``, ``fc2``, ``fc3`` are `PFNNLayer` and draw their start values in turn. With ``init="he"`` weights are
    N(0, 2 / inputs).
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
        dtype=None,
    ):
        super().__init__()
        self.activation = _check.option(activation, "activation", ACTIVATIONS)
        _check.option(init, "init", INITS)
        options = dict(n_kernels=n_kernels, beta=beta, kernel=kernel, seed=_generator(seed), dtype=dtype)
        hidden = _check.integer(hidden, "hidden", least=1, most=MOST_SIZE)
        self.fc1 = PFNNLayer(in_dim, hidden, **options)
        self.fc2 = PFNNLayer(hidden, hidden, **options)
        self.fc3 = PFNNLayer(hidden, out_dim, **options)
        if init == "he":
            with torch.no_grad():
                for layer in (self.fc1, self.fc2, self.fc3):
                    layer.weights *= 10 * (2 / layer.in_dim) ** 0.5

    def forward(self, x: torch.Tensor, phase: torch.Tensor) -> torch.Tensor:
        """(B, out_dim) from x (B, in_dim) and phase (B,) in [0, 1]."""
        between = torch.relu if self.activation == "relu" else nn.functional.elu
        h = between(self.fc1(x, phase))
        return self.fc3(between(self.fc2(h, phase)), phase)


def _float_type(dtype) -> torch.dtype:
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if not isinstance(dtype, torch.dtype):
        try:
            dtype = getattr(torch, np.dtype(dtype).name, dtype)
        except TypeError:
            raise TypeError(f"dtype must be torch.float32 or torch.float64, got {dtype!r}") from None
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"dtype must be torch.float32 or torch.float64, got {dtype}")
    return dtype


def _generator(seed) -> torch.Generator | None:
    if seed is None or isinstance(seed, torch.Generator):
        return seed
    return torch.Generator().manual_seed(_check.integer(seed, "seed", least=0, most=2**63 - 1))
