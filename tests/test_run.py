"""The facade: names in, names out."""

from __future__ import annotations

import shutil
import subprocess
import sys

import pytest

import nbfnet
from nbfnet.config import read_toml
from nbfnet.errors import ConfigError, EvaluationError, RunFolderError
from nbfnet.graph.graph import Dataset
from nbfnet.training.run_folder import RunFolder

HUB = "北京 市"


@pytest.mark.parametrize("start", ["nbfnet; nbfnet.paths, nbfnet.read, nbfnet.load", "nbfnet.cli.paths"])
def test_what_needs_no_network_does_not_import_torch(start):
    code = f"import sys, {start}; print('torch' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "False\n"


def test_the_package_alone_is_light():
    """Ctrl-C is caught once it is loaded: that must not take long."""
    code = "import sys, nbfnet; print({'numpy', 'duckdb', 'torch', 'rich'} & set(sys.modules))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout == "set()\n"


def test_everything_promised_is_there():
    assert {name for name in nbfnet.__all__ if not hasattr(nbfnet, name)} == set()
    assert set(nbfnet.__all__) <= set(dir(nbfnet))
    with pytest.raises(AttributeError, match="'nothing'"):
        nbfnet.nothing  # noqa: B018


def test_from_a_list_of_facts_to_an_explained_answer(small_config):
    facts = [(f"drug {i}", "treats", f"disease {i % 7}") for i in range(30)]
    facts += [(f"drug {i}", "treats", f"disease {(i + 1) % 7}") for i in range(30)]
    facts += [(f"disease {i}", "like", f"disease {(i + 1) % 7}") for i in range(7)]
    run = nbfnet.train(nbfnet.read(facts), config=small_config)
    assert run.config.model.dim == 8
    answers = run.predict("drug 1", "treats", k=3)
    assert [a.rank for a in answers] == [1, 2, 3]
    explanation = run.explain("drug 1", "treats", answers[0].name)
    assert (explanation.query.head, explanation.query.tail) == ("drug 1", answers[0].name)
    assert run.rules("like", predictions=5)
    assert 0 < run.evaluate().metrics.document()["mrr"] <= 1
    assert repr(run) == f"<Run {str(run.folder.path)!r}: graph, asked on graph>"
    shutil.rmtree(run.folder.path.parent)


def test_a_folder_that_is_opened_again_answers_the_same(things_run):
    again = nbfnet.Run.open(things_run.folder.path)
    asked = [("Zoë, née X", "has part", None), (None, "next to", "a,b"), (HUB, None, "a,b")]
    for query in asked:
        assert again.predict(*query, k=99) == things_run.predict(*query, k=99)
    assert again.evaluate().document()["metrics"] == things_run.evaluate().document()["metrics"]
    explained = again.explain(HUB, "has part", "leaf 3").to_dict()
    assert explained == things_run.explain(HUB, "has part", "leaf 3").to_dict()
    assert [str(rule) for rule in again.rules("next to")] == [str(rule) for rule in things_run.rules("next to")]


def test_evaluate_asks_the_split(things_run, friends_run):
    test, valid = things_run.evaluate(), things_run.evaluate("valid")
    assert (test.split, test.overall.links) == ("test", len(things_run.dataset.test))
    assert (valid.split, valid.overall.links) == ("valid", len(things_run.dataset.valid))
    assert valid.metrics.document()["mrr"] == things_run.folder.manifest["metrics"]["valid"]["mrr"]
    assert things_run.evaluate(sample=2).overall.links == 2
    assert set(friends_run.evaluate().metrics.document()) == {"auroc", "ap"}


def test_on_another_graph_answers_change_at_once_and_as_if_built_for_it(sigmoid_run, tmp_path):
    old = sigmoid_run.graph
    named = [
        (old.entities[u], old.relations[q], old.entities[v])
        for u, q, v in zip(
            old.triplets.head.tolist(), old.triplets.relation.tolist(), old.triplets.tail.tolist(), strict=True
        )
    ]
    updated = nbfnet.read(
        [*named[3:], ("newcomer", "has part", "leaf 3"), (HUB, "next to", "newcomer")], name="updated"
    )
    moved = sigmoid_run.on(updated)
    # From scratch: a run folder made for the updated graph, with the same weights.
    dataset = Dataset("updated", moved.graph, sigmoid_run.dataset.valid.take([]), sigmoid_run.dataset.test.take([]))
    fresh = RunFolder.create(tmp_path / "fresh", dataset, sigmoid_run.config)
    network, epoch = sigmoid_run.folder.network_and_epoch(sigmoid_run.dataset)
    fresh.write_network(network, epoch)
    fresh.update(metrics=sigmoid_run.folder.manifest["metrics"])
    rebuilt = nbfnet.Run.open(fresh.path)
    for query in [
        (HUB, "next to", None),
        (None, "has part", "leaf 3"),
        ("newcomer", None, "leaf 3"),
        ("newcomer", "next to", None),
    ]:
        answers = moved.predict(*query, k=999)
        assert answers == rebuilt.predict(*query, k=999)
        if "newcomer" not in query:
            before = {a.name: a.probability for a in sigmoid_run.predict(*query, k=999)}
            assert any(before.get(a.name) != a.probability for a in answers)
    assert moved.predict(HUB, "next to", k=999) != sigmoid_run.predict(HUB, "next to", k=999)
    assert (
        moved.explain("newcomer", "has part", "leaf 3").to_dict()
        == rebuilt.explain("newcomer", "has part", "leaf 3").to_dict()
    )
    # What it was learned from is as before.
    assert sigmoid_run.predict(HUB, "next to") == nbfnet.Run.open(sigmoid_run.folder.path).predict(HUB, "next to")
    assert moved.on(old).predict(HUB, "next to", k=999) == sigmoid_run.predict(HUB, "next to", k=999)


def test_a_relation_that_was_never_seen_is_named(things_run):
    with pytest.raises(EvaluationError, match="unknown relation 'next too'; did you mean 'next to'"):
        things_run.on(nbfnet.read([("a", "next too", "b")]))
    with pytest.raises(EvaluationError, match="homogeneous"):
        things_run.on(nbfnet.read([("a", "b")]))


def test_another_graph_keeps_the_types_that_were_learned(small_config, tmp_path):
    facts = [(f"e{i}", f"r{i % 2}", f"e{i * 7 % 40}") for i in range(120)]
    (tmp_path / "types.tsv").write_text("".join(f"e{i}\t{'even' if i % 2 == 0 else 'odd'}\n" for i in range(120)))
    (tmp_path / "facts.tsv").write_text("".join("\t".join(fact) + "\n" for fact in facts))
    graph = nbfnet.read(tmp_path / "facts.tsv", types=tmp_path / "types.tsv")
    run = nbfnet.train(graph, tmp_path / "run", config=small_config, epochs=0)
    moved = run.on(nbfnet.read(facts[:60]))
    assert {answer.name for answer in moved.predict("e1", "r1", types=["even"], k=99)} == {
        name for name in moved.graph.entities if int(name[1:]) % 2 == 0
    }


def test_a_graph_of_fewer_relations_is_welcome(things_run):
    run = things_run.on(nbfnet.read([("p", 'größer "als"', "q"), ("q", 'größer "als"', "r")]))
    assert {a.name for a in run.predict("p", "has part")} == {"p", "q", "r"}
    assert [a.name for a in run.predict("p", 'größer "als"', k=9) if a.known] == ["q"]
    assert {a.name for a in run.predict("p", None, "q")} == set(things_run.graph.relations)


def test_configurations_and_seeds(things, small_config, tmp_path):
    toml = tmp_path / "small.toml"
    toml.write_text("[model]\ndim = 8\nlayers = 1\nhidden = []\n[training]\nepochs = 3\nseed = 7\n")
    assert read_toml(toml)["training"]["seed"] == 7
    graph = nbfnet.read([(f"e{i}", f"r{i % 2}", f"e{i * 7 % 40}") for i in range(120)])
    runs = {
        "file": nbfnet.train(graph, tmp_path / "file", config=toml, epochs=0),
        "text": nbfnet.train(graph, tmp_path / "text", config=str(toml), epochs=0, seed=7),
        "other": nbfnet.train(graph, tmp_path / "other", config=toml, epochs=0, seed=8),
    }
    assert [run.config.training.seed for run in runs.values()] == [7, 7, 8]
    assert runs["file"].config.training.epochs == 0
    prints = [run.folder.manifest["dataset"]["fingerprint"] for run in runs.values()]
    assert prints[0] == prints[1] != prints[2]  # the seed draws the split too
    weights = [(run.folder.path / "model.safetensors").read_bytes() for run in runs.values()]
    assert weights[0] == weights[1] != weights[2]
    toml.write_text("[model]\ndimm = 8\n")
    with pytest.raises(ConfigError, match=r"small\.toml.*dimm"):
        nbfnet.train(graph, config=toml)
    with pytest.raises(RunFolderError, match="exists already"):
        nbfnet.train(things, tmp_path / "file", config=small_config)


def test_train_takes_graphs_datasets_and_paths(things, small_config):
    by_path = nbfnet.train(things, config=small_config, epochs=0)
    by_name = nbfnet.train(str(things), config=small_config, epochs=0)
    by_dataset = nbfnet.train(nbfnet.load(things), config=small_config, epochs=0)
    prints = {run.folder.manifest["dataset"]["fingerprint"] for run in (by_path, by_name, by_dataset)}
    assert len(prints) == 1
    for run in (by_path, by_name, by_dataset):
        shutil.rmtree(run.folder.path.parent)
