"""docs/first-look.ipynb runs from beginning to end, and is kept without its outputs."""

from __future__ import annotations

import base64
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOK = DOCS / "first-look.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    folder = tmp_path_factory.mktemp("notebook")
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()  # raises CellExecutionError
    return notebook


def outputs(notebook: nbformat.NotebookNode, mime: str) -> list[str]:
    return [
        output["data"][mime]
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
        if mime in output.get("data", {})
    ]


def test_it_runs(executed: nbformat.NotebookNode) -> None:
    tables = outputs(executed, "text/html")
    assert len(tables) == 3  # two of results, one DataFrame
    assert "lirs:hir=0.02" in tables[0] and "Probation:share=0.5" in tables[-1]
    pictures = outputs(executed, "image/png")
    assert len(pictures) == 3
    for picture in pictures:
        assert base64.b64decode(picture).startswith(b"\x89PNG")
    errors = [o for c in executed.cells for o in c.get("outputs", []) if o.get("name") == "stderr"]
    assert errors == []


def test_it_is_kept_without_outputs() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)
        for link in re.findall(r"\]\(([^)#]+)\)", cell.source):
            assert (DOCS / link).exists(), link
