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
_FILE = re.compile(r"[\w.*-]+(?:/[\w.*-]+)*\.(?:py|cpp|hpp|toml|md|tsv|ipynb)")
# Files that are no files of ours: one that the reader writes, one that nobody should, and a pattern of names.
NOT_OURS = {
    "CONTRIBUTING.md": {"util.py"},
    "docs/ARCHITECTURE.md": {"NAME_ISA.cpp"},
}


@pytest.mark.parametrize("name", PAGES)
def test_page(name: str, open_page: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's folder is copied, without what was made there, so that its commands can write."""
    for file in (ROOT / "docs" / "guides").glob("*.[ct]sv"):
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


def missing_files(text: str) -> set[str]:
    """The files that a page names and that are not there.

    A file is named from the root, the package or the page of guides on; or, without its folder, beside a file or a
    package that its paragraph or its row of a table names before.
    """
    missing = set()
    for part in re.split(r"\n(?:\s*\n|(?=\|))", text):
        folders = [ROOT, ROOT / "src" / "nbfnet", ROOT / "docs" / "guides"]
        for name in re.findall(r"`([^`\s]+)`", part):
            if _FILE.fullmatch(name):
                found = next((file for folder in folders for file in folder.glob(name)), None)
                if found is None:
                    missing.add(name)
                elif found.parent not in folders:
                    folders.append(found.parent)
            elif (ROOT / "src" / "nbfnet" / name).is_dir():
                folders.append(ROOT / "src" / "nbfnet" / name)
    return missing


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_that_are_named_exist(name: str) -> None:
    """Such as those of the table from the paper to the code."""
    assert missing_files((ROOT / name).read_text(encoding="utf-8")) == NOT_OURS.get(name, set())


def test_what_is_missing_is_seen() -> None:
    row = "| MESSAGE | `operators/message.py`, `aggregate.py`, `gone.py` |"
    assert missing_files(row) == {"gone.py"}
    assert missing_files(f"{row}\n| f | `message.py`, `model/gone.py`, `model/score.py` |") == {
        "gone.py",
        "message.py",
        "model/gone.py",
    }
    assert missing_files("`cli`: `output.py`, `native/fused/*.hpp`, `native/gone_*.hpp`") == {"native/gone_*.hpp"}


def test_commands_that_are_only_parsed(parse_command: Callable[[list[str]], None]) -> None:
    team = ["torchrun", "--nproc-per-node=2", "-m", "nbfnet"]
    parse_command([*team, "train", "wn18rr-v1", "-o", "run"])
    parse_command(["pip", "install", "nbfnet", "&&", "nbfnet", "data", "info", "my graph.tsv"])
    for wrong in (
        [*team, "train", "wn18rr-v1", "-o", "run", "--gone"],
        [*team, "gone"],
        ["nbfnet", "data", "info", "graph.tsv", "--gone"],
        ["nbfnet", "info", "run", "&&", "nbfnet", "info", "--gone"],
    ):
        with pytest.raises(Exception, match="gone"):
            parse_command(wrong)
    with pytest.raises(SystemExit):
        parse_command(["torchrun", "--gone=2", *team[2:], "info", "run"])
