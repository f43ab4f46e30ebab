"""The tutorial runs from top to bottom."""

import json

import pytest

from conftest import MODELS


def test_every_cell_runs(monkeypatch):
    pytest.importorskip("gymnasium")
    root = MODELS.parents[1]
    monkeypatch.chdir(root)
    notebook = json.loads((root / "examples" / "tutorial.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 5
    names = {}
    for number, cell in enumerate(cells):
        exec(compile(cell, f"tutorial.ipynb, code cell {number}", "exec"), names)
