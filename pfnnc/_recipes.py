"""What a preset is made of, and the training data that it asks for: clips in, rows of features out."""

from __future__ import annotations

import difflib
import inspect
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from . import _augment, _check
from ._body import runs
from .features import FeatureSpec, point_positions
from .normalizer import Normalizer
from .rotation import from_yaw, quat_conj, quat_mean, quat_mul, quat_rotate, quat_to_exp_map, quat_yaw
from .skeleton import Clip, Skeleton
from .training import Trainer
from .trajectory import Trajectory

STILL = 0.01  # rad: a joint whose rotation spreads less, and has no other joint or end to move, is not encoded
FLOOR = 0.02  # least scale of a column of a rotation
ARTICLE_JOINTS = 24
PACES = 64  # samples of a clip for `pace_to_keep`
WALKING = 0.35  # m/s: slower means within two seconds are no walk
STEADY = 0.3  # of the speed: as steady as a walk's speed is
SWAY = 0.1  # m/s: a pelvis that moves no faster is not on its way


def sequence_of(value, name: str) -> list:
    """A list of what a sequence or array holds."""
    if isinstance(value, np.ndarray) and value.ndim == 1:
        return value.tolist()
    if isinstance(value, (str, bytes, memoryview, np.ndarray)) or not isinstance(value, (Sequence, list)):
        raise TypeError(f"{name} must be a sequence, got {type(value).__name__}")
    return list(value)


@dataclass(frozen=True)
class Recipe:
    """Everything that `MotionModel.train` decides; each field can be overridden by its name.

    ``scales`` are the speeds at which each clip is played, ``mirror`` adds every clip's mirror image, ``windows`` is
    how many windows are trained on in all, where ``epochs`` does not say it. ``training`` holds options of `Trainer`.
    """

    joints: object = "moving"  # "all", "moving", or names, or a count; "article" is all up to 24, else the moving ones
    features: dict = field(default_factory=dict)  # options of FeatureSpec
    times: tuple[float, ...] = ()  # of the Trajectory; () for none
    legs: bool = False  # leg points and contacts stand among the features
    planted: float = 0.05  # a low sole slower than this share of its swing's speed counts as planted
    feet: tuple = ()  # names (left, right) of what touches the ground; () finds them
    normalize: str = "velocity"
    input_len: int = 12
    output_len: int = 6
    stride: int = 4
    scales: tuple[float, ...] = (1.0,)
    standing: bool = False  # frames without a phase, beside such that have one, are trained on too
    again: int = 0  # how often more: recordings stand for seconds and walk for minutes
    smooth: float = 0.0  # seconds: every second copy of the clips learns from a wanted path as smooth as that
    straight: float = 0.0  # seconds: a turn is what takes longer than that; more copies of every clip turn otherwise
    turns: tuple[float, ...] = (1.0,)  # a copy each: the share of its turns that is taken out; above 1, it turns the other way
    mirror: object = False  # or pairs of names, left to right
    hidden: int = 256
    n_kernels: int = 8
    beta: float = 8.0
    kernel: str = "rbf"
    activation: str = "relu"
    init: str = "article"
    last_layer: float = 1.0  # factor on the last layer's first weights
    epochs: int | None = None
    windows: int = 0
    training: dict = field(default_factory=dict)

    def __post_init__(self):
        if isinstance(self.joints, str):
            _check.option(self.joints, "joints", ("all", "moving", "article"))
        for name in ("input_len", "output_len", "stride", "hidden", "n_kernels"):
            _check.integer(getattr(self, name), name, least=1)
        _check.integer(self.windows, "windows", least=0)
        _check.integer(self.again, "again", least=0, most=100)
        _check.number(self.planted, "planted", least=0, most=1)
        for name in ("smooth", "straight"):
            object.__setattr__(self, name, _check.number(getattr(self, name), name, least=0, most=10))
        _check.flag(self.legs, "legs")
        _check.flag(self.standing, "standing")
        if not isinstance(self.mirror, dict):
            _check.flag(self.mirror, "mirror")
        _check.option(self.normalize, "normalize", ("velocity", "all"))
        for name in ("scales", "times", "feet", "turns"):
            object.__setattr__(self, name, tuple(sequence_of(getattr(self, name), name)))
        if not isinstance(self.joints, (str, int, np.integer)):
            object.__setattr__(self, "joints", tuple(sequence_of(self.joints, "joints")))
            for i, name in enumerate(self.joints):
                if not isinstance(name, str):
                    raise TypeError(f"joints[{i}] must be a name, got {name!r}")
        if not len(self.scales):
            raise ValueError("scales must hold at least one number, got none")
        for i, scale in enumerate(self.scales):
            _check.number(scale, f"scales[{i}]", above=0, most=100)
        for i, share in enumerate(self.turns):
            _check.number(share, f"turns[{i}]", least=-10, most=10)
        if len(self.feet) not in (0, 2):
            raise ValueError(f"feet must be the names of the left and the right foot, got {self.feet!r}")


ARTICLE = Recipe(
    joints="article",
    epochs=200,
    output_len=6,
    training={"batch_size": 64, "rollout": 4, "noise": 0.1, "average": 0.99, "clip_norm": 1.0},
)

CONTROLLER = Recipe(
    features={"representation": "6d", "frame": "heading", "height": True, "phase_step": True},
    times=tuple(k / 6 for k in range(-6, 7) if k),
    legs=True,
    normalize="all",
    input_len=2,
    output_len=16,
    stride=5,
    scales=(0.7, 0.85, 1.0, 1.15, 1.3),
    standing=True,
    again=2,
    smooth=0.2,
    straight=0.5,
    turns=(0.5, 1.0, 1.5),
    mirror=True,
    hidden=256,
    n_kernels=4,
    kernel="catmull_rom",
    activation="elu",
    init="he",
    last_layer=0.1,
    windows=72_000,
    training={
        "batch_size": 32,
        "rollout": (4, 8, 16),
        "noise": 0.05,
        "window_noise": 0.1,
        "contact_weight": 3.0,
        "root_weight": 0.1,
        "points_weight": 0.3,
        "phase_weight": 0.05,
        "trajectory_weight": 0.1,
        "clip_norm": 1.0,
        "average": 0.995,
        "schedule": "step",
    },
)

PRESETS = {"article": ARTICLE, "controller": CONTROLLER}


def recipe_of(preset: str, overrides: dict) -> Recipe:
    """A preset with overrides: fields of `Recipe`, options of `FeatureSpec` and of `Trainer` by name."""
    recipe = PRESETS[_check.option(preset, "preset", tuple(PRESETS))]
    own = {f.name for f in fields(Recipe)} - {"features", "training", "last_layer", "epochs"}
    of_spec = {f.name for f in fields(FeatureSpec)} - {"joints"}
    of_trainer = set(inspect.signature(Trainer).parameters) - {
        "model", "seed", "spec", "normalizer", "fps", "avg_stride", "skeleton", "feet", "t_max",
    }  # fmt: skip
    for name, value in overrides.items():
        if name in own:
            recipe = replace(recipe, **{name: value})
        elif name in of_spec:
            recipe = replace(recipe, features={**recipe.features, name: value})
        elif name in of_trainer:
            recipe = replace(recipe, training={**recipe.training, name: value})
        else:
            known = sorted(own | of_spec | of_trainer)
            near = difflib.get_close_matches(name, known, 1)
            there = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise TypeError(f"train() got an unknown option {name!r}; {there}")
    return recipe


def check_clips(clips) -> list[Clip]:
    """At least one clip; all of one frame rate and with the joints of the first."""
    if isinstance(clips, Clip):
        clips = [clips]
    if isinstance(clips, (str, bytes, np.ndarray, dict)) or not hasattr(clips, "__iter__"):
        raise TypeError(f"clips must be a list of clips, got {type(clips).__name__}")
    clips = list(clips)
    if not clips:
        raise ValueError("clips must hold at least one clip, got none")
    for i, clip in enumerate(clips):
        if not isinstance(clip, Clip):
            raise TypeError(f"clips[{i}] must be a Clip, got {type(clip).__name__}")
        if not len(clip):
            raise ValueError(f"clips[{i}]{_named(clip)} must have frames, got none")
        first = clips[0]
        if abs(clip.fps - first.fps) > 1e-6 * first.fps:
            raise ValueError(
                f"clips[{i}]{_named(clip)} has {clip.fps:g} frames a second, clips[0] has {first.fps:g}: resample them"
            )
        if set(clip.skeleton.names) != set(first.skeleton.names):
            odd = sorted(set(clip.skeleton.names) ^ set(first.skeleton.names))
            raise ValueError(f"clips[{i}]{_named(clip)} has other joints than clips[0]: {', '.join(odd[:5])}")
    return clips


def _named(clip: Clip) -> str:
    return f" ({clip.name})" if clip.name else ""


def check_labels(phases, clips: list[Clip]) -> list[np.ndarray]:
    """The phase (T,) of every clip."""
    if phases is None:
        from .phase_label import label_phase

        phases = [label_phase(clip) for clip in clips]
    no_list = isinstance(phases, (str, bytes, dict, set)) or (isinstance(phases, np.ndarray) and phases.ndim == 0)
    if no_list or not hasattr(phases, "__len__"):
        raise TypeError(f"phases must be a list with one array a clip, got {type(phases).__name__}")
    if len(phases) != len(clips):
        raise ValueError(f"phases must hold one array for each of the {len(clips)} clips, got {len(phases)}")
    result = []
    for i, (labels, clip) in enumerate(zip(phases, clips, strict=True)):
        phase = _check.phases(getattr(labels, "phase", labels), f"phases[{i}]", (len(clip),), nan=True, dtype=np.float64)
        result.append(phase % 1.0)
    if not any(np.isfinite(phase).any() for phase in result):
        raise ValueError("phases must hold a phase somewhere: every frame of every clip is without")
    return result


def moving_joints(clips: list[Clip]) -> tuple[list[str], dict[str, np.ndarray]]:
    """Names of the joints that move, the root first, and the mean rotation of every other one."""
    names = list(clips[0].skeleton.names)
    moving, rest = [names[0]], {}
    for name in names[1:]:
        q = np.concatenate([clip.rotations[:, clip.skeleton.index(name)] for clip in clips])
        mean = quat_mean(q)
        away = quat_to_exp_map(quat_mul(quat_conj(mean), q))
        if np.sqrt((away**2).sum(axis=-1).mean()) > STILL:
            moving.append(name)
        else:
            rest[name] = mean
    return moving, rest


def leg_points(skeleton: Skeleton, feet: tuple) -> tuple[tuple[str, ...], tuple[str, str]]:
    """Names of knee, ankle and toe tip of both sides, and of what touches the ground on either side."""
    points, soles = [], []
    for i, name in enumerate(feet):
        if not isinstance(name, str):
            raise TypeError(f"feet[{i}] must be a name, got {name!r}")
    for chain in [[skeleton.index(name)] for name in feet] or skeleton.find_feet():
        ankle, tip = chain[0], skeleton.names[chain[-1]]
        if len(chain) == 1 and any(parent == ankle for parent, _ in skeleton.end_sites):
            tip = f"{skeleton.names[ankle]}_end"
        knee = int(skeleton.parents[ankle])
        points += [skeleton.names[j] for j in (knee, ankle) if j >= 0] + ([tip] if tip != skeleton.names[ankle] else [])
        soles.append(tip)
    return tuple(dict.fromkeys(points)), (soles[0], soles[1])


def spec_of(recipe: Recipe, clips: list[Clip]) -> tuple[FeatureSpec, tuple[str, str] | tuple[()], dict[str, np.ndarray]]:
    """The features of a recipe, the soles for contacts, and the rotations of joints that are left out."""
    skeleton, rest = clips[0].skeleton, {}
    options = dict(recipe.features)
    if recipe.joints == "moving" or (recipe.joints == "article" and len(skeleton) > ARTICLE_JOINTS):
        joints, rest = moving_joints(clips)
        joints = joints[1:] or joints  # the root's own rotation is the orientation
    elif recipe.joints in ("all", "article"):
        same = all(list(clip.skeleton.names) == list(skeleton.names) for clip in clips)
        joints = len(skeleton) if same else list(skeleton.names)
    else:
        joints = recipe.joints
        named = skeleton.names if isinstance(joints, (int, np.integer)) else set(joints)
        rest = {name: q for name, q in moving_joints(clips)[1].items() if name not in named}
    if recipe.mirror and joints == len(skeleton):
        joints = list(skeleton.names)  # mirrored rows must know left from right
    soles = ()
    if recipe.legs:
        options = {"points": None, "contacts": True, **options}
    if options.get("points", ()) is None or _check.flag(options.get("contacts", False), "contacts"):
        points, soles = leg_points(skeleton, recipe.feet)
        options["points"] = points if options.get("points", ()) is None else options["points"]
    if recipe.times:
        options.setdefault("control", Trajectory(recipe.times))
    return FeatureSpec(joints, **options), soles, rest


def sole_contacts(clip: Clip, soles: tuple[str, str], share: float = Recipe.planted) -> np.ndarray:
    """(T, 2) bool: the sole is low, under 3 cm above its floor, and slow: up to a share of its swing's speed, and twice
    the speed of the stillest quarter of the low frames.

    The scale is the clip's own: planted feet of retargeted recordings slide faster than any fixed threshold allows.
    """
    tips = point_positions(clip, soles)
    speed = np.zeros(tips.shape[:2])
    if len(clip) > 1:
        speed[1:] = np.linalg.norm(np.diff(tips, axis=0), axis=-1) * clip.fps
        speed[0] = speed[1]
    height = tips[:, :, 1] - np.percentile(tips[:, :, 1], 2)
    low = height < 0.03
    still = np.percentile(speed[low], 25) if low.any() else 0.0
    return low & (speed < share * np.percentile(speed, 95) + 2 * still)


def beyond_glitches(clip: Clip, known: np.ndarray) -> np.ndarray:
    """(T,) bool: frames without a label that a glitch parts from the labelled ones, the glitch included.

    Recordings often end, and some begin, with a frame of zeros or a fall to the floor. A glitch is a root that is more
    than 10 cm outside of the heights of the labelled frames, or half again as fast as it ever is in them.
    """
    height = clip.root_positions[:, 1]
    speed = np.zeros(len(clip))
    speed[1:] = np.linalg.norm(np.diff(clip.root_positions, axis=0), axis=1) * clip.fps
    low, high, fast = height[known].min() - 0.1, height[known].max() + 0.1, 1.5 * speed[known].max() + 0.1
    wrong = (height < low) | (height > high) | (speed > fast)
    wrong[known] = False
    beyond = wrong.copy()
    for i in np.flatnonzero(wrong):
        after = np.searchsorted(known, i)
        first = 0 if after == 0 else known[after - 1] + 1
        last = len(clip) if after == len(known) else known[after]
        if after == 0:
            beyond[first : i + 1] = True
        elif after == len(known):
            beyond[i:last] = True
        else:
            beyond[first:last] = True
    return beyond


def completed(phase: np.ndarray, clip: Clip, avg_stride: float) -> np.ndarray:
    """The phase with its gaps filled, where a clip has any phase: over them it moves on with the ground speed, so
    that it stands where the person stands; between two labels by as much as brings it from the one to the other.

    A network that predicts the phase's step learns from this how to stop, stand and start.
    """
    known = np.flatnonzero(np.isfinite(phase))
    if len(known) in (0, len(phase)):
        return phase
    going = np.cumsum(np.maximum(ground_speed(clip) - SWAY, 0)) / clip.fps / avg_stride  # cycles since the first frame
    whole = np.full(len(phase), np.nan)
    whole[: known[0]] = phase[known[0]] - (going[known[0]] - going[: known[0]])
    whole[known[-1] :] = phase[known[-1]] + (going[known[-1] :] - going[known[-1]])
    for a, b in zip(known, known[1:], strict=False):
        way, rest = going[a : b + 1] - going[a], (phase[b] - phase[a]) % 1
        turns = rest + max(0, round(way[-1] - rest))
        share = way / way[-1] if way[-1] > 1e-6 else np.linspace(0, 1, b - a + 1)
        whole[a:b] = phase[a] + turns * share[:-1]
    whole[beyond_glitches(clip, known)] = np.nan
    whole[known] = phase[known]
    return whole % 1 % 1


def played_at(clip: Clip, phase: np.ndarray, scale: float) -> tuple[Clip, np.ndarray]:
    """A clip played ``scale`` times as fast, at its own frame rate, and its phase."""
    rate, places = clip.fps * scale, clip.translations
    quick = Clip(clip.skeleton, clip.root_positions, clip.rotations, rate, clip.name, translations=places)
    return _augment.at_rate(quick, phase, None, clip.fps)[:2]


def stretches(mask: np.ndarray, margin: int) -> list[slice]:
    """The runs of True, ``margin`` longer on either side."""
    return [slice(max(0, a - margin), b + margin) for a, b in runs(mask) if mask[a]]


def training_rows(recipe: Recipe, spec: FeatureSpec, soles, clips: list[Clip], labels, avg_stride: float) -> tuple[list, list]:
    """Rows of features and phases of every clip at every speed."""
    rows, phases = [], []
    pairs = list(zip(clips, labels, strict=True))
    if recipe.straight:
        feet = soles or leg_points(clips[0].skeleton, recipe.feet)[1]
        pairs += [
            (straightened(clip, recipe.straight, feet, recipe.planted, share), phase)
            for share in recipe.turns
            for clip, phase in zip(clips, labels, strict=True)
        ]
    for clip, phase in pairs:
        whole = completed(phase, clip, avg_stride) if recipe.standing else phase
        for scale in recipe.scales:
            played, played_phase = played_at(clip, whole, scale)
            rows.append(spec.encode(played, contacts=sole_contacts(played, soles, recipe.planted) if spec.contacts else None))
            phases.append(played_phase)
            if scale == 1:
                filled = np.isnan(phase) & np.isfinite(whole)
                parts = [(rows[-1][part], played_phase[part]) for part in stretches(filled, round(clip.fps))]
                for part_rows, part_phase in parts * recipe.again:
                    rows.append(part_rows)
                    phases.append(part_phase)
    return rows, phases


def smoothed(track: np.ndarray, sigma: float, fps: float) -> np.ndarray:
    """A track (T, 3) under a Gaussian of ``sigma`` seconds; beyond its ends it goes on as a `Trajectory` has it.

    A recorded root sways with every step, and from that a network learns to read the step off the wanted path; the path
    that a player or a program asks for is smooth.
    """
    n, reach, half = len(track), int(np.ceil(3 * sigma * fps)), max(1, round(fps / 2))
    if n < 2 or reach == 0:
        return track
    beyond, span = np.arange(1, reach + 1)[:, None], min(half, n - 1)
    before = track[0] - beyond[::-1] * (track[span] - track[0]) / span
    after = track[-1] + beyond * (track[-1] - track[-1 - span]) / span
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / (sigma * fps)) ** 2)
    whole = np.concatenate([before, track, after])
    return np.stack([np.convolve(column, kernel / kernel.sum(), "valid") for column in whole.T], axis=1)


def straightened(clip: Clip, sigma: float, soles: tuple[str, str], planted: float = Recipe.planted, share: float = 1.0) -> Clip:
    """A clip without its slow turns: its yaw under a Gaussian of ``sigma`` seconds is taken out of every frame, or a
    share of it.

    People who are recorded in a small room go in curves; who is steered goes straight on, or in other curves: a network
    that has seen one curve for each pose takes it from the pose and not from the path. A body turns about the foot
    that it stands on, so the root is moved over the ground as planted soles have it: they slide as much as they did.
    (A path that is only turned, about the root, makes them slide by the rate of the turn times their distance.)
    """
    turn = share * smoothed(np.unwrap(quat_yaw(clip.rotations[:, 0]))[:, None], sigma, clip.fps)[:, 0]
    back, between = from_yaw(turn[0] - turn), from_yaw(turn[0] - (turn[1:] + turn[:-1]) / 2)
    rotations = clip.rotations.copy()
    rotations[:, 0] = quat_mul(back, rotations[:, 0])
    root, tips = clip.root_positions, point_positions(clip, soles)
    step = quat_rotate(between, np.diff(root, axis=0))
    slid = quat_rotate(between[:, None], np.diff(tips, axis=0))
    slides = step[:, None] + np.diff(quat_rotate(back[:, None], tips - root[:, None]), axis=0)
    weight = sole_contacts(clip, soles, planted)[1:, :, None]
    step -= (weight * (slides - slid)).sum(axis=1) / np.maximum(weight.sum(axis=1), 1) * [1, 0, 1]
    places = np.concatenate([root[:1], root[0] + np.cumsum(step, axis=0)])
    return Clip(clip.skeleton, places, rotations, clip.fps, clip.name, translations=clip.translations)


def by_phase(recipe: Recipe, spec: FeatureSpec, soles, clips: list[Clip], labels, bins: int) -> np.ndarray:
    """(bins, F) the mean frame of the labelled frames at each phase; empty bins take what lies between the others."""
    total, count = np.zeros((bins, spec.dim)), np.zeros(bins)
    for clip, phase in zip(clips, labels, strict=True):
        rows = spec.encode(clip, contacts=sole_contacts(clip, soles, recipe.planted) if spec.contacts else None)
        known = np.isfinite(phase)
        bin_of = np.minimum((phase[known] * bins).astype(int), bins - 1)
        np.add.at(total, bin_of, rows[known])
        np.add.at(count, bin_of, 1)
    filled = np.flatnonzero(count)
    means = total[filled] / count[filled, None]
    around = np.concatenate([filled - bins, filled, filled + bins])
    return np.stack([np.interp(np.arange(bins), around, np.tile(column, 3)) for column in means.T], axis=1)


def ground_speed(clip: Clip) -> np.ndarray:
    """(T,) m/s, backward differences."""
    if len(clip) < 2:
        return np.zeros(len(clip))
    step = np.hypot(*np.diff(clip.root_positions[:, [0, 2]], axis=0).T) * clip.fps
    return np.concatenate([step[:1], step])


def paces_of(clips: list[Clip], labels) -> np.ndarray:
    """(n, 4): mean speed within two seconds, speed, phase, weight of labelled frames; every clip weighs the same."""
    rows = []
    for clip, phase in zip(clips, labels, strict=True):
        known, speed = np.flatnonzero(np.isfinite(phase)), ground_speed(clip)
        sampled = known[:: max(1, len(known) // PACES)]
        for t in sampled:
            near = known[abs(known - t) <= 2 * clip.fps]
            rows.append((speed[near].mean(), speed[t], phase[t], 1 / len(sampled)))
    return np.array(rows, np.float64).reshape(-1, 4)


def pace_to_keep(paces: np.ndarray, speed: np.ndarray, phase: np.ndarray, cycle: int) -> float:
    """The mean speed to go on with, from the ground speeds (n,) and phases (n,) of the last frames, the last one last.

    A speed swings within the cycle, and a start may show someone set off: so each frame's speed is taken relative to
    what it is at that phase in training, and only frames as steady as the last ones count. What they show is mixed
    with the mean speed of people in training who walk about like this (a wide kernel: a moment tells walking from
    running, and little more), all the less the more of a cycle they are. Left out in turn, a clip's own mean speed is
    met better by this than by either alone, and by the mean of all that the start shows least of all.
    """
    walking = paces[paces[:, 0] > WALKING] if (paces[:, 0] > WALKING).any() else paces
    mean, momentary, at, weight = walking.T
    apart = (at - phase[:, None] + 0.25) % 0.5 - 0.25  # two steps a cycle
    near = np.exp(-0.5 * (apart / 0.08) ** 2) * weight + 1e-9 * weight
    steady = speed / np.maximum((near @ momentary) / np.maximum(near @ mean, 1e-9), 0.1)
    n = 1
    while n < len(steady) and abs(steady[-n - 1] - steady[-n:].mean()) <= STEADY * steady[-n:].mean():
        n += 1
    shown = steady[-n:].mean()
    like = np.exp(-0.5 * ((mean - shown) ** 2 - ((mean - shown) ** 2).min()) / 0.7**2) * weight
    trust = (n - 1) / (cycle - 1)
    return float(trust * shown + (1 - trust) * (like @ mean) / like.sum())


def fitted(recipe: Recipe, spec: FeatureSpec, rows: list[np.ndarray]) -> Normalizer:
    """The scaling of a recipe. No rotation column gets a scale below FLOOR: a joint that these people hardly move is
    moved by others, who would be far outside of everything that the network has seen."""
    with quiet():
        normalizer = Normalizer(recipe.normalize).fit(list(rows))
    if recipe.normalize == "all":
        rotations = slice(3, spec.slices["joints"].stop)
        normalizer.scale_[rotations] = np.maximum(normalizer.scale_[rotations], FLOOR)
    return normalizer


class quiet(warnings.catch_warnings):
    """Warnings of short clips and of columns that hardly move are normal here."""

    def __enter__(self):
        result = super().__enter__()
        warnings.simplefilter("ignore", UserWarning)
        return result
