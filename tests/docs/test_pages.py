"""Every command line and every Python example of the guides and the README runs, and shows what it says."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs" / "guides").glob("*.md"))]
DOCUMENTS = sorted(str(page.relative_to(ROOT)) for page in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")))
GENERATED = "docs/RESULTS.md"  # there once an experiment was run


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str, open_page: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's folder is copied, without what was made there, so that its commands can write."""
    for file in (ROOT / "docs" / "guides").glob("*.tsv"):
        copy = tmp_path / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    monkeypatch.chdir((tmp_path / name).parent)
    page = open_page(ROOT / name)
    assert any(block.language in ("console", "python") for block in page.blocks)
    page.run()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if not link.startswith("http"):
            assert (page.parent / link).exists(), link


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_that_are_named_exist(name: str) -> None:
    """Such as those of the table from the paper to the code, which are named from the package on."""
    named = re.findall(r"`([\w.-]+/[\w./-]+\.(?:py|cpp|hpp|toml|md|tsv))`", (ROOT / name).read_text(encoding="utf-8"))
    missing = [
        file for file in named if not any((folder / file).exists() for folder in (ROOT, ROOT / "src" / "nbfnet"))
    ]
    assert set(missing) <= {GENERATED}
