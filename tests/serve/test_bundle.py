"""The bundle that the package ships is what its sources build."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from nbfnet.serve.app import FILES, STATIC

ROOT = Path(__file__).parents[2]


def test_the_bundle_is_what_the_sources_build(packages: Path, tmp_path: Path) -> None:
    subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=packages, check=True)
    built = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    shipped = {file.name: file.read_bytes() for file in STATIC.iterdir()}
    assert built.keys() == shipped.keys()
    changed = [name for name in built if built[name] != shipped[name]]
    assert not changed, f"{changed} are out of date: cd web && npm ci && npm run build"


def test_every_file_of_the_bundle_is_served() -> None:
    assert {file.name for file in STATIC.iterdir()} == {name.removeprefix("/") for name in FILES} | {"index.html"}


def test_licences_are_those_of_the_pinned_packages() -> None:
    listed = json.loads((STATIC / "licences.json").read_text())
    pinned = json.loads((ROOT / "web" / "package.json").read_text())["dependencies"]
    assert {each["name"]: each["version"] for each in listed} == pinned
    assert all(each["licence"] == "MIT" and "WITHOUT WARRANTY" in each["text"] for each in listed)


@pytest.mark.parametrize("name", ["page.js", "page.css", "index.html"])
def test_nothing_is_loaded_from_elsewhere(name: str) -> None:
    """No address of another machine is in the page but those of XML namespaces and of messages in libraries."""
    text = (STATIC / name).read_text()
    for scheme in ("https://", "http://", "//cdn", "@import", "wss:"):
        found = [text[i : i + 60] for i in range(len(text)) if text.startswith(scheme, i)]
        foreign = [
            each
            for each in found
            if not each.startswith(("http://www.w3.org/", "https://github.com/", "https://js.cytoscape"))
        ]
        assert not foreign
