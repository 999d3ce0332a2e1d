"""The network against its NumPy twin, its files, its errors, and the published PFNN."""

import copy
import os
import pickle
import platform
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import reference_network as reference
from conftest import plain_environment, shared

import pfnnc
from pfnnc import PFNNLayer, SimplifiedPFNN

KINDS = [("rbf", "relu"), ("cyclic", "elu"), ("catmull_rom", "elu")]


def make(in_dim=30, out_dim=11, hidden=24, n_kernels=6, seed=0, **options):
    model = SimplifiedPFNN(in_dim, out_dim, hidden, n_kernels, init="he", seed=seed, **options)
    rng = np.random.default_rng(seed)
    for fc in (model.fc1, model.fc2, model.fc3):
        fc.bias[...] = rng.normal(size=fc.bias.shape) * 0.3
    return model


def data(rows, in_dim=30, seed=1, dtype=np.float32):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, in_dim)).astype(dtype), rng.random(rows).astype(dtype)


def close(got, want, tolerance):
    np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * np.abs(want).max())


# ---- the forward pass


@pytest.mark.parametrize("kernel, activation", KINDS)
@pytest.mark.parametrize("rows", [1, 2, 7, 33, 100])
@pytest.mark.parametrize("parameters", [np.float32, np.float64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_forward_is_the_formula(kernel, activation, rows, parameters, dtype):
    model = make(kernel=kernel, activation=activation, dtype=parameters)
    x, phase = data(rows, dtype=dtype)
    phase[0] = 1.0
    y = model(x, phase)
    assert y.dtype == dtype and y.shape == (rows, 11)
    close(y, reference.forward(model, x, phase), 1e-6 if dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("kernel", ["rbf", "cyclic", "catmull_rom"])
@pytest.mark.parametrize("count", [4, 5, 8, 16])
def test_shares_are_the_formula(kernel, count):
    layer = PFNNLayer(2, 2, count, 12.0, kernel=kernel, seed=0)
    phase = np.concatenate([np.linspace(0, 1, 201), [np.nextafter(1, 0), 5e-324, 1 - 1e-9]])
    share = layer.shares(phase)
    np.testing.assert_allclose(share, reference.shares(phase, count, 12.0, kernel), atol=1e-13)
    np.testing.assert_allclose(share.sum(1), 1, atol=1e-14)
    assert kernel == "rbf" or np.array_equal(share[0], share[200])


def test_eight_kernels_on_a_circle():
    """U24."""
    layer = PFNNLayer(1, 1, kernel="cyclic", seed=0)
    at_0, at_16th, at_end = layer.shares([0, 1 / 16, 0.9999])
    half = [0.179999, 0.159851, 0.120021, 0.090115]
    np.testing.assert_allclose(at_0, [*half, 0.080028, *half[:0:-1]], atol=5e-7)
    np.testing.assert_allclose(at_16th[:2], 0.174530, atol=5e-7)
    assert np.abs(at_0 - at_end).max() == pytest.approx(3.06e-5, abs=5e-8)
    np.testing.assert_allclose(layer.shares([0.2 + 1 / 8])[0], np.roll(layer.shares([0.2])[0], 1), atol=1e-15)
    rbf = PFNNLayer(1, 1, seed=0).shares([0, 1])
    assert np.abs(rbf[0] - rbf[1]).max() == pytest.approx(0.3712, abs=5e-5)


def test_cubic_through_four_control_values():
    """U25."""
    layer = PFNNLayer(1, 1, 4, kernel="catmull_rom", dtype=np.float64)
    layer.weights[...] = 0
    layer.bias[:, 0] = [0, 1, 0, -1]
    got = layer(np.zeros((6, 1)), [0.125, 0, 0.25, 0.5, 0.75, 1.0])[:, 0]
    assert got.tolist() == [0.625, 0, 1, 0, -1, 0]


def test_phase_that_rounds_up_to_a_full_turn():
    """U23: 1 - 1e-9 is 1 in float32."""
    model = make(kernel="catmull_rom", n_kernels=4)
    x, _ = data(1)
    assert np.array_equal(model(x, np.float32([1 - 1e-9])), model(x, np.float32([0])))


def test_huge_beta_does_not_divide_by_zero():
    layer = PFNNLayer(1, 1, 4, 1e9, seed=0)
    assert layer.shares([0.1, 0.9]).tolist() == [[1, 0, 0, 0], [0, 0, 0, 1]]


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (1236, 103, 256, 8), (342, 311, 512, 4), (17, 16, 32, 16), (700, 33, 100, 5)])
def test_sizes(sizes):
    in_dim, out_dim, hidden, kernels = sizes
    model = make(in_dim, out_dim, hidden, kernels)
    for rows in (1, 3, 40):
        x, phase = data(rows, in_dim)
        close(model(x, phase), reference.forward(model, x, phase), 1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_keep_their_bits_in_any_batch(dtype):
    model = make(100, 40, 64, 8, dtype=dtype)
    x, phase = data(150, 100, dtype=dtype)
    whole = model(x, phase)
    for rows in (1, 2, 5, 13, 64, 149):
        assert np.array_equal(model(x[:rows], phase[:rows]), whole[:rows])
    assert np.array_equal(model(x[::-1], phase[::-1]), whole[::-1])


def test_threads_change_no_bit():
    model = make(200, 103, 128, 8)
    x, phase = data(700, 200)
    before = pfnnc.get_num_threads()
    try:
        results = []
        for threads in (1, 2, 3, 8):
            pfnnc.set_num_threads(threads)
            results.append(model(x, phase))
        assert all(np.array_equal(results[0], other) for other in results[1:])
    finally:
        pfnnc.set_num_threads(before)


def test_nan_stays_in_its_row():
    model = make()
    x, phase = data(40)
    clean = model(x, phase)
    x[3, 5], x[17, 0] = np.nan, np.inf
    y = model(x, phase)
    assert np.isnan(y[3]).all()
    rest = np.delete(np.arange(40), [3, 17])
    assert np.array_equal(y[rest], clean[rest])


def test_strides_types_and_out():
    model = make()
    x, phase = data(12)
    y = model(x, phase)
    wide = np.zeros((24, 90), np.float32)
    wide[::2, ::3] = x
    assert np.array_equal(model(wide[::2, ::3], phase), y)
    assert np.array_equal(model(np.asfortranarray(x), phase), y)
    assert np.array_equal(model(x[::-1], phase[::-1])[::-1], y)
    assert np.array_equal(model(x.astype(">f4"), phase.astype(">f4")), y)
    packed = np.zeros(12 * 30 * 4 + 1, np.uint8)[1:].view(np.float32).reshape(12, 30)
    packed[...] = x
    assert np.array_equal(model(packed, phase), y)
    out = np.full((24, 22), 7, np.float32)
    view = out[::2, ::-2]
    assert model(x, phase, view) is view and np.array_equal(view, y)
    assert (out[1::2] == 7).all() and (out[:, ::2] == 7).all()
    integers = np.arange(60).reshape(2, 30)
    assert model(integers, [0, 1]).dtype == np.float64
    assert np.array_equal(model(integers.tolist(), [0, 1]), model(integers.astype(float), [0.0, 1.0]))
    assert model(np.zeros((0, 30), np.float32), []).shape == (0, 11)
    both = np.zeros((12, 41), np.float32)
    both[:, :30] = x
    model(both[:, :30], phase, out=both[:, 20:31])  # out over x
    assert np.array_equal(both[:, 20:31], y)
    before = x.copy()
    x.flags.writeable = False
    assert np.array_equal(model(x, phase), y) and np.array_equal(x, before)


BAD_CALLS = [
    (lambda x, p: (x[:, :29], p), ValueError, r"x must have shape \(any, 30\), got \(4, 29\)"),
    (lambda x, p: (x[0], p), ValueError, r"x must have shape"),
    (lambda x, p: (x[None], p), ValueError, r"x must have shape"),
    (lambda x, p: (x, p[:3]), ValueError, r"phase must have shape \(4,\), got \(3,\)"),
    (lambda x, p: (x, p[:, None]), ValueError, r"phase must have shape"),
    (lambda x, p: (x, 0.5), ValueError, r"phase must have shape"),
    (lambda x, p: (x, np.float64([0, 0, 0, 1.2])), ValueError, r"phase\[3\]=1.2 is not in \[0, 1\]"),
    (lambda x, p: (x, np.float32([0, -0.25, 0, 0])), ValueError, r"phase\[1\]=-0.25 is not in \[0, 1\]"),
    (lambda x, p: (x, np.float32([0, 0, np.nan, 0])), ValueError, r"phase\[2\]=nan"),
    (lambda x, p: (x, [0, 0, np.inf, 0]), ValueError, r"phase\[2\]=inf"),
    (lambda x, p: (x.astype(complex), p), TypeError, "x must be an array of real numbers"),
    (lambda x, p: (x.astype(object), p), TypeError, "x must be an array of real numbers"),
    (lambda x, p: ("walk", p), TypeError, "x must be an array of real numbers"),
    (lambda x, p: (None, p), TypeError, "x must be an array of real numbers"),
    (lambda x, p: ([[1.0], [1.0, 2.0]], p), ValueError, "x must be an array of numbers"),
    (lambda x, p: (x, ["a"] * 4), TypeError, "phase must be an array of real numbers"),
    (lambda x, p: (x, p, np.zeros((4, 11))), TypeError, "out must have dtype float32"),
    (lambda x, p: (x, p, np.zeros((4, 12), np.float32)), ValueError, r"out must have shape \(4, 11\), got \(4, 12\)"),
    (lambda x, p: (x, p, [[0.0]]), TypeError, "out must be a NumPy array, got list"),
    (lambda x, p: (x, p, np.broadcast_to(np.float32(0), (4, 11))), ValueError, "out must be writable"),
]


@pytest.mark.parametrize("change, error, message", BAD_CALLS)
def test_wrong_calls(change, error, message):
    model = make()
    with pytest.raises(error, match=message):
        model(*change(*data(4)))


# ---- making a network


def test_start_values():
    model = SimplifiedPFNN(400, 100, 64, seed=3)
    again = SimplifiedPFNN(400, 100, 64, seed=3)
    assert all(np.array_equal(a, b) for a, b in zip(model.state_dict().values(), again.state_dict().values(), strict=True))
    assert not np.array_equal(SimplifiedPFNN(400, 100, 64).fc1.weights, SimplifiedPFNN(400, 100, 64).fc1.weights)
    for fc in (model.fc1, model.fc2, model.fc3):
        assert np.std(fc.weights) == pytest.approx(0.1, rel=0.02) and not fc.bias.any()
    he = SimplifiedPFNN(400, 100, 64, init="he", seed=3)
    assert np.std(he.fc1.weights) == pytest.approx(np.sqrt(2 / 400), rel=0.02)
    assert np.std(he.fc3.weights) == pytest.approx(np.sqrt(2 / 64), rel=0.02)
    rng = np.random.default_rng(3)
    layers = [PFNNLayer(*dims, seed=rng) for dims in ((400, 64), (64, 64), (64, 100))]
    assert all(np.array_equal(a.weights, b.weights) for a, b in zip(layers, (model.fc1, model.fc2, model.fc3), strict=True))
    double = SimplifiedPFNN(400, 100, 64, seed=3, dtype=np.float64)
    np.testing.assert_array_equal(double.fc1.weights.astype(np.float32), model.fc1.weights)


def test_defaults_and_attributes():
    model = SimplifiedPFNN(seed=0)
    assert (model.in_dim, model.out_dim, model.hidden, model.n_kernels, model.beta) == (1236, 103, 256, 8, 8.0)
    assert (model.kernel, model.activation, model.dtype) == ("rbf", "relu", np.float32)
    assert model.fc1.weights.shape == (8, 1236, 256) and model.fc3.bias.shape == (8, 103)


def test_weights_are_writable_views():
    model = make()
    x, phase = data(3)
    model(x, phase)
    model.fc2.weights[...] *= 0.5
    model.fc2.bias += 1
    model.fc3.weights = np.ones((6, 24, 11))
    close(model(x, phase), reference.forward(model, x, phase), 1e-6)
    layer = model.fc1
    close(layer(x, phase), reference.layer(x, layer.shares(phase), layer.weights, layer.bias), 1e-6)
    with pytest.raises(ValueError, match=r"weights must have shape \(6, 24, 11\)"):
        model.fc3.weights = np.ones((24, 11))


BAD_OPTIONS = [
    (dict(in_dim=0), ValueError, "in_dim must be"),
    (dict(in_dim=2.5), TypeError, "in_dim must be an integer"),
    (dict(out_dim=True), TypeError, "out_dim must be an integer"),
    (dict(hidden=-1), ValueError, "hidden must be"),
    (dict(hidden=10**30), ValueError, "hidden must be"),
    (dict(in_dim=1 << 20, hidden=1 << 20), ValueError, "parameters"),
    (dict(n_kernels=0), ValueError, "n_kernels must be"),
    (dict(n_kernels=3, kernel="catmull_rom"), ValueError, "n_kernels must be in 4"),
    (dict(n_kernels="8"), TypeError, "n_kernels must be an integer"),
    (dict(beta=0), ValueError, "beta must be greater than 0"),
    (dict(beta=np.nan), ValueError, "beta must be finite"),
    (dict(beta="8"), TypeError, "beta must be a number"),
    (dict(kernel="gauss"), ValueError, "kernel must be 'rbf'"),
    (dict(kernel=None), TypeError, "kernel must be a string"),
    (dict(activation="tanh"), ValueError, "activation must be"),
    (dict(activation=np.tanh), TypeError, "activation must be a string"),
    (dict(init="zeros"), ValueError, "init must be"),
    (dict(init=0), TypeError, "init must be a string"),
    (dict(dtype=np.int32), ValueError, "dtype must be float32 or float64"),
    (dict(dtype="float31"), TypeError, "dtype must be float32 or float64"),
    (dict(dtype=None), ValueError, "dtype must be float32 or float64"),
    (dict(seed=-1), ValueError, "seed must be"),
    (dict(seed=1.5), TypeError, "seed must be an integer"),
]


@pytest.mark.parametrize("options, error, message", BAD_OPTIONS)
def test_wrong_options(options, error, message):
    with pytest.raises(error, match=message):
        SimplifiedPFNN(**{"in_dim": 4, "out_dim": 3, "hidden": 2, **options})


# ---- keeping a network


@pytest.mark.parametrize("kernel, activation", KINDS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_save_and_load(tmp_path, kernel, activation, dtype):
    model = make(kernel=kernel, activation=activation, dtype=dtype)
    model.save(tmp_path / "walk.pfnn")
    other = SimplifiedPFNN.load(tmp_path / "walk.pfnn")
    x, phase = data(5)
    assert repr(other) == repr(model) and np.array_equal(other(x, phase), model(x, phase))
    assert os.listdir(tmp_path) == ["walk.pfnn"]


def test_files_that_are_no_network(tmp_path):
    make().save(tmp_path / "a.pfnn")
    whole = (tmp_path / "a.pfnn").read_bytes()
    rng = np.random.default_rng(0)
    for damage in [whole[:n] for n in (0, 10, 63, 64, 200, 1000, len(whole) - 1)] + [whole + b"x", b"x" * 1000]:
        (tmp_path / "b.pfnn").write_bytes(damage)
        with pytest.raises(ValueError, match="b.pfnn"):
            SimplifiedPFNN.load(tmp_path / "b.pfnn")
    for i in rng.integers(0, len(whole), 50):
        flipped = bytearray(whole)
        flipped[i] ^= 4
        (tmp_path / "b.pfnn").write_bytes(flipped)
        with pytest.raises(ValueError, match="b.pfnn"):
            SimplifiedPFNN.load(tmp_path / "b.pfnn")
    with pytest.raises(FileNotFoundError):
        SimplifiedPFNN.load(tmp_path / "none.pfnn")
    with pytest.raises(OSError):
        make().save(tmp_path / "none" / "a.pfnn")


def test_files_with_a_right_checksum_and_wrong_arrays(tmp_path):
    from pfnnc import _store

    path, arrays = tmp_path / "a.pfnn", make()._to_arrays()
    config = arrays["config"]
    changes = [
        {"config": config[:3]},
        {"config": config + np.eye(7, dtype=int)[0]},
        {"config": config + 100 * np.eye(7, dtype=int)[5]},
        {"config": config - 10 * np.eye(7, dtype=int)[4]},
        {"config": config.astype(float)},
        {"config": np.full(7, 2**62)},
        {"beta": np.array([np.nan])},
        {"beta": np.array([1.0, 2.0])},
        {"fc2.weights": arrays["fc2.weights"][:, :, :3]},
        {"fc2.weights": arrays["fc2.weights"] * np.nan},
        {"fc1.weights": np.zeros((2, 2), np.uint8)},
        {"fc9.weights": np.zeros(3)},
    ]
    for change in changes:
        _store.save(path, "network", {**arrays, **change})
        with pytest.raises(ValueError, match="a.pfnn holds no network"):
            SimplifiedPFNN.load(path)
    for name in arrays:
        _store.save(path, "network", {k: v for k, v in arrays.items() if k != name})
        with pytest.raises(ValueError, match="a.pfnn holds no network"):
            SimplifiedPFNN.load(path)


def test_state_dict_round_trip_and_copies():
    model, other = make(seed=1), make(seed=2)
    state = model.state_dict()
    other.load_state_dict(state)
    x, phase = data(4)
    assert np.array_equal(other(x, phase), model(x, phase))
    state["fc1.weights"][...] = 0
    assert model.fc1.weights.any() and other.fc1.weights.any()


@pytest.mark.parametrize("load", [SimplifiedPFNN.load, pfnnc.Trainer.load, pfnnc.MotionModel.load])
def test_a_descriptor_is_no_path(load):
    reading, writing = os.pipe()
    os.close(writing)
    for wrong in (None, True, 3.5, reading):
        with pytest.raises(TypeError):
            load(wrong)
    os.close(reading)  # nobody else has closed it


def test_load_state_dict_is_all_or_nothing():
    model = make(seed=1)
    before = model.state_dict()
    good = make(seed=2).state_dict()
    nan = good["fc3.bias"].copy()
    nan[2, 1] = np.nan
    changes = [
        ({"fc3.bias": None}, ValueError, "no entry 'fc3.bias'"),
        ({"fc4.bias": good["fc3.bias"]}, ValueError, "unknown entry 'fc4.bias'"),
        ({"fc3.weights": good["fc3.weights"][1:]}, ValueError, r"fc3.weights must have shape \(6, 24, 11\)"),
        ({"fc3.bias": nan}, ValueError, r"fc3.bias\[2, 1\]=nan is not finite"),
        ({"fc3.bias": good["fc3.bias"].astype(float) + 1e300}, ValueError, r"fc3.bias\[0, 0\]=inf is not finite"),
        ({"fc3.bias": good["fc3.bias"].astype(str)}, TypeError, "fc3.bias must be an array of real numbers"),
        ({"fc2.centers": np.linspace(0, 0.9, 6)}, ValueError, r"fc2.centers\[1\]=.* is not the centre"),
        ({"fc2.centers": np.linspace(0, 1, 5)}, ValueError, r"fc2.centers must have shape \(6,\)"),
    ]
    for change, error, message in changes:
        state = {k: v for k, v in {**good, **change}.items() if v is not None}
        with pytest.raises(error, match=message):
            model.load_state_dict(state)
        assert all(np.array_equal(model.state_dict()[name], before[name]) for name in before)
    with pytest.raises(TypeError, match="state must be a mapping"):
        model.load_state_dict([1, 2])
    model.load_state_dict({**good, "fc1.centers": np.linspace(0, 1, 6, dtype=np.float32)})
    assert np.array_equal(model.fc1.weights, good["fc1.weights"])
    with pytest.raises(ValueError, match="unknown entry 'fc1.centers'"):
        make(kernel="catmull_rom").load_state_dict({**good, "fc1.centers": np.linspace(0, 1, 6)})


@pytest.mark.parametrize("duplicate", [copy.deepcopy, copy.copy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_independent(duplicate):
    model = make(kernel="cyclic")
    other = duplicate(model)
    x, phase = data(4)
    y = model(x, phase)
    assert np.array_equal(other(x, phase), y) and repr(other) == repr(model)
    other.fc1.weights[...] = 0
    assert np.array_equal(model(x, phase), y)
    layer = duplicate(model.fc2)
    assert np.array_equal(layer.weights, model.fc2.weights) and not np.shares_memory(layer.weights, model.fc2.weights)


def test_the_published_network():
    points = np.load(shared("oracles", "holden_controlpoints_f32.npz"))
    oracle = np.load(shared("oracles", "oracle_forward_100.npz"))
    x = (oracle["X"].astype(np.float64) - points["Xmean"]) / points["Xstd"]
    y = (oracle["Y_exact_cubic_f64"] - points["Ymean"]) / points["Ystd"]
    phase = oracle["P"].astype(np.float64) / (2 * np.pi)
    for dtype, goal in ((np.float32, 1e-5), (np.float64, 2e-6)):
        model = SimplifiedPFNN(342, 311, 512, 4, kernel="catmull_rom", activation="elu", dtype=dtype)
        model.load_state_dict(
            {f"fc{i + 1}.weights": points[f"W{i}"].swapaxes(1, 2) for i in range(3)}
            | {f"fc{i + 1}.bias": points[f"b{i}"] for i in range(3)}
        )
        assert np.abs(model(x.astype(dtype), phase) - y).max() < goal


# ---- threads


def test_one_network_in_several_threads():
    """The first large batch, which changes how the network works on large ones, while small ones are on their way."""
    x, phase = data(1200, 200)
    for seed in range(3):
        model = make(200, 60, 128, 8, seed=seed)
        small, large = copy.copy(model)(x[:12], phase[:12]), copy.copy(model)(x, phase)
        with ThreadPoolExecutor(4) as pool:
            results = [pool.submit(model, x[:12], phase[:12]) for _ in range(200)]
            results += [pool.submit(model, x, phase)] + [pool.submit(model, x[:12], phase[:12]) for _ in range(200)]
        for result in results:
            assert np.array_equal(result.result(), small if len(result.result()) == 12 else large)


def test_thread_count():
    before = pfnnc.get_num_threads()
    try:
        pfnnc.set_num_threads(3)
        assert pfnnc.get_num_threads() == 3
        for wrong, error in (
            (0, ValueError),
            (-1, ValueError),
            (257, ValueError),
            (1.0, TypeError),
            (True, TypeError),
            ("2", TypeError),
        ):
            with pytest.raises(error, match="n must be"):
                pfnnc.set_num_threads(wrong)
        assert pfnnc.get_num_threads() == 3
    finally:
        pfnnc.set_num_threads(before)


@pytest.mark.parametrize(
    "value, expect", [("3", "3"), ("0", "warned"), ("many", "warned"), ("-2", "warned"), ("1" * 5000, "warned")]
)
def test_thread_count_from_the_environment(value, expect):
    code = (
        "import warnings\nwith warnings.catch_warnings(record=True) as seen:\n warnings.simplefilter('always'); import pfnnc\n"
        "print('warned' if seen else pfnnc.get_num_threads())"
    )
    environment = plain_environment(PFNNC_NUM_THREADS=value)
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == expect


# ---- instruction sets


SETS = ("neon", "portable") if platform.machine() in ("aarch64", "arm64") else ("avx512", "avx2", "sse2", "portable")
RUN_SET = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np, pfnnc, test_network as t
if pfnnc._core.isa() != sys.argv[1]: sys.exit(77)
results = {}
for kernel, activation in t.KINDS:
    for dtype in (np.float32, np.float64):
        model = t.make(300, 45, 70, 5, kernel=kernel, activation=activation, dtype=dtype)
        for rows in range(1, 31):
            x, phase = t.data(rows, 300, dtype=dtype)
            results[f"{kernel}-{np.dtype(dtype).name}-{rows}"] = model(x, phase)
        whole = results[f"{kernel}-{np.dtype(dtype).name}-30"]
        for rows in range(1, 30):
            assert np.array_equal(model(x[:rows], phase[:rows]), whole[:rows]), rows
np.savez(sys.argv[2], **results)
"""


@pytest.mark.parametrize("isa", SETS)
def test_every_instruction_set(tmp_path, isa):
    here, package = os.path.dirname(__file__), os.path.dirname(os.path.dirname(pfnnc.__file__))
    environment = plain_environment(PFNNC_ISA=isa, PYTHONPATH=os.pathsep.join([here, package]))
    command = [sys.executable, "-c", RUN_SET, isa, str(tmp_path / "y.npz")]
    code = subprocess.run(command, env=environment).returncode
    if code == 77:
        pytest.skip(f"this processor has no {isa}")
    assert code == 0
    results = np.load(tmp_path / "y.npz")
    for kernel, activation in KINDS:
        for dtype, tolerance in ((np.float32, 1e-6), (np.float64, 1e-14)):
            model = make(300, 45, 70, 5, kernel=kernel, activation=activation, dtype=dtype)
            for rows in range(1, 31):
                want = reference.forward(model, *data(rows, 300, dtype=dtype))
                close(results[f"{kernel}-{np.dtype(dtype).name}-{rows}"], want, tolerance)


def test_an_unknown_instruction_set_is_named():
    environment = plain_environment(PFNNC_ISA="mmx")
    result = subprocess.run([sys.executable, "-c", "import pfnnc"], env=environment, capture_output=True, text=True, check=True)
    assert "PFNNC_ISA='mmx' is not to be had here" in result.stderr


# ---- compiled networks


@pytest.mark.parametrize("weights, goal", [("float32", 1e-6), ("float16", 1e-3)])
@pytest.mark.parametrize("crowd", [None, (16, 5), (40, 4)])
def test_compiled(weights, goal, crowd):
    model = make(300, 45, 70, 8)
    runtime = model.compile(weights=weights, crowd=crowd)
    assert (runtime.weights, runtime.crowd) == (weights, crowd) and f"{runtime.error_bound:.1e} of max|y|" in repr(runtime)
    for rows in (1, 7, 300, 1500):
        x, phase = data(rows, 300)
        close(runtime(x, phase), reference.forward(model, x, phase), goal)
        assert runtime(x.astype(np.float64), phase).dtype == np.float64
    close(runtime(x, phase), reference.forward(model, x, phase), runtime.error_bound)
    y = runtime(x, phase)
    model.fc1.weights[...] = 0
    assert np.array_equal(runtime(x, phase), y)
    with pytest.raises(AttributeError, match="immutable"):
        runtime.weights = "float64"
    with pytest.raises(ValueError, match="read-only"):
        runtime._parameters[0] = 1
    assert np.array_equal(pickle.loads(pickle.dumps(runtime))(x, phase), y)
    assert np.array_equal(copy.deepcopy(runtime)(x, phase), y)


@pytest.mark.parametrize(
    "kernel, kernels, beta",
    [("rbf", 8, 8.0), ("cyclic", 16, 32.0), ("catmull_rom", 8, 1.0), ("rbf", 4, 8.0), ("rbf", 8, 1e-9), ("rbf", 8, 300.0)],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_batches_are_exact_whatever_way_they_go(kernel, kernels, beta, dtype):
    model = make(100, 33, 40, kernels, beta=beta, kernel=kernel, dtype=dtype)
    x, phase = data(3000, 100)
    phase[:2] = 0, 1
    close(model(x, phase), reference.forward(model, x, phase), 1e-6)
    before = pfnnc.get_num_threads()
    try:
        pfnnc.set_num_threads(1)
        y = model(x, phase)
        pfnnc.set_num_threads(3)
        assert np.array_equal(model(x, phase), y)
        assert np.array_equal(model(x[::-1], phase[::-1])[::-1], y)
    finally:
        pfnnc.set_num_threads(before)
    crowded = np.full(1500, 0.3)  # all in one segment
    close(model(x[:1500], crowded), reference.forward(model, x[:1500], crowded), 1e-6)
    x[17, 3] = np.nan
    with_nan = model(x, phase)
    assert np.isnan(with_nan[17]).all() and np.array_equal(np.delete(with_nan, 17, 0), np.delete(y, 17, 0))


@pytest.mark.parametrize(
    ("kernel", "kernels", "beta"),
    [("rbf", 8, 8), ("cyclic", 8, 8), ("cyclic", 10, 3), ("cyclic", 16, 14.9), ("cyclic", 16, 32), ("rbf", 14, 0.3)],
)
def test_many_rows_at_the_end_of_a_segment_are_exact(kernel, kernels, beta):
    """The short cut's blends fit worst at the ends of segments, and a crowd that starts together stands in one place."""
    model = SimplifiedPFNN(64, 32, hidden=64, n_kernels=kernels, beta=beta, kernel=kernel, activation="elu", init="he", seed=0)
    x = np.random.default_rng(0).standard_normal((256, 64)).astype("f4")
    for at in (0.0, 1 / 16, 1 / 12, 1 / 8, 0.25, 1 / 3, 0.5, 0.75, np.nextafter(1, 0)):
        phase = np.full(256, at)
        close(model(x, phase), reference.forward(model, x, phase), 1e-6)


def test_masked_arrays_are_refused_in_every_type():
    model, x, phase = SimplifiedPFNN(4, 2, hidden=8, seed=0), np.ones((3, 4), "f4"), np.zeros(3)
    for wrong in ((x, np.ma.array(phase, mask=[0, 1, 0])), (np.ma.array(x, mask=x > 0), phase)):
        with pytest.raises(ValueError, match="must have no masked elements"):
            model(*wrong)


@pytest.mark.parametrize("rows", [128, 200, 700])
def test_phases_that_stand_together_take_a_short_cut(rows):
    """A crowd in one place of the cycle, some in others, some alone: segments that pay, and a rest that does not."""
    model = make(100, 33, 40, 8)
    x, _ = data(rows, 100)
    rng = np.random.default_rng(rows)
    phase = np.where(rng.random(rows) < 0.8, 0.3 + 0.01 * rng.random(rows), rng.random(rows))
    y = model(x, phase)
    close(y, reference.forward(model, x, phase), 1e-6)
    assert not np.array_equal(y, np.concatenate([model(x[:64], phase[:64]), model(x[64:], phase[64:])]))
    before = pfnnc.get_num_threads()
    try:
        for threads in (2, 3, 5):
            pfnnc.set_num_threads(threads)
            assert np.array_equal(model(x, phase), y)
    finally:
        pfnnc.set_num_threads(before)


def test_wrong_ways_to_compile():
    model = make()
    for options, error, message in [
        (dict(weights="int8"), ValueError, "weights must be 'float32' or 'float16'"),
        (dict(weights=16), TypeError, "weights must be a string"),
        (dict(crowd=16), TypeError, "crowd must be None or"),
        (dict(crowd=(16, 4, 2)), TypeError, "crowd must be None or"),
        (dict(crowd=(0, 4)), ValueError, r"crowd\[0\] must be"),
        (dict(crowd=(16, 7)), ValueError, r"crowd\[1\] must be"),
        (dict(crowd=(16, 2.0)), TypeError, r"crowd\[1\] must be an integer"),
    ]:
        with pytest.raises(error, match=message):
            model.compile(**options)
    model.fc2.weights[1, 2, 3] = 1e5
    with pytest.raises(ValueError, match="fc2 has a weight of 100000, which float16 cannot hold"):
        model.compile(weights="float16")
    with pytest.raises(TypeError, match="model must be a SimplifiedPFNN"):
        pfnnc.CompiledPFNN(model.fc1)


def test_a_compiled_network_is_not_saved(tmp_path):
    walker = pfnnc.MotionModel.load(os.path.join(os.path.dirname(pfnnc.__file__), "data", "demo.pfnnc"))
    walker.model = walker.model.compile()
    with pytest.raises(TypeError, match="model is compiled"):
        walker.save(tmp_path / "a.pfnnc")
    assert os.listdir(tmp_path) == []


def test_float16_is_rounded_to_nearest_even():
    model = SimplifiedPFNN(1, 1, 1, 1, seed=0)
    for fc in (model.fc1, model.fc2, model.fc3):
        fc.weights[...] = 1
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [rng.standard_normal(500) * 10.0 ** rng.integers(-9, 5, 500), [65504, 65519.9, 6e-8, 2.9e-8, 0, 1 / 3]]
    )
    for value in np.abs(values[np.abs(values) < 65520]).astype(np.float32):
        model.fc1.weights[...] = value
        assert model.compile("float16")(np.ones((1, 1), np.float32), [0.5])[0, 0] == np.float32(np.float16(value))


# ---- the published weights as files


def write_folder(folder, controls, names=range(50), cycle=50, stats=None):
    """A folder as the demo of PFNN has it, from control points [(W (4, out, in), b (4, out)), ...]."""
    blend = reference.shares(np.array(names) / cycle, 4, 1, "catmull_rom")
    for i, layer in enumerate(controls):
        for letter, points in zip("Wb", layer, strict=True):
            for name, weights in zip(names, blend, strict=True):
                np.tensordot(weights, points, 1).astype("<f4").tofile(folder / f"{letter}{i}_{name:03}.bin")
    rng, (in_dim, out_dim) = np.random.default_rng(0), (controls[0][0].shape[2], controls[-1][0].shape[1])
    for name, count in (("Xmean", in_dim), ("Xstd", in_dim), ("Ymean", out_dim), ("Ystd", out_dim)):
        (stats[name] if stats else rng.uniform(0.1, 1, count)).astype("<f4").tofile(folder / f"{name}.bin")


def control_points():
    rng = np.random.default_rng(0)
    return [(rng.standard_normal((4, o, i)), rng.standard_normal((4, o))) for o, i in ((7, 5), (7, 7), (4, 7))]


SETS_OF_SAMPLES = {
    "constant": (range(50), 50),
    "linear": (range(10), 10),
    "linear, the demo's names": (range(0, 50, 5), 50),
    "control points": (range(4), 4),
    "cubic, the demo's names": ((0, 12, 25, 37), 50),
}


@pytest.mark.parametrize("kind", SETS_OF_SAMPLES)
def test_pfnn_folder(tmp_path, kind):
    names, cycle = SETS_OF_SAMPLES[kind]
    write_folder(tmp_path, controls := control_points(), names, cycle)
    found = pfnnc.load_pfnn_folder(tmp_path)
    for fc, (weights, bias) in zip((found.model.fc1, found.model.fc2, found.model.fc3), controls, strict=True):
        np.testing.assert_allclose(fc.weights, weights.swapaxes(1, 2), atol=3e-6)
        np.testing.assert_allclose(fc.bias, bias, atol=3e-6)
    assert found.residual < 1e-6 and found.x_mean.shape == (5,) and found.y_std.shape == (4,)
    assert (found.model.kernel, found.model.activation) == ("catmull_rom", "elu")
    for name in names:  # a set with a gap is never taken for a smaller one
        (tmp_path / f"W0_{name:03}.bin").rename(tmp_path / "aside")
        with pytest.raises(FileNotFoundError, match="has no W0_"):
            pfnnc.load_pfnn_folder(tmp_path)
        (tmp_path / "aside").rename(tmp_path / f"W0_{name:03}.bin")
    (tmp_path / "W0_050.bin").write_bytes(b"")
    with pytest.raises(ValueError, match=r"must hold 50, 10 or 4 samples W0_000.bin ..., got \d+ with W0_050.bin"):
        pfnnc.load_pfnn_folder(tmp_path)


def test_a_damaged_pfnn_folder(tmp_path):
    write_folder(tmp_path, control_points(), range(4), 4)
    damage = {
        "empty": lambda data: b"",
        "one byte less": lambda data: data[:-1],
        "one number less": lambda data: data[:-4],
        "one number more": lambda data: data + bytes(4),
        "NaN": lambda data: np.full(len(data) // 4, np.nan, "<f4").tobytes(),
    }
    for file in sorted(tmp_path.iterdir()):
        whole = file.read_bytes()
        for change in damage.values():
            file.write_bytes(change(whole))
            with pytest.raises(ValueError, match=r"\.bin"):
                pfnnc.load_pfnn_folder(tmp_path)
        file.unlink()
        with pytest.raises(FileNotFoundError):
            pfnnc.load_pfnn_folder(tmp_path)
        file.mkdir()
        with pytest.raises(OSError):
            pfnnc.load_pfnn_folder(tmp_path)
        file.rmdir()
        file.write_bytes(whole)
    (tmp_path / "W1_002.bin").write_bytes(b"123")
    with pytest.raises(ValueError, match="W1_002.bin must hold 49 float32 numbers, 196 bytes, got 3 bytes"):
        pfnnc.load_pfnn_folder(tmp_path)
    np.full(49, np.nan, "<f4").tofile(tmp_path / "W1_002.bin")
    with pytest.raises(ValueError, match=r"W1_002.bin\[0\]=nan is not finite"):
        pfnnc.load_pfnn_folder(tmp_path)
    np.float32([1, 0.5, 0, 1, 1]).tofile(tmp_path / "Xstd.bin")
    with pytest.raises(ValueError, match=r"Xstd.bin\[2\]=0.0 is not greater than 0"):
        pfnnc.load_pfnn_folder(tmp_path)
    for missing in ("none", "W0_000.bin"):
        with pytest.raises(FileNotFoundError):
            pfnnc.load_pfnn_folder(tmp_path / missing)
    with pytest.raises(TypeError):
        pfnnc.load_pfnn_folder(3)


@pytest.mark.parametrize("kind", ["control points", "cubic, the demo's names"])
def test_the_published_network_as_a_folder(tmp_path, kind):
    points = np.load(shared("oracles", "holden_controlpoints_f32.npz"))
    oracle = np.load(shared("oracles", "oracle_forward_100.npz"))
    write_folder(tmp_path, [(points[f"W{i}"], points[f"b{i}"]) for i in range(3)], *SETS_OF_SAMPLES[kind], points)
    found = pfnnc.load_pfnn_folder(tmp_path)
    y = found.model((oracle["X"] - found.x_mean) / found.x_std, oracle["P"].astype(np.float64) / (2 * np.pi))
    want = (oracle["Y_exact_cubic_f64"] - points["Ymean"]) / points["Ystd"]
    assert np.abs(y - want).max() < 2e-5
