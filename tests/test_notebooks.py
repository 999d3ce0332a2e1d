"""Each notebook runs from top to bottom, and is kept without outputs."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
def test_notebook_runs(path, tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib", reason="the notebooks draw with Matplotlib, an extra")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)
    names = {"__name__": "__main__"}
    try:
        for i, cell in enumerate(cells):
            exec(compile("".join(cell["source"]), f"{path.name}[{i}]", "exec"), names)
    finally:
        plt.close("all")
