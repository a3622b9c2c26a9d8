"""The notebook runs from top to bottom, and the outputs it was committed with are what comes out."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "docs" / "python-interface.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "docs" / "guides", folder / "guides")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = NotebookClient(notebook, timeout=180, resources={"metadata": {"path": str(folder)}})
    return client.execute()


def test_outputs_are_real(executed: Any) -> None:
    """The last digits of a trained network are the machine's own, so numbers are not compared."""
    committed = nbformat.read(NOTEBOOK, as_version=4)
    for shown, cell in zip(committed.cells, executed.cells, strict=True):
        if shown.cell_type == "code":
            assert shown.outputs, f"committed without its output: {shown.source}"
            assert words(shown.outputs) == words(cell.outputs), shown.source


def test_an_explanation_shows_its_picture(executed: Any) -> None:
    drawn = [
        output.data["text/html"]
        for cell in executed.cells
        if cell.cell_type == "code" and ".explain(" in cell.source
        for output in cell.outputs
    ]
    assert drawn
    assert all("<svg" in html for html in drawn)


def words(outputs: list[Any]) -> list[list[str]]:
    """Of a table, a printed text or a picture, without numbers and tags."""
    texts = [output.get("text") or output.data.get("text/html") or output.data["text/plain"] for output in outputs]
    return [
        re.sub(r"<[^>]*>|[-+]?\d[\d.e-]*", " ", re.sub(r"(?s)<style>.*?</style>", " ", text)).split() for text in texts
    ]
