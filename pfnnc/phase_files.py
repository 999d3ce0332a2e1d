"""Phase labels in files: ``.phase`` texts as PFNN's, and ``.npz`` with all of the labels."""

import os
from io import BytesIO
from pathlib import Path

import numpy as np

from ._check import integer, option, phases
from ._check import path as checked_path
from ._files import read_whole, written_whole
from .phase_label import Labels

__all__ = ["load_labels", "load_phase", "save_labels", "save_phase"]

UNITS = {"cycle": 1.0, "pi": 2.0}  # what one cycle is in the file
MOST_FRAMES = 100_000_000
MOST_BYTES = 1 << 32  # of a file of labels
LARGEST_STEP = 0.1  # cycles a frame; a greater jump is the end of a walk


def load_phase(path: str | os.PathLike, *, unit: str = "cycle", frames: int | None = None) -> np.ndarray:
    """The phase of a ``.phase`` file, one number a row, in the package's terms: (T,), 0 at a left strike, NaN for no
    phase.

    In these files 0 is a **right** strike, half a cycle later comes the left one, and where nobody walks a number is
    repeated; a last strike may be written as 1. All that is taken care of: a frame has a phase where the number moves
    on, by at most 0.1 cycle, from the row before or to the row after.

    ``unit``: "cycle", rows in [0, 1], PFNN's own; "pi", rows in [0, 2], a variant in units of pi. A file does not tell
    which it is, and nothing guesses. ``frames``: as many as the clip has: further rows are cut off, further frames have no
    phase.

    ``OSError`` where the file cannot be read; ``ValueError`` naming the line where a row is not one number in the
    range.
    """
    whole = UNITS[option(unit, "unit", tuple(UNITS))]
    value = _rows(checked_path(path), whole) / whole
    step = np.abs((np.diff(value) + 0.5) % 1 - 0.5)
    moves = np.concatenate([[False], (step > 0) & (step <= LARGEST_STEP), [False]])
    phase = np.where(moves[1:] | moves[:-1], (value + 0.5) % 1, np.nan)[: len(value)]
    if frames is None:
        return phase
    frames = integer(frames, "frames", least=0, most=MOST_FRAMES)
    return np.concatenate([phase[:frames], np.full(max(frames - len(phase), 0), np.nan)])


def _rows(path: Path, whole: float) -> np.ndarray:
    lines = read_whole(path, MOST_BYTES).splitlines()
    while lines and not lines[-1].strip():
        lines.pop()
    value = np.empty(len(lines))
    for i, line in enumerate(lines):
        try:
            value[i] = float(line.decode("ascii").replace("_", "?"))  # Python would read 1_0
        except ValueError:
            text = line.decode("ascii", "replace").strip()[:40]
            raise ValueError(f"{path}:{i + 1}: expected one number, got {text!r}") from None
        if not 0 <= value[i] <= whole:
            raise ValueError(f"{path}:{i + 1}: expected a phase in [0, {whole:g}], got {value[i]:g}")
    return value


def save_phase(path: str | os.PathLike, phase, *, unit: str = "cycle") -> None:
    """Write a phase (T,) of the package, or that of `Labels`, as a ``.phase`` file: 0 at a right strike, zeros for no
    phase.

    `load_phase` gives it back, but for the frame beside a gap, which zeros cannot tell from a strike (a ``.npz`` can, see
    `save_labels`). The file is written whole or not at all (``OSError``).
    """
    whole = UNITS[option(unit, "unit", tuple(UNITS))]
    phase = phases(phase.phase if isinstance(phase, Labels) else phase, "phase", (None,), nan=True, dtype=np.float64)
    value = np.where(np.isnan(phase), 0.0, whole * ((phase + 0.5) % 1))
    with written_whole(checked_path(path), "w", encoding="ascii", newline="\n") as file:
        file.writelines(f"{number!r}\n" for number in value.tolist())


def save_labels(path: str | os.PathLike, labels: Labels) -> None:
    """Write `Labels` to a ``.npz``: arrays phase, contacts, confidence, cycles, left_strikes, right_strikes. Whole or
    not at all."""
    if not isinstance(labels, Labels):
        raise TypeError(f"labels must be Labels, got {type(labels).__name__}")
    path = checked_path(path)
    packed = BytesIO()
    np.savez_compressed(
        packed,
        phase=labels.phase,
        contacts=labels.contacts,
        confidence=labels.confidence,
        cycles=labels.cycles,
        left_strikes=labels.strikes[0],
        right_strikes=labels.strikes[1],
    )
    with written_whole(path) as file:
        file.write(packed.getvalue())


def load_labels(path: str | os.PathLike) -> Labels:
    """Read what `save_labels` wrote. ``OSError`` where it cannot be read, ``ValueError`` where it is no such file."""
    path = checked_path(path)
    data = read_whole(path, MOST_BYTES)
    names = ("phase", "contacts", "confidence", "cycles", "left_strikes", "right_strikes")
    try:
        with np.load(BytesIO(data), allow_pickle=False) as archive:
            phase, contacts, confidence, cycles, left, right = (archive[name] for name in names)
        fits = (
            phase.ndim == 1
            and contacts.shape == (len(phase), 2)
            and confidence.shape == phase.shape
            and cycles.ndim == 2
            and cycles.shape[1] == 2
            and left.ndim == right.ndim == 1
            and contacts.dtype == bool
            and cycles.dtype == np.int64
            and all(a.dtype == np.float64 for a in (phase, confidence, left, right))
            and bool(((confidence >= 0) & (confidence <= 1)).all())
            and bool(((cycles >= 0) & (cycles <= len(phase))).all())
            and bool(np.isfinite(left).all() and np.isfinite(right).all())
        )
    except Exception as error:  # zipfile, zlib and NumPy raise a dozen of kinds for a damaged archive
        raise ValueError(f"{path} is no file of labels: {error}") from None
    if not fits:
        raise ValueError(f"{path} is no file of labels: its arrays do not fit together")
    return Labels(phases(phase, "phase", nan=True), contacts, confidence, cycles, (left, right))
