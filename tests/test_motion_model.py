"""MotionModel: train, use, keep; every wrong input. Short trainings on synthetic walks."""

import dataclasses

import numpy as np
import pytest
from conftest import shared

import pfnnc
from pfnnc import Clip, Drift, FeatureSpec, MotionModel, Skeleton, _recipes, make_gait_clip
from pfnnc._recipes import completed, pace_to_keep, played_at, smoothed, sole_contacts, straightened
from pfnnc.features import point_positions

QUICK = {"hidden": 16, "epochs": 2, "rollout": 2, "output_len": 3, "progress": False}


@pytest.fixture(scope="module")
def walk():
    return make_gait_clip("walk", seconds=6, speed=1.2)


@pytest.fixture(scope="module")
def turn():
    return make_gait_clip("turn", seconds=6, speed=1.1, turn_rate=0.5, seed=1)


@pytest.fixture(scope="module", params=["controller", "article"])
def model(request, walk, turn):
    return MotionModel.train([walk.clip, turn.clip], request.param, phases=[walk.phase, turn.phase], **QUICK)


@pytest.fixture(scope="module")
def controller(walk, turn):
    return MotionModel.train([walk.clip, turn.clip], phases=[walk.phase, turn.phase], **QUICK)


def test_what_a_trained_model_has(model, walk):
    assert model.fps == 30 and len(model.history) == 2 and model.history[-1].epoch == 2
    assert model.spec.in_dim(model.input_len) == model.model.in_dim and model.spec.out_dim == model.model.out_dim
    assert model.mean_velocity.shape[1] == 3 and np.isfinite(model.mean_velocity).all()
    assert 0.8 < model.avg_stride < 2.5 and list(model.skeleton.names) == list(walk.clip.skeleton.names)
    if model.preset == "article":
        assert (model.spec.dim, model.input_len, model.model.in_dim) == (103, 12, 1236)
    else:
        assert model.spec.frame == "heading" and model.spec.control is not None and model.input_len == 2


@pytest.mark.parametrize("preset", ["controller", "article"])
@pytest.mark.parametrize("joints", ["all", 24])
def test_all_joints_can_be_mirrored(walk, preset, joints):
    assert len(walk.clip.skeleton) == 24
    model = MotionModel.train([walk.clip], preset, phases=[walk.phase], joints=joints, **{**QUICK, "mirror": True})
    assert model.spec.joints == tuple(walk.clip.skeleton.names)


def test_synthesis_goes_on_from_the_last_frame(model, walk):
    start = walk.clip[:40]
    result = model.synthesize(start, 20, phase=float(walk.phase[39]))
    assert result.features.shape == (20, model.spec.dim) and result.features.dtype == np.float32
    step = result.root_positions[0] - start.root_positions[-1]
    if not model.spec.height:
        np.testing.assert_allclose(step, result.root_velocity[0] / 30, atol=1e-9)
    assert np.linalg.norm(step) < 0.3
    clip = result.to_clip(model.skeleton, model.fps)
    assert len(clip) == 20 and np.isfinite(clip.positions()).all()


@pytest.mark.parametrize("scale", [100.0, 17.7, 2.54, 0.01])
@pytest.mark.parametrize("use", ["character", "synthesize", "evaluate"])
def test_a_start_in_another_unit_is_told(controller, walk, scale, use):
    clip, told = walk.clip, f"start must have bones as long as.*got {scale:.3g} times.*scale={1 / scale:.3g}"
    skeleton = Skeleton(clip.skeleton.names, clip.skeleton.parents, clip.skeleton.offsets * scale)
    odd = Clip(skeleton, clip.root_positions * scale, clip.rotations, clip.fps)
    arguments = {"character": (odd[:40],), "synthesize": (odd[:40], 5), "evaluate": (odd,)}[use]
    with pytest.raises(ValueError, match=told):
        getattr(controller, use)(*arguments)


def test_a_child_may_be_a_start(controller, walk):
    clip = walk.clip
    skeleton = Skeleton(clip.skeleton.names, clip.skeleton.parents, clip.skeleton.offsets * 0.7)
    controller.character(Clip(skeleton, clip.root_positions * 0.7, clip.rotations, clip.fps)[:40])


def test_characters_equal_syntheses(model, walk):
    start, phase = walk.clip[:40], float(walk.phase[39])
    result = model.synthesize(start, 10, phase=phase)
    character = model.character(start, phase=phase)
    frames = [character.step(1 / model.fps) for _ in range(10)]
    np.testing.assert_array_equal(frames, result.features)
    np.testing.assert_array_equal(character.root_position, result.root_positions[-1])
    position, rotations = model.pose(frames[-1], character.root_position, character.yaw)
    clip = result.to_clip(model.skeleton, 30)
    np.testing.assert_allclose(position, clip.root_positions[-1])
    np.testing.assert_allclose(rotations, clip.rotations[-1])


def test_save_and_load(model, walk, tmp_path):
    path = tmp_path / "a.model"
    model.save(path)
    other = MotionModel.load(path)
    a, b = (m.synthesize(walk.clip[:40], 10, phase=0.3) for m in (model, other))
    np.testing.assert_array_equal(a.features, b.features)
    assert other.spec == model.spec and other.history == model.history and other.preset == model.preset
    assert (other.fps, other.input_len, other.avg_stride) == (model.fps, model.input_len, model.avg_stride)
    for name in ("mean_velocity", "frames"):
        np.testing.assert_array_equal(getattr(other, name), getattr(model, name))
    assert list(other.skeleton.names) == list(model.skeleton.names)
    clips = [s.to_clip(m.skeleton, 30) for s, m in ((a, model), (b, other))]
    np.testing.assert_array_equal(clips[0].rotations, clips[1].rotations)


def test_a_damaged_file_is_refused(controller, tmp_path):
    path = tmp_path / "a.model"
    controller.save(path)
    data = path.read_bytes()
    for end in (0, 10, 63, 64, 500, len(data) - 1):
        path.write_bytes(data[:end])
        with pytest.raises(ValueError):
            MotionModel.load(path)
    broken = bytearray(data)
    broken[len(data) // 2] ^= 1
    path.write_bytes(bytes(broken))
    with pytest.raises(ValueError, match="damaged"):
        MotionModel.load(path)
    controller.model.save(path)
    with pytest.raises(ValueError, match="network"):
        MotionModel.load(path)
    with pytest.raises(FileNotFoundError):
        MotionModel.load(tmp_path / "none")
    with pytest.raises(OSError):
        controller.save(tmp_path / "no folder" / "a.model")
    with pytest.raises(OSError):
        MotionModel.load(tmp_path)


def test_files_whose_entries_do_not_fit(controller, tmp_path):
    """A checksum that is right says nothing about what the entries hold."""
    from pfnnc import _store

    path = tmp_path / "a.model"
    controller.save(path)
    arrays, settings = _store.load(path, "motion-model")
    for name in list(arrays):
        _store.save(path, "motion-model", {k: v for k, v in arrays.items() if k != name}, settings)
        if name in ("layout", "times", "joints", "rest_joints", "gait"):
            continue  # for the C core only
        with pytest.raises(ValueError):
            MotionModel.load(path)
    for name in settings:
        _store.save(path, "motion-model", arrays, {k: v for k, v in settings.items() if k != name})
        with pytest.raises(ValueError):
            MotionModel.load(path)
    for name, value in (("fps", "x"), ("fps", -1), ("input_len", 5), ("input_len", 0), ("names", ["a"]), ("spec", 3),
                        ("avg_stride", 0), ("history", [3]), ("cadence", None), ("preset", 3)):  # fmt: skip
        _store.save(path, "motion-model", arrays, {**settings, name: value})
        with pytest.raises(ValueError):
            MotionModel.load(path)
    for name in ("normalizer.mean", "normalizer.scale", "mean_velocity", "frames", "paces", "limits"):
        for value in (np.zeros(2), np.full(arrays[name].shape, np.nan)):
            _store.save(path, "motion-model", {**arrays, name: value}, settings)
            with pytest.raises(ValueError):
                MotionModel.load(path)


def test_same_seed_same_bits(walk, turn):
    make = lambda seed: MotionModel.train(  # noqa: E731
        [walk.clip, turn.clip], phases=[walk.phase, turn.phase], seed=seed, **QUICK
    )
    a, b, c = make(3), make(3), make(4)
    np.testing.assert_array_equal(a.model.fc1.weights, b.model.fc1.weights)
    assert (a.model.fc1.weights != c.model.fc1.weights).any()


def test_a_path_is_followed_in_the_input(controller, walk):
    """The block shows where the path is, seen from the root, at the right times."""
    seen = []

    class Recording:
        dtype, in_dim, out_dim = np.dtype(np.float32), controller.model.in_dim, controller.model.out_dim

        def __call__(self, x, phase):
            seen.append(x.copy())
            return controller.model(x, phase)

    spy = MotionModel(**{**vars(controller), "model": Recording()})
    start = walk.clip[:40]
    place, yaw = start.root_positions[-1], float(pfnnc.quat_yaw(start.rotations[-1, 0]))
    rows = np.arange(1, 101)
    positions = place + rows[:, None] * np.array([0.01, 0.0, 0.03])
    path = (positions, np.full(100, yaw + 0.2))
    result = spy.synthesize(start, 3, phase=0.2, path=path)
    own = np.concatenate([[[place[0], place[2], yaw]], np.column_stack([result.root_positions[:, [0, 2]], result.yaw])])
    track = np.concatenate([[place], positions])
    facing = np.concatenate([[yaw + 0.2], path[1]])
    for t in range(3):
        block = controller.spec.control.encode(track, facing, 30, [t], root=own[t : t + 1], future=True)[0]
        np.testing.assert_allclose(seen[t][0, -len(block) :], block, atol=1e-5)


def test_phases_are_found_for_a_start_without(controller, walk):
    found = []
    for i in range(40, 90):
        _, phase, *_ = controller._start(walk.clip[i - 5 : i], None)
        found.append(abs(pfnnc.phase_difference(phase, walk.phase[i - 1])))
    assert np.mean(found) < 0.06


def test_a_start_of_another_rate_keeps_its_last_frame(controller, walk):
    quick = walk.clip[:40].resample(60)
    rows, _, place, _ = controller._start(controller._at_own_rate(quick), 0.2)
    np.testing.assert_allclose(place, walk.clip.root_positions[39], atol=1e-12)
    straight, *_ = controller._start(walk.clip[:40], 0.2)
    np.testing.assert_allclose(rows[-1], straight[-1], atol=1e-6)


def test_phases_none_labels_the_clips(walk):
    model = MotionModel.train([walk.clip], **QUICK)
    assert np.isfinite(model.mean_velocity).all()


def test_evaluate(model, turn, walk):
    one = model.evaluate(walk.clip)
    both = model.evaluate([walk.clip, turn.clip])
    assert set(one) == set(both) and np.isfinite(both["path_ratio"].value)
    other = model.evaluate([turn.clip])
    np.testing.assert_allclose(both["path_ratio"].value, (one["path_ratio"].value + other["path_ratio"].value) / 2)


def test_overrides(walk):
    model = MotionModel.train(
        [walk.clip], "article", phases=[walk.phase], hidden=8, n_kernels=5, kernel="cyclic", beta=20, input_len=3,
        output_len=2, rollout=1, epochs=1, representation="exp_map", frame="heading", lr=1e-4, progress=False,
    )  # fmt: skip
    assert (model.model.hidden, model.model.n_kernels, model.model.kernel, model.input_len) == (8, 5, "cyclic", 3)
    assert (model.spec.representation, model.spec.frame) == ("exp_map", "heading")
    np.testing.assert_allclose(model.history[0].lr, 1e-4)


def test_no_epochs_and_no_time(walk):
    for options in ({"epochs": 0}, {"max_seconds": 0.0}):
        model = MotionModel.train([walk.clip], phases=[walk.phase], **{**QUICK, **options})
        assert len(model.synthesize(walk.clip[:5], 3, phase=0.1)) == 3


def test_joint_order_may_differ(walk):
    """The clips of one rig list their joints in different orders."""
    names, parents = list(walk.clip.skeleton.names), list(walk.clip.skeleton.parents)
    order = sorted(range(len(names)), key=lambda j: (_depth(parents, j), -j))
    place = {j: i for i, j in enumerate(order)}
    skeleton = Skeleton(
        [names[j] for j in order], [-1 if parents[j] < 0 else place[parents[j]] for j in order],
        walk.clip.skeleton.offsets[order], end_sites=[(place[p], o) for p, o in walk.clip.skeleton.end_sites],
    )  # fmt: skip
    other = Clip(skeleton, walk.clip.root_positions, walk.clip.rotations[:, order], 30)
    for preset in ("article", "controller"):
        model = MotionModel.train([walk.clip, other], preset, phases=[walk.phase] * 2, **QUICK)
        a, b = (model.synthesize(c[:40], 5, phase=0.2) for c in (walk.clip, other))
        np.testing.assert_allclose(a.features, b.features, atol=1e-5)


def _depth(parents, j):
    return 0 if parents[j] < 0 else 1 + _depth(parents, parents[j])


def test_wrong_training_input_is_named(walk, turn):
    clip, phase = walk.clip, walk.phase
    small = Clip(Skeleton(["a"], [-1], [[0, 0, 0]]), clip.root_positions, clip.rotations[:, :1], 30)
    nan = np.full(len(clip), np.nan)
    wrong = [
        (dict(clips=[]), ValueError, "clips"),
        (dict(clips=None), TypeError, "clips"),
        (dict(clips="walk.bvh"), TypeError, "clips"),
        (dict(clips=[clip, 3]), TypeError, r"clips\[1\]"),
        (dict(clips=[clip, small]), ValueError, r"clips\[1\]"),
        (dict(clips=[clip, clip.resample(60)]), ValueError, r"clips\[1\].*60"),
        (dict(preset="best"), ValueError, "preset"),
        (dict(preset=3), TypeError, "preset"),
        (dict(phases=[]), ValueError, "phases"),
        (dict(phases=[phase[:-1]]), ValueError, r"phases\[0\]"),
        (dict(phases=[phase + 1]), ValueError, r"phases\[0\]"),
        (dict(phases=[nan]), ValueError, "phases"),
        (dict(phases=3), TypeError, "phases"),
        (dict(phases=["x" * len(clip)]), (TypeError, ValueError), r"phases\[0\]"),
        (dict(epochs=-1), ValueError, "epochs"),
        (dict(epochs=1.5), TypeError, "epochs"),
        (dict(max_seconds=-1), ValueError, "max_seconds"),
        (dict(clips=[clip, clip[:0]], phases=[phase, phase[:0]]), ValueError, r"clips\[1\].* must have frames, got none"),
        (dict(max_seconds="1"), TypeError, "max_seconds"),
        (dict(seed=-1), ValueError, "seed"),
        (dict(seed=None), TypeError, "seed"),
        (dict(hiden=8), TypeError, "hiden"),
        (dict(hidden=0), ValueError, "hidden"),
        (dict(input_len=0), ValueError, "input_len"),
        (dict(input_len="2"), TypeError, "input_len"),
        (dict(output_len=10_000), ValueError, "output_len|clips"),
        (dict(stride=0), ValueError, "stride"),
        (dict(scales=()), ValueError, "scales"),
        (dict(scales=(1.0, 0.0)), ValueError, r"scales\[1\]"),
        (dict(scales=1.0), TypeError, "scales"),
        (dict(times=(1.0, 0.5)), ValueError, "times"),
        (dict(joints=["nobody"]), ValueError, "nobody"),
        (dict(joints="some"), ValueError, "joints"),
        (dict(joints=3), ValueError, "joints"),
        (dict(feet=("nobody", "LeftFoot")), ValueError, "nobody"),
        (dict(feet=3), TypeError, "feet"),
        (dict(kernel="x"), ValueError, "kernel"),
        (dict(contacts=np.zeros(3)), TypeError, "contacts"),
        (dict(epochs=2**70), ValueError, "epochs"),
        (dict(mirror=3), TypeError, "mirror"),
        (dict(progress=3), TypeError, "progress"),
        (dict(normalize="x"), ValueError, "columns|normalize"),
    ]
    for change, error, message in wrong:
        arguments = {"clips": [clip], "phases": [phase], **QUICK, **change}
        with pytest.raises(error, match=message):
            MotionModel.train(**arguments)


def test_wrong_use_is_named(controller, walk):
    start = walk.clip[:40]
    good = dict(start=start, n_frames=3, phase=0.2)
    path = (np.zeros((5, 3)), np.zeros(5))
    other = Clip(Skeleton(["a"], [-1], [[0, 0, 0]]), start.root_positions, start.rotations[:, :1], 30)
    wrong = [
        (dict(start=None), TypeError, "start"),
        (dict(start=start[:1]), ValueError, "start"),
        (dict(start=start[:0]), ValueError, "start"),
        (dict(start=other), ValueError, "Spine|LeftArm|joint"),
        (dict(n_frames=-1), ValueError, "n_frames"),
        (dict(n_frames=10**9), ValueError, "n_frames"),
        (dict(n_frames=1.0), TypeError, "n_frames"),
        (dict(dt=0), ValueError, "dt"),
        (dict(dt=[0.1]), ValueError, "dt"),
        (dict(phase=1.5), ValueError, "phase"),
        (dict(phase="x"), TypeError, "phase"),
        (dict(phase=[0.1]), TypeError, "phase"),
        (dict(drift=3), TypeError, "drift"),
        (dict(drift=Drift(np.zeros((2, 3)))), ValueError, "expected"),
        (dict(path=3), TypeError, "path"),
        (dict(path=(np.zeros((5, 2)), np.zeros(5))), ValueError, "path"),
        (dict(path=(np.zeros((5, 3)), np.zeros(4))), ValueError, "path"),
        (dict(path=(np.zeros((0, 3)), np.zeros(0))), ValueError, "path"),
        (dict(path=(np.full((5, 3), np.nan), np.zeros(5))), ValueError, "path"),
    ]
    for change, error, message in wrong:
        with pytest.raises(error, match=message):
            controller.synthesize(**{**good, **change})
    for name in ("model", "spec", "normalizer", "skeleton"):
        with pytest.raises(TypeError, match=f"{name} must be a"):
            dataclasses.replace(controller, **{name: None})
    frame = np.zeros(controller.spec.dim)
    for wrong, error, message in [
        ((frame[1:], (0, 0, 0), 0.0), ValueError, "features"),
        ((frame + 1j, (0, 0, 0), 0.0), TypeError, "features"),
        ((frame, (0, np.nan, 0), 0.0), ValueError, "position"),
        ((frame, (0, 0, 0), None), TypeError, "yaw"),
    ]:
        with pytest.raises(error, match=message):
            controller.pose(*wrong)
    with pytest.raises(TypeError, match="checkpoint"):
        MotionModel.train([walk.clip], checkpoint=1)
    with pytest.raises(TypeError):
        controller.evaluate(3)
    with pytest.raises(ValueError):
        controller.evaluate([])
    article = MotionModel.train([walk.clip], "article", phases=[walk.phase], **QUICK)
    with pytest.raises(ValueError, match="path"):
        article.synthesize(start, 3, phase=0.2, path=path)


def test_a_rig_whose_feet_have_no_names(walk):
    """What cannot be told is asked for by name."""
    names = [f"j{i}" for i in range(len(walk.clip.skeleton))]
    skeleton = Skeleton(names, walk.clip.skeleton.parents, walk.clip.skeleton.offsets)
    clip = Clip(skeleton, walk.clip.root_positions, walk.clip.rotations, 30)
    with pytest.raises(ValueError, match="feet"):
        MotionModel.train([clip], phases=[walk.phase], **{**QUICK, "mirror": False})
    left, right = (walk.clip.skeleton.index(n) for n in ("LeftToeBase", "RightToeBase"))
    model = MotionModel.train([clip], phases=[walk.phase], **{**QUICK, "mirror": False}, feet=(names[left], names[right]))
    assert model.feet == (names[left], names[right])


def test_real_clips_start_without_a_phase():
    clip = pfnnc.load_bvh(shared("clips", "cmu", "10_04.bvh"), scale=0.01, fps=60).resample(30)
    phase = np.full(len(clip), np.nan)
    phase[40:120] = np.arange(80) / 37 % 1
    model = MotionModel.train([clip], phases=[phase], **QUICK)
    assert isinstance(model.spec, FeatureSpec) and "lShldr" in model.spec.joints and "lMid1" not in model.spec.joints
    result = model.synthesize(clip[:60], 5)
    still = result.to_clip(clip.skeleton, 30).rotations[:, clip.skeleton.index("lButtock")]
    np.testing.assert_allclose(abs(still @ clip.rotations[0, clip.skeleton.index("lButtock")]), 1, atol=1e-9)


def test_gaps_of_the_phase_go_with_the_ground_speed():
    """Standing keeps the phase, a start leads up to the first label, a gap between labels is closed."""

    auto = make_gait_clip("auto", seconds=10, speed=[(0, 0.0), (2, 0.0), (3, 1.2), (6, 1.2), (7, 0.0), (10, 0.0)])
    clip, phase = auto.clip, auto.phase
    known = np.isfinite(phase)
    assert known.any() and not known.all()
    whole = completed(phase, clip, 1.3)
    np.testing.assert_array_equal(whole[known], phase[known])
    assert np.isfinite(whole).all() and (whole >= 0).all() and (whole < 1).all()
    step = (np.diff(whole) + 0.5) % 1 - 0.5
    assert step.min() > -1e-9 and step.max() < 0.1
    assert abs(step[:30]).max() < 0.005 and abs(step[-30:]).max() < 0.005
    cut = phase.copy()
    middle = np.flatnonzero(known)[20:50]
    cut[middle] = np.nan
    apart = pfnnc.phase_difference(completed(cut, clip, 1.3)[middle], phase[middle])
    assert abs(apart).max() < 0.15
    # a recording that ends with a fall to the floor, as many do
    fallen = Clip(clip.skeleton, clip.root_positions.copy(), clip.rotations, clip.fps)
    fallen.root_positions[-3:, 1] = 0.1
    fallen.root_positions[:2] = 0
    whole = completed(phase, fallen, 1.3)
    assert np.isnan(whole[-3:]).all() and np.isnan(whole[:3]).all() and np.isfinite(whole[3:-3]).all()
    nothing = np.full(len(clip), np.nan)
    assert np.isnan(completed(nothing, clip, 1.3)).all()


def test_the_speed_to_go_on_with(walk):
    """That of a whole cycle where the start shows one; else of those in training who moved like this."""
    slow, quick = (make_gait_clip(k, seconds=6, speed=v, seed=3) for k, v in (("walk", 1.0), ("run", 2.8)))
    model = MotionModel.train([slow.clip, quick.clip], phases=[slow.phase, quick.phase], **QUICK)
    middle = make_gait_clip("walk", seconds=4, speed=1.2).clip
    assert model._speed(middle, 0.3) == pytest.approx(1.2, abs=0.06)
    for made, speed in ((slow, 1.0), (quick, 2.8)):
        for i in range(40, 100, 7):
            assert model._speed(made.clip[i : i + 2], float(made.phase[i + 1])) == pytest.approx(speed, abs=0.12)


def test_someone_who_has_just_set_off_goes_on():
    """The frames before the first step are no walk: they do not count towards the speed to go on with."""
    rng = np.random.default_rng(0)
    at, mean = rng.uniform(size=400), rng.uniform(0.9, 1.4, 400)

    def swing(phase):
        return 1 + 0.15 * np.cos(4 * np.pi * phase)

    paces = np.column_stack([mean, mean * swing(at), at, np.ones(400)])
    phase = np.arange(-35, 1) / 36 % 1
    walk = 1.25 * swing(phase)
    assert pace_to_keep(paces, walk, phase, 36) == pytest.approx(1.25, rel=0.02)
    assert pace_to_keep(paces, walk[-1:], phase[-1:], 36) == pytest.approx(1.15, rel=0.06)
    set_off = walk * np.clip(np.arange(-26, 10) / 4, 0, 1)
    assert pace_to_keep(paces, set_off, phase, 36) == pytest.approx(1.2, rel=0.06)
    assert pace_to_keep(paces, np.zeros(36), phase, 36) == pytest.approx(0.0, abs=1e-9)
    standing = np.array([[0.0, 0.0, 0.5, 1.0]])
    assert pace_to_keep(standing, walk[-1:], phase[-1:], 36) >= 0


def test_predictions_stay_within_what_was_seen(controller, walk):
    wild = MotionModel(**{**vars(controller), "model": _Wild(controller.model)})
    result = wild.synthesize(walk.clip[:40], 30, phase=0.2)
    low, high = controller.limits
    plain = np.ones(controller.spec.dim, bool)
    plain[3 : controller.spec.slices["joints"].stop] = False  # rotations are made valid after it
    assert (result.features[:, plain] >= low[plain] - 1e-5).all()
    assert (result.features[:, plain] <= high[plain] + 1e-5).all()
    height = result.root_positions[:, 1]
    assert height.min() > 0.5 and height.max() < 1.5


class _Wild:
    """A network whose answers are a hundred times too large."""

    def __init__(self, model):
        self.model, self.dtype, self.in_dim, self.out_dim = model, model.dtype, model.in_dim, model.out_dim

    def __call__(self, x, phase):
        return 100 * self.model(x, phase)


def test_a_drift_with_a_row_a_frame_is_the_path_that_is_wanted(controller, walk):
    """A model that wants to go straight on would fight the correction of a turn."""
    start, n, rate = walk.clip[:30], 60, 0.8
    yaw = float(pfnnc.quat_yaw(start.rotations[-1, 0])) + rate * np.arange(1, n + 1) / 30
    steps = np.stack([np.sin(yaw), np.zeros(n), np.cos(yaw)], 1) * 1.1 / 30
    path = (start.root_positions[-1] + np.cumsum(steps, axis=0), yaw)
    drift = pfnnc.Drift(np.tile([0.0, 0.0, 1.1], (n, 1)), yaw_rate=np.full(n, rate))
    by_drift = controller.synthesize(start, n, phase=0.25, drift=drift)
    by_both = controller.synthesize(start, n, phase=0.25, drift=drift, path=path)
    np.testing.assert_allclose(by_drift.root_positions, by_both.root_positions, rtol=0, atol=1e-4)
    straight = controller.synthesize(start, n, phase=0.25, drift=pfnnc.Drift([0.0, 0.0, 1.1]))
    assert np.abs(straight.root_positions - by_drift.root_positions).max() > 0.1


def test_smoothed_tracks():
    """Straight lines stay, beyond their ends too; a step's sway goes; one frame and no seconds change nothing."""
    t = np.arange(90)[:, None] / 30
    line = t * [0.3, 1.2, 0.1] + [1.0, -2.0, 3.0]
    np.testing.assert_allclose(smoothed(line, 0.2, 30), line, atol=1e-12)
    sway = line + 0.03 * np.sin(2 * np.pi * 1.5 * t) * [1.0, 0.0, 1.0]
    assert abs(smoothed(sway, 0.2, 30) - line)[20:-20].max() < 0.03 * 0.25
    assert smoothed(line[:1], 0.2, 30) is not None and len(smoothed(line[:1], 0.2, 30)) == 1
    np.testing.assert_array_equal(smoothed(sway, 0.0, 30), sway)


def test_copies_at_other_speeds_keep_the_places_of_their_joints():
    walk = make_gait_clip("walk", seconds=3, seed=0)
    places = np.repeat(walk.clip.skeleton.offsets[None] * 1.5, len(walk.clip), axis=0)
    places[:, 0] = walk.clip.root_positions
    long_legs = Clip(walk.clip.skeleton, walk.clip.root_positions, walk.clip.rotations, 30, translations=places)
    quick, phase = played_at(long_legs, walk.phase, 1.25)
    assert len(quick) == len(phase) == 73 and quick.fps == 30
    np.testing.assert_allclose(quick.translations[:, 1:], np.repeat(places[:1, 1:], 73, axis=0), atol=1e-12)


def test_straightened_clips_go_straight_and_slide_no_more():
    """A walk in a circle comes out straight; its feet, which pivot now, stay where they stand."""
    soles = ("LeftToeBase", "RightToeBase")
    made = make_gait_clip("walk", seconds=8, speed=1.2, turn_rate=1.0)
    clip = made.clip
    straight = straightened(clip, 0.5, soles)
    np.testing.assert_array_equal(straight.rotations[:, 1:], clip.rotations[:, 1:])
    np.testing.assert_allclose(straight.root_positions[:, 1], clip.root_positions[:, 1], atol=1e-12)
    way = np.unwrap(np.arctan2(*np.diff(straight.root_positions[::30, [0, 2]], axis=0).T))
    turned = np.unwrap(np.arctan2(*np.diff(clip.root_positions[::30, [0, 2]], axis=0).T))
    assert np.ptp(way) < 0.15 and np.ptp(turned) > 5
    stands = sole_contacts(clip, soles)[1:]
    one = stands & (stands.sum(axis=1) == 1)[:, None]  # with both down, they pull the root each its way
    after, before = (np.linalg.norm(np.diff(point_positions(c, soles), axis=0), axis=-1) for c in (straight, clip))
    np.testing.assert_allclose(after[one], before[one], atol=1e-9)
    assert after[stands].mean() < before[stands].mean() + 0.002

    ahead = make_gait_clip("walk", seconds=8, speed=1.2).clip  # nothing to take out but its own sway
    gone, was = (
        np.linalg.norm(np.diff(c.root_positions[::30], axis=0), axis=1) for c in (straightened(ahead, 0.5, soles), ahead)
    )
    np.testing.assert_allclose(gone, was, atol=0.02)
    assert len(straightened(ahead[:1], 0.5, soles)) == 1


def test_a_share_of_the_turns_may_be_taken_out():
    """Half of them leaves half the circle, twice of them turns the other way."""
    soles = ("LeftToeBase", "RightToeBase")
    clip = make_gait_clip("walk", seconds=8, speed=1.2, turn_rate=1.0).clip
    turned = [np.ptp(_heading(straightened(clip, 0.5, soles, share=share))) for share in (0.0, 0.5, 1.0)]
    np.testing.assert_allclose(turned, [np.ptp(_heading(clip)), np.ptp(_heading(clip)) / 2, 0], atol=0.3)
    there, back = _heading(clip), _heading(straightened(clip, 0.5, soles, share=2.0))
    assert there[-1] > 5 and back[-1] < -5
    same = straightened(clip, 0.5, soles, share=0.0)
    np.testing.assert_allclose(same.root_positions, clip.root_positions, atol=1e-12)


def _heading(clip) -> np.ndarray:
    """Which way the root goes, second by second, from the first."""
    way = np.unwrap(np.arctan2(*np.diff(clip.root_positions[::30, [0, 2]], axis=0).T))
    return way - way[0]


def test_training_on_straightened_copies(walk):
    rows = [
        MotionModel.train(
            [walk.clip], phases=[walk.phase], hidden=8, epochs=1, progress=False, straight=straight, scales=(1.0,)
        )
        for straight in (0.0, 0.5)
    ]
    assert not np.array_equal(rows[0].normalizer.mean_, rows[1].normalizer.mean_)
    for wrong in (-1, np.nan, 11, "x", None):
        with pytest.raises((ValueError, TypeError), match="straight"):
            MotionModel.train([walk.clip], phases=[walk.phase], straight=wrong)
    for wrong in ((1, np.nan), (11,), ("x",), 1.0, None):
        with pytest.raises((ValueError, TypeError), match="turns"):
            MotionModel.train([walk.clip], phases=[walk.phase], turns=wrong)


def test_each_turn_is_a_copy_and_none_is_none(walk):
    rows = {
        turns: len(_recipes.training_rows(recipe, spec, feet, [walk.clip], [walk.phase], 1.4)[0])
        for turns in ((), (1.0,), (0.5, 1.0, 1.5))
        if (recipe := _recipes.recipe_of("controller", {"turns": turns, "scales": (1.0,)}))
        for spec, feet, _ in [_recipes.spec_of(recipe, [walk.clip])]
    }
    assert rows[()] > 0 and rows[(1.0,)] == 2 * rows[()] and rows[(0.5, 1.0, 1.5)] == 4 * rows[()]
