"""`label_phase`: the gait phase of a recorded clip, good enough to need no hand."""

import warnings
from dataclasses import dataclass

import numpy as np

from ._body import Body, ancestors, make_body, mended, sound_pieces
from ._check import integer, option
from ._steps import LONGEST_STEP, Swing, find_stances, find_swings
from .phase import extract_phase_from_root_y, find_cycles
from .skeleton import Clip, Skeleton

__all__ = ["Labels", "label_phase"]

LONGEST_REST = 1.0  # s from a strike to the next lift: what such a step has left beside its swing
SHORTEST_STEP = 0.12  # s; feet that strike closer together jump
LEAST_CONFIDENCE = 0.01  # of a step, so that 0 means no phase
BEYOND = 0.7  # cycles that the phase goes on before the first and after the last strike of a walk


@dataclass(frozen=True, eq=False)
class Labels:
    """What `label_phase` found in a clip of T frames."""

    phase: np.ndarray  #: (T,) cycles in [0, 1): 0 at a left strike, 0.5 at a right one; NaN where there is no gait
    contacts: np.ndarray  #: (T, 2) bool: the left, the right foot stands, with either end of it
    confidence: np.ndarray  #: (T,) in [0, 1]; 0 where there is no phase
    cycles: np.ndarray  #: (C, 2) int64: the frames nearest to the beginning and the end of each whole cycle
    strikes: tuple[np.ndarray, np.ndarray] = (
        np.zeros(0),
        np.zeros(0),
    )  #: of the left, of the right foot, in frames and fractions; each nearest to one of the T frames

    def __len__(self) -> int:
        return len(self.phase)

    def __repr__(self) -> str:
        share = np.isfinite(self.phase).mean() if len(self) else 0.0
        return f"<Labels: {len(self)} frames, {share:.0%} with a phase, {len(self.cycles)} whole cycles>"


def label_phase(clip: Clip, method: str = "contacts", *, feet=None) -> Labels:
    """The gait phase, contacts and confidence of a clip of any rig, rate and style.

    method:
      "contacts" (default): the whole gait cycle from the feet. Steps are found where one foot swings past the other,
        whichever way the walker goes, and have to alternate; the scale of everything is the clip's own (leg length,
        swing speed). Phase 0 is the left foot's strike, where its braking ends, 0.5 the right one's, linear between.
        Before the first and after the last strike of a walk the phase goes on for up to 0.7 cycle, while somebody
        is on the way. Standing, jumping, kicking have no phase.
      "root_y": the article's valleys of the root's height, `extract_phase_from_root_y`. Usually these are single steps:
        a ``UserWarning`` says so.
      "auto": "contacts" where the feet are told by the skeleton's names or ``feet``, else "root_y".

    ``feet``: ``(left, right)``, each a joint (name or index) or ``(ankle, toe)``; None asks `Skeleton.find_feet`. Where the
    names do not tell, ``ValueError``. Frames that are plainly corrupt (a T-pose at the start, a row of zeros) are left
    out.

    >>> import pfnnc
    >>> made = pfnnc.make_gait_clip("walk", seconds=5.5, fps=60)
    >>> labels = label_phase(made.clip)
    >>> labels
    <Labels: 331 frames, 100% with a phase, 4 whole cycles>
    >>> true = made.strikes[0][1:]  # the one at 0 s is before the first frame
    >>> float(abs(labels.strikes[0] / 60 - true).max().round(2))
    0.0
    """
    if not isinstance(clip, Clip):
        raise TypeError(f"clip must be a Clip, got {type(clip).__name__}")
    option(method, "method", ("contacts", "root_y", "auto"))
    try:
        joints = find_joints(clip.skeleton, feet)
    except ValueError:
        if method == "contacts" or feet is not None:
            raise
        joints = None
    if method != "root_y" and joints is not None:
        return _from_feet(make_body(clip, joints))
    return _from_root(clip, joints)


def find_joints(skeleton: Skeleton, feet) -> tuple[list[int], list[int]]:
    """``feet`` of `label_phase` as joint indices ``([ankle(, toe)], [ankle(, toe)])``."""
    if feet is None:
        return skeleton.find_feet()
    if not isinstance(feet, (list, tuple)):
        raise TypeError(f"feet must be (left, right), got {type(feet).__name__}")
    if len(feet) != 2:
        raise ValueError(f"feet must be (left, right), got {feet!r}")
    left, right = feet
    result = []
    for name, foot in (("feet[0]", left), ("feet[1]", right)):
        joints = [foot] if isinstance(foot, (str, int, np.integer)) else foot
        if not isinstance(joints, (list, tuple)):
            raise TypeError(f"{name} must be a joint or (ankle, toe), got {type(foot).__name__}")
        if not 1 <= len(joints) <= 2:
            raise ValueError(f"{name} must be a joint or (ankle, toe), got {len(joints)} joints")
        result.append([_joint(skeleton, joint, name) for joint in joints])
    if result[0][0] == result[1][0]:
        raise ValueError(f"feet must be two joints, got {skeleton.names[result[0][0]]!r} twice")
    for foot, other in ((result[0], result[1]), (result[1], result[0])):
        if foot[0] in ancestors(skeleton.parents, other[0]):
            names = [skeleton.names[joint] for joint in (other[0], foot[0])]
            raise ValueError(f"feet must be joints of two legs, but {names[0]!r} hangs from {names[1]!r}")
    return result[0], result[1]


def _joint(skeleton: Skeleton, joint, name: str) -> int:
    return skeleton.index(joint) if isinstance(joint, str) else integer(joint, name, least=0, most=len(skeleton) - 1)


# ---- by the feet ------------------------------------------------------------------------------


def _from_feet(body: Body) -> Labels:
    frames = len(body.pelvis)
    phase, confidence = np.full(frames, np.nan), np.zeros(frames)
    if frames == 0:
        return Labels(phase, np.zeros((0, 2), bool), confidence, np.zeros((0, 2), np.int64))
    contacts, steps = np.zeros((frames, 2), bool), []
    for pieces in sound_pieces(body):
        start, stop = pieces[0][0], pieces[-1][1]
        sound = mended(body, pieces)
        swings, moving = find_swings(sound)
        walks = _walks(swings, body.fps)
        _label(phase[start:stop], confidence[start:stop], walks, moving)
        contacts[start:stop] = find_stances(sound, swings)
        for (_, bad), (good, _) in zip(pieces[:-1], pieces[1:], strict=True):
            phase[bad:good], confidence[bad:good], contacts[bad:good] = np.nan, 0, False
        steps += [(step.strike + start, step.foot) for walk in walks for step in walk]
    inside = [(at, foot) for at, foot in steps if -0.5 <= at < frames - 0.5]  # a short clip's other strike may be beyond
    strikes = tuple(np.array([at for at, foot in inside if foot == side]) for side in (0, 1))
    return Labels(phase, contacts, confidence, _nearest(find_cycles(phase)), strikes)


def _nearest(cycles: np.ndarray) -> np.ndarray:
    return np.rint(cycles).astype(np.int64)


def _walks(swings: list[Swing], fps: float) -> list[list[Swing]]:
    """Rows of strikes, left and right in turn, without a stop or a jump between."""
    walks: list[list[Swing]] = []
    for swing in swings:
        last = walks[-1][-1] if walks else None
        goes_on = (
            last is not None
            and last.foot != swing.foot
            and SHORTEST_STEP * fps <= swing.strike - last.strike <= LONGEST_STEP * fps
            and swing.lift - last.strike <= LONGEST_REST * fps
        )
        if goes_on:
            walks[-1].append(swing)
        else:
            walks.append([swing])
    return [walk for walk in walks if len(walk) > 1]


def _label(phase: np.ndarray, confidence: np.ndarray, walks: list[list[Swing]], moving: np.ndarray) -> None:
    """Write phase and confidence of one stretch of sound frames."""
    frames = len(phase)
    for walk in walks:
        at = np.array([swing.strike for swing in walk])
        cycles = 0.5 * (np.arange(len(at)) + walk[0].foot)
        some = min(2, len(at) - 1)  # cycles a frame at either end, by both feet
        first, last = 0.5 * some / (at[some] - at[0]), 0.5 * some / (at[-1] - at[-1 - some])

        # a little beyond the strikes at either end, as long as somebody is on the way
        start, stop = max(int(np.ceil(at[0])), 0), min(int(np.ceil(at[-1])), frames)
        while start > 0 and moving[start - 1] and (at[0] - start + 1) * first < BEYOND and np.isnan(phase[start - 1]):
            start -= 1
        while stop < frames and moving[stop] and (stop - at[-1]) * last < BEYOND:
            stop += 1
        i = np.arange(start, stop)
        value = np.interp(i, at, cycles) + np.minimum(i - at[0], 0) * first + np.maximum(i - at[-1], 0) * last
        value -= np.floor(value)
        phase[start:stop] = np.where(value < 1, value, 0)
        confidence[start:stop] = _step_confidence(walk, at)[np.searchsorted(at, i, side="right")]


def _step_confidence(walk: list[Swing], at: np.ndarray) -> np.ndarray:
    """One number a step, with half the nearest for what lies before and after: steady standing foot, even steps."""
    step = np.diff(at)
    usual = np.array([np.median(step[max(k - 3, 0) : k + 4]) for k in range(len(step))])
    even = np.minimum(step, usual) / np.maximum(step, usual)
    steady = np.array([swing.steadiness for swing in walk[1:]])
    inside = np.clip(steady * even, LEAST_CONFIDENCE, 1)
    return np.concatenate([[0.5 * inside[0]], inside, [0.5 * inside[-1]]])


# ---- by the root ------------------------------------------------------------------------------


def _from_root(clip: Clip, joints) -> Labels:
    """The article's way, with a warning where its cycles are steps."""
    least = max(0.4, (1 + 1e-9) / clip.fps)  # at least one frame, whatever rounding does
    phase, valleys = extract_phase_from_root_y(clip.root_positions[:, 1], clip.fps, min_period=least)
    cycles = np.stack([valleys[:-1], valleys[1:]], axis=1)
    contacts = np.zeros((len(clip), 2), bool)
    whole = None
    if joints is not None:
        by_feet = _from_feet(make_body(clip, joints))
        contacts = by_feet.contacts
        if len(by_feet.cycles):
            whole = float(np.median(np.diff(by_feet.cycles, axis=1))) / clip.fps
    if len(cycles):
        usual = float(np.median(np.diff(valleys))) / clip.fps
        if whole is not None and usual < 0.75 * whole:
            why = f"the feet's cycle takes {whole:.2f} s"
        else:
            why = "a walk's whole cycle takes about 1 s" if whole is None and usual < 0.8 else None
        if why:
            warnings.warn(
                f"the height of the root has a valley every {usual:.2f} s, {why}: these are half cycles (single "
                "steps), which cannot tell left from right; method='contacts' labels the whole gait cycle",
                UserWarning,
                stacklevel=3,
            )
    return Labels(phase, contacts, np.where(np.isnan(phase), 0.0, 0.5), cycles, (np.zeros(0), np.zeros(0)))
