"""Blends of made clips, whose cycles, paths and feet are known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from test_skeleton import by_depth

from pfnnc import BlendTree, Clip, Skeleton, foot_slide, make_gait_clip, quat_yaw
from pfnnc.blendtree import _barycentric, _delaunay, _simplices


def made(kind, **options):
    clip = make_gait_clip(kind, fps=120, **options)
    return clip.clip, clip.phase


def tree_of(*pairs):
    return BlendTree([clip for clip, _ in pairs], [phase for _, phase in pairs])


@pytest.fixture(scope="module")
def pair():
    return tree_of(made("walk", speed=1.4, cadence=1.0), made("run", speed=4.0, cadence=1 / 0.7))


@pytest.fixture(scope="module")
def plane():
    turns = (-0.8, 0.0, 0.8)
    return tree_of(*(made("walk", speed=v, turn_rate=w, seconds=12.0) for v in (0.8, 1.6) for w in turns))


def test_u64_stride_speed_and_duration_come_from_the_same_weights(pair):
    assert_allclose([c.duration for c in pair.cycles], [1.0, 0.7], atol=1e-9)
    assert_allclose([c.stride for c in pair.cycles], [1.4, 2.8], rtol=2e-3)
    half = pair.cycle([0.5, 0.5])
    assert_allclose([half.duration, half.stride, half.speed], [0.85, 2.1, 2.470588], rtol=2e-3)
    wanted = pair.weights(half.speed)
    assert_allclose(wanted, [0.5, 0.5], atol=1e-6)


@pytest.mark.parametrize("speed", [1.4, 1.9, 2.470588, 3.3, 4.0])
def test_the_root_goes_at_the_speed_asked_for(pair, speed):
    clip = pair.synthesize(speed, n_frames=1201, fps=60).clip
    moved = np.linalg.norm((clip.root_positions[-1] - clip.root_positions[0])[[0, 2]]) / 20
    assert_allclose(moved, speed, rtol=5e-3)


def test_beyond_the_clips_the_nearest_is_done_and_the_feet_still_fit(pair):
    assert_allclose(pair.weights([0.2, 9.0]), [[1, 0], [0, 1]], atol=1e-12)
    slow = pair.synthesize(0.2, n_frames=601, fps=60)
    assert_allclose(np.linalg.norm(slow.clip.root_positions[-1]) / 10, 1.4, rtol=0.1)


def test_u65_clips_half_a_cycle_apart_keep_their_amplitude():
    left, right = made("walk", start_foot="left"), made("walk", start_foot="right")
    naive = 0.5 * (left[0].positions() + right[0].positions())
    both = tree_of(left, right)
    blended = both._play(np.full((600, 2), 0.5), 120, 0.0, np.zeros(3), 0.0).clip
    foot = left[0].skeleton.index("LeftFoot")

    def lift(positions):
        return np.ptp(positions[:, foot, 1])

    assert lift(naive) < 0.7 * lift(left[0].positions())  # what shuffling looks like
    assert_allclose(lift(blended.positions()), lift(left[0].positions()), rtol=0.05)


def test_u66_displacements_are_blended_in_the_body_frame():
    west, north = made("walk", heading=-np.pi / 2), made("walk", heading=0.0)
    tree = tree_of(west, north)
    blended = tree._play(np.full((480, 2), 0.5), 120, 0.0, np.zeros(3), 0.0).clip
    moved = blended.root_positions[-1] - blended.root_positions[0]
    alone = north[0].root_positions[479] - north[0].root_positions[0]
    assert_allclose(moved[[0, 2]], alone[[0, 2]], atol=0.03)
    assert_allclose(moved[2], 1.3 * 479 / 120, rtol=0.01)


def test_a_blend_of_one_clip_keeps_its_feet_where_they_are():
    walk = make_gait_clip("walk", fps=120)
    out = BlendTree([walk.clip], [walk.phase]).synthesize(1.3, n_frames=600, fps=120)
    foot = walk.clip.skeleton.index("LeftFoot")
    stands = (out.phase > 0.05) & (out.phase < 0.33)
    slides = foot_slide(out.clip.positions()[:, [foot]], stands[:, None])
    assert np.median(slides) < 8.0  # millimetres: what is left of the sampling by phase
    assert_allclose(out.phase[:3], np.arange(3) / 120 / walk.strikes[0][1], atol=1e-9)


def test_two_dimensions_reach_speed_and_turn(plane):
    assert plane.dimensions == 2
    for speed, turn in ((0.8, 0.8), (1.2, 0.0), (1.0, -0.4), (1.5, 0.55)):
        weights = plane.weights(speed, turn)
        cycle = plane.cycle(weights)
        assert_allclose([cycle.speed, cycle.turn_rate], [speed, turn], atol=0.02)
        assert (weights > 1e-9).sum() <= 3
        out = plane.synthesize(speed, turn, n_frames=601, fps=60, yaw=1.0)
        yaw = np.unwrap(quat_yaw(out.clip.rotations[:, 0]))
        assert_allclose((yaw[-1] - yaw[0]) / 10, turn, atol=0.03)


@pytest.mark.parametrize("turns", [(-0.8, 0.8), (-0.8, 0.0, 0.8)])
def test_clips_that_differ_in_their_turn_alone_are_blended_by_it(turns):
    tree = tree_of(*(made("walk", speed=1.2, turn_rate=turn) for turn in turns))
    assert tree.dimensions == 2
    for speed, turn in ((1.2, 0.4), (1.2, -0.6), (1.2, 0.0), (1.0, 0.4), (1.4, 0.4)):  # their speeds differ by rounding
        assert_allclose(tree.cycle(tree.weights(speed, turn)).turn_rate, turn, atol=0.03)


def test_what_lies_beside_a_clip_is_that_clip_and_no_mixture_of_far_ones(plane):
    straight = np.argmin(np.abs(plane.points).sum(axis=1))  # the slow one, on the edge between the two slow turns
    assert plane.weights(0.5, 0.0)[straight] > 0.99


def test_triangles_are_those_of_delaunay():
    delaunay = pytest.importorskip("scipy.spatial").Delaunay
    points = np.random.default_rng(0).random((60, 2))
    theirs = {tuple(sorted(triangle)) for triangle in delaunay(points).simplices.tolist()}
    assert set(map(tuple, _delaunay(points)[0].tolist())) == theirs


@pytest.mark.parametrize(
    "points, simplices",
    [
        ([[0, 0]], [(0,)]),
        ([[0, 0], [1, 0]], [(0, 1)]),
        ([[0, 0], [1, 0], [0.5, 0]], [(0, 2), (1, 2)]),
        ([[0, 0], [1, 1], [0.25, 0.25], [0.5, 0.5]], [(0, 2), (1, 3), (2, 3)]),
        ([[0, 0], [1, 0], [0, 1]], [(0, 1, 2)]),
        ([[0, 0], [1, 0], [0, 1], [0.5, 1e-5]], [(0, 2, 3), (1, 2, 3)]),  # three on the border
    ],
)
def test_clips_on_a_line_are_blended_along_it(points, simplices):
    assert _simplices(np.array(points, float)) == simplices


def test_every_clip_can_be_had_alone():
    points = np.array([[0.607, 0.729], [0.544, 0.935], [0.816, 0.003], [0.857, 0.034]])  # two triangles are hardly any
    assert_allclose(_barycentric(points, points, _simplices(points)), np.eye(4), atol=1e-9)


def test_weights_change_smoothly(plane):
    speed = np.linspace(0.5, 2.0, 400)
    turn = 0.9 * np.sin(np.linspace(0, 7, 400))
    weights = plane.weights(speed, turn)
    assert_allclose(weights.sum(axis=1), 1, atol=1e-12)
    assert np.abs(np.diff(weights, axis=0)).max() < 0.12


def test_standing_is_a_pose_at_speed_zero():
    idle, walk = made("idle"), made("walk", speed=1.2)
    tree = tree_of(idle, walk)
    assert_allclose(tree.points[0], 0, atol=1e-12)
    out = tree.synthesize(0.0, n_frames=60)
    assert_allclose(np.ptp(out.clip.root_positions, axis=0), 0, atol=1e-9)
    slow = tree.synthesize(0.6, n_frames=601, fps=60).clip
    assert_allclose(np.linalg.norm(slow.root_positions[-1] - slow.root_positions[0]) / 10, 0.6, rtol=0.03)


def test_whoever_stands_faces_the_way_that_is_asked_for():
    tree = tree_of(made("idle", heading=1.0), made("walk", speed=1.2))
    out = tree.synthesize(0.0, n_frames=3, yaw=0.5)
    assert_allclose(quat_yaw(out.clip.rotations[:, 0]), 0.5, atol=1e-9)


def test_speeds_that_change(pair):
    out = pair.synthesize(np.linspace(1.4, 4.0, 300), fps=30)
    assert len(out.clip) == 300 and out.weights.shape == (300, 2)
    steps = np.mod(np.diff(out.phase), 1)
    assert (np.diff(steps) > -1e-12).all()  # the cadence grows with the speed
    assert np.isfinite(out.clip.rotations).all()


def test_warping_makes_up_what_the_clips_lack(plane):
    speed, turn = np.linspace(1.0, 3.0, 240), np.linspace(0.0, 2.0, 240)  # their most is 1.6 m/s and 0.8 rad/s
    plain, warped = (plane.synthesize(speed, turn, fps=60, warp=warp).clip for warp in (False, True))
    yaw = np.unwrap(quat_yaw(warped.rotations[:, 0]))
    assert_allclose(yaw[-1] - yaw[0], turn[:-1].sum() / 60, atol=0.1)  # the hips sway
    path = np.linalg.norm(np.diff(warped.root_positions[:, [0, 2]], axis=0), axis=1).sum()
    assert_allclose(path, speed[:-1].sum() / 60, rtol=0.02)
    assert np.linalg.norm(np.diff(plain.root_positions[:, [0, 2]], axis=0), axis=1).sum() < 0.85 * path
    assert_allclose(warped.rotations[:, 1:], plain.rotations[:, 1:], atol=1e-12)  # the pose is the blend's
    within = [plane.synthesize(1.2, 0.3, n_frames=90, warp=warp).clip.root_positions for warp in (False, True)]
    assert_allclose(*within, atol=0.02)  # nothing lacks


def test_warping_does_not_make_a_standing_clip_walk():
    idle, walk = made("idle"), made("walk", speed=1.2)
    out = tree_of(idle, walk).synthesize(0.0, 1.0, n_frames=61, fps=60, warp=True).clip
    assert_allclose(np.ptp(out.root_positions[:, [0, 2]], axis=0), 0, atol=1e-9)
    assert_allclose(np.ptp(np.unwrap(quat_yaw(out.rotations[:, 0]))), 1.0, atol=1e-9)
    assert_allclose(np.ptp(tree_of(idle).synthesize(1.0, n_frames=30, warp=True).clip.root_positions, axis=0), 0, atol=1e-9)


def test_starts_where_it_is_told(pair):
    out = pair.synthesize(2.0, n_frames=3, origin=(1, 0.5, 2), yaw=np.pi / 2, phase=0.25)
    assert_allclose(out.clip.root_positions[0, [0, 2]], [1, 2])
    assert out.clip.root_positions[0, 1] > 1.2 and out.phase[0] == 0.25
    assert out.clip.root_positions[2, 0] > 1.1
    assert len(pair.synthesize(2.0, n_frames=0).clip) == 0


WALK = make_gait_clip("walk", seconds=3.0)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: BlendTree([]), ValueError, "at least one clip"),
        (lambda: BlendTree([3]), TypeError, r"clips\[0\] must be a Clip"),
        (lambda: BlendTree([WALK.clip], []), ValueError, "phases must have one entry a clip"),
        (lambda: BlendTree([WALK.clip], [WALK.phase[:5]]), ValueError, r"phases\[0\] must have shape"),
        (lambda: BlendTree([WALK.clip], [WALK.phase * 3]), ValueError, r"phases\[0\]\[11\]=1.03.* is not in"),
        (lambda: BlendTree([WALK.clip], [WALK.phase * np.nan]), ValueError, "has no whole cycle"),
        (lambda: BlendTree([WALK.clip[:5]], [WALK.phase[:5]]), ValueError, "has no whole cycle"),
        (lambda: BlendTree([WALK.clip], [WALK.phase]).weights(np.nan), ValueError, "speed=nan"),
        (lambda: BlendTree([WALK.clip], [WALK.phase]).weights("fast"), TypeError, "speed must be"),
        (lambda: BlendTree([WALK.clip], [WALK.phase]).weights([1, 2], [1, 2, 3]), ValueError, "does not broadcast"),
        (lambda: BlendTree([WALK.clip], [WALK.phase]).cycle([0.5]), ValueError, "sum to 1"),
        (lambda: BlendTree([WALK.clip], [WALK.phase]).synthesize(1.0), ValueError, "n_frames must be given"),
        (lambda: BlendTree([WALK.clip], [WALK.phase]).synthesize([1.0, 1.0], n_frames=3), ValueError, "does not fit"),
        (lambda: BlendTree([WALK.clip], [WALK.phase]).synthesize(1.0, n_frames=-1), ValueError, "n_frames must be"),
        (lambda: BlendTree([WALK.clip], [WALK.phase]).synthesize(1.0, n_frames=1, fps=0), ValueError, "fps must be"),
        (lambda: BlendTree([WALK.clip], [WALK.phase]).synthesize(1.0, n_frames=1, phase=2), ValueError, "phase=2"),
        (lambda: BlendTree([WALK.clip], [WALK.phase]).synthesize(np.ones((2, 2))), ValueError, "must be a number"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_joints_in_another_order_are_the_same_joints(pair):
    clip, phase = made("run", speed=4.0, cadence=1 / 0.7)
    turned = by_depth(clip)
    tree = tree_of(made("walk", speed=1.4, cadence=1.0), (turned, phase))
    assert turned.skeleton.names != clip.skeleton.names
    ours, theirs = (t.synthesize(2.5, n_frames=20).clip for t in (tree, pair))
    assert_allclose(ours.rotations, theirs.rotations, atol=1e-12)
    assert_allclose(ours.root_positions, theirs.root_positions, atol=1e-12)


def test_other_joints_are_refused():
    one = Clip(Skeleton(["a"], [-1], [[0, 0, 0]]), np.zeros((2, 3)), np.tile([1.0, 0, 0, 0], (2, 1, 1)), 30)
    with pytest.raises(ValueError, match=r"clips\[1\] has other joints"):
        BlendTree([WALK.clip, one])
