"""The ONNX export, run by onnxruntime."""

import os

import numpy as np
import pytest
import reference_network as reference
from test_network import KINDS, data, make

import pfnnc
from pfnnc.onnx import export_onnx

onnxruntime = pytest.importorskip("onnxruntime", reason="needs onnxruntime, which the package does not require")


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


@pytest.mark.parametrize("kernel, activation", KINDS)
@pytest.mark.parametrize("kernels", [4, 5, 8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_runtime_gives_the_same_numbers(tmp_path, kernel, activation, kernels, dtype):
    model = make(n_kernels=kernels, kernel=kernel, activation=activation, dtype=dtype)
    parity = export_onnx(model, tmp_path / "walk.onnx", parity_rows=40)
    assert parity == tmp_path / "walk.parity.npz" and sorted(os.listdir(tmp_path)) == ["walk.onnx", "walk.parity.npz"]
    runtime, checks = session(tmp_path / "walk.onnx"), np.load(parity)
    (y,) = runtime.run(None, {"x": checks["x"], "phase": checks["phase"]})
    scale = np.abs(checks["y"]).max()
    np.testing.assert_allclose(y, checks["y"], rtol=0, atol=2e-5 * scale)
    np.testing.assert_allclose(checks["y"], reference.forward(model, checks["x"], checks["phase"]), rtol=0, atol=1e-6 * scale)
    for phase in (0.0, 0.25, 0.5, 1.0, np.nextafter(np.float32(1), 0)):
        x, _ = data(1)
        (y,) = runtime.run(None, {"x": x, "phase": np.array([phase], np.float32)})
        np.testing.assert_allclose(y, model(x, [phase]), rtol=0, atol=2e-5 * scale)


def test_the_file_is_what_it_says(tmp_path):
    onnx = pytest.importorskip("onnx", reason="needs onnx, which the package does not require")
    export_onnx(make(kernel="catmull_rom"), tmp_path / "walk.onnx", parity_rows=0)
    assert os.listdir(tmp_path) == ["walk.onnx"]
    model = onnx.load(tmp_path / "walk.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [(o.domain, o.version) for o in model.opset_import] == [("", 15)] and model.ir_version == 8
    assert [value.name for value in model.graph.input] == ["x", "phase"]


def test_wrong_arguments(tmp_path):
    model = make()
    for arguments, options, error, message in [
        ((model.fc1, tmp_path / "a.onnx"), {}, TypeError, "model must be a SimplifiedPFNN"),
        ((model, tmp_path / "a.onnx"), {"parity_rows": -1}, ValueError, "parity_rows must be"),
        ((model, tmp_path / "none" / "a.onnx"), {}, OSError, "."),
        ((model, 3), {}, TypeError, "."),
    ]:
        with pytest.raises(error, match=message):
            export_onnx(*arguments, **options)
    assert os.listdir(tmp_path) == []


def test_the_package_does_not_import_it():
    assert not hasattr(pfnnc, "export_onnx")
