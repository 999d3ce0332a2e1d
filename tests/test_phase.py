"""Phase from root height and contacts, and the arithmetic and statistics of phases."""

import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import pfnnc
from pfnnc import _core
from pfnnc.phase import find_cycles

# ---- extract_phase_from_root_y ----------------------------------------------------------------


def running_mean(y, smooth):
    """np.convolve(y, ones/smooth, "same") as the sum of y[j] * (1/smooth) in order."""
    padded = np.concatenate([np.zeros(smooth // 2), y, np.zeros(smooth - 1 - smooth // 2)]) * (1 / smooth)
    total = padded[: len(y)].copy()
    for k in range(1, smooth):
        total += padded[k : k + len(y)]
    return total


def article_phase(y, distance, smooth):
    """The article's function on SciPy's peaks, thinned out by a stable sort."""
    signal = pytest.importorskip("scipy.signal")
    height = -running_mean(y, smooth)
    peaks = signal.find_peaks(height)[0]
    keep = np.ones(len(peaks), bool)
    for i in np.argsort(height[peaks], kind="stable")[::-1]:
        if keep[i]:
            keep[np.abs(peaks - peaks[i]) < distance] = False
            keep[i] = True
    valleys, phase = peaks[keep], np.full(len(y), np.nan)
    for a, b in zip(valleys[:-1], valleys[1:], strict=True):
        phase[a:b] = np.linspace(0, 1, b - a, endpoint=False)
    return phase, valleys


def assert_same_bits(y, distance, smooth):
    phase, valleys = pfnnc.extract_phase_from_root_y(y, fps=distance, min_period=1.0, smooth=smooth)
    expected, expected_valleys = article_phase(np.asarray(y, float), distance, smooth)
    np.testing.assert_array_equal(valleys, expected_valleys)
    np.testing.assert_array_equal(phase, expected)  # exact, NaN included


@pytest.mark.parametrize("smooth", range(1, 16))
def test_root_y_is_the_articles_to_the_bit(smooth):
    rng = np.random.default_rng(smooth)
    for kind in range(30):
        n = int(rng.integers(smooth, 400))
        y = [rng.standard_normal(n), rng.integers(0, 4, n) / 7, np.cumsum(rng.integers(-1, 2, n)) * 0.1][kind % 3]
        assert_same_bits(y, int(rng.integers(1, 40)), smooth)


@pytest.mark.parametrize("smooth", range(1, 12))
def test_running_mean_of_the_twin_is_numpys(smooth):
    y = np.random.default_rng(smooth).standard_normal(100)
    ours, numpys, h = running_mean(y, smooth), np.convolve(y, np.ones(smooth) / smooth, "same"), smooth // 2
    np.testing.assert_array_equal(ours[h : 100 - h], numpys[h : 100 - h])
    np.testing.assert_allclose(ours, numpys, rtol=1e-15, atol=1e-16)  # at the ends some BLAS fuse the products


@pytest.mark.parametrize("n", [1023, 1024, 1025, 1026, 2047, 2048, 2049, 2050, 5000])
def test_root_y_across_blocks(n):
    rng = np.random.default_rng(n)
    assert_same_bits(np.sin(np.arange(n) / 7) + 0.1 * rng.standard_normal(n), 12, 5)
    assert_same_bits(np.repeat(rng.integers(0, 3, n // 50 + 1), 50)[:n], 60, 4)  # plateaus over the block's edge
    assert_same_bits(-np.abs(np.arange(n) - n / 2), 3, 1)  # no valley
    assert_same_bits(np.abs(np.arange(n) - n // 2), 3, 1)  # one valley


@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.integers(1, 12), st.integers(1, 6))
@settings(max_examples=300, deadline=None)
def test_root_y_with_plateaus_and_ties(heights, distance, smooth):
    if len(heights) >= smooth:
        assert_same_bits(np.array(heights, float), distance, smooth)


def test_among_equal_valleys_the_later_one_stays():
    y = np.array([2, 1, 2, 1, 2, 1, 2, 3, 3, 3, 3, 3, 1, 3], float)
    assert pfnnc.extract_phase_from_root_y(y, fps=3, min_period=1, smooth=1)[1].tolist() == [1, 5, 12]


def test_plateau_midpoint_is_rounded_down():
    y = np.array([3, 1, 1, 3, 3, 1, 1, 1, 3], float)
    assert pfnnc.extract_phase_from_root_y(y, fps=1, min_period=1, smooth=1)[1].tolist() == [1, 6]


def test_a_long_rising_row_of_valleys_is_linear_work():
    # each valley a little deeper than the one before: nothing is settled before the end
    n = 400_000
    y = np.where(np.arange(n) % 2, 0.0, 1.0) - np.arange(n) * 1e-6
    _, valleys = pfnnc.extract_phase_from_root_y(y, fps=3, min_period=1, smooth=1)
    assert len(valleys) == pytest.approx(n / 4, abs=2)
    assert np.diff(valleys).min() >= 3


def test_running_needs_the_shorter_period():
    t = np.arange(300) / 60
    y = 0.9 + 0.04 * np.cos(2 * np.pi * 3.0 * t)  # three steps a second
    assert len(pfnnc.extract_phase_from_root_y(y, 60, min_period=0.25)[1]) > len(pfnnc.extract_phase_from_root_y(y, 60)[1])


def test_root_y_without_cycles():
    for y in ([], [1.0], [1.0, 2.0, 1.0, 2.0], np.ones(100), np.arange(50.0)):
        phase, valleys = pfnnc.extract_phase_from_root_y(y)
        assert phase.dtype == np.float64 and phase.shape == (len(y),) and np.isnan(phase).all()
        assert valleys.dtype == np.int64 and len(valleys) < 2
    assert np.isnan(pfnnc.extract_phase_from_root_y([3, 1, 3, 1, 3], smooth=10**30)[0]).all()


def test_root_y_input_types():
    y = np.sin(np.arange(200) / 5)
    phase, valleys = pfnnc.extract_phase_from_root_y(y)
    assert len(valleys) > 2
    for other in (list(y), y[::-1][::-1], y.astype(">f8"), np.stack([y, y], 1)[:, 0]):
        np.testing.assert_array_equal(pfnnc.extract_phase_from_root_y(other)[0], phase)
    single = y.astype(np.float32)
    single.flags.writeable = False
    np.testing.assert_array_equal(
        pfnnc.extract_phase_from_root_y(single)[0], pfnnc.extract_phase_from_root_y(single.astype(float))[0]
    )
    assert len(pfnnc.extract_phase_from_root_y((y * 1000).astype(np.int32))[1]) == len(valleys)


@pytest.mark.parametrize(
    "options, error, text",
    [
        (dict(root_y=[1, np.nan, 2]), ValueError, r"root_y\[1\]=nan is not finite"),
        (dict(root_y=[1] * 3000 + [np.inf]), ValueError, r"root_y\[3000\]=inf is not finite"),
        (dict(root_y=[[1, 2]]), ValueError, r"root_y must have shape"),
        (dict(root_y=3.0), ValueError, "root_y must have shape"),
        (dict(root_y=["a"]), TypeError, "root_y"),
        (dict(root_y=[1j]), TypeError, "root_y"),
        (dict(root_y=None), TypeError, "root_y"),
        (dict(fps=0), ValueError, "fps"),
        (dict(fps=-30), ValueError, "fps"),
        (dict(fps=np.nan), ValueError, "fps"),
        (dict(fps="30"), TypeError, "fps"),
        (dict(fps=2), ValueError, "fps \\* min_period"),
        (dict(min_period=0.03), ValueError, "fps \\* min_period"),
        (dict(min_period=0), ValueError, "min_period"),
        (dict(smooth=0), ValueError, "smooth"),
        (dict(smooth=-5), ValueError, "smooth"),
        (dict(smooth=5.0), TypeError, "smooth"),
        (dict(smooth=True), TypeError, "smooth"),
        (dict(root_y=np.zeros(2000), smooth=1001), ValueError, "smooth"),
    ],
)
def test_root_y_refuses(options, error, text):
    with pytest.raises(error, match=text):
        pfnnc.extract_phase_from_root_y(**({"root_y": np.ones(50)} | options))


def test_core_refuses_too():
    with pytest.raises(ValueError, match="distance"):
        _core.phase_from_root_y(np.ones(9), 0, 5)
    with pytest.raises(ValueError, match="smooth"):
        _core.phase_from_root_y(np.ones(9), 1, 0)
    with pytest.raises(ValueError, match="positions"):
        _core.contacts(np.ones((4, 2, 2)), 30, 0.02, 0.15, 0.24, 0.1)
    with pytest.raises(ValueError, match="length"):
        _core.gait_phase(np.ones(3, bool), np.ones(4, bool), 30)


# ---- detect_contacts --------------------------------------------------------------------------


def sliding(speeds_mm, heights=0.0):
    """(T, 1, 3): a foot that moves so many mm a frame along x."""
    x = np.cumsum(np.asarray(speeds_mm, float)) / 1000
    return np.stack([x, np.broadcast_to(heights, x.shape), 0 * x], 1)[:, None]


def test_contact_flicker_u52():
    feet = sliding([2, 3, 9, 3, 2, 20, 30, 25, 7, 2])
    limits = dict(enter_speed=0.24, leave_speed=0.24)  # 8 mm/frame at 30 fps
    raw = pfnnc.detect_contacts(feet, 30, **limits, min_duration=0)
    assert raw[:, 0].astype(int).tolist() == [1, 1, 0, 1, 1, 0, 0, 0, 1, 1]
    debounced = pfnnc.detect_contacts(feet, 30, **limits, min_duration=2 / 30)
    assert debounced[:, 0].astype(int).tolist() == [1, 1, 1, 1, 1, 0, 0, 0, 1, 1]


def test_contact_hysteresis_between_the_two_speeds():
    speeds = np.array([20, 20, 20, 6, 6, 6, 6, 3, 3, 3, 6, 6, 6, 9, 9, 9, 9])  # enter below 5, leave above 8 mm/frame
    contact = pfnnc.detect_contacts(sliding(speeds), 30)[:, 0]
    assert contact.astype(int).tolist() == [0] * 7 + [1] * 6 + [0] * 4


def test_contact_height_is_above_the_clips_floor():
    still = np.zeros((20, 2, 3))
    still[:, :, 1] = [5.03, 5.30]  # the second foot hangs 27 cm above the first
    assert pfnnc.detect_contacts(still, 30).tolist() == [[True, False]] * 20
    still = np.tile(still, (5, 1, 1))
    still[7, :, 1] = -3  # one corrupt frame of many does not move the floor
    assert pfnnc.detect_contacts(still, 30)[:, 0].mean() > 0.9


def test_idle_does_not_step_u21():
    jitter = np.zeros((60, 2, 3))
    jitter[1::4, 0, 0] = jitter[2::4, 0, 0] = 0.001
    jitter[:, 1, 0] = np.roll(jitter[:, 0, 0], 1)
    jitter[:, :, 1] = 0.02
    contact = pfnnc.detect_contacts(jitter, 30)
    assert contact.all()
    phase, (left, right) = pfnnc.extract_gait_phase(*contact.T, 30)
    assert np.isnan(phase).all() and len(left) == len(right) == 0


def test_contacts_and_gaps_are_long_enough():
    rng = np.random.default_rng(0)
    for _ in range(50):
        feet = np.cumsum(rng.standard_normal((200, 2, 3)) * 0.004 * rng.random(), axis=0)
        feet[..., 1] = 0.03 * rng.random((200, 2))
        for contact in pfnnc.detect_contacts(feet, 30).T:
            edges = np.flatnonzero(np.diff(contact.astype(int))) + 1
            runs = np.diff(edges)
            assert len(runs) == 0 or runs.min() >= 3


def test_contacts_of_tiny_clips():
    assert pfnnc.detect_contacts(np.zeros((0, 2, 3)), 30).shape == (0, 2)
    assert pfnnc.detect_contacts(np.zeros((4, 0, 3)), 30).shape == (4, 0)
    assert pfnnc.detect_contacts(np.zeros((1, 2, 3)), 30).tolist() == [[True, True]]
    result = pfnnc.detect_contacts(np.zeros((2, 1, 3), np.float32), 30)
    assert result.dtype == bool and result.tolist() == [[True], [True]]


@pytest.mark.parametrize(
    "options, error, text",
    [
        (dict(positions=np.zeros((5, 3))), ValueError, "positions must have shape"),
        (dict(positions=np.zeros((5, 2, 2))), ValueError, "positions must have shape"),
        (dict(positions=np.full((5, 1, 3), np.nan)), ValueError, r"positions\[0, 0, 0\]=nan"),
        (dict(positions=[["x"]]), TypeError, "positions"),
        (dict(fps=0), ValueError, "fps"),
        (dict(height=-0.1), ValueError, "height"),
        (dict(enter_speed=-1), ValueError, "enter_speed"),
        (dict(enter_speed=0.5), ValueError, "leave_speed must be at least enter_speed"),
        (dict(min_duration=np.inf), ValueError, "min_duration"),
        (dict(min_duration="long"), TypeError, "min_duration"),
    ],
)
def test_contacts_refuse(options, error, text):
    options = {"positions": np.zeros((5, 1, 3)), "fps": 30} | options
    with pytest.raises(error, match=text):
        pfnnc.detect_contacts(options.pop("positions"), options.pop("fps"), **options)


def test_contacts_longest_durations():
    feet = sliding([0] * 10)
    assert pfnnc.detect_contacts(feet, 30, min_duration=1e300).all()
    assert pfnnc.detect_contacts(feet, 1e300, min_duration=1e300).all()


# ---- extract_gait_phase -----------------------------------------------------------------------


def stance(n, strikes, length):
    contact = np.zeros(n, bool)
    for s in strikes:
        contact[s : s + length] = True
    return contact


def test_gait_phase_u12():
    left, right = stance(70, [0, 24, 60], 8), stance(70, [12, 42], 8)
    phase, (ls, rs) = pfnnc.extract_gait_phase(left, right, 30)
    assert ls.tolist() == [0, 24, 60] and rs.tolist() == [12, 42]
    np.testing.assert_allclose(phase[[0, 12, 23, 24, 42, 59]], [0, 0.5, 23 / 24, 0, 0.5, 35 / 36], atol=1e-12)
    np.testing.assert_allclose(np.diff(phase[:24]), 1 / 24, atol=1e-12)
    np.testing.assert_allclose(np.diff(phase[24:60]), 1 / 36, atol=1e-12)
    assert np.isnan(phase[60:]).all()
    assert cycle_rates(phase, 30) == pytest.approx([1.25, 1 / 1.2])


def cycle_rates(phase, fps):
    return fps / np.diff(find_cycles(phase), axis=1)[:, 0]


def test_gait_phase_without_the_right_foot_is_linear_over_the_cycle():
    phase, _ = pfnnc.extract_gait_phase(stance(61, [1, 25, 60], 8), np.zeros(61), 30)
    np.testing.assert_allclose(phase[[1, 13, 24]], [0, 0.5, 23 / 24], atol=1e-12)


def test_gait_phase_begins_and_ends_with_a_right_strike():
    phase, _ = pfnnc.extract_gait_phase(stance(50, [20], 5), stance(50, [10, 30], 5), 30)
    assert np.isnan(phase[:10]).all() and np.isnan(phase[30:]).all()
    np.testing.assert_allclose(phase[10:30], np.arange(10, 30) % 20 / 20, atol=1e-12)


def test_gait_phase_starting_in_mid_stance():
    left = np.zeros(80, bool)
    left[:6] = left[25:45] = left[65:] = True  # whole contacts take 20 frames: the first began before the clip
    phase, (ls, _) = pfnnc.extract_gait_phase(left, stance(80, [5, 45], 20), 30)
    assert ls.tolist() == [25, 65]
    assert np.isnan(phase[:5]).all() and phase[5] == 0.5


def test_gait_phase_stops_over_a_pause():
    left, right = stance(300, [10, 40, 250], 15), stance(300, [25, 235, 265], 15)
    phase, _ = pfnnc.extract_gait_phase(left, right, 30)
    assert np.isnan(phase[40:235]).all() and not np.isnan(phase[10:40]).any() and not np.isnan(phase[235:265]).any()


def test_gait_phase_of_nothing():
    for n in (0, 1, 2):
        phase, (ls, rs) = pfnnc.extract_gait_phase(np.ones(n, bool), np.zeros(n, bool), 30)
        assert phase.shape == (n,) and np.isnan(phase).all() and len(ls) == len(rs) == 0
        assert ls.dtype == np.int64


@given(st.lists(st.booleans(), max_size=80), st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_gait_phase_is_a_phase_whatever_the_contacts(left, random):
    right = [random.random() < 0.5 for _ in left]
    phase, (ls, rs) = pfnnc.extract_gait_phase(left, right, 30)
    has = ~np.isnan(phase)
    assert ((phase[has] >= 0) & (phase[has] < 1)).all()
    assert (np.diff(ls) > 1).all() and (np.diff(rs) > 1).all()
    inside = ls[(ls < len(phase)) & has[np.minimum(ls, len(phase) - 1)]] if len(phase) else ls
    assert (phase[inside] == 0).all()


@pytest.mark.parametrize(
    "left, right, fps, error, text",
    [
        ([0, 1], [0, 1, 0], 30, ValueError, "right"),
        ([0, 2], [0, 1], 30, ValueError, r"left\[1\]=2.0 is neither"),
        ([0, 1], [0, np.nan], 30, ValueError, r"right\[1\]=nan"),
        ([[0, 1]], [[0, 1]], 30, ValueError, "left must have shape"),
        (["a", "b"], [0, 1], 30, TypeError, "left"),
        ([0, 1], [0, 1], 0, ValueError, "fps"),
        ([0, 1], [0, 1], None, TypeError, "fps"),
    ],
)
def test_gait_phase_refuses(left, right, fps, error, text):
    with pytest.raises(error, match=text):
        pfnnc.extract_gait_phase(left, right, fps)


# ---- arithmetic -------------------------------------------------------------------------------


def test_advance_u22():
    assert pfnnc.advance_phase(0.98, [0, 5, 0.9], 1.0, 0.03 / 0.9) == pytest.approx(0.01, abs=1e-12)
    assert pfnnc.advance_phase(0.5, [0, 0, 7.25], 1.0, 1.0) == 0.75
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match=r"root_vel\[2\]"):
            pfnnc.advance_phase(0.5, [0, 0, bad], 1.0, 1 / 30)
    assert type(pfnnc.advance_phase(0.5, [0, 0, -1.0], 1.0, 1 / 30)) is float
    assert pfnnc.advance_phase(0.5, [0, 0, -1.0], 1.0, 0.25) == 0.75  # backwards is forward in the cycle


def test_advance_horizontal():
    assert pfnnc.advance_phase(0, [3, 100, 4], 10, 0.1) == pytest.approx(0.05)
    assert pfnnc.advance_phase(0, [3, 4, 100], 10, 0.1, horizontal=(0, 1)) == pytest.approx(0.05)
    assert pfnnc.advance_phase(0, [3, 4], 10, 0.1, horizontal=(0, 1)) == pytest.approx(0.05)


def test_advance_batches_and_types():
    phase = np.array([0.1, np.nan, 0.9999999], np.float32)
    velocity = np.ones((3, 3), np.float32)
    result = pfnnc.advance_phase(phase, velocity, [1.0, 2.0, 3.0], 1e-9)
    assert result.dtype == np.float32 and np.isnan(result[1]) and (result[[0, 2]] < 1).all()
    assert pfnnc.advance_phase(phase, velocity, 1.0, np.full((4, 1), 0.1)).shape == (4, 3)
    assert pfnnc.advance_phase(0.5, velocity, 1.0, 0.1).shape == (3,)
    before = phase.copy()
    pfnnc.advance_phase(phase, velocity, 1.0, 0.1)
    np.testing.assert_array_equal(phase, before)


def test_phase_never_rounds_up_to_one_u23():
    below = np.nextafter(np.float32(1), np.float32(0))
    result = pfnnc.advance_phase(np.array([below], np.float32), [[0, 0, 1.0]], 1.0, 5e-8)
    assert result[0] == 0 and result.dtype == np.float32
    assert pfnnc.advance_phase(np.float32(1 - 1e-9), [0, 0, 0.0], 1.0, 1 / 30) == 0.0
    assert pfnnc.advance_phase(1.0, [0, 0, 0.0], 1.0, 1 / 30) == 0.0
    assert pfnnc.phase_histogram(np.array([1 - 1e-9], np.float32), 50)[[0, 49]].sum() == 1


@given(st.floats(0, 1), st.floats(-1e200, 1e200), st.floats(1e-3, 1e3), st.floats(0, 1e3))
@settings(max_examples=500, deadline=None)
def test_advance_stays_in_the_cycle(phase, speed, stride, dt):
    result = pfnnc.advance_phase(phase, [0.0, 0.0, speed], stride, dt)
    assert 0 <= result < 1


def test_long_accumulation_u43():
    phase, velocity = 0.0, np.array([0, 0, 1.0])
    for _ in range(3000):
        phase = pfnnc.advance_phase(phase, velocity, 1.0, 1 / 30)
    assert abs(pfnnc.phase_difference(phase, 0.0)) < 1e-9


@pytest.mark.parametrize("fps, step", [(120, 0.0075), (60, 0.015), (30, 0.03)])
def test_three_frame_rates_u19(fps, step):
    assert pfnnc.advance_phase(0, [0, 0, 1.26], 1.4, 1 / fps) == pytest.approx(step)


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        ((3.2, [0, 0, 1], 1, 0.1), ValueError, r"phase=3.2 is not in \[0, 1\]"),
        (([0.1, -0.1], [0, 0, 1], 1, 0.1), ValueError, r"phase\[1\]=-0.1"),
        ((0.1, [0, 0], 1, 0.1), ValueError, "horizontal"),
        ((0.1, 1.0, 1, 0.1), ValueError, "root_vel"),
        ((0.1, [0, 0, 1], 0, 0.1), ValueError, "avg_stride=0.0 is not positive"),
        ((0.1, [0, 0, 1], -1, 0.1), ValueError, "avg_stride"),
        ((0.1, [0, 0, 1], np.nan, 0.1), ValueError, "avg_stride"),
        ((0.1, [0, 0, 1], [1, 0], 0.1), ValueError, r"avg_stride\[1\]"),
        ((0.1, [0, 0, 1], 1, -0.1), ValueError, "dt=-0.1 is negative"),
        ((0.1, [0, 0, 1], 1, np.inf), ValueError, "dt"),
        ((0.1, [0, 0, 1e308], 1e-308, 1), ValueError, "overflow"),
        (([0.1, 0.2], np.zeros((3, 3)), 1, 0.1), ValueError, "root_vel"),
        (([0.1, 0.2], np.zeros((2, 3)), [1, 1, 1], 0.1), ValueError, "avg_stride"),
        (([0.1, 0.2], np.zeros((2, 3)), 1, [0.1] * 3), ValueError, "dt"),
        (("0.1", [0, 0, 1], 1, 0.1), TypeError, "phase"),
        ((0.1, ["a", "b", "c"], 1, 0.1), TypeError, "root_vel"),
        ((0.1, [0, 0, 1], None, 0.1), TypeError, "avg_stride"),
    ],
)
def test_advance_refuses(arguments, error, text):
    with pytest.raises(error, match=text):
        pfnnc.advance_phase(*arguments)


@pytest.mark.parametrize("horizontal", [(0, 0), (0,), 3, (0, 3), (-1, 0), (0, 1, 2)])
def test_advance_refuses_horizontal(horizontal):
    with pytest.raises(ValueError, match="horizontal"):
        pfnnc.advance_phase(0.1, [0, 0, 1], 1, 0.1, horizontal=horizontal)


@given(st.floats(0, 1), st.floats(0, 1))
def test_difference(a, b):
    d = pfnnc.phase_difference(a, b)
    assert -0.5 <= d < 0.5
    assert abs(np.exp(2j * np.pi * d) - np.exp(2j * np.pi * (a - b))) < 1e-9


def test_difference_types():
    a = np.array([0.0, 0.25, np.nan], np.float32)
    result = pfnnc.phase_difference(a, np.float32(0.75))
    assert result.dtype == np.float32 and result[:2].tolist() == [0.25, -0.5] and np.isnan(result[2])
    assert pfnnc.phase_difference(np.zeros((2, 1)), np.zeros(3)).shape == (2, 3)
    # just below half a cycle in double is half a cycle in float
    x = np.array([0.5 - 2.0**-30], np.float32)
    assert -0.5 <= pfnnc.phase_difference(x, np.zeros(1, np.float32))[0] < 0.5
    with pytest.raises(ValueError, match="b of shape"):
        pfnnc.phase_difference(np.zeros(2), np.zeros(3))
    with pytest.raises(ValueError, match="a="):
        pfnnc.phase_difference(-0.2, 0.5)
    with pytest.raises(ValueError, match="b=inf"):
        pfnnc.phase_difference(0.2, np.inf)


def test_mean_u14():
    for value, expected in (([0.95, 0.05], 0.0), ([0.9, 0.2], 0.05)):
        assert abs(pfnnc.phase_difference(pfnnc.phase_mean(value), expected)) < 1e-12
        assert abs(pfnnc.phase_difference(pfnnc.phase_mean(value, [0.5, 0.5]), expected)) < 1e-12
    assert pfnnc.phase_mean([0.1, 0.2], [0, 3]) == pytest.approx(0.2)
    assert pfnnc.phase_mean([0.3, np.nan], [1, 0]) == pytest.approx(0.3)
    assert np.isnan(pfnnc.phase_mean([0.1, np.nan]))
    assert np.isnan(pfnnc.phase_mean([0, 0.5])) and np.isnan(pfnnc.phase_mean([0, 0.25, 0.5, 0.75]))
    assert pfnnc.phase_mean([0.1, 0.2], [1e-300, 1e-300]) == pytest.approx(0.15)
    assert pfnnc.phase_mean(0.25) == 0.25


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_mean_is_a_phase(values):
    mean = pfnnc.phase_mean(values)
    assert np.isnan(mean) or 0 <= mean < 1


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        (([],), ValueError, "phases must not be empty"),
        (([0.1, 1.5],), ValueError, r"phases\[1\]=1.5"),
        (([0.1, 0.2], [1, -1]), ValueError, r"weights\[1\]=-1.0 is negative"),
        (([0.1, 0.2], [0, 0]), ValueError, "weights"),
        (([0.1, 0.2], [1, 2, 3]), ValueError, "weights"),
        (([0.1, 0.2], [[1, 2], [1, 2]]), ValueError, "weights"),
        (([0.1, 0.2], [np.nan, 1]), ValueError, r"weights\[0\]"),
        (([[0.1]], [1, 2]), ValueError, "weights"),
        ((["x"],), TypeError, "phases"),
    ],
)
def test_mean_refuses(arguments, error, text):
    with pytest.raises(error, match=text):
        pfnnc.phase_mean(*arguments)


# ---- statistics -------------------------------------------------------------------------------


def walk(lengths, stride=1.2, before=7, after=9):
    """Phase of cycles of so many frames with gaps around, and a root that goes `stride` m along x a cycle."""
    phase = np.concatenate([np.full(before, np.nan), *[np.arange(n) / n for n in lengths], np.full(after, np.nan)])
    speed = np.concatenate([np.zeros(before), *[np.full(n, stride / n) for n in lengths], np.zeros(after)])
    x = np.concatenate([[0], np.cumsum(speed)[:-1]])
    return phase, np.stack([x, np.sin(x * 9), 0 * x], 1)


def test_cycle_statistics():
    phase, positions = walk([30, 40, 36])
    s = pfnnc.cycle_statistics(phase, positions, 60)
    assert s.frames.tolist() == [30, 40, 36] and s.frames.dtype == np.int64
    np.testing.assert_allclose(s.seconds, np.array([30, 40, 36]) / 60)
    np.testing.assert_allclose(s.stride, 1.2, atol=1e-12)
    np.testing.assert_allclose(s.speed, 1.2 * 60 / np.array([30, 40, 36]))
    assert s.avg_stride == pytest.approx(1.2) and s.cycle_frequency == pytest.approx(3 / (106 / 60))
    mean_speed = s.stride.sum() / s.seconds.sum()
    assert s.avg_stride == pytest.approx(mean_speed / s.cycle_frequency)
    assert "3 cycles" in str(s) and len(s) == 3


def test_cycles_are_whole():
    phase, positions = walk([30, 40, 36], before=0, after=0)
    assert find_cycles(phase).tolist() == [[0, 30], [30, 70]]  # where the last one ends is not in the clip
    assert find_cycles(np.roll(phase, 10)).tolist() == [[10, 40], [40, 80]]
    gap = np.concatenate([phase, [np.nan], phase[20:], phase[:5]])
    assert find_cycles(gap).tolist() == [[0, 30], [30, 70], [70, 106], [117, 157], [157, 193]]
    phase[50] = np.nan
    assert find_cycles(phase).tolist() == [[0, 30]]


def test_cycles_between_frames():
    phase = (np.arange(100) / 24.5 + 0.013) % 1
    cycles = find_cycles(phase)
    np.testing.assert_allclose(np.diff(cycles, axis=1), 24.5, atol=1e-9)
    np.testing.assert_allclose(cycles[0, 0], (1 - 0.013) * 24.5, atol=1e-9)
    s = pfnnc.cycle_statistics(phase, np.arange(100)[:, None] * [[0.0, 0.0, 0.1]], 50)
    assert s.avg_stride == pytest.approx(2.45) and s.cycle_frequency == pytest.approx(50 / 24.5)


def test_statistics_of_root_height_and_gait_agree_on_distance():
    t = np.arange(600) / 60
    positions = np.stack([0 * t, 0.9 + 0.02 * np.cos(2 * np.pi * 2 * t), 1.3 * t], 1)
    phase, valleys = pfnnc.extract_phase_from_root_y(positions[:, 1], 60)
    s = pfnnc.cycle_statistics(phase, positions, 60)
    assert s.frames.tolist() == np.diff(valleys).tolist()
    assert s.avg_stride == pytest.approx(1.3 / 2) and s.cycle_frequency == pytest.approx(2)


def test_statistics_without_a_cycle():
    for phase in (np.full(50, np.nan), np.linspace(0, 0.9, 50), np.zeros(50), np.zeros(0), np.zeros(1), np.zeros(2)):
        s = pfnnc.cycle_statistics(phase, np.zeros((len(phase), 3)), 30)
        assert len(s) == 0 and np.isnan(s.avg_stride) and np.isnan(s.cycle_frequency)


@given(st.lists(st.one_of(st.floats(0, 1), st.just(float("nan"))), max_size=40))
@example([0.0, 2.2e-313, float("nan")])
@example([1.0, 8e-256])
@example([1.0, 0.75, float("nan"), 0.0, 1.0, 0.0])
@settings(max_examples=300, deadline=None)
def test_cycles_of_any_phase_lie_in_the_clip(values):
    phase = np.array(values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cycles = find_cycles(phase)
        pfnnc.cycle_statistics(phase, np.zeros((len(phase), 3)), 30)
        pfnnc.drop_outlier_cycles(phase)
    assert (cycles[:, 0] < cycles[:, 1]).all() and (cycles >= 0).all()
    assert (cycles[1:, 0] >= cycles[:-1, 1] - 1e-9).all() and (cycles <= max(len(phase) - 1, 0) + 1e-6).all()


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        ((np.zeros(5), np.zeros((4, 3)), 30), ValueError, "root_positions must have shape"),
        ((np.zeros(5), np.zeros((5, 2)), 30), ValueError, "root_positions must have shape"),
        ((np.zeros((5, 1)), np.zeros((5, 3)), 30), ValueError, "phase must have shape"),
        ((np.full(5, 2.0), np.zeros((5, 3)), 30), ValueError, r"phase\[0\]=2.0"),
        ((np.zeros(5), np.full((5, 3), np.inf), 30), ValueError, r"root_positions\[0, 0\]"),
        ((np.zeros(5), np.zeros((5, 3)), 0), ValueError, "fps"),
        ((np.zeros(5), "x", 30), TypeError, "root_positions"),
    ],
)
def test_statistics_refuse(arguments, error, text):
    with pytest.raises(error, match=text):
        pfnnc.cycle_statistics(*arguments)


def test_drop_outlier_cycles():
    phase, _ = walk([30, 31, 29, 30, 60, 30, 31, 30])
    kept = pfnnc.drop_outlier_cycles(phase)
    long = np.arange(7 + 120, 7 + 180)
    assert np.isnan(kept[long]).all()
    others = np.setdiff1d(np.arange(len(phase)), long)
    np.testing.assert_array_equal(kept[others], phase[others])
    assert not np.isnan(phase[long]).any()
    even, _ = walk([30] * 6)
    np.testing.assert_array_equal(pfnnc.drop_outlier_cycles(even, n_sigma=0), even)
    assert pfnnc.drop_outlier_cycles(np.zeros(0)).shape == (0,)
    with pytest.raises(ValueError, match="n_sigma"):
        pfnnc.drop_outlier_cycles(even, n_sigma=-1)


def test_drop_sparse_bins_and_histogram():
    phase = np.array([0.05, 0.1, 0.2, 0.3, 0.3, 0.4, 0.6, 0.6, 0.7, 0.9, np.nan])
    assert pfnnc.phase_histogram(phase, 4).tolist() == [3, 3, 3, 1]
    kept = pfnnc.drop_sparse_bins(phase, 4)  # mean 2.5: fewer than 1.25
    assert np.isnan(kept[9:]).all() and not np.isnan(kept[:9]).any()
    np.testing.assert_array_equal(pfnnc.drop_sparse_bins(phase, 4, min_share=0.4), phase)
    assert np.isnan(pfnnc.drop_sparse_bins(np.full(3, np.nan), 4)).all()
    assert pfnnc.phase_histogram([], 3).tolist() == [0, 0, 0]
    assert pfnnc.phase_histogram([1.0, 0.0], 3).tolist() == [2, 0, 0]
    assert pfnnc.drop_sparse_bins(phase.astype(np.float32), 4).dtype == np.float32
    for bins, error in ((0, ValueError), (2.0, TypeError), (1 << 60, ValueError)):
        with pytest.raises(error, match="bins"):
            pfnnc.phase_histogram(phase, bins)
        with pytest.raises(error, match="bins"):
            pfnnc.drop_sparse_bins(phase, bins)
    with pytest.raises(ValueError, match="min_share"):
        pfnnc.drop_sparse_bins(phase, 4, min_share=-1)


def test_plot_cycles():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    axes = pfnnc.plot_cycles(*walk([30, 31, 29, 30, 60, 30, 31, 30]), 60)
    assert len(axes) == 2 and "8 cycles" in axes[0].get_title()
    again = pfnnc.plot_cycles(np.full(9, np.nan), np.zeros((9, 3)), 60, axes=axes)
    assert again is axes
    pyplot.close("all")
