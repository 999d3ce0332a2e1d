"""Rotations in 50 digits and more, from the definitions: the exact values that tests and benchmarks measure against."""

import mpmath as mp
import numpy as np

mp.mp.dps = 50


def _exact(values):
    return [mp.mpf(float(v)) for v in values]


def _norm(v):
    return mp.sqrt(mp.fsum(x * x for x in v))


def _sign(q):
    """-1 where w < 0, or where w is 0 and the first non-zero component of the axis is negative."""
    return -1 if next((x for x in q if x != 0), 1) < 0 else 1


def _product(a, b):
    (aw, ax, ay, az), (bw, bx, by, bz) = a, b
    return [
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    ]


def quat_mul(a, b):
    return _product(_exact(a), _exact(b))


def quat_normalize(q):
    q = _exact(q)
    return [x / _norm(q) for x in q]


def quat_to_exp_map(q, share=1):
    q = _exact(q)
    length = _norm(q[1:])
    if length == 0:
        return [mp.mpf(0)] * 3
    return [share * 2 * mp.atan2(length, abs(q[0])) / length * _sign(q) * x for x in q[1:]]


def quat_log(q):
    return quat_to_exp_map(q, mp.mpf(1) / 2)


def exp_map_to_quat(r, scale=0.5):
    r = _exact(r)
    with mp.workdps(400 if max(map(abs, r)) > 1e20 else 60):
        angle = _norm(r)
        if angle == 0:
            return [mp.mpf(1), *r]
        return [mp.cos(scale * angle), *(mp.sin(scale * angle) / angle * x for x in r)]


def quat_exp(r):
    return exp_map_to_quat(r, 1)


def exp_map_wrap(r):
    r = _exact(r)
    with mp.workdps(400 if max(map(abs, r)) > 1e20 else 60):
        angle = _norm(r)
        if angle <= mp.pi * (1 + mp.mpf(2) ** -50):
            return r
        turns = mp.nint(angle / (2 * mp.pi))
        return [x / angle * (angle - 2 * mp.pi * turns) for x in r]


def quat_rotate(q, v):
    q, v = _exact(q), _exact(v)
    w, *u = q
    n = mp.fsum(x * x for x in q)
    along, level = mp.fsum(a * b for a, b in zip(u, v, strict=True)), w * w - mp.fsum(x * x for x in u)
    cross = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
    return [(level * v[i] + 2 * along * u[i] + 2 * w * cross[i]) / n for i in range(3)]


def quat_yaw(q):
    w, _, y, _ = _exact(q)
    if w == 0:
        return [mp.pi if y != 0 else mp.mpf(0)]
    return [2 * mp.atan(y / w)]


def quat_to_matrix(q):
    return [quat_rotate(q, [float(i == j) for i in range(3)])[k] for k in range(3) for j in range(3)]


def quat_to_6d(q):
    m = quat_to_matrix(q)
    return [m[0], m[3], m[6], m[1], m[4], m[7]]


def _from_axes(a, b, c):
    """The quaternion, w >= 0, of orthonormal columns."""
    candidates = [1 + a[0] + b[1] + c[2], 1 + a[0] - b[1] - c[2], 1 - a[0] + b[1] - c[2], 1 - a[0] - b[1] + c[2]]
    rows = [
        [candidates[0], b[2] - c[1], c[0] - a[2], a[1] - b[0]],
        [b[2] - c[1], candidates[1], a[1] + b[0], a[2] + c[0]],
        [c[0] - a[2], a[1] + b[0], candidates[2], b[2] + c[1]],
        [a[1] - b[0], a[2] + c[0], b[2] + c[1], candidates[3]],
    ]
    q = rows[max(range(4), key=lambda i: candidates[i])]
    return [x / _norm(q) * _sign(q) for x in q]


def quat_from_6d(d):
    d = _exact(d)
    a = [x / _norm(d[:3]) for x in d[:3]]
    share = mp.fsum(x * y for x, y in zip(a, d[3:], strict=True))
    b = [y - share * x for x, y in zip(a, d[3:], strict=True)]
    b = [x / _norm(b) for x in b]
    c = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return _from_axes(a, b, c)


def quat_slerp(a, b, t):
    a, b, t = quat_normalize(a), quat_normalize(b), mp.mpf(float(np.ravel(t)[0]))
    dot = mp.fsum(x * y for x, y in zip(a, b, strict=True))
    if dot < 0:
        b, dot = [-x for x in b], -dot
    angle = 2 * mp.atan2(_norm([x - y for x, y in zip(a, b, strict=True)]), _norm([x + y for x, y in zip(a, b, strict=True)]))
    if angle == 0:
        return a
    return [(mp.sin((1 - t) * angle) * x + mp.sin(t * angle) * y) / mp.sin(angle) for x, y in zip(a, b, strict=True)]


def quat_from_euler(angles, order):
    q = [mp.mpf(1), mp.mpf(0), mp.mpf(0), mp.mpf(0)]
    for angle, letter in zip(_exact(angles), order, strict=True):
        turn = [mp.cos(angle / 2), mp.mpf(0), mp.mpf(0), mp.mpf(0)]
        turn[1 + "XYZ".index(letter)] = mp.sin(angle / 2)
        q = _product(q, turn)
    return q


def quat_to_euler(q, order):
    """From the elements of the matrix: R[i][k] = sign sin b, or R[i][i] = cos b where the outer axes are the same."""
    i, j, k = ("XYZ".index(letter) for letter in order)
    with mp.workdps(120):  # near gimbal lock the elements cancel
        flat = quat_to_matrix(q)
        m = [flat[0:3], flat[3:6], flat[6:9]]
        if i != k:
            sign = 1 if (j - i) % 3 == 1 else -1
            outer, inner = mp.atan2(-sign * m[j][k], m[k][k]), mp.atan2(-sign * m[i][j], m[i][i])
            return [outer, mp.asin(sign * m[i][k]), inner]
        k = 3 - i - j
        sign = 1 if (j - i) % 3 == 1 else -1
        return [mp.atan2(m[j][i], -sign * m[k][i]), mp.acos(m[i][i]), mp.atan2(m[i][j], sign * m[i][k])]


def ulps(result, exact, dtype=np.float64):
    """The largest error in units in the last place of max(1, |exact|), number by number."""
    worst = 0.0
    for r, e in zip(np.ravel(result), exact, strict=True):
        unit = np.spacing(dtype(max(1.0, abs(float(e))))) if abs(e) < 1e300 else abs(e) * np.finfo(dtype).eps
        worst = max(worst, float(abs(mp.mpf(float(r)) - e) / mp.mpf(float(unit))))
    return worst


# ---- hard points ------------------------------------------------------------------------------


def hard_quats(count=60, seed=0):
    """Near the identity, near half a turn, w of 0, and every norm from subnormal to 1e300."""
    random = np.random.default_rng(seed)
    unit = random.standard_normal((count, 4))
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    axis = random.standard_normal((count, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    small = 10.0 ** np.linspace(-320, -1, count)
    near_zero = np.column_stack([np.ones(count), axis * small[:, None]])
    near_pi = np.column_stack([small, axis])
    exact_pi = np.column_stack([np.zeros(count), axis])
    close = np.column_stack([np.cos(small), axis * np.sin(small)[:, None]])
    axes = np.vstack([np.eye(4), -np.eye(4), [[0, 0, -1, 1], [-0.0, 0, 0, -1], [-1, -0.0, 0, 0], [1, 1, 1, 1], [-1, 1, -1, 1]]])
    quats = np.vstack([unit, near_zero, near_pi, exact_pi, close, -near_pi, axes])
    return np.vstack([quats, unit * 1e300, unit * 1e-300, unit[:20] * 1e-320, near_pi * 1e200, near_zero * 1e-150, unit * 3])


def near_lock(order, count=30, seed=2):
    """Quaternions of any norm, some of them ever nearer to the gimbal lock of an order of axes."""
    random = np.random.default_rng(seed)
    quats = list(random.standard_normal((count, 4)))
    lock = np.pi / 2 if order[0] != order[2] else 0.0
    for distance in 10.0 ** np.linspace(-12, -1, count):
        first, last = random.uniform(-3, 3, 2)
        q = np.array([float(x) for x in quat_from_euler([first, lock + distance * (-1) ** (lock > 0), last], order)])
        quats.append(q * random.choice([1, -1, 3, 1e200, 1e-200]))
    return quats


def hard_vectors(count=60, seed=1):
    """Near zero, near multiples of pi, long ones up to 1e300."""
    random = np.random.default_rng(seed)
    axis = random.standard_normal((count, 3))
    axis /= np.linalg.norm(axis, axis=1, keepdims=True)
    lengths = [
        10.0 ** np.linspace(-320, 0, count),
        np.pi + random.standard_normal(count) * 10.0 ** np.linspace(-17, 0, count),
    ]
    lengths += [
        2 * np.pi + random.standard_normal(count) * 10.0 ** np.linspace(-17, 0, count),
        np.linspace(0, 10, count),
    ]
    lengths += [10.0 ** np.linspace(0, 14, count)]
    along = [
        np.eye(3)[k % 3] * value
        for k, value in enumerate([np.pi, -np.pi, 2 * np.pi, 3 * np.pi, 1e22, 1e300, -1e308, 5e-324, 0.0])
    ]
    return np.vstack([*(axis * length[:, None] for length in lengths), along])
