"""nbfnet info: what a run folder holds."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture
def run(nbfnet, small, tmp_path):
    """A small run of a kind of graph."""

    def run(kind, *arguments):
        answer = nbfnet("train", getattr(small, kind), "-o", tmp_path / kind, *small.options, *arguments)
        assert answer.code == 0, answer.err
        return tmp_path / kind

    return run


def test_the_document(nbfnet, run):
    document = nbfnet("info", run("knowledge", "--epochs", "2"), "--json").document
    # INDICATOR: 6 queries of 4; MESSAGE: 2 layers of 6 relations of 4; AGGREGATE: 2 layers of (13 * 4 + 1) * 4 + 2 * 4
    # for the norm; score: (8 + 1) * 4 + 4 + 1.
    parts = {"indicator": 24, "message": 48, "aggregate": 440, "score": 41, "total": 553}
    assert document["parameters"] == parts
    graph = document["graph"]
    assert {key: graph[key] for key in ("name", "kind", "entities", "relations", "train", "valid", "test")} == {
        "name": "knowledge",
        "kind": "knowledge",
        "entities": 24,
        "relations": 3,
        "train": 60,
        "valid": 8,
        "test": 9,
    }
    assert len(graph["fingerprint"]) == 32
    assert document["config"]["model"]["hidden"] == [4]
    assert document["epochs"] == 2 and len(document["log"]) == 2
    assert document["metrics"]["valid"] in [entry["valid"] for entry in document["log"]]
    assert document["metrics"].keys() == {"epoch", "step", "valid"}


@pytest.mark.parametrize("kind", ["homogeneous", "inductive"])
def test_other_kinds(nbfnet, run, kind):
    folder = run(kind, "--epochs", "1")
    document = nbfnet("info", folder, "--json").document
    assert document["graph"]["kind"] == kind
    assert document["metrics"]["epoch"] == 1
    assert nbfnet("info", folder).out.startswith(f"{folder}: {kind} ({kind})\n")


def test_an_untrained_run(nbfnet, run):
    folder = run("knowledge", "--epochs", "0")
    document = nbfnet("info", folder, "--json").document
    assert document["parameters"]["total"] == 553
    assert (document["metrics"], document["epochs"], document["log"]) == ({}, 0, [])
    shown = nbfnet("info", folder).out
    assert "total      553" in shown and "Best validation" not in shown


def test_for_people(nbfnet, run):
    shown = nbfnet("info", run("knowledge", "--epochs", "1")).out
    for line in ("graph's entities   24", "message     48", "learning_rate          0.005", "after epoch 1 of 1"):
        assert line in shown


def test_the_papers_network(nbfnet, data_folder, monkeypatch, tmp_path):
    """The configuration of the paper on FB15k-237 has 3,103,105 parameters."""
    monkeypatch.setenv("NBFNET_DATA", str(data_folder))
    nbfnet("train", "fb15k-237", "-o", tmp_path / "run", "--epochs", 0)
    parts = {"indicator": 15_168, "message": 3_003_264, "aggregate": 80_448, "score": 4_225, "total": 3_103_105}
    assert nbfnet("info", tmp_path / "run", "--json").document["parameters"] == parts


def test_what_is_no_run(nbfnet, small, tmp_path):
    nbfnet("info", tmp_path / "gone").assert_refused("there is no such folder", "nbfnet train")
    nbfnet("info", small.knowledge).assert_refused("has no manifest.json")
