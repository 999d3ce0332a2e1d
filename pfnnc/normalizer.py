"""Mean and spread of feature columns."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from . import _check

__all__ = ["Normalizer"]

FLOOR = 1e-3  # a spread below this (1 mm/s, 0.06 degrees) is noise: blown up to 1 it would drown what is motion
SUSPECT = 1e-6  # m/s: a root velocity that varies less is neither motion nor rest, the units may be wrong
ROUNDING = {4: 1e-6, 8: 1e-9}  # by bytes a number: a spread below this share of the mean, or of 1, is rounding
CHUNK = 1 << 16  # rows at a time, so that statistics of a memory map need no memory


class Normalizer:
    """z-scores: ``transform(x) = (x - mean_) / scale_`` by column.

    ``columns="velocity"`` (the article's) takes columns 0 to 2, the root velocity, and leaves the others as they are
    (mean 0, scale 1); ``"all"`` takes every column. Mean and standard deviation are those of the population (n, not
    n - 1), in float64, in two passes. A constant column gets scale 1. One that nearly is, with a standard deviation
    below 0.001, gets the scale 0.001; `report` names it. Joints that hardly move have such columns. A root velocity
    that varies by less than 1e-6 m/s but does vary hints at wrong units, so a ``UserWarning`` tells of it.

    Attributes, after `fit`: ``mean_``, ``scale_`` (F,) float64; ``floored_`` (n,) int64.

    >>> normalizer = Normalizer("all").fit([[0.0, 5.0], [1.0, 5.0], [2.0, 5.0]])
    >>> normalizer.mean_, normalizer.scale_
    (array([1., 5.]), array([0.81649658, 1.        ]))
    >>> normalizer.transform([10.0, 5.0])
    array([11.02270384,  0.        ])
    """

    mean_: np.ndarray
    scale_: np.ndarray
    floored_: np.ndarray

    def __init__(self, columns: str = "velocity"):
        self.columns = _check.option(columns, "columns", ("velocity", "all"))

    def __repr__(self) -> str:
        return f"Normalizer({self.columns!r})" + (f" of {len(self.mean_)} columns" if self.fitted else "")

    @property
    def fitted(self) -> bool:
        """Whether there are statistics."""
        return hasattr(self, "mean_")

    def fit(self, features, *, names: Sequence[str] | None = None) -> Normalizer:
        """Statistics of an array ``(..., F)``, or of a list of such arrays taken together. Returns itself.

        ``names`` (F,) of the columns (``spec.columns``) make `report` readable.
        """
        several = isinstance(features, (list, tuple)) and any(depth(part) >= 2 for part in features)
        parts = [
            _check.array(part, f"features[{i}]" if several else "features", (..., "F"))
            for i, part in enumerate(features if several else [features])
        ]
        columns = parts[0].shape[-1]
        for i, part in enumerate(parts):
            if part.shape[-1] != columns:
                raise ValueError(f"features[{i}] has {part.shape[-1]} columns, features[0] has {columns}")
        if columns == 0:
            raise ValueError("features must have at least one column, got 0")
        if names is not None and len(names := _check.sequence(names, "names", "strings")) != columns:
            raise ValueError(f"names must hold one name for each of the {columns} columns, got {len(names)}")
        rows = [part.reshape(-1, columns) for part in parts]
        return self.fit_chunks(lambda: chunks(rows), columns, names)

    @np.errstate(over="ignore", invalid="ignore")  # told below
    def fit_chunks(
        self, passes: Callable[[], Iterable[np.ndarray]], columns: int, names: Sequence[str] | None = None
    ) -> Normalizer:
        """The same of rows that come in chunks ``(n, columns)``; ``passes()`` begins anew, and is called twice."""
        used = slice(0, 3) if self.columns == "velocity" else slice(0, columns)
        width = len(range(*used.indices(columns)))

        # first pass: mean and range
        count, total, size = 0, np.zeros(width), 8
        least, most = np.full(width, np.inf), np.full(width, -np.inf)
        for chunk in passes():
            part = chunk[:, used]
            if len(part):
                count, size = count + len(part), min(size, chunk.itemsize)
                total += part.sum(axis=0, dtype=np.float64)
                np.minimum(least, part.min(axis=0), out=least)
                np.maximum(most, part.max(axis=0), out=most)
        if count == 0:
            raise ValueError("features must hold at least one row, got 0")
        mean = total / count

        # second pass: spread about it, and what rounding left of the mean
        rest, squares = np.zeros(width), np.zeros(width)
        for chunk in passes():
            away = chunk[:, used] - mean
            rest += away.sum(axis=0)
            squares += np.einsum("tc,tc->c", away, away)
        rest /= count
        mean += rest
        spread = np.sqrt(np.maximum(squares / count - rest * rest, 0))

        beyond = ~np.isfinite(spread)
        if beyond.any():
            c = int(np.argmax(beyond))
            raise ValueError(f"features[..., {c}] holds numbers up to {most[c]:.3g}, of which the spread is no finite number")
        constant = (least == most) | (spread <= ROUNDING[size] * np.maximum(np.abs(mean), 1))
        floored = ~constant & (spread < FLOOR)
        self.mean_, self.scale_ = np.zeros(columns), np.ones(columns)
        self.mean_[used] = np.where(least == most, least, mean)
        self.scale_[used] = np.where(constant, 1.0, np.maximum(spread, FLOOR))
        self.floored_ = np.flatnonzero(floored)  # `used` begins at 0
        titles = [f"{c} ({names[c]})" if names is not None else f"{c}" for c in self.floored_]
        self._report = [
            f"column {title}: standard deviation {spread[c]:.3g}, scale {FLOOR:g}"
            for title, c in zip(titles, self.floored_, strict=True)
        ]
        suspect = np.count_nonzero(floored[:3] & (spread[:3] < SUSPECT))
        if suspect:
            text = "the root velocity hardly varies; is it in m/s? " + "; ".join(self._report[:suspect])
            warnings.warn(text, UserWarning, stacklevel=3)
        return self

    @property
    def report(self) -> str:
        """A line for each column whose scale is the floor; empty where there is none.

        >>> print(Normalizer("all").fit([[0.0, 1.0], [1.0, 1.0002]], names=["speed", "knee"]).report)
        column 1 (knee): standard deviation 0.0001, scale 0.001
        """
        return "\n".join(getattr(self, "_report", []))

    def transform(self, features) -> np.ndarray:
        """z-scores of ``(..., F)``; float32 and float64 keep their type. ``ValueError`` before `fit`."""
        rows = self._rows(features)
        return (rows - self.mean_.astype(rows.dtype)) * (1 / self.scale_).astype(rows.dtype)

    def inverse_transform(self, features) -> np.ndarray:
        """Physical numbers of z-scores ``(..., F)``; float32 and float64 keep their type."""
        rows = self._rows(features)
        return rows * self.scale_.astype(rows.dtype) + self.mean_.astype(rows.dtype)

    def _rows(self, features) -> np.ndarray:
        if not self.fitted:
            raise ValueError("this Normalizer has no statistics yet: call fit first")
        return _check.array(features, "features", (..., len(self.mean_)))


def depth(value) -> int:
    """The number of axes; 0 for what is no array."""
    try:
        return np.ndim(value)
    except (TypeError, ValueError):
        return 0


def chunks(arrays: Iterable[np.ndarray]) -> Iterator[np.ndarray]:
    """Rows of arrays (n, F), a bounded number at a time."""
    for array in arrays:
        for start in range(0, len(array), CHUNK):
            yield array[start : start + CHUNK]
