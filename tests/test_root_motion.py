"""Root motion against rational and 50-digit arithmetic, and against the laws that it must obey."""

import hashlib
import pickle
import subprocess
import sys
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from conftest import plain_environment
from hypothesis import given, settings
from hypothesis import strategies as st

import pfnnc
from pfnnc import RootTrack, blend_motions, blend_tracks

LAB = RootTrack([0, 0.25, 0.75, 1], [0, 0.2, 1.7, 2])


def quarter_circle(n: int = 91) -> RootTrack:
    """A quarter of a circle of radius 1, from the origin towards +z, turning to the left hand of x."""
    u = np.linspace(0, 1, n)
    angle = u * np.pi / 2
    zero = np.zeros(n)
    positions = np.stack([1 - np.cos(angle), zero, np.sin(angle)], 1)
    return RootTrack(u, positions, np.stack([np.cos(angle / 2), zero, np.sin(angle / 2), zero], 1))


def heading(rotation) -> np.ndarray:
    return np.degrees(2 * np.arctan2(rotation[..., 2], rotation[..., 0]))


# ---- the lab's track ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("t0", "t1", "motion"), [(0.9, 1.1, 0.20), (0.9, 3.1, 4.20), (1.1, 0.9, -0.20), (0, 1, 2), (-3, 2, 10)]
)
def test_lab_intervals(t0, t1, motion):
    assert LAB.delta(t0, t1) == pytest.approx(motion, abs=1e-9)


def test_lab_split():
    assert LAB.split(-0.1) == (-1, pytest.approx(0.9, abs=1e-12))
    assert LAB.split(-1e-20) == (-1, np.nextafter(1, 0))
    assert LAB.split(1.0) == (1, 0.0)
    cycle, phase = LAB.split([[0.25, -2.0], [1e6, 7.75]])
    assert cycle.tolist() == [[0, -2], [10**6, 7]] and phase.tolist() == [[0.25, 0.0], [0.0, 0.75]]
    assert cycle.dtype == np.int64


def overlap_integral(t0: Fraction, t1: Fraction) -> Fraction:
    """Overlap times speed, added over every cycle and segment: the lab's own integrator, in exact arithmetic."""
    keys = [
        (Fraction(0), Fraction(0)),
        (Fraction(1, 4), Fraction(1, 5)),
        (Fraction(3, 4), Fraction(17, 10)),
        (Fraction(1), Fraction(2)),
    ]
    low, high = min(t0, t1), max(t0, t1)
    total = Fraction(0)
    for cycle in range(-6, 6):
        for (a, p), (b, q) in zip(keys, keys[1:]):
            overlap = min(high, cycle + b) - max(low, cycle + a)
            if overlap > 0:
                total += overlap * (q - p) / (b - a)
    return total if t1 >= t0 else -total


def test_lab_sweep_of_25921_intervals():
    ends = [Fraction(i, 16) for i in range(-80, 81)]
    from_start = [overlap_integral(Fraction(0), end) for end in ends]
    times = np.array([float(end) for end in ends])
    right = np.array([[float(b - a) for b in from_start] for a in from_start])
    found = LAB.delta(times[:, None], times[None, :])
    assert found.shape == (161, 161) and found.size == 25_921
    np.testing.assert_allclose(found, right, rtol=0, atol=1e-9)
    middle = (times[:, None] + times[None, :]) / 2
    parts = LAB.delta(times[:, None], middle) + LAB.delta(middle, times[None, :])
    np.testing.assert_allclose(parts, found, rtol=0, atol=1e-9)


# ---- rational arithmetic ------------------------------------------------------------------------


def exact_unrolled(times, positions, t: float) -> list[Fraction]:
    """The root at time t of the endless motion, by the definition, in rational numbers."""
    times = [Fraction(float(x)) for x in times]
    t = Fraction(float(t))
    cycle = t // times[-1]
    local = t - cycle * times[-1]
    i = max(j for j in range(len(times) - 1) if times[j] <= local)
    share = (local - times[i]) / (times[i + 1] - times[i])
    rows = [[Fraction(float(x)) for x in row] for row in positions]
    return [cycle * (z - s) + a + share * (b - a) for a, b, s, z in zip(rows[i], rows[i + 1], rows[0], rows[-1])]


@pytest.mark.parametrize("keys", [2, 4, 9, 40])
@pytest.mark.parametrize("cycles", [1, 1000, 1_000_000])
def test_against_rational_arithmetic(keys, cycles):
    rng = np.random.default_rng(keys + cycles)
    times = np.concatenate([[0], np.cumsum(rng.uniform(0.01, 0.3, keys - 1))])
    positions = np.cumsum(rng.normal(0, 0.3, (keys, 3)), axis=0)
    track = RootTrack(times, positions)
    t0, t1 = rng.uniform(-cycles, cycles, (2, 50)) * times[-1] * 0.999
    t1[:25] = t0[:25] + rng.uniform(-0.1, 0.1, 25)
    found = track.delta(t0, t1)
    for a, b, motion in zip(t0, t1, found):
        right = [float(y - x) for x, y in zip(exact_unrolled(times, positions, a), exact_unrolled(times, positions, b))]
        np.testing.assert_allclose(motion, right, rtol=1e-15, atol=1e-9)
    cycle, phase = track.split(t0)
    for t, k, u in zip(t0, cycle, phase):
        exact = Fraction(float(t)) / Fraction(float(times[-1]))
        assert k == exact.__floor__()
        assert 0 <= u < 1 and abs(Fraction(float(u)) - (exact - k)) < Fraction(1, 10**15)


def test_split_never_reaches_one():
    for duration in (1.0, 0.1, 1 / 3, 7e-5, 1234.5):
        track = RootTrack([0, duration], [0, 1])
        times = duration * np.arange(-50, 50)
        times = np.concatenate([np.nextafter(times, -np.inf), times, np.nextafter(times, np.inf), [-1e-300, -5e-324, 5e-324]])
        cycle, phase = track.split(times)
        assert (phase >= 0).all() and (phase < 1).all()
        for t, k in zip(times, cycle):
            assert k == (Fraction(float(t)) / Fraction(duration)).__floor__()


def test_delta_split_of_any_cycles():
    big = 2**62
    assert LAB.delta_split(big, 0.9, big + 1, 0.1) == pytest.approx(0.2, abs=1e-9)
    assert LAB.delta_split(-(2**63), 0.0, 2**63 - 1, 0.0) == 2.0 * (2**64 - 1)
    assert LAB.delta_split(0, 0.0, 0, 1.0) == pytest.approx(2, abs=1e-12)
    assert LAB.delta_split([0, 5], 0.0, 7, [[0.0], [0.25]]).shape == (2, 2)
    # a step of 1/240 s after 10^12 cycles
    assert LAB.delta_split(10**12, 0.25, 10**12, 0.25 + 1 / 240) == pytest.approx(3 / 240, abs=1e-9)


# ---- cases --------------------------------------------------------------------------------------


def test_u01_one_loop_boundary():
    track = RootTrack([0, 1], [[0, 0, 0], [0, 0, 1.4]])
    np.testing.assert_allclose(track.delta(0.9, 1.15), [0, 0, 0.35], rtol=0, atol=1e-12)
    assert track.split(1.15)[0] - track.split(0.9)[0] == 1


@pytest.mark.parametrize(
    ("loops", "place", "degrees"),
    [
        (1, (1, 0, 1), 90),
        (2, (2, 0, 0), 180),
        (3, (1, 0, -1), 270),
        (4, (0, 0, 0), 0),
        (2.5, (1.7071067811865475, 0, -0.7071067811865476), 225),
    ],
)
def test_u03_turning_loop_closes(loops, place, degrees):
    translation, rotation = quarter_circle().delta(0, loops)
    np.testing.assert_allclose(translation, place, rtol=0, atol=1e-9)
    assert (heading(rotation) - degrees + 180) % 360 - 180 == pytest.approx(0, abs=1e-7)


def half_a_degree() -> tuple:
    half = np.radians(0.25)
    return [0, 1], [[0, 0, 0], [0, 0, 1.4]], [[1, 0, 0, 0], [np.cos(half), 0, np.sin(half), 0]]


def test_u04_half_a_degree_a_loop():
    translation, rotation = RootTrack(*half_a_degree()).delta(0, 100)
    np.testing.assert_allclose(translation, [56.77034, 0, 123.144387], rtol=0, atol=5e-6)
    assert heading(rotation) == pytest.approx(50, abs=1e-9)
    translation, rotation = RootTrack(*half_a_degree(), close_loop=True).delta(0, 100)
    np.testing.assert_allclose(translation, [0, 0, 140], rtol=0, atol=1e-9)
    assert heading(rotation) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("steps", [600, 300, 1])
def test_u07_frame_rate_independence(steps):
    track, clock = quarter_circle(), pfnnc.LoopClock(1.0)
    place, turn = np.zeros(3), np.array([1.0, 0, 0, 0])
    for _ in range(steps):
        clock.advance(10 / steps)
        translation, rotation = clock.consume(track)
        place, turn = place + pfnnc.quat_rotate(turn, translation), pfnnc.quat_mul(turn, rotation)
    np.testing.assert_allclose(place, [2, 0, 0], rtol=0, atol=1e-10)
    assert abs(heading(turn)) == pytest.approx(180, abs=1e-8)


def test_u09_yaw_step_across_half_a_turn():
    yaw = np.radians([179, -179])
    rotations = np.stack([np.cos(yaw / 2), 0 * yaw, np.sin(yaw / 2), 0 * yaw], 1)
    _, step = RootTrack([0, 1], np.zeros((2, 3)), rotations).delta_split(0, 0.0, 0, 1.0)
    assert pfnnc.quat_yaw(step) == pytest.approx(0.03490658503988659, abs=1e-12)


def test_u10_one_shot_delivers_its_last_part():
    track = RootTrack([0, 1], [0, 1.2], loop=False)
    steps = [track.delta(0.3 * i, 0.3 * (i + 1)) for i in range(6)]
    np.testing.assert_allclose(steps, [0.36, 0.36, 0.36, 0.12, 0, 0], rtol=0, atol=1e-12)
    assert sum(steps) == pytest.approx(1.2, abs=1e-15)
    assert track.delta(-5, 0.25) == pytest.approx(0.3, abs=1e-12)
    assert track.delta(1e30, -1e30) == -1.2


# ---- turning tracks against 50 digits -----------------------------------------------------------


def mp_mul(a, b):
    return [
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ]


def mp_turn(q, v):
    return mp_mul(mp_mul(q, [0, *v]), [q[0], -q[1], -q[2], -q[3]])[1:]


def mp_compose(a, b):
    return [x + y for x, y in zip(a[0], mp_turn(a[1], b[0]))], mp_mul(a[1], b[1])


def mp_inverse(a):
    back = [a[1][0], -a[1][1], -a[1][2], -a[1][3]]
    return [-x for x in mp_turn(back, a[0])], back


def mp_unit(q):
    q = [mpmath.mpf(float(x)) for x in q]
    norm = mpmath.sqrt(sum(x * x for x in q))
    return [x / norm for x in q]


def mp_power(motion, n: int):
    """By repeated squaring: no closed form, so that the screw has something to be held against."""
    base, result = (motion if n >= 0 else mp_inverse(motion)), ([mpmath.mpf(0)] * 3, [mpmath.mpf(1), 0, 0, 0])
    n = abs(n)
    while n:
        if n & 1:
            result = mp_compose(result, base)
        base, n = mp_compose(base, base), n >> 1
    return result


def mp_pose(track: RootTrack, t: float):
    t, end = Fraction(float(t)), Fraction(float(track.times[-1]))
    cycle = t // end
    local = t - cycle * end
    i = max(j for j in range(len(track.times) - 1) if Fraction(float(track.times[j])) <= local)
    share = (local - Fraction(float(track.times[i]))) / (Fraction(float(track.times[i + 1])) - Fraction(float(track.times[i])))
    share = mpmath.mpf(share.numerator) / share.denominator
    position = [
        mpmath.mpf(float(a)) + share * (mpmath.mpf(float(b)) - mpmath.mpf(float(a)))
        for a, b in zip(*track.positions[i : i + 2])
    ]
    a, b = mp_unit(track.rotations[i]), mp_unit(track.rotations[i + 1])
    dot = sum(x * y for x, y in zip(a, b))
    if dot < 0:
        b, dot = [-x for x in b], -dot
    angle = mpmath.acos(min(dot, mpmath.mpf(1)))
    if angle > mpmath.mpf(10) ** -40:
        wa, wb = mpmath.sin((1 - share) * angle) / mpmath.sin(angle), mpmath.sin(share * angle) / mpmath.sin(angle)
    else:
        wa, wb = 1 - share, share
    return int(cycle), (position, [wa * x + wb * y for x, y in zip(a, b)])


def mp_delta(track: RootTrack, t0: float, t1: float):
    start, end = (
        (list(track.positions[0]), mp_unit(track.rotations[0])),
        (list(track.positions[-1]), mp_unit(track.rotations[-1])),
    )
    cycle = mp_compose(
        ([mpmath.mpf(float(x)) for x in end[0]], end[1]), mp_inverse(([mpmath.mpf(float(x)) for x in start[0]], start[1]))
    )
    (k0, p0), (k1, p1) = mp_pose(track, t0), mp_pose(track, t1)
    return mp_compose(mp_inverse(p0), mp_compose(mp_power(cycle, k1 - k0), p1))


def random_turning_track(seed: int, turn: float, keys: int = 5) -> RootTrack:
    rng = np.random.default_rng(seed)
    times = np.concatenate([[0], np.cumsum(rng.uniform(0.05, 0.4, keys - 1))])
    vectors = np.cumsum(rng.normal(0, turn / keys, (keys, 3)), axis=0)
    return RootTrack(times, np.cumsum(rng.normal(0, 0.3, (keys, 3)), axis=0) + 3, pfnnc.exp_map_to_quat(vectors))


def tolerance(track: RootTrack, cycles: float) -> float:
    translation, rotation = track.cycle
    length, sine = np.linalg.norm(translation), np.linalg.norm(rotation[1:])
    return 1e-9 * max(1.0, min(cycles * length, length / sine if sine else np.inf))


@pytest.mark.parametrize("turn", [0.0, 1e-12, 1e-6, 0.01, 1.0, 3.0])
@pytest.mark.parametrize("cycles", [2, 1000, 1_000_000])
def test_turning_against_50_digits(turn, cycles):
    with mpmath.workdps(50):
        track = random_turning_track(int(cycles), turn)
        rng = np.random.default_rng(0)
        t0, t1 = rng.uniform(-cycles, cycles, (2, 6)) * track.duration * 0.49
        t1[:2] = t0[:2] + 0.01
        translations, rotations = track.delta(t0, t1)
        for a, b, translation, rotation in zip(t0, t1, translations, rotations):
            right_translation, right_rotation = mp_delta(track, a, b)
            sign = -1 if right_rotation[0] < 0 else 1
            np.testing.assert_allclose(
                translation, [float(x) for x in right_translation], rtol=0, atol=tolerance(track, cycles)
            )
            np.testing.assert_allclose(rotation, [float(sign * x) for x in right_rotation], rtol=0, atol=2e-9)


turns = st.sampled_from([0.0, 1e-9, 0.1, 1.0, 2.5])
instants = st.floats(-1e4, 1e4)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 50), turns, instants, instants, instants)
def test_composition_and_reverse(seed, turn, a, b, c):
    track = random_turning_track(seed, turn)
    (t_ab, r_ab), (t_bc, r_bc), (t_ac, r_ac) = track.delta(a, b), track.delta(b, c), track.delta(a, c)
    limit = 3 * tolerance(track, 2e4 / track.duration)
    np.testing.assert_allclose(t_ab + pfnnc.quat_rotate(r_ab, t_bc), t_ac, rtol=0, atol=limit)
    assert abs(np.dot(pfnnc.quat_mul(r_ab, r_bc), r_ac)) == pytest.approx(1, abs=1e-9)
    back, turned_back = track.delta(b, a)
    np.testing.assert_allclose(t_ab + pfnnc.quat_rotate(r_ab, back), 0, atol=limit)
    assert abs(pfnnc.quat_mul(r_ab, turned_back)[0]) == pytest.approx(1, abs=1e-9)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 50), instants, instants)
def test_whole_track_moved_and_turned(seed, a, b):
    track = random_turning_track(seed, 1.0)
    move, turn = np.array([100.0, -20.0, 50.0]), pfnnc.exp_map_to_quat([0.3, -1.0, 2.0])
    other = RootTrack(track.times, move + pfnnc.quat_rotate(turn, track.positions), pfnnc.quat_mul(turn, track.rotations))
    limit = 100 * tolerance(track, 2e4 / track.duration)
    for found, right in zip(other.delta(a, b), track.delta(a, b)):
        np.testing.assert_allclose(found, right, rtol=0, atol=limit)


@settings(deadline=None, max_examples=100)
@given(instants, instants, instants)
def test_additivity_of_plain_tracks(a, b, c):
    track = RootTrack([0, 0.2, 0.5, 0.7], [[0, 0], [0.3, -1], [0.1, 4], [0.9, 2]])
    np.testing.assert_allclose(track.delta(a, b) + track.delta(b, c), track.delta(a, c), rtol=0, atol=1e-9)
    np.testing.assert_allclose(track.delta(a, b), -track.delta(b, a), rtol=0, atol=1e-12)


# ---- path, seam, sample -------------------------------------------------------------------------


def test_path_has_every_key_once():
    times, motion = LAB.path(0.5, 2.25)
    assert times.tolist() == [0.5, 0.75, 1.0, 1.25, 1.75, 2.0, 2.25]
    np.testing.assert_allclose(motion, LAB.delta(0.5, times), rtol=0, atol=1e-12)
    times, motion = LAB.path(1.25, -0.5)
    assert times.tolist() == [1.25, 1.0, 0.75, 0.25, 0.0, -0.25, -0.5]
    np.testing.assert_allclose(motion, LAB.delta(1.25, times), rtol=0, atol=1e-12)
    assert LAB.path(0.3, 0.3)[0].tolist() == [0.3, 0.3]
    assert LAB.path(0.25, 0.75)[0].tolist() == [0.25, 0.75]


def test_path_of_a_turning_loop():
    track = quarter_circle(11)
    for t0, t1 in ((0.05, 4.05), (2.55, -1.45)):
        times, translations, rotations = track.path(t0, t1)
        assert len(times) == 42 and (np.diff(times) * np.sign(t1 - t0) > 0).all()
        for right, found in zip(track.delta(t0, times), (translations, rotations)):
            np.testing.assert_allclose(found, right, rtol=0, atol=1e-12)


def test_path_of_a_one_shot():
    track = RootTrack([0, 0.25, 1], [0, 1, 2], loop=False)
    times, motion = track.path(-1, 3)
    assert times.tolist() == [-1, 0, 0.25, 1, 3] and motion.tolist() == [0, 0, 1, 2, 2]
    times, motion = track.path(3, -1)
    assert times.tolist() == [3, 1, 0.25, 0, -1] and motion.tolist() == [0, 0, -1, -2, -2]


def test_path_refuses_what_does_not_fit():
    track = RootTrack(np.arange(1001) / 1000, np.zeros(1001))
    with pytest.raises(ValueError, match="ten million points"):
        track.path(0, 100_000)
    with pytest.raises(ValueError, match="t1=.* is more than max_cycles"):
        LAB.path(0, 1e7)


def test_seam_and_stride():
    assert LAB.stride == 2.0 and LAB.duration == 1.0
    seam = LAB.seam
    assert (seam.end_velocity, seam.start_velocity, seam.jump) == pytest.approx((1.2, 0.8, -0.4))
    translation, rotation = quarter_circle().cycle
    np.testing.assert_allclose(translation, [1, 0, 1], atol=1e-15)
    np.testing.assert_allclose(quarter_circle().seam.jump, 0, atol=0.03)  # it goes on round the circle
    assert LAB.cycle[1].tolist() == [1, 0, 0, 0]


def test_sample_takes_both_ends():
    assert LAB.sample([0, 0.125, 1]).tolist() == [0.0, 0.1, 2.0]
    position, rotation = quarter_circle().sample(1.0)
    np.testing.assert_allclose(position, [1, 0, 1], atol=1e-15)
    assert heading(rotation) == pytest.approx(90, abs=1e-9)
    for bad in (-0.1, 1.0000001, np.nan):
        with pytest.raises(ValueError, match="phase="):
            LAB.sample(bad)


def test_shapes_and_kinds():
    track = RootTrack([0, 1], [[0, 1], [2, 3]])
    assert track.delta(0, [[1, 2, 3]]).shape == (1, 3, 2) and track.delta(0, 1).dtype == np.float64
    assert track.delta(np.zeros((4, 1), np.float32), np.ones(3, int)).shape == (4, 3, 2)
    assert track.delta(np.zeros(0), 1).shape == (0, 2)
    assert isinstance(LAB.delta(0, 1), float)
    translation, rotation = quarter_circle().delta(np.zeros((2, 3)), 1)
    assert translation.shape == (2, 3, 3) and rotation.shape == (2, 3, 4)


def test_a_track_never_changes():
    track = RootTrack([0, 1], [[0, 0, 0], [0, 0, 1]], [[1, 0, 0, 0]] * 2)
    for name in ("times", "positions", "rotations"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(track, name)[0] = 0
    for name in ("times", "positions", "rotations", "loop", "max_cycles", "duration"):
        with pytest.raises(AttributeError, match=f"{name} cannot be set"):
            setattr(track, name, getattr(track, name))
    track.label = "mine"  # a name of the user's own is theirs


def test_pickle_keeps_a_track():

    for track in (LAB, quarter_circle(), RootTrack([0, 1], [0, 1], loop=False, max_cycles=5)):
        other = pickle.loads(pickle.dumps(track))
        assert repr(other.delta(0.1, 2.3)) == repr(track.delta(0.1, 2.3))
        assert (other.loop, other.max_cycles) == (track.loop, track.max_cycles)


# ---- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("times", "positions", "message"),
    [
        ([0, 0.5, 0.5], [0, 1, 2], r"times\[2\]=0.5 is not greater than times\[1\]=0.5"),
        ([0.1, 1], [0, 1], r"times\[0\]=0.1 is not 0"),
        ([0], [0], "at least two keys"),
        ([], [], "at least two keys"),
        ([0, np.inf], [0, 1], r"times\[1\]=inf is not finite"),
        ([0, 1], [0, np.nan], r"positions\[1\]=nan is not finite"),
        ([0, 1], [[0, 1], [2, np.inf]], r"positions\[1, 1\]=inf"),
        ([0, 1], [0, 1, 2], "positions must have shape"),
        ([0, 1], [[0] * 4, [1] * 4], "positions must have shape"),
        ([0, 1], [[], []], "positions must have shape"),
        ([[0, 1]], [0, 1], "times must have shape"),
        ([0, 5e-324], [0, 1], "times"),
        ([0, 1e-150, 1], [0, 1e90, 2], "too close"),
        ([0, 1], [0, 1e300], "below 1e100"),
    ],
)
def test_bad_keys(times, positions, message):
    with pytest.raises(ValueError, match=message):
        RootTrack(times, positions)


def test_bad_rotations_and_options():
    flat = np.zeros((2, 3))
    with pytest.raises(ValueError, match=r"rotations\[1\] is a zero quaternion"):
        RootTrack([0, 1], flat, [[1, 0, 0, 0], [0, 0, 0, 0]])
    with pytest.raises(ValueError, match=r"rotations\[0, 2\]=nan"):
        RootTrack([0, 1], flat, [[1, 0, np.nan, 0], [1, 0, 0, 0]])
    with pytest.raises(ValueError, match="rotations must have shape"):
        RootTrack([0, 1], flat, [[1, 0, 0], [1, 0, 0]])
    with pytest.raises(ValueError, match="beside rotations"):
        RootTrack([0, 1], [0, 1], [[1, 0, 0, 0]] * 2)
    with pytest.raises(ValueError, match="needs rotations"):
        RootTrack([0, 1], flat, close_loop=True)
    with pytest.raises(ValueError, match="turns by 90.0"):
        quarter = quarter_circle()
        RootTrack(quarter.times, quarter.positions, quarter.rotations, close_loop=True)
    for bad in (0, -1):
        with pytest.raises(ValueError, match="max_cycles"):
            RootTrack([0, 1], [0, 1], max_cycles=bad)
    for bad in (True, 1.5, "9"):
        with pytest.raises(TypeError, match="max_cycles"):
            RootTrack([0, 1], [0, 1], max_cycles=bad)
    with pytest.raises(TypeError, match="times must be an array of real numbers"):
        RootTrack(["a", "b"], [0, 1])
    for norm in (1e-300, 1e300):
        assert RootTrack([0, 1], flat, np.array([[1, 0, 1, 0]] * 2) * norm).rotations[0] == pytest.approx(
            [0.5**0.5, 0, 0.5**0.5, 0]
        )


def test_bad_times():
    for bad in (np.nan, np.inf, -np.inf):
        for call in (lambda t: LAB.delta(0, t), lambda t: LAB.delta([0, t], 1), LAB.split, lambda t: LAB.path(0, t)):
            with pytest.raises(ValueError, match="finite"):
                call(bad)
    with pytest.raises(ValueError, match=r"t1\[2\]=1000001.0 is more than max_cycles=1000000 cycles of 1 s away"):
        LAB.delta(0, [0, 1e6, 1_000_001])
    assert LAB.delta(0, 1e6) == 2e6
    with pytest.raises(ValueError, match="do not broadcast"):
        LAB.delta([1, 2], [1, 2, 3])
    with pytest.raises(TypeError, match="k0 must be an array of integers"):
        LAB.delta_split(0.5, 0, 1, 0)
    with pytest.raises(ValueError, match="k1=.* is beyond int64"):
        LAB.delta_split(0, 0, np.uint64(2**63), 0)
    with pytest.raises(ValueError, match=r"u1=1.5 is not in \[0, 1\]"):
        LAB.delta_split(0, 0, 1, 1.5)
    with pytest.raises(TypeError):
        LAB.delta("0", 1)
    with pytest.raises(TypeError):
        LAB.delta(1j, 1)


# ---- blending -----------------------------------------------------------------------------------


def test_u64_walk_and_run_share_a_cycle():
    walk, run = RootTrack([0, 1.0], [0, 1.4]), RootTrack([0, 0.7], [0, 2.8])
    both = blend_tracks([walk, run], [0.5, 0.5])
    assert (both.duration, both.stride) == pytest.approx((0.85, 2.1), abs=1e-12)
    assert both.stride / both.duration == pytest.approx(2.470588, abs=1e-6)
    for weights, track in (([1, 0], walk), ([0, 3], run)):
        alone = blend_tracks([walk, run], weights)
        assert (alone.duration, alone.stride) == pytest.approx((track.duration, track.stride), abs=1e-12)


def test_u66_clips_that_face_different_ways():
    left = RootTrack([0, 1], [[0, 0, 0], [-0.1, 0, 0]], [[np.sqrt(0.5), 0, -np.sqrt(0.5), 0]] * 2)
    ahead = RootTrack([0, 1], [[0, 0, 0], [0, 0, 0.1]], [[1, 0, 0, 0]] * 2)
    step = blend_motions([left.delta(0, 1), ahead.delta(0, 1)], [0.5, 0.5])
    np.testing.assert_allclose(step[0], [0, 0, 0.1], atol=1e-15)
    both = blend_tracks([left, ahead], [1, 1])
    np.testing.assert_allclose(both.delta(0, 1)[0], [0, 0, 0.1], atol=1e-15)


def test_blended_turns_compose():
    straight = RootTrack([0, 1], [[0, 0, 0], [0, 0, 1.4]], [[1, 0, 0, 0]] * 2)
    both = blend_tracks([straight, quarter_circle()], [0.5, 0.5])
    _, turn = both.delta(0, 8)
    assert np.sin(np.radians(heading(turn))) == pytest.approx(0, abs=1e-9) and abs(turn[0]) == pytest.approx(
        1
    )  # half of a quarter turn, eight times
    np.testing.assert_allclose(both.delta(0, 8)[0], 0, atol=1e-9)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1], "weights must have shape"),
        ([-1, 2], r"weights\[0\]=-1.0 is negative"),
        ([0, 0], "all 0"),
        ([np.nan, 1], "not finite"),
    ],
)
def test_bad_blends(weights, message):
    with pytest.raises(ValueError, match=message):
        blend_tracks([LAB, LAB], weights)
    with pytest.raises(ValueError, match=message):
        blend_motions([0.1, 0.2], weights)
    with pytest.raises(ValueError, match="one-shot"):
        blend_tracks([RootTrack([0, 1], [0, 1], loop=False)], [1])
    with pytest.raises(ValueError, match="differ"):
        blend_tracks([LAB, quarter_circle()], [1, 1])
    with pytest.raises(TypeError, match=r"tracks\[1\]"):
        blend_tracks([LAB, None], [1, 1])


# ---- clips --------------------------------------------------------------------------------------


def turning_clip(translations: bool = False) -> pfnnc.Clip:
    """A character that walks a quarter circle with a lean, over a skeleton whose root has a rest rotation."""
    rng = np.random.default_rng(5)
    n = 31
    angle = np.linspace(0, np.pi / 2, n)
    rest = pfnnc.exp_map_to_quat([0.2, 0.0, 0.1])
    yaw = np.stack([np.cos(angle / 2), 0 * angle, np.sin(angle / 2), 0 * angle], 1)
    rotations = pfnnc.exp_map_to_quat(np.cumsum(rng.normal(0, 0.05, (n, 3, 3)), axis=0))
    rotations[:, 0] = pfnnc.quat_mul(yaw, rest)
    root = np.stack([1 - np.cos(angle), 0.9 + 0.03 * np.sin(8 * angle), np.sin(angle)], 1) + [4, 0, -2]
    skeleton = pfnnc.Skeleton(["Hips", "LeftLeg", "RightLeg"], [-1, 0, 0], [[0, 0, 0], [0.1, -0.5, 0], [-0.1, -0.5, 0]])
    places = rng.normal(0, 0.1, (n, 3, 3)) if translations else None
    return pfnnc.Clip(skeleton, root, rotations, 30, "turn", translations=places)


@pytest.mark.parametrize("mode", ["translation", "planar", "full"])
@pytest.mark.parametrize("translations", [False, True])
def test_taking_root_motion_out_and_putting_it_back(mode, translations):
    clip = turning_clip(translations)
    track, in_place = pfnnc.split_root_motion(clip, mode)
    assert track.duration == pytest.approx(1.0)
    back = pfnnc.apply_root_motion(track, in_place)
    assert len(back) == len(clip) and back.fps == clip.fps
    np.testing.assert_allclose(back.positions(), clip.positions(), rtol=0, atol=1e-9)
    dots = np.abs((back.rotations * clip.rotations).sum(-1))
    np.testing.assert_allclose(dots, 1, rtol=0, atol=1e-9)


def test_planar_takes_yaw_off_on_the_left():
    clip = turning_clip()
    track, in_place = pfnnc.split_root_motion(clip, "planar")
    # the rest rotation stays under the root, whatever the yaw in front of it was
    np.testing.assert_allclose(pfnnc.quat_yaw(in_place.rotations[:, 0]), 0, atol=1e-12)
    lean = pfnnc.quat_mul(pfnnc.quat_conj(track.rotations), clip.rotations[:, 0])
    np.testing.assert_allclose(np.abs((lean * in_place.rotations[:, 0]).sum(-1)), 1, atol=1e-12)
    np.testing.assert_allclose(in_place.root_positions[:, [0, 2]], 0, atol=1e-12)
    np.testing.assert_array_equal(in_place.root_positions[:, 1], clip.root_positions[:, 1])
    assert (track.positions[:, 1] == 0).all()
    np.testing.assert_array_equal(RootTrack.from_clip(clip).positions, clip.root_positions)


def test_a_turning_clip_played_four_times_comes_back():
    clip = turning_clip()
    track, in_place = pfnnc.split_root_motion(clip, "planar")
    played = pfnnc.apply_root_motion(track, in_place, 0, 4)
    assert len(played) == 121
    np.testing.assert_allclose(played.root_positions[120], played.root_positions[0], atol=1e-9)
    steps = np.linalg.norm(np.diff(played.root_positions[:, [0, 2]], axis=0), axis=1)
    assert steps.max() < 1.01 * steps.min()  # no jump at a seam


def test_playing_at_another_rate_and_part_of_a_cycle():
    clip = turning_clip()
    track, in_place = pfnnc.split_root_motion(clip, "planar")
    played = pfnnc.apply_root_motion(track, in_place, 0.25, 0.75, fps=60)
    assert (len(played), played.fps) == (31, 60)
    whole = clip.resample(60)
    np.testing.assert_allclose(played.root_positions, whole.root_positions[15:46], atol=2e-4)
    one_shot, still = pfnnc.split_root_motion(clip, "planar", loop=False)
    ended = pfnnc.apply_root_motion(one_shot, still, 0, 2)
    np.testing.assert_allclose(ended.root_positions[30:], np.broadcast_to(clip.root_positions[-1], (31, 3)), atol=1e-9)


def test_close_loop_from_a_clip():
    clip = turning_clip()[:6]
    track = RootTrack.from_clip(clip, "planar", close_loop=True)
    assert heading(track.cycle[1]) == pytest.approx(0, abs=1e-9)
    np.testing.assert_array_equal(track.positions[:, [0, 2]], clip.root_positions[:, [0, 2]])
    with pytest.raises(ValueError, match="turns by 90.0"):
        RootTrack.from_clip(turning_clip(), "planar", close_loop=True)
    with pytest.raises(ValueError, match="needs rotations"):
        RootTrack.from_clip(clip, close_loop=True)


def test_bad_clips():
    clip = turning_clip()
    with pytest.raises(ValueError, match="at least two frames, got 1"):
        RootTrack.from_clip(clip[:1])
    with pytest.raises(ValueError, match="mode must be 'translation' or 'planar' or 'full', got 'yaw'"):
        RootTrack.from_clip(clip, "yaw")
    with pytest.raises(TypeError, match="clip must be a Clip"):
        RootTrack.from_clip([1, 2])
    track, in_place = pfnnc.split_root_motion(clip)
    with pytest.raises(ValueError, match="must last as long as its track"):
        pfnnc.apply_root_motion(track, in_place[:10])
    with pytest.raises(ValueError, match="t1 must be at least"):
        pfnnc.apply_root_motion(track, in_place, 1, 0)
    with pytest.raises(ValueError, match="more than fits"):
        pfnnc.apply_root_motion(track, in_place, 0, 1e5, fps=1e9)
    with pytest.raises(TypeError, match="track must be a RootTrack"):
        pfnnc.apply_root_motion(None, in_place)


def test_every_instruction_set_gives_the_same_bits():

    code = """
import hashlib, numpy as np, pfnnc
rng, digest = np.random.default_rng(0), hashlib.sha256()
for keys in (2, 4, 8, 9, 100):
    for width in (1, 2, 3):
        times = np.concatenate([[0], np.cumsum(rng.uniform(0.1, 1, keys - 1))])
        track = pfnnc.RootTrack(times, rng.normal(size=(keys, width)))
        for span in (1, 50):
            t = np.sort(rng.uniform(-0.1 * span, span, 1003)) * times[-1]
            digest.update(track.delta(t, t + 0.01).tobytes())
            one = [track.delta(a, a + 0.01) for a in t[::97]]
            assert np.allclose(one, track.delta(t, t + 0.01)[::97], rtol=0, atol=1e-12)
print(digest.hexdigest())
"""
    found = {
        isa: subprocess.run(
            [sys.executable, "-c", code], env=plain_environment(PFNNC_ISA=isa), capture_output=True, text=True, check=True
        ).stdout
        for isa in ("portable", "sse2", "avx2", "avx512")
    }
    assert len(set(found.values())) == 1 and len(found["sse2"].strip()) == hashlib.sha256().digest_size * 2
