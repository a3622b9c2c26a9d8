"""nbfnet evaluate: one document, several protocols, other facts, and what can be wrong."""

from __future__ import annotations

import dataclasses
import shutil

import numpy as np
import pytest
import torch

import nbfnet as package
from nbfnet.evaluation.evaluator import evaluate
from nbfnet.evaluation.scorer import MeanScorer, NetworkScorer
from nbfnet.graph.store import write_store
from nbfnet.training.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("one_thread")

RANKED = ["mr", "mrr", "hits@1", "hits@3", "hits@10", "hits@10_50"]


@pytest.fixture(scope="module")
def runs(commands, small, tmp_path_factory):
    """A run of each kind of graph; none of the tests changes it."""
    folder = tmp_path_factory.mktemp("runs")
    for kind in ("knowledge", "homogeneous", "inductive"):
        ended = commands.run("train", getattr(small, kind), "-o", folder / kind, *small.options, "--epochs", "1")
        assert ended.code == 0, ended.err
    return folder


@pytest.mark.parametrize("kind", ["knowledge", "inductive"])
def test_the_document_of_a_ranking(nbfnet, runs, kind):
    document = nbfnet("evaluate", runs / kind, "--json").document
    assert {"dataset", "split", "protocol", "ties", "queries", "metrics", "by_category", "seconds"} <= document.keys()
    assert (document["dataset"], document["split"], document["ties"]) == (kind, "test", "realistic")
    assert document["queries"] == 18
    assert list(document["metrics"]) == RANKED
    filtered = "train + valid + test" if kind == "knowledge" else "facts + valid + test of the test graph"
    assert document["protocol"].endswith(f"filter: {filtered}")
    assert sum(part["links"] for part in document["by_category"].values()) == 9
    assert sum(row["links"] for row in document["by_relation"]) == 9
    assert document["sample"] is None and "baselines" not in document
    # The same as the library computes from the folder.
    folder = RunFolder.open(runs / kind)
    dataset = folder.dataset()
    scorer = NetworkScorer(folder.network(dataset), dataset.facts_of_test.message_csr)
    assert evaluate(scorer, dataset).metrics.to_dict() == document["metrics"]


def test_the_document_of_a_homogeneous_graph(nbfnet, runs):
    document = nbfnet("evaluate", runs / "homogeneous", "--json").document
    assert list(document["metrics"]) == ["auroc", "ap"]
    assert (document["queries"], document["by_category"]) == (14, {})
    assert "pairs that are edges nowhere" in document["protocol"]
    other = nbfnet("evaluate", runs / "homogeneous", "--json", "--seed", "1").document
    assert other["metrics"] != document["metrics"]  # other pairs


@pytest.mark.parametrize("kind", ["knowledge", "homogeneous", "inductive"])
def test_for_people(nbfnet, runs, kind):
    answer = nbfnet("evaluate", runs / kind, "--baselines")
    assert answer.code == 0 and answer.err == ""
    assert answer.out.startswith(f"{kind}, test: ")
    for row in ("this network", "katz", "ppr", "distance", "relation frequency"):
        assert row in answer.out


@pytest.mark.parametrize("kind", ["knowledge", "homogeneous", "inductive"])
def test_baselines(nbfnet, runs, kind):
    document = nbfnet("evaluate", runs / kind, "--json", "--baselines").document
    assert list(document["baselines"]) == ["katz", "ppr", "distance", "relation frequency"]
    for metrics in document["baselines"].values():
        assert metrics.keys() == document["metrics"].keys()
        assert metrics != document["metrics"]


def test_the_valid_links(nbfnet, runs):
    for kind, key in (("knowledge", "mrr"), ("inductive", "mrr"), ("homogeneous", "auroc")):
        document = nbfnet("evaluate", runs / kind, "--split", "valid", "--json").document
        assert document["split"] == "valid"
        best = RunFolder.open(runs / kind).manifest["metrics"]["valid"]
        assert document["metrics"][key] == best[key]


def test_ties(nbfnet, runs):
    """Entities that nothing tells apart tie, and the policy decides: never better than optimistic, nor worse."""
    policies = ("optimistic", "realistic", "pessimistic")
    documents = {ties: nbfnet("evaluate", runs / "knowledge", "--ties", ties, "--json").document for ties in policies}
    assert [documents[ties]["ties"] for ties in policies] == list(policies)
    ranks = [documents[ties]["metrics"]["mr"] for ties in policies]
    assert ranks == sorted(ranks)
    assert ranks[1] == pytest.approx((ranks[0] + ranks[2]) / 2)
    nbfnet("evaluate", runs / "knowledge", "--ties", "best").assert_refused("--ties")
    nbfnet("evaluate", runs / "homogeneous", "--ties", "optimistic").assert_refused("optimistic", "ranking")


def test_a_sample(nbfnet, runs):
    document = nbfnet("evaluate", runs / "knowledge", "--sample", "4", "--json").document
    sample = document["sample"]
    assert document["queries"] == 8
    assert (sample["links"], sample["of"], sample["seed"]) == (4, 9, 0)
    low, high = sample["mrr_interval"]
    assert 0 <= low < document["metrics"]["mrr"] < high <= 1
    again = nbfnet("evaluate", runs / "knowledge", "--sample", "4", "--json").document
    other = nbfnet("evaluate", runs / "knowledge", "--sample", "4", "--seed", "1", "--json").document
    assert again["metrics"] == document["metrics"] != other["metrics"]
    whole = nbfnet("evaluate", runs / "knowledge", "--sample", "100", "--json").document
    assert whole["sample"] is None and whole["queries"] == 18
    assert "4 of 9 links were drawn" in nbfnet("evaluate", runs / "knowledge", "--sample", "4").out
    nbfnet("evaluate", runs / "knowledge", "--sample", "0").assert_refused("--sample")


def comparable(document):
    """All but names and times."""
    return {key: value for key, value in document.items() if key not in ("dataset", "seconds")}


@pytest.mark.parametrize("trained_on", ["inductive", "knowledge"])
def test_other_facts_are_an_inductive_test_graph(nbfnet, runs, small, trained_on, tmp_path):
    """The pair of folders, and its two files given by hand, are the same; the relations have the same names."""
    twin = small.test_graph
    arguments = ["--facts", twin / "train.txt", "--queries", twin / "test.txt", "--json"]
    asked = nbfnet("evaluate", runs / trained_on, *arguments).document
    assert asked["dataset"] == "train.txt, test.txt"
    if trained_on == "inductive":
        assert comparable(asked) == comparable(nbfnet("evaluate", runs / "inductive", "--json").document)
    else:
        assert asked["queries"] == 18


def test_other_queries_on_the_same_facts(nbfnet, runs, small):
    asked = nbfnet("evaluate", runs / "knowledge", "--queries", small.knowledge / "test.txt", "--json").document
    own = nbfnet("evaluate", runs / "knowledge", "--json").document
    assert comparable(asked) == comparable(own)
    assert asked["dataset"] == "knowledge, test.txt"


def test_the_held_out_links_that_are_not_asked_are_known_answers(nbfnet, runs, small, tmp_path):
    """Asked a link at a time, the test links have the ranks that they have together."""
    ranks = []
    for line in (small.knowledge / "test.txt").read_text().splitlines():
        (tmp_path / "one.tsv").write_text(line + "\n")
        asked = nbfnet("evaluate", runs / "knowledge", "--queries", tmp_path / "one.tsv", "--json").document
        ranks.append(asked["metrics"]["mr"])
    own = nbfnet("evaluate", runs / "knowledge", "--json").document
    assert own["metrics"]["mr"] == pytest.approx(np.mean(ranks))


def test_queries_by_readable_names(nbfnet, runs, small, tmp_path):
    names = {f"e{i}": f"Thing {i}" for i in range(20)}
    shutil.copytree(runs / "knowledge", tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "data")
    learned = RunFolder.open(runs / "knowledge").dataset()
    labelled = dataclasses.replace(learned.train, entities=learned.train.entities.with_labels(names))
    write_store(dataclasses.replace(learned, train=labelled), tmp_path / "run" / "data")
    lines = [line.split() for line in (small.knowledge / "test.txt").read_text().splitlines()]
    readable = "".join(f"{names.get(h, h)}\t{r}\t{names.get(t, t)}\n" for h, r, t in lines)
    assert "Thing" in readable
    (tmp_path / "readable.tsv").write_text(readable)
    plain = small.knowledge / "test.txt"
    for facts in ([], ["--facts", small.knowledge / "train.txt"]):
        first, second = (
            nbfnet("evaluate", tmp_path / "run", *facts, "--queries", file, "--json").document
            for file in (tmp_path / "readable.tsv", plain)
        )
        assert comparable(first) == comparable(second)


def test_a_sample_of_pairs(nbfnet, runs):
    ended = nbfnet("evaluate", runs / "homogeneous", "--sample", "5")
    assert "5 of 7 links were drawn: the AUROC of all lies in" in ended.out


def test_other_facts_of_a_homogeneous_graph(nbfnet, runs, small, tmp_path):
    """Asked on the edges it learned from, as a file, a network gives what it gave on its own."""
    facts, queries = small.homogeneous / "train.txt", small.homogeneous / "test.txt"
    asked = nbfnet("evaluate", runs / "homogeneous", "--facts", facts, "--queries", queries, "--json").document
    assert asked["queries"] == 14 and list(asked["metrics"]) == ["auroc", "ap"]
    (tmp_path / "facts.txt").write_text("".join(f"x{i} x{(i + 1) % 9}\n" for i in range(9)))
    (tmp_path / "queries.txt").write_text("x0 x2\nx1 x3\n")
    files = ["--facts", tmp_path / "facts.txt", "--queries", tmp_path / "queries.txt"]
    assert nbfnet("evaluate", runs / "homogeneous", *files, "--json").document["queries"] == 4


def test_an_entity_of_the_training_without_a_fact_is_alone(nbfnet, runs, small, tmp_path):
    (tmp_path / "queries.tsv").write_text("e0\tr0\tb0\nb1\tr1\tb2\n")
    facts = small.test_graph / "train.txt"
    document = nbfnet(
        "evaluate", runs / "knowledge", "--facts", facts, "--queries", tmp_path / "queries.tsv", "--json"
    ).document
    assert document["queries"] == 4


def test_questions_that_cannot_be_asked(nbfnet, runs, small, tmp_path):
    facts, queries = small.knowledge / "train.txt", tmp_path / "queries.tsv"
    queries.write_text("e0\tr0\te1\n")
    ask = ["evaluate", runs / "knowledge", "--queries", queries]
    nbfnet("evaluate", runs / "knowledge", "--facts", facts).assert_refused("--facts", "--queries")
    nbfnet("evaluate", runs / "knowledge", "--queries", tmp_path / "gone.tsv").assert_refused("gone.tsv")
    nbfnet(*ask, "--facts", tmp_path / "none.tsv").assert_refused("none.tsv")
    queries.write_text("e0\tr0\te777\n")
    nbfnet(*ask).assert_refused("queries.tsv, line 1: unknown entity 'e777'", "what to do")
    nbfnet(*ask, "--facts", facts).assert_refused("unknown entity 'e777'")
    queries.write_text("e0\tr9\te1\n")
    nbfnet(*ask).assert_refused("queries.tsv, line 1: unknown relation 'r9'", "correct the name")
    nbfnet(*ask, "--split", "valid").assert_refused("--queries", "--split valid")
    queries.write_text("e0 e1\n")
    nbfnet(*ask).assert_refused("queries.tsv: this is a homogeneous graph", "same columns")
    nbfnet("evaluate", runs / "homogeneous", "--facts", facts, "--queries", facts).assert_refused("train.txt")
    (tmp_path / "facts.tsv").write_text("e0\tunheard\te1\n")
    queries.write_text("e0\tr0\te1\n")
    nbfnet(*ask, "--facts", tmp_path / "facts.tsv").assert_refused("facts.tsv, line 1: unknown relation 'unheard'")
    (tmp_path / "empty.tsv").write_text("")
    nbfnet("evaluate", runs / "knowledge", "--queries", tmp_path / "empty.tsv").assert_refused("empty.tsv")
    nbfnet("evaluate", tmp_path / "gone").assert_refused("there is no such folder")


def test_a_run_of_a_device_that_is_not_here(nbfnet, runs, tmp_path):
    run = shutil.copytree(runs / "knowledge", tmp_path / "run")
    folder = RunFolder.open(run)
    folder.manifest["config"]["training"]["device"] = "cuda:99"
    folder.update(config=folder.manifest["config"])
    document = nbfnet("evaluate", run, "--json").document
    assert document["metrics"] == nbfnet("evaluate", runs / "knowledge", "--json").document["metrics"]


def test_types_of_entities_survive(nbfnet, small, tmp_path):
    """A graph with types is trained with negatives of the answer's type, and asked like any other."""
    folder = tmp_path / "typed"
    folder.mkdir()
    for part in ("train", "valid", "test"):
        (folder / f"{part}.txt").write_text((small.knowledge / f"{part}.txt").read_text())
    (folder / "entity_types.txt").write_text("".join(f"e{i}\t{'odd' if i % 2 else 'even'}\n" for i in range(20)))
    assert nbfnet("train", folder, "-o", tmp_path / "run", *small.options, "--epochs", "1").code == 0
    dataset = RunFolder.open(tmp_path / "run").dataset()
    assert np.bincount(dataset.train.types.of_entity + 1).tolist() == [4, 10, 10]
    assert nbfnet("evaluate", tmp_path / "run", "--json").document["queries"] == 18


def test_several_runs_together(nbfnet, triplets, small_config, tmp_path):
    """The mean of their probabilities; a second copy of a run changes nothing, another graph is refused."""
    runs = [package.train(triplets, tmp_path / f"run{n}", config=small_config, epochs=n, seed=0) for n in (0, 1)]
    folders = [run.folder.path for run in runs]
    together = nbfnet("evaluate", *folders, "--json").document
    alone = [nbfnet("evaluate", folder, "--json").document for folder in folders]
    dataset = runs[0].dataset
    scorers = [NetworkScorer(run.folder.network(dataset), dataset.train.message_csr) for run in runs]
    source, relation = (torch.tensor(part.tolist()) for part in (dataset.test.head, dataset.test.relation))
    logits = [scorer.score_all(source, relation).double() for scorer in scorers]
    mean = (1 / (1 + (-logits[0]).exp()) + 1 / (1 + (-logits[1]).exp())) / 2
    torch.testing.assert_close(MeanScorer(scorers).score_all(source, relation), mean)
    some = MeanScorer(scorers).score(source, relation, source[:, None])
    torch.testing.assert_close(some, mean.gather(1, source[:, None]))
    known = {(h, r, t) for part in (dataset.train.triplets, dataset.valid, dataset.test) for h, r, t in columns(part)}
    ranks = []
    for row, (h, r, t) in zip(mean.tolist(), columns(dataset.test), strict=True):
        others = [row[v] for v in range(len(row)) if (h, r, v) not in known]
        ranks.append(1 + sum(s > row[t] for s in others) + sum(s == row[t] for s in others) / 2)
    assert together["by_direction"]["tail"]["mrr"] == pytest.approx(sum(1 / rank for rank in ranks) / len(ranks))
    assert together["metrics"] not in (alone[0]["metrics"], alone[1]["metrics"])
    twice = nbfnet("evaluate", folders[1], folders[1], "--json").document
    assert twice["metrics"] == pytest.approx(alone[1]["metrics"], abs=1e-3)
    other = package.train(triplets, tmp_path / "other", config=small_config, epochs=0, seed=1)  # another split
    nbfnet("evaluate", folders[0], other.folder.path).assert_refused("same graph and split", "other")


def columns(triplets):
    return zip(triplets.head.tolist(), triplets.relation.tolist(), triplets.tail.tolist(), strict=True)


def test_options_of_a_cluster_without_one(nbfnet, runs):
    nbfnet("evaluate", runs / "knowledge", "--workers", "2").assert_refused("--workers", "--engine ray")
