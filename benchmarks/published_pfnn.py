"""The published weights of Holden, Komura and Saito (2017), run as in their paper: for comparison only.

The weights are not part of this package ("free for academic and non-commercial purposes"); `find` tells where it
looks. Units inside are those of the weights: centimetres, frames of 1/60 s, a trajectory of 120 frames about now.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import pfnnc

FPS, HALF = 60, 60  # frames a second; frames of the trajectory before and after now
SAMPLES = np.arange(0, 2 * HALF, 10)
STAND, WALK, JOG = 0, 1, 2  # gaits
PARENTS = (-1, 0, 1, 2, 3, 4, 0, 6, 7, 8, 9, 0, 11, 12, 13, 14, 15, 13, 17, 18, 19, 20, 21, 20, 13, 24, 25, 26, 27, 28, 27)
TOES = [5, 10]
POSITION_BIAS, DIRECTION_BIAS, SMOOTH, GAIT_SMOOTH = 2.0, 5.0, 0.9, 0.1  # "responsive", which obeys best


def find(folder="../shared/oracles") -> tuple[Path, Path] | None:
    """The control points and rows of real motion to start from, where they lie beside the checkout."""
    files = Path(folder) / "holden_controlpoints_f32.npz", Path(folder) / "oracle_forward_400.npz"
    return files if all(file.is_file() for file in files) else None


@dataclass
class Frame:
    """Of what is shown: metres, the world."""

    root: np.ndarray  # (3,)
    yaw: float
    positions: np.ndarray  # (31, 3)
    rotations: np.ndarray  # (31, 4) in the root's frame
    contacts: np.ndarray  # (2,) left and right toe


class PublishedPFNN:
    """One character. `wish` is the velocity (x, z) in m/s and the facing in radians of `step`."""

    def __init__(self, files: tuple[Path, Path], row: int):
        with np.load(files[0]) as points:
            p = {name: points[name] for name in points.files}
        self.network = pfnnc.SimplifiedPFNN(342, 311, 512, 4, kernel="catmull_rom", activation="elu")
        for i in range(3):
            layer = getattr(self.network, f"fc{i + 1}")
            layer.weights[...] = p[f"W{i}"].transpose(0, 2, 1)
            layer.bias[...] = p[f"b{i}"]
        self.scaling = [p[name].astype(np.float64) for name in ("Xmean", "Xstd", "Ymean", "Ystd")]
        with np.load(files[1]) as rows:
            x, phase = rows["X"][row].astype(np.float64), float(rows["P"][row])
        self.phase = phase / (2 * np.pi) % 1
        frames = np.arange(2 * HALF)
        self.places = np.stack([np.interp(frames, SAMPLES, x[i : i + 12]) for i in (0, 12)], axis=1)
        self.directions = np.stack([np.interp(frames, SAMPLES, x[i : i + 12]) for i in (24, 36)], axis=1)
        self.gait = np.stack([np.interp(frames, SAMPLES, x[48 + 12 * i : 60 + 12 * i]) for i in range(6)], axis=1)
        self.positions, self.velocities = x[120:213].reshape(31, 3), x[213:306].reshape(31, 3)
        self.target_velocity, self.target_direction = self.places[HALF + 1] - self.places[HALF], self.directions[HALF]

    @property
    def yaw(self) -> float:
        return _yaw(self.directions[HALF])

    def step(self, velocity, facing: float) -> Frame:
        """A frame of 1/60 s."""
        self._want(np.asarray(velocity) * 100 / FPS, facing)
        mean_x, std_x, mean_y, std_y = self.scaling
        x = (self._input() - mean_x) / std_x
        y = self.network(x[None].astype(np.float32), np.array([self.phase]))[0] * std_y + mean_y
        shown = self._pose(y)
        self._go_on(y)
        return shown

    def _want(self, velocity: np.ndarray, facing: float) -> None:
        """Target velocity, facing and gait; the coming second, between the network's prediction and the wish."""
        ahead = np.array([np.sin(facing), np.cos(facing)])
        self.target_velocity = self.target_velocity + SMOOTH * (velocity - self.target_velocity)
        self.target_direction = _turned(self.target_direction, ahead, SMOOTH)
        speed, wanted = np.hypot(*self.target_velocity), np.zeros(6)
        if speed < 0.1:
            wanted[STAND] = 1 - speed / 0.1
        else:
            wanted[JOG if speed * FPS > 160 else WALK] = 1
        self.gait[HALF] += GAIT_SMOOTH * (wanted - self.gait[HALF])
        blended = self.places.copy()
        for i in range(HALF + 1, 2 * HALF):
            far = (i - HALF) / HALF
            own = self.places[i] - self.places[i - 1]
            blended[i] = blended[i - 1] + own + (1 - (1 - far) ** POSITION_BIAS) * (self.target_velocity - own)
            share = 1 - (1 - far) ** DIRECTION_BIAS
            self.directions[i] = _turned(self.directions[i], self.target_direction, share)
            self.gait[i] = self.gait[HALF]
        self.places = blended

    def _input(self) -> np.ndarray:
        yaw = _yaw(self.directions[HALF])
        places = _seen_from(self.places[SAMPLES] - self.places[HALF], yaw)
        directions = _seen_from(self.directions[SAMPLES], yaw)
        parts = [places[:, 0], places[:, 1], directions[:, 0], directions[:, 1], self.gait[SAMPLES].T]
        return np.concatenate([part.ravel() for part in (*parts, self.positions, self.velocities, np.zeros(36))])

    def _pose(self, y: np.ndarray) -> Frame:
        """The joints in the frame of the root; what the next frame starts from as well."""
        self.velocities = y[125:218].reshape(31, 3)
        self.positions = 0.5 * (self._moved() + y[32:125].reshape(31, 3))
        yaw = _yaw(self.directions[HALF])
        x, z = _seen_from(self.positions[:, [0, 2]], -yaw).T
        world = np.stack([x + self.places[HALF, 0], self.positions[:, 1], z + self.places[HALF, 1]], axis=1) / 100
        root = np.array([self.places[HALF, 0], 0.0, self.places[HALF, 1]]) / 100
        rotations = pfnnc.quat_exp(y[218:311].reshape(31, 3))
        return Frame(root, yaw, world, rotations, np.array([y[5], y[7]]))

    def _moved(self) -> np.ndarray:
        """The last frame's joints, moved by the velocity of this one and seen from the root as it stands now."""
        place, now, yaw = self.places[HALF - 1], self.places[HALF], _yaw(self.directions[HALF])
        world = _turn(self.positions, -_yaw(self.directions[HALF - 1])) + [place[0] - now[0], 0, place[1] - now[1]]
        return _turn(world, yaw) + self.velocities

    def _go_on(self, y: np.ndarray) -> None:
        yaw = _yaw(self.directions[HALF])
        moving = (1 - np.clip(self.gait[HALF, STAND], 0, 1)) ** 0.25
        for track in (self.places, self.directions, self.gait):
            track[:HALF] = track[1 : HALF + 1]
        self.places[HALF] = self.places[HALF] + moving * _seen_from(y[None, :2], -yaw)[0]
        yaw -= moving * y[2]
        self.directions[HALF] = np.sin(yaw), np.cos(yaw)
        samples, frames = SAMPLES[6:], np.arange(HALF + 1, 2 * HALF)
        for track, first in ((self.places, 8), (self.directions, 20)):
            seen = np.stack([np.interp(frames, samples, y[first + 6 * i : first + 6 + 6 * i]) for i in (0, 1)], axis=1)
            if track is self.places:  # beyond the last sample straight on
                late = frames > samples[-1]
                slope = np.array([y[first + 5 + 6 * i] - y[first + 4 + 6 * i] for i in (0, 1)]) / 10
                seen[late] += (frames[late] - samples[-1])[:, None] * slope
            track[HALF + 1 :] = _seen_from(seen, -yaw)
        self.places[HALF + 1 :] += self.places[HALF]
        self.directions[HALF + 1 :] /= np.linalg.norm(self.directions[HALF + 1 :], axis=1, keepdims=True)
        self.phase = (self.phase + (0.9 * moving + 0.1) * float(y[3])) % 1


def _yaw(direction) -> float:
    return float(np.arctan2(direction[0], direction[1]))


def _seen_from(vectors: np.ndarray, yaw: float) -> np.ndarray:
    """(n, 2) as x and z, turned by minus the yaw."""
    c, s = np.cos(yaw), np.sin(yaw)
    return np.stack([c * vectors[:, 0] - s * vectors[:, 1], c * vectors[:, 1] + s * vectors[:, 0]], axis=1)


def _turn(vectors: np.ndarray, yaw: float) -> np.ndarray:
    """(n, 3) turned by minus the yaw about y."""
    x, z = _seen_from(vectors[:, [0, 2]], yaw).T
    return np.stack([x, vectors[:, 1], z], axis=1)


def _turned(a: np.ndarray, b: np.ndarray, share: float) -> np.ndarray:
    """From direction a towards b by a share of the angle between them."""
    yaw = _yaw(a) + share * ((_yaw(b) - _yaw(a) + np.pi) % (2 * np.pi) - np.pi)
    return np.array([np.sin(yaw), np.cos(yaw)])
