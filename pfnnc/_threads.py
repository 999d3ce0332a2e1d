"""How many threads the core may use."""

import os
import warnings

from . import _check, _core

__all__ = ["get_num_threads", "set_num_threads"]

MOST = 256


def set_num_threads(n: int) -> None:
    """Let the core use up to ``n`` threads, 1 to 256. It changes speed, never a bit of a result.

    The start value is the environment variable ``PFNNC_NUM_THREADS``, or else the number of processors that this
    process may run on.

    >>> before = get_num_threads()
    >>> set_num_threads(1)
    >>> get_num_threads()
    1
    >>> set_num_threads(before)
    """
    _core.set_num_threads(_check.integer(n, "n", least=1, most=MOST))


def get_num_threads() -> int:
    """The number of threads that the core may use."""
    return _core.get_num_threads()


def _start_value() -> int:
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    text = os.environ.get("PFNNC_NUM_THREADS", "").strip()
    if text and not (text.isascii() and text.isdigit() and len(text) <= 3 and 1 <= int(text) <= MOST):
        warnings.warn(f"PFNNC_NUM_THREADS must be an integer in 1..{MOST}, got {text!r}: ignored", stacklevel=3)
        text = ""
    return int(text) if text else min(available, MOST)


def _warn_of_another_isa() -> None:
    wanted = os.environ.get("PFNNC_ISA")
    if wanted and wanted != _core.isa():
        warnings.warn(f"PFNNC_ISA={wanted!r} is not to be had here: the core uses {_core.isa()!r}", stacklevel=3)


_core.set_num_threads(_start_value())
_warn_of_another_isa()
