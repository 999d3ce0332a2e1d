"""The body of a recorded walker, for `label_phase`: where its pelvis and feet are, smoothed, without glitches, and how noisy.

Nothing here knows a unit or a rate: lengths are in legs, speeds in legs a second, widths of filters in seconds.
"""

from dataclasses import dataclass

import numpy as np

from .skeleton import Clip

SMOOTHING = 0.025  # s, standard deviation: far below a swing's 0.3 s, above the jitter of markers
SWING_TOP = (0.3, 0.5)  # legs/s that a swing reaches, a weak and a clear one: a walk at 0.3 legs/s has swings of 1
SUDDEN = (1.8, 1.5)  # times the speed a moment before and after, plus legs/s: no body moves so, a glitch does
SMALL_JUMP = 0.05  # legs, after which a walk goes on
SHORTEST_PIECE = 0.1  # s of sound frames between two glitches
LARGEST = 1e100  # of a coordinate times the rate: squares of speeds stay finite


@dataclass(frozen=True)
class Body:
    """What of a clip tells steps: T frames, feet left and right."""

    pelvis: np.ndarray  # (T, 3)
    ankles: np.ndarray  # (T, 2, 3)
    toes: np.ndarray  # (T, 2, 3); the ankles again where the rig has none
    fps: float
    leg: float  # length, in the clip's unit

    def cut(self, start: int, stop: int) -> "Body":
        return Body(self.pelvis[start:stop], self.ankles[start:stop], self.toes[start:stop], self.fps, self.leg)


def make_body(clip: Clip, feet: tuple[list[int], list[int]]) -> Body:
    """``feet``: joints ``([ankle(, toe)], [ankle(, toe)])``. The pelvis is the joint from which both legs hang."""
    skeleton, positions = clip.skeleton, clip.positions()
    parents = skeleton.parents
    line = [ancestors(parents, foot[0]) for foot in feet]
    shared = [joint for joint in line[0] if joint in line[1]]
    pelvis = positions[:, shared[0] if shared else 0]
    ankles = positions[:, [foot[0] for foot in feet]]
    toes = positions[:, [foot[-1] for foot in feet]]
    if any(len(foot) == 1 for foot in feet):
        toes = _tips(clip, feet, ankles)
    if len(clip) == 0:
        return Body(pelvis, ankles, toes, clip.fps, 1.0)
    largest = max(np.abs(points).max() for points in (pelvis, ankles, toes))
    if not largest * clip.fps < LARGEST:
        raise ValueError(f"clip must have positions and a rate of less than {LARGEST:g}, got {largest:g} at {clip.fps:g} fps")
    # in a walk the leg is stretched now and then; 0 for a rig of points
    leg = float(np.percentile(np.linalg.norm(ankles - pelvis[:, None], axis=2), 95)) or 1.0
    return _on_ground(Body(pelvis, ankles, toes, clip.fps, leg))


def ancestors(parents, joint: int) -> list[int]:
    line = []
    while joint >= 0:
        line.append(int(joint))
        joint = parents[joint]
    return line


def _tips(clip: Clip, feet, ankles: np.ndarray) -> np.ndarray:
    """End sites of the ankles, (T, 2, 3), where both have one, else the ankles."""
    from .rotation import quat_rotate

    ends = dict(reversed(list(clip.skeleton.end_sites)))
    if not all(foot[0] in ends for foot in feet):
        return ankles
    world = clip.world_rotations()
    return np.stack([ankles[:, k] + quat_rotate(world[:, foot[0]], ends[foot[0]]) for k, foot in enumerate(feet)], axis=1)


def _on_ground(body: Body) -> Body:
    """A walker on the spot, moved so that the lower foot stands: some clips are stored without their way."""
    if len(body.pelvis) < 3:
        return body
    ground = body.ankles[..., [0, 2]]
    low = np.argmin(body.ankles[:-1, :, 1], axis=1)
    step = np.diff(ground, axis=0)[np.arange(len(low)), low] * body.fps / body.leg
    drift = np.median(step, axis=0)
    speed = float(np.hypot(*drift))
    if speed < SWING_TOP[1] or np.mean(np.hypot(*(step - drift).T) < 0.5 * speed) < 0.6:
        return body
    way = np.zeros((len(ground), 3))
    way[:, [0, 2]] = -drift * body.leg / body.fps * np.arange(len(ground))[:, None]
    return Body(body.pelvis + way, body.ankles + way[:, None], body.toes + way[:, None], body.fps, body.leg)


def gaussian(width: float, most: int) -> np.ndarray:
    """Weights of a filter of ``width`` frames of standard deviation, at most ``2 * most + 1`` of them."""
    radius = min(int(np.ceil(3 * width)), most)
    if radius < 1 or width < 0.1:  # narrower than that it changes nothing
        return np.ones(1)
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / width) ** 2)
    return kernel / kernel.sum()


def smooth(x: np.ndarray, width: float) -> np.ndarray:
    """Gaussian along axis 0, ``width`` frames of standard deviation, odd reflection at the ends."""
    kernel = gaussian(width, len(x) - 1)
    radius = len(kernel) // 2
    if radius == 0:
        return x
    flat = x.reshape(len(x), -1)
    padded = np.concatenate([2 * flat[0] - flat[radius:0:-1], flat, 2 * flat[-1] - flat[-2 : -radius - 2 : -1]])
    return np.stack([_convolved(column, kernel) for column in padded.T], axis=1).reshape(x.shape)


def _convolved(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """``np.convolve(x, kernel, "valid")``, in time that hardly grows with the kernel's length."""
    if len(kernel) < 1024:  # so are those of all real rates
        return np.convolve(x, kernel, "valid")
    size = 1 << (len(x) - 1).bit_length()
    product = np.fft.rfft(x, size) * np.fft.rfft(kernel, size)
    return np.fft.irfft(product, size)[len(kernel) - 1 : len(x)]


def speed_of(points: np.ndarray, body: Body, axes=(0, 1, 2)) -> np.ndarray:
    """legs/s of (T, ..., 3), central differences."""
    if len(points) < 2:
        return np.zeros(points.shape[:-1])
    return np.linalg.norm(np.gradient(points[..., list(axes)], axis=0), axis=-1) * (body.fps / body.leg)


def runs(values: np.ndarray) -> list[tuple[int, int]]:
    """(start, stop) of each stretch of equal values."""
    if len(values) == 0:
        return []
    bounds = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
    return list(zip(bounds[:-1], bounds[1:], strict=True))


def deviation(differences: np.ndarray, gain: float) -> float:
    """Standard deviation of white noise from the sizes of its differences, whose variance is ``gain`` times its own. Of them
    the smallest third counts."""
    return float(np.quantile(differences, 0.3)) / (0.385 * gain**0.5)


# ---- noise ------------------------------------------------------------------------------------


def speed_noise(body: Body) -> float:
    """legs/s, standard deviation a coordinate, of the ankles' smoothed speed by white noise on their positions.

    From fourth differences, and from the calmest third of them: a foot that stands, slides or rolls has nothing else.
    """
    slope = np.convolve(gaussian(SMOOTHING * body.fps, max(len(body.ankles) - 1, 0)), [0.5, 0.0, -0.5])
    return _noise(body.ankles, body) * float(np.linalg.norm(slope)) * body.fps


def ankle_noise(body: Body) -> np.ndarray:
    """legs, (2,): likewise, of the ankles' positions, a coordinate over the ground and the height."""
    return np.array([_noise(body.ankles[..., [0, 2]], body), _noise(body.ankles[..., 1], body)])


def _noise(points: np.ndarray, body: Body) -> float:
    differences = np.abs(np.diff(points, n=4, axis=0)).reshape(-1) / body.leg
    return deviation(differences, 70) if len(differences) else 0.0


# ---- glitches ---------------------------------------------------------------------------------


def sound_pieces(body: Body) -> list[list[tuple[int, int]]]:
    """Stretches of sound frames. Those of one list belong together: only a few bad frames lie between.

    A frame is bad where both feet get there or away faster than they move a moment before and after: a T-pose at the
    start, a row of zeros. A jump between two long stretches parts them (joined takes, a teleport).
    """
    frames, rate = len(body.pelvis), body.fps / body.leg
    step = np.linalg.norm(np.diff(body.ankles, axis=0), axis=2).min(axis=1, initial=np.inf) * rate
    limit = SUDDEN[0] * _around(step, int(round(0.1 * body.fps)), int(round(0.6 * body.fps))) + SUDDEN[1]
    cuts = np.flatnonzero(step > limit) + 1
    bounds = [0, *cuts.tolist(), frames]
    least = SHORTEST_PIECE * body.fps if len(cuts) else 0
    pieces = [(a, b) for a, b in zip(bounds[:-1], bounds[1:], strict=True) if b - a > least]
    groups: list[list[tuple[int, int]]] = []
    for a, b in pieces:
        if groups and a - groups[-1][-1][1] <= least:
            first, last = groups[-1][-1][0], groups[-1][-1][1] - 1
            way = float(np.linalg.norm(body.ankles[a] - body.ankles[last], axis=1).min())
            if a == last + 1 and way < SMALL_JUMP * body.leg:
                groups[-1][-1] = (first, b)
                continue
            if a > last + 1 and way * rate / (a - last) <= limit[max(last - 1, 0)]:
                groups[-1].append((a, b))
                continue
        groups.append([(a, b)])
    return groups


def _around(x: np.ndarray, near: int, far: int) -> np.ndarray:
    """The greatest value from ``near`` to ``far`` places before and after each."""
    near, far = max(min(near, len(x)), 1), min(far, len(x))
    width = max(far - near, 0) + 1
    padded = np.concatenate([np.zeros(near + width - 1), x, np.zeros(near + width - 1)])
    top = windows(padded, width, np.maximum)
    return np.maximum(top[: len(x)], top[2 * near + width - 1 :][: len(x)])


def windows(x: np.ndarray, width: int, extreme) -> np.ndarray:
    """The greatest (or least) value of each ``width`` neighbours, in time that hardly grows with it."""
    span = 1
    while span < width:
        shift = min(span, width - span)
        x = extreme(x[:-shift], x[shift:])
        span += shift
    return x


def mended(body: Body, pieces: list[tuple[int, int]]) -> Body:
    """The frames from the first piece's start to the last one's end, straight lines over what lies between."""
    start, stop = pieces[0][0], pieces[-1][1]
    if len(pieces) == 1:
        return body.cut(start, stop)
    frames = np.arange(start, stop)
    good = np.concatenate([np.arange(a, b) for a, b in pieces])

    def line(x):
        columns = [np.interp(frames, good, column[good]) for column in x.reshape(len(x), -1).T]
        return np.stack(columns, axis=1).reshape(len(frames), *x.shape[1:])

    return Body(line(body.pelvis), line(body.ankles), line(body.toes), body.fps, body.leg)
