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

    def interval(self, i: int, lead: int, begin: float, end: float) -> tuple[int, int]:
        """Frames [begin, end) of clip ``clips[lead]`` as frames of ``clips[i]``; where they fall between, some more."""
        shift = (self.offsets[lead] - self.offsets[i]) / self.speeds[i]
        ratio = self.speeds[lead] / self.speeds[i]
        begin, end = shift + begin * ratio, shift + end * ratio
        if ratio == 1 and begin == round(begin) and end == round(end):
            return round(begin), round(end)
        return math.floor(begin) - 1, math.ceil(end) + 1


# ---- the same motion
#
# Marks are an array (T, 1) or (T, 5) of uint64. Column 0 is a hash of root velocity and pose that is the same, to the
# bit, for a frame, its copy and its mirror image: signs do not count, nor which joint of a pair has which rotation.
# Files that another program wrote anew have other roundings, a mirrored one other axes in its joints, perhaps another
# rig. For them column 1 is a hash of the rounded root velocity alone; columns 2 and 3 (the bits of two doubles) are
# mean and root mean square of the joints' heights over the root, which tell whether two frames with the same root
# velocity show the same pose, where the number of joints, column 4, is the same.

FEWEST = 8  # frames with the same root velocity, as many frames apart, that are no chance
COARSE = 5  # decimals of the root velocity in m a frame that survive a file of six decimals
ALIKE = 0.02  # of the joints' spread in height; mirrored recordings agree within 0.008
SHARE = 0.8  # of the frames compared
ROWS = 1 << 13  # at a time


def marks_of_rows(rows: np.ndarray) -> np.ndarray:
    """Marks (T, 1) of feature rows, of which velocity and rotations are given."""
    parts = [rows[start : start + ROWS] for start in range(0, len(rows), ROWS)]
    hashes = [hashed(np.abs(np.round(part, 6 if part.itemsize == 4 else 9))) for part in parts]
    return np.concatenate([np.empty(0, np.uint64), *hashes])[:, None]


def marks_of_clip(clip: Clip) -> np.ndarray:
    """Marks (T, 5) of a clip."""
    velocity = np.diff(clip.root_positions, axis=0, prepend=clip.root_positions[:1])
    velocity[:1] = velocity[1:2] if len(clip) > 1 else 0
    velocity = np.abs(velocity)
    root = hashed(velocity.round(COARSE) * [1, 3, 7])  # here x, y and z may not change places
    turns = hashed(np.abs(clip.rotations.reshape(-1, 4)) * [1, 3, 7, 13]).reshape(clip.rotations.shape[:2])
    pose = turns.sum(axis=1, dtype=np.uint64)
    heights = clip.positions()[:, :, 1] - clip.root_positions[:, None, 1]
    shape = np.column_stack([heights.mean(axis=1), np.sqrt(np.mean(heights**2, axis=1))])
    count = np.full(len(clip), len(clip.skeleton), np.uint64)
    with np.errstate(over="ignore"):
        pose += hashed(velocity.round(9))  # rounded, so that even motion stays even
    return np.column_stack([pose, root, np.ascontiguousarray(shape).view(np.uint64), count])


def hashed(values: np.ndarray) -> np.ndarray:
    """A hash of each row's numbers, whatever their order."""
    mixed = np.ascontiguousarray(values, np.float64).view(np.uint64)
    with np.errstate(over="ignore"):
        mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
        return (mixed ^ (mixed >> np.uint64(32))).sum(axis=1, dtype=np.uint64)


def by_content(marks: Sequence[np.ndarray]) -> list[Timeline]:
    """Groups of clips that share frames: copies, mirror images, overlapping pieces of one recording."""
    links = {pair: most_common(shifts) for pair, shifts in shared_marks([own[:, 0] for own in marks], 1).items()}
    several = [own[:, 1] if own.shape[1] > 1 else own[:0, 0] for own in marks]
    for (a, b), shifts in shared_marks(several, 2).items():
        if (a, b) not in links and same_poses(marks[a], marks[b], shifts):
            links[a, b] = most_common(shifts)

    neighbours: list[list[tuple[int, int]]] = [[] for _ in marks]
    for (a, b), shift in links.items():
        neighbours[a].append((b, shift))
        neighbours[b].append((a, -shift))
    groups: list[Timeline] = []
    seen: set[int] = set()
    for i in range(len(marks)):
        if i not in seen:
            groups.append(connected(i, neighbours))
            seen.update(groups[-1].clips)
    return groups


def shared_marks(marks: Sequence[np.ndarray], most: int) -> dict[tuple[int, int], list[int]]:
    """For pairs of clips with equal marks, by how many frames the first has them later.

    A mark that comes more than ``most`` times in its clip tells nothing: someone stands or moves evenly, a recording
    begins with a pose of reference. (The first frame repeats the second one's velocity, so a velocity may come twice.)
    Of several clips with one mark, each is paired with the next: that links all.
    """
    values, clips, frames = [np.empty(0, np.uint64)], [np.empty(0, int)], [np.empty(0, int)]
    for i, own in enumerate(marks):
        unique, first, counts = np.unique(own, return_index=True, return_counts=True)
        telling = counts <= most
        values.append(unique[telling])
        frames.append(first[telling] + (counts[telling] == 2))  # of a pair, the second is the recorded one
        clips.append(np.full(int(telling.sum()), i))
    value, clip, frame = (np.concatenate(parts) for parts in (values, clips, frames))
    order = np.lexsort((clip, value))
    value, clip, frame = value[order], clip[order], frame[order]
    same = np.flatnonzero(value[1:] == value[:-1])
    found: dict[tuple[int, int], list[int]] = {}
    rows = np.column_stack([clip[same], clip[same + 1], frame[same] - frame[same + 1]])
    for a, b, shift in rows.tolist():
        found.setdefault((a, b), []).append(shift)
    return found


def same_poses(a: np.ndarray, b: np.ndarray, shifts: list[int]) -> bool:
    """Whether two clips with equal root velocities, ``shifts`` frames apart, show the same motion there."""
    shift = most_common(shifts)
    if shifts.count(shift) < FEWEST:
        return False
    begin, end = max(0, -shift), min(len(b), len(a) - shift)
    a, b = a[begin + shift : end + shift], b[begin:end]
    if a[0, 4] != b[0, 4]:
        return True
    ours, theirs = (np.ascontiguousarray(own[:, 2:4]).view(np.float64) for own in (a, b))
    away = np.abs(ours - theirs).max(axis=1)
    return bool(np.mean(away <= ALIKE * theirs[:, 1]) >= SHARE)


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
    return [Timeline(clips, [0.0] * len(clips), [1.0 / max(lengths[clip], 1) for clip in clips]) for clips in groups.values()]


def at_paces(groups: list[Timeline], paces: Sequence[float]) -> list[Timeline]:
    """Groups of clips of which each frame of clip i is ``paces[i]`` frames of those that the groups were found by."""
    return [
        Timeline(group.clips, group.offsets, [speed * paces[i] for i, speed in zip(group.clips, group.speeds, strict=True)])
        for group in groups
    ]


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


def choose_block(starts: np.ndarray, window: int, gap: float, share: float, rng: np.random.Generator) -> tuple[int, int] | None:
    """Frames [begin, end) of a clip for validation, with about ``share`` of its windows; None where they are too few.

    Training keeps the windows that are ``gap`` frames away. Among the places that leave nearly as many of
    them as the best one, one is drawn.
    """
    n = len(starts)
    count = max(round(share * n), 1)
    if count >= n:
        return None
    first = starts[: n - count + 1]
    begin, end = first, starts[count - 1 :] + window
    before = np.searchsorted(starts, begin - window - gap, side="right")
    after = n - np.searchsorted(starts, end + gap, side="left")
    left = before + after
    if left.max() == 0:
        return None
    k = int(rng.choice(np.flatnonzero(left >= 0.9 * left.max())))
    return int(begin[k]), int(end[k])
