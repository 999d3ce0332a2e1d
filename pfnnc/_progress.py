"""A progress bar that needs nothing and uses tqdm where it is installed."""

import sys
import time

PATIENCE = 2.0  # seconds before a bar shows by itself


class Progress:
    """One bar on standard error. ``show=None``: on a terminal, once the work has taken two seconds.

    >>> with Progress(3, "work", show=False) as bar:
    ...     for i in range(3):
    ...         bar.update(1, note="loss 0.1")
    """

    def __init__(self, total: int, label: str, *, show: bool | None = None):
        self._total, self._label, self._show = total, label, show
        self._done, self._note = 0, ""
        self._bar = None  # tqdm's
        self._plain = False
        self._start = self._drawn = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._bar is not None:
            self._bar.close()
        elif self._plain:
            self._draw()
            sys.stderr.write("\n")

    def update(self, steps: int = 1, *, note: str | None = None) -> None:
        """Go on by ``steps``; ``note`` stands behind the bar."""
        self._done += steps
        self._note = self._note if note is None else note
        if self._bar is not None:
            if note is not None:
                self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(steps)
        elif not self._plain:
            self._begin()
        elif time.monotonic() - self._drawn > 0.2:
            self._draw()

    def _begin(self) -> None:
        waited = time.monotonic() - self._start >= PATIENCE
        if self._show is False or (self._show is None and not (waited and sys.stderr.isatty())):
            return
        try:
            from tqdm import tqdm
        except ImportError:
            self._plain = True
            self._draw()
        else:
            self._bar = tqdm(total=self._total, desc=self._label, initial=self._done, postfix=self._note, leave=True)

    def _draw(self) -> None:
        self._drawn = time.monotonic()
        share = min(1.0, self._done / max(1, self._total))
        left = (self._drawn - self._start) * (1 - share) / share if share > 0 else 0.0
        bar = ("#" * round(24 * share)).ljust(24, ".")
        sys.stderr.write(f"\r{self._label} [{bar}] {self._done}/{self._total}, {left:.0f} s left, {self._note}\x1b[K")
        sys.stderr.flush()
