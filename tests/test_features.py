import json

import numpy as np
import pytest
import reference_features as reference
from hypothesis import given, settings
from hypothesis import strategies as st

from pfnnc import (
    Clip,
    FeatureSpec,
    Skeleton,
    Trajectory,
    _core,
    exp_map_to_quat,
    quat_from_euler,
    quat_mul,
    quat_rotate,
    quat_to_exp_map,
    quat_yaw,
)

REPRESENTATIONS = ("quat", "exp_map", "6d")
FRAMES = ("world", "heading")
NAMES = ["Hips", "LeftUpLeg", "LeftLeg", "LeftFoot", "RightUpLeg", "RightLeg", "RightFoot", "Head"]
PARENTS = [-1, 0, 1, 2, 0, 4, 5, 0]
OFFSETS = [
    [0, 0, 0],
    [0.1, 0, 0],
    [0, -0.4, 0],
    [0, -0.4, 0.02],
    [-0.1, 0, 0],
    [0, -0.4, 0],
    [0, -0.4, 0.02],
    [0, 0.5, 0],
]
SITES = [(3, (0, -0.05, 0.15)), (6, (0, -0.05, 0.15)), (6, (0, -0.05, -0.05))]
SKELETON = Skeleton(NAMES, PARENTS, OFFSETS, end_sites=SITES)


def random_clip(frames=40, seed=0, fps=30.0, turn=0.15):
    """A clip that wanders and turns more than once around."""
    rng = np.random.default_rng(seed)
    yaw = np.cumsum(rng.normal(turn, 0.05, frames)) + rng.uniform(-3, 3)
    tilt = rng.normal(0, 0.2, (frames, 3))
    rotations = exp_map_to_quat(np.cumsum(rng.normal(0, 0.3, (frames, len(NAMES), 3)), axis=0))
    rotations[:, 0] = quat_mul(reference.about_y(yaw), exp_map_to_quat(tilt))
    root = np.cumsum(rng.normal(0, 0.03, (frames, 3)), axis=0) + [3, 1, -7]
    return Clip(SKELETON, root, rotations, fps, "random")


def same_rotation(a, b):
    return np.abs(np.abs(np.sum(a * b, axis=-1)) - 1).max()


def world_points(clip):
    """LeftLeg, the end of LeftFoot, the second end of RightFoot, by the sum over the chain."""
    positions, turns = clip.positions(), clip.world_rotations()
    return np.stack(
        [
            positions[:, 2],
            positions[:, 3] + quat_rotate(turns[:, 3], SITES[0][1]),
            positions[:, 6] + quat_rotate(turns[:, 6], SITES[2][1]),
        ],
        axis=1,
    )


POINTS = ("LeftLeg", "LeftFoot_end", "RightFoot_end2")


# ---- the layout


def test_the_articles_frame():
    spec = FeatureSpec()
    assert (spec.dim, spec.in_dim(12), spec.in_dim(20), spec.out_dim) == (103, 1236, 2060, 103)
    assert spec.slices == {"velocity": slice(0, 3), "orientation": slice(3, 7), "joints": slice(7, 103)}
    assert FeatureSpec(representation="exp_map").dim == 78
    assert FeatureSpec(representation="6d").dim == 153
    assert FeatureSpec(yaw_rate=True).slices["yaw_rate"] == slice(103, 104)
    assert FeatureSpec(frame="heading").slices["yaw_rate"] == slice(103, 104)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("control", [None, Trajectory((-0.5, 0.0, 0.5, 1.0))])
def test_slices_columns_and_the_cores_layout_agree(representation, frame, control):
    spec = FeatureSpec(("Hips", "Head"), representation, frame, True, True, POINTS, True, True, control, predict="delta")
    stops = [part.stop for part in spec.slices.values()]
    assert [part.start for part in spec.slices.values()] == [0, *stops[:-1]]
    assert list(spec.slices) == ["velocity", "orientation", "joints", "yaw_rate", "height", "points", "contacts"]
    assert spec.dim == stops[-1] == len(spec.columns) == len(set(spec.columns))
    assert spec.out_dim == spec.dim + 1 + (8 if control else 0)
    assert spec.in_dim(2) == 2 * spec.dim + (16 if control else 0)
    # the core refuses rows of another width than it counts itself
    _core.features_track(spec.layout, np.zeros((1, spec.dim)), (0.0, 0.0, 0.0), 0.0, 30.0)
    with pytest.raises(ValueError):
        _core.features_track(spec.layout, np.zeros((1, spec.dim + 1)), (0.0, 0.0, 0.0), 0.0, 30.0)


def test_controller_is_the_recommended_set_and_takes_options():
    spec = FeatureSpec.controller(NAMES[1:])
    assert (spec.frame, spec.representation, spec.height, spec.phase_step, spec.predict) == (
        "heading",
        "6d",
        True,
        True,
        "frame",
    )
    assert spec.points == ("LeftLeg", "LeftFoot", "RightLeg", "RightFoot")
    assert spec.control.future == spec.control.times and len(spec.control.times) == 3
    assert FeatureSpec.controller(24).points == ()
    assert FeatureSpec.controller(24, representation="quat", control=None).in_dim(2) == 2 * 105
    with pytest.raises(TypeError, match="unexpected"):
        FeatureSpec.controller(24, nonsense=1)


def test_a_spec_is_a_value():
    a, b = FeatureSpec(["Hips", "Head"]), FeatureSpec(("Hips", "Head"))
    assert a == b and hash(a) == hash(b) and a != FeatureSpec(("Head", "Hips"))
    with pytest.raises(AttributeError):
        a.joints = 3


@pytest.mark.parametrize(
    "spec", [FeatureSpec(), FeatureSpec.controller(NAMES, contacts=True), FeatureSpec(5, control=Trajectory())]
)
def test_a_spec_survives_json(spec):
    assert FeatureSpec.from_dict(json.loads(json.dumps(spec.to_dict(), allow_nan=False))) == spec


def test_from_dict_refuses_what_is_no_spec():
    with pytest.raises(TypeError, match="settings must be a dict"):
        FeatureSpec.from_dict([1])
    with pytest.raises(ValueError, match="'size'"):
        FeatureSpec.from_dict({"size": 1})
    with pytest.raises(ValueError, match="control"):
        FeatureSpec.from_dict({"control": {"time": [1]}})
    with pytest.raises(TypeError, match="control"):
        FeatureSpec.from_dict({"control": [1]})
    for times in (None, 3, "0.5"):
        with pytest.raises(TypeError, match="times must be a sequence"):
            FeatureSpec.from_dict({"control": {"times": times}})


# ---- encode


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("frames", [1, 2, 40])
def test_encode_is_its_numpy_twin(representation, frame, frames):
    clip = random_clip(frames)
    joints = [4, 0, 7]
    spec = FeatureSpec([NAMES[j] for j in joints], representation, frame, yaw_rate=True, height=True, points=POINTS)
    expected = reference.encode(
        clip.root_positions,
        clip.rotations,
        joints,
        30.0,
        representation,
        frame == "heading",
        True,
        True,
        world_points(clip),
    )
    rows = spec.encode(clip)
    assert rows.dtype == np.float64
    assert np.abs(rows - expected).max() < 1e-12


def test_velocity_is_the_backward_difference_and_frame_0_has_that_of_frame_1():
    clip = Clip(Skeleton(["root"], [-1], [[0, 0, 0]]), [[0, 0, 0], [0.1, 0, 0], [0.4, 0, 0]], [[[1, 0, 0, 0]]] * 3, 10)
    assert FeatureSpec(1).encode(clip)[:, 0] == pytest.approx([1, 1, 3])
    assert (FeatureSpec(1, yaw_rate=True).encode(clip[:1])[0, [0, 1, 2, -1]] == 0).all()


def test_velocity_is_in_metres_a_second_at_any_rate():  # U50
    for fps in (30, 60):
        root = np.arange(10)[:, None] * [0, 0, 1.4 / fps]
        clip = Clip(Skeleton(["root"], [-1], [[0, 0, 0]]), root, [[[1, 0, 0, 0]]] * 10, fps)
        assert FeatureSpec(1).encode(clip)[:, 2] == pytest.approx(1.4, abs=1e-12)


def test_quaternions_begin_with_w_positive_and_do_not_jump():
    clip = random_clip(200)
    signs = np.random.default_rng(1).choice([-1, 1], (200, len(NAMES), 1))
    clip = Clip(SKELETON, clip.root_positions, clip.rotations * signs, 30)
    for frame in FRAMES:
        spec = FeatureSpec(len(NAMES), frame=frame)
        q = spec.encode(clip)[:, spec.slices["orientation"].start : spec.slices["joints"].stop].reshape(200, -1, 4)
        assert (q[0, :, 0] >= 0).all()
        assert (np.sum(q[1:] * q[:-1], axis=-1) >= 0).all()


def test_joints_by_name_need_no_order_or_count():
    clip = random_clip()
    everything = FeatureSpec(len(NAMES)).encode(clip)[:, 7:].reshape(40, -1, 4)
    chosen = FeatureSpec(["Head", "LeftFoot"]).encode(clip)[:, 7:].reshape(40, -1, 4)
    assert np.array_equal(chosen, everything[:, [7, 3]])


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_heading_features_do_not_depend_on_place_and_direction(representation):  # U49
    clip = random_clip(60)
    turn = quat_from_euler(np.radians([37.0, 0, 0]), "yxz")
    rotations = clip.rotations.copy()
    rotations[:, 0] = quat_mul(turn, rotations[:, 0])
    moved = Clip(SKELETON, quat_rotate(turn, clip.root_positions) + [5, 0, -2], rotations, 30)
    spec = FeatureSpec(len(NAMES), representation, "heading", height=True, points=POINTS)
    here, there = spec.encode(clip), spec.encode(moved)
    if representation == "quat":  # the sign of a track is that of its first frame
        assert np.abs(here - there)[:, 3:7].max() < 1e-12
    assert np.abs(here - there).max() < 1e-11
    world = FeatureSpec(len(NAMES), representation)
    assert np.abs(world.encode(clip) - world.encode(moved)).max() > 0.1


def test_a_point_ahead_of_a_root_that_faces_x():  # U49
    skeleton = Skeleton(["root", "hand"], [-1, 0], [[0, 0, 0], [0, 1, 1]])
    clip = Clip(skeleton, [[0, 0, 0]], [[reference.about_y(np.array(np.pi / 2)), [1, 0, 0, 0]]], 30)
    assert clip.positions()[0, 1] == pytest.approx([1, 1, 0], abs=1e-12)
    spec = FeatureSpec(2, points=["hand"])
    assert spec.encode(clip)[0, spec.slices["points"]] == pytest.approx([0, 1, 1, 0, 0, 0], abs=1e-12)


def test_a_planted_point_has_no_velocity():
    skeleton = Skeleton(["root", "foot"], [-1, 0], [[0, 0, 0], [0, -1, 0]])
    root = np.arange(20)[:, None] * [0, 0, 0.03]
    translations = np.zeros((20, 2, 3))
    translations[:, 0], translations[:, 1] = root, [0, -1, 0] - root
    clip = Clip(skeleton, root, np.tile([1.0, 0, 0, 0], (20, 2, 1)), 30, translations=translations)
    spec = FeatureSpec(2, frame="heading", points=["foot"])
    points = spec.encode(clip)[:, spec.slices["points"]]
    assert np.abs(points[:, 3:]).max() < 1e-12
    assert points[:, 2] == pytest.approx(-root[:, 2])


def test_contacts_are_columns_as_given():
    clip = random_clip()
    spec = FeatureSpec(len(NAMES), contacts=True)
    stands = np.random.default_rng(0).random((40, 2)) > 0.5
    assert np.array_equal(spec.encode(clip, contacts=stands)[:, spec.slices["contacts"]], stands)
    for wrong, text in [(stands[:-1], "shape"), (stands * 2, r"contacts\[\d+, \d\]=2.0 is not in \[0, 1\]")]:
        with pytest.raises(ValueError, match=text):
            spec.encode(clip, contacts=wrong)
    with pytest.raises(ValueError, match="contacts=False"):
        FeatureSpec(len(NAMES)).encode(clip, contacts=stands)


def test_differences_that_overflow_are_an_error():
    clip = random_clip(3)
    clip = Clip(SKELETON, [[0, 0, 0], [0, 1e308, 0], [0, 0, 0]], clip.rotations, 30)
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(ValueError, match=r"velocity\[0, 1\]=inf"):
        FeatureSpec(8).encode(clip)


def test_encode_leaves_the_clip_alone_and_takes_a_clip_without_frames():
    clip = random_clip()
    root, rotations = clip.root_positions.copy(), clip.rotations.copy()
    FeatureSpec(len(NAMES), frame="heading").encode(clip)
    assert np.array_equal(root, clip.root_positions) and np.array_equal(rotations, clip.rotations)
    assert FeatureSpec(len(NAMES), points=POINTS).encode(clip[:0]).shape == (0, 57)


# ---- decode


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("frame", FRAMES)
def test_decode_gives_the_clip_back(representation, frame):
    clip = random_clip(500)
    spec = FeatureSpec(len(NAMES), representation, frame)
    yaw = float(quat_yaw(clip.rotations[0, 0]))
    back = spec.decode(spec.encode(clip), clip.root_positions[0], yaw=yaw, skeleton=SKELETON, fps=30)
    assert back.skeleton == SKELETON and back.fps == 30 and len(back) == 500
    assert np.abs(back.root_positions - clip.root_positions).max() < 1e-9
    assert same_rotation(back.rotations, clip.rotations) < 1e-9
    assert np.abs(back.positions() - clip.positions()).max() < 1e-9


def test_decode_starts_where_it_is_told():
    clip = random_clip()
    spec = FeatureSpec(len(NAMES), frame="heading")
    back = spec.decode(spec.encode(clip), (10, 2, 3), yaw=1.0, skeleton=SKELETON)
    assert back.root_positions[0] == pytest.approx([10, 2, 3])
    assert float(quat_yaw(back.rotations[0, 0])) == pytest.approx(1.0)
    turn = 1.0 - float(quat_yaw(clip.rotations[0, 0]))
    moved = quat_rotate(reference.about_y(np.array(turn)), clip.root_positions - clip.root_positions[0])
    assert np.abs(back.root_positions - [10, 2, 3] - moved).max() < 1e-12


def test_decode_integrates_a_spiral_as_it_was_encoded():  # U11
    steps = np.arange(64)
    yaw = 0.05 * steps
    radius = 1.4 / 30 / 0.05
    root = np.stack([radius * (1 - np.cos(yaw)), np.zeros(64), radius * np.sin(yaw)], axis=1)
    assert root[-1, [0, 2]] == pytest.approx([1.866634, -0.007847], abs=1e-6)
    skeleton = Skeleton(["root"], [-1], [[0, 0, 0]])
    clip = Clip(skeleton, root, reference.about_y(yaw)[:, None], 30)
    spec = FeatureSpec(1, frame="heading")
    back = spec.decode(spec.encode(clip), skeleton=skeleton, fps=30)
    assert np.abs(back.root_positions - root).max() < 1e-12


def test_joints_that_are_not_encoded_decode_to_identity():
    spec = FeatureSpec(["Head"])
    back = spec.decode(spec.encode(random_clip()), skeleton=SKELETON)
    assert (back.rotations[:, 1:7] == [1, 0, 0, 0]).all()


def test_the_root_is_read_from_its_orientation():
    clip = random_clip()
    spec = FeatureSpec(["Head", "Hips"])
    rows = spec.encode(clip)
    rows[:, spec.slices["joints"].start + 4 :] = [1, 0, 0, 0]
    assert same_rotation(spec.decode(rows, skeleton=SKELETON).rotations[:, 0], clip.rotations[:, 0]) < 1e-12


@pytest.mark.parametrize("representation", ["quat", "6d"])
def test_a_rotation_without_direction_keeps_the_frame_before(representation):
    clip = random_clip(6)
    spec = FeatureSpec(len(NAMES), representation, "heading")
    rows = spec.encode(clip)
    rows[3, 3:-1] = 0
    back = spec.decode(rows, skeleton=SKELETON).rotations
    assert np.array_equal(back[3, 1:], back[2, 1:])
    rows[0, 3:-1] = 0
    assert (spec.decode(rows, skeleton=SKELETON).rotations[0] == [1, 0, 0, 0]).all()


def test_decode_of_float32_computes_in_double():
    clip = random_clip(300)
    spec = FeatureSpec(len(NAMES), frame="heading")
    rows = spec.encode(clip).astype(np.float32)
    here, there = (spec.decode(r, skeleton=SKELETON) for r in (rows, rows.astype(np.float64)))
    assert np.array_equal(here.root_positions, there.root_positions)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_track_is_the_root_of_decode(frame, representation):
    clip = random_clip(100)
    spec = FeatureSpec(len(NAMES), representation, frame)
    yaw = float(quat_yaw(clip.rotations[0, 0]))
    track = spec.track(spec.encode(clip), 30, clip.root_positions[0], yaw=yaw)
    assert np.abs(track[:, :2] - clip.root_positions[:, [0, 2]]).max() < 1e-9
    assert np.abs(track[:, 2] - np.unwrap(quat_yaw(clip.rotations[:, 0]))).max() < 1e-9


# ---- valid rotations


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_make_valid(representation, dtype):
    spec = FeatureSpec(3, representation, height=True)
    rng = np.random.default_rng(0)
    rows = (10 * rng.normal(size=(50, spec.dim))).astype(dtype)
    valid = spec.make_valid(rows)
    part = slice(3, spec.slices["joints"].stop)
    assert valid.dtype == dtype and np.array_equal(np.delete(valid, part, 1), np.delete(rows, part, 1))
    rotations = valid[:, part].reshape(50, 4, spec.width).astype(np.float64)
    small = 1e-6 if dtype == np.float32 else 1e-14
    before = rows[:, part].reshape(50, 4, spec.width).astype(np.float64)
    if representation == "quat":
        assert np.abs(rotations - before / np.linalg.norm(before, axis=-1, keepdims=True)).max() < small
    elif representation == "exp_map":
        assert np.linalg.norm(rotations, axis=-1).max() <= np.pi + small
        assert same_rotation(exp_map_to_quat(rotations), exp_map_to_quat(before)) < 10 * small
        assert np.abs(rotations - quat_to_exp_map(exp_map_to_quat(before))).max() < 1e3 * small
    else:
        x, y = rotations[..., :3], rotations[..., 3:]
        assert np.abs(np.sum(x * y, axis=-1)).max() < small
        assert np.abs(np.sum(x * x, axis=-1) - 1).max() < small and np.abs(np.sum(y * y, axis=-1) - 1).max() < small
        assert (np.sum(x * before[..., :3], axis=-1) > 0).all()
    assert np.abs(spec.make_valid(valid) - valid).max() < small


def test_make_valid_keeps_the_frame_before_where_there_is_no_rotation():
    for representation in ("quat", "6d"):
        spec = FeatureSpec(2, representation)
        previous = spec.make_valid(np.random.default_rng(0).normal(size=spec.dim))
        assert np.array_equal(spec.make_valid(np.zeros(spec.dim), previous)[3:], previous[3:])
    flat = np.zeros(FeatureSpec(1, "6d").dim)
    flat[3:9] = flat[9:15] = [1, 2, 3, 2, 4, 6]  # both columns in line
    assert FeatureSpec(1, "6d").make_valid(flat)[3:9] == pytest.approx([1, 0, 0, 0, 1, 0])
    assert (FeatureSpec(1, "exp_map").make_valid(np.zeros(9)) == 0).all()


def test_make_valid_lets_what_is_not_finite_through_and_survives_extremes():
    spec = FeatureSpec(1)
    assert np.isnan(spec.make_valid(np.full(spec.dim, np.nan))).all()
    for size in (1e-300, 1e300):
        row = np.full(spec.dim, size)
        assert spec.make_valid(row)[3:] == pytest.approx(np.full(8, 0.5))
        assert np.isfinite(FeatureSpec(1, "exp_map").make_valid(np.full(9, size))).all()
        assert np.isfinite(
            FeatureSpec(1, "6d").make_valid(np.r_[np.zeros(3), size, 0, 0, 0, size, 0, size, 0, 0, 0, size, 0])
        ).all()


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_the_gradient_through_make_valid_is_the_difference_quotient(representation):
    spec = FeatureSpec(2, representation, height=True)
    rng = np.random.default_rng(3)
    rows = 3 * rng.normal(size=(20, spec.dim))
    gradient = rng.normal(size=rows.shape)
    analytic = _core.features_make_valid_backward(spec.layout, gradient, rows)
    numeric = np.empty_like(rows)
    for c in range(spec.dim):
        step = np.zeros(spec.dim)
        step[c] = 1e-6
        numeric[:, c] = np.sum(gradient * (spec.make_valid(rows + step) - spec.make_valid(rows - step)), axis=1) / 2e-6
    assert np.abs(analytic - numeric).max() < 1e-7
    assert (_core.features_make_valid_backward(spec.layout, gradient, np.zeros_like(rows))[:, 3:-1] == 0).all() or (
        representation == "exp_map"
    )


# ---- trajectory


def test_trajectory_block_by_hand():
    """A root on a circle of 2 m, seen from itself: the same block everywhere."""
    angle = np.arange(100) * 0.02
    path = np.stack([2 * (1 - np.cos(angle)), np.zeros(100), 2 * np.sin(angle)], axis=1)
    blocks = Trajectory((-0.5, 0.0, 1.0)).encode(path, np.angle(np.exp(1j * angle)), 30, np.arange(15, 70))
    there = 30 * 0.02
    expected = [2 * (1 - np.cos(there)), 2 * np.sin(there), np.sin(there), np.cos(there)]
    assert np.abs(blocks[:, 8:] - expected).max() < 1e-12
    assert np.abs(blocks[:, 4:8] - [0, 0, 0, 1]).max() < 1e-12
    back = -15 * 0.02
    assert np.abs(blocks[:, :4] - [2 * (1 - np.cos(back)), 2 * np.sin(back), np.sin(back), np.cos(back)]).max() < 1e-12


def test_trajectory_between_frames_is_linear_and_goes_straight_on_beyond_the_ends():
    path = np.array([[0, 0], [0, 1], [0, 2.0]])
    yaw = np.array([0, 0.2, 0.4])
    trajectory = Trajectory((0.05, 0.5))
    block = trajectory.encode(path, yaw, 10, [0])[0]
    assert block == pytest.approx([0, 0.5, np.sin(0.1), np.cos(0.1), 0, 5, np.sin(0.4), np.cos(0.4)])
    before = Trajectory((-0.3,)).encode(path, yaw, 10, [1], root=[[0, 0, 0]])[0]
    assert before == pytest.approx([0, -2, 0, 1])
    assert Trajectory((1.0,)).encode(path[:1], yaw[:1], 10)[0] == pytest.approx([0, 0, 0, 1])


def test_trajectory_seen_from_the_characters_own_root():
    path = np.arange(60)[:, None] / 30 * [0.0, 1.0]
    block = Trajectory((1.0,)).encode(path, np.zeros(60), 30, [0], root=[[0.5, -0.2, np.pi / 2]])[0]
    assert block == pytest.approx([-1.2, -0.5, -1, 0])  # 1.2 m to the left is -x once the character faces +x


def test_trajectory_future_and_names():
    trajectory = Trajectory((-1, 0, 0.5))
    assert (trajectory.dim, trajectory.out_dim, trajectory.future) == (12, 4, (0.5,))
    assert trajectory.columns[:4] == ("x-1s", "z-1s", "sin-1s", "cos-1s")
    assert trajectory.encode(np.zeros((5, 3)), np.zeros(5), 30, future=True).shape == (5, 4)


@given(seed=st.integers(0, 10**6), turn=st.floats(-3, 3), shift=st.floats(-100, 100))
@settings(max_examples=30, deadline=None)
def test_a_trajectory_block_does_not_depend_on_place_and_direction(seed, turn, shift):
    rng = np.random.default_rng(seed)
    path, yaw = np.cumsum(rng.normal(size=(40, 3)), axis=0), np.cumsum(rng.normal(0, 0.5, 40))
    trajectory = Trajectory((-0.4, 0.33, 2.0))
    moved = quat_rotate(reference.about_y(np.array(turn)), path) + [shift, 0, -shift]
    assert np.abs(trajectory.encode(path, yaw, 30) - trajectory.encode(moved, yaw + turn, 30)).max() < 1e-9


# ---- what is refused


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"joints": 0}, ValueError, "joints must be at least|joints must be in"),
        ({"joints": -3}, ValueError, "joints"),
        ({"joints": 10**12}, ValueError, "joints"),
        ({"joints": True}, TypeError, "joints"),
        ({"joints": 2.5}, TypeError, "joints"),
        ({"joints": "Hips"}, TypeError, "joints must be a sequence of names"),
        ({"joints": None}, TypeError, "joints"),
        ({"joints": {"a", "b"}}, TypeError, "joints must be a sequence of names, got set"),  # no order of its own
        ({"points": frozenset("a")}, TypeError, "points must be a sequence of names, got frozenset"),
        ({"joints": []}, ValueError, "joints must hold at least one"),
        ({"joints": ["a", 1]}, TypeError, r"joints\[1\]"),
        ({"joints": ["a", "b", "a"]}, ValueError, r"joints\[2\]='a'"),
        ({"representation": "euler"}, ValueError, "representation must be 'quat' or 'exp_map' or '6d', got 'euler'"),
        ({"representation": 6}, TypeError, "representation"),
        ({"frame": "local"}, ValueError, "frame"),
        ({"frame": None}, TypeError, "frame"),
        ({"yaw_rate": 1}, TypeError, "yaw_rate"),
        ({"height": "no"}, TypeError, "height"),
        ({"points": "Hips"}, TypeError, "points"),
        ({"points": [3]}, TypeError, r"points\[0\]"),
        ({"contacts": 2}, TypeError, "contacts"),
        ({"phase_step": None}, TypeError, "phase_step"),
        ({"control": (0.5,)}, TypeError, "control must be a Trajectory"),
        ({"predict": "residual"}, ValueError, "predict"),
    ],
)
def test_wrong_settings(options, error, text):
    with pytest.raises(error, match=text):
        FeatureSpec(**options)


@pytest.mark.parametrize(
    ("times", "error"),
    [
        ((), ValueError),
        ((0.5, 0.5), ValueError),
        ((1, 0.5), ValueError),
        ((np.nan,), ValueError),
        ((np.inf,), ValueError),
    ]
    + [("0.5", TypeError), (0.5, TypeError), (("a",), TypeError), ((None,), TypeError), (range(1001), ValueError)],
)
def test_wrong_times(times, error):
    with pytest.raises(error, match="times"):
        Trajectory(times)


@pytest.mark.parametrize(("positions", "yaw", "name"), [(1e308, 0, "positions"), (0, -1e101, "yaw")])
def test_paths_without_end_are_refused(positions, yaw, name):
    """Two places whose difference is no number would make control blocks of NaN."""
    path = np.array([[positions, 0, 0], [-positions, 0, 0]], float)
    with pytest.raises(ValueError, match=rf"{name}\[0.*is beyond 1e\+100"):
        Trajectory().encode(path, np.full(2, yaw, float), 30)


def test_wrong_clips_and_rows():
    spec, clip = FeatureSpec(len(NAMES)), random_clip()
    rows = spec.encode(clip)
    with pytest.raises(TypeError, match="clip must be a Clip"):
        spec.encode(rows)
    with pytest.raises(ValueError, match="24 joints, this one has 8"):
        FeatureSpec().encode(clip)
    with pytest.raises(TypeError, match="skeleton must be a Skeleton, got Clip"):
        spec.joint_indices(clip)
    with pytest.raises(ValueError, match="Tail"):
        FeatureSpec(["Hips", "Tail"]).encode(clip)
    with pytest.raises(ValueError, match=r"points\[1\]='Head_end'"):
        FeatureSpec(8, points=["Head", "Head_end"]).encode(clip)
    with pytest.raises(ValueError, match="features must have shape"):
        spec.decode(rows[:, :-1], skeleton=SKELETON)
    with pytest.raises(ValueError, match="features must have shape"):
        spec.decode(rows[0], skeleton=SKELETON)
    bad = rows.copy()
    bad[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"features\[7, 2\]=nan is not finite"):
        spec.decode(bad, skeleton=SKELETON)
    for options, error in [
        ({"skeleton": None}, TypeError),
        ({"skeleton": SKELETON, "fps": 0}, ValueError),
        ({"skeleton": SKELETON, "fps": "30"}, TypeError),
        ({"skeleton": SKELETON, "yaw": np.inf}, ValueError),
        ({"skeleton": SKELETON, "origin": (0, 0)}, ValueError),
        ({"skeleton": SKELETON, "origin": (0, 0, np.nan)}, ValueError),
    ]:
        with pytest.raises(error):
            spec.decode(rows, **options)
    with pytest.raises(TypeError, match="real numbers"):
        spec.decode(rows.astype(complex), skeleton=SKELETON)


@pytest.mark.parametrize(
    "layout",
    [
        None,
        (),
        (0,) * 10,
        [0] * 11,
        (0,) * 12,
        ("a",) * 11,
        (9,) + (0,) * 10,
        (0, 0, -1) + (0,) * 8,
        (0, 0, 2**40) + (0,) * 8,
        (0,) * 9 + (1, 0),
    ],
)
def test_the_core_refuses_what_is_no_layout(layout):
    with pytest.raises((TypeError, ValueError)):
        _core.features_track(layout, np.zeros((1, 7)), (0.0, 0.0, 0.0), 0.0, 30.0)
