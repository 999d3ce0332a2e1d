"""Metrics against numbers computed apart from them, and the report that they make together."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose
from test_skeleton import by_depth

import pfnnc
from pfnnc import (
    Clip,
    Result,
    amplitude_ratio,
    cadence_error,
    detect_contacts,
    drift_per_metre,
    evaluate,
    foot_skate,
    foot_slide,
    l2p,
    l2q,
    make_gait_clip,
    npss,
    path_ratio,
    penetration_and_float,
    phase_agreement,
    rmse,
    trajectory_correlation,
    yaw_rate_error,
    yaw_smoothness,
)
from pfnnc.report import GOALS

NAN = float("nan")


def rng():
    return np.random.default_rng(3)


def line(n, step):
    """A path along z."""
    return np.stack([np.zeros(n), np.zeros(n), step * np.arange(n)], axis=1)


def velocity_of(path, fps):
    return np.concatenate([path[1:2] - path[:1], np.diff(path, axis=0)]) * fps


# --- trajectory_correlation


def test_correlation_is_that_of_the_integrated_path():
    velocity, true = rng().normal(size=(2, 50, 3))
    true = np.cumsum(true, axis=0)
    result = trajectory_correlation(velocity, true, 30)
    path = true[:1] + np.r_[np.zeros((1, 3)), np.cumsum(velocity[1:], axis=0)] / 30
    assert_allclose(result.path, path, atol=1e-12)
    assert_allclose(result.per_axis, [np.corrcoef(path[:, i], true[:, i])[0, 1] for i in range(3)], atol=1e-12)
    pooled = np.corrcoef((path - path.mean(0)).ravel(), (true - true.mean(0)).ravel())[0, 1]
    assert_allclose(result.overall, pooled, atol=1e-12)


def test_correlation_of_the_true_velocity_is_one():
    path = np.cumsum(rng().normal(size=(80, 3)), axis=0)
    result = trajectory_correlation(velocity_of(path, 60), path, 60)
    assert_allclose([*result.per_axis, result.overall], 1, atol=1e-12)
    assert_allclose(result.path, path, atol=1e-12)


def test_u17_correlation_does_not_see_double_speed():
    true, fast = line(100, 0.05), line(100, 0.10)
    result = trajectory_correlation(velocity_of(fast, 30), true, 30)
    assert_allclose([result.per_axis[2], result.overall], 1, atol=1e-12)
    assert_allclose(fast[-1, 2] - true[-1, 2], 4.95)
    assert_allclose(path_ratio(fast, true), 2)
    assert_allclose(drift_per_metre(fast, true), 1)


def test_u17_correlation_does_not_see_a_dying_motion():
    knee = np.sin(2 * np.pi * np.arange(120) / 30)
    dying = knee.mean() + 0.1 * (knee - knee.mean())
    assert_allclose(amplitude_ratio(dying, knee), 0.1)
    assert_allclose(amplitude_ratio(dying, knee) ** 2, 0.01)
    assert_allclose(rmse(dying, knee), 0.636396, atol=1e-6)


def test_u18_an_axis_that_stands_has_no_correlation():
    result = trajectory_correlation(velocity_of(line(50, 0.05), 30), line(50, 0.05), 30)
    assert np.isnan(result.per_axis[:2]).all() and result.per_axis[2] == pytest.approx(1)
    assert result.overall == pytest.approx(1)
    stands = trajectory_correlation(np.zeros((50, 3)), np.full((50, 3), 0.1), 30)
    assert np.isnan(stands.per_axis).all() and np.isnan(stands.overall)
    report = evaluate(make_gait_clip("idle").clip[:1], make_gait_clip("idle").clip[:1])
    assert report["trajectory_correlation"].passed is None and "no value" in str(report)


def test_rounding_is_no_motion():
    path = line(50, 0.05)
    path[:, 0] = 3.0 + 1e-16 * np.arange(50)
    assert np.isnan(trajectory_correlation(velocity_of(path, 30), path, 30).per_axis[0])


def test_correlation_of_huge_and_tiny_paths():
    for scale in (1e-9, 1e90):
        path = np.cumsum(rng().normal(size=(40, 3)), axis=0) * scale
        assert_allclose(trajectory_correlation(velocity_of(path, 30), path, 30).overall, 1)


# --- feet


def test_u51_the_threshold_is_in_metres_a_second():
    for fps, millimetres in ((20, 12), (30, 8), (60, 4), (120, 2)):
        contacts = np.ones((11, 1), bool)
        slow, fast = (f * 1e-3 * millimetres * np.arange(11)[:, None, None] * [0.6, 0.0, 0.8] for f in (0.99, 1.01))
        assert foot_skate(slow, contacts, fps) == 0 and foot_skate(fast, contacts, fps) == 1


def test_skate_counts_steps_with_contact_at_both_ends():
    ankles = np.zeros((6, 2, 3))
    ankles[:, 0, 0] = [0, 1, 1, 2, 3, 3]
    ankles[:, 1, 1] = [0, 0, 0, 5, 5, 5]  # upwards counts too
    contacts = np.array([[1, 1, 1, 0, 1, 1], [0, 0, 1, 1, 0, 0]], bool).T
    assert foot_skate(ankles, contacts, 30) == pytest.approx(2 / 4)  # moved 0-1, stood 1-2, stood 4-5; the other moved 2-3


def test_skate_against_a_plain_loop():
    r = rng()
    ankles = np.cumsum(r.normal(size=(200, 3, 3)) * 0.006, axis=0)
    contacts = r.random((200, 3)) < 0.85
    for trim in (0, 1, 2, 5):
        fast = steps = 0
        for foot in range(3):
            on = contacts[:, foot].copy()
            for _ in range(trim):  # one frame off each end of each run
                on = on & np.r_[False, on[:-1]] & np.r_[on[1:], False]
            for t in range(1, 200):
                if on[t] and on[t - 1]:
                    steps += 1
                    fast += np.linalg.norm(ankles[t, foot] - ankles[t - 1, foot]) * 30 > 0.24
        got = foot_skate(ankles, contacts, 30, trim=trim)
        assert got == fast / steps if steps else np.isnan(got)


def test_skate_without_a_step_is_nan():
    assert np.isnan(foot_skate(np.zeros((5, 2, 3)), np.zeros((5, 2), bool), 30))
    assert np.isnan(foot_skate(np.zeros((5, 2, 3)), np.ones((5, 2), bool), 30, trim=3))
    assert np.isnan(foot_skate(np.zeros((1, 2, 3)), np.ones((1, 2), bool), 30))
    assert np.isnan(foot_skate(np.zeros((0, 2, 3)), np.ones((0, 2), bool), 30))
    assert np.isnan(foot_skate(np.zeros((9, 0, 3)), np.ones((9, 0), bool), 30))


def test_u63_a_slow_slide_shows_in_millimetres_only():
    ankles = 0.004 * np.arange(26)[:, None, None] * [1.0, 0, 0]
    assert foot_skate(ankles, np.ones((26, 1), bool), 30) == 0
    assert_allclose(foot_slide(ankles, np.ones((26, 1), bool)), [100.0])
    ankles = 0.0079 * np.arange(19)[:, None, None] * [1.0, 0, 0]
    assert foot_skate(ankles, np.ones((19, 1), bool), 30) == 0
    assert_allclose(foot_slide(ankles, np.ones((19, 1), bool)), [142.2])


def test_u56_horizontal_is_a_norm():
    for step, length in (([0.03, 0.0, -0.03], 42.426407), ([0.03, 0.0, 0.02], 36.055513), ([0.03, 0.02, 0.0], 30.0)):
        assert_allclose(foot_slide([[[0.0, 0, 0]], [step]], np.ones((2, 1), bool)), [length], atol=1e-6)


def test_slide_is_one_number_a_stance():
    ankles = np.zeros((10, 2, 3))
    ankles[:, 0, 0] = [0, 0, 0.01, 0.5, 1, 1, 1.03, 1.03, 2, 2]
    ankles[:, 1, 2] = 0.001 * np.arange(10)
    contacts = np.array([[1, 1, 1, 0, 0, 1, 1, 1, 0, 1], [0, 1, 1, 1, 1, 0, 0, 0, 0, 0]], bool).T
    assert_allclose(foot_slide(ankles, contacts), [10, 30, 3], atol=1e-9)
    assert_allclose(foot_slide(ankles, contacts, trim=1), [1], atol=1e-9)
    assert foot_slide(ankles, np.zeros((10, 2), bool)).shape == (0,)


def test_u52_contacts_do_not_flicker():
    speed = np.array([2, 3, 9, 3, 2, 20, 30, 25, 7, 2]) * 1e-3  # metres a frame
    positions = np.zeros((11, 1, 3))
    positions[1:, 0, 0] = np.cumsum(speed)
    found = detect_contacts(positions, 30, enter_speed=0.24, leave_speed=0.30, min_duration=2 / 30)[:, 0]
    begin = np.flatnonzero(np.diff(np.r_[False, found].astype(int)) == 1)
    assert len(begin) == 2 and found[:5].all()  # one contact before the step, one after: 9 mm does not break the first


def test_u70_penetration_and_float():
    assert_allclose(penetration_and_float([-0.010, 0, 0.020]), [0.010 / 3, 0.020 / 3])
    assert_allclose(penetration_and_float([[-0.010, 5], [7, 0], [0.020, 0.030]]), [0.010 / 3, 0.020 / 3])
    assert_allclose(penetration_and_float([0.09, 0.10, 0.12], floor=0.10), [0.010 / 3, 0.020 / 3])
    assert np.isnan(penetration_and_float([])).all()


# --- yaw


def quaternions(yaw):
    yaw = np.asarray(yaw)
    return np.stack([np.cos(yaw / 2), 0 * yaw, np.sin(yaw / 2), 0 * yaw], axis=-1)


def test_u57_yaw_wraps():
    assert yaw_smoothness([3.10, -3.10]) == 0
    assert_allclose(yaw_rate_error([3.10, -3.10], [0, 0], 1), 0.0831853, atol=1e-7)
    assert_allclose(yaw_smoothness([3.0, 3.10, -3.10, -3.0]), abs(2 * np.pi - 6.2 - 0.1), atol=1e-12)


def test_u57_a_missing_turn_is_smooth_and_shows_in_the_rate():
    turning, straight = np.arange(100) * np.pi / 2 / 30, np.zeros(100)
    assert yaw_smoothness(turning) == pytest.approx(0, abs=1e-12) and yaw_smoothness(straight) == 0
    assert_allclose(yaw_rate_error(straight, turning, 30) / 30, 0.05236, atol=1e-5)
    assert_allclose(0.5 * 30 * 180 / np.pi, 859.44, atol=0.01)


def test_yaw_of_quaternions_of_any_norm_and_sign():
    yaw = np.cumsum(rng().normal(size=60) * 0.3)
    expected = np.abs(np.diff(yaw, 2)).max()
    q = quaternions(yaw)
    scale = rng().uniform(0.1, 10, 60) * rng().choice([-1, 1], 60)
    for given in (q, -q, q * scale[:, None], 1e300 * q, 1e-300 * q, yaw, np.mod(yaw, 2 * np.pi)):
        assert_allclose(yaw_smoothness(given), expected, atol=1e-12)
    tilt = pfnnc.quat_mul(q, [np.cos(0.2), np.sin(0.2), 0, 0])
    assert_allclose(yaw_smoothness(tilt), expected, atol=1e-12)


def test_yaw_of_few_frames():
    assert yaw_smoothness([]) == yaw_smoothness([1.0]) == yaw_smoothness([0.0, 3.0]) == 0
    assert yaw_smoothness(quaternions([0.0, 1.0])) == 0
    assert_allclose(yaw_smoothness([0.0, 0.1, 0.3]), 0.1, atol=1e-15)  # the least that has a second difference
    assert yaw_smoothness([0.0, 0.0, 0.0, 0.5]) == 0.5  # four angles, not one quaternion
    assert np.isnan(yaw_rate_error([1.0], [1.0], 30))


# --- drift, lengths


def test_u61_drift():
    assert_allclose(drift_per_metre([[0, 0, 0], [0.3, 0, 9.6]], [[0, 0, 0], [0, 0, 10]]), 0.05)
    moved = np.array([[0, 0, 0], [0.3, 7, 9.6]]) + [5, 1, 2]  # where it starts and how high is no drift
    assert_allclose(drift_per_metre(moved, [[0, 0, 0], [0, 0, 10]]), 0.05)


def test_drift_and_path_where_the_truth_stands():
    still = np.ones((5, 3))
    for value in (drift_per_metre(line(5, 1.0), still), path_ratio(line(5, 1.0), still)):
        assert np.isnan(value)
    assert drift_per_metre(line(5, 1.0), line(5, 1.0)) == 0
    assert np.isnan(drift_per_metre(np.zeros((0, 3)), np.zeros((0, 3))))
    assert np.isnan(drift_per_metre(np.zeros((1, 3)), np.zeros((1, 3))))
    up = np.zeros((5, 3))
    up[:, 1] = np.arange(5)
    assert np.isnan(path_ratio(line(5, 1.0), up))


# --- phase


def test_u15_a_small_lag_is_punished_by_pearson_and_not_by_the_circle():
    true = np.mod(np.arange(300) / 30, 1)
    for lag, r, circle in ((1, 0.806452, np.cos(2 * np.pi / 30)), (2, 0.626251, np.cos(4 * np.pi / 30))):
        late = np.mod(true + lag / 30 + 1e-12, 1)
        assert_allclose(np.corrcoef(late, true)[0, 1], r, atol=1e-6)
        assert_allclose(phase_agreement(late, true), circle, atol=1e-9)
    for d, circle in ((0.01, 0.998027), (0.02, 0.992115), (0.05, 0.951057), (0.1, 0.809017)):
        assert_allclose(phase_agreement(np.mod(true + d, 1), true), circle, atol=1e-6)


def test_u16_another_cadence_fails():
    n = np.arange(300)
    true, fast = np.mod(n / 30, 1), np.mod(1.3 * n / 30, 1)
    assert_allclose(np.corrcoef(1.3 * n, n)[0, 1], 1)
    assert_allclose(phase_agreement(fast, true), 0, atol=1e-9)
    assert_allclose(cadence_error(fast, true), 0.30, atol=1e-9)


def test_phases_of_frames_without_one():
    true = np.r_[np.full(10, NAN), np.mod(np.arange(60) / 30, 1), np.full(5, NAN)]
    assert phase_agreement(true, true) == 1 and cadence_error(true, true) == 0
    assert np.isnan(phase_agreement(np.full(75, NAN), true)) and np.isnan(cadence_error(np.full(75, NAN), true))
    assert np.isnan(cadence_error(true, np.full(75, NAN))) and np.isnan(cadence_error(true, np.zeros(75)))
    assert np.isnan(phase_agreement([], [])) and np.isnan(cadence_error([], []))


# --- poses


def test_u59_l2p_and_l2q():
    assert l2p([[[1, 2, 2], [0, 0, 0]]], np.zeros((1, 2, 3))) == 3
    q = rng().normal(size=(1, 1, 4))
    assert l2q(q, -q) == 0
    assert_allclose(l2p([[[1, 2, 2], [0, 0, 0]]], np.zeros((1, 2, 3)), mean=np.ones((2, 3)), std=np.full(3, 0.5)), 6)


def test_l2_against_a_plain_loop():
    a, b = rng().normal(size=(2, 3, 7, 5, 4))
    frames = []
    for i in range(3):
        for t in range(7):
            total = 0.0
            for j in range(5):
                total += min(((a[i, t, j] - s * b[i, t, j]) ** 2).sum() for s in (1, -1))
            frames.append(np.sqrt(total))
    assert_allclose(l2q(a, b), np.mean(frames))
    norms = [np.linalg.norm(a[i, t, :, :3] - b[i, t, :, :3]) for i in range(3) for t in range(7)]
    assert_allclose(l2p(a[..., :3], b[..., :3]), np.mean(norms))
    assert np.isnan(l2p(np.zeros((0, 2, 3)), np.zeros((0, 2, 3))))


def test_npss_against_a_plain_loop():
    predicted, true = rng().normal(size=(2, 4, 32, 3))
    true[1, :, 2] = 0.0  # a zero channel
    total = weight = 0.0
    k = np.arange(32)
    cosines = np.cos(2 * np.pi * np.outer(k, k) / 32)
    for b in range(4):
        for d in range(3):
            power_p, power_t = (cosines @ predicted[b, :, d]) ** 2, (cosines @ true[b, :, d]) ** 2
            if power_t.sum() == 0:
                continue
            distance = np.abs(np.cumsum(power_p) / power_p.sum() - np.cumsum(power_t) / power_t.sum()).sum()
            total += distance * power_t.sum()
            weight += power_t.sum()
    assert_allclose(npss(predicted, true), total / weight, rtol=1e-9)
    assert npss(true, true) == 0
    assert_allclose(npss(predicted[0], true[0]), npss(predicted[:1], true[:1]))


def test_npss_of_nothing():
    assert np.isnan(npss(np.ones((8, 2)), np.zeros((8, 2))))
    assert npss(np.zeros((8, 2)), np.ones((8, 2))) > 0
    assert np.isnan(npss(np.zeros((0, 2)), np.zeros((0, 2)))) and np.isnan(npss(np.zeros((5, 0)), np.zeros((5, 0))))


def test_amplitude_of_an_axis_that_stands():
    true = np.stack([np.arange(5.0), np.full(5, 0.1)], axis=1)
    assert_allclose(amplitude_ratio(2 * true, true), [2, NAN])


def test_joint_amplitude_is_the_angle():
    t = np.linspace(0, 4 * np.pi, 400, endpoint=False)
    swing = np.stack([np.cos(0.25 * np.sin(t)), np.sin(0.25 * np.sin(t)), 0 * t, 0 * t], axis=1)  # +- 0.5 rad
    still = np.broadcast_to([0.5, 0.5, -0.5, 0.5], swing.shape)
    q = np.stack([swing, still, -swing], axis=1)
    assert_allclose(pfnnc.joint_amplitude(q), [0.5 / np.sqrt(2), 0, 0.5 / np.sqrt(2)], atol=1e-9)


# --- wrong input

P, Q = np.zeros((5, 3)), np.tile([1.0, 0, 0, 0], (5, 2, 1))
ANKLES, ON = np.zeros((5, 2, 3)), np.ones((5, 2), bool)


def with_nan(array, *index):
    array = np.array(array, float)
    array[index] = NAN
    return array


def test_the_reference_column_is_the_references_own_value():
    walk = make_gait_clip("walk", seconds=1.0).clip
    for frames in (2, 31):
        report = evaluate(walk[:frames], walk[:frames])
        assert report["trajectory_correlation"].reference == pytest.approx(1) == report["path_ratio"].reference
    up = Clip(walk.skeleton, walk.root_positions * [0, 1, 0] + np.arange(31)[:, None] * [0, 0.1, 0], walk.rotations, 30)
    report = evaluate(up, up, feet=["Hips"])  # goes nowhere over the ground, and has no leg
    assert report["trajectory_correlation"].reference == pytest.approx(1)
    assert np.isnan([report["path_ratio"].reference, report["path_ratio"].value, report["amplitude_ratio"].value]).all()


def test_joints_may_stand_in_any_order():
    walk = make_gait_clip("walk", seconds=2.0).clip
    slower = make_gait_clip("walk", seconds=2.0, speed=1.1).clip
    feet = ("LeftFoot", "RightFoot")
    assert evaluate(by_depth(slower), walk, feet=feet).to_json() == evaluate(slower, walk, feet=feet).to_json()


def test_each_joint_is_printed():
    walk = make_gait_clip("walk", seconds=3.0).clip
    stiff = walk.rotations.copy()
    stiff[:, walk.skeleton.index("LeftLeg")] = stiff[0, walk.skeleton.index("LeftLeg")]
    stiff = Clip(walk.skeleton, walk.root_positions, stiff, walk.fps)
    report = evaluate(stiff, walk, feet=("LeftFoot", "RightFoot"))
    assert report.joints["LeftLeg"] == 0 and " LeftLeg=0.00 " in str(report) and " RightLeg=1.00" in str(report)
    assert "Fingers" not in str(report)  # does not move


def test_goals_at_their_bounds():
    for name, bound, holds in (
        ("trajectory_correlation", 0.9, False), ("foot_skate", 0.01, False), ("yaw_smoothness", 0.5, True),
        ("path_ratio", 0.75, True), ("path_ratio", 1.35, True), ("path_ratio", 1.36, False),
        ("cadence_error", -0.2, True), ("cadence_error", 0.2, True), ("cadence_error", 0.21, False),
        ("amplitude_ratio", 0.7, True), ("amplitude_ratio", 1.3, True), ("amplitude_ratio", 0.69, False),
    ):  # fmt: skip
        assert GOALS[name].holds(bound) is holds, name
    assert GOALS["foot_skate"].holds(NAN) is None


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: trajectory_correlation(P, P[:4], 30), ValueError, r"velocity has shape \(5, 3\)"),
        (lambda: trajectory_correlation(P[:1], P[:1], 30), ValueError, "velocity must have at least 2 frames"),
        (lambda: trajectory_correlation(P[:, 0], P[:, 0], 30), ValueError, "velocity must have shape"),
        (lambda: trajectory_correlation(with_nan(P, 2, 1), P, 30), ValueError, r"velocity\[2, 1\]=nan is not finite"),
        (lambda: trajectory_correlation(P, with_nan(P, 2, 1), 30), ValueError, r"positions\[2, 1\]=nan is not finite"),
        (lambda: trajectory_correlation(P, P, 0), ValueError, "fps must be greater than 0"),
        (lambda: trajectory_correlation(P.astype(complex), P, 30), TypeError, "velocity must be an array of real"),
        (lambda: trajectory_correlation("x", P, 30), TypeError, "velocity must be an array of real"),
        (lambda: trajectory_correlation(None, P, 30), TypeError, "velocity must be an array of real"),
        (lambda: foot_skate(ANKLES, ON[:4], 30), ValueError, r"ankles of shape \(5, 2, 3\)"),
        (lambda: foot_skate(ANKLES, ON.astype(int), 30), TypeError, "contacts must be an array of bool"),
        (lambda: foot_skate(ANKLES, None, 30), TypeError, "contacts must be an array of bool"),
        (lambda: foot_skate(ANKLES[:, 0], ON, 30), ValueError, "ankles must have shape"),
        (lambda: foot_skate(with_nan(ANKLES, 1, 1, 0), ON, 30), ValueError, r"ankles\[1, 1, 0\]=nan"),
        (lambda: foot_skate(ANKLES, ON, -30), ValueError, "fps must be greater than 0"),
        (lambda: foot_skate(ANKLES, ON, 30, threshold=-1), ValueError, "threshold must be at least 0"),
        (lambda: foot_skate(ANKLES, ON, 30, trim=-1), ValueError, "trim must be at least 0"),
        (lambda: foot_skate(ANKLES, ON, 30, trim=1.5), TypeError, "trim must be an integer"),
        (lambda: foot_slide(ANKLES, ON[:, :1]), ValueError, "ankles of shape"),
        (lambda: yaw_smoothness(np.zeros((5, 3))), ValueError, "orientation must have shape"),
        (lambda: yaw_smoothness([[1, 0, 0, 0], [0, 0, 0, 0]]), ValueError, r"orientation\[1\] is a zero quaternion"),
        (lambda: yaw_smoothness([0.0, NAN]), ValueError, r"orientation\[1\]=nan"),
        (lambda: yaw_smoothness(1.0), ValueError, "orientation must have shape"),
        (lambda: yaw_rate_error([0, 0], [0], 30), ValueError, "predicted has shape"),
        (lambda: drift_per_metre(P, P[:4]), ValueError, r"predicted has shape \(5, 3\)"),
        (lambda: drift_per_metre(P[:, :2], P[:, :2]), ValueError, "predicted must have shape"),
        (lambda: path_ratio(P, P[:4]), ValueError, "predicted has shape"),
        (lambda: l2p(P, P), ValueError, "predicted must have shape"),
        (lambda: l2p(P[None], P[None, :4]), ValueError, "predicted has shape"),
        (lambda: l2p(P[None], P[None], std=np.zeros(3)), ValueError, r"std\[0\]=0.0 is not greater than 0"),
        (lambda: l2p(P[None], P[None], std=np.ones(4)), ValueError, "std of shape"),
        (lambda: l2p(P[None], P[None], mean=np.ones((9, 9, 3))), ValueError, "mean of shape"),
        (lambda: l2q(P[None], P[None]), ValueError, "predicted must have shape"),
        (lambda: l2q(Q, Q[:4]), ValueError, "predicted has shape"),
        (lambda: npss(np.zeros(5), np.zeros(5)), ValueError, "predicted must have shape"),
        (lambda: npss(P, P[:4]), ValueError, "predicted has shape"),
        (lambda: npss(with_nan(P, 0, 0), P), ValueError, r"predicted\[0, 0\]=nan"),
        (lambda: phase_agreement([0.5, 1.2], [0, 0]), ValueError, r"predicted\[1\]=1.2 is not in \[0, 1\]"),
        (lambda: phase_agreement([0.5], [0, 0]), ValueError, "predicted has shape"),
        (lambda: amplitude_ratio(1.0, 1.0), ValueError, "at least one axis"),
        (lambda: rmse([1, 2], [[1, 2]]), ValueError, "predicted has shape"),
        (lambda: penetration_and_float(np.zeros((2, 2, 2))), ValueError, "heights must have shape"),
        (lambda: pfnnc.joint_amplitude(P), ValueError, "rotations must have shape"),
        (lambda: pfnnc.joint_amplitude(0 * Q), ValueError, r"rotations\[0, 0\] is a zero quaternion"),
        (lambda: pfnnc.joint_amplitude([[[1, 0, 0, 0], [0, 0, 0, 0]]]), ValueError, r"rotations\[0, 1\] is a zero"),
        (lambda: rmse([1.0, 1e200], [1.0, 1.0]), ValueError, r"predicted\[1\]=1e\+200 is not in"),
        (lambda: trajectory_correlation(P + 1e308, P, 30), ValueError, r"velocity\[0, 0\]=1e\+308 is not in"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_arguments_are_not_changed_and_any_real_type_will_do():
    a, b = rng().normal(size=(2, 20, 3)).astype(">f4")
    kept = a.copy()
    a.setflags(write=False)
    trajectory_correlation(a, b, 30)
    npss(a[::-1], b)
    assert np.array_equal(a, kept)
    assert rmse(np.array([1, 2], np.int8), [True, False]) == np.sqrt(2)
    assert foot_skate(ANKLES.tolist(), ON.tolist(), np.float32(30)) == 0


# --- report


@pytest.fixture(scope="module")
def walk():
    return make_gait_clip("walk", seconds=6.0)


def test_a_clip_against_itself(walk):
    report = evaluate(walk.clip, walk.clip, contacts=walk.contacts, feet=walk.feet)
    assert report.passed
    for name in ("trajectory_correlation", "foot_skate", "yaw_smoothness", "path_ratio", "amplitude_ratio"):
        assert report[name].passed is True
    assert report["trajectory_correlation"].value == pytest.approx(1)
    assert report["foot_skate"].value == 0 and report["foot_skate"].goal == 0.01
    assert [report[name].value for name in ("l2p", "l2q", "npss", "rmse", "end_drift")] == [0] * 5
    assert report["l2p"].passed is None and report["l2p"].goal is None
    assert "as given" in report.contact


def test_report_is_a_mapping(walk):
    report = evaluate(walk.clip, walk.clip)
    assert len(report) == len(list(report)) == len(dict(report)) and "foot_skate" not in report
    with pytest.raises(KeyError):
        report["nothing"]
    assert report["yaw_smoothness"] == Result(report["yaw_smoothness"].value, 0.5, True)
    value, goal, passed = report["path_ratio"]
    assert (value, goal, passed) == (1.0, (0.75, 1.35), True)


@pytest.mark.parametrize("factor", [2.0, 0.3])
def test_u17_double_speed_fails_the_report(walk, factor):
    root = walk.clip.root_positions * [factor, 1, factor]
    report = evaluate(Clip(walk.clip.skeleton, root, walk.clip.rotations, 30), walk.clip, feet=walk.feet)
    assert report["trajectory_correlation"].passed is True
    assert report["path_ratio"].value == pytest.approx(factor, rel=0.05)
    assert report["path_ratio"].passed is False and not report.passed


def test_u17_a_dying_motion_fails_the_report(walk):
    mean = np.broadcast_to(pfnnc.quat_mean(walk.clip.rotations, axis=0), walk.clip.rotations.shape)
    fading = pfnnc.quat_slerp(mean, walk.clip.rotations, 0.1)
    fading[:, 0] = walk.clip.rotations[:, 0]
    dead = Clip(walk.clip.skeleton, walk.clip.root_positions, fading, 30)
    for options in ({}, {"feet": walk.feet}):
        report = evaluate(dead, walk.clip, **options)
        assert report["trajectory_correlation"].passed is True and report["yaw_smoothness"].passed is True
        assert report["amplitude_ratio"].value == pytest.approx(0.1, rel=0.05)
        assert report["amplitude_ratio"].passed is False and not report.passed
        assert report.joints["LeftLeg"] == pytest.approx(0.1, rel=0.05)


def test_the_references_own_values_stand_beside(walk):
    run = make_gait_clip("run", seconds=6.0).clip
    both = evaluate(run, walk.clip, feet=walk.feet)
    own = evaluate(walk.clip, walk.clip, feet=walk.feet)
    for name in ("foot_skate", "slide_median", "slide_90", "yaw_smoothness", "float"):
        assert both[name].reference == own[name].value == own[name].reference
    assert both["cadence_error"].value > 0.3
    text = str(both)
    assert "found in each clip" in text and "0.15 m/s" in text and "FAIL" in text and "0.75 .. 1.35" in text


def test_turning_a_clip_changes_no_foot(walk):
    turned = make_gait_clip("walk", seconds=6.0, heading=1.0).clip
    report = evaluate(turned, walk.clip, feet=walk.feet)
    for name in ("foot_skate", "slide_median", "path_ratio", "amplitude_ratio"):
        assert report[name].value == pytest.approx(report[name].reference, abs=1e-9)


def test_json_is_strict(walk):
    still = make_gait_clip("idle", seconds=1.0).clip[:1]
    for report in (evaluate(walk.clip, walk.clip, feet=walk.feet), evaluate(still, still, feet=walk.feet)):
        content = json.loads(report.to_json(), parse_constant=lambda name: pytest.fail(name))
        assert content["passed"] is report.passed
        assert list(content["metrics"]) == list(report)
        for name, entry in content["metrics"].items():
            assert set(entry) == {"value", "goal", "passed"}
            assert entry["value"] == (None if np.isnan(report[name].value) else report[name].value)
            assert entry["passed"] is report[name].passed


@pytest.mark.parametrize("frames", [0, 1, 2, 3, 5])
def test_clips_of_few_frames(walk, frames):
    clip = walk.clip[:frames]
    report = evaluate(clip, clip, feet=walk.feet)
    assert report.passed and str(report) and report.to_json()


def test_evaluate_refuses(walk):
    clip = walk.clip
    other = Clip(pfnnc.Skeleton(["a"], [-1], [[0, 0, 0]]), clip.root_positions, clip.rotations[:, :1], 30)
    for call, error, message in [
        (lambda: evaluate(clip[:-1], clip), ValueError, "predicted has 180 frames, reference has 181"),
        (lambda: evaluate(clip.resample(60)[:181], clip), ValueError, "predicted has 60 frames a second"),
        (lambda: evaluate(other, clip), ValueError, "predicted has other joints"),
        (lambda: evaluate(None, clip), TypeError, "predicted must be a Clip"),
        (lambda: evaluate(clip, clip.positions()), TypeError, "reference must be a Clip"),
        (lambda: evaluate(clip, clip, feet=["LeftPaw"]), ValueError, "LeftPaw"),
        (lambda: evaluate(clip, clip, feet="LeftFoot"), TypeError, "feet must be a sequence"),
        (lambda: evaluate(clip, clip, feet=3), TypeError, "feet must be a sequence"),
        (lambda: evaluate(clip, clip, feet=[99]), ValueError, r"feet\[0\] must be in"),
        (lambda: evaluate(clip, clip, contacts=walk.contacts), ValueError, "contacts need feet"),
        (lambda: evaluate(clip, clip, contacts=walk.contacts[:5], feet=walk.feet), ValueError, "contacts of shape"),
        (lambda: evaluate(clip, clip, contacts=1.0 * walk.contacts, feet=walk.feet), TypeError, "contacts must be an"),
    ]:
        with pytest.raises(error, match=message):
            call()
