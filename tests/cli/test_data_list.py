"""nbfnet data list: the known datasets, and where they are."""

from __future__ import annotations

from pathlib import Path

HERE = [
    *("fb15k-237", "wn18rr", "cora", "citeseer", "pubmed"),
    *(f"{base}-v{version}" for base in ("fb15k-237", "wn18rr") for version in (1, 2, 3, 4)),
]


def test_list_of_datasets(nbfnet, data_folder):
    listed = {entry["name"]: entry for entry in nbfnet("data", "list", "--json").document}
    for name in HERE:
        assert Path(listed[name]["found"]).exists()
    assert listed["fb15k-237"]["entities"] == 14_541
    lines = nbfnet("data", "list").out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == list(listed)
    assert all("here" in line for line in lines[2:] if line.split()[0] in HERE)


def test_list_where_nothing_is_found_yet(nbfnet, monkeypatch, tmp_path):
    monkeypatch.setenv("NBFNET_DATA", str(tmp_path))
    found = {entry["name"]: entry["found"] for entry in nbfnet("data", "list", "--json").document}
    assert [name for name, place in found.items() if place] == ["world"]
