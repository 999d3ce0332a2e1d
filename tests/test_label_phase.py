"""label_phase against made clips, whose phase is known, and against hand-made labels; labels in files and pictures."""

import csv
import warnings

import numpy as np
import pytest
from conftest import shared

import pfnnc
from pfnnc._body import SMOOTHING, Body, ankle_noise, make_body, smooth, sound_pieces, speed_noise, speed_of, windows
from pfnnc._steps import Swing, _landing

WALKS = [
    ("walk", {}),
    ("walk", dict(speed=0.7)),
    ("run", {}),
    ("turn", {}),
    ("auto", dict(speed=[(0, 1.2), (3, 1.2), (5, 3.0), (8, 3.0)])),
    ("walk", dict(speed=1.2, turn_rate=[(0, 0.0), (2, -1.0), (6, -1.0)])),
    ("run", dict(speed=1.5)),
    ("run", dict(speed=6.0)),  # each foot brakes while the other one is faster already
]


def noisy(clip, seed=0, metres=0.002, radians=0.3 * np.pi / 180):
    rng = np.random.default_rng(seed)
    turn = pfnnc.exp_map_to_quat(rng.normal(scale=radians, size=clip.rotations.shape[:2] + (3,)))
    places = clip.root_positions + rng.normal(scale=metres, size=clip.root_positions.shape)
    return pfnnc.Clip(clip.skeleton, places, pfnnc.quat_mul(clip.rotations, turn), clip.fps, clip.name)


def strike_errors(made, labels):
    """Distance in frames of each true strike, but for the first quarter and last tenth of a second, to ours."""
    fps, errors = made.clip.fps, []
    for true, found in zip(made.strikes, labels.strikes, strict=True):
        inside = true[(true > 0.25) & (true < (len(made.clip) - 1) / fps - 0.1)] * fps
        errors += [np.abs(found - t).min(initial=np.inf) for t in inside]
    return np.array(errors)


def distance(labels, phase):
    both = ~np.isnan(labels.phase) & ~np.isnan(phase)
    return np.abs(pfnnc.phase_difference(labels.phase[both], phase[both])).mean()


# ---- made clips -------------------------------------------------------------------------------


@pytest.mark.parametrize("fps", [30.0, 50.0, 60.0, 100.0, 120.0])
@pytest.mark.parametrize("kind, options", WALKS)
def test_strikes_of_made_clips_within_a_frame(kind, options, fps):
    made = pfnnc.make_gait_clip(kind, seconds=8, fps=fps, variation=0.5, **options)
    labels = pfnnc.label_phase(made.clip)
    errors = strike_errors(made, labels)
    assert len(errors) >= 12 and errors.max() <= 0.5
    assert distance(labels, made.phase) < 0.01
    assert not np.isnan(labels.phase[~np.isnan(made.phase)]).any()
    for seed in range(3):  # 2 mm and 0.3 degrees in every joint: 5 mm at the ankles
        errors = strike_errors(made, pfnnc.label_phase(noisy(made.clip, seed)))
        assert errors.max() <= 1 and errors.mean() <= 0.5


@pytest.mark.parametrize("metres, degrees", [(0.005, 0.75), (0.01, 1.0)])
def test_strikes_under_heavy_noise(metres, degrees):
    for fps in (30.0, 60.0, 120.0):
        errors = []
        for kind, options in WALKS:
            made = pfnnc.make_gait_clip(kind, seconds=8, fps=fps, variation=0.5, **options)
            errors.append(strike_errors(made, pfnnc.label_phase(noisy(made.clip, 0, metres, np.radians(degrees)))))
        errors = np.concatenate(errors)
        assert errors.max() < 0.03 * fps + 1 and np.mean(errors <= 1) > 0.8 and errors.mean() < 0.65


def test_noise_is_told_from_motion():
    for fps in (60.0, 120.0):
        made = pfnnc.make_gait_clip("walk", seconds=8, fps=fps)
        feet = made.clip.skeleton.find_feet()
        bodies = [make_body(clip, feet) for clip in (made.clip, noisy(made.clip))]
        smoothed = [speed_of(smooth(body.ankles, SMOOTHING * fps), body) for body in bodies]
        stands = made.contacts & ~np.isnan(made.phase)[:, None]
        true = np.sqrt(np.mean(smoothed[1][stands] ** 2) / 3)
        assert speed_noise(bodies[0]) < 0.002 and speed_noise(bodies[1]) == pytest.approx(true, rel=0.35)


@pytest.mark.parametrize("fps", [30.0, 120.0])
def test_start_and_stop(fps):
    pace = [(0, 0), (1.5, 0), (2.5, 1.3), (6, 1.3), (7, 0), (10, 0), (11, 1.3), (15, 1.3), (16, 0), (18, 0)]
    made = pfnnc.make_gait_clip("walk", seconds=18, fps=fps, speed=pace)
    labels = pfnnc.label_phase(made.clip)
    stands = np.isnan(made.phase)
    still = stands & (np.arange(len(stands)) > 0.3 * fps) & (np.arange(len(stands)) < len(stands) - 0.3 * fps)
    still = np.convolve(~still, np.ones(int(0.6 * fps)), "same") == 0  # well inside a stand
    assert still.sum() > 1.5 * fps and np.isnan(labels.phase[still]).all() and (labels.confidence[still] == 0).all()
    walks = ~stands
    assert np.isnan(labels.phase[walks]).mean() < 0.06 and not np.isfinite(labels.phase[stands]).any()
    assert distance(labels, made.phase) < 0.03
    assert labels.contacts[still].all()
    assert strike_errors(made, labels).max() <= 0.8  # closing steps of 2 cm too
    # noise of 5 mm hides for some ms when the slow steps beside a stand end
    errors = np.concatenate([strike_errors(made, pfnnc.label_phase(noisy(made.clip, seed))) for seed in range(6)])
    assert np.mean(errors <= 1) >= 0.9 and errors.max() <= 2.5


def test_closing_steps():
    made = pfnnc.make_gait_clip("walk", seconds=8, fps=60, speed=[(0, 1.3), (3, 1.3), (4, 0)])
    strikes = pfnnc.label_phase(made.clip).strikes
    assert [len(found) for found in strikes] == [len(true) - (true[0] < 0.25) for true in made.strikes]
    # without the last one: then the stand comes half a cycle earlier
    last = int(max(true[-1] for true in made.strikes) * 60)
    cut = made.clip[: last - 12]
    assert sum(map(len, pfnnc.label_phase(cut).strikes)) == sum(map(len, strikes)) - 1
    t = np.arange(240) / 60
    up = np.sin(np.pi * np.clip((t - 1.5) / 0.6, 0, 1)) ** 2
    for left, right, closes in (
        (0.0, 0.04, True),
        (0.04, 0.04, False),  # a hop
        (0.0, 0.4, False),  # a knee that goes up
        (0.0, 0.01, False),
        (0.04, 0.0, False),  # the foot that stepped last
    ):
        places = np.zeros((2, 240, 3))
        places[:, :, 0] = [[0.1], [-0.1]]
        places[0, :, 2] = 0.9 * pfnnc._gait.smoothstep((t - 0.8) / 0.4)
        places[1, :, 2] = 0.5 * pfnnc._gait.smoothstep((t - 0.3) / 0.4)
        places[:, :, 1] = np.outer([left, right], up)
        found = pfnnc.label_phase(two_feet(*places, 60.0)).strikes
        assert [len(strikes) for strikes in found] == [1, 1 + closes]
        if closes:
            assert found[1][1] / 60 == pytest.approx(2.1, abs=0.06)


@pytest.mark.parametrize("rate", [0.8, -1.2, 2.5])
def test_turning_on_the_spot_has_a_phase(rate):
    made = pfnnc.make_gait_clip("turn", seconds=8, fps=60, speed=0.0, turn_rate=rate)
    labels = pfnnc.label_phase(made.clip)
    assert strike_errors(made, labels).max() <= 0.2 and np.isnan(labels.phase).mean() < 0.2


def test_a_few_shifted_feet_are_no_steps():
    t, shift = np.arange(420) / 60, 0.09  # a tenth of a leg
    for times, steps in ((4, True), (3, False)):
        places = np.zeros((2, 420, 3))
        places[:, :, 0] = [[0.1], [-0.1]]
        for k in range(times):
            places[k % 2, :, 2] += shift * pfnnc._gait.smoothstep((t - 1 - 0.8 * k) / 0.3)
        pelvis = places.mean(axis=0) + [0, 0.9, 0]
        phase = pfnnc.label_phase(two_feet(*places, 60.0, pelvis)).phase
        assert np.isfinite(phase).any() == steps


@pytest.mark.parametrize("fps", [60.0, 120.0, 600.0])
def test_landing_is_found_through_noise(fps):
    t, true, rng = np.arange(int(2 * fps)) / fps, 1.2345, np.random.default_rng(0)
    u = np.clip((true - t) / 0.6, 0, 1)
    ankle = np.stack([0 * t, 0.03 * 16 * (u * (1 - u)) ** 2, 0.4 * (1 - u**2 * (3 - 2 * u))], axis=1)
    for metres, within in ((1e-6, 5e-4), (0.005, 0.02)):
        feet = np.stack([ankle, 0 * ankle], axis=1)
        feet = feet + rng.normal(scale=metres, size=feet.shape) * [1, 0.4, 1]
        body = Body(feet[:, 0], feet, feet, fps, 1.0)
        assert ankle_noise(body) == pytest.approx(metres * np.array([1, 0.4]), rel=0.2)
        for guess in (-0.02, 0.0, 0.03):
            swing = Swing(0, 0.65 * fps, 0.95 * fps, (true + guess) * fps, 0.8, 1.0, True)
            found = _landing(body, swing, ankle_noise(body))
            assert found / fps == pytest.approx(true, abs=within)


def test_no_phase_where_nobody_walks():
    for kind in ("idle", "kick"):
        for clip in (
            pfnnc.make_gait_clip(kind, seconds=8, fps=60).clip,
            noisy(pfnnc.make_gait_clip(kind, seconds=8, fps=60).clip),
        ):
            labels = pfnnc.label_phase(clip)
            assert np.isnan(labels.phase).all() and not labels.confidence.any()
            assert len(labels.cycles) == len(labels.strikes[0]) == len(labels.strikes[1]) == 0


def two_feet(left, right, fps=30.0, pelvis=None):
    """A clip of a pelvis and two foot joints at given places (T, 3)."""
    skeleton = pfnnc.Skeleton(["Hips", "LeftFoot", "RightFoot"], [-1, 0, 0], np.zeros((3, 3)))
    frames = len(left)
    pelvis = np.tile([0.0, 0.9, 0.0], (frames, 1)) if pelvis is None else pelvis
    places = np.stack([pelvis, left - pelvis, right - pelvis], axis=1)
    rotations = np.tile([1.0, 0, 0, 0], (frames, 3, 1))
    return pfnnc.Clip(skeleton, pelvis, rotations, fps, "feet", translations=places)


def test_idle_jitter_u21():
    step = np.arange(60) % 2 / 1000
    left, right = np.zeros((60, 3)), np.zeros((60, 3))
    left[:, 0], right[:, 0] = 0.1 + np.cumsum(step), -0.1 + np.cumsum(0.001 - step)
    left[:, 1] = right[:, 1] = 0.02
    labels = pfnnc.label_phase(two_feet(left, right))
    assert np.isnan(labels.phase).all() and not labels.confidence.any() and labels.contacts.all()


def test_a_jump_is_no_walk():
    t = np.arange(300) / 60
    hop = np.maximum(np.sin(2 * np.pi * t), 0)
    forward = np.cumsum(np.where(hop > 0, 0.03, 0))
    foot = np.stack([0.1 + 0 * t, 0.3 * hop, forward], 1)
    labels = pfnnc.label_phase(two_feet(foot, foot * [-1, 1, 1], 60.0, np.stack([0 * t, 0.9 + 0.3 * hop, forward], 1)))
    assert np.isnan(labels.phase).all()


def test_a_jump_with_one_foot_a_little_before_the_other_is_no_step():
    t = np.arange(240) / 60

    def ahead(*moves):  # metres, each within 0.4 s from a time on
        return sum(way * pfnnc._gait.smoothstep((t - start) / 0.4) for start, way in moves)

    def strikes(late):
        left, right = np.zeros((240, 3)), np.zeros((240, 3))
        left[:, 0], right[:, 0] = 0.1, -0.1
        left[:, 2] = ahead((0.8, 0.9), (1.7 + late, 0.6))
        right[:, 2] = ahead((0.3, 0.5), (1.7, 0.6))
        pelvis = (left + right) / 2 + [0, 0.9, 0]
        return [found.round() for found in pfnnc.label_phase(two_feet(left, right, 60.0, pelvis)).strikes]

    stepped = strikes(10.0)  # the left foot stays where it is: that is a step
    assert [len(found) for found in stepped] == [1, 2]
    for late in (0.0, 0.03, 0.06):
        jumped = strikes(late)
        assert [len(found) for found in jumped] == [1, 1] and max(found.max() for found in jumped) < 80


def test_limp_keeps_its_two_halves():
    made = pfnnc.make_gait_clip("walk", seconds=10, fps=60, speed=1.1)
    # time runs slower in every left step: strikes are no longer even
    phase = np.unwrap(made.phase, period=1)
    warped = phase + 0.06 * np.sin(2 * np.pi * phase) * 0.5
    at = np.interp(np.linspace(warped[0], warped[-1], len(phase)), warped, np.arange(len(phase)))
    whole, part = np.floor(at).astype(int), at % 1
    nxt = np.minimum(whole + 1, len(phase) - 1)
    rotations = pfnnc.quat_slerp(made.clip.rotations[whole], made.clip.rotations[nxt], part[:, None])
    places = made.clip.root_positions[whole] * (1 - part[:, None]) + made.clip.root_positions[nxt] * part[:, None]
    labels = pfnnc.label_phase(pfnnc.Clip(made.clip.skeleton, places, rotations, 60, "limp"))
    left, right = labels.strikes
    true = [np.interp(s * 60, at, np.arange(len(at))) for s in made.strikes]
    for ours, theirs in ((left, true[0]), (right, true[1])):
        inside = theirs[(theirs > 15) & (theirs < len(at) - 10)]
        assert max(np.abs(ours - t).min() for t in inside) <= 1.0


def scaled(clip, factor):
    s = clip.skeleton
    skeleton = pfnnc.Skeleton(s.names, s.parents, s.offsets * factor)
    return pfnnc.Clip(skeleton, clip.root_positions * factor, clip.rotations, clip.fps)


@pytest.mark.parametrize("factor", [100.0, 1 / 0.0254, 0.001])
def test_any_unit(factor):
    clip, feet = pfnnc.make_gait_clip("walk", seconds=4, fps=60).clip, ("LeftFoot", "RightFoot")
    a, b = pfnnc.label_phase(clip, feet=feet), pfnnc.label_phase(scaled(clip, factor), feet=feet)
    np.testing.assert_allclose(a.phase, b.phase, atol=1e-6)
    np.testing.assert_array_equal(a.contacts, b.contacts)


def test_place_heading_and_mirror_do_not_matter():
    clip = pfnnc.make_gait_clip("walk", seconds=6, fps=60, speed=1.2).clip
    moved = pfnnc.make_gait_clip("walk", seconds=6, fps=60, speed=1.2, heading=2.0, origin=(50, -80)).clip
    a, b, c = (pfnnc.label_phase(x) for x in (clip, moved, clip.mirror()))
    np.testing.assert_allclose(pfnnc.phase_difference(a.phase, b.phase), 0, atol=1e-6)
    np.testing.assert_allclose(np.abs(pfnnc.phase_difference(a.phase, c.phase)), 0.5, atol=1e-6)
    np.testing.assert_array_equal(a.contacts, c.contacts[:, ::-1])


def test_backwards_is_a_walk_too():
    clip = pfnnc.make_gait_clip("walk", seconds=6, fps=60, speed=1.2).clip
    back = pfnnc.Clip(clip.skeleton, clip.root_positions[::-1], clip.rotations[::-1], 60, "back")
    labels = pfnnc.label_phase(back)
    assert not np.isnan(labels.phase).any()
    assert np.diff(labels.cycles, axis=1).mean() == pytest.approx(
        np.diff(pfnnc.label_phase(clip).cycles, axis=1).mean(), abs=0.6
    )


def test_in_place_clips_are_walks():
    made = pfnnc.make_gait_clip("walk", seconds=6, fps=60, speed=1.3)
    places = made.clip.root_positions.copy()
    places[:, [0, 2]] -= made.path[:, [0, 2]]
    labels = pfnnc.label_phase(pfnnc.Clip(made.clip.skeleton, places, made.clip.rotations, 60, "treadmill"))
    assert distance(labels, made.phase) < 0.02 and np.isnan(labels.phase).mean() < 0.05
    assert (labels.contacts == pfnnc.label_phase(made.clip).contacts).mean() > 0.95


def test_contacts_of_made_clips():
    for kind, options in WALKS:
        made = pfnnc.make_gait_clip(kind, seconds=8, fps=60, **options)
        for clip in (made.clip, noisy(made.clip)):
            assert (pfnnc.label_phase(clip).contacts == made.support).mean() > 0.9


def test_contacts_on_a_floor_that_drifts():
    clip = pfnnc.make_gait_clip("walk", seconds=8, fps=60).clip
    places = clip.root_positions + np.linspace(0, 0.25, len(clip))[:, None] * [0, 1, 0]
    drifting = pfnnc.label_phase(pfnnc.Clip(clip.skeleton, places, clip.rotations, 60)).contacts
    assert (drifting == pfnnc.label_phase(clip).contacts).mean() > 0.97


def test_corrupt_frames():
    made = pfnnc.make_gait_clip("walk", seconds=6, fps=60)
    clip = made.clip
    for bad in (slice(0, 2), slice(-1, None), slice(150, 151), slice(150, 153)):
        places, rotations = clip.root_positions.copy(), clip.rotations.copy()
        places[bad], rotations[bad] = 0, [1, 0, 0, 0]
        labels = pfnnc.label_phase(pfnnc.Clip(clip.skeleton, places, rotations, 60))
        assert np.isnan(labels.phase[bad]).all() and np.isnan(labels.phase).mean() < 0.05
        assert distance(labels, made.phase) < 0.01


def test_joined_takes_are_told_apart():
    a = pfnnc.make_gait_clip("walk", seconds=4, fps=60).clip
    b = pfnnc.make_gait_clip("walk", seconds=4, fps=60, origin=(30, 4), start_foot="right").clip
    labels = pfnnc.label_phase(a.concat(b))
    assert len(sound_pieces(make_body(a.concat(b), a.skeleton.find_feet()))) == 2
    np.testing.assert_allclose(
        pfnnc.phase_difference(labels.phase[20:-20][: len(a) - 40], pfnnc.label_phase(a).phase[20:-20]), 0, atol=0.01
    )


def test_a_walk_goes_on_after_a_small_jump():
    made = pfnnc.make_gait_clip("walk", seconds=6, fps=60)
    true = pfnnc.label_phase(made.clip)
    for metres, parts in ((0.03, 1), (0.3, 2)):
        places = made.clip.root_positions.copy()
        places[165:, 0] += metres
        clip = pfnnc.Clip(made.clip.skeleton, places, made.clip.rotations, 60)
        assert len(sound_pieces(make_body(clip, clip.skeleton.find_feet()))) == parts
        if parts == 1:
            assert distance(pfnnc.label_phase(clip), true.phase) < 0.01


def test_quick_real_motion_is_no_glitch():
    for kind in ("run", "kick"):
        clip = pfnnc.make_gait_clip(kind, seconds=6, fps=30).clip
        assert sound_pieces(make_body(clip, clip.skeleton.find_feet())) == [[(0, len(clip))]]


def test_tiny_clips():
    clip = pfnnc.make_gait_clip("walk", seconds=2, fps=30).clip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (0, 1, 2, 3, 5, 10, 20):
            labels = pfnnc.label_phase(clip[:n])
            assert labels.phase.shape == labels.confidence.shape == (n,) and labels.contacts.shape == (n, 2)
            assert labels.cycles.shape[1:] == (2,) and labels.cycles.dtype == np.int64
        for fps in (1e-300, 0.5, 1.0, 5.0, 1000.0, 1e12):
            slow = pfnnc.Clip(clip.skeleton, clip.root_positions, clip.rotations, fps)
            for method in ("contacts", "root_y"):
                assert len(pfnnc.label_phase(slow, method)) == len(clip)
        for factor in (1e-200, 1e-30, 1e30):
            pfnnc.label_phase(scaled(clip, factor), feet=("LeftFoot", "RightFoot"))
        with pytest.raises(ValueError, match="clip must have positions"):
            pfnnc.label_phase(scaled(clip, 1e200))


def test_filters_are_the_plain_ones():
    rng = np.random.default_rng(0)
    for n, width in ((10, 1), (10, 10), (1000, 64), (1000, 65)):
        x = rng.normal(size=n)
        plain = np.lib.stride_tricks.sliding_window_view(x, width)
        np.testing.assert_array_equal(windows(x, width, np.maximum), plain.max(axis=1))
        np.testing.assert_array_equal(windows(x, width, np.minimum), plain.min(axis=1))
    x = np.cumsum(rng.normal(size=(3000, 2)), axis=0)
    for width in (2.0, 400.0):  # by sums and by Fourier transforms
        at, radius = 1700, int(3 * width)
        weights = np.exp(-0.5 * (np.arange(-radius, radius + 1) / width) ** 2)
        mean = weights / weights.sum() @ x[at - radius : at + radius + 1]
        np.testing.assert_allclose(smooth(x, width)[at], mean, rtol=1e-12, atol=1e-12)


def test_phase_is_a_phase_and_cycles_are_its_cycles():
    labels = pfnnc.label_phase(pfnnc.make_gait_clip("turn", seconds=8, fps=30).clip)
    has = ~np.isnan(labels.phase)
    assert ((labels.phase[has] >= 0) & (labels.phase[has] < 1)).all()
    assert ((labels.confidence > 0) == has).all() and (labels.confidence <= 1).all()
    left = labels.strikes[0]
    assert np.abs(labels.cycles[1:, 0][:, None] - left).min(axis=1).max() <= 0.5
    assert "whole cycles" in repr(labels) and len(labels) == 241


def test_a_kick_that_stops_at_its_top_is_no_step():
    t = np.arange(240) / 60
    up = np.interp(t, [0.9, 1.1, 1.4, 1.7], [0, 1, 1, 0])
    left, right = np.zeros((240, 3)), np.zeros((240, 3))
    left[:, 0], right[:, 0] = 0.1, -0.1
    left[:, 1], left[:, 2] = 0.8 * up, 0.6 * up
    right[:, 2] = np.interp(t, [0.3, 0.7], [0, 0.5])  # a step of the other foot before
    assert np.isnan(pfnnc.label_phase(two_feet(left, right, 60.0)).phase).all()
    left[:, 1] *= 0.2  # a low one is a step
    assert not np.isnan(pfnnc.label_phase(two_feet(left, right, 60.0)).phase).all()


def test_random_motion_gives_labels():
    rng = np.random.default_rng(0)
    for _ in range(30):
        frames = int(rng.integers(2, 200))
        walk = [np.cumsum(rng.normal(scale=rng.choice([1e-6, 0.01, 0.3]), size=(frames, 3)), axis=0) for _ in range(3)]
        labels = pfnnc.label_phase(two_feet(*walk[:2], float(rng.choice([15, 30, 120])), walk[2]))
        has = ~np.isnan(labels.phase)
        assert ((labels.phase[has] >= 0) & (labels.phase[has] < 1)).all() and np.isfinite(labels.confidence).all()


# ---- feet and methods -------------------------------------------------------------------------


def renamed(clip):
    names = [f"joint{j}" for j in range(len(clip.skeleton))]
    s = clip.skeleton
    return pfnnc.Clip(pfnnc.Skeleton(names, s.parents, s.offsets), clip.root_positions, clip.rotations, clip.fps)


def test_feet_by_hand():
    clip = pfnnc.make_gait_clip("walk", seconds=4, fps=60).clip
    (la, lt), (ra, rt) = clip.skeleton.find_feet()
    other, expected = renamed(clip), pfnnc.label_phase(clip)
    with pytest.raises(ValueError, match="feet"):
        pfnnc.label_phase(other)
    for feet in (([la, lt], [ra, rt]), ((f"joint{la}", f"joint{lt}"), (ra, np.int64(rt)))):
        np.testing.assert_array_equal(pfnnc.label_phase(other, feet=feet).phase, expected.phase)
    np.testing.assert_allclose(pfnnc.label_phase(other, feet=(la, f"joint{ra}")).phase, expected.phase, atol=0.02)


@pytest.mark.parametrize(
    "feet, error",
    [
        (("LeftFoot",), ValueError),
        ("ab", TypeError),
        (5, TypeError),
        (("LeftFoot", "LeftFoot"), ValueError),
        (("LeftFoot", "LeftToeBase"), ValueError),
        (("LeftFoot", "Hips"), ValueError),
        (("nobody", "RightFoot"), ValueError),
        ((99, 3), ValueError),
        ((-1, 3), ValueError),
        ((1.5, 3), TypeError),
        (([], 3), ValueError),
        (([1, 2, 3], 3), ValueError),
        ((None, 3), TypeError),
        ((True, 3), TypeError),
    ],
)
def test_feet_refused(feet, error):
    clip = pfnnc.make_gait_clip("walk", seconds=1).clip
    for method in ("contacts", "auto", "root_y"):
        with pytest.raises(error):
            pfnnc.label_phase(clip, method, feet=feet)


def test_arguments_refused():
    clip = pfnnc.make_gait_clip("walk", seconds=1).clip
    for bad in (None, np.zeros((5, 3)), "walk.bvh", [clip]):
        with pytest.raises(TypeError, match="clip must be a Clip"):
            pfnnc.label_phase(bad)
    with pytest.raises(ValueError, match="method must be"):
        pfnnc.label_phase(clip, "contact")
    with pytest.raises(TypeError, match="method"):
        pfnnc.label_phase(clip, 1)


def test_root_y_is_the_articles_and_warns_of_half_cycles():
    made = pfnnc.make_gait_clip("walk", seconds=8, fps=60)
    with pytest.warns(UserWarning, match="half cycles"):
        labels = pfnnc.label_phase(made.clip, "root_y")
    phase, valleys = pfnnc.extract_phase_from_root_y(made.clip.root_positions[:, 1], 60)
    np.testing.assert_array_equal(labels.phase, phase)
    np.testing.assert_array_equal(labels.cycles, np.stack([valleys[:-1], valleys[1:]], 1))
    np.testing.assert_array_equal(labels.contacts, pfnnc.label_phase(made.clip).contacts)
    with pytest.warns(UserWarning, match="half cycles"):
        nameless = pfnnc.label_phase(renamed(made.clip), "auto")
    np.testing.assert_array_equal(nameless.phase, phase)
    assert not nameless.contacts.any()
    np.testing.assert_array_equal(pfnnc.label_phase(made.clip, "auto").phase, pfnnc.label_phase(made.clip).phase)


# ---- recordings -------------------------------------------------------------------------------

READING = {"holden": dict(scale=0.056444), "cmu": dict(scale=0.01, fps=60)}


def hand_labelled(name):
    for path in sorted(shared("clips", name).glob("*.phase")):
        clip = pfnnc.load_bvh(path.with_suffix(".bvh"), **READING[name])
        hand = pfnnc.load_phase(path, unit="pi" if name == "cmu" else "cycle", frames=len(clip))
        if name == "cmu":
            half = int(0.35 * clip.fps)
            a, b = (np.clip(np.arange(len(clip)) + k, 0, len(clip) - 1) for k in (-half, half))
            way = np.linalg.norm((clip.root_positions[b] - clip.root_positions[a])[:, [0, 2]], axis=1)
            hand[way * clip.fps < 0.35 * (b - a)] = np.nan
        yield clip, hand


def back(phase, clip, rate):
    """The phase of the resampled clip at the clip's own frames."""
    at = np.arange(len(clip)) * rate / clip.fps
    low = np.minimum(at.astype(int), len(phase) - 1)
    high = np.minimum(low + 1, len(phase) - 1)
    return (phase[low] + (at - low) * pfnnc.phase_difference(phase[high], phase[low])) % 1


@pytest.mark.parametrize("rate", [None, 30, 50])
@pytest.mark.parametrize("name, most, least", [("holden", 0.029, 0.972), ("cmu", 0.024, 0.978)])
def test_against_hand_made_labels(name, most, least, rate):
    differences, unlabelled = [], []
    for clip, hand in hand_labelled(name):
        phase = (
            pfnnc.label_phase(clip).phase if rate is None else back(pfnnc.label_phase(clip.resample(rate)).phase, clip, rate)
        )
        both = ~np.isnan(hand) & ~np.isnan(phase)
        differences.append(pfnnc.phase_difference(phase[both], hand[both]))
        unlabelled.append(np.isnan(phase[~np.isnan(hand)]).mean())
    offset = np.angle(np.exp(2j * np.pi * np.concatenate(differences)).mean()) / (2 * np.pi)
    assert abs(offset) < 0.06  # their strikes are a little later than ours
    d = [(x - offset + 0.5) % 1 - 0.5 for x in differences]
    assert np.mean([np.abs(x).mean() for x in d]) <= most
    assert np.mean([np.cos(2 * np.pi * x).mean() for x in d]) >= least
    assert max(np.abs(x).mean() for x in d) <= most + (0.006 if rate is None else 0.013)
    assert max(unlabelled) <= 0.05


def test_contacts_begin_at_hand_made_footsteps():
    found = []
    for path in sorted(shared("clips", "holden").glob("*_footsteps.txt")):
        clip = pfnnc.load_bvh(str(path).replace("_footsteps.txt", ".bvh"), **READING["holden"])
        contacts = pfnnc.label_phase(clip).contacts
        for row in path.read_text().splitlines():
            if "*" not in row:
                for foot, frame in zip((1, 0), row.split(), strict=False):
                    begins = np.flatnonzero(np.diff(contacts[:, foot].astype(int)) > 0) + 1
                    found.append(np.abs(begins - int(frame) + 1).min() < 0.12 * clip.fps)
    assert len(found) > 120 and np.mean(found) > 0.88


def test_recordings_of_other_kinds():
    def label(folder, name, **reading):
        return pfnnc.label_phase(pfnnc.load_bvh(shared("clips", folder, name + ".bvh"), **reading))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the readers' remarks on these files
        assert np.isnan(label("pack", "idle_").phase).all()  # its last row is all zeros
        assert np.isnan(label("other", "ad_cmu_jumping_jacks", scale=0.056444).phase).all()
        for folder, name, cycle in (  # seconds a cycle, read off pictures
            ("pack", "walk_forward_resampled", 1.45),
            ("pack", "run_forward_resampled", 0.78),
            ("pack", "run_forward_", 0.74),
            ("bandai", "bn1_run_normal_001", 0.76),
            ("bandai", "bn1_walk-left_normal_001", 1.11),
            ("bandai", "bn1_walk-back_normal_001", 1.0),
            ("bandai", "bn1_walk_old_001", 1.2),
            ("other", "pybvh_cmu_12_01_walk", 1.29),
        ):
            reading = dict(scale=0.01, root="Hips") if folder == "bandai" else {}
            labels = label(folder, name, **reading)
            clip_fps = {"pack": 60, "bandai": 30, "other": 120}[folder]
            has = ~np.isnan(labels.phase)
            rate = np.median((np.diff(labels.phase)[has[1:] & has[:-1]] + 0.5) % 1 - 0.5) * clip_fps
            assert has[3:].all() and 1 / rate == pytest.approx(cycle, rel=0.1), name
            assert all(np.rint(t) in range(len(labels)) for foot in labels.strikes for t in foot), name
            order = sorted([(t, 0) for t in labels.strikes[0]] + [(t, 1) for t in labels.strikes[1]])
            assert all(a[1] != b[1] for a, b in zip(order[:-1], order[1:], strict=True)), name


def test_walking_recordings_have_a_phase_wherever_they_begin():
    for folder, reading in (("pack", {}), ("bandai", dict(scale=0.01, root="Hips"))):
        for path in sorted(shared("clips", folder).glob("*.bvh")):
            clip = pfnnc.load_bvh(path, **reading)
            if "kick" in path.stem or "idle" in path.stem:
                labels = pfnnc.label_phase(clip)
                assert np.isnan(labels.phase).mean() > 0.8
                continue
            half = round(0.35 * clip.fps)
            a, b = (np.clip(np.arange(len(clip)) + k, 0, len(clip) - 1) for k in (-half, half))
            way = np.linalg.norm((clip.root_positions[b] - clip.root_positions[a])[:, [0, 2]], axis=1)
            walks = way * clip.fps > 0.35 * (b - a)
            for start in range(0, max(len(clip) - round(1.2 * clip.fps), 1), 23):
                phase = pfnnc.label_phase(clip[start:]).phase
                assert np.isnan(phase[walks[start:]]).mean() <= 0.05, (path.stem, start)


def test_load_phase_finds_what_is_labelled():
    with open(shared("clips", "labels.tsv")) as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    for row in rows:
        unit = "pi" if row["clip"].startswith("cmu") else "cycle"
        phase = pfnnc.load_phase(shared("clips", row["clip"] + ".phase"), unit=unit, frames=int(row["frames"]))
        has = np.flatnonzero(~np.isnan(phase))
        assert len(phase) == int(row["frames"])
        assert abs(has[0] - int(row["first_labelled"])) <= 1 and abs(has[-1] - int(row["last_labelled"])) <= 2
        assert has[-1] - has[0] + 1 == len(has)


# ---- files ------------------------------------------------------------------------------------


def test_phase_file_terms(tmp_path):
    path = tmp_path / "a.phase"
    path.write_text("0\n0\n0\n0.05\n0.1\n0.15\n0.2\n0.25\n0.3\n1.0\n0\n0\n")
    phase = pfnnc.load_phase(path)
    expected = [np.nan, np.nan, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, np.nan, np.nan, np.nan]
    np.testing.assert_allclose(phase, expected, atol=1e-12)
    path.write_text("1.0\r\n1.0\r\n1.1\r\n1.2\r\n1.3\r\n1.4\r\n1.5\r\n1.6\r\n1.8\r\n1.9\r\n0.0\r\n0.0\r\n\r\n")
    phase = pfnnc.load_phase(path, unit="pi", frames=14)
    expected = [np.nan, 0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.45, 0.5, np.nan, np.nan, np.nan]
    np.testing.assert_allclose(phase, expected, atol=1e-12)
    assert len(pfnnc.load_phase(path, unit="pi", frames=3)) == 3
    path.write_text("")
    assert pfnnc.load_phase(path).shape == (0,)
    path.write_text("0.5\n")
    assert np.isnan(pfnnc.load_phase(path)).tolist() == [True]


def test_phase_file_round_trip(tmp_path):
    labels = pfnnc.label_phase(pfnnc.make_gait_clip("walk", seconds=5, fps=60).clip)
    for unit in ("cycle", "pi"):
        pfnnc.save_phase(tmp_path / "a.phase", labels, unit=unit)
        np.testing.assert_allclose(pfnnc.load_phase(tmp_path / "a.phase", unit=unit), labels.phase, atol=1e-12)
    phase = np.concatenate([np.full(20, np.nan), np.arange(200) / 40 % 1, np.full(30, np.nan), np.arange(90) / 30 % 1])
    pfnnc.save_phase(tmp_path / "a.phase", phase)
    back = pfnnc.load_phase(tmp_path / "a.phase")
    differs = np.flatnonzero(~((back == phase) | (np.isnan(back) & np.isnan(phase)) | (np.abs(back - phase) < 1e-12)))
    assert len(differs) <= 3 and set(differs) <= {19, 220, 249}
    theirs = shared("clips", "holden", "LocomotionFlat04_000.phase")
    pfnnc.save_phase(tmp_path / "b.phase", pfnnc.load_phase(theirs))
    rows = np.loadtxt(tmp_path / "b.phase")
    np.testing.assert_allclose((rows - np.loadtxt(theirs) + 0.5) % 1, 0.5, atol=1e-9)


@pytest.mark.parametrize(
    "text, line",
    [
        (b"0\n0.5x\n", 2),
        (b"0\n\n0.5\n", 2),
        (b"0 1\n", 1),
        (b"0\n1.5\n", 2),
        (b"-0.1\n", 1),
        (b"nan\n", 1),
        (b"inf\n", 1),
        (b"0\n\xff\xfe\n", 2),
        (b"1_0\n", 1),
        (b"\x00\x00", 1),
    ],
)
def test_phase_file_refused(tmp_path, text, line):
    path = tmp_path / "bad.phase"
    path.write_bytes(text)
    with pytest.raises(ValueError, match=rf"bad\.phase:{line}: expected"):
        pfnnc.load_phase(path)


def test_files_refused(tmp_path):
    labels = pfnnc.label_phase(pfnnc.make_gait_clip("walk", seconds=3).clip)
    for load in (pfnnc.load_phase, pfnnc.load_labels):
        with pytest.raises(FileNotFoundError):
            load(tmp_path / "none")
        with pytest.raises(OSError):
            load(tmp_path)
        with pytest.raises(TypeError):
            load(None)
    with pytest.raises(ValueError, match="unit"):
        pfnnc.load_phase(tmp_path / "none", unit="radians")
    with pytest.raises(OSError):
        pfnnc.save_phase(tmp_path / "none" / "a.phase", labels)
    with pytest.raises(OSError):
        pfnnc.save_labels(tmp_path / "none" / "a.npz", labels)
    with pytest.raises(ValueError, match=r"phase\[1\]=2.0"):
        pfnnc.save_phase(tmp_path / "a.phase", [0.5, 2.0])
    with pytest.raises(TypeError, match="labels must be Labels"):
        pfnnc.save_labels(tmp_path / "a.npz", labels.phase)
    (tmp_path / "a.phase").write_text("0\n")
    for frames, error in ((-1, ValueError), (2.0, TypeError), (10**12, ValueError)):
        with pytest.raises(error, match="frames"):
            pfnnc.load_phase(tmp_path / "a.phase", frames=frames)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.phase"]


def test_labels_file(tmp_path):
    labels = pfnnc.label_phase(pfnnc.make_gait_clip("turn", seconds=5, fps=60).clip)
    path = tmp_path / "labels.npz"
    pfnnc.save_labels(path, labels)
    back = pfnnc.load_labels(path)
    for name in ("phase", "contacts", "confidence", "cycles"):
        np.testing.assert_array_equal(getattr(back, name), getattr(labels, name))
        assert getattr(back, name).dtype == getattr(labels, name).dtype
    for a, b in zip(back.strikes, labels.strikes, strict=True):
        np.testing.assert_array_equal(a, b)

    data = path.read_bytes()
    for cut in range(0, len(data), max(1, len(data) // 60)):
        path.write_bytes(data[:cut])
        with pytest.raises(ValueError, match="no file of labels"):
            pfnnc.load_labels(path)
    np.savez(path, phase=np.zeros(5))
    with pytest.raises(ValueError, match="no file of labels"):
        pfnnc.load_labels(path)
    none, cycles = np.zeros(0), np.zeros((0, 2), np.int64)
    arrays = dict(phase=np.zeros(5), confidence=np.zeros(5), cycles=cycles, left_strikes=none, right_strikes=none)
    np.savez(path, contacts=np.zeros((4, 2), bool), **arrays)
    with pytest.raises(ValueError, match="do not fit"):
        pfnnc.load_labels(path)
    arrays["contacts"] = np.zeros((5, 2), bool)
    for wrong in (dict(confidence=np.full(5, 1.5)), dict(cycles=np.array([[-4, 3]])), dict(left_strikes=np.array([np.nan]))):
        np.savez(path, **(arrays | wrong))
        with pytest.raises(ValueError, match="do not fit"):
            pfnnc.load_labels(path)
    np.savez(path, phase=np.array([None, 1], dtype=object))
    with pytest.raises(ValueError, match="no file of labels"):
        pfnnc.load_labels(path)


def test_damaged_labels_never_crash(tmp_path):
    path = tmp_path / "labels.npz"
    pfnnc.save_labels(path, pfnnc.label_phase(pfnnc.make_gait_clip("walk", seconds=2).clip))
    data, rng = path.read_bytes(), np.random.default_rng(0)
    for _ in range(200):
        changed = bytearray(data)
        for i in rng.integers(0, len(data), 4):
            changed[i] = rng.integers(0, 256)
        path.write_bytes(changed)
        try:
            assert isinstance(pfnnc.load_labels(path), pfnnc.Labels)
        except ValueError:
            pass


# ---- pictures and text ------------------------------------------------------------------------


def test_report(tmp_path):
    clip = pfnnc.make_gait_clip("walk", seconds=6, fps=30, speed=1.2).clip
    text = pfnnc.label_report(clip)
    assert "181 frames" in text and "whole cycles" in text and "stride" in text
    pytest.importorskip("matplotlib")
    text = pfnnc.label_report(clip, tmp_path / "new")
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == ["walk.npz", "walk.phase", "walk.png"]
    assert "walk.png" in text
    np.testing.assert_array_equal(pfnnc.load_labels(tmp_path / "new" / "walk.npz").phase, pfnnc.label_phase(clip).phase)
    assert "half cycles" in pfnnc.label_report(clip, method="root_y")
    assert "0% have a phase" in pfnnc.label_report(pfnnc.make_gait_clip("idle", seconds=2).clip)
    assert "0 frames" in pfnnc.label_report(clip[:0], tmp_path / "empty")
    for name in ("../../out", "..", "a/b:c", "x" * 500, "\0$x{$"):
        odd = pfnnc.Clip(clip.skeleton, clip.root_positions, clip.rotations, 30, name)
        pfnnc.label_report(odd, tmp_path / "odd" / "deep")
    assert [p.name for p in (tmp_path / "odd").iterdir()] == ["deep"] and not list(tmp_path.glob("out*"))
    assert len(list((tmp_path / "odd" / "deep").glob("*.npz"))) == 5


def test_plot_labels():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    clip = pfnnc.make_gait_clip("walk", seconds=3).clip
    axes = pfnnc.plot_labels(clip)
    assert len(axes) == 3 and pfnnc.plot_labels(clip, pfnnc.label_phase(clip), axes=axes) is axes
    with pytest.raises(ValueError, match="labels must have"):
        pfnnc.plot_labels(clip[:5], pfnnc.label_phase(clip))
    with pytest.raises(TypeError, match="labels must be Labels"):
        pfnnc.plot_labels(clip, pfnnc.label_phase(clip).phase)
    pyplot.close("all")
