"""What the tests share: the recordings and cases that may lie beside the checkout."""

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


def shared(*parts: str) -> Path:
    """A path under ../shared, or a skip: recordings are not part of the project."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs {'/'.join(parts)} of the recordings that lie beside the checkout and are not shipped")
    return path
