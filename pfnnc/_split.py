"""Which clips show the same motion, and how to cut a data set in two so that no frame stands on both sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .skeleton import Clip


@dataclass
class Timeline:
    """Clips that show one motion, and where each of them stands on the group's common time.

    Frame f of clip ``clips[i]`` is the moment ``offsets[i] + f * speeds[i]``.
    """

    clips: list[int]
    offsets: list[float]
    speeds: list[float]

    def interval(self, i: int, lead: int, begin: int, end: int) -> tuple[int, int]:
        """Frames [begin, end) of clip ``clips[lead]`` as frames of ``clips[i]``; where they fall between, some more."""
        shift = (self.offsets[lead] - self.offsets[i]) / self.speeds[i]
        ratio = self.speeds[lead] / self.speeds[i]
        if ratio == 1 and shift == round(shift):
            return begin + round(shift), end + round(shift)
        return math.floor(shift + begin * ratio) - 1, math.ceil(shift + end * ratio) + 1


def fingerprints(velocity: np.ndarray) -> np.ndarray:
    """One uint64 a frame from its root velocity (T, 3), the same for a frame and its mirror image.

    A mirror image has the velocity's x negated, to the bit. A recorded velocity hardly comes twice by chance: three
    numbers of 24 bits or more.
    """
    velocity = np.array(velocity, np.float64, order="C") + 0.0  # -0.0 becomes 0.0
    velocity[:, 0] = np.abs(velocity[:, 0])
    bits = velocity.view(np.uint64)
    with np.errstate(over="ignore"):
        mixed = bits * np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
        return mixed[:, 0] + np.uint64(3) * mixed[:, 1] + np.uint64(7) * mixed[:, 2]


def clip_fingerprints(clip: Clip) -> np.ndarray:
    """Those of a clip's world velocities, which do not depend on how rotations of a mirrored file were rounded."""
    steps = np.diff(clip.root_positions, axis=0)
    return fingerprints(np.concatenate([steps[:1], steps]) if len(steps) else np.zeros((len(clip), 3)))


def by_content(prints: Sequence[np.ndarray]) -> list[Timeline]:
    """Groups of clips that share frames: copies, mirror images, overlapping pieces of one recording.

    A frame whose fingerprint comes more than twice in its clip tells nothing (someone stands, or moves evenly; the
    first frame repeats the second one's velocity) and links no clips.
    """
    n = len(prints)
    values, clips, frames = [], [], []
    for i, own in enumerate(prints):
        unique, first, counts = np.unique(own, return_index=True, return_counts=True)
        telling = counts <= 2
        values.append(unique[telling])
        frames.append(first[telling] + (counts[telling] == 2))  # of a pair, the second is the recorded one
        clips.append(np.full(int(telling.sum()), i))
    value, clip, frame = (np.concatenate(parts) if n else np.empty(0, int) for parts in (values, clips, frames))

    # pairs of clips next to each other among those with the same fingerprint: enough to link them all
    order = np.lexsort((clip, value))
    value, clip, frame = value[order], clip[order], frame[order]
    same = np.flatnonzero(value[1:] == value[:-1])
    links: dict[tuple[int, int], list[int]] = {}
    for a, b, shift in zip(
        clip[same].tolist(), clip[same + 1].tolist(), (frame[same] - frame[same + 1]).tolist(), strict=True
    ):
        links.setdefault((a, b), []).append(shift)

    neighbours: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for (a, b), shifts in links.items():
        shift = most_common(shifts)
        neighbours[a].append((b, shift))
        neighbours[b].append((a, -shift))
    groups, seen = [], set()
    for i in range(n):
        if i not in seen:
            groups.append(connected(i, neighbours))
            seen.update(groups[-1].clips)
    return groups


def most_common(values: list[int]) -> int:
    """The value that comes most often, the smallest among equals."""
    unique, counts = np.unique(values, return_counts=True)
    return int(unique[np.argmax(counts)])


def connected(start: int, neighbours: list[list[tuple[int, int]]]) -> Timeline:
    """All clips linked with ``start``, with where they begin on its time."""
    offsets, waiting = {start: 0}, [start]
    while waiting:
        clip = waiting.pop()
        for other, shift in neighbours[clip]:
            if other not in offsets:
                offsets[other] = offsets[clip] + shift
                waiting.append(other)
    clips = sorted(offsets)
    return Timeline(clips, [offsets[clip] for clip in clips], [1.0] * len(clips))


def by_label(labels: Sequence, lengths: Sequence[int]) -> list[Timeline]:
    """Groups of clips with the same label: equal shares of their lengths are the same moment."""
    groups: dict = {}
    for i, label in enumerate(labels):
        groups.setdefault(label, []).append(i)
    return [
        Timeline(clips, [0.0] * len(clips), [1.0 / max(lengths[clip], 1) for clip in clips])
        for clips in groups.values()
    ]


def with_copies(groups: list[Timeline], copies: Sequence[tuple[int, float]]) -> list[Timeline]:
    """Groups of originals as groups of their copies at other speeds: copy i shows clip and speed ``copies[i]``."""
    place = {clip: (g, i) for g, group in enumerate(groups) for i, clip in enumerate(group.clips)}
    result = [Timeline([], [], []) for _ in groups]
    for copy, (clip, speed) in enumerate(copies):
        g, i = place[clip]
        result[g].clips.append(copy)
        result[g].offsets.append(groups[g].offsets[i])
        result[g].speeds.append(groups[g].speeds[i] * speed)
    return result


def choose_clips(groups: list[Timeline], share: float, rng: np.random.Generator) -> list[int]:
    """Clips for validation: whole groups, about ``share`` of all clips, at least one group on either side."""
    total = sum(len(group.clips) for group in groups)
    wanted = min(max(round(share * total), 1), total - 1)
    chosen: list[int] = []
    order = rng.permutation(len(groups))
    for k in order[:-1]:
        if len(chosen) >= wanted:
            break
        if not chosen or len(chosen) + len(groups[k].clips) <= wanted:
            chosen += groups[k].clips
    return chosen


def choose_block(starts: np.ndarray, window: int, share: float, rng: np.random.Generator) -> tuple[int, int] | None:
    """Frames [begin, end) of a clip for validation, with about ``share`` of its windows; None where they are too few.

    Training keeps the windows that are a whole window's length away. Among the places that leave nearly as many of
    them as the best one, one is drawn.
    """
    n = len(starts)
    count = max(round(share * n), 1)
    if count >= n:
        return None
    first = starts[: n - count + 1]
    begin, end = first, starts[count - 1 :] + window
    before = np.searchsorted(starts, begin - 2 * window, side="right")
    after = n - np.searchsorted(starts, end + window, side="left")
    left = before + after
    if left.max() == 0:
        return None
    k = int(rng.choice(np.flatnonzero(left >= 0.9 * left.max())))
    return int(begin[k]), int(end[k])
