"""Argument checks, with one wording for the whole package.

A wrong type is ``TypeError``, a wrong value ``ValueError``; the message names the argument, what was expected,
what came and the first index at fault: ``phase[3]=1.2 is not in [0, 1]``.
"""

import operator
import os
from pathlib import Path

import numpy as np

Shape = tuple[int | str | None, ...]


def array(value, name: str, shape: Shape | None = None, *, dtype=None, finite: bool = True, copy: bool = False) -> np.ndarray:
    """``value`` as a real array: float32 and float64 keep their type, every other real type becomes float64.

    ``shape`` is a tuple of lengths; a letter or None stands for any length, a leading ``...`` for any leading axes.
    ``dtype`` asks for one type. With ``finite`` a NaN or infinity is a ``ValueError`` that names its first index.
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(f"{name} must have no masked elements, got {np.ma.count_masked(value)}")
    try:
        result = np.asarray(value)
    except ValueError as error:  # ragged lists
        raise ValueError(f"{name} must be an array of numbers, got {error}") from None
    except TypeError:  # an object that looks like a sequence and is none
        raise TypeError(f"{name} must be an array of real numbers, got {type(value).__name__}") from None
    if result.dtype.kind == "b" and result.ndim == 0:  # as in `number`: not one that somebody has counted
        raise TypeError(f"{name} must be a number, got {value!r}")
    if result.dtype.kind not in "biuf":
        raise TypeError(f"{name} must be an array of real numbers, got dtype {result.dtype}")
    wanted = np.dtype(dtype) if dtype is not None else result.dtype
    if wanted.newbyteorder("=") not in (np.float32, np.float64):
        wanted = np.dtype(np.float64)
    result = np.array(result, dtype=wanted.newbyteorder("="), copy=True if copy else None)
    if shape is not None:
        check_shape(result, name, shape)
    if finite:
        check_finite(result, name)
    return result


def check_shape(value: np.ndarray, name: str, shape: Shape) -> None:
    """``ValueError`` where ``value.shape`` does not fit ``shape`` (see `array`)."""
    tail = shape[1:] if shape and shape[0] is ... else shape
    fits = value.ndim >= len(tail) if tail is not shape else value.ndim == len(shape)
    if fits:
        actual = value.shape[value.ndim - len(tail) :]
        fits = all(not isinstance(want, int) or want == got for want, got in zip(tail, actual, strict=True))
    if not fits:
        text = ", ".join("..." if n is ... else "any" if n is None else str(n) for n in shape)
        raise ValueError(f"{name} must have shape ({text}{',' if len(shape) == 1 else ''}), got {value.shape}")


def check_finite(value: np.ndarray, name: str) -> None:
    """``ValueError`` naming the first NaN or infinity of ``value``."""
    bad = ~np.isfinite(value)
    if bad.any():
        raise ValueError(f"{at(name, value, bad)} is not finite")


def at(name: str, value: np.ndarray, bad: np.ndarray) -> str:
    """``name[i, j]=x`` for the first true element of ``bad``."""
    if value.ndim == 0:
        return f"{name}={value.item()!r}"
    index = np.unravel_index(int(np.argmax(bad)), bad.shape)
    return f"{name}[{', '.join(map(str, index))}]={value[index].item()!r}"


def phases(value, name: str = "phase", shape: Shape | None = None, *, nan: bool = False, dtype=None) -> np.ndarray:
    """Phases in the closed [0, 1]; with ``nan`` a NaN is let through."""
    result = array(value, name, shape, finite=not nan, dtype=dtype)
    with np.errstate(invalid="ignore"):
        bad = (result < 0) | (result > 1)
    if bad.any():
        raise ValueError(f"{at(name, result, bad)} is not in [0, 1]")
    return result


def integer(value, name: str, *, least: int | None = None, most: int | None = None) -> int:
    """A Python or NumPy integer (bool is none) within ``[least, most]``."""
    if isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    try:
        result = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, got {type(value).__name__}") from None
    if (least is not None and result < least) or (most is not None and result > most):
        limits = f"at least {least}" if most is None else f"at most {most}" if least is None else f"in {least}..{most}"
        raise ValueError(f"{name} must be {limits}, got {result}")
    return result


def number(value, name: str, *, above: float | None = None, least: float | None = None, most: float | None = None) -> float:
    """A finite real number, greater than ``above``, within ``[least, most]``."""
    if (
        isinstance(value, (str, bytes, bool, np.bool_, list, tuple, range, np.complexfloating))
        or getattr(value, "ndim", 0) != 0
    ):
        raise TypeError(f"{name} must be a number, got {value!r}")
    try:
        result = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, got {type(value).__name__}") from None
    except OverflowError:
        raise ValueError(f"{name} must be finite, got {value!r}") from None
    if not np.isfinite(result):
        raise ValueError(f"{name} must be finite, got {result!r}")
    if above is not None and not result > above:
        raise ValueError(f"{name} must be greater than {above:g}, got {result!r}")
    if least is not None and result < least:
        raise ValueError(f"{name} must be at least {least:g}, got {result!r}")
    if most is not None and result > most:
        raise ValueError(f"{name} must be at most {most:g}, got {result!r}")
    return result


def path(value, name: str = "path") -> Path:
    """A str or PathLike."""
    if not isinstance(value, (str, os.PathLike)) or not isinstance(os.fspath(value), str):
        raise TypeError(f"{name} must be a str or PathLike, got {type(value).__name__}")
    return Path(value)


def sequence(value, name: str, what: str = "values") -> list:
    """The items of a list, tuple, array or other iterable as a list; a text is none, nor what has no order of its own."""
    if not isinstance(value, (str, bytes, dict, set, frozenset)):
        try:
            return list(value)
        except TypeError:
            pass
    raise TypeError(f"{name} must be a sequence of {what}, got {type(value).__name__}")


def option(value, name: str, choices: tuple) -> object:
    """One of ``choices``: a wrong type is ``TypeError``, another value ``ValueError`` naming the choices."""
    if isinstance(value, str) is False and all(isinstance(choice, str) for choice in choices):
        raise TypeError(f"{name} must be a string, got {type(value).__name__}")
    if value not in choices:
        raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}")
    return value


def flag(value, name: str) -> bool:
    """True or False, not something that is merely true-ish."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)
