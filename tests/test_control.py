"""Steering: springs against SciPy, the trajectory that a network is asked with, ticks, foot locking, wrong input."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import pfnnc
from pfnnc import Character, Clip, Controller, FeatureSpec, MotionModel, Skeleton, Trajectory, _core, make_gait_clip
from pfnnc.rotation import from_yaw
from pfnnc.viewer.play import demo_model, start_of

TIMES = np.array([1 / 3, 2 / 3, 1.0])
SETTINGS = (0.25, 0.2, 10.0, 5.0, 0.0)  # velocity and facing half-life, leash, top speed, trust
FPS = 30.0


def new_control(root=(0.0, 0.0, 0.0), velocity=(0.0, 0.0)):
    state = np.zeros(_core.CONTROL_SIZE)
    _core.control_start(state, root, velocity)
    return state


def step_control(state, command, *, settings=SETTINGS, root=(0.0, 0.0, 0.0), foreseen=None, dt=1 / FPS, times=TIMES):
    wanted = np.full((len(times), 3), np.nan)
    _core.control_step(state, wanted, times, settings, command, root, foreseen, dt)
    return wanted


# ---- the virtual root


def test_springs_against_an_integrator():
    y = 1.6783469900166605 / 0.25
    turn = 1.6783469900166605 / 0.2
    goal, facing = np.array([0.7, 1.1]), 1.2

    def slope(_, s):
        velocity, acceleration, angle, spin = s[2:4], s[4:6], s[6], s[7]
        jerk = -2 * y * acceleration - y * y * (velocity - goal)
        return [*velocity, *acceleration, *jerk, spin, -2 * turn * spin - turn * turn * (angle - facing)]

    start = [0.3, -0.2, 0.1, 0.4, 0, 0, 0.5, 0]
    exact = solve_ivp(slope, (0, 1), start, rtol=1e-11, atol=1e-12, dense_output=True).sol
    root = (0.3, -0.2, 0.5)
    wanted = step_control(new_control(root, (0.1, 0.4)), (*goal, facing), root=root)
    for row, t in zip(wanted, TIMES, strict=True):
        np.testing.assert_allclose(row, exact(t)[[0, 1, 6]], atol=1e-8)


@pytest.mark.parametrize("steps", [1, 7, 60])
def test_steps_of_any_length_agree(steps):
    states = new_control(velocity=(1.0, 0.0)), new_control(velocity=(1.0, 0.0))
    for state, n in zip(states, (1, steps), strict=True):
        for _ in range(n):
            step_control(state, (0.0, 1.4, math.nan), dt=1 / n)
    np.testing.assert_allclose(*states, atol=1e-9)


def test_half_of_a_change_after_a_half_life():
    state = new_control()
    step_control(state, (0.0, 2.0, 1.0), dt=0.25, settings=(0.25, 0.25, 10.0, 5.0, 0.0))
    np.testing.assert_allclose(state[3], 1.0, atol=1e-9)  # velocity
    np.testing.assert_allclose(state[6], 0.5, atol=1e-9)  # facing


def test_facing_goes_the_shorter_way_and_follows_the_motion():
    wanted = step_control(new_control((0, 0, 3.0)), (0.0, 0.0, -3.0))
    assert (wanted[:, 2] > 3.0).all() and (wanted[:, 2] <= 2 * np.pi - 3.0 + 1e-9).all()
    state = new_control()
    for _ in range(300):
        step_control(state, (1.0, 0.0, math.nan))
    np.testing.assert_allclose(state[6], np.pi / 2, atol=1e-6)
    for _ in range(300):
        wanted = step_control(state, (0.0, 0.0, math.nan), root=(*state[:2], 0.0))  # it stands and keeps its facing
    np.testing.assert_allclose(wanted[:, 2], np.pi / 2, atol=1e-6)
    np.testing.assert_allclose(wanted[:, :2], np.tile(state[:2], (3, 1)), atol=1e-6)


def test_what_a_character_is_behind_it_makes_up_over_the_trajectory():
    place, behind = np.array([1.0, 2.0]), np.array([0.3, -0.6])
    there = step_control(new_control((*place, 0.0), (0.2, 1.0)), (0.0, 1.4, 0.0), root=(*place, 0.0))
    late = step_control(new_control((*place, 0.0), (0.2, 1.0)), (0.0, 1.4, 0.0), root=(*(place - behind), 0.0))
    np.testing.assert_allclose(there[:, :2] - late[:, :2], (1 - TIMES[:, None]) * behind, atol=1e-12)
    np.testing.assert_allclose(there[:, 2], late[:, 2])


def test_leash_and_top_speed():
    state = new_control()
    for _ in range(200):  # a character that does not follow
        step_control(state, (30.0, 40.0, math.nan), settings=(0.25, 0.2, 0.25, 2.0, 0.0))
    np.testing.assert_allclose(np.hypot(*state[:2]), 0.25)
    np.testing.assert_allclose(state[2:4], [1.2, 1.6], atol=1e-9)


def test_trust_in_the_network():
    root = (1.0, 2.0, 0.5)
    foreseen = np.array([[0.1, 0.4, np.sin(0.2), np.cos(0.2)]] * 3)
    alone = step_control(new_control(root), (0.0, 0.0, math.nan), root=root)
    mixed = step_control(new_control(root), (0.0, 0.0, math.nan), root=root, foreseen=foreseen, settings=(*SETTINGS[:4], 0.6))
    x, _, z = Rotation.from_rotvec([0, 0.5, 0]).apply([0.1, 0, 0.4])
    seen = np.array([1 + x, 2 + z, 0.7])
    for row, plain, t in zip(mixed, alone, TIMES, strict=True):
        np.testing.assert_allclose(row, plain + 0.6 * (1 - t) * (seen - plain), atol=1e-12)
    np.testing.assert_allclose(mixed[-1], alone[-1])


def test_past_times_are_left_alone():
    times = np.array([-0.5, 0.0, 0.5])
    wanted = step_control(new_control(), (0.0, 1.0, math.nan), times=times)
    assert np.isnan(wanted[:2]).all() and np.isfinite(wanted[2]).all()


# ---- legs


def leg(angles, parent):
    """World points of hip, knee and ankle of a leg of 0.4 and 0.45 m, and its local rotations."""
    q = np.roll(Rotation.from_euler("zxy", angles).as_quat(), 1, axis=-1)
    hip = Rotation.from_quat(np.roll(parent, -1)) * Rotation.from_euler("zxy", angles[0])
    knee = hip * Rotation.from_euler("zxy", angles[1])
    a = np.array([0.1, 0.9, 0.2])
    b = a + hip.apply([0, -0.4, 0])
    return np.array([a, b, b + knee.apply([0, -0.45, 0])]), np.ascontiguousarray(q)


def points_of(q, parent, a):
    hip = Rotation.from_quat(np.roll(parent, -1)) * Rotation.from_quat(np.roll(q[0], -1))
    knee = hip * Rotation.from_quat(np.roll(q[1], -1))
    b = a + hip.apply([0, -0.4, 0])
    ankle = knee * Rotation.from_quat(np.roll(q[2], -1))
    return np.array([a, b, b + knee.apply([0, -0.45, 0])]), ankle


@pytest.mark.parametrize("seed", range(40))
def test_the_ankle_reaches_its_target_and_keeps_its_orientation(seed):
    rng = np.random.default_rng(seed)
    parent = np.roll(Rotation.random(rng=seed).as_quat(), 1)
    angles = np.array([rng.normal(0, 0.4, 3), [0.1 * rng.normal(), rng.uniform(0.05, 1.5), 0], rng.normal(0, 0.4, 3)])
    points, q = leg(angles, parent)
    _, before = points_of(q, parent, points[0])
    target = points[2] + rng.normal(0, 0.08, 3)
    reach = np.linalg.norm(target - points[0])
    if reach > 0.849:
        target = points[0] + (target - points[0]) * 0.849 / reach
    plane = np.cross(points[2] - points[0], points[1] - points[0])
    _core.two_bone_ik(q, parent, points, target)
    after, ankle = points_of(q, parent, points[0])
    np.testing.assert_allclose(after[2], target, atol=1e-9)
    assert (before.inv() * ankle).magnitude() < 1e-9
    # the knee does not flip over
    assert np.cross(after[2] - after[0], after[1] - after[0]) @ plane > 0


def test_targets_out_of_reach_and_straight_legs():
    parent = np.array([1.0, 0, 0, 0])
    for bend in (0.0, 1e-9, 1e-4, 0.5):
        for target in ([0.1, -3.0, 0.2], [5.0, 0.9, 0.2], [0.1, 0.9, 0.2], [0.1, 0.89, 0.2], [0.1, 0.3, 0.3]):
            points, q = leg(np.array([[0, 0, 0], [0, bend, 0], [0, 0, 0]]), parent)
            _core.two_bone_ik(q, parent, points, np.array(target, float))
            assert np.isfinite(q).all()
            np.testing.assert_allclose(np.linalg.norm(q, axis=1), 1, atol=1e-12)
            after, _ = points_of(q, parent, points[0])
            away = np.array(target) - points[0]
            reach = np.linalg.norm(away)
            if 0.06 < reach:  # in the direction of the target, as far as the leg can
                wanted = points[0] + away * min(1, 0.85 / reach)
                np.testing.assert_allclose(after[2], wanted, atol=2e-3)


def walk_with_sliding_feet():
    """A standing figure whose root drifts 4 mm a frame sideways (U63)."""
    skeleton = Skeleton(
        ["Hips", "LeftUpLeg", "LeftLeg", "LeftFoot", "RightUpLeg", "RightLeg", "RightFoot"],
        [-1, 0, 1, 2, 0, 4, 5],
        [[0, 0, 0], [0.1, 0, 0], [0, -0.4, 0], [0, -0.4, 0], [-0.1, 0, 0], [0, -0.4, 0], [0, -0.4, 0]],
    )
    q = np.tile([1.0, 0, 0, 0], (40, 7, 1))
    for joint, angle in ((1, -0.3), (2, 0.6), (3, -0.3), (4, -0.3), (5, 0.6), (6, -0.3)):
        q[:, joint] = [np.cos(angle / 2), np.sin(angle / 2), 0, 0]
    root = np.tile([0.0, 0.78, 0.0], (40, 1))
    root[:, 0] = 0.004 * np.arange(40)
    return Clip(skeleton, root, q, 30)


def test_locked_feet_stand_and_come_back_softly():
    from pfnnc.control import _Legs

    clip = walk_with_sliding_feet()
    legs, rotations = _Legs(clip.skeleton, ()), clip.rotations.copy()
    contact = np.zeros((40, 2), bool)
    contact[5:30, 0] = True
    for i in range(40):
        legs.lock(rotations[i], clip.root_positions[i], contact[i], 1 / 30, 0.2, 0.08)
    moved = Clip(clip.skeleton, clip.root_positions, rotations, 30).positions()
    was = clip.positions()
    left, right = clip.skeleton.index("LeftFoot"), clip.skeleton.index("RightFoot")
    assert abs(np.diff(moved[5:30, left], axis=0)).max() < 1e-9  # stands still where it slid 96 mm
    np.testing.assert_allclose(moved[5, left], was[5, left], atol=1e-12)  # where it was
    np.testing.assert_allclose(moved[:, right], was[:, right], atol=1e-12)
    steps = np.linalg.norm(np.diff(moved[29:, left], axis=0), axis=1)
    assert steps.max() < 0.05 and np.linalg.norm(moved[-1, left] - was[-1, left]) < 0.01


def test_a_foot_too_far_from_its_animation_is_let_go():
    from pfnnc.control import _Legs

    clip = walk_with_sliding_feet()
    legs, rotations = _Legs(clip.skeleton, ()), clip.rotations.copy()
    for i in range(40):
        legs.lock(rotations[i], clip.root_positions[i], np.array([True, False]), 1 / 30, 0.05, 0.08)
    foot = Clip(clip.skeleton, clip.root_positions, rotations, 30).positions()[:, clip.skeleton.index("LeftFoot")]
    was = clip.positions()[:, clip.skeleton.index("LeftFoot")]
    assert abs(foot[12] - foot[0]).max() < 1e-9
    assert np.linalg.norm(foot - was, axis=1).max() <= 0.05 + 1e-9 and np.linalg.norm(foot[-1] - was[-1]) < 0.01


# ---- a root that its feet carry


def gripped(clip, contacts, share):
    """The way (x, z) of the root in each frame of a clip, and where the soles then are."""
    from pfnnc.control import _Legs

    legs, root, way, places = _Legs(clip.skeleton, ()), clip.root_positions.copy(), [], []
    yaw = np.linspace(-1, 4, len(clip))  # taken out of the rotations, which the core puts back
    turned = clip.rotations.copy()
    turned[:, 0] = pfnnc.quat_mul(from_yaw(-yaw), turned[:, 0])
    for i in range(len(clip)):
        by = legs.grip(turned[i], yaw[i], root[i], np.array(contacts[i], float), share if i else 0.0, 1 / 30)
        root[i:, [0, 2]] += by
        way.append(by)
        places.append(legs.places.copy())
    return np.array(way), np.array(places), root


def test_a_root_goes_where_standing_feet_carry_it():
    clip = walk_with_sliding_feet()  # 4 mm a frame sideways
    soles = clip.positions()[:, [clip.skeleton.index("LeftFoot"), clip.skeleton.index("RightFoot")]]
    for contacts, share, part in (((1, 0), 1, 1), ((1, 1), 1, 1), ((0, 0), 1, 0), ((1, 1), 0.25, 0.25), ((0.2, 0.3), 1, 0.5),
                                  ((7, -3), 1, 1), ((1, 1), 0, 0)):  # fmt: skip
        way, places, root = gripped(clip, [contacts] * 40, share)
        np.testing.assert_allclose(way[1:], np.tile([-0.004 * part, 0], (39, 1)), atol=1e-12)
        np.testing.assert_allclose(root[:, 0], 0.004 * (1 - part) * np.arange(40), atol=1e-12)
        np.testing.assert_allclose(places - soles, (root - clip.root_positions)[:, None] + np.zeros((1, 2, 1)), atol=1e-12)
        assert not way[0].any()


def test_feet_that_differ_and_feet_that_fly():
    """Against the formula, in plain NumPy: mean of the slides by contact and by how slow a foot is."""
    rng = np.random.default_rng(3)
    clip = walk_with_sliding_feet()
    q = pfnnc.quat_normalize(clip.rotations + rng.normal(0, 0.01, clip.rotations.shape))
    contacts = rng.uniform(0, 1, (40, 2))
    clip = Clip(clip.skeleton, clip.root_positions * [[4.5, 1, 1]], q, 30)
    way = gripped(clip, contacts, 0.9)[0]
    slide = np.diff(clip.positions()[:, [3, 6]], axis=0)[..., [0, 2]]
    speed = np.linalg.norm(slide, axis=-1) * 30
    weight = contacts[1:] * np.clip((0.6 - speed) / 0.3, 0, 1)
    expected = -0.9 * (weight[..., None] * slide).sum(1) / np.maximum(weight.sum(1), 1)[:, None]
    np.testing.assert_allclose(way[1:], expected, atol=1e-12)
    assert (weight == 0).any() and (weight > 0.5).any() and ((weight > 0) & (weight < 0.5)).any()


# ---- the controller


@pytest.fixture(scope="module")
def model():
    walk = make_gait_clip("walk", seconds=6, speed=1.2)
    return MotionModel.train([walk.clip], phases=[walk.phase], hidden=16, epochs=3, rollout=2, output_len=3, progress=False)


@pytest.fixture
def start():
    return make_gait_clip("walk", seconds=2, speed=1.2).clip


def controller_of(model, start, **options):
    return Controller(model.character(start, phase=0.2), **options)


def test_the_network_is_asked_with_the_wanted_trajectory(model, start):
    seen = []

    class Recording:
        dtype, in_dim, out_dim = np.dtype(np.float32), model.model.in_dim, model.model.out_dim

        def __call__(self, x, phase):
            seen.append(x[0].copy())
            return model.model(x, phase)

    spy = MotionModel(**{**vars(model), "model": Recording()})
    controller = controller_of(spy, start, trust=0.0)
    root = controller.character.root_position
    yaw = controller.character.yaw
    controller.step(1 / 30, (0.5, 1.0), 0.3)
    positions, facings = controller.trajectory
    block = model.spec.control.encode(
        np.concatenate([[root], positions]), np.concatenate([[yaw], facings]), 6, [0], root=[[root[0], root[2], yaw]],
        future=True,
    )  # fmt: skip
    np.testing.assert_allclose(seen[0][-block.size :], block[0], atol=1e-5)


def test_ticks_of_any_length_show_the_same_motion(model, start):
    """U50: a network trained at 30 frames a second, ticked at 20 to 144."""
    places = {}
    for rate in (20, 30, 60, 90, 144):
        controller = controller_of(model, start)
        poses = [controller.step(1 / rate, (0.0, 1.2)) for _ in range(2 * rate)]
        places[rate] = poses[-1]
        assert np.isfinite([p.root_position for p in poses]).all()
    for rate, pose in places.items():
        np.testing.assert_allclose(pose.root_position, places[30].root_position, atol=1e-6, err_msg=str(rate))
        np.testing.assert_allclose(abs((pose.rotations * places[30].rotations).sum(-1)), 1, atol=1e-6)


def test_poses_between_two_frames_lie_between(model, start):
    a, b = controller_of(model, start), controller_of(model, start)
    whole = [a.step(1 / 30, (0.0, 1.2)) for _ in range(3)]
    b.step(2 / 30, (0.0, 1.2))
    half = b.step(1 / 60, (0.0, 1.2))
    np.testing.assert_allclose(half.root_position, (whole[1].root_position + whole[2].root_position) / 2, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(half.rotations, axis=-1), 1, atol=1e-9)


def test_camera_frame(model, start):
    for camera, velocity, world in (
        (0.0, (1.0, 0.0), (-1.0, 0.0)),  # the right hand of someone who looks along +z
        (np.pi / 2, (0.0, 1.0), (1.0, 0.0)),
        (np.pi / 2, (1.0, 0.0), (0.0, 1.0)),
        (np.pi, (1.0, 2.0), (1.0, -2.0)),
    ):
        a, b = controller_of(model, start), controller_of(model, start)
        first = a.step(0.5, velocity, 0.3, camera=camera)
        second = b.step(0.5, world, 0.3 + camera)
        np.testing.assert_allclose(first.root_position, second.root_position, atol=1e-6)
        np.testing.assert_allclose(a.trajectory[0], b.trajectory[0], atol=1e-6)


def test_state_and_restore(model, start):
    for options in ({}, {"lock_feet": True}, {"grip": 0.0}, {"grip": 0.0, "lock_feet": True}):
        controller = controller_of(model, start, **options)
        controller.step(0.41, (0.3, 1.0))
        state = controller.state()
        poses = [controller.step(0.021, (1.0, 0.5)) for _ in range(20)]
        for other in (controller, controller_of(model, start, **options)):
            other.restore(state)
            assert other.state() == state
            again = [other.step(0.021, (1.0, 0.5)) for _ in range(20)]
            for a, b in zip(again, poses, strict=True):
                np.testing.assert_array_equal(a.root_position, b.root_position)
                np.testing.assert_array_equal(a.rotations, b.rotations)
        flipped = [bytearray(state) for _ in range(0, len(state), 37)]
        for i, damaged in enumerate(flipped):
            damaged[37 * i] ^= 1 << i % 8
        now = controller.state()
        for wrong in (b"", state[:-1], state[1:], bytes(len(state)), b"x" * 50, *map(bytes, flipped)):
            with pytest.raises(ValueError, match="state"):
                controller.restore(wrong)
        assert controller.state() == now
        with pytest.raises(TypeError, match="bytes"):
            controller.restore(None)


def test_a_state_of_other_fps_is_refused(model, start):
    controller, other = controller_of(model, start), controller_of(model, start, fps=60)
    controller.step(0.021, (1.0, 0.5))
    before = other.state()
    with pytest.raises(ValueError, match="state is of a Controller of other fps than 60"):
        other.restore(controller.state())
    assert other.state() == before


@pytest.mark.parametrize("option", ["velocity_halflife", "facing_halflife", "lock_halflife"])
def test_endless_halflives_are_refused(model, start, option):
    with pytest.raises(ValueError, match=f"{option} must be at most 3600"):
        controller_of(model, start, **{option: 1e8})
    with pytest.raises(ValueError, match="fps must be at least 1"):
        controller_of(model, start, fps=1e-320)


def test_foot_locking_changes_the_poses_only(model, start):
    plain, locked = controller_of(model, start), controller_of(model, start, lock_feet=True)
    for _ in range(30):
        a, b = plain.step(1 / 30, (0, 1.2)), locked.step(1 / 30, (0, 1.2))
        np.testing.assert_array_equal(a.root_position, b.root_position)
    assert plain.character.state() == locked.character.state()


def test_with_a_grip_feet_slide_less_and_the_velocity_is_that_of_the_root():
    demo = demo_model()
    clip, phase = start_of(demo)
    slides = []
    for grip in (0.0, 1.0):
        controller = Controller(demo.character(clip, phase=phase), grip=grip)
        np.testing.assert_allclose(controller.pose.root_position, clip.root_positions[-1], atol=1e-12)
        poses = [controller.pose] + [controller.step(1 / 30, (0, 1.2)) for _ in range(90)]
        shown = Clip(demo.skeleton, [p.root_position for p in poses], [p.rotations for p in poses], 30)
        steps = np.diff(shown.positions()[:, [demo.skeleton.index(name) for name in demo.feet]], axis=0)[..., [0, 2]]
        stands = np.array([p.contacts for p in poses[1:]]) > 0.5
        slides.append(np.linalg.norm(steps, axis=-1)[stands].mean())
        moved = np.diff([p.root_position for p in poses], axis=0) * 30
        np.testing.assert_allclose([p.velocity for p in poses[1:]], moved, atol=1e-9)
        np.testing.assert_array_equal(controller.character.root_position, poses[-1].root_position)
    assert slides[1] < 0.6 * slides[0] < 0.004


def test_no_grip_without_contacts_or_legs(model, start):
    walk = make_gait_clip("walk", seconds=4, speed=1.2)
    options = {"phases": [walk.phase], "hidden": 4, "epochs": 0, "progress": False}
    plain = MotionModel.train([walk.clip], contacts=False, contact_weight=0.0, **options)
    whole = MotionModel.train([walk.clip], joints="all", mirror=False, **options)
    joints = whole.skeleton
    nameless = Skeleton([f"j{i}" for i in range(len(joints))], joints.parents, joints.offsets)
    rows, phase, origin, yaw = whole._start(start, 0.2)

    def stranger():
        return Character(whole.model, whole.spec, whole.normalizer, rows[-2:], phase, 1.3, origin=origin, yaw=yaw)

    for character, more in ((lambda: plain.character(start, phase=0.2), {}), (stranger, {"skeleton": nameless})):
        places = [Controller(character(), grip=grip, **more).step(0.2, (0, 1)).root_position for grip in (0, 1)]
        np.testing.assert_array_equal(*places)
    with pytest.raises(ValueError, match="find the feet"):
        Controller(stranger(), skeleton=nameless, lock_feet=True)


def test_a_prediction_that_is_not_finite(model, start):
    class Fails:
        dtype, in_dim, out_dim = np.dtype(np.float32), model.model.in_dim, model.model.out_dim
        fail = False

        def __call__(self, x, phase):
            return model.model(x, phase) * (np.nan if self.fail else 1)

    network = Fails()
    controller = controller_of(MotionModel(**{**vars(model), "model": network}), start)
    controller.step(0.2, (0, 1))
    state = controller.state()
    network.fail = True
    with pytest.raises(FloatingPointError):
        controller.step(1 / 30, (0, 1))
    assert controller.state() == state
    network.fail = False
    controller.step(1 / 30, (0, 1))


def test_a_character_without_a_motion_model(model, start):
    rows, phase, origin, yaw = model._start(start, 0.2)
    character = Character(model.model, model.spec, model.normalizer, rows[-2:], phase, 1.3, origin=origin, yaw=yaw)
    with pytest.raises(TypeError, match="skeleton"):
        Controller(character)
    pose = Controller(character, skeleton=model.skeleton).step(0.1, (0, 1))
    assert pose.rotations.shape == (len(model.skeleton), 4)


def test_wrong_input(model, start):
    spec = FeatureSpec(3)
    plain = Character(lambda x, p: np.zeros((1, spec.dim)), spec, None, np.ones((2, spec.dim)), 0.0, 1.0)
    for character, error in ((None, TypeError), (model, TypeError), (plain, ValueError)):
        with pytest.raises(error, match="character"):
            Controller(character)
    for name, value, error in (
        ("velocity_halflife", 0, ValueError), ("velocity_halflife", "x", TypeError),
        ("facing_halflife", -1, ValueError),
        ("leash", -0.1, ValueError), ("max_speed", np.nan, ValueError), ("trust", 1.1, ValueError),
        ("grip", -0.1, ValueError), ("grip", 1.1, ValueError), ("grip", None, TypeError),
        ("lock_feet", 1, TypeError), ("lock_radius", -1, ValueError), ("lock_halflife", 0, ValueError),
        ("fps", 0, ValueError), ("fps", 1e9, ValueError), ("skeleton", 3, TypeError),
        ("skeleton", Skeleton(["a"], [-1], [[0, 0, 0]]), ValueError),
    ):  # fmt: skip
        with pytest.raises(error):
            controller_of(model, start, **{name: value})
    controller = controller_of(model, start)
    state = controller.state()
    good = {"dt": 0.1, "velocity": (0, 1)}
    for name, value, error in (
        ("dt", 0, ValueError), ("dt", -1, ValueError), ("dt", 11, ValueError), ("dt", np.nan, ValueError),
        ("dt", None, TypeError), ("velocity", (1,), ValueError), ("velocity", (0, np.inf), ValueError),
        ("velocity", None, TypeError), ("velocity", "ab", TypeError), ("facing", np.nan, ValueError),
        ("facing", "x", TypeError), ("camera", np.inf, ValueError), ("camera", (1, 2), TypeError),
    ):  # fmt: skip
        with pytest.raises(error, match=name):
            controller.step(**{**good, name: value})
    assert controller.state() == state


def test_trajectories_with_a_past(start):
    walk = make_gait_clip("walk", seconds=6, speed=1.2)
    model = MotionModel.train(
        [walk.clip], phases=[walk.phase], hidden=16, epochs=1, rollout=2, output_len=3, progress=False,
        control=Trajectory((-0.5, -0.1, 0.5, 1.0)),
    )  # fmt: skip
    controller = Controller(model.character(walk.clip[:40], phase=float(walk.phase[39])))
    for _ in range(40):
        controller.step(1 / 30, (0.0, 1.2))
    assert np.isfinite(controller.pose.rotations).all()
    assert pfnnc.quat_yaw(controller.pose.rotations[0]) == pytest.approx(
        math.remainder(controller.pose.yaw, 2 * math.pi), abs=0.6
    )
