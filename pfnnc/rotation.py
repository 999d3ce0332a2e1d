"""Rotations: quaternions ``[w, x, y, z]``, rotation vectors, matrices, 6d and Euler angles.

Hamilton, active, child to parent. Most names are generalised ufuncs: they broadcast, take any strides, have ``out=``,
keep float32 (double inside) and float64, and compute every other real type in float64. A quaternion stands for the
rotation of its direction, whatever its norm or sign; a zero or non-finite one gives NaN and raises the "invalid"
floating-point flag, which ``numpy.errstate(invalid="raise")`` turns into an error. Errors are at most 4 ulp of
``max(1, |result|)``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from . import _check, _core
from ._core import (
    exp_map_to_quat,
    exp_map_wrap,
    quat_conj,
    quat_exp,
    quat_from_6d,
    quat_from_matrix,
    quat_log,
    quat_mul,
    quat_normalize,
    quat_rotate,
    quat_slerp,
    quat_to_6d,
    quat_to_exp_map,
    quat_to_matrix,
    quat_yaw,
)

__all__ = [
    "exp_map_to_quat",
    "exp_map_unroll",
    "exp_map_wrap",
    "quat_conj",
    "quat_exp",
    "quat_from_6d",
    "quat_from_euler",
    "quat_from_matrix",
    "quat_log",
    "quat_mean",
    "quat_mul",
    "quat_normalize",
    "quat_rotate",
    "quat_slerp",
    "quat_to_6d",
    "quat_to_euler",
    "quat_to_exp_map",
    "quat_to_matrix",
    "quat_unroll",
    "quat_yaw",
]

# The ufuncs' own examples, which doctest does not look for by itself.
__test__ = {name: globals()[name].__doc__ for name in __all__ if isinstance(globals().get(name), np.ufunc)}

ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "XYX", "XZX", "YXY", "YZY", "ZXZ", "ZYZ")
_AXES = {order: np.array(["XYZ".index(letter) for letter in order], np.int8) for order in ORDERS}


def _axes(order: str) -> np.ndarray:
    if not isinstance(order, str):
        raise TypeError(f"order must be a string of three axes such as 'ZXY', got {type(order).__name__}")
    axes = _AXES.get(order.upper())
    if axes is None:
        raise ValueError(f"order must be one of {' '.join(ORDERS)}, got {order!r}")
    return axes


def _along(value: ArrayLike, name: str, axis: int, width: int) -> tuple[np.ndarray, int]:
    """``value`` with ``axis`` moved in front of its last one, and the axis counted from 0."""
    array = _check.array(value, name, finite=False)
    if array.ndim < 2 or array.shape[-1] != width:
        raise ValueError(f"{name} must have shape (..., {width}) with an axis to go along, got {array.shape}")
    index = _check.integer(axis, "axis")
    if not -array.ndim <= index < array.ndim or index % array.ndim == array.ndim - 1:
        raise ValueError(f"axis must be an axis of {name} other than its last, got {index} for shape {array.shape}")
    index %= array.ndim
    return np.moveaxis(array, index, -2), index


def quat_from_euler(angles: ArrayLike, order: str) -> np.ndarray:
    """The unit quaternion of Euler angles in radians: ``(..., 3) -> (..., 4)``.

    Intrinsic, the first letter outermost: order ``"ZXY"`` with angles ``(a, b, c)`` is ``Rz(a) Rx(b) Ry(c)``, as in a
    BVH file whose channels are listed Z X Y. All twelve orders, upper or lower case alike; another is ``ValueError``.

    >>> quat_from_euler([0.0, 0.0, np.pi], "ZXY").round(15)
    array([0., 0., 1., 0.])
    """
    angles = _check.array(angles, "angles", (..., 3), finite=False)
    return _core._quat_from_euler(angles, _axes(order))


def quat_to_euler(q: ArrayLike, order: str) -> np.ndarray:
    """Euler angles in radians of a quaternion of any norm, see `quat_from_euler`: ``(..., 4) -> (..., 3)``.

    The outer angles are in [-pi, pi]; the middle one is in [-pi/2, pi/2], or in [0, pi] where the first and the last
    axis are the same. In gimbal lock the third angle is 0, and the rotation is still that of the quaternion.

    >>> quat_to_euler([1.0, 0.0, 1.0, 0.0], "YXZ").round(6)
    array([1.570796, 0.      , 0.      ])
    """
    q = _check.array(q, "q", (..., 4), finite=False)
    return _core._quat_to_euler(q, _axes(order))


def quat_mean(q: ArrayLike, axis: int = 0) -> np.ndarray:
    """The mean rotation along an axis, unit; the signs of the quaternions do not matter.

    It minimises the sum of squared distances between rotation matrices (Markley and others 2007, "Averaging
    Quaternions"). Its sign is that of the first quaternion. ``ValueError`` where there is nothing to average.

    >>> quat_mean([[1.0, 0.0, 0.1, 0.0], [-1.0, 0.0, 0.1, 0.0]])
    array([1., 0., 0., 0.])
    """
    moved, _ = _along(q, "q", axis, 4)
    if moved.shape[-2] == 0:
        raise ValueError(f"q must have at least one quaternion along axis {axis}, got shape {np.shape(q)}")
    return _core._quat_mean(moved)


def quat_unroll(q: ArrayLike, axis: int = 0) -> np.ndarray:
    """The same rotations with signs such that neighbours along an axis are near: no jump from q to -q.

    The first one is kept as it is, and magnitudes are kept to the bit. A zero or non-finite quaternion becomes NaN;
    those after it follow the last valid one.

    >>> quat_unroll([[1.0, 0.0, 0.0, 0.0], [-0.8, 0.0, -0.6, 0.0]])
    array([[1. , 0. , 0. , 0. ],
           [0.8, 0. , 0.6, 0. ]])
    """
    moved, axis = _along(q, "q", axis, 4)
    return np.moveaxis(_core._quat_unroll(moved), -2, axis)


def exp_map_unroll(r: ArrayLike, axis: int = 0) -> np.ndarray:
    """The same rotations as vectors without jumps along an axis: whole turns are added where that is nearer.

    The first one is kept as it is. A non-finite one becomes NaN; those after it follow the last valid one.

    >>> exp_map_unroll([[0.0, 3.0, 0.0], [0.0, -3.0, 0.0]])
    array([[0.        , 3.        , 0.        ],
           [0.        , 3.28318531, 0.        ]])
    """
    moved, axis = _along(r, "r", axis, 3)
    return np.moveaxis(_core._exp_map_unroll(moved), -2, axis)


def from_yaw(yaw: np.ndarray) -> np.ndarray:
    """(..., 4) turns about +y: what `quat_yaw` undoes."""
    half = 0.5 * np.asarray(yaw, np.float64)
    zero = np.zeros_like(half)
    return np.stack([np.cos(half), zero, np.sin(half), zero], axis=-1)
