"""Clocks against rational arithmetic, and what players do with them."""

import multiprocessing
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfnnc import LoopClock, LoopClocks, RootTrack, quat_mul, quat_rotate

LAB = RootTrack([0, 0.25, 0.75, 1], [0, 0.2, 1.7, 2])
WALK = RootTrack([0, 1], [[0, 0, 0], [0, 0, 1.4]])


def place(clock: LoopClock) -> Fraction:
    return clock.cycle * Fraction(clock.duration) + Fraction(clock.phase) * Fraction(clock.duration)


@pytest.mark.parametrize("duration", [1.0, 0.1, 1 / 3, 2.7, 123.456])
def test_ten_million_frames(duration):
    """An exact sum is a rational number; the count is Python's, so that 10^7 steps are the clock's own."""
    clock, dt = LoopClock(duration), 1 / 60
    advance = clock.advance
    for _ in range(10_000_000 if duration == 1.0 else 100_000):
        advance(dt)
    steps = 10_000_000 if duration == 1.0 else 100_000
    assert abs(place(clock) - steps * Fraction(dt)) < Fraction(1, 10**12)
    assert clock.time == pytest.approx(steps * dt, rel=1e-15)


@settings(deadline=None, max_examples=200)
@given(
    st.sampled_from([1.0, 0.1, 1 / 3, 0.85, 7.7]),
    st.lists(st.one_of(st.floats(-1e3, 1e3), st.floats(-1e-9, 1e-9), st.sampled_from([1 / 60, -1 / 60, 1e9])), max_size=20),
)
def test_any_steps_against_rational_arithmetic(duration, steps):
    clock, exact = LoopClock(duration), Fraction(0)
    for step in steps:
        clock.advance(step)
        exact += Fraction(step)
    assert abs(place(clock) - exact) <= Fraction(duration) / 10**15
    assert 0 <= clock.phase < 1
    # the cycle is that of the exact sum, unless the sum lies within rounding of a border
    border = min(exact % Fraction(duration), -exact % Fraction(duration))
    if border > Fraction(1, 10**20):
        assert clock.cycle == exact // Fraction(duration)


def test_after_10_to_the_12_cycles_a_step_is_as_exact_as_the_first():
    clock = LoopClock(1.0)
    for _ in range(1000):
        clock.advance(1e9)
    clock.advance(0.25)
    clock.consume(LAB)
    assert (clock.cycle, clock.phase) == (10**12, 0.25)
    clock.advance(1 / 240)
    assert clock.consume(LAB) == pytest.approx(3 / 240, abs=1e-9)
    ticks = LoopClock(1.0, tick_rate=240)
    ticks.advance_ticks(240 * 10**12 + 60)
    ticks.consume(LAB)
    ticks.advance_ticks(1)
    assert ticks.consume(LAB) == pytest.approx(3 / 240, abs=1e-9)


def test_whole_ticks_are_exact():
    clock = LoopClock(1.0, tick_rate=60)
    for _ in range(60 * 1000):
        clock.advance_ticks(1)
    assert (clock.cycle, clock.phase, clock.time) == (1000, 0.0, 1000.0)
    clock.advance_ticks(-1)
    assert (clock.cycle, clock.phase) == (999, float(Fraction(59, 60)))
    odd = LoopClock(0.7, tick_rate=90)
    odd.advance_ticks(63 * 10**9)
    exact = Fraction(63 * 10**9, 90) / Fraction(0.7)
    assert odd.cycle == exact // 1 and odd.phase == pytest.approx(float(exact % 1), abs=1e-15)
    with pytest.raises(ValueError, match="no tick_rate"):
        LoopClock(1.0).advance_ticks(1)


def test_seconds_and_ticks_mix():
    clock = LoopClock(1.0, tick_rate=30)
    clock.advance_ticks(15)
    clock.advance(0.25)
    clock.advance_ticks(30)
    assert (clock.cycle, clock.phase) == (1, 0.75)
    clock.rate = -2.0
    clock.advance_ticks(30)
    assert (clock.cycle, clock.phase) == (-1, 0.75)


def test_rate_and_reverse_in_mid_flight():
    clock = LoopClock(1.0, rate=0.5)
    clock.advance(1.0)
    assert clock.phase == 0.5
    clock.rate = -1.0
    clock.advance(0.75)
    assert (clock.cycle, clock.phase) == (-1, 0.75)
    assert clock.consume(LAB) == pytest.approx(-0.3, abs=1e-12)
    clock.advance(-1.5)  # backwards at a negative rate is forwards
    assert clock.consume(LAB) == pytest.approx(LAB.delta(-0.25, 1.25), abs=1e-12)
    clock.rate = 0
    clock.advance(100.0)
    assert clock.consume(LAB) == 0


def test_motion_is_consumed_once():
    clock = LoopClock(1.0)
    clock.advance(3.1)
    assert clock.consume(LAB) == pytest.approx(LAB.delta(0, 3.1), abs=1e-12)
    assert clock.consume(LAB) == 0
    clock.advance(0.5), clock.advance(0.5)
    assert clock.consume(LAB) == pytest.approx(2, abs=1e-12)


def test_several_cursors():
    clock = LoopClock(1.0)
    clock.advance(0.25)
    late = clock.cursor()
    clock.advance(0.5)
    assert clock.consume(LAB) == pytest.approx(1.7) and late.consume(LAB) == pytest.approx(1.5)
    clock.seek(0.0)
    clock.advance(0.25)
    assert late.consume(LAB) == pytest.approx(0.2) and late.consume(LAB) == 0 and clock.consume(LAB) == pytest.approx(0.2)
    del clock
    assert late.consume(LAB) == 0  # a cursor keeps its clock alive
    with pytest.raises(TypeError):
        type(late)()


def test_u06_seek_is_not_motion():
    clock = LoopClock(1.0)
    clock.seek(0.2)
    assert clock.consume(WALK).tolist() == [0, 0, 0]
    clock.seek(0.7)
    assert clock.consume(WALK).tolist() == [0, 0, 0]
    clock.advance(0.02)
    np.testing.assert_allclose(clock.consume(WALK), [0, 0, 0.028], atol=1e-12)
    clock.advance(0.1)
    clock.seek(0.2)  # back, and with motion not yet consumed: nothing is emitted
    assert clock.consume(WALK).tolist() == [0, 0, 0]
    clock.seek(-1e6 - 0.25)
    assert (clock.cycle, clock.phase) == (-(10**6) - 1, 0.75)


def test_u10_one_shot():
    clock, track = LoopClock(1.0, mode="once"), RootTrack([0, 1], [0, 1.2], loop=False)
    steps = []
    for _ in range(6):
        clock.advance(0.3)
        steps.append(clock.consume(track))
    np.testing.assert_allclose(steps, [0.36, 0.36, 0.36, 0.12, 0, 0], atol=1e-12)
    assert (clock.cycle, clock.phase) == (0, 1.0)
    clock.advance(-0.25)
    assert clock.phase == 0.75 and clock.consume(track) == pytest.approx(-0.3)
    clock.advance(-1e9)
    assert clock.phase == 0 and clock.consume(track) == pytest.approx(-0.9)
    # a looping clock over a one-shot track runs on; the track stands
    looping = LoopClock(1.0)
    looping.advance(7.5)
    assert looping.consume(track) == pytest.approx(1.2)


def test_ticks_beyond_the_end_of_a_one_shot_are_forgotten():
    clock = LoopClock(1.0, mode="once", tick_rate=10)
    clock.advance_ticks(1000)
    clock.advance_ticks(-3)
    assert clock.phase == pytest.approx(0.7, abs=1e-15)
    exact = LoopClock(1.0, mode="once", tick_rate=240)
    for _ in range(240):
        exact.advance_ticks(1)
    assert exact.phase == 1.0


def test_ping_pong():
    clock = LoopClock(1.0, mode="ping-pong")
    total, phases = 0.0, []
    for _ in range(8):
        clock.advance(0.375)
        total += clock.consume(LAB)
        phases.append(clock.phase)
    assert phases == [0.375, 0.75, 0.875, 0.5, 0.125, 0.25, 0.625, 1.0]
    assert total == pytest.approx(LAB.delta(0, 1), abs=1e-12)
    clock.advance(1e6 + 1)
    assert clock.phase == 0.0 and clock.consume(LAB) == pytest.approx(-2)


def test_turning_track_by_clock():
    half = np.radians(45)
    quarter = RootTrack([0, 1], [[0, 0, 0], [1, 0, 1]], [[1, 0, 0, 0], [np.cos(half), 0, np.sin(half), 0]])
    clock, position, rotation = LoopClock(1.0), np.zeros(3), np.array([1.0, 0, 0, 0])
    for _ in range(9):
        clock.advance(4 / 9)
        step, turn = clock.consume(quarter)
        position, rotation = position + quat_rotate(rotation, step), quat_mul(rotation, turn)
    np.testing.assert_allclose(position, 0, atol=1e-12)


def test_a_track_of_another_length_is_played_in_the_clocks_time():
    clock = LoopClock(2.0)
    clock.advance(1.0)
    assert clock.consume(LAB) == pytest.approx(LAB.delta(0, 0.5))


def test_no_ticks_a_second_is_refused_as_given():
    with pytest.raises(ValueError, match="tick_rate must be finite and greater than 0, got 0$"):
        LoopClock(1.0, tick_rate=0)
    with pytest.raises(TypeError, match="track must be a RootTrack, got str$"):
        LoopClock(1.0).consume("walk")


def test_state_and_restore():
    clock = LoopClock(0.7, rate=1.5, tick_rate=60)
    clock.advance(12.3), clock.advance_ticks(7)
    clock.consume(LAB)
    clock.advance_ticks(5)
    state = clock.state()
    other = LoopClock(3.0)
    other.restore(state)
    copied = pickle.loads(pickle.dumps(clock))
    expected = clock.consume(LAB)
    for again in (other, copied):
        assert (again.duration, again.rate, again.tick_rate) == (0.7, 1.5, 60)
        assert (again.cycle, again.phase, again.consume(LAB)) == (clock.cycle, clock.phase, expected)
        assert again.state() == clock.state()
    with pytest.raises(TypeError, match="state must be bytes, got str$"):
        clock.restore("x")
    for bad in (b"", b"x" * len(state), state[:-1], state + b"\0", LoopClocks([1.0, 2.0]).state()):
        with pytest.raises(ValueError, match="state must be bytes"):
            clock.restore(bad)
    assert clock.state() == other.state()


def _run_on(state: bytes) -> bytes:
    clock = LoopClock(1.0)
    clock.restore(state)
    for _ in range(100):
        clock.advance(1 / 60)
    return clock.state()


def test_state_crosses_processes():
    clock = LoopClock(0.85)
    clock.advance(1.1)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_run_on, (clock.state(),)) == _run_on(clock.state())


def test_damaged_states_are_refused():
    clock = LoopClock(0.7, tick_rate=60)
    clock.advance_ticks(100)
    state = clock.state()
    for i in range(len(state)):
        for flip in (1, 128, 255):
            damaged = bytearray(state)
            damaged[i] ^= flip
            with pytest.raises(ValueError, match="state must be bytes"):
                clock.restore(bytes(damaged))
    assert clock.state() == state


def test_arguments_by_name():
    clock = LoopClock(duration=1.0, tick_rate=60)
    clock.advance(dt=0.25), clock.advance_ticks(n=15)
    assert clock.consume(track=LAB) == pytest.approx(LAB.delta(0, 0.5))
    clock.seek(t=0.75)
    assert clock.phase == 0.75
    clock.restore(state=clock.state())
    for call in (
        clock.advance,
        lambda: clock.advance(0.1, 0.2),
        lambda: clock.advance(0.1, dt=0.2),
        lambda: clock.advance(t=0.1),
    ):
        with pytest.raises(TypeError, match=r"advance\(\) takes"):
            call()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300, 10**400])
def test_bad_steps_move_nothing(bad):
    clock = LoopClock(1.0, tick_rate=60)
    clock.advance(0.3)
    before = clock.state()
    for call in (clock.advance, clock.seek):
        with pytest.raises(ValueError):
            call(bad)
    with pytest.raises(ValueError, match="rate must be finite"):
        clock.rate = bad
    with pytest.raises((ValueError, TypeError)):
        clock.advance_ticks(bad)
    assert clock.state() == before


def test_bad_arguments():
    for bad in (0, -1, np.nan, np.inf):
        with pytest.raises(ValueError, match="duration must be finite and greater than 0"):
            LoopClock(bad)
    for bad in (0, -1, np.nan):
        with pytest.raises(ValueError, match="tick_rate"):
            LoopClock(1.0, tick_rate=bad)
    for bad in ("1", None, [1], True, np.ones(2), 1j):
        for call in (LoopClock, LoopClock(1.0).advance, LoopClock(1.0).seek):
            with pytest.raises(TypeError, match="must be a number"):
                call(bad)
    for bad in (1.5, "1", True, None):
        with pytest.raises(TypeError, match="n must be an integer"):
            LoopClock(1.0, tick_rate=60).advance_ticks(bad)
    with pytest.raises(ValueError, match="mode must be 'loop', 'once' or 'ping-pong'"):
        LoopClock(1.0, mode="bounce")
    with pytest.raises(TypeError, match="mode must be a string"):
        LoopClock(1.0, mode=1)
    for bad in (None, 5, LoopClock(1.0)):
        with pytest.raises(TypeError, match="track must be a RootTrack"):
            LoopClock(1.0).consume(bad)
    with pytest.raises(TypeError):
        LoopClock()
    with pytest.raises(AttributeError):
        LoopClock(1.0).phase = 0.5
    with pytest.raises(TypeError, match="cannot be deleted"):
        del LoopClock(1.0).rate
    clock = LoopClock(1.0)
    clock.advance(np.float32(0.5)), clock.advance(np.int64(1)), clock.advance(1)
    assert clock.time == 2.5


# ---- crowds -------------------------------------------------------------------------------------


def test_a_crowd_moves_as_its_members():
    rng = np.random.default_rng(0)
    tracks = [RootTrack([0, 0.3, t], rng.normal(size=(3, 3))) for t in (0.7, 1.0, 1.3)]
    which = rng.integers(0, 3, 50)
    durations = np.array([tracks[i].duration for i in which])
    rates = rng.uniform(-2, 2, 50)
    crowd, single = LoopClocks(durations, rate=rates), [LoopClock(d, rate=r) for d, r in zip(durations, rates)]
    for step in (0.1, rng.uniform(-3, 3, 50), 17.0):
        crowd.advance(step)
        moved = crowd.consume(tracks, which)
        for i, clock in enumerate(single):
            clock.advance(np.broadcast_to(step, 50)[i])
            assert moved[i].tolist() == clock.consume(tracks[which[i]]).tolist()
    assert crowd.cycle.tolist() == [clock.cycle for clock in single]
    assert crowd.phase.tolist() == [clock.phase for clock in single]
    assert crowd.time.tolist() == [clock.time for clock in single]
    crowd.seek([0.25, 0.5], [3, 7])
    assert crowd.consume(tracks, which).any() == np.False_ and crowd.time[[3, 7]].tolist() == [0.25, 0.5]


def test_a_hundred_thousand_characters_in_one_call():
    lengths = np.linspace(0.5, 1.5, 100)
    tracks = [RootTrack([0, t], [[0, 0, 0], [0, 0, 1.4]], [[1, 0, 0, 0]] * 2) for t in lengths]
    which = np.arange(100_000) % 100
    crowd = LoopClocks(lengths[which])
    crowd.advance(10.0)
    translations, rotations = crowd.consume(tracks, which)
    np.testing.assert_allclose(translations[:, 2], 14 / lengths[which], rtol=1e-12)
    assert rotations.shape == (100_000, 4)


def test_crowd_state_and_errors():
    crowd = LoopClocks([1.0, 2.0])
    crowd.advance([0.5, 0.25])
    other = LoopClocks([3.0, 4.0])
    other.restore(crowd.state())
    assert other.time.tolist() == [0.5, 0.25] and len(other) == 2
    before = crowd.state()
    for call, message in (
        (lambda: crowd.advance([0.1, np.nan]), r"dt\[1\]=nan is not finite"),
        (lambda: crowd.advance([0.1, 1e300]), "too many cycles of clock 1"),
        (lambda: crowd.advance([0.1]), "dt must be a number or have shape"),
        (lambda: crowd.seek(0.0, [2]), r"index\[0\]=2 is not in 0..1"),
        (lambda: crowd.consume([LAB], [0, 1]), r"which\[1\]=1 is not in 0..0"),
        (lambda: crowd.consume([LAB]), "which must be given"),
        (lambda: crowd.consume([LAB, WALK], [0, 1]), "differ"),
        (lambda: LoopClocks([1.0, 0.0]), r"durations\[1\]=0.0 is not greater than 0"),
        (lambda: LoopClocks([1.0], rate=[1.0, 2.0]), "rate must be"),
        (lambda: LoopClocks(1.0), "durations must have shape"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    with pytest.raises(TypeError, match=r"tracks\[0\]"):
        crowd.consume([None, None])
    assert crowd.state() == before
    assert LoopClocks([]).consume([]).shape == (0, 3)
    with pytest.raises(TypeError, match="tracks must be a sequence"):
        LoopClocks([1.0]).consume(None)
