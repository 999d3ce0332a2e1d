"""The loop of a roll-out in plain NumPy, written from the contract: one character, float64, one frame after the
other."""

import numpy as np
from scipy.spatial.transform import Rotation

WIDTH = {"quat": 4, "exp_map": 3, "6d": 6}


def valid(rotation, before, representation):
    """One rotation made valid; one without a direction keeps the one before."""
    if representation == "quat":
        n = np.linalg.norm(rotation)
        return before if n == 0 else rotation / n
    if representation == "exp_map":
        return Rotation.from_rotvec(rotation).as_rotvec() if np.linalg.norm(rotation) > np.pi else rotation
    a, b = rotation[:3], rotation[3:]
    a = a / np.linalg.norm(a)
    b = b - a * (a @ b)
    return np.concatenate([a, b / np.linalg.norm(b)])


def to_scipy(rotation, representation):
    if representation == "quat":
        return Rotation.from_quat(rotation[[1, 2, 3, 0]])
    if representation == "exp_map":
        return Rotation.from_rotvec(rotation)
    a, b = rotation[:3], rotation[3:]
    return Rotation.from_matrix(np.stack([a, b, np.cross(a, b)], axis=1))


def yaw_of(rotation, representation):
    x, y, z, w = to_scipy(rotation, representation).as_quat()
    return np.angle(np.exp(2j * np.arctan2(y, w)))


def turned(rotation, angle, representation):
    """The rotation turned about the world's y."""
    result = Rotation.from_rotvec([0, angle, 0]) * to_scipy(rotation, representation)
    if representation == "quat":
        q = result.as_quat()[[3, 0, 1, 2]]
        return q
    if representation == "exp_map":
        return result.as_rotvec()
    m = result.as_matrix()
    return np.concatenate([m[:, 0], m[:, 1]])


def rollout(predict, spec, mean, scale, window, phase, dts, stride, *, drift=None, origin=(0, 0, 0), yaw=0.0):
    """``predict(x (in_dim,), phase) -> (out_dim,)``. drift: None or a dict of Drift's arguments."""
    window = np.array(window, float)
    root, facing, turn = np.array(origin, float), float(yaw), 0.0
    width, representation = WIDTH[spec.representation], spec.representation
    rotations = (spec.slices["joints"].stop - 3) // width
    features, roots, velocities, phases, yaws, excesses = [], [], [], [], [], []
    for t, dt in enumerate(dts):
        z = (window - mean) / scale
        y = np.asarray(predict(z.ravel(), phase), float)
        frame = y[: spec.dim] + (z[-1] if spec.predict == "delta" else 0)
        frame = frame * scale + mean
        for i in range(rotations):
            at = slice(3 + i * width, 3 + (i + 1) * width)
            frame[at] = valid(frame[at], window[-1, at], representation)
        shown = frame.copy()
        column = spec.slices["yaw_rate"].start if "yaw_rate" in spec.slices else None
        if drift is not None:
            expected = np.asarray(drift["expected"], float)
            if drift.get("by_phase"):
                expected = expected[int(phase * len(expected)) % len(expected)]
            elif expected.ndim == 2:
                expected = expected[t]
            if spec.frame == "heading":
                rate = frame[column]
            else:
                step = yaw_of(frame[3 : 3 + width], representation) - yaw_of(window[-1, 3 : 3 + width], representation)
                rate = np.angle(np.exp(1j * step)) / dt
            wanted_rate = drift.get("yaw_rate")
            wanted_rate = rate if wanted_rate is None else np.broadcast_to(wanted_rate, (len(dts),))[t]
            excesses.append([*(frame[:3] - expected), rate - wanted_rate])
            mean_excess = np.mean(excesses[-drift.get("window", 30) :], axis=0)
            shown[:3] -= mean_excess[:3]
            if column is not None:
                shown[column] -= mean_excess[3]
            if spec.frame == "world":
                turn += mean_excess[3] * dt
                if drift.get("yaw_rate") is not None:
                    shown[3 : 3 + width] = turned(frame[3 : 3 + width], -turn, representation)
        velocity = shown[:3].copy()
        if spec.frame == "heading":
            facing += shown[column] * dt
            velocity = Rotation.from_rotvec([0, facing, 0]).apply(velocity)
        root = root + velocity * dt
        if spec.phase_step:
            phase = (phase + y[spec.dim] * dt) % 1
        else:
            phase = (phase + np.hypot(velocity[0], velocity[2]) / stride * dt) % 1
        window = np.concatenate([window[1:], frame[None]])
        for to, value in ((features, shown), (roots, root), (velocities, velocity), (phases, phase), (yaws, facing)):
            to.append(value)
    return tuple(np.array(a) for a in (features, roots, velocities, phases, yaws))
