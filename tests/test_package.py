"""The package as a whole: what importing it costs and pulls in."""

import os
import subprocess
import sys

import pytest


def test_import_pulls_in_numpy_only():
    code = (
        "import sys, numpy; before = set(sys.modules); import pfnnc; "
        "print(sorted({name.split('.')[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)))"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() in ("['pfnnc']", "['numpy', 'pfnnc']")  # numpy.typing is NumPy too


def test_every_public_name_is_documented():
    import pfnnc

    names = [name for name in dir(pfnnc) if not name.startswith("_")]
    missing = [name for name in names if not getattr(pfnnc, name).__doc__]
    assert not missing


@pytest.mark.parametrize(
    "damage", [lambda d: d[:-1], lambda d: b"x" + d[1:], lambda d: d[:200] + b"\1" + d[201:], lambda d: b""]
)
def test_store_refuses_damage(tmp_path, damage):
    import numpy as np

    from pfnnc import _store

    path = tmp_path / "file"
    _store.save(path, "network", {"a": np.arange(6.0).reshape(2, 3)}, {"beta": 8.0})
    arrays, settings = _store.load(path, "network")
    assert settings == {"beta": 8.0} and np.array_equal(arrays["a"], np.arange(6.0).reshape(2, 3))
    for text in (b"[" * 100_000, b"{", b"[1]", b"\xff", b""):  # with a right checksum
        _store.save(path, "network", {"settings": np.frombuffer(text, np.uint8)})
        with pytest.raises(ValueError, match="is no network file of pfnnc: its settings"):
            _store.load(path, "network")
    _store.save(path, "network", {"a": np.arange(6.0).reshape(2, 3)}, {"beta": 8.0})
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match="is no network file"):
        _store.load(path, "network")


@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs a file that never ends")
def test_store_reads_no_endless_file():
    from pfnnc import _store

    with pytest.raises(ValueError, match="it does not begin as one"):
        _store.load("/dev/zero", "network")


def test_the_core_and_its_types_name_the_same_things():
    import re
    from pathlib import Path

    import pfnnc
    from pfnnc import _core

    text = (Path(pfnnc.__file__).parent / "_core.pyi").read_text()
    typed = set(re.findall(r"^(?:def |class )?(\w+)(?::(?! TypeAlias)|\()", text, re.MULTILINE))
    assert typed == {name for name in dir(_core) if not name.startswith("__")}


def test_pages_that_are_linked_are_there_and_each_can_be_found():
    import re
    from pathlib import Path

    root = Path(__file__).parents[1]
    pages = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]
    linked = set()
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text("utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
                linked.add((page.parent / target).resolve())
    assert set(pages[2:]) <= linked
