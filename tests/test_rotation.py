"""Rotations against 50 digits, SciPy, and their own laws."""

import os
import subprocess
import sys

import numpy as np
import pytest
from conftest import plain_environment
from hypothesis import given, settings
from hypothesis import strategies as st

import pfnnc
from pfnnc.rotation import ORDERS

exact = pytest.importorskip("reference_rotation", reason="needs mpmath", exc_type=ImportError)

WRAPPERS = ("quat_mean", "quat_unroll", "exp_map_unroll", "quat_from_euler", "quat_to_euler")
NAMES = [name for name in pfnnc.rotation.__all__ if name not in WRAPPERS]
FROM_QUAT = ["quat_to_exp_map", "quat_log", "quat_normalize", "quat_yaw", "quat_to_matrix", "quat_to_6d"]
ORDER = "the quaternions of the two sides are in another order: pfnnc's are [w, x, y, z], SciPy's [x, y, z, w]"


def random_quats(n, seed=0):
    q = np.random.default_rng(seed).standard_normal((n, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def assert_same_rotation(ours, theirs, atol=1e-14):
    """Quaternions that are equal up to sign; the message names the likeliest mistake."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    aligned = ours * np.sign(np.sum(ours * theirs, -1, keepdims=True))
    rolled = max(np.abs(np.roll(ours, k, -1) - np.roll(theirs, 0, -1)).max() for k in (1, -1)) if ours.size else 0
    why = ORDER if np.abs(aligned - theirs).max(initial=0) > 0.01 else f"rolled by one they differ by {rolled:g}"
    np.testing.assert_allclose(aligned, theirs, rtol=0, atol=atol, err_msg=why)


# ---- exact values -------------------------------------------------------------------------------


def cases(name, count=25):
    quats, vectors, random = exact.hard_quats(count), exact.hard_vectors(count), np.random.default_rng(2)
    if name in ("quat_mul", "quat_slerp"):
        others = random.permutation(quats)
        size = np.log10(np.abs(quats).max(1)) + np.log10(np.abs(others).max(1))
        keep = np.abs(size) < 100 if name == "quat_mul" else np.full(len(quats), True)
        extra = [random.uniform(-0.5, 1.5, len(quats))[keep]] if name == "quat_slerp" else []
        return list(zip(quats[keep], others[keep], *extra, strict=True))
    if name == "quat_rotate":
        return list(
            zip(
                quats,
                random.standard_normal((len(quats), 3)) * 10.0 ** random.integers(-3, 6, (len(quats), 1)),
                strict=True,
            )
        )
    if name == "quat_from_6d":
        columns = random.standard_normal((count, 6))
        columns[::2, 3:] = columns[::2, :3] + columns[::2, 3:] * 1e-9
        return [(d,) for d in columns]
    return [(x,) for x in (quats if name in FROM_QUAT else vectors)]


@pytest.mark.parametrize(
    "name",
    [
        *FROM_QUAT,
        "exp_map_to_quat",
        "quat_exp",
        "exp_map_wrap",
        "quat_mul",
        "quat_rotate",
        "quat_slerp",
        "quat_from_6d",
    ],
)
def test_within_four_ulp_of_the_exact_value(name):
    function, reference = getattr(pfnnc, name), getattr(exact, name)
    for point in cases(name):
        with np.errstate(all="raise"):  # hard, but right: no flag of any kind
            result = function(*point)
        assert exact.ulps(result, reference(*point)) <= 4, point


@pytest.mark.parametrize("name", ["quat_to_exp_map", "exp_map_to_quat", "quat_mul", "quat_rotate", "quat_yaw"])
def test_float32_is_rounded_once(name):
    function, reference = getattr(pfnnc, name), getattr(exact, name)
    for point in cases(name):
        with np.errstate(all="ignore"):
            single = [np.asarray(x, np.float32) for x in point]
        if all(np.isfinite(x).all() for x in single) and single[0].any():
            result = function(*single)
            assert result.dtype == np.float32
            assert exact.ulps(result, reference(*single), np.float32) <= 1, single


@pytest.mark.parametrize("order", ORDERS)
def test_euler_against_exact_values(order):
    random = np.random.default_rng(3)
    middle = np.pi / 2 if order[0] != order[2] else 0.0
    for angles in [
        *random.uniform(-7, 7, (10, 3)),
        [1.0, middle, 0.5],
        [1.0, middle + 1e-9, -2.0],
        [1.0, middle - 1e-5, 3.0],
    ]:
        q = pfnnc.quat_from_euler(angles, order)
        assert exact.ulps(q, exact.quat_from_euler(angles, order)) <= 4
        back = pfnnc.quat_to_euler(q * 3.7, order)
        assert_same_rotation(pfnnc.quat_from_euler(back, order), q, 5e-16)
        low, high = (-np.pi / 2, np.pi / 2) if middle else (0, np.pi)
        assert low <= back[1] <= high and (np.abs(back) <= np.pi).all()
    for q in exact.near_lock(order, 8):
        assert exact.ulps(pfnnc.quat_to_euler(q, order), exact.quat_to_euler(q, order)) <= 4
    np.testing.assert_array_equal(pfnnc.quat_to_euler([1.0, 0, 0, 0], order), [0, 0, 0])
    locked = pfnnc.quat_to_euler(pfnnc.quat_from_euler([0.7, middle, 0.4], order), order)
    assert locked[2] == 0 and locked[1] == pytest.approx(middle, abs=1e-15)


SCRIPT = """
import sys, numpy as np, pfnnc
sys.path.insert(0, sys.argv[1])
import reference_rotation as exact
q, r = exact.hard_quats(12), exact.hard_vectors(12)
with np.errstate(all="ignore"):
    bad = np.vstack([q, [[0, 0, 0, 0], [np.nan, 0, 0, 1], [1, np.inf, 0, 0]]])
    results = [pfnnc.quat_to_exp_map(bad), pfnnc.quat_normalize(bad), pfnnc.exp_map_to_quat(r), pfnnc.quat_exp(r)]
    results += [pfnnc.quat_mul(bad, bad[::-1]), pfnnc.quat_rotate(bad, np.arange(3.0))]
np.savez(sys.argv[2], *results)
"""


@pytest.mark.parametrize("isa", ["avx2", "portable"])
def test_every_instruction_set_gives_the_same(tmp_path, isa):
    results = []
    for number, environment in enumerate([plain_environment(), plain_environment(PFNNC_ISA=isa)]):
        path = tmp_path / f"{number}.npz"
        command = [sys.executable, "-c", SCRIPT, os.path.dirname(exact.__file__), str(path)]
        subprocess.run(command, check=True, env=environment, cwd=os.path.dirname(os.path.dirname(pfnnc.__file__)))
        with np.load(path) as file:
            results.append([file[name] for name in file.files])
    for one, other in zip(*results, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-15, atol=1e-15)


# ---- SciPy --------------------------------------------------------------------------------------


def test_against_scipy():
    transform = pytest.importorskip("scipy.spatial.transform")
    q, p, v = random_quats(500), random_quats(500, 1), np.random.default_rng(2).standard_normal((500, 3))

    def ours(rotation):
        return np.roll(rotation.as_quat(), 1, axis=-1)

    a, b = transform.Rotation.from_quat(np.roll(q, -1, -1)), transform.Rotation.from_quat(np.roll(p, -1, -1))
    np.testing.assert_allclose(pfnnc.quat_to_exp_map(q), a.as_rotvec(), atol=2e-15, err_msg=ORDER)
    np.testing.assert_allclose(pfnnc.quat_to_matrix(q), a.as_matrix(), atol=2e-15, err_msg=ORDER)
    np.testing.assert_allclose(pfnnc.quat_rotate(q, v), a.apply(v), atol=1e-14, err_msg=ORDER)
    assert_same_rotation(pfnnc.exp_map_to_quat(a.as_rotvec()), ours(a))
    assert_same_rotation(pfnnc.quat_mul(q, p), ours(a * b))
    assert_same_rotation(pfnnc.quat_from_matrix(a.as_matrix()), ours(a))
    assert_same_rotation(pfnnc.quat_mean(q[:7]), ours(a[:7].mean()))
    for letters in ORDERS:
        assert_same_rotation(pfnnc.quat_from_euler(a.as_euler(letters), letters), ours(a))
        np.testing.assert_allclose(pfnnc.quat_to_euler(q, letters), a.as_euler(letters), atol=1e-12, err_msg=letters)
    t = np.linspace(0, 1, 5)
    for i in range(20):
        theirs = transform.Slerp([0, 1], transform.Rotation.concatenate([a[i], b[i]]))(t)
        assert_same_rotation(pfnnc.quat_slerp(q[i], p[i], t), ours(theirs))


def test_a_wrong_quaternion_order_is_named():
    transform = pytest.importorskip("scipy.spatial.transform")
    q = random_quats(10)
    theirs = transform.Rotation.from_matrix(pfnnc.quat_to_matrix(q)).as_quat()
    with pytest.raises(AssertionError, match="in another order"):
        assert_same_rotation(q, theirs)
    assert_same_rotation(q, np.roll(theirs, 1, -1))


# ---- laws ---------------------------------------------------------------------------------------

numbers = st.floats(-10, 10)
vectors = st.tuples(numbers, numbers, numbers).map(np.array)
scalable = numbers.map(lambda x: x if abs(x) > 1e-6 else 0.0)  # so that a scale of 1e-300 leaves its digits alone
quats = st.tuples(scalable, scalable, scalable, scalable).map(np.array).filter(lambda q: np.abs(q).max() > 1e-3)
scales = st.sampled_from([1.0, -1.0, 1e-300, -1e300, 3.0, 1e-20])


@settings(deadline=None)
@given(quats, scales)
def test_there_and_back(q, scale):
    unit = pfnnc.quat_normalize(q)
    for to, back in (
        ("quat_to_exp_map", "exp_map_to_quat"),
        ("quat_log", "quat_exp"),
        ("quat_to_matrix", "quat_from_matrix"),
        ("quat_to_6d", "quat_from_6d"),
    ):
        assert_same_rotation(getattr(pfnnc, back)(getattr(pfnnc, to)(q * scale)), unit, 2e-15)


@settings(deadline=None)
@given(quats, quats, vectors)
def test_composition_and_conjugate(a, b, v):
    both = pfnnc.quat_rotate(pfnnc.quat_mul(a, b), v)
    np.testing.assert_allclose(pfnnc.quat_rotate(a, pfnnc.quat_rotate(b, v)), both, atol=1e-13)
    np.testing.assert_allclose(pfnnc.quat_rotate(pfnnc.quat_conj(a), pfnnc.quat_rotate(a, v)), v, atol=1e-13)
    np.testing.assert_allclose(pfnnc.quat_to_matrix(a) @ v, pfnnc.quat_rotate(a, v), atol=1e-13)


@settings(deadline=None)
@given(vectors)
def test_wrap_keeps_the_rotation(r):
    wrapped = pfnnc.exp_map_wrap(r)
    assert np.linalg.norm(wrapped) <= np.pi * (1 + 1e-15)
    assert_same_rotation(pfnnc.exp_map_to_quat(wrapped), pfnnc.exp_map_to_quat(r), 1e-14)
    np.testing.assert_array_equal(pfnnc.exp_map_wrap(wrapped), wrapped)


@settings(deadline=None)
@given(quats, scales)
def test_norm_and_sign_do_not_matter(q, scale):
    for name in ("quat_to_exp_map", "quat_to_matrix", "quat_to_6d", "quat_yaw"):
        np.testing.assert_allclose(getattr(pfnnc, name)(q * scale), getattr(pfnnc, name)(q), atol=4e-15)
    assert np.linalg.norm(pfnnc.quat_to_exp_map(q * scale)) <= np.pi * (1 + 1e-15)
    if q[0]:
        np.testing.assert_array_equal(pfnnc.quat_to_exp_map(-q), pfnnc.quat_to_exp_map(q))


@settings(deadline=None)
@given(quats, st.floats(-20, 20))
def test_yaw_is_the_twist_about_y(q, angle):
    yaw = pfnnc.quat_yaw(q)
    assert abs(yaw) <= np.pi
    if np.hypot(q[0], q[2]) > 1e-3:
        rest = pfnnc.quat_mul(pfnnc.quat_from_euler([-yaw, 0, 0], "YXZ"), q)
        assert abs(pfnnc.quat_yaw(rest)) < 1e-12
        turned = pfnnc.quat_mul(pfnnc.quat_from_euler([angle, 0, 0], "YXZ"), q)
        assert np.cos(pfnnc.quat_yaw(turned) - yaw - angle) > 1 - 1e-12


@settings(deadline=None)
@given(quats, quats, st.floats(0, 1))
def test_slerp_goes_the_shorter_way_at_constant_speed(a, b, t):
    middle = pfnnc.quat_slerp(a, b, t)
    np.testing.assert_allclose(np.linalg.norm(middle), 1, atol=1e-14)
    whole = np.linalg.norm(pfnnc.quat_to_exp_map(pfnnc.quat_mul(pfnnc.quat_conj(a), b)))
    part = np.linalg.norm(pfnnc.quat_to_exp_map(pfnnc.quat_mul(pfnnc.quat_conj(a), middle)))
    np.testing.assert_allclose(part, t * whole, atol=1e-13)
    assert_same_rotation(pfnnc.quat_slerp(a, b, 1.0), pfnnc.quat_normalize(b))
    assert_same_rotation(pfnnc.quat_slerp(b, a, 1 - t), middle, 1e-7 if whole > 3.1415 else 1e-13)


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 8), st.integers(0, 2**31))
def test_mean(n, seed):
    random = np.random.default_rng(seed)
    centre = random_quats(1, seed)[0]
    tangents = random.standard_normal((n, 3)) * 0.2
    cloud = pfnnc.quat_mul(centre, pfnnc.exp_map_to_quat(np.vstack([tangents, -tangents])))
    signs = random.choice([-1, 1], (2 * n, 1))
    mean = pfnnc.quat_mean(cloud * signs * 2)
    assert_same_rotation(mean, centre, 1e-13)
    assert mean @ (cloud[0] * signs[0]) > 0
    np.testing.assert_array_equal(pfnnc.quat_mean(np.stack([cloud, cloud[::-1]], 1), axis=0).shape, (2, 4))


def test_unroll():
    steps = np.cumsum(np.full((200, 3), 0.05), axis=0)
    q = pfnnc.exp_map_to_quat(steps)
    flipped = q * np.where(np.arange(200) % 3 == 1, -1, 1)[:, None]
    np.testing.assert_array_equal(pfnnc.quat_unroll(flipped), q)
    np.testing.assert_array_equal(pfnnc.quat_unroll(np.stack([flipped, -flipped], 0), axis=1), np.stack([q, -q]))
    np.testing.assert_allclose(pfnnc.exp_map_unroll(pfnnc.quat_to_exp_map(q)), steps, atol=1e-13)
    np.testing.assert_array_equal(pfnnc.exp_map_unroll(steps), steps)
    far = np.array([[0.0, 100.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(pfnnc.exp_map_unroll(far)[:, 1], [100, 0.1 + 32 * np.pi, 32 * np.pi])
    gap = np.vstack([q[:2], np.full((1, 4), np.nan), -q[3:5]])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(pfnnc.quat_unroll(gap), np.vstack([q[:2], np.full((1, 4), np.nan), q[3:5]]))
    assert pfnnc.quat_unroll(np.empty((0, 4))).shape == (0, 4)


# ---- cases --------------------------------------------------------------------------------------


def test_u09_yaw_step_across_half_a_turn():
    a, b = pfnnc.quat_from_euler(np.radians([[179.0, 0, 0], [-179.0, 0, 0]]), "YXZ")
    assert pfnnc.quat_yaw(pfnnc.quat_mul(b, pfnnc.quat_conj(a))) == pytest.approx(0.034906585, abs=1e-9)


def test_u26_at_and_near_zero():
    np.testing.assert_array_equal(pfnnc.quat_to_exp_map([1.0, 0, 0, 0]), [0, 0, 0])
    np.testing.assert_array_equal(pfnnc.exp_map_to_quat([0.0, 0, 0]), [1, 0, 0, 0])
    np.testing.assert_array_equal(pfnnc.exp_map_to_quat([1e-9, 0, 0]), [1, 5e-10, 0, 0])
    np.testing.assert_array_equal(pfnnc.quat_exp([1e-9, 0, 0]), [1, 1e-9, 0, 0])
    step = 1e-6
    gradient = (pfnnc.quat_to_exp_map(np.insert(np.eye(3) * step, 0, 1, axis=1)) - 0) / step
    np.testing.assert_allclose(gradient, 2 * np.eye(3), atol=1e-9)


def test_u28_a_matrix_next_to_half_a_turn():
    m = [
        [-0.99970424, 0.000973952, 0.024300903],
        [0.000737710, -0.99752367, 0.070327967],
        [0.024309222, 0.070325091, 0.99722791],
    ]
    r = pfnnc.quat_to_exp_map(pfnnc.quat_from_matrix(m))
    assert np.linalg.norm(r) == pytest.approx(3.141474, abs=1e-4)
    axis = r / np.linalg.norm(r)
    np.testing.assert_allclose(axis * -np.sign(axis[2]), [-0.01216, -0.03519, -0.99931], atol=1e-4)


def test_u30_neighbours_stay_together():
    a, b = pfnnc.quat_normalize([[0.018, 0.743, 0.557, 0.371], [-0.017, 0.870, 0.348, 0.348]])
    assert a @ b == pytest.approx(0.969213, abs=1e-6)
    angle = np.linalg.norm(pfnnc.quat_to_exp_map(pfnnc.quat_mul(pfnnc.quat_conj(a), b)))
    assert np.degrees(angle) == pytest.approx(28.5084, abs=1e-4)
    kept = pfnnc.quat_unroll([a, b])
    assert np.linalg.norm(kept[0] - kept[1]) == pytest.approx(0.248142, abs=1e-6)
    np.testing.assert_array_equal(pfnnc.quat_unroll([a, -b]), kept)


def test_u35_z_up_to_y_up():
    turn = pfnnc.quat_from_euler([-np.pi / 2, 0, 0], "XYZ")
    np.testing.assert_allclose(pfnnc.quat_rotate(turn, [1.0, 2, 3]), [1, 3, -2], atol=1e-15)
    q = pfnnc.quat_from_euler([np.pi / 6, 0, 0], "ZXY")
    turned = pfnnc.quat_mul(pfnnc.quat_mul(turn, q), pfnnc.quat_conj(turn))
    np.testing.assert_allclose(turned, [0.965925826289, 0, 0.258819045103, 0], atol=1e-12)


def test_u36_a_mirror_turns_yaw_round():
    q = pfnnc.quat_from_euler([np.pi / 6, 0.2, 0.1], "YXZ")
    mirrored, v = q * [1, 1, -1, -1], np.array([1.0, 2, 3])
    assert pfnnc.quat_yaw(pfnnc.quat_from_euler([np.pi / 6, 0, 0], "YXZ") * [1, 1, -1, -1]) == pytest.approx(-np.pi / 6)
    flip = np.array([-1.0, 1, 1])
    np.testing.assert_allclose(pfnnc.quat_rotate(mirrored, v * flip), pfnnc.quat_rotate(q, v) * flip, atol=1e-14)


def test_half_turns_have_a_fixed_sign():
    for axis in ([0, 0, -1], [0, -1, 0.5], [-1, 1, 1], [0, -1e-300, 1]):
        q = np.array([0.0, *axis])
        for w in (0.0, -0.0):
            q[0] = w
            first = next(x for x in pfnnc.quat_to_exp_map(q) if x)
            assert first > 0
    np.testing.assert_array_equal(np.signbit(pfnnc.quat_to_exp_map([-1.0, 0.0, -0.0, 0.0])), [False] * 3)


# ---- what a ufunc is ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_names_are_ufuncs(name):
    assert isinstance(getattr(pfnnc, name), np.ufunc)


NO_ROTATIONS = [[0.0, 0, 0, 0], [np.nan, 0, 0, 1], [1, np.inf, 0, 0], [1, 0, 0, -np.inf]]
TAKE_THEM = [(name, q) for name in (*FROM_QUAT, "quat_rotate", "quat_slerp", "quat_mul", "quat_conj") for q in NO_ROTATIONS]


@pytest.mark.parametrize(("name", "q"), TAKE_THEM)
def test_no_rotation_is_nan_and_invalid(name, q):
    function = getattr(pfnnc, name)
    rest = {"quat_rotate": ([1.0, 2, 3],), "quat_slerp": ([1.0, 0, 0, 0], 0.5), "quat_mul": ([1.0, 2, 3, 4],)}.get(name, ())
    batch = random_quats(300)
    batch[[5, 128, 299]] = q
    expected = np.zeros(300, bool)
    expected[[5, 128, 299]] = True
    for dtype in (np.float32, np.float64):
        with np.errstate(invalid="ignore"):
            result = function(batch.astype(dtype), *rest).reshape(300, -1)
        np.testing.assert_array_equal(np.isnan(result).all(1), expected)
        np.testing.assert_array_equal(np.isnan(result).any(1), expected)
        with np.errstate(all="ignore", invalid="raise"), pytest.raises(FloatingPointError):
            function(batch.astype(dtype), *rest)
        with np.errstate(all="raise"):
            function(batch[~expected].astype(dtype), *rest)


def test_other_inputs_that_are_no_rotation():
    with np.errstate(invalid="ignore"):
        for r in ([np.nan, 0, 0], [0, np.inf, 0]):
            for name in ("exp_map_to_quat", "quat_exp", "exp_map_wrap"):
                assert np.isnan(getattr(pfnnc, name)(r)).all()
        for m in (np.zeros((3, 3)), np.diag([1.0, 1, -1]), -np.eye(3), np.full((3, 3), np.nan), np.ones((3, 3))):
            assert np.isnan(pfnnc.quat_from_matrix(m)).all()
        for d in (np.zeros(6), [1, 0, 0, 2, 0, 0], [1, 2, 3, 0.1, 0.2, 0.3], [1, 0, 0, 0, np.nan, 0]):
            assert np.isnan(pfnnc.quat_from_6d(np.array(d, float))).all()
        assert np.isnan(pfnnc.quat_slerp([1.0, 0, 0, 0], [0.0, 1, 0, 0], np.nan)).all()
        assert np.isnan(pfnnc.quat_rotate([1.0, 0, 0, 0], [np.inf, 0, 0])).all()
        assert np.isnan(pfnnc.quat_mean([[1.0, 0, 0, 0], [0.0, 0, 0, 0]])).all()


def test_nearest_rotation_of_a_matrix():
    random = np.random.default_rng(4)
    for _ in range(50):
        m = random.standard_normal((3, 3))
        u, _, v = np.linalg.svd(m)
        if np.linalg.det(m) > 0:
            np.testing.assert_allclose(pfnnc.quat_to_matrix(pfnnc.quat_from_matrix(m)), u @ v, atol=1e-7)
            np.testing.assert_allclose(pfnnc.quat_from_matrix(m * 1e-200), pfnnc.quat_from_matrix(m), atol=1e-14)


def test_types():
    small = np.array([1, 2, 3, 4])
    expected = pfnnc.quat_to_exp_map(small.astype(float))
    for dtype in "?bBhHiIlLqQefdg":
        q = small.astype(dtype)
        result = pfnnc.quat_to_exp_map(q)
        assert result.dtype == (np.float32 if dtype == "f" else np.float64)
        np.testing.assert_allclose(result, pfnnc.quat_to_exp_map(q.astype(float)), rtol=1e-7 if dtype == "f" else 0)
        assert pfnnc.quat_mul(q, small.astype(np.float64)).dtype == np.float64
    assert pfnnc.quat_mul(small.astype(np.int16), small.astype(np.float16)).dtype == np.float64
    assert pfnnc.quat_slerp(np.ones(4, "f4"), np.ones(4, "f4"), 0.5).dtype == np.float32
    assert pfnnc.quat_from_euler(np.ones(3, "f4"), "ZXY").dtype == np.float32
    assert pfnnc.quat_to_euler(np.ones((2, 4), "f4"), "ZXY").dtype == np.float32
    np.testing.assert_array_equal(pfnnc.quat_to_exp_map(small.astype(">f8")), expected)
    np.testing.assert_array_equal(pfnnc.quat_to_exp_map([1, 2, 3, 4]), expected)


@pytest.mark.parametrize(
    "wrong", [np.ones(4, complex), np.ones(4, object), ["1", "2", "3", "4"], None, {}, np.ones(4, "m8[s]")]
)
def test_wrong_types(wrong):
    for function in (
        pfnnc.quat_normalize,
        pfnnc.quat_to_exp_map,
        lambda q: pfnnc.quat_to_euler(q, "XYZ"),
        lambda q: pfnnc.quat_mul(q, q),
    ):
        with pytest.raises(TypeError):
            function(wrong)
    for function, name in (
        (pfnnc.quat_mean, "q"),
        (pfnnc.quat_unroll, "q"),
        (pfnnc.exp_map_unroll, "r"),
        (lambda q: pfnnc.quat_to_euler(q, "XYZ"), "q"),
        (lambda q: pfnnc.quat_from_euler(q, "XYZ"), "angles"),
    ):
        with pytest.raises(TypeError, match=f"^{name} must be an array of real numbers"):
            function(wrong)


@pytest.mark.parametrize("huge", [2**63, 2**70, -(10**400)])
def test_a_huge_integer_is_a_wrong_value_or_type(huge):
    for function in (pfnnc.quat_from_euler, pfnnc.quat_to_euler):
        with pytest.raises((TypeError, ValueError)):
            function(huge, "XYZ")


def test_wrong_shapes_and_options():
    for shape in ((), (3,), (5,), (2, 3), (4, 5)):
        with pytest.raises(ValueError):
            pfnnc.quat_to_exp_map(np.ones(shape))
    with pytest.raises(ValueError):
        pfnnc.quat_mul(np.ones((2, 4)), np.ones((3, 4)))
    for order in ("XXY", "XY", "ABC", "", "XYZX"):
        with pytest.raises(ValueError, match="order"):
            pfnnc.quat_to_euler([1.0, 0, 0, 0], order)
        with pytest.raises(ValueError, match="order"):
            pfnnc.quat_from_euler([1.0, 0, 0], order)
    for order in (None, 3, b"XYZ", ["X", "Y", "Z"]):
        with pytest.raises(TypeError, match="order"):
            pfnnc.quat_to_euler([1.0, 0, 0, 0], order)
    q = random_quats(6).reshape(2, 3, 4)
    for axis in (2, -1, 3, -4):
        with pytest.raises(ValueError, match="axis"):
            pfnnc.quat_unroll(q, axis=axis)
    for axis in (True, 0.0, None):
        with pytest.raises(TypeError, match="axis"):
            pfnnc.quat_unroll(q, axis=axis)
    for axis in (None, 1.0, "0", (0, 1)):
        with pytest.raises(TypeError, match="axis"):
            pfnnc.quat_mean(q, axis=axis)
    with pytest.raises(ValueError, match="at least one"):
        pfnnc.quat_mean(np.empty((0, 4)))
    with pytest.raises(ValueError, match="shape"):
        pfnnc.quat_mean([1.0, 0, 0, 0])


def test_strides_out_and_overlap():
    q = random_quats(600).reshape(20, 30, 4)
    expected = pfnnc.quat_to_exp_map(q)
    assert expected.shape == (20, 30, 3)
    for view in (q[::-1], q[:, ::2], q.transpose(1, 0, 2), np.asfortranarray(q)):
        np.testing.assert_array_equal(pfnnc.quat_to_exp_map(view), pfnnc.quat_to_exp_map(view.copy()))
    wide = np.zeros((20, 30, 8))
    wide[..., ::2] = q
    np.testing.assert_array_equal(pfnnc.quat_to_exp_map(wide[..., ::2]), expected)
    np.testing.assert_array_equal(
        pfnnc.quat_to_exp_map(np.broadcast_to(q[0, 0], (5, 4))), np.broadcast_to(expected[0, 0], (5, 3))
    )
    packed = np.zeros(20, [("pad", "i1"), ("q", "f8", 4)])  # not aligned
    packed["q"] = q[:, 0]
    np.testing.assert_array_equal(pfnnc.quat_to_exp_map(packed["q"]), expected[:, 0])

    out = np.full((20, 30, 6), np.nan)
    assert pfnnc.quat_to_exp_map(q, out=out[..., ::2]).base is out
    np.testing.assert_array_equal(out[..., ::2], expected)
    swapped = np.empty((20, 30, 3), ">f8")
    np.testing.assert_array_equal(pfnnc.quat_to_exp_map(q, out=swapped), expected)
    with pytest.raises(ValueError):
        pfnnc.quat_to_exp_map(q, out=np.empty((20, 30, 4)))
    q.flags.writeable = False
    np.testing.assert_array_equal(pfnnc.quat_to_exp_map(q), expected)
    with pytest.raises(ValueError):
        pfnnc.quat_normalize(q, out=q)

    memory = random_quats(50).ravel()
    same, shifted = memory.copy(), memory.copy()
    np.testing.assert_array_equal(
        pfnnc.quat_conj(same.reshape(-1, 4), out=same.reshape(-1, 4)), pfnnc.quat_conj(memory.reshape(-1, 4))
    )
    result = pfnnc.quat_normalize(shifted[:-4].reshape(-1, 4) * 1, out=shifted[4:].reshape(-1, 4))
    np.testing.assert_array_equal(result, pfnnc.quat_normalize(memory[:-4].reshape(-1, 4)))
    shifted = memory.copy()
    result = pfnnc.quat_mul(shifted[:-4].reshape(-1, 4), shifted[4:].reshape(-1, 4), out=shifted[2:-2].reshape(-1, 4))
    np.testing.assert_array_equal(result, pfnnc.quat_mul(memory[:-4].reshape(-1, 4), memory[4:].reshape(-1, 4)))
    for name in ("quat_to_exp_map", "quat_to_matrix", "quat_yaw"):
        assert len(getattr(pfnnc, name)(np.empty((0, 4)))) == 0


def test_a_result_does_not_depend_on_its_neighbours():
    q = np.vstack([random_quats(400), exact.hard_quats(20)])
    together = pfnnc.quat_to_exp_map(q)
    np.testing.assert_array_equal(together, np.stack([pfnnc.quat_to_exp_map(x) for x in q]))
    turned = pfnnc.quat_mul(q[:400], q[399::-1])
    np.testing.assert_array_equal(turned, np.stack([pfnnc.quat_mul(a, b) for a, b in zip(q[:400], q[399::-1], strict=True)]))


def test_overflow_is_a_flag_too():
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        pfnnc.quat_mul([1e300, 0, 0, 0], [1e300, 0, 0, 0])
    with np.errstate(over="ignore"):
        assert pfnnc.quat_mul(np.float32([1e30, 0, 0, 0]), np.float32([1e30, 0, 0, 0]))[0] == np.inf
