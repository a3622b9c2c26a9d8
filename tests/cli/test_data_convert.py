"""nbfnet data convert: a store tells the same as the graph, and stands in for it."""

from __future__ import annotations

import json

import pytest


def told(document, *, without=("name", "split", "skipped_lines")):
    return {key: value for key, value in document.items() if key not in without}


def test_a_store_of_a_knowledge_graph(nbfnet, triplets, tmp_path):
    report = nbfnet("data", "convert", triplets, "-o", tmp_path / "store", "--json").document
    graph = nbfnet("data", "info", triplets, "--json").document
    store = nbfnet("data", "info", tmp_path / "store", "--json").document
    assert store == graph
    assert report == {
        "folder": str(tmp_path / "store"),
        "split": graph["split"],
        **{part: graph[part] for part in ("train", "valid", "test")},
        "skipped_lines": 0,
    }


def test_a_store_of_a_homogeneous_graph(nbfnet, edges, tmp_path):
    graph = nbfnet("data", "info", edges, "--json").document
    nbfnet("data", "convert", edges, "--paper-split", "-o", tmp_path / "paper")
    assert nbfnet("data", "info", tmp_path / "paper", "--json").document == {
        key: value for key, value in graph.items() if key != "honest_split"
    }
    nbfnet("data", "convert", edges, "-o", tmp_path / "honest")
    honest = nbfnet("data", "info", tmp_path / "honest", "--json").document
    assert {key: honest[key] for key in graph["honest_split"]} == graph["honest_split"]


@pytest.mark.parametrize("source", ["inductive", "world"])
def test_a_store_of_a_dataset(nbfnet, tmp_path, request, source):
    given = request.getfixturevalue(source) if source == "inductive" else source
    nbfnet("data", "convert", given, "-o", tmp_path / "store")
    store = nbfnet("data", "info", tmp_path / "store", "--json").document
    assert store == nbfnet("data", "info", given, "--json").document


def test_a_store_of_numbered_nodes_keeps_the_lonely_ones(nbfnet, data_folder, tmp_path):
    assert nbfnet("data", "convert", "citeseer", "-o", tmp_path / "store").code == 0
    document = nbfnet("data", "info", tmp_path / "store", "--json").document
    assert (document["entities"], document["edges"]) == (3_327, 4_552)


def test_splitting_a_store_writes_what_splitting_the_graph_writes(nbfnet, triplets, tmp_path, listing):
    nbfnet("data", "split", triplets, "--seed", "4", "-o", tmp_path / "direct")
    nbfnet("data", "convert", triplets, "--seed", "4", "-o", tmp_path / "store")
    assert nbfnet("data", "split", tmp_path / "store", "-o", tmp_path / "through").code == 0
    assert listing(tmp_path / "through") == listing(tmp_path / "direct")
    assert nbfnet("data", "convert", tmp_path / "direct", "-o", tmp_path / "back").code == 0
    back, store = (nbfnet("data", "info", tmp_path / name, "--json").document for name in ("back", "store"))
    assert told(back) == told(store)


def test_a_store_is_data_only(nbfnet, triplets, tmp_path):
    nbfnet("data", "convert", triplets, "-o", tmp_path / "store")
    suffixes = {path.suffix for path in (tmp_path / "store").rglob("*") if path.is_file()}
    assert suffixes == {".npy", ".json"}
    assert json.loads((tmp_path / "store" / "store.json").read_text())["format"] == "nbfnet-store"


def test_bad_lines_are_counted(nbfnet, triplets, tmp_path):
    with triplets.open("a") as stream:
        stream.write("too few\n")
    answer = nbfnet("data", "convert", triplets, "--skip-bad-lines", "-o", tmp_path / "store", "--json")
    assert answer.document["skipped_lines"] == 1
    assert "1 bad line skipped" in answer.err


def test_options_of_memory_and_split(nbfnet, triplets, tmp_path):
    report = nbfnet(
        "data", "convert", triplets, "-o", tmp_path / "all", "--no-split", "--memory-limit", "1GB", "--json"
    )
    facts = len(triplets.read_text().splitlines())
    assert (report.document["train"], report.document["valid"], report.document["test"]) == (facts, 0, 0)
    low = nbfnet("data", "convert", triplets, "-o", tmp_path / "low", "--memory-limit", "1MB")
    assert (low.code, "a memory limit of 1.0 MB is too low" in low.err) == (2, True)
    wrong = nbfnet("data", "convert", triplets, "-o", tmp_path / "wrong", "--memory-limit", "much")
    assert (wrong.code, "'much' is not an amount of memory" in wrong.err) == (2, True)
    assert not (tmp_path / "low").exists() and not (tmp_path / "wrong").exists()


def test_leaks_are_left_out_where_memory_is_short(nbfnet, triplets, monkeypatch):
    from nbfnet.cli import describe

    monkeypatch.setattr(describe, "available_memory", lambda: 0)
    assert "leakage" not in nbfnet("data", "info", triplets, "--json").document
    assert "leaks were not looked for" in nbfnet("data", "info", triplets).out
