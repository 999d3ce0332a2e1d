"""The NumPy twin of the feature rows: the plainest form of what SPEC says."""

import numpy as np

from pfnnc import quat_conj, quat_mul, quat_normalize, quat_rotate, quat_to_6d, quat_to_exp_map, quat_unroll, quat_yaw


def backward_difference(values, fps):
    """(x[t] - x[t-1]) fps; frame 0 has that of frame 1, a single frame 0."""
    if len(values) == 1:
        return np.zeros_like(values)
    steps = np.diff(values, axis=0) * fps
    return np.concatenate([steps[:1], steps])


def about_y(yaw):
    zero = np.zeros_like(yaw)
    return np.stack([np.cos(yaw / 2), zero, np.sin(yaw / 2), zero], axis=-1)


def represent(rotations, representation):
    if representation == "exp_map":
        return quat_to_exp_map(rotations)
    if representation == "6d":
        return quat_to_6d(rotations)
    first = np.where(rotations[:1, ..., :1] < 0, -rotations[:1], rotations[:1])
    return quat_unroll(np.concatenate([first, rotations[1:]]))


def encode(root, rotations, joints, fps, representation="quat", heading=False, yaw_rate=False, height=False, points=None):
    """Rows of float64 from world positions of the root, local rotations, joint indices, world positions of points."""
    rotations = quat_normalize(rotations)
    yaw = np.unwrap(quat_yaw(rotations[:, 0]))
    away = quat_conj(about_y(yaw))
    velocity = backward_difference(root, fps)
    if heading:
        velocity = quat_rotate(away, velocity)
        rotations = rotations.copy()
        rotations[:, 0] = quat_mul(away, rotations[:, 0])
    frames = len(root)
    columns = [velocity, represent(rotations[:, :1], representation), represent(rotations[:, joints], representation)]
    if heading or yaw_rate:
        columns.append(backward_difference(yaw, fps))
    if height:
        columns.append(root[:, 1])
    if points is not None:
        columns.append(quat_rotate(away[:, None], points - root[:, None]))
        columns.append(quat_rotate(away[:, None], backward_difference(points, fps)))
    return np.concatenate([np.reshape(column, (frames, -1)) for column in columns], axis=1)
