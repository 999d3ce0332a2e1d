"""Networks in PyTorch's and safetensors' files."""

import numpy as np
import pytest
from test_network import KINDS, data, make

import pfnnc


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="needs PyTorch, which the package does not require")


@pytest.mark.parametrize(
    "wrap",
    [
        lambda s: s,
        lambda s: {"epoch": 3, "model": s},
        lambda s: {"module." + k: v for k, v in s.items()},
        lambda s: {"module._orig_mod." + k: v for k, v in s.items()},
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_torch_checkpoints(tmp_path, torch, wrap, dtype):
    model = make(dtype=dtype)
    state = {name: torch.from_numpy(value) for name, value in model.state_dict().items()}
    state["fc1.centers"] = torch.linspace(0, 1, 6)
    torch.save(wrap(state), tmp_path / "a.pt")
    other = pfnnc.load_torch_checkpoint(tmp_path / "a.pt")
    x, phase = data(3)
    assert repr(other) == repr(model) and np.array_equal(other(x, phase), model(x, phase))


def test_what_is_no_checkpoint(tmp_path, torch):
    class Evil:
        def __reduce__(self):
            return print, ("executed",)

    state = {name: torch.from_numpy(value) for name, value in make().state_dict().items()}
    cases = [
        (Evil(), "no checkpoint that can be read safely"),
        ([1, 2], "holds no state dict"),
        ({}, "no entry 'fc1.weights'"),
        ({**state, "fc2.weights": state["fc2.weights"][0]}, "fc2.weights has shape"),
        ({**state, "fc2.weights": state["fc2.weights"][:, :, :3]}, "fc2.weights must have shape"),
        ({**state, "extra": state["fc1.bias"]}, "unknown entry 'extra'"),
        ({**state, "fc1.centers": torch.zeros(6)}, "is not the centre"),
    ]
    for content, message in cases:
        torch.save(content, tmp_path / "a.pt")
        with pytest.raises(ValueError, match=message):
            pfnnc.load_torch_checkpoint(tmp_path / "a.pt")
    (tmp_path / "a.pt").write_bytes(b"x" * 100)
    with pytest.raises(ValueError, match="no checkpoint"):
        pfnnc.load_torch_checkpoint(tmp_path / "a.pt")
    with pytest.raises(FileNotFoundError):
        pfnnc.load_torch_checkpoint(tmp_path / "none.pt")


@pytest.mark.parametrize("kernel, activation", KINDS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_safetensors(tmp_path, kernel, activation, dtype):
    pytest.importorskip("safetensors", reason="needs safetensors, which the package does not require")
    model = make(kernel=kernel, activation=activation, dtype=dtype, beta=5.0)
    pfnnc.save_safetensors(model, tmp_path / "a.safetensors")
    other = pfnnc.load_safetensors(tmp_path / "a.safetensors")
    x, phase = data(3)
    assert repr(other) == repr(model) and np.array_equal(other(x, phase), model(x, phase))
    assert pfnnc.load_safetensors(tmp_path / "a.safetensors", beta=7.0).beta == 7.0


def test_what_is_no_safetensors_file(tmp_path):
    numpy = pytest.importorskip("safetensors.numpy", reason="needs safetensors, which the package does not require")
    path = tmp_path / "a.safetensors"
    pfnnc.save_safetensors(make(), path)
    whole = path.read_bytes()
    for damage in (b"", b"x" * 50, whole[:100], whole[:-1]):
        path.write_bytes(damage)
        with pytest.raises(ValueError, match="is no safetensors file"):
            pfnnc.load_safetensors(path)
    numpy.save_file({"fc1.weights": np.zeros((1, 2, 3), np.float32)}, path)
    with pytest.raises(ValueError, match="no entry 'fc2.weights'"):
        pfnnc.load_safetensors(path)
    numpy.save_file(make().state_dict(), path, metadata={"pfnnc": "{"})
    with pytest.raises(ValueError, match="is no safetensors file"):
        pfnnc.load_safetensors(path)
    with pytest.raises(FileNotFoundError):
        pfnnc.load_safetensors(tmp_path / "none")
    with pytest.raises(TypeError, match="model must be a SimplifiedPFNN"):
        pfnnc.save_safetensors(make().fc1, path)
