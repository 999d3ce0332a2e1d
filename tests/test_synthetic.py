"""The made clips are an oracle for other tests, so everything said about them is checked here from their positions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pfnnc import (
    foot_skate,
    foot_slide,
    make_demo_clips,
    make_gait_clip,
    quat_mul,
    quat_rotate,
    quat_yaw,
    synthetic_skeleton,
)

QUARTER = np.pi / 2
RECIPES = {
    "walk": dict(kind="walk"),
    "slow": dict(kind="walk", speed=0.4, fps=60),
    "fast": dict(kind="walk", speed=2.0, fps=100),
    "jog": dict(kind="run", speed=2.2),
    "run": dict(kind="run", speed=5.0, fps=120),
    "left": dict(kind="turn", seconds=8.0),
    "right": dict(kind="walk", turn_rate=-0.8, speed=1.5),
    "spot": dict(kind="turn", speed=0.0, turn_rate=1.5),
    "profile": dict(kind="auto", speed=[(0, 0), (1, 0), (2, 1.3), (4, 3.0), (6, 3.0), (8, 0)], seconds=11.0),
    "other": dict(kind="walk", variation=1.0, seed=5, start_foot="right", heading=2.0, origin=(3.0, -4.0)),
    "idle": dict(kind="idle"),
    "kick": dict(kind="kick", variation=1.0),
}


@pytest.fixture(params=RECIPES, scope="module")
def made(request):
    return make_gait_clip(**RECIPES[request.param])


def joints(made, *names):
    positions = made.clip.positions()
    return np.stack([positions[:, made.clip.skeleton.index(name)] for name in names], axis=1)


def plants(made):
    return joints(made, "LeftFoot", "LeftToeBase", "RightFoot", "RightToeBase")


def test_planted_joints_stand_still(made):
    step = np.linalg.norm(np.diff(plants(made), axis=0), axis=-1)
    both = made.planted[1:] & made.planted[:-1]
    assert both.any(axis=0).all()
    assert step[both].max() < 1e-12


def test_a_foot_that_carries_has_a_planted_joint(made):
    planted = made.planted.reshape(-1, 2, 2)
    assert np.array_equal(planted.any(axis=2), made.support)
    assert np.array_equal(planted[..., 0], made.contacts)
    ankles = joints(made, *made.feet)
    assert foot_skate(ankles, made.contacts, made.clip.fps) == 0
    assert foot_slide(ankles, made.contacts).max() < 1e-9


def test_nothing_goes_through_the_floor(made):
    heights = plants(made)[..., 1]
    assert_allclose(heights[:, ::2].min(), 0.08, atol=1e-12)
    assert_allclose(heights[:, 1::2].min(), 0.025, atol=1e-12)
    for side in ("Left", "Right"):  # the tips of the toes, by a skeleton in which they are joints
        skeleton = made.clip.skeleton
        toe = skeleton.index(side + "ToeBase")
        (tip,) = (offset for parent, offset in skeleton.end_sites if parent == toe)
        world, joint = np.array([1.0, 0, 0, 0]), toe
        chain = []
        while joint >= 0:
            chain.insert(0, joint)
            joint = skeleton.parents[joint]
        for joint in chain:
            world = quat_mul(world, made.clip.rotations[:, joint])
        height = joints(made, side + "ToeBase")[:, 0, 1] + quat_rotate(world, np.asarray(tip))[:, 1]
        assert height.min() > 0.01


def test_legs_bend_and_never_stretch_out(made):
    for side in ("Left", "Right"):
        hip, ankle = np.moveaxis(joints(made, side + "UpLeg", side + "Foot"), 1, 0)
        length = np.linalg.norm(hip - ankle, axis=-1)
        assert length.max() <= 0.83 * 0.99 + 1e-9
        assert length.min() > 0.3


def test_motion_is_smooth(made):
    clip = make_gait_clip(**{"kind": made.kind, "fps": 120}).clip
    speed = np.linalg.norm(np.diff(clip.positions(), axis=0), axis=-1) * 120
    assert speed.max() < 13.0
    assert np.abs(np.diff(clip.root_positions, 2, axis=0)).max() * 120**2 < 25.0  # m/s^2


def test_phase_is_that_of_the_contacts(made):
    moving = np.isfinite(made.phase)
    assert made.phase[moving].min(initial=0) >= 0 and made.phase[moving].max(initial=0) < 1
    for foot, start in ((0, 0.0), (1, 0.5)):
        own = np.mod(made.phase - start, 1.0)
        struck = 1 + np.flatnonzero(made.contacts[1:, foot] & ~made.contacts[:-1, foot] & moving[1:] & moving[:-1])
        steps = np.mod(np.diff(made.phase), 1.0)
        assert (own[struck] <= steps[struck - 1] + 1e-9).all()  # the strike fell between two frames
        assert (own[struck - 1] > 0.5).all()


def test_strikes_are_where_contacts_begin(made):
    for foot in (0, 1):
        begin = 1 + np.flatnonzero(made.contacts[1:, foot] & ~made.contacts[:-1, foot])
        if made.kind == "kick":
            assert len(made.strikes[foot]) == 0
            continue
        within = made.strikes[foot][made.strikes[foot] > 1e-9]
        assert_allclose(begin / made.clip.fps, within, atol=1 / made.clip.fps)
        assert (begin / made.clip.fps - within > -1e-9).all()


def test_standing_frames_have_no_phase_and_both_feet_down():
    made = make_gait_clip("walk", seconds=12.0, speed=[(0, 0), (1, 0), (2, 1.3), (5, 1.3), (6, 0), (10, 0), (11, 1.2)])
    stands = np.isnan(made.phase)
    time = np.arange(len(stands)) / 30
    assert stands[time <= 0.99].all() and stands[(time > 7.5) & (time < 9.9)].all()
    assert not stands[(time > 1.1) & (time < 6.0)].any() and not stands[time > 10.1].any()
    assert made.contacts[stands].all() and made.planted[stands].all()
    left, right = joints(made, "LeftFoot", "RightFoot")[int(8.5 * 30)]
    assert np.linalg.norm(left - right) < 0.3  # the closing steps brought the feet together


@pytest.mark.parametrize("foot", ["left", "right"])
def test_the_start_foot_steps_first_from_standing(foot):
    made = make_gait_clip("walk", seconds=3.0, speed=[(0, 0), (0.5, 0), (1, 1.2)], start_foot=foot)
    first = [int(np.argmin(made.support[:, i])) for i in (0, 1)]
    assert (first[0] < first[1]) == (foot == "left")


def test_walks_have_double_support_and_runs_flight():
    walk, run = make_gait_clip("walk").support, make_gait_clip("run").support
    assert walk.any(axis=1).all() and 0.15 < walk.all(axis=1).mean() < 0.35
    assert not run.all(axis=1).any() and 0.15 < (~run.any(axis=1)).mean() < 0.5


def test_auto_walks_when_slow_and_runs_when_fast():
    support = make_gait_clip("auto", speed=[(0, 1.2), (3, 1.2), (5, 3.2)], seconds=9.0).support
    assert support[:90].any(axis=1).all()
    assert not support[180:].all(axis=1).any()


def test_the_path_is_known():
    made = make_gait_clip("walk", seconds=10.0, speed=1.25, heading=0.3, origin=(1.0, 2.0))
    distance = 1.25 * np.arange(301) / 30
    assert_allclose(
        made.path, np.stack([1 + distance * np.sin(0.3), 0 * distance, 2 + distance * np.cos(0.3)], axis=1), atol=1e-9
    )
    assert_allclose(made.heading, 0.3, atol=1e-12)
    turn = make_gait_clip("turn", seconds=8.0, speed=1.0, turn_rate=QUARTER)  # a circle of radius 2/pi, twice
    assert_allclose(turn.path[[0, 120, 240]], 0.0, atol=1e-9)
    assert_allclose(turn.path[60], [2 * 2 / np.pi, 0, 0], atol=1e-9)
    assert_allclose(turn.heading[-1], 4 * np.pi, atol=1e-9)


def test_the_root_stays_near_the_path(made):
    off = (made.clip.root_positions - made.path)[:, [0, 2]]
    assert np.linalg.norm(off, axis=1).max() < 0.08
    turn = np.mod(quat_yaw(made.clip.rotations[:, 0]) - made.heading + np.pi, 2 * np.pi) - np.pi
    assert np.abs(turn).max() < 0.25


@pytest.mark.parametrize("kind", ["walk", "run", "turn", "idle", "kick"])
def test_the_same_motion_at_every_rate(kind):
    fine = make_gait_clip(kind, fps=120, variation=0.7, seed=3)
    coarse = make_gait_clip(kind, fps=30, variation=0.7, seed=3)
    assert_allclose(fine.clip.positions()[::4], coarse.clip.positions(), atol=1e-9)
    assert_allclose(fine.phase[::4], coarse.phase, atol=1e-9)
    odd = make_gait_clip(kind, fps=50, variation=0.7, seed=3)
    assert_allclose(odd.clip.positions()[::5], coarse.clip.positions()[::3], atol=1e-3)


def test_the_other_foot_first_is_the_mirror_image():
    left, right = (make_gait_clip("walk", start_foot=foot) for foot in ("left", "right"))
    assert_allclose(right.clip.positions(), left.clip.mirror().positions(), atol=1e-9)
    assert_allclose(np.mod(right.phase - left.phase, 1), 0.5, atol=1e-12)


def test_variation_changes_looks_but_no_step():
    plain, same = make_gait_clip("walk"), make_gait_clip("walk", seed=9)
    one, again, two = (make_gait_clip("walk", variation=1.0, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(plain.clip.rotations, same.clip.rotations)
    assert np.array_equal(one.clip.rotations, again.clip.rotations)
    assert np.abs(one.clip.rotations - two.clip.rotations).max() > 0.01
    for made in (one, two):
        assert np.array_equal(made.phase, plain.phase) and np.array_equal(made.contacts, plain.contacts)


def test_cadence_can_be_fixed():
    made = make_gait_clip("walk", seconds=10.0, cadence=1.0)
    assert_allclose(made.strikes[0], np.arange(11.0), atol=1e-9)
    assert_allclose(made.strikes[1], np.arange(10.0) + 0.5, atol=1e-9)


def test_lengths():
    assert len(make_gait_clip(seconds=0).clip) == 1
    assert len(make_gait_clip(seconds=1, fps=30).clip) == 31
    assert len(make_gait_clip(seconds=0.1, fps=30).clip) == 4
    assert len(make_gait_clip(seconds=2, fps=29.97).clip) == 60
    assert make_gait_clip(name="x").clip.name == "x" and make_gait_clip("run").clip.name == "run"


def test_skeleton():
    skeleton = synthetic_skeleton()
    assert len(skeleton) == 24 and len(set(skeleton.names)) == 24
    assert all(parent < joint for joint, parent in enumerate(skeleton.parents))
    assert list(skeleton.parents).count(-1) == 1


def test_demo_clips():
    clips = make_demo_clips(seed=1)
    assert len({made.clip.name for made in clips}) == len(clips)
    assert {made.kind for made in clips} == {"walk", "run", "auto", "turn", "idle", "kick"}
    assert sum(len(made.clip) for made in clips) / 30 > 120
    again = make_demo_clips(seed=1)
    assert all(np.array_equal(a.clip.rotations, b.clip.rotations) for a, b in zip(clips, again, strict=True))
    turned = {made.clip.name: made.heading[-1] for made in clips}
    assert_allclose([turned["turn_left"], turned["turn_right"]], [5 * QUARTER, -5 * QUARTER], atol=1e-9)


@pytest.mark.parametrize(
    "options, error, message",
    [
        (dict(kind="crawl"), ValueError, "kind must be 'walk' or"),
        (dict(kind=3), TypeError, "kind must be a string"),
        (dict(fps=0), ValueError, "fps must be at least 0.001"),
        (dict(fps=float("nan")), ValueError, "fps must be finite"),
        (dict(fps="30"), TypeError, "fps must be a number"),
        (dict(seconds=-1), ValueError, "seconds must be at least 0"),
        (dict(seconds=1e9), ValueError, "seconds must be at most"),
        (dict(seconds=3600, fps=1000), ValueError, "seconds [*] fps"),
        (dict(speed=-1), ValueError, r"speed\[0, 1\]=-1 is not in \[0, 8\]"),
        (dict(turn_rate=[(0, 1), (1, 11)]), ValueError, r"turn_rate\[1, 1\]=11 is not in \[-10, 10\]"),
        (dict(speed=float("nan")), ValueError, "speed=nan is not finite"),
        (dict(speed=[(0, 1), (0, 2)]), ValueError, r"speed\[1, 0\]=0 is not greater than speed\[0, 0\]=0"),
        (dict(speed=[(0, 1, 2)]), ValueError, "speed must have shape"),
        (dict(speed=[]), ValueError, "speed must have shape"),
        (dict(speed="fast"), TypeError, "speed must be an array"),
        (dict(speed=4, cadence=1.0), ValueError, "legs cannot reach"),
        (dict(speed=1.5, cadence=0.3), ValueError, "legs cannot reach"),
        (dict(turn_rate=float("inf")), ValueError, "turn_rate=inf is not finite"),
        (dict(cadence=0), ValueError, "cadence must be at least"),
        (dict(start_foot="both"), ValueError, "start_foot must be"),
        (dict(heading=None), TypeError, "heading must be a number"),
        (dict(origin=(0, 0, 0)), ValueError, r"origin must have shape \(2,\)"),
        (dict(variation=-1), ValueError, "variation must be at least 0"),
        (dict(seed=1.5), TypeError, "seed must be an integer"),
        (dict(seed=-1), ValueError, "seed must be at least 0"),
        (dict(name=7), TypeError, "name must be a string"),
        (dict(kind="idle", speed=1.0), ValueError, "has no speed"),
    ],
)
def test_bad_input(options, error, message):
    with pytest.raises(error, match=message):
        make_gait_clip(**options)
