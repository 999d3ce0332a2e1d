"""Training: agreement with PyTorch, gradients against finite differences, schedules, what a run promises."""

import copy
import csv
import math
import sys
from functools import partial

import numpy as np
import pytest

import pfnnc
from pfnnc import Clip, FeatureSpec, Normalizer, SimplifiedPFNN, Skeleton, Trainer, Trajectory, WindowDataset
from pfnnc._train_work import TERMS, Work

KERNELS = [("rbf", 8, 8.0), ("cyclic", 5, 32.0), ("catmull_rom", 4, 8.0)]


def windows(count=96, length=3, out=2, dim=10, seed=0):
    """Random windows (X, Y, P), float64."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, length, dim)), rng.normal(size=(count, out, dim)), rng.random(count)


def network(length=3, dim=10, out=None, *, dtype=np.float32, hidden=17, n_kernels=4, seed=1, **options):
    return SimplifiedPFNN(length * dim, out or dim, hidden, n_kernels, seed=seed, dtype=dtype, **options)


# ---- the oracle: modules written from the formula, with PyTorch's own loss and optimiser -------------------------


def torch_run(model, data, steps, batches, *, lr=1e-3, t_max=200, eta_min=1e-5, weight=0.1, weight_decay=1e-4, masks=None):
    """Train PyTorch copies of the model; (losses before each step, {name: weights}, {name: gradient of the last step}).
    ``masks(step)`` are the factors of the three layers' inputs, where there is dropout."""
    torch = pytest.importorskip("torch", reason="needs PyTorch, the oracle for training")
    torch.set_num_threads(1)
    dtype = torch.float32 if model.dtype == np.float32 else torch.float64
    named = {k: torch.nn.Parameter(torch.tensor(v, dtype=dtype)) for k, v in model.state_dict().items()}
    count = model.n_kernels

    def shares(p):
        if model.kernel == "catmull_rom":
            s = p * count
            i, u = torch.floor(s).long(), s - torch.floor(s)
            cubic = [-u / 2 + u**2 - u**3 / 2, 1 - 2.5 * u**2 + 1.5 * u**3, u / 2 + 2 * u**2 - 1.5 * u**3, (u**3 - u**2) / 2]
            return sum(torch.nn.functional.one_hot((i + j - 1) % count, count) * c[:, None] for j, c in enumerate(cubic))
        if model.kernel == "cyclic":
            angle = 2 * math.pi * (p[:, None] - torch.arange(count, dtype=dtype) / count)
            return torch.softmax(model.beta / (2 * math.pi**2) * (torch.cos(angle) - 1), 1)
        return torch.softmax(-model.beta * (p[:, None] - torch.linspace(0, 1, count, dtype=dtype)) ** 2, 1)

    def layer(x, a, i):
        return torch.einsum("bk,bi,kio->bo", a, x, named[f"fc{i}.weights"]) + a @ named[f"fc{i}.bias"]

    activate = torch.relu if model.activation == "relu" else torch.nn.functional.elu
    smooth_l1 = torch.nn.functional.smooth_l1_loss
    optimiser = torch.optim.AdamW(named.values(), lr=lr, weight_decay=weight_decay)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, t_max, eta_min)
    x, y, p = (torch.tensor(a, dtype=dtype) for a in data)
    losses = []
    for step in range(steps):
        i = torch.tensor(batches(step))
        a, drop = shares(p[i]), [1, 1, 1] if masks is None else [torch.tensor(m, dtype=dtype) for m in masks(step)]
        hidden = activate(layer(x[i].flatten(1) * drop[0], a, 1))
        prediction = layer(activate(layer(hidden * drop[1], a, 2)) * drop[2], a, 3)
        last, target = x[i, -1, :3], y[i, 0]
        loss = smooth_l1(prediction, target) + weight * smooth_l1(prediction[:, :3] - last, target[:, :3] - last)
        optimiser.zero_grad()
        loss.backward()
        losses.append(loss.item())
        gradients = {k: v.grad.numpy().copy() for k, v in named.items()}
        optimiser.step()
        cosine.step()
    return losses, {k: v.detach().numpy() for k, v in named.items()}, gradients


def gradient_of(trainer, data, steps=None, epoch=0, indices=None):
    """(weighted terms, flat gradient) of all windows, or of `indices`."""
    work = Work(trainer, data, None)
    indices = np.arange(work.train.count) if indices is None else indices
    losses = work.gradient(indices, steps or max(trainer._options["rollout"]), epoch)
    flat = np.empty_like(trainer.model._parameters)
    work.step.store(flat)
    return np.array(losses), flat


def close(a, b, tolerance):
    """Agreement relative to the largest value."""
    return np.abs(np.asarray(a) - b).max() <= tolerance * np.abs(b).max()


@pytest.mark.parametrize("activation", ["relu", "elu"])
@pytest.mark.parametrize(("kernel", "count", "beta"), KERNELS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float64, 1e-12)])
def test_gradient_is_pytorchs(kernel, count, beta, activation, dtype, tolerance):
    model = network(n_kernels=count, kernel=kernel, beta=beta, activation=activation, dtype=dtype)
    data = windows()
    wanted_loss, _, wanted = torch_run(model, data, 1, lambda step: np.arange(96))
    losses, flat = gradient_of(Trainer(model), data)
    assert losses.sum() == pytest.approx(wanted_loss[0], rel=tolerance)
    at = 0
    for name, view in model._named().items():
        assert close(flat[at : at + view.size].reshape(view.shape), wanted[name], tolerance), name
        at += view.size


@pytest.mark.parametrize("zeros", [(0.0, 0.0), (0.6, 0.0), (0.0, 0.6), (0.6, 0.7), (1.0, 1.0)])
@pytest.mark.parametrize(("inputs", "outputs", "kernels", "rows"), [(70, 40, 8, 21), (5, 1030, 4, 7), (530, 9, 3, 40)])
def test_weights_gradient_where_there_are_zeros(zeros, inputs, outputs, kernels, rows):
    """Zeros in x or dy are skipped in float: the sums are those of float64, and the bits those of one thread."""
    rng = np.random.default_rng(inputs)
    x, dy = rng.normal(size=(rows, inputs)), rng.normal(size=(rows, outputs))
    for array, share in zip((x, dy), zeros, strict=True):
        array[rng.random(array.shape) < share] = 0
    weights, bias, phase = np.zeros((kernels, inputs, outputs)), np.zeros((kernels, outputs)), rng.random(rows)

    def gradients(dtype):
        given = (x.astype(dtype), phase, weights.astype(dtype), bias.astype(dtype), dy.astype(dtype))
        return pfnnc._core.layer_backward(*given, 8.0, 0, 4 | 8)[2:]

    wanted, before = gradients(np.float64), pfnnc.get_num_threads()
    try:
        pfnnc.set_num_threads(1)
        single = gradients(np.float32)
        pfnnc.set_num_threads(3)
        several = gradients(np.float32)
    finally:
        pfnnc.set_num_threads(before)
    for a, b, c in zip(single, several, wanted, strict=True):
        assert np.array_equal(a, b) and np.abs(a - c).max() <= 2e-6 * max(1, np.abs(c).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_thirty_full_batch_steps_are_pytorchs(dtype):
    model, data = network(dtype=dtype), windows()
    wanted_losses, wanted, _ = torch_run(model, data, 30, lambda step: np.arange(96))
    trainer = Trainer(model, batch_size=None, shuffle=False).fit(data, epochs=30)
    assert [r.loss for r in trainer.history] == pytest.approx(wanted_losses, rel=1e-4)
    for name, value in model.state_dict().items():
        assert close(value, wanted[name], 1e-4), name


def test_fifty_mini_batch_steps_are_pytorchs():
    model, data = network(), windows(96)
    batches = [np.arange(96)[i : i + 40] for i in (0, 40, 80)]  # the last one is smaller
    # the schedule moves once an epoch: three steps of the oracle share a rate when it is handed over as a table
    epochs = 17
    losses, weights = oracle_epochs(model, data, batches, epochs)
    trainer = Trainer(model, batch_size=40, shuffle=False, t_max=20).fit(data, epochs=epochs)
    assert [r.loss for r in trainer.history] == pytest.approx(losses, rel=1e-4)
    for name, value in model.state_dict().items():
        assert close(value, weights[name], 1e-4), name


def oracle_epochs(model, data, batches, epochs):
    """Epoch means and weights of the NumPy twin of AdamW on PyTorch's gradients, in float64."""
    twin = network(dtype=np.float64)
    twin.load_state_dict(model.state_dict())
    moments = {name: [np.zeros_like(v), np.zeros_like(v)] for name, v in twin._named().items()}
    step, means = 0, []
    for epoch in range(epochs):
        lr, total = 1e-5 + (1e-3 - 1e-5) * (1 + math.cos(math.pi * epoch / 20)) / 2, 0.0
        for batch in batches:
            loss, _, gradients = torch_run(twin, data, 1, lambda _, batch=batch: batch)
            total, step = total + loss[0] * len(batch), step + 1
            for name, view in twin._named().items():
                m, v = moments[name]
                m += 0.1 * (gradients[name] - m)
                v += 0.001 * (gradients[name] ** 2 - v)
                view *= 1 - lr * 1e-4
                view -= lr * m / (1 - 0.9**step) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
        means.append(total / 96)
    return means, twin.state_dict()


# ---- cases with known numbers ------------------------------------------------------------------------------------


def constant_network(value, dim=3):
    """A network whose output is `value` whatever the input."""
    model = network(1, dim, hidden=2, n_kernels=1, dtype=np.float64)
    for layer in (model.fc1, model.fc2, model.fc3):
        layer.weights[...] = 0
    model.fc3.bias[...] = value
    return model


def test_smooth_l1_and_velocity_term():
    """Errors 0.5 and 2 cost 0.125 and 1.5; velocity [0, 1, 1] against [0, 1, 2] costs 1/6."""
    model = constant_network([0.0, 1.0, 1.0, 0.5, 2.0], dim=5)
    x, y = np.zeros((1, 1, 5)), np.array([[[0.0, 1.0, 2.0, 0.0, 0.0]]])
    losses, _ = gradient_of(Trainer(model, velocity_weight=1.0), (x, y, [0.0]))
    assert losses[TERMS.index("velocity")] == pytest.approx(0.5 / 3)
    assert losses[TERMS.index("pose")] == pytest.approx((0.5 + 0.125 + 1.5) / 5)


def test_adamw_decays_apart_from_the_gradient():
    """Parameter 1, gradient 0.1, lr 1e-3, decay 0.01: 0.9989900001 after a step."""
    model = constant_network([1.0, 0.0, 0.0])
    x, y = np.zeros((1, 1, 3)), np.array([[[0.7, 0.0, 0.0]]])  # error 0.3 over three columns: gradient 0.1
    trainer = Trainer(model, lr=1e-3, weight_decay=0.01, velocity_weight=0.0, batch_size=None)
    trainer.fit((x, y, [0.0]), epochs=1)
    assert model.fc3.bias[0, 0] == pytest.approx(0.9989900001, abs=1e-12)


def test_cosine_schedule():
    trainer = Trainer(constant_network([0.0, 0.0, 0.0]), lr=1e-3, eta_min=0.0, t_max=100, batch_size=None)
    data = (np.zeros((1, 1, 3)), np.zeros((1, 1, 3)), [0.0])
    rates = [trainer.lr] + [r.lr for r in trainer.fit(data, epochs=120).history]
    assert rates[0] == rates[1] == 1e-3
    assert [rates[26], rates[51]] == pytest.approx([0.000853553391, 0.0005], abs=1e-12)
    assert rates[101] == pytest.approx(0, abs=1e-15)
    assert rates[120] > rates[110] > rates[102] > 0  # past t_max on along the cosine
    assert trainer.lr == pytest.approx(1e-3 * (1 + math.cos(math.pi * 1.2)) / 2)


def test_cosine_schedule_is_pytorchs_past_its_end():
    torch = pytest.importorskip("torch", reason="needs PyTorch, the oracle for training")
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1e-3)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 7, 1e-5)
    trainer = Trainer(network(), t_max=7)
    for epoch in range(30):
        assert trainer._rate(epoch) == pytest.approx(cosine.get_last_lr()[0], rel=1e-9)
        optimiser.step()
        cosine.step()


# ---- the contact term and its gradient ---------------------------------------------------------------------------

NAMES = ["Hips", "LeftLeg", "LeftFoot", "RightLeg", "RightFoot"]


def skeleton():
    offsets = [[0, 0, 0], [0.1, -0.1, 0], [0, -0.4, 0.05], [-0.1, -0.1, 0], [0, -0.4, 0.05]]
    return Skeleton(NAMES, [-1, 0, 1, 0, 3], offsets, end_sites=[(2, (0, -0.05, 0.12)), (4, (0, -0.05, 0.12))])


def turn(axis, angle):
    c, s = math.cos(angle), math.sin(angle)
    return np.array({"x": [[1, 0, 0], [0, c, -s], [0, s, c]], "y": [[c, 0, s], [0, 1, 0], [-s, 0, c]]}[axis])


def test_contact_term_is_the_step_of_the_foot():
    """A root that moves on by v / fps with stiff legs moves the foot by as much; mean over two feet, one in contact."""
    spec = FeatureSpec(NAMES, contacts=True)
    still = np.tile([1.0, 0, 0, 0], 6)
    prediction = np.concatenate([[0.3, 0.0, 0.6], still, [1.0, 0.0]])
    model = constant_network(prediction, dim=spec.dim)
    x = np.concatenate([[0.0, 0, 0], still, [0, 0]])[None, None]
    y = prediction[None, None].copy()
    trainer = Trainer(model, contact_weight=5.0, skeleton=skeleton(), feet=("LeftFoot", "RightFoot"))
    losses, _ = gradient_of(trainer, (x, y, [0.0]))
    assert losses[TERMS.index("contact")] == pytest.approx(5 * math.hypot(0.01, 0.02) / 2)
    y[..., -2:] = 0  # no contact at all: 0, not NaN
    losses, flat = gradient_of(trainer, (x, y, [0.0]))
    assert losses[TERMS.index("contact")] == 0 and np.isfinite(flat).all()


def test_contact_term_by_hand_in_the_heading_frame():
    """A quarter of a hip turn and a turn of the root, against matrices written out here."""
    spec = FeatureSpec(NAMES, "6d", "heading", contacts=True)
    bend, rate = 0.5, 3.0
    rest = np.array([1.0, 0, 0, 0, 1, 0])
    after = np.tile(rest, (6, 1))
    after[2] = turn("x", bend)[:, :2].T.ravel()  # LeftLeg, slot 2: after the orientation and Hips
    row = np.concatenate([[0.1, 0.0, 0.9], after.ravel(), [rate], [1.0, 1.0]])
    before = np.concatenate([[0.0, 0, 0], np.tile(rest, 6), [0.0], [0.0, 0.0]])
    trainer = Trainer(
        constant_network(row, dim=spec.dim),
        contact_weight=1.0,
        skeleton=skeleton(),
        feet=("LeftFoot_end", "RightFoot"),
        spec=spec,
        fps=30.0,
    )
    losses, _ = gradient_of(trainer, (before[None, None], row[None, None], [0.0]))
    root_turn = turn("y", rate / 30)
    root = root_turn @ [0.1, 0.0, 0.9] / 30
    left = root + root_turn @ ([0.1, -0.1, 0] + turn("x", bend) @ ([0, -0.4, 0.05] + np.array([0, -0.05, 0.12])))
    right = root + root_turn @ (np.array([-0.1, -0.1, 0]) + [0, -0.4, 0.05])
    steps = [left - [0.1, -0.55, 0.17], right - [-0.1, -0.5, 0.05]]
    assert losses[TERMS.index("contact")] == pytest.approx(sum(map(np.linalg.norm, steps)) / 2, rel=1e-12)


def rotations(width, rng, shape):
    """Random valid rotations, some of them far from identity."""
    values = rng.normal(size=(*shape, width))
    if width == 4:
        values /= np.linalg.norm(values, axis=-1, keepdims=True)
    if width == 6:
        a, b = values[..., :3], values[..., 3:]
        a = a / np.linalg.norm(a, axis=-1, keepdims=True)
        b = b - (a * b).sum(-1, keepdims=True) * a
        values = np.concatenate([a, b / np.linalg.norm(b, axis=-1, keepdims=True)], -1)
    return values


def clip_like(spec, count=5, length=2, out=4, seed=0):
    """Random windows in the layout of a spec, in physical units."""
    rng = np.random.default_rng(seed)
    frames = rng.normal(size=(count, length + out, spec.dim)) * 0.5
    width, joints = spec.width, spec.n_joints
    frames[..., 3 : 3 + width * (1 + joints)] = rotations(width, rng, (count, length + out, 1 + joints)).reshape(
        count, length + out, -1
    )
    if "contacts" in spec.slices:
        frames[..., spec.slices["contacts"]] = rng.integers(0, 2, (count, length + out, 2))
    return frames[:, :length], frames[:, length:], rng.random(count)


def check_by_differences(trainer, data, terms, samples=40, step=1e-6, tolerance=2e-6):
    """Each term's gradient, one term at a time, against central differences on some weights of each array."""
    model, rng = trainer.model, np.random.default_rng(5)
    work = Work(trainer, data, None)
    indices, steps = np.arange(work.train.count), max(trainer._options["rollout"])
    flat, parameters = np.empty_like(model._parameters), model._parameters
    for term in terms:
        work._weights = lambda term=term: tuple(0.7 * (name == term) for name in TERMS)
        work.gradient(indices, steps, 0)
        work.step.store(flat)
        for name, view in model._named().items():
            start = (view.ctypes.data - parameters.ctypes.data) // parameters.itemsize
            for i in start + rng.choice(view.size, min(view.size, samples // 6 + 1), replace=False):
                kept, values = parameters[i], []
                for sign in (1, -1):
                    parameters[i] = kept + sign * step
                    values.append(sum(work.gradient(indices, steps, 0)))
                parameters[i] = kept
                difference = (values[0] - values[1]) / (2 * step)
                scale = max(np.abs(flat).max(), 1e-3)
                assert flat[i] == pytest.approx(difference, abs=tolerance * scale), (term, name)


@pytest.mark.parametrize("frame", ["world", "heading"])
@pytest.mark.parametrize("representation", ["quat", "exp_map", "6d"])
def test_gradient_of_each_term_by_differences(representation, frame):
    spec = FeatureSpec(NAMES, representation, frame, yaw_rate=True, height=True, points=NAMES[1:3], contacts=True)
    model = network(2, spec.dim, hidden=7, dtype=np.float64, activation="elu")
    trainer = Trainer(
        model,
        contact_weight=1.0,
        root_weight=1.0,
        points_weight=1.0,
        skeleton=skeleton(),
        feet=("LeftFoot", "RightFoot_end"),
        spec=spec,
    )
    check_by_differences(trainer, clip_like(spec), ["pose", "velocity", "contact", "root", "points"])


@pytest.mark.parametrize("representation", ["quat", "exp_map", "6d"])
@pytest.mark.parametrize("rotation_loss", ["sign", "geodesic"])
def test_gradient_of_other_rotation_losses_by_differences(representation, rotation_loss):
    spec = FeatureSpec(NAMES, representation, height=True)
    model = network(2, spec.dim, hidden=7, dtype=np.float64, activation="elu", init="he")
    trainer = Trainer(model, spec=spec, normalizer=scaled(spec), rotation_loss=rotation_loss)
    check_by_differences(trainer, clip_like(spec), ["pose"])


def test_rotation_losses_of_known_rotations():
    """Between q and -q: 0.375 number by number (over four columns), 0 by sign and by angle. A turn by 0.6: 0.18."""
    spec = FeatureSpec(1)
    x = np.zeros((1, 1, spec.dim))
    target = np.concatenate([[0.0, 0, 0], [-1.0, 0, 0, 0], [math.cos(0.3), 0, math.sin(0.3), 0]])[None, None]
    prediction = np.concatenate([[0.0, 0, 0], [1.0, 0, 0, 0], [1.0, 0, 0, 0]])

    def pose(rotation_loss):
        trainer = Trainer(constant_network(prediction, dim=spec.dim), spec=spec, rotation_loss=rotation_loss)
        return gradient_of(trainer, (x, target, [0.0]))[0][0] * spec.dim

    rest = ((1 - math.cos(0.3)) ** 2 + math.sin(0.3) ** 2) / 2
    assert pose("component") == pytest.approx(4 * 0.375 + rest)
    assert pose("sign") == pytest.approx(rest)
    assert pose("geodesic") == pytest.approx(4 * 0.18)
    with pytest.raises(ValueError, match="rotation_loss='sign' needs spec="):
        Trainer(network(), rotation_loss="sign").fit(windows(), epochs=1)


@pytest.mark.parametrize(
    ("representation", "frame", "options"),
    [
        ("quat", "world", {}),
        ("exp_map", "world", {"predict": "delta"}),
        ("6d", "heading", {"predict": "delta", "height": True}),
        ("quat", "heading", {"points": NAMES[1:3]}),
    ],
)
def test_gradient_through_a_rollout_by_differences(representation, frame, options):
    """Through normalisation, valid rotations, the window's shift, the phase's advance and the feet."""
    spec = FeatureSpec(NAMES, representation, frame, contacts=True, **options)
    model = network(2, spec.dim, hidden=7, dtype=np.float64, activation="elu", kernel="catmull_rom", init="he")
    trainer = Trainer(
        model,
        rollout=4,
        noise=0.1,
        window_noise=0.1,
        dropout=0.1,
        contact_weight=1.0,
        skeleton=skeleton(),
        feet=("LeftFoot", "RightFoot"),
        spec=spec,
        normalizer=scaled(spec),
        avg_stride=0.2,
    )
    check_by_differences(trainer, clip_like(spec, out=5), ["pose", "velocity", "contact"])


# ---- dropout -----------------------------------------------------------------------------------------------------


def random_bits(stream, n):
    """SplitMix64 as a hash, in Python's integers."""
    mask = 2**64 - 1
    z = (stream + (n + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def dropout_masks(sizes, indices, rate, seed, epoch, step=0):
    """The factors of the inputs of each layer: 0 or 1 / (1 - rate), by lots that hang on window, layer and step."""
    of_epoch = random_bits(random_bits(seed, 1), epoch)
    streams = [random_bits(of_epoch, int(i)) ^ (2**64 - 1) for i in indices]
    masks = []
    for layer, size in enumerate(sizes):
        lots = [[random_bits(random_bits(s, 3 * step + layer), i) >> 32 for i in range(size)] for s in streams]
        masks.append(np.where(np.array(lots) < rate * 2**32, 0, 1 / (1 - rate)))
    return masks


@pytest.mark.parametrize("activation", ["relu", "elu"])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-5), (np.float64, 1e-12)])
def test_dropout_is_pytorchs_with_the_same_masks(activation, dtype, tolerance):
    model, data = network(activation=activation, dtype=dtype), windows()
    indices = np.random.default_rng(2).permutation(96)[:50]
    masks = dropout_masks(model._sizes[:3], indices, 0.3, seed=5, epoch=2)
    assert all(abs((m == 0).mean() - 0.3) < 0.05 for m in masks)
    wanted_loss, _, wanted = torch_run(model, data, 1, lambda step: indices, masks=lambda step: masks)
    losses, flat = gradient_of(Trainer(model, dropout=0.3, seed=5), data, epoch=2, indices=indices)
    assert losses.sum() == pytest.approx(wanted_loss[0], rel=tolerance)
    assert close(flat, np.concatenate([wanted[name].ravel() for name in model._named()]), tolerance)


def test_thirty_steps_with_dropout_are_pytorchs():
    model, data = network(), windows()
    masks = [dropout_masks(model._sizes[:3], np.arange(96), 0.2, seed=0, epoch=epoch) for epoch in range(30)]
    losses, wanted, _ = torch_run(model, data, 30, lambda step: np.arange(96), masks=lambda step: masks[step])
    trainer = Trainer(model, batch_size=None, shuffle=False, dropout=0.2).fit(data, epochs=30)
    assert [r.loss for r in trainer.history] == pytest.approx(losses, rel=1e-4)
    for name, value in model.state_dict().items():
        assert close(value, wanted[name], 1e-4), name


def test_validation_has_no_dropout():
    reports = [Trainer(network(), lr=0, eta_min=0, dropout=p).fit(windows(), windows(), epochs=1).history[0] for p in (0, 0.5)]
    assert reports[0].validation_loss == reports[1].validation_loss == pytest.approx(reports[0].loss)
    assert reports[1].loss != reports[0].loss


def test_dropout_is_drawn_anew_in_each_roll_out_step():
    """A network of zeros but for one path, on which the hidden unit survives in 0.64 of all rows, step by step."""
    model = constant_network([0.0, 0, 0])
    trainer = Trainer(model, dropout=0.36, rollout=2, spec=None, avg_stride=1.0, velocity_weight=0)
    model.fc1.bias[:, 0] = model.fc2.weights[:, 0, 0] = model.fc3.weights[:, 0, 0] = 1
    data = np.zeros((4000, 1, 3)), np.zeros((4000, 2, 3)), np.zeros(4000)
    each = [
        gradient_of(trainer, data, steps, indices=np.array([i]))[0].sum() * 3 * steps for steps in (1, 2) for i in range(300)
    ]
    first, both = np.array(each).reshape(2, -1)
    gone = first == 0
    assert abs(gone.mean() - (1 - 0.64**2)) < 0.1
    second = (both - first) > 1e-9  # the second step's own loss, where its own lots let the unit live
    assert 0.2 < second[gone].mean() < 0.6 and 0.2 < second[~gone].mean() < 0.6


def wandering_clips(count=2, frames=40, seed=3):
    """Clips of the small skeleton that turn as they go, with a phase."""
    rng, clips, phases = np.random.default_rng(seed), [], []
    for _ in range(count):
        yaw = np.cumsum(rng.normal(size=frames) * 0.1)
        turns = np.stack([np.cos(yaw / 2), 0 * yaw, np.sin(yaw / 2), 0 * yaw], -1)
        joints = np.concatenate([turns[:, None], rotations(4, rng, (frames, len(NAMES) - 1))], 1)
        path = np.cumsum(np.stack([np.sin(yaw), 0 * yaw, np.cos(yaw)], -1) * 0.05, 0) + [0, 0.9, 0]
        clips.append(Clip(skeleton(), path, joints, 30.0))
        phases.append((np.arange(frames) * 0.04 + rng.random()) % 1.0)
    return clips, phases


@pytest.mark.parametrize(
    ("representation", "frame", "options", "trainer_options"),
    [
        ("6d", "heading", {}, {}),
        ("quat", "heading", {"predict": "delta"}, {"rollout_phase": "label"}),
        ("exp_map", "heading", {"phase_step": True}, {"rollout_phase": "label"}),
        ("6d", "heading", {"phase_step": True}, {}),
    ],
)
def test_gradient_through_a_steered_rollout_by_differences(representation, frame, options, trainer_options):
    """Wanted trajectories seen from the character's own root, recorded and predicted phases, mirrored windows."""
    spec = FeatureSpec(NAMES, representation, frame, control=Trajectory((-0.1, 0.1, 0.3)), **options)
    clips, phases = wandering_clips()
    normalizer = Normalizer("all")
    data = WindowDataset(
        *(clips, spec, phases), input_len=2, output_len=4, normalizer=normalizer, dtype=np.float64, mirror=True
    )
    model = SimplifiedPFNN(spec.in_dim(2), spec.out_dim, 7, 4, seed=1, dtype=np.float64, activation="elu", init="he")
    trainer = Trainer(model, rollout=4, noise=0.1, **trainer_options)
    check_by_differences(trainer, data, ["pose", "trajectory", *(["phase"] if spec.phase_step else [])])
    check_by_differences(Trainer(model), data, ["trajectory"])


def test_first_step_of_a_dataset_is_what_the_dataset_says():
    """Inputs, targets, control blocks and phase rates put together here give the same loss."""
    spec = FeatureSpec(NAMES, "6d", "heading", control=Trajectory((-0.2, 0.1, 0.5)), phase_step=True)
    clips, phases = wandering_clips()
    data = WindowDataset(*(clips, spec, phases), input_len=2, output_len=3, normalizer=Normalizer("all"), mirror=True)
    model = SimplifiedPFNN(spec.in_dim(2), spec.out_dim, 9, 4, seed=1, init="he")
    losses, _ = gradient_of(Trainer(model, velocity_weight=0.1, phase_weight=0.3, trajectory_weight=0.2), data)
    indices = np.arange(len(data))
    x, y, p = data.batch(indices)
    prediction = model(np.concatenate([x.reshape(len(x), -1), data.control(indices)], 1), p)

    def smooth_l1(a, b):
        error = np.abs(a - b)
        return np.where(error < 1, error**2 / 2, error - 0.5).mean()

    wanted = {
        "pose": smooth_l1(prediction[:, : spec.dim], y[:, 0]),
        "velocity": 0.1 * smooth_l1(prediction[:, :3], y[:, 0, :3]),
        "phase": 0.3 * smooth_l1(prediction[:, spec.dim], data.phase_step(indices)),
        "trajectory": 0.2 * smooth_l1(prediction[:, spec.dim + 1 :], data.control(indices, 1, future=True)),
    }
    for name, value in zip(TERMS, losses, strict=True):
        if name == "trajectory":  # seen from the predicted root, which differs a little from the recorded one
            assert value == pytest.approx(wanted[name], rel=0.1)
        else:
            assert value == pytest.approx(wanted.get(name, 0), rel=1e-5), name


def scaled(spec):
    """A normaliser with a mean and a scale of its own for each column."""
    rng = np.random.default_rng(7)
    return Normalizer("all").fit(rng.normal(size=(200, spec.dim)) * rng.uniform(0.5, 2, spec.dim) + 0.1)


# ---- what a run promises -----------------------------------------------------------------------------------------


def test_terms_and_shares_sum_up():
    spec = FeatureSpec(NAMES, contacts=True)
    data = clip_like(spec, count=30)
    trainer = Trainer(network(2, spec.dim), contact_weight=5.0, skeleton=skeleton(), feet=(2, 4), batch_size=8)
    for number, report in enumerate(trainer.fit(data, data, epochs=3).history, 1):
        assert report.epoch == number and list(report.terms) == ["pose", "velocity", "contact"]
        assert sum(report.terms.values()) == pytest.approx(report.loss, rel=1e-12)
        assert sum(report.shares.values()) == pytest.approx(1, rel=1e-12)
        assert report.terms["contact"] > 0 and report.validation_loss > 0
    assert list(Trainer(network()).fit(windows(), epochs=1).history[0].terms) == ["pose", "velocity"]


def test_loss_of_an_epoch_is_its_mean_over_windows():
    data, model = windows(10), network(dtype=np.float64)
    whole = gradient_of(Trainer(model), data)[0].sum()
    report = Trainer(model, lr=0.0, batch_size=4, weight_decay=0.0).fit(data, epochs=1).history[0]
    assert report.loss == pytest.approx(whole, rel=1e-12) and report.validation_loss is None
    report = Trainer(model, lr=0.0, batch_size=4).fit(data, data, epochs=1).history[0]
    assert report.validation_loss == pytest.approx(report.loss, rel=1e-12)


def test_auto_aims_the_velocity_term_at_a_quarter():
    data = windows(200)
    trainer = Trainer(network(), velocity_weight="auto", lr=1e-4).fit(data, epochs=6)
    first, *rest = trainer.history
    assert first.shares["velocity"] < 0.15
    for before, after in zip(trainer.history, rest, strict=False):
        assert after.shares["velocity"] == pytest.approx(0.25, abs=0.02)
        assert before.epoch + 1 == after.epoch
    # exactly so: with a rate of 0 nothing but the weight changes
    model = network()
    trainer = Trainer(model, velocity_weight="auto", lr=0.0, eta_min=0.0, weight_decay=0.0, batch_size=None)
    assert trainer.fit(data, epochs=2).history[1].shares["velocity"] == pytest.approx(0.25, rel=1e-6)


def test_order_is_a_function_of_seed_and_epoch():
    order = pfnnc._core.shuffled(1000, 3, 5)
    assert sorted(order) == list(range(1000))
    assert np.array_equal(order, pfnnc._core.shuffled(1000, 3, 5))
    assert not np.array_equal(order, pfnnc._core.shuffled(1000, 3, 6))
    assert not np.array_equal(order, pfnnc._core.shuffled(1000, 4, 5))
    firsts = [pfnnc._core.shuffled(10, 0, epoch)[0] for epoch in range(5000)]
    assert np.bincount(firsts, minlength=10).min() > 420


def run(data=None, *, epochs=3, seed=0, **options):
    options = {"batch_size": 20, "noise": 0.05} | options
    return Trainer(network(), seed=seed, **options).fit(data or windows(), epochs=epochs)


def test_same_seed_same_bits():
    assert np.array_equal(run().model._parameters, run().model._parameters)
    assert run().history == run().history
    assert not np.array_equal(run().model._parameters, run(seed=1).model._parameters)
    assert not np.array_equal(run(shuffle=False).model._parameters, run().model._parameters)


@pytest.mark.parametrize(
    "options", [{}, {"rollout": 2}, {"clip_norm": 0.5}, {"batch_size": None}, {"dropout": 0.4, "rollout": 2}]
)
def test_bits_do_not_depend_on_threads(options):
    results, before = [], pfnnc.get_num_threads()
    try:
        for threads in (1, 2, 5):
            pfnnc.set_num_threads(threads)
            results.append(run(**options))
    finally:
        pfnnc.set_num_threads(before)
    for other in results[1:]:
        assert np.array_equal(results[0].model._parameters, other.model._parameters)
        assert results[0].history == other.history


def test_validation_callback_and_checkpoint_do_not_change_the_run(tmp_path):
    plain, seen = run(), []
    model = network()
    trainer = Trainer(model, batch_size=20, noise=0.05)
    trainer.fit(windows(), windows(seed=3), epochs=3, checkpoint=tmp_path / "run", callback=seen.append)
    assert np.array_equal(model._parameters, plain.model._parameters)
    assert seen == trainer.history and [r.loss for r in seen] == [r.loss for r in plain.history]


def test_epochs_is_the_total():
    whole, parts = run(epochs=5), run(epochs=2)
    assert parts.epoch == 2 and parts.fit(windows(), epochs=2).epoch == 2
    parts.fit(windows(), epochs=5)
    assert np.array_equal(whole.model._parameters, parts.model._parameters) and whole.history == parts.history


def test_max_seconds_stops_and_the_same_call_goes_on():
    whole, parts = run(epochs=4), Trainer(network(), batch_size=20, noise=0.05)
    calls = 0
    while parts.epoch < 4:
        parts.fit(windows(), epochs=4, max_seconds=0)
        calls += 1
    assert calls == 4 * 5  # a step a call
    assert np.array_equal(whole.model._parameters, parts.model._parameters) and whole.history == parts.history


def test_last_smaller_batch_counts():
    model = network(dtype=np.float64)
    before = model._parameters.copy()
    Trainer(model, batch_size=95).fit(windows(96), epochs=1)
    other = network(dtype=np.float64)
    Trainer(other, batch_size=96).fit(windows(96), epochs=1)
    assert not np.array_equal(model._parameters, other._parameters) and not np.array_equal(before, model._parameters)


def test_inputs_are_taken_as_they_come_and_not_changed():
    x, y, p = windows()
    wanted = run((x, y, p)).model._parameters
    kept = x.copy()
    wide = np.zeros((96, 3, 20))
    wide[:, :, ::2] = x
    backwards = y[::-1].copy()[::-1]
    for data in (
        [x.tolist(), y.tolist(), p.tolist()],
        (wide[:, :, ::2], backwards, p),
        (x.astype(">f8"), np.asfortranarray(y), p.astype(np.float64)),
    ):
        assert np.array_equal(run(data).model._parameters, wanted)
    x.flags.writeable = False
    run((x, y, p))
    assert np.array_equal(x, kept)


def test_non_finite_loss_stops_and_keeps_the_last_checkpoint(tmp_path):
    path = tmp_path / "run"
    trainer = Trainer(network(), batch_size=20, lr=1e-3)
    trainer.fit(windows(), epochs=2, checkpoint=path)
    kept = path.read_bytes()
    trainer.model.fc3.bias[...] = 3.4e38
    with pytest.raises(FloatingPointError, match="loss"):
        trainer.fit(windows(), epochs=5, checkpoint=path)
    assert path.read_bytes() == kept and Trainer.load(path).epoch == 2
    assert trainer.epoch == 2


def test_weights_that_are_not_finite_are_not_saved(tmp_path):
    trainer = Trainer(network()).fit(windows(), epochs=1, checkpoint=tmp_path / "run")
    trainer.model.fc2.weights[1, 2, 3] = np.nan
    kept = (tmp_path / "run").read_bytes()
    with pytest.raises(FloatingPointError, match="nothing is saved"):
        trainer.save(tmp_path / "run")
    assert (tmp_path / "run").read_bytes() == kept


def test_one_fit_at_a_time():
    trainer = Trainer(network())

    def again(report):
        with pytest.raises(RuntimeError, match="training already"):
            trainer.fit(windows(), epochs=9)
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        trainer.fit(windows(), epochs=3, callback=again)
    assert trainer.epoch == 1 and trainer.fit(windows(), epochs=2).epoch == 2


def test_huge_rate_ends_in_floating_point_error(tmp_path):
    with pytest.raises(FloatingPointError):
        Trainer(network(), lr=1e30).fit(windows(), epochs=50, checkpoint=tmp_path / "run")


def test_float64_models_train_in_float64():
    model = network(dtype=np.float64)
    Trainer(model).fit(windows(), epochs=2)
    single = network(dtype=np.float32)
    Trainer(single).fit(windows(), epochs=2)
    assert model._parameters.dtype == np.float64
    assert close(single._parameters, model._parameters, 1e-4) and not np.array_equal(model._parameters, single._parameters)


def test_training_learns():
    rng = np.random.default_rng(0)
    x, p = rng.normal(size=(512, 2, 6)), rng.random(512)
    y = (x[:, :1] * np.cos(2 * np.pi * p)[:, None, None]).astype(np.float32)
    model = SimplifiedPFNN(12, 6, 32, 4, kernel="cyclic", beta=32, init="he", seed=0)
    history = Trainer(model, lr=3e-3, t_max=60, batch_size=64).fit((x, y, p), epochs=60).history
    assert history[-1].loss < 0.1 * history[0].loss


# ---- more options ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"hidden": 350, "n_kernels": 9}])  # whose gradient is stored, or made twice
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gradient_clipping(options, dtype):
    data, options = windows(), {"dtype": dtype} | options
    model = network(**options)
    assert (model._parameters.size > 1 << 20) == ("hidden" in options)
    _, flat = gradient_of(Trainer(model), data)
    norm = float(np.linalg.norm(flat))
    for clip, shrink in ((norm / 3, 1 / 3), (norm * 2, 1.0)):
        other = network(**options)
        # with betas of 0 and a huge eps the step is lr * gradient / eps
        trainer = Trainer(other, clip_norm=clip, betas=(0, 0), eps=1e6, lr=1e8, weight_decay=0, batch_size=None)
        before = other._parameters.copy()
        trainer.fit(data, epochs=1)
        assert close(before - other._parameters, 100 * shrink * flat, 1e-4)


def test_warmup_and_running_mean():
    data = windows()
    model, start = network(), network()._parameters.copy()
    trainer = Trainer(model, warmup=4, average=0.5, batch_size=48).fit(data, epochs=1)
    averaged = trainer.averaged()._parameters
    moved, lag = np.abs(model._parameters - start).max(), np.abs(averaged - start).max()
    assert 0 < lag < moved < 0.9e-3  # two of four steps: 0.25 and 0.5 of the rate
    with pytest.raises(ValueError, match="average"):
        Trainer(network()).averaged()


def test_schedule_by_step_moves_within_the_epoch():
    data = windows()
    by_epoch, by_step = run(data, t_max=3), run(data, t_max=3, schedule="step")
    assert [r.lr for r in by_epoch.history] == [r.lr for r in by_step.history]
    assert not np.array_equal(by_epoch.model._parameters, by_step.model._parameters)


def test_early_stopping_and_best_checkpoint(tmp_path):
    data, other = windows(), windows(seed=9)
    trainer = Trainer(network(), batch_size=20, lr=0.02)
    trainer.fit(data, other, epochs=200, patience=3, best=tmp_path / "best")
    losses = [r.validation_loss for r in trainer.history]
    least = losses.index(min(losses))
    assert 4 <= len(losses) < 200 and len(losses) - 1 - least == 3
    kept = Trainer.load(tmp_path / "best")
    assert kept.epoch == least + 1 and kept.history[-1].validation_loss == min(losses)
    with pytest.raises(ValueError, match="need validation"):
        Trainer(network()).fit(data, patience=3)


@pytest.mark.parametrize("with_tqdm", [True, False])
def test_progress_shows_loss_and_shares(capfd, monkeypatch, with_tqdm):
    if with_tqdm:
        tqdm = pytest.importorskip("tqdm", reason="needs tqdm")
        monkeypatch.setattr("tqdm.tqdm", partial(tqdm.tqdm, disable=False))  # whatever TQDM_DISABLE says
    else:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    Trainer(network(), batch_size=20).fit(windows(), epochs=2, progress=True)
    shown = capfd.readouterr().err
    assert "training" in shown and "10/10" in shown and "loss 0." in shown and "velocity" in shown
    Trainer(network()).fit(windows(), epochs=2, progress=False)
    Trainer(network()).fit(windows(), epochs=2)  # no terminal
    assert capfd.readouterr().err == ""


def test_history_as_a_table_and_a_plot(tmp_path):
    trainer = Trainer(network(), batch_size=20).fit(windows(), windows(seed=9), epochs=3)
    pfnnc.save_history(trainer.history, tmp_path / "history.csv")
    with open(tmp_path / "history.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["loss"]) for row in rows] == [r.loss for r in trainer.history]
    assert float(rows[2]["velocity_share"]) == trainer.history[2].shares["velocity"]
    plt = pytest.importorskip("matplotlib.pyplot", reason="needs Matplotlib")
    ax = pfnnc.plot_history(trainer.history)
    assert [line.get_label() for line in ax.lines] == ["loss", "pose", "velocity", "validation"]
    pfnnc.plot_history([], ax=ax)
    plt.close("all")
    with pytest.raises(TypeError, match="history"):
        pfnnc.save_history([3], tmp_path / "other.csv")
    assert not (tmp_path / "other.csv").exists()


# ---- wrong input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"lr": -1}, ValueError, "lr must be at least 0, got -1"),
        ({"lr": "1"}, TypeError, "lr"),
        ({"lr": math.nan}, ValueError, "lr"),
        ({"lr": None}, TypeError, "lr"),
        ({"lr": True}, TypeError, "lr"),
        ({"weight_decay": -0.1}, ValueError, "weight_decay"),
        ({"betas": (0.9,)}, ValueError, "betas"),
        ({"betas": 0.9}, TypeError, "betas"),
        ({"betas": (0.9, 1.0)}, ValueError, r"betas\[1\] must be less than 1"),
        ({"eps": -1e-8}, ValueError, "eps"),
        ({"t_max": 0}, ValueError, "t_max must be at least 1, got 0"),
        ({"t_max": 1.5}, TypeError, "t_max"),
        ({"t_max": 10**400}, ValueError, "t_max"),
        ({"warmup": 10**400}, ValueError, "warmup"),
        ({"eta_min": -1}, ValueError, "eta_min"),
        ({"velocity_weight": "otto"}, ValueError, "velocity_weight"),
        ({"velocity_weight": -1}, ValueError, "velocity_weight"),
        ({"velocity_weight": None}, TypeError, "velocity_weight"),
        ({"contact_weight": -1}, ValueError, "contact_weight"),
        ({"feet": "LeftFoot"}, TypeError, "feet"),
        ({"feet": [1.5]}, TypeError, r"feet\[0\] must be an integer"),
        ({"rollout": 0}, ValueError, "rollout"),
        ({"rollout": 2.0}, TypeError, "rollout"),
        ({"rollout": ()}, ValueError, "rollout"),
        ({"rollout": 10**9}, ValueError, "rollout"),
        ({"noise": -0.1}, ValueError, "noise"),
        ({"noise": math.inf}, ValueError, "noise"),
        ({"batch_size": 0}, ValueError, "batch_size"),
        ({"batch_size": 1.5}, TypeError, "batch_size"),
        ({"shuffle": 1}, TypeError, "shuffle"),
        ({"seed": -1}, ValueError, "seed"),
        ({"seed": None}, TypeError, "seed"),
        ({"seed": 2**64}, ValueError, "seed"),
        ({"fps": 0}, ValueError, "fps"),
        ({"average": 1}, ValueError, "average"),
        ({"dropout": 1}, ValueError, "dropout must be less than 1"),
        ({"dropout": -0.1}, ValueError, "dropout must be at least 0, got -0.1"),
        ({"dropout": None}, TypeError, "dropout"),
        ({"clip_norm": 0}, ValueError, "clip_norm"),
        ({"schedule": "year"}, ValueError, "schedule"),
        ({"rollout_phase": 3}, TypeError, "rollout_phase"),
        ({"rotation_loss": "mean"}, ValueError, "rotation_loss"),
        ({"skeleton": "legs"}, TypeError, "skeleton"),
        ({"spec": 103}, TypeError, "spec"),
        ({"normalizer": "z"}, TypeError, "normalizer"),
    ],
)
def test_wrong_options(options, error, match):
    with pytest.raises(error, match=match):
        Trainer(network(), **options)


def test_wrong_model():
    with pytest.raises(TypeError, match="model must be a SimplifiedPFNN, got dict"):
        Trainer({})


def broken(which, change):
    """Windows with one array replaced."""
    data = list(windows())
    data[which] = change(np.array(data[which]))
    return tuple(data)


def put(array, index, value):
    array[index] = value
    return array


@pytest.mark.parametrize(
    ("data", "error", "match"),
    [
        (None, TypeError, "train must be a WindowDataset or .*, got NoneType"),
        (windows()[:2], TypeError, "train must be .* got 2 items"),
        (np.zeros((3, 4)), TypeError, "train"),
        (broken(0, lambda x: put(x, (7, 2, 5), np.nan)), ValueError, r"X\[7, 2, 5\]=nan is not finite"),
        (broken(0, lambda x: put(x, (0, 0, 0), 1e39)), ValueError, r"X\[0, 0, 0\]=1e\+39 is not finite in float32"),
        (broken(1, lambda y: put(y, (3, 1, 0), np.inf)), ValueError, r"Y\[3, 1, 0\]=inf"),
        (broken(2, lambda p: put(p, 3, 1.2)), ValueError, r"P\[3\]=1.2 is not in \[0, 1\]"),
        (broken(2, lambda p: put(p, 4, np.nan)), ValueError, r"P\[4\]=nan"),
        (broken(0, lambda x: x[:0]), ValueError, "train must have at least one window"),
        (broken(0, lambda x: x[..., 0]), ValueError, "X must have shape"),
        (broken(0, lambda x: x.astype(complex)), TypeError, "X"),
        (broken(0, lambda x: x.astype(object)), TypeError, "X"),
        (broken(0, lambda x: x.astype(str)), TypeError, "X"),
        (broken(1, lambda y: y[:-1]), ValueError, "Y must have 96 windows as X has, got 95"),
        (broken(1, lambda y: y[:, :0]), ValueError, "Y must have at least one frame"),
        (broken(1, lambda y: y[..., :-1]), ValueError, "Y must have 10 columns"),
        (broken(2, lambda p: p[:-1]), ValueError, "P must have 96 windows"),
        (broken(2, lambda p: p[:, None]), ValueError, "P must have shape"),
        (broken(0, lambda x: x[:, :2]), ValueError, "model.in_dim is 30"),
    ],
)
def test_wrong_data(data, error, match):
    with pytest.raises(error, match=match):
        Trainer(network()).fit(data, epochs=1)
    if data is not None and isinstance(data, tuple):
        with pytest.raises(error, match=match.replace("train", "validation").replace("model.in_dim is 30", "validation must")):
            Trainer(network()).fit(windows(), data, epochs=1)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"epochs": -1}, ValueError, "epochs"),
        ({"epochs": 1.5}, TypeError, "epochs"),
        ({"epochs": None}, TypeError, "epochs"),
        ({"epochs": True}, TypeError, "epochs"),
        ({"max_seconds": -1}, ValueError, "max_seconds"),
        ({"max_seconds": "1"}, TypeError, "max_seconds"),
        ({"checkpoint": 7}, TypeError, "checkpoint"),
        ({"checkpoint": "/"}, OSError, "checkpoint"),
        ({"checkpoint": "/no/such/folder/x"}, FileNotFoundError, "checkpoint"),
        ({"callback": 7}, TypeError, "callback"),
        ({"progress": 1}, TypeError, "progress"),
        ({"patience": 0}, ValueError, "patience"),
        ({"best": 3}, TypeError, "best must be a path"),
    ],
)
def test_wrong_fit_options(options, error, match):
    model = network()
    before = model._parameters.copy()
    with pytest.raises(error, match=match):
        Trainer(model).fit(windows(), **options)
    assert np.array_equal(before, model._parameters)


def test_contact_term_asks_for_what_it_needs():
    spec = FeatureSpec(NAMES, contacts=True)
    data, model = clip_like(spec), network(2, spec.dim)
    with pytest.raises(ValueError, match="contact_weight=5 needs skeleton= and feet= for bare arrays"):
        Trainer(model, contact_weight=5.0).fit(data, epochs=1)
    with pytest.raises(ValueError, match="'Toe', which is no joint"):
        Trainer(model, contact_weight=5.0, skeleton=skeleton(), feet=("Toe", "LeftFoot")).fit(data, epochs=1)
    with pytest.raises(ValueError, match="feet must be joints of the skeleton, got 9 of 5"):
        Trainer(model, contact_weight=5.0, skeleton=skeleton(), feet=(9, 1)).fit(data, epochs=1)
    with pytest.raises(ValueError, match="columns, got 29"):
        Trainer(model, contact_weight=5.0, skeleton=skeleton(), feet=("LeftFoot",)).fit(data, epochs=1)
    bare = tuple(a[..., :-2] if a.ndim == 3 else a for a in data)
    with pytest.raises(ValueError, match="contact columns"):
        plain = FeatureSpec(NAMES)
        trainer = Trainer(
            network(2, plain.dim), contact_weight=5.0, skeleton=skeleton(), feet=("LeftFoot", "RightFoot"), spec=plain
        )
        trainer.fit(bare, epochs=1)


def test_a_dataset_of_clips_knows_skeleton_and_feet():
    made = pfnnc.make_gait_clip("walk", seconds=3)
    spec = FeatureSpec(len(made.clip.skeleton), contacts=True)
    data = WindowDataset([made.clip], spec, [made.phase], input_len=2, output_len=2, normalizer=Normalizer())
    model = SimplifiedPFNN(spec.in_dim(2), spec.out_dim, 8, seed=0)
    told, asked = (
        Trainer(copy.deepcopy(model), contact_weight=5.0, **options).fit(data, epochs=1).history
        for options in ({}, {"skeleton": made.clip.skeleton, "feet": made.feet})
    )
    assert told == asked and told[0].terms["contact"] > 0
    with pytest.raises(ValueError, match="needs skeleton= and feet= for this WindowDataset"):
        bare = WindowDataset([spec.encode(made.clip, contacts=made.contacts)], spec, [made.phase], input_len=2, output_len=2)
        Trainer(model, contact_weight=5.0).fit(bare, epochs=1)


def test_rollout_asks_for_frames():
    with pytest.raises(ValueError, match="train must have at least rollout=3 frames of output, got 2"):
        Trainer(network(), rollout=3).fit(windows(), epochs=1)
    with pytest.raises(ValueError, match="WindowDataset"):
        Trainer(network(), rollout=2, rollout_phase="label").fit(windows(), epochs=1)
    with pytest.raises(ValueError, match="control"):
        spec = FeatureSpec(NAMES, control=Trajectory((0.5,)))
        Trainer(SimplifiedPFNN(spec.in_dim(2), spec.out_dim, 8), spec=spec).fit(clip_like(spec), epochs=1)
