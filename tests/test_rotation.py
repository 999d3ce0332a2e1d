"""Rotations against SciPy, exact values and their own laws."""

import numpy as np
import pytest

import pfnnc

NAMES = [name for name in pfnnc.rotation.__all__ if name not in ("quat_mean", "quat_unroll", "exp_map_unroll", "quat_from_euler", "quat_to_euler")]


def random_quats(n, seed=0):
    q = np.random.default_rng(seed).standard_normal((n, 4))
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


@pytest.mark.parametrize("name", NAMES)
def test_names_are_ufuncs(name):
    assert isinstance(getattr(pfnnc, name), np.ufunc)


def test_against_scipy():
    transform = pytest.importorskip("scipy.spatial.transform")
    q, p, v = random_quats(500), random_quats(500, 1), np.random.default_rng(2).standard_normal((500, 3))
    order = "SciPy's quaternions are [x, y, z, w], pfnnc's [w, x, y, z]: is the quaternion order right?"

    def ours(rotation):
        return pfnnc.quat_normalize(np.roll(rotation.as_quat(), 1, axis=-1))

    def same(a, b):
        np.testing.assert_allclose(a * np.sign(np.sum(a * b, -1, keepdims=True)), b, atol=1e-14, err_msg=order)

    a, b = transform.Rotation.from_quat(np.roll(q, -1, -1)), transform.Rotation.from_quat(np.roll(p, -1, -1))
    np.testing.assert_allclose(pfnnc.quat_to_exp_map(q), a.as_rotvec(), atol=2e-15, err_msg=order)
    np.testing.assert_allclose(pfnnc.quat_to_matrix(q), a.as_matrix(), atol=2e-15, err_msg=order)
    np.testing.assert_allclose(pfnnc.quat_rotate(q, v), a.apply(v), atol=1e-14, err_msg=order)
    same(pfnnc.exp_map_to_quat(a.as_rotvec()), ours(a))
    same(pfnnc.quat_mul(q, p), ours(a * b))
    same(pfnnc.quat_from_matrix(a.as_matrix()), ours(a))
    same(pfnnc.quat_from_6d(pfnnc.quat_to_6d(q)), q)
    same(pfnnc.quat_mean(q[:7])[None], ours(a[:7].mean())[None])
    for letters in pfnnc.rotation.ORDERS:
        angles = a.as_euler(letters)
        same(pfnnc.quat_from_euler(angles, letters), ours(a))
        np.testing.assert_allclose(pfnnc.quat_to_euler(q, letters), angles, atol=1e-12, err_msg=letters)
    for i in range(20):
        t = np.linspace(0, 1, 5)
        theirs = transform.Slerp([0, 1], transform.Rotation.concatenate([a[i], b[i]]))(t)
        same(pfnnc.quat_slerp(q[i], p[i], t), ours(theirs))


@pytest.mark.parametrize("q", [[0.0, 0, 0, 0], [np.nan, 0, 0, 1], [1, np.inf, 0, 0]])
@pytest.mark.parametrize("name", ["quat_to_exp_map", "quat_log", "quat_normalize", "quat_yaw", "quat_to_matrix", "quat_to_6d"])
def test_no_rotation_is_nan_and_invalid(name, q):
    function = getattr(pfnnc, name)
    with np.errstate(invalid="ignore"):
        assert np.isnan(function(q)).all()
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError):
        function(q)


def test_types():
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.float16, np.int64, np.bool_, np.longdouble):
        assert pfnnc.quat_mul(np.ones(4, dtype), np.ones(4, dtype)).dtype == np.float64
    assert pfnnc.quat_slerp(np.ones(4, "f4"), np.ones(4, "f4"), 0.5).dtype == np.float32
    for wrong in (np.ones(4, complex), np.ones(4, object), ["a"] * 4, None):
        with pytest.raises((TypeError, ValueError)):
            pfnnc.quat_normalize(wrong)


def test_series():
    q = random_quats(50)
    steps = np.cumsum(np.full((200, 3), 0.05), axis=0)
    quats = pfnnc.exp_map_to_quat(steps)
    flipped = quats * np.where(np.arange(200) % 3 == 0, 1, -1)[:, None]
    np.testing.assert_array_equal(pfnnc.quat_unroll(flipped), quats)
    np.testing.assert_allclose(pfnnc.exp_map_unroll(pfnnc.quat_to_exp_map(quats)), steps, atol=1e-13)
    np.testing.assert_allclose(pfnnc.quat_mean(np.stack([q, -q])), q, atol=1e-15)
