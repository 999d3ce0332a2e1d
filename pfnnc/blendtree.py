"""The classical way to do what the network does: cycles of several clips, aligned by phase and blended.

Each clip becomes one cycle of its gait, averaged over its steps and sampled by phase. A blend mixes the cycles'
durations, root displacements and poses with the same weights, so stride, speed and feet belong together: a walk of
1.0 s and 1.4 m and a run of 0.7 s and 2.8 m, half and half, make 0.85 s and 2.1 m, that is 2.47 m/s and not the
mean of the speeds. Displacements are mixed in the character's own frame, whichever way the clips were recorded.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from . import _check
from .phase import find_cycles
from .phase_label import label_phase
from .rotation import from_yaw, quat_mean, quat_mul, quat_normalize, quat_slerp, quat_unroll, quat_yaw
from .skeleton import Clip, Skeleton, in_order_of

__all__ = ["Blended", "BlendTree", "Cycle"]

BINS = 64
STANDS = 0.1  # m/s; a clip without a phase that is faster cannot stand in a tree
FASTEST = 1e6  # whatever is larger is no speed, turn or angle
FLAT = np.array([0.05, 0.05])  # m/s, rad/s; what clips differ by less in is no dimension of their tree
SLIVER = 0.01  # height over length; a triangle as thin as that would blend far clips for a point beside a near one


@dataclass(frozen=True)
class Cycle:
    """What a blend makes of one gait cycle: seconds, metres to the left and ahead, radians to the left."""

    duration: float
    left: float
    ahead: float
    turn: float

    @property
    def stride(self) -> float:
        """Metres along the path."""
        return float(np.hypot(self.left, self.ahead))

    @property
    def speed(self) -> float:
        """Metres a second, of the very duration and stride."""
        return self.stride / self.duration

    @property
    def turn_rate(self) -> float:
        """Radians a second."""
        return self.turn / self.duration


@dataclass(frozen=True)
class Blended:
    """A blended motion: the clip, its phase (T,) in cycles and the weights (T, N) of the tree's clips."""

    clip: Clip
    phase: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class _Motion:
    """One cycle by phase: displacement of each bin (BINS, 2: left, ahead) to its heading, height and pose at its start.

    The heading turns evenly through the cycle; that the hips turn to and fro about it belongs to the pose.
    """

    duration: float
    step: np.ndarray
    turn: float
    height: np.ndarray
    pose: np.ndarray  # (BINS, J, 4), the root relative to the heading

    def cycle(self) -> Cycle:
        return Cycle(self.duration, *map(float, self.step.sum(axis=0)), self.turn)


class BlendTree:
    """Clips of one skeleton, blended to a wanted speed and turn.

    ``clips``: N clips, all with the same joints, in any order. ``phases``: their phases in cycles, (T,) each with NaN
    where there is none; found by `label_phase` where None. A clip needs a whole cycle, or no phase at all and a root
    that stands: then it is a pose at speed 0. Where the clips' turns differ, the tree has two dimensions (speed and
    turn), else one.

    >>> from pfnnc import make_gait_clip
    >>> walk, run = make_gait_clip("walk", speed=1.4, cadence=1.0), make_gait_clip("run", speed=4.0, cadence=1 / 0.7)
    >>> tree = BlendTree([walk.clip, run.clip], [walk.phase, run.phase])
    >>> half = tree.cycle([0.5, 0.5])
    >>> round(half.duration, 3), round(half.stride, 2), round(half.speed, 2)
    (0.85, 2.1, 2.47)
    """

    def __init__(self, clips: Sequence[Clip], phases: Sequence | None = None):
        clips = _check.sequence(clips, "clips", "clips")
        if not clips:
            raise ValueError("clips must hold at least one clip")
        phases = [None] * len(clips) if phases is None else _check.sequence(phases, "phases", "arrays")
        if len(phases) != len(clips):
            raise ValueError(f"phases must have one entry a clip ({len(clips)}), got {len(phases)}")
        for i, clip in enumerate(clips):
            if not isinstance(clip, Clip):
                raise TypeError(f"clips[{i}] must be a Clip, got {type(clip).__name__}")
        clips = [_in_order(clip, clips[0].skeleton, i) for i, clip in enumerate(clips)]
        self.skeleton = clips[0].skeleton
        motions = [_motion(clip, phase, i) for i, (clip, phase) in enumerate(zip(clips, phases, strict=True))]
        moving = [motion.duration for motion in motions if motion is not None]
        pace = float(np.median(moving)) if moving else 1.0
        self._motions = [m if m is not None else _pose(clip, pace) for clip, m in zip(clips, motions, strict=True)]
        self.cycles = tuple(motion.cycle() for motion in self._motions)
        self.points = np.array([[cycle.speed, cycle.turn_rate] for cycle in self.cycles])
        """(N, 2) speed and turn rate of each clip."""
        spread = np.ptp(self.points, axis=0)
        self.dimensions = 2 if spread[1] > FLAT[1] else 1
        self._scale = np.maximum(spread, FLAT) if self.dimensions == 2 else np.array([max(spread[0], FLAT[0]), np.inf])
        self._simplices = _simplices(self.points / self._scale)

    def __len__(self) -> int:
        return len(self._motions)

    def cycle(self, weights) -> Cycle:
        """The cycle of a blend with ``weights`` (N,), which sum to 1: duration, displacement and turn are mixed."""
        weights = _check.array(weights, "weights", (len(self),), dtype=np.float64)
        if (weights < 0).any() or abs(weights.sum() - 1) > 1e-9:
            raise ValueError(f"weights must be at least 0 and sum to 1, got {weights.tolist()}")
        fields = ("duration", "left", "ahead", "turn")
        return Cycle(*(float(weights @ [getattr(cycle, field) for cycle in self.cycles]) for field in fields))

    def weights(self, speed, turn_rate=0.0) -> np.ndarray:
        """Weights (..., N) at which the blended cycle has the wanted speed (m/s) and turn rate (rad/s, to the left).

        The nearest that the clips can do where they do not reach. Both may be arrays that broadcast.
        """
        speed, turn_rate = _rate(speed, "speed"), _rate(turn_rate, "turn_rate")
        try:
            speed, turn_rate = np.broadcast_arrays(speed, turn_rate)
        except ValueError:
            shapes = f"speed of shape {speed.shape} does not broadcast with turn_rate of {turn_rate.shape}"
            raise ValueError(shapes) from None
        wanted = np.stack([speed, turn_rate], axis=-1).reshape(-1, 2)
        shares = _barycentric(wanted / self._scale, self.points / self._scale, self._simplices)
        # shares of time in the plane of speeds; a clip's share of the cycle is the longer the shorter its own cycle
        weights = shares / [cycle.duration for cycle in self.cycles]
        weights /= weights.sum(axis=-1, keepdims=True)
        return weights.reshape(*speed.shape, len(self))

    def synthesize(
        self, speed, turn_rate=0.0, *, n_frames=None, fps=30.0, phase=0.0, origin=(0, 0, 0), yaw=0.0, warp: bool = False
    ) -> Blended:
        """Motion at the wanted speed and turn rate.

        Parameters
        ----------
        speed, turn_rate
            m/s and rad/s, each a number or one a frame.
        n_frames : int or None
            How many, where both are numbers.
        fps : float
        phase : float
            Of the first frame, in cycles.
        origin : (3,)
            Where the root stands in the first frame; its height is that of the clips, plus the origin's.
        yaw : float
            The way that it faces, radians.
        warp : bool
            Make up what the clips cannot do by scaling the root's steps and turning it, as engines do it; the feet
            slide by what was missing.
        """
        fps = _check.number(fps, "fps", above=0)
        phase = float(_check.phases(phase, "phase", ()))
        origin = _check.array(origin, "origin", (3,), dtype=np.float64)
        yaw = _check.number(yaw, "yaw", least=-FASTEST, most=FASTEST)
        wanted = self.weights(speed, turn_rate)
        if wanted.ndim > 2:
            raise ValueError(f"speed must be a number or have shape (any,), got {wanted.shape[:-1]}")
        if n_frames is not None:
            n_frames = _check.integer(n_frames, "n_frames", least=0, most=10_000_000)
        elif wanted.ndim == 1:
            raise ValueError("n_frames must be given where speed and turn_rate are numbers")
        if wanted.ndim == 2 and n_frames not in (None, len(wanted)):
            raise ValueError(f"n_frames={n_frames} does not fit speed of {len(wanted)} frames")
        weights = np.broadcast_to(wanted, (n_frames, len(self))) if wanted.ndim == 1 else wanted
        asked = (np.asarray(speed, np.float64), np.asarray(turn_rate, np.float64)) if _check.flag(warp, "warp") else None
        return self._play(np.ascontiguousarray(weights), fps, phase, origin, yaw, asked)

    def _play(self, weights, fps, phase, origin, yaw, asked=None) -> Blended:
        n, durations = len(weights), np.array([cycle.duration for cycle in self.cycles])
        advance = 1 / (weights @ durations * fps)
        unwrapped = phase + np.r_[0.0, np.cumsum(advance)][:n]
        now = _wrapped(unwrapped)
        step, turn, height = np.zeros((n, 2)), np.zeros(n), np.zeros(n)
        for motion, share in zip(self._motions, weights.T, strict=True):
            if not share.any():
                continue
            after = unwrapped + advance
            step += share[:, None] * np.stack([_between(motion.step[:, i], unwrapped, after) for i in (0, 1)], axis=1)
            turn += share * motion.turn * advance
            height += share * _around(motion.height, now)
        if asked is not None:
            step, turn = step * self._lack(weights, asked[0])[:, None], np.broadcast_to(asked[1] / fps, n)
        heading = yaw + np.r_[0.0, np.cumsum(turn)]
        facing = 0.5 * (heading[:-1] + heading[1:])
        moved = np.stack(
            [
                step[:, 1] * np.sin(facing) + step[:, 0] * np.cos(facing),
                np.zeros(n),
                step[:, 1] * np.cos(facing) - step[:, 0] * np.sin(facing),
            ],
            axis=1,
        )
        root = origin + np.concatenate([np.zeros((1, 3)), np.cumsum(moved, axis=0)])[:n]
        root[:, 1] += height
        rotations = self._poses(weights, now)
        rotations[:, 0] = quat_mul(from_yaw(heading[:n]), rotations[:, 0])
        return Blended(Clip(self.skeleton, root, rotations, fps, "blend"), now, weights)

    def _lack(self, weights, speed) -> np.ndarray:
        """Wanted speed over the blended cycles' own; 1 where these stand, since no step can be scaled then."""
        duration, left, ahead = (weights @ [getattr(c, name) for c in self.cycles] for name in ("duration", "left", "ahead"))
        own = np.hypot(left, ahead) / duration
        return np.where(own > STANDS, speed / np.maximum(own, STANDS), 1.0)

    def _poses(self, weights, phase) -> np.ndarray:
        """Weighted means of rotations: sums of quaternions of one sign, normalised."""
        total = np.zeros((len(phase), len(self.skeleton), 4))
        for motion, share in zip(self._motions, weights.T, strict=True):
            if not share.any():
                continue
            at = phase * BINS
            low = np.minimum(at.astype(np.intp), BINS - 1)
            pose = quat_slerp(motion.pose[low], motion.pose[(low + 1) % BINS], (at - low)[:, None])
            sign = np.where((pose * total).sum(axis=-1, keepdims=True) < 0, -1.0, 1.0)
            total += share[:, None, None] * sign * pose
        return quat_normalize(total) if len(total) else total


def _in_order(clip: Clip, skeleton: Skeleton, i: int) -> Clip:
    found = in_order_of(clip, skeleton)
    if found is None:
        raise ValueError(f"clips[{i}] has other joints than clips[0]")
    return found


def _rate(value, name: str) -> np.ndarray:
    """Speeds or turns of any shape, none of which is absurd."""
    value = _check.array(value, name, dtype=np.float64)
    beyond = np.abs(value) > FASTEST
    if beyond.any():
        raise ValueError(f"{_check.at(name, value, beyond)} is not in [-{FASTEST:g}, {FASTEST:g}]")
    return value


def _wrapped(phase):
    phase = phase - np.floor(phase)
    return np.where(phase < 1, phase, 0.0)


def _around(values: np.ndarray, phase: np.ndarray) -> np.ndarray:
    return np.interp(phase * BINS, np.arange(BINS + 1), np.r_[values, values[:1]])


def _between(steps: np.ndarray, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Sum of a density that is constant in each bin, from one unwrapped phase to another."""
    total = np.r_[0.0, np.cumsum(steps)]

    def until(phase):
        cycle = np.floor(phase)
        return cycle * total[-1] + np.interp((phase - cycle) * BINS, np.arange(BINS + 1), total)

    return until(end) - until(begin)


def _motion(clip: Clip, phase, i: int) -> _Motion | None:
    """The mean cycle of a clip; None where it has no phase and stands."""
    if phase is None:
        phase = label_phase(clip).phase
    phase = _check.phases(phase, f"phases[{i}]", (len(clip),), nan=True, dtype=np.float64)
    cycles = find_cycles(phase)
    if len(cycles) == 0:
        moved = np.ptp(clip.root_positions[:, [0, 2]], axis=0).max(initial=0.0) / max(len(clip) / clip.fps, 1e-9)
        if len(clip) and moved < STANDS:
            return None
        raise ValueError(f"clips[{i}] ({clip.name}) has no whole cycle of its gait, and does not stand")
    yaw = np.unwrap(quat_yaw(quat_unroll(clip.rotations[:, 0])))
    edges = np.array([_bin_edges(phase, begin, end) for begin, end in cycles])
    root, faced = _at(clip.root_positions, edges), _at(yaw, edges)
    turn = faced[:, -1:] - faced[:, :1]
    heading = faced[:, :-1].mean(axis=1, keepdims=True) + turn * (np.arange(BINS + 1) - 0.5 * (BINS - 1)) / BINS
    facing = 0.5 * (heading[:, 1:] + heading[:, :-1])
    moved = np.diff(root, axis=1)
    ahead = moved[..., 2] * np.cos(facing) + moved[..., 0] * np.sin(facing)
    left = moved[..., 0] * np.cos(facing) - moved[..., 2] * np.sin(facing)
    pose = _poses_at(clip.rotations, edges[:, :-1])
    pose[:, :, 0] = quat_mul(from_yaw(-heading[:, :-1]), pose[:, :, 0])
    duration = float((cycles[:, 1] - cycles[:, 0]).mean() / clip.fps)
    step = np.stack([left.mean(axis=0), ahead.mean(axis=0)], axis=1)
    return _Motion(duration, step, float(turn.mean()), root[:, :-1, 1].mean(axis=0), quat_mean(pose, axis=0))


def _bin_edges(phase: np.ndarray, begin: float, end: float) -> np.ndarray:
    """Frames (real) at which a cycle reaches the phases 0, 1/BINS ... 1."""
    frames = np.arange(int(np.floor(begin)) + 1, int(np.ceil(end)))
    within = np.maximum.accumulate(np.r_[0.0, phase[frames]])
    return np.interp(np.linspace(0, 1, BINS + 1), np.r_[within, 1.0], np.r_[begin, frames, end])


def _pose(clip: Clip, duration: float) -> _Motion:
    """A clip that stands, as a cycle in which nothing moves."""
    rotations = clip.rotations.copy()
    rotations[:, 0] = quat_mul(from_yaw(-quat_yaw(rotations[:, 0])), rotations[:, 0])
    pose = np.repeat(quat_mean(rotations, axis=0)[None], BINS, axis=0)
    height = np.full(BINS, clip.root_positions[:, 1].mean())
    return _Motion(duration, np.zeros((BINS, 2)), 0.0, height, pose)


def _at(track: np.ndarray, frames: np.ndarray) -> np.ndarray:
    low = np.clip(frames.astype(np.intp), 0, max(len(track) - 2, 0))
    share = (frames - low).reshape(*frames.shape, *[1] * (track.ndim - 1))
    return track[low] + share * (track[np.minimum(low + 1, len(track) - 1)] - track[low])


def _poses_at(rotations: np.ndarray, frames: np.ndarray) -> np.ndarray:
    low = np.clip(frames.astype(np.intp), 0, max(len(rotations) - 2, 0))
    return quat_slerp(rotations[low], rotations[np.minimum(low + 1, len(rotations) - 1)], (frames - low)[..., None])


def _simplices(points: np.ndarray) -> list[tuple[int, ...]]:
    """Triangles between the points; where these are hardly any, segments from point to next point."""
    triangles, border = _delaunay(points)
    sides = triangles[:, [[0, 1], [1, 2], [0, 2]]]
    lengths = np.linalg.norm(points[sides[:, :, 0]] - points[sides[:, :, 1]], axis=2)
    longest = lengths.max(axis=1, initial=0.0)
    sliver = np.abs(_circles(points[triangles])[2]) <= SLIVER * np.maximum(longest, 1e-3) ** 2
    past = sides[sliver, lengths[sliver].argmax(axis=1)]  # the third point lies on this one

    def pairs(edges):
        return set(map(tuple, edges.reshape(-1, 2).tolist()))

    segments = (pairs(border) | pairs(sides[sliver])) - pairs(past) - pairs(sides[~sliver])
    return [tuple(triangle) for triangle in triangles[~sliver].tolist()] + sorted(segments) or [(0,)]


def _delaunay(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Delaunay triangles (m, 3) and border (k, 2) of points in about the unit square (Bowyer 1981, Watson 1981).

    The corners of each are in order.
    """
    n = len(points)
    jitter = 1e-7 * np.sin(37.0 * np.arange(1, points.size + 1)).reshape(points.shape)  # no four on one circle
    around = points.mean(axis=0) + 1e5 * np.array([[-3.0, -2.0], [3.0, -2.0], [0.0, 4.0]])
    places = np.concatenate([points + jitter, around])
    triangles = np.array([[n, n + 1, n + 2]])
    for i in range(n):
        centre, radius, _ = _circles(places[triangles])
        inside = np.linalg.norm(places[i] - centre, axis=1) < radius
        edges = np.sort(triangles[inside][:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        hole, times = np.unique(edges, axis=0, return_counts=True)
        hole = hole[times == 1]
        triangles = np.concatenate([triangles[~inside], np.c_[hole, np.full(len(hole), i)]])
    triangles = np.sort(triangles, axis=1)
    own = (triangles < n).sum(axis=1)
    return triangles[own == 3], triangles[own == 2, :2]


def _circles(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centres and radii of the circles through three points each (n, 3, 2), and twice the areas between them."""
    (bx, by), (cx, cy) = (corners[:, 1] - corners[:, 0]).T, (corners[:, 2] - corners[:, 0]).T
    area = bx * cy - by * cx
    b, c = bx * bx + by * by, cx * cx + cy * cy
    with np.errstate(divide="ignore", invalid="ignore"):  # no circle goes through three points on a line
        centre = np.stack([cy * b - by * c, bx * c - cx * b], axis=1) / (2 * area[:, None])
    return corners[:, 0] + centre, np.linalg.norm(centre, axis=1), area


def _barycentric(wanted: np.ndarray, points: np.ndarray, simplices) -> np.ndarray:
    """Shares (M, N) of the nearest point that a simplex holds, for each wanted one."""
    best, shares = np.full(len(wanted), np.inf), np.zeros((len(wanted), len(points)))
    for simplex in simplices:
        corners = points[list(simplex)]
        for face, local in _nearest(wanted, corners):
            distance = np.linalg.norm(wanted - local @ corners[face], axis=1)
            better = distance < best - 1e-12
            if better.any():
                best[better] = distance[better]
                shares[better] = 0.0
                shares[np.ix_(better, np.array(simplex)[face])] = local[better]
    return shares


def _nearest(wanted: np.ndarray, corners: np.ndarray):
    """Candidates for the nearest point of a simplex: inside it and on each of its faces, as shares of the corners."""
    count = len(corners)
    for size in range(1, count + 1):
        for face in combinations(range(count), size):
            face = list(face)
            base = corners[face[0]]
            edges = (corners[face[1:]] - base).T
            if size > 1:
                solved = np.linalg.lstsq(edges, (wanted - base).T, rcond=None)[0].T
            else:
                solved = np.zeros((len(wanted), 0))
            local = np.concatenate([1 - solved.sum(axis=1, keepdims=True), solved], axis=1)
            outside = (local < -1e-12).any(axis=1)
            local = np.maximum(local, 0.0)
            local /= local.sum(axis=1, keepdims=True)
            local[outside] = np.eye(size)[0]
            yield face, local
