"""Roll-outs against a NumPy twin, the rules of the contract one by one, and wrong input."""

import numpy as np
import pytest
from reference_synthesis import rollout, to_scipy, yaw_of
from scipy.spatial.transform import Rotation

import pfnnc
from pfnnc import Character, Clip, Drift, FeatureSpec, SimplifiedPFNN, Skeleton, synthesize

ORIGIN = (1.0, 0.9, -2.0)


class Scaling:
    """A normaliser by its fitted attributes."""

    def __init__(self, mean, scale):
        self.mean_, self.scale_ = mean, scale


def spec_of(**options):
    return FeatureSpec(**{"joints": 3, **options})


def a_window(spec, length=4, seed=0, batch=None):
    """Frames with valid rotations and some ground speed."""
    rng = np.random.default_rng(seed)
    shape = (length,) if batch is None else (batch, length)
    window = rng.normal(0, 0.3, (*shape, spec.dim))
    window[..., 2] += 1.0
    if not window.size:
        return window
    rotations = window[..., 3 : spec.slices["joints"].stop].reshape(-1, spec.width)
    if spec.representation == "quat":
        rotations += [2, 0, 0, 0]
        rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    elif spec.representation == "6d":
        rotations[:] = np.concatenate(Rotation.random(len(rotations), rng=1).as_matrix()[:, :, :2].transpose(2, 0, 1), 1)
    window[..., 3 : spec.slices["joints"].stop] = rotations.reshape(*shape, -1)
    return window


def a_model(spec, length=4, seed=1, dtype=np.float64, **options):
    """A small network whose answers are about as large as frames are."""
    model = SimplifiedPFNN(spec.in_dim(length), spec.out_dim, 16, 4, seed=seed, dtype=dtype, **options)
    for layer in (model.fc1, model.fc2, model.fc3):
        layer.bias[...] = np.random.default_rng(seed).normal(0, 0.2, layer.bias.shape)
    return model


class Says:
    """A model that gives the same answer whatever it is asked."""

    dtype = np.float64

    def __init__(self, *answers):
        self.answers, self.asked = [np.asarray(a, float) for a in answers], []

    def __call__(self, x, phase):
        self.asked.append((x.copy(), phase.copy()))
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        return np.tile(answer, (len(x), 1))


def walking(spec, velocity=(0.0, 0.0, 1.2), rate=0.0):
    """A frame that walks with all rotations at identity."""
    frame = np.zeros(spec.dim)
    frame[:3] = velocity
    one = {"quat": [1, 0, 0, 0], "exp_map": [0, 0, 0], "6d": [1, 0, 0, 0, 1, 0]}[spec.representation]
    stop = spec.slices["joints"].stop
    frame[3:stop] = np.tile(one, (stop - 3) // spec.width)
    if "yaw_rate" in spec.slices:
        frame[spec.slices["yaw_rate"]] = rate
    return frame


# ---- against the twin


@pytest.mark.parametrize("representation", ["quat", "exp_map", "6d"])
@pytest.mark.parametrize("frame", ["world", "heading"])
@pytest.mark.parametrize("predict", ["frame", "delta"])
@pytest.mark.parametrize("drift", [None, "constant", "frames", "phase"])
def test_equals_the_twin(representation, frame, predict, drift):
    spec = spec_of(representation=representation, frame=frame, predict=predict, height=True)
    model, window = a_model(spec), a_window(spec)
    if predict == "delta":
        model.fc3.weights[...] *= 0.05
        model.fc3.bias[...] *= 0.05
    rng = np.random.default_rng(5)
    mean, scale = rng.normal(0, 0.1, spec.dim), rng.uniform(0.5, 1.5, spec.dim)
    n, dts = 40, rng.uniform(0.02, 0.05, 40)
    arguments = {
        None: None,
        "constant": {"expected": (0.1, 0.0, 1.0), "window": 7, "yaw_rate": 0.3},
        "frames": {"expected": rng.normal(0, 1, (n, 3)), "window": 10, "yaw_rate": rng.normal(0, 1, n)},
        "phase": {"expected": rng.normal(0, 1, (5, 3)), "window": 100, "by_phase": True},
    }[drift]
    result = synthesize(
        model, spec, Scaling(mean, scale), window, 0.3, n, dts, 1.3,
        drift=arguments and Drift(**arguments), origin=ORIGIN, yaw=0.4,
    )  # fmt: skip
    twin = rollout(
        lambda x, p: model(x[None], np.array([p]))[0], spec, mean, scale, window, 0.3, dts, 1.3,
        drift=arguments, origin=ORIGIN, yaw=0.4,
    )  # fmt: skip
    features, roots, velocities, phases, yaws = twin
    np.testing.assert_allclose(result.root_positions, roots, atol=1e-9)
    np.testing.assert_allclose(result.root_velocity, velocities, atol=1e-9)
    np.testing.assert_allclose(result.phase, phases, atol=1e-9)
    end = spec.slices["joints"].stop
    for i in range(n):  # rotations, whatever the sign
        for at in range(3, end, spec.width):
            a, b = (to_scipy(f[i, at : at + spec.width], representation) for f in (result.features, features))
            assert (a.inv() * b).magnitude() < 1e-7
    np.testing.assert_allclose(result.features[:, :3], features[:, :3], atol=1e-9)
    np.testing.assert_allclose(result.features[:, end:], features[:, end:], atol=1e-9)
    if frame == "heading":
        np.testing.assert_allclose(result.yaw, yaws, atol=1e-9)


def test_phase_step_is_a_rate():
    spec = spec_of(frame="heading", phase_step=True)
    says = Says([*walking(spec), 1.5])
    result = synthesize(says, spec, None, a_window(spec), 0.0, 5, 0.1, 1.0)
    np.testing.assert_allclose(result.phase, [0.15, 0.3, 0.45, 0.6, 0.75])


def test_float32_model_gives_float32_features_and_float64_paths():
    spec = spec_of()
    model = a_model(spec, dtype=np.float32)
    result = synthesize(model, spec, None, a_window(spec), 0.1, 10, 1 / 30, 1.3)
    assert result.features.dtype == np.float32
    assert {a.dtype for a in (result.root_positions, result.root_velocity, result.phase)} == {np.dtype(np.float64)}
    double = SimplifiedPFNN(spec.in_dim(4), spec.out_dim, 16, 4, dtype=np.float64)
    double.load_state_dict({k: v.astype(np.float64) for k, v in model.state_dict().items()})
    exact = synthesize(double, spec, None, a_window(spec), 0.1, 10, 1 / 30, 1.3)
    np.testing.assert_allclose(result.features, exact.features, atol=2e-4)


# ---- the rules


def test_order_of_a_frame():
    """The window takes the prediction, the root the shown velocity, the phase the shown ground speed."""
    spec = spec_of()
    frame = walking(spec, (0.3, 0.5, 1.6))
    says, window = Says(frame), a_window(spec)
    result = synthesize(says, spec, None, window, 0.2, 3, 0.5, 2.0, drift=Drift((0, 0, 1.0)), origin=ORIGIN)
    np.testing.assert_allclose(result.root_velocity, np.tile([0, 0, 1.0], (3, 1)), atol=1e-15)
    np.testing.assert_allclose(result.features[:, :3], np.tile([0, 0, 1.0], (3, 1)), atol=1e-15)
    np.testing.assert_allclose(result.root_positions, np.array(ORIGIN) + np.outer([0.5, 1, 1.5], [0, 0, 1]), atol=1e-15)
    np.testing.assert_allclose(result.phase, (0.2 + 0.25 * np.arange(1, 4)) % 1)
    x, asked = says.asked[2]
    np.testing.assert_array_equal(asked, [result.phase[1]])
    np.testing.assert_allclose(x.reshape(4, -1)[-2:], [frame, frame])
    np.testing.assert_array_equal(x.reshape(4, -1)[:2], window[2:])


def test_vertical_speed_does_not_move_the_phase():
    spec = spec_of()
    result = synthesize(Says(walking(spec, (0, 3.0, 0))), spec, None, a_window(spec), 0.2, 4, 0.1, 1.0)
    np.testing.assert_array_equal(result.phase, 0.2)
    np.testing.assert_allclose(result.root_positions[-1], [0, 1.2, 0])


def test_drift_of_zero_stops_the_walker():
    """The article's correction."""
    spec = spec_of()
    result = synthesize(Says(walking(spec)), spec, None, a_window(spec), 0.2, 4, 0.1, 1.0, drift=Drift((0, 0, 0)))
    np.testing.assert_allclose(result.root_positions, 0, atol=1e-15)


def test_drift_mean_is_over_as_many_frames_as_there_are():
    spec = spec_of()
    speeds = [1.0, 2.0, 4.0, 8.0, 16.0]
    says = Says(*(walking(spec, (0, 0, v)) for v in speeds))
    result = synthesize(says, spec, None, a_window(spec), 0.2, 5, 0.1, 1.0, drift=Drift((0, 0, 0), window=3))
    means = [1, 1.5, 7 / 3, 14 / 3, 28 / 3]
    np.testing.assert_allclose(result.root_velocity[:, 2], np.array(speeds) - means)


def test_long_drift_means_do_not_lose_digits():
    spec = spec_of()
    rng = np.random.default_rng(0)
    speeds = np.concatenate([np.full(50, 1e9), rng.normal(0, 1, 400)])
    says = Says(*(walking(spec, (0, 0, v)) for v in speeds))
    shown = synthesize(says, spec, None, a_window(spec), 0.2, 450, 0.01, 1e9, drift=Drift((0, 0, 0), window=30))
    exact = np.array([speeds[i] - speeds[i - 29 : i + 1].mean() for i in range(120, 450)])
    np.testing.assert_allclose(shown.root_velocity[120:, 2], exact, atol=1e-12)


def test_frame_rate_and_window_of_a_drift():
    """A mean over frames: at twice the rate the same behaviour needs twice the window (U62)."""
    spec = spec_of()
    speeds = np.repeat([2.0, 1.0, 3.0, 0.5], 5)

    def shown(times, window):
        says = Says(*(walking(spec, (0, 0, v)) for v in np.repeat(speeds, times)))
        n = 20 * times
        drift = Drift((0, 0, 1.0), window=window)
        result = synthesize(says, spec, None, a_window(spec), 0.2, n, 1 / (30 * times), 1.0, drift=drift)
        return result.root_positions[times - 1 :: times, 2]

    assert abs(shown(2, 20) - shown(1, 10)).max() < 0.02
    assert abs(shown(2, 10) - shown(1, 10)).max() > 0.04


def test_by_phase_takes_the_row_of_the_phase_that_was_asked():
    spec = spec_of()
    table = np.array([[0, 0, 1.0], [0, 0, 2.0], [0, 0, 3.0], [0, 0, 4.0]])
    says = Says(walking(spec))
    drift = Drift(table, window=1, by_phase=True)
    result = synthesize(says, spec, None, a_window(spec), 0.1, 6, 0.1, 1.0, drift=drift)
    asked = np.concatenate([[0.1], result.phase[:-1]])
    np.testing.assert_allclose(result.root_velocity[:, 2], np.floor(asked * 4) + 1)
    first = synthesize(says, spec, None, a_window(spec), 1.0, 1, 0.1, 1.0, drift=drift)  # phase 1 is phase 0
    np.testing.assert_allclose(first.root_velocity[0, 2], 1.0)


def test_world_drift_turns_the_shown_orientation_only():
    spec = spec_of(joints=2)
    rate, dt = 0.6, 0.1
    frames = []
    for i in range(1, 6):
        frame = walking(spec)
        frame[3:7] = [np.cos(0.5 * rate * dt * i), 0, np.sin(0.5 * rate * dt * i), 0]
        frames.append(frame)
    window = np.tile(walking(spec), (4, 1))
    result = synthesize(Says(*frames), spec, None, window, 0.0, 5, dt, 1.0, drift=Drift((0, 0, 1.2), yaw_rate=0.1))
    yaws = [yaw_of(f[3:7], "quat") for f in result.features]
    np.testing.assert_allclose(yaws, 0.1 * dt * np.arange(1, 6), atol=1e-12)
    np.testing.assert_allclose(result.yaw, yaws, atol=1e-12)
    np.testing.assert_array_equal(result.features[:, 7:], np.array(frames)[:, 7:])
    np.testing.assert_allclose(result.root_velocity, np.tile([0, 0, 1.2], (5, 1)), atol=1e-15)


def test_world_yaw_rate_across_the_half_turn():
    spec = spec_of(joints=1)
    yaw = 3.1 + 0.05 * np.arange(6)
    frames = [walking(spec) for _ in yaw]
    for frame, angle in zip(frames, yaw, strict=True):
        frame[3:7] = [np.cos(angle / 2), 0, np.sin(angle / 2), 0]
    window = np.tile(frames[0], (4, 1))
    result = synthesize(Says(*frames[1:]), spec, None, window, 0.0, 5, 0.1, 1.0, drift=Drift((0, 0, 1.2), yaw_rate=0.5))
    np.testing.assert_allclose(result.features[:, 3:7], np.array(frames)[1:, 3:7], atol=1e-12)


def test_heading_turns_before_it_moves():
    spec = spec_of(frame="heading")
    frame = walking(spec, (0.2, 0.1, 1.0), rate=0.9)
    window = np.tile(frame, (4, 1))
    result = synthesize(Says(frame), spec, None, window, 0.0, 4, 0.1, 1.0, origin=ORIGIN, yaw=0.5)
    yaw = 0.5 + 0.09 * np.arange(1, 5)
    np.testing.assert_allclose(result.yaw, yaw)
    steps = Rotation.from_rotvec(np.outer(yaw, [0, 1, 0])).apply([0.2, 0.1, 1.0])
    np.testing.assert_allclose(result.root_velocity, steps, atol=1e-14)
    np.testing.assert_allclose(result.root_positions, ORIGIN + np.cumsum(steps * 0.1, axis=0), atol=1e-14)
    np.testing.assert_allclose(result.features[:, :3], np.tile([0.2, 0.1, 1.0], (4, 1)))


def test_heading_drift_holds_rate_and_velocity_in_the_columns():
    spec = spec_of(frame="heading")
    frame = walking(spec, (0.2, 0.1, 1.0), rate=0.9)
    drift = Drift((0, 0, 1.5), yaw_rate=0.25)
    result = synthesize(Says(frame), spec, None, np.tile(frame, (4, 1)), 0.0, 4, 0.1, 1.0, drift=drift)
    np.testing.assert_allclose(result.features[:, spec.slices["yaw_rate"]], 0.25)
    np.testing.assert_allclose(result.features[:, :3], np.tile([0, 0, 1.5], (4, 1)), atol=1e-15)
    np.testing.assert_allclose(result.yaw, 0.025 * np.arange(1, 5))


@pytest.mark.parametrize("representation", ["quat", "exp_map", "6d"])
def test_rotations_are_valid(representation):
    spec = spec_of(representation=representation, joints=2)
    frame = walking(spec)
    joint = slice(3 + spec.width, 3 + 2 * spec.width)
    frame[joint] = {"quat": [0, -3, 0, 4], "exp_map": [0, 4.0, 0], "6d": [0, 2, 0, 1, 1, 0]}[representation]
    wanted = {"quat": [0, -0.6, 0, 0.8], "exp_map": [0, 4 - 2 * np.pi, 0], "6d": [0, 1, 0, 1, 0, 0]}[representation]
    result = synthesize(Says(frame), spec, None, a_window(spec), 0.0, 2, 0.1, 1.0)
    np.testing.assert_allclose(result.features[:, joint], [wanted, wanted], atol=1e-14)


def test_a_zero_quaternion_keeps_the_frame_before():
    spec = spec_of(joints=2)
    first, zero = walking(spec), walking(spec)
    first[7:11] = [0.6, 0, 0.8, 0]
    zero[7:11] = 0
    window = a_window(spec)
    result = synthesize(Says(zero, first, zero), spec, None, window, 0.0, 3, 0.1, 1.0)
    np.testing.assert_allclose(result.features[0, 7:11], window[-1, 7:11], atol=1e-15)
    np.testing.assert_allclose(result.features[2, 7:11], [0.6, 0, 0.8, 0], atol=1e-15)


def test_velocity_in_metres_a_second_covers_the_same_ground_at_any_rate():
    """U50: 1.4 m/s is 1.4 m after a second at 30 and at 60 Hz, and the cadence is the same."""
    spec = spec_of()
    for fps in (30, 60):
        result = synthesize(Says(walking(spec, (0, 0, 1.4))), spec, None, a_window(spec), 0.0, fps, 1 / fps, 1.4 / 0.9)
        np.testing.assert_allclose(result.root_positions[-1], [0, 0, 1.4], atol=1e-12)
        np.testing.assert_allclose(result.phase[-1], 0.9)


# ---- batches, characters, state


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("frame", ["world", "heading"])
def test_a_batch_equals_single_characters(dtype, frame):
    spec = spec_of(frame=frame)
    model, windows = a_model(spec, dtype=dtype), a_window(spec, batch=5)
    phases, strides, yaws = np.linspace(0, 0.9, 5), np.linspace(1, 2, 5), np.linspace(-2, 2, 5)
    origins, expected = np.arange(15.0).reshape(5, 3), np.random.default_rng(0).normal(0, 1, (5, 20, 3))
    many = synthesize(
        model,
        spec,
        None,
        windows,
        phases,
        20,
        1 / 30,
        strides,
        drift=Drift(expected, yaw_rate=0.1),
        origin=origins,
        yaw=yaws,
    )
    assert many.features.shape == (5, 20, spec.dim) and many.phase.shape == (5, 20)
    for i in range(5):
        one = synthesize(
            model, spec, None, windows[i], phases[i], 20, 1 / 30, strides[i],
            drift=Drift(expected[i], yaw_rate=0.1), origin=origins[i], yaw=yaws[i],
        )  # fmt: skip
        tolerance = 1e-4 if dtype == np.float32 else 1e-10
        np.testing.assert_allclose(many.features[i], one.features, atol=tolerance)
        np.testing.assert_allclose(many.root_positions[i], one.root_positions, atol=tolerance)
        np.testing.assert_allclose(many[i].phase, one.phase, atol=tolerance)


def test_a_batch_of_one_and_of_none():
    spec = spec_of()
    model = a_model(spec)
    one = synthesize(model, spec, None, a_window(spec, batch=1), 0.1, 3, 0.1, 1.0)
    assert one.features.shape == (1, 3, spec.dim) and one.root_positions.shape == (1, 3, 3)
    none = synthesize(model, spec, None, a_window(spec, batch=0), 0.1, 3, 0.1, 1.0)
    assert none.features.shape == (0, 3, spec.dim) and none.phase.shape == (0, 3)


def test_no_frames():
    spec = spec_of()
    for drift in (None, Drift((0, 0, 1)), Drift(np.zeros((0, 3))), Drift((0, 0, 1), yaw_rate=[])):
        result = synthesize(a_model(spec), spec, None, a_window(spec), 0.1, 0, 0.1, 1.0, drift=drift)
        assert result.features.shape == (0, spec.dim) and result.root_positions.shape == (0, 3) and len(result) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("drift", [None, Drift((0, 0, 1), window=7, yaw_rate=0.2)])
def test_character_equals_synthesize_to_the_bit(dtype, drift):
    spec = spec_of()
    model, window = a_model(spec, dtype=dtype), a_window(spec)
    dts = np.random.default_rng(0).uniform(0.01, 0.1, 30)
    result = synthesize(model, spec, None, window, 0.2, 30, dts, 1.3, drift=drift, origin=ORIGIN)
    character = Character(model, spec, None, window, 0.2, 1.3, drift=drift, origin=ORIGIN)
    out = np.empty(spec.dim, dtype)
    for i, dt in enumerate(dts):
        frame = character.step(dt) if i % 2 else character.step(dt, out=out)
        assert (frame is out) == (i % 2 == 0)
        np.testing.assert_array_equal(frame, result.features[i])
        np.testing.assert_array_equal(character.root_position, result.root_positions[i])
        assert character.phase == result.phase[i] and character.root_position.dtype == np.float64


def test_compiled_networks_take_the_short_way():
    """Their steps run in the core: no Python call, and the bits of the plain network where the weights are the same."""
    spec = spec_of(frame="heading")
    model = a_model(spec, dtype=np.float32)

    class Counted(SimplifiedPFNN):
        calls = 0

        def __call__(self, x, phase):
            type(self).calls += 1
            return super().__call__(x, phase)

    counted = Counted(spec.in_dim(4), spec.out_dim, 16, 4)
    counted.load_state_dict(model.state_dict())
    arguments = (spec, None, a_window(spec), 0.1, 30, 1 / 30, 1.3)
    plain = synthesize(model, *arguments)
    for other in (model.compile(), model.compile(crowd=(8, 3)), counted):
        result = synthesize(other, *arguments)
        assert np.array_equal(result.features, plain.features) and np.array_equal(result.root_positions, plain.root_positions)
    assert Counted.calls == 30  # a subclass's own call is not passed over

    half = model.compile("float16")
    character = Character(half, *arguments[:4], 1.3)
    frames = np.array([character.step(1 / 30) for _ in range(30)])
    assert np.array_equal(frames, synthesize(half, *arguments).features)
    asked = synthesize(lambda x, p: half(x.astype(np.float32), p), *arguments)  # as any other callable
    assert np.array_equal(asked.features, frames)
    assert np.abs(frames[0] - plain.features[0]).max() < 5e-3 and not np.array_equal(frames, plain.features)

    crowd = model.compile(crowd=(2, 3))
    windows, phases = np.tile(a_window(spec), (80, 1, 1)), np.linspace(0, 1, 80)
    many = synthesize(crowd, spec, None, windows, phases, 5, 1 / 30, 1.3)
    exact = synthesize(model, spec, None, windows, phases, 5, 1 / 30, 1.3)
    np.testing.assert_allclose(many.features, exact.features, atol=20 * crowd.error_bound * np.abs(exact.features).max())


def test_thread_count_changes_no_bit():
    spec = spec_of()
    model, windows = a_model(spec, dtype=np.float32), a_window(spec, batch=300)
    before = pfnnc.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 3):
            pfnnc.set_num_threads(threads)
            results.append(synthesize(model, spec, None, windows, 0.2, 5, 0.1, 1.3).features)
    finally:
        pfnnc.set_num_threads(before)
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_state_and_restore():
    spec = spec_of(frame="heading")
    model, window = a_model(spec), a_window(spec)

    def make():
        return Character(model, spec, None, window, 0.2, 1.3, drift=Drift((0, 0, 1), window=5), yaw=0.3)

    character = make()
    for _ in range(8):
        character.step(0.1)
    state = character.state()
    assert isinstance(state, bytes)
    frames = [character.step(0.1) for _ in range(8)]
    for other in (character, make()):
        other.restore(state)
        assert other.state() == state
        np.testing.assert_array_equal([other.step(0.1) for _ in range(8)], frames)


def test_restore_of_what_is_no_state():
    spec = spec_of()
    character = Character(a_model(spec), spec, None, a_window(spec), 0.2, 1.3)
    character.step(0.1)
    state = character.state()
    other_spec = spec_of(joints=4)
    others = [
        Character(a_model(other_spec), other_spec, None, a_window(other_spec), 0.2, 1.3),
        Character(a_model(spec, dtype=np.float32), spec, None, a_window(spec), 0.2, 1.3),
        Character(a_model(spec), spec, None, a_window(spec), 0.2, 1.3, drift=Drift((0, 0, 1))),
    ]
    broken = bytearray(state)
    broken[-5] ^= 1
    for wrong in (
        b"",
        b"x" * 10,
        state[:-1],
        state + b"x",
        bytes(broken),
        bytes(len(state)),
        *(o.state() for o in others),
    ):
        with pytest.raises(ValueError, match="state"):
            character.restore(wrong)
        assert character.state() == state
    for wrong in (None, "text", bytearray(state), 3):
        with pytest.raises(TypeError, match="bytes"):
            character.restore(wrong)


def test_a_prediction_that_is_not_finite_changes_nothing():
    spec = spec_of()
    model, window = a_model(spec), a_window(spec)
    character = Character(model, spec, None, window, 0.2, 1.3, drift=Drift((0, 0, 1)))
    character.step(0.1)
    state = character.state()
    kept = model.fc3.bias.copy()
    for bad in (np.nan, np.inf):
        model.fc3.bias[:, 5] = bad
        for _ in range(2):
            with pytest.raises(FloatingPointError, match="finite"):
                character.step(0.1)
            assert character.state() == state
        with pytest.raises(FloatingPointError):
            synthesize(model, spec, None, window, 0.2, 3, 0.1, 1.3)
    model.fc3.bias[...] = kept
    with pytest.raises(FloatingPointError, match="finite"):  # finite, but no longer so in metres a second
        says = Says(walking(spec, (0, 0, 1e308)))
        synthesize(says, spec, Scaling(np.zeros(spec.dim), np.full(spec.dim, 1e3)), window, 0.2, 3, 0.1, 1.3)
    fresh = Character(model, spec, None, window, 0.2, 1.3, drift=Drift((0, 0, 1)))
    fresh.step(0.1)
    np.testing.assert_array_equal(character.step(0.1), fresh.step(0.1))


def test_arguments_are_not_changed():
    spec = spec_of()
    window, phase, dts, origin = a_window(spec, batch=2), np.array([0.1, 0.2]), np.full(4, 0.1), np.zeros((2, 3))
    expected = np.zeros((4, 3))
    arrays = [window, phase, dts, origin, expected]
    for array in arrays:
        array.flags.writeable = False
    copies = [a.copy() for a in arrays]
    synthesize(a_model(spec), spec, None, window, phase, 4, dts, 1.0, drift=Drift(expected), origin=origin)
    for array, copy in zip(arrays, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_any_strides_and_dtypes():
    spec = spec_of()
    model, window = a_model(spec), np.round(a_window(spec), 2)
    wanted = synthesize(model, spec, None, window, 0.25, 5, 0.5, 2).features
    wide = np.zeros((4, 2 * spec.dim))
    wide[:, ::2] = window
    for other in (wide[:, ::2], np.asfortranarray(window), window.astype(">f8"), window.tolist()):
        np.testing.assert_array_equal(synthesize(model, spec, None, other, 0.25, 5, 0.5, 2).features, wanted)
    character = Character(model, spec, None, window, 0.25, 2)
    out = np.zeros(2 * spec.dim)[::2]
    np.testing.assert_array_equal(character.step(0.5, out), wanted[0])
    np.testing.assert_array_equal(out, wanted[0])


def test_a_callable_that_is_no_network():
    spec = spec_of()
    model = a_model(spec)
    wanted = synthesize(model, spec, None, a_window(spec), 0.2, 5, 0.1, 1.0)

    class Wrapped:
        dtype = np.float64

        def __call__(self, x, phase):
            return model(x, phase)

    got = synthesize(Wrapped(), spec, None, a_window(spec), 0.2, 5, 0.1, 1.0)
    np.testing.assert_array_equal(got.features, wanted.features)

    def fails(x, phase):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        synthesize(fails, spec, None, a_window(spec), 0.2, 5, 0.1, 1.0)
    with pytest.raises(ValueError, match="answer"):
        synthesize(lambda x, p: np.zeros((1, 3)), spec, None, a_window(spec), 0.2, 5, 0.1, 1.0)


# ---- clips


@pytest.mark.parametrize("representation", ["quat", "exp_map", "6d"])
@pytest.mark.parametrize("frame", ["world", "heading"])
def test_to_clip_is_what_decode_gives(representation, frame):
    skeleton = Skeleton(["hips", "knee", "foot"], [-1, 0, 1], [[0, 0, 0], [0, -0.4, 0], [0, -0.4, 0]])
    spec = spec_of(representation=representation, frame=frame)
    result = synthesize(a_model(spec), spec, None, a_window(spec), 0.2, 12, 1 / 30, 1.3, origin=ORIGIN, yaw=0.7)
    clip = result.to_clip(skeleton, 30.0)
    assert isinstance(clip, Clip) and clip.fps == 30 and len(clip) == 12
    np.testing.assert_array_equal(clip.root_positions, result.root_positions)
    decoded = spec.decode(result.features, result.root_positions[0], yaw=float(result.yaw[0]), skeleton=skeleton, fps=30.0)
    np.testing.assert_allclose(clip.root_positions, decoded.root_positions, atol=1e-12)
    apart = abs((clip.rotations * decoded.rotations).sum(-1))
    np.testing.assert_allclose(apart, 1, atol=1e-12)


def test_to_clip_of_named_joints_and_wrong_ones():
    skeleton = Skeleton(["hips", "knee", "foot"], [-1, 0, 1], [[0, 0, 0], [0, -0.4, 0], [0, -0.4, 0]])
    spec = spec_of(joints=["foot"], frame="heading")
    frame = walking(spec, rate=1.0)
    frame[7:11] = [0.6, 0.8, 0, 0]
    result = synthesize(Says(frame), spec, None, a_window(spec), 0.0, 2, 0.1, 1.0, yaw=0.2)
    clip = result.to_clip(skeleton, 10)
    np.testing.assert_allclose(clip.rotations[1, 0], [np.cos(0.2), 0, np.sin(0.2), 0], atol=1e-12)
    np.testing.assert_allclose(clip.rotations[1, 1:], [[1, 0, 0, 0], [0.6, 0.8, 0, 0]], atol=1e-12)
    with pytest.raises(ValueError, match="foot"):
        result.to_clip(Skeleton(["hips"], [-1], [[0, 0, 0]]), 30)
    with pytest.raises(ValueError, match="fps"):
        result.to_clip(skeleton, 0)
    batch = synthesize(Says(frame), spec, None, a_window(spec, batch=2), 0.0, 2, 0.1, 1.0)
    with pytest.raises(ValueError, match="batch"):
        batch.to_clip(skeleton, 30)
    assert len(batch[1].to_clip(skeleton, 30)) == 2


# ---- wrong input


def test_wrong_values_are_named():
    spec = spec_of()
    model, window = a_model(spec), a_window(spec)
    good = dict(model=model, spec=spec, normalizer=None, init_window=window, phase=0.1, n_frames=3, dt=0.1, avg_stride=1.0)
    nan_window = window.copy()
    nan_window[2, 5] = np.nan
    wrong = [
        ("init_window", nan_window, ValueError, r"init_window\[2, 5\]=nan is not finite"),
        ("init_window", window[0], ValueError, "init_window"),
        ("init_window", window[:, :-1], ValueError, "init_window"),
        ("init_window", window[:0], ValueError, "init_window"),
        ("init_window", window[:3], ValueError, "in_dim"),
        ("init_window", window.astype(complex), TypeError, "init_window"),
        ("init_window", "text", TypeError, "init_window"),
        ("init_window", None, TypeError, "init_window"),
        ("phase", 1.2, ValueError, "phase=1.2"),
        ("phase", -0.1, ValueError, "phase"),
        ("phase", np.nan, ValueError, "phase"),
        ("phase", [0.1, 0.2], ValueError, "phase"),
        ("phase", True, TypeError, "phase"),
        ("dt", True, TypeError, "dt"),
        ("avg_stride", np.True_, TypeError, "avg_stride"),
        ("yaw", False, TypeError, "yaw"),
        ("phase", "x", TypeError, "phase"),
        ("n_frames", -1, ValueError, "n_frames"),
        ("n_frames", 2.0, TypeError, "n_frames"),
        ("n_frames", True, TypeError, "n_frames"),
        ("n_frames", 10**9, ValueError, "n_frames"),
        ("dt", 0.0, ValueError, "dt"),
        ("dt", -1 / 30, ValueError, "dt"),
        ("dt", [0.1, 0.1], ValueError, "dt"),
        ("dt", [0.1, 0.0, 0.1], ValueError, r"dt\[1\]"),
        ("dt", np.inf, ValueError, "dt"),
        ("avg_stride", 0, ValueError, "avg_stride"),
        ("avg_stride", -1, ValueError, "avg_stride"),
        ("avg_stride", np.nan, ValueError, "avg_stride"),
        ("avg_stride", [1.0, 1.0], ValueError, "avg_stride"),
        ("model", None, TypeError, "model"),
        ("model", a_model(spec_of(joints=4)), ValueError, "in_dim"),
        ("spec", None, TypeError, "spec"),
        ("normalizer", 3, TypeError, "normalizer"),
        ("normalizer", Scaling(np.zeros(5), np.ones(5)), ValueError, "normalizer"),
        ("normalizer", Scaling(np.zeros(3), np.zeros(3)), ValueError, "scale_"),
        ("drift", (0, 0, 1), TypeError, "drift"),
        ("drift", Drift(np.zeros((4, 3))), ValueError, "expected"),
        ("drift", Drift(np.zeros((2, 3, 3))), ValueError, "expected"),
        ("drift", Drift((0, 0, 1), yaw_rate=[0.1, 0.2]), ValueError, "yaw_rate"),
        ("origin", (0, 0), ValueError, "origin"),
        ("origin", (0, np.nan, 0), ValueError, "origin"),
        ("origin", np.zeros((2, 3)), ValueError, "origin"),
        ("yaw", np.inf, ValueError, "yaw"),
        ("yaw", [0.1, 0.2], ValueError, "yaw"),
        ("path", (np.zeros((5, 3)), np.zeros(5)), ValueError, "path"),
    ]
    for name, value, error, message in wrong:
        with pytest.raises(error, match=message):
            synthesize(**{**good, name: value})
    for name, value, error, message in wrong:
        if name not in ("n_frames", "dt", "path") and not (name == "drift" and error is ValueError):
            arguments = {**good, name: value}
            with pytest.raises(error, match=message):
                Character(**{k: v for k, v in arguments.items() if k not in ("n_frames", "dt")})
    with pytest.raises(ValueError, match="init_window"):
        Character(model, spec, None, window[None], 0.1, 1.0)


def test_wrong_drifts():
    for value, error in (((0, 0), ValueError), ((0, 0, np.nan), ValueError), (None, TypeError), ("abc", TypeError),
                         (np.zeros((2, 2, 2, 3)), ValueError), (1.0, ValueError)):  # fmt: skip
        with pytest.raises(error, match="expected"):
            Drift(value)
    with pytest.raises(ValueError, match="bins"):
        Drift((0, 0, 1), by_phase=True)
    with pytest.raises(ValueError, match="bins"):
        Drift(np.zeros((0, 3)), by_phase=True)
    for window, error in ((0, ValueError), (-3, ValueError), (1.5, TypeError), (True, TypeError), (10**12, ValueError)):
        with pytest.raises(error, match="window"):
            Drift((0, 0, 1), window=window)
    for rate, error in ((np.nan, ValueError), ("x", TypeError), (np.zeros((2, 2)), ValueError)):
        with pytest.raises(error, match="yaw_rate"):
            Drift((0, 0, 1), yaw_rate=rate)
    for wrong in (dict(expected=(0, 0, 1e300)), dict(expected=(0, 0, 1), yaw_rate=-1e10)):  # no float32 holds the first
        with pytest.raises(ValueError, match="more than 1e"):
            Drift(**wrong)
    with pytest.raises(TypeError, match="by_phase"):
        Drift((0, 0, 1), by_phase=1)


def test_wrong_steps():
    spec = spec_of()
    character = Character(a_model(spec), spec, None, a_window(spec), 0.2, 1.3)
    state = character.state()
    for dt, error in ((0, ValueError), (-1, ValueError), (np.nan, ValueError), (np.inf, ValueError), (None, TypeError),
                      ("0.1", TypeError), (True, TypeError), ([0.1], TypeError), (10**400, ValueError),
                      (1j, TypeError)):  # fmt: skip
        with pytest.raises(error, match="dt"):
            character.step(dt)
    read_only = np.zeros(spec.dim)
    read_only.flags.writeable = False
    for out, error in ((np.zeros(spec.dim - 1), ValueError), (np.zeros((1, spec.dim)), ValueError), ([0.0], TypeError),
                       (np.zeros(spec.dim, np.float32), TypeError), (read_only, ValueError)):  # fmt: skip
        with pytest.raises(error, match="out"):
            character.step(0.1, out)
    for call in (lambda: character.step(), lambda: character.step(0.1, None, 1), lambda: character.step(0.1, dt=0.1),
                 lambda: character.step(dtt=0.1)):  # fmt: skip
        with pytest.raises(TypeError):
            call()
    assert character.state() == state
    assert character.step(dt=np.float32(0.1), out=None).shape == (spec.dim,)


def test_a_character_ends_with_its_expected_frames():
    spec = spec_of()
    character = Character(a_model(spec), spec, None, a_window(spec), 0.2, 1.3, drift=Drift(np.zeros((2, 3))))
    character.step(0.1), character.step(0.1)
    state = character.state()
    with pytest.raises(ValueError, match="expected"):
        character.step(0.1)
    assert character.state() == state


def test_a_character_that_was_not_made():
    with pytest.raises(RuntimeError):
        Character.__new__(Character).step(0.1)
