"""What the tests share: the recordings beside the checkout, the C library, a browser, and what Hypothesis draws."""

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"

# The same examples in every run and no clock, since a busy machine draws slowly; `--hypothesis-profile=search` draws others.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("search"), derandomize=True, database=None)
settings.load_profile("same")


def shared(*parts: str) -> Path:
    """A path under ../shared, or a skip: recordings are not part of the project."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs {'/'.join(parts)} of the recordings that lie beside the checkout and are not shipped")
    return path


def needs(*tools: str) -> None:
    """A skip where one of these programs is not on the path."""
    for tool in tools:
        if not shutil.which(tool):
            pytest.skip(f"needs {tool}")


@pytest.fixture(scope="session")
def library() -> Path:
    """The folder of libpfnnc, built by one process at a time."""
    needs("make", "cc")
    folder = ROOT / "build" / "lib"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        with contextlib.suppress(ImportError):
            import fcntl

            fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["make", "-s", "lib"], cwd=ROOT, env=plain_environment(), check=True, capture_output=True)
    return folder


def plain_environment(**more: str) -> dict[str, str]:
    """The environment without what changes how Python warns and how make runs, and with ``more``."""
    foreign = ("PYTHONWARNINGS", "MAKEFLAGS", "MAKELEVEL")
    return {name: value for name, value in os.environ.items() if name not in foreign} | more


def browse(folder: Path, page: Path | str, *options: str) -> str:
    """What Chromium or Chrome writes of a page (`--dump-dom`), after four seconds of its own time; or a skip."""
    names = ("chromium", "chromium-browser", "google-chrome")
    program = next(filter(None, map(shutil.which, names)), None)
    if program is None:
        pytest.skip("needs Chromium or Chrome on the path")
    fixed = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
    fixed += ["--virtual-time-budget=4000", f"--user-data-dir={folder / 'profile'}"]
    address = page if isinstance(page, str) else page.as_uri()
    done = subprocess.run([program, *fixed, *options, address], capture_output=True, encoding="utf-8", timeout=600)
    assert done.returncode == 0, done.stderr[-1000:]
    return done.stdout
