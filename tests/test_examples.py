"""The C examples build against the core alone, as a C and a C++ compiler see it, and do what they say."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CC = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


@pytest.mark.skipif(CC is None, reason="needs a C compiler on the path")
def test_game_loop(tmp_path):
    program = tmp_path / "game_loop"
    sources = [ROOT / "csrc/core" / name for name in "clock.c cpu.c error.c root_motion.c root_motion_many.c".split()]
    sources += sorted((ROOT / "csrc/core").glob("rotation*.c"))
    options = "-std=c11 -O1 -ffp-contract=off -Wall -Wextra -Wshadow -Wconversion -Werror".split()
    subprocess.run(
        [CC, *options, "-I", ROOT / "csrc/core", ROOT / "csrc/examples/game_loop.c", *sources, "-lm", "-o", program], check=True
    )
    output = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    assert "after 4 cycles: 0.000000000 m from the start, way 6.2826 m" in output
    assert float(re.search(r"1000000 frames: ([\d.]+) m", output)[1]) == pytest.approx(33333.45)  # 16,666 cycles and 0.9 s
