"""OGB's protocol: ranks against given negatives, by hand and by OGB's own evaluator."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import importlib.util

import numpy as np
import pytest
import torch

import nbfnet
from nbfnet import load
from nbfnet.errors import EvaluationError
from nbfnet.evaluation.given_negatives import evaluate_given, ogb_metrics
from nbfnet.evaluation.ranks import draw_links
from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.graph.datasets.given import given_negatives
from nbfnet.graph.datasets.ogb import read_biokg
from nbfnet.graph.datasets.ogb.biokg import GivenNegatives


def named(dataset):
    """Under the name that OGB's evaluator knows."""
    return dataclasses.replace(dataset, name="ogbl-biokg")


def test_ranks_by_hand(dataset_of, table_scorer):
    dataset = named(dataset_of(4, 1, [(0, 0, 1)], [], [(0, 0, 1), (2, 0, 3)]))
    scores = torch.zeros(2, 4, 4, dtype=torch.float64)
    scores[0, 0] = torch.tensor([0.9, 0.5, 0.5, 0.1])  # (0, r, ?): the answer is 1
    scores[0, 2] = torch.tensor([0.0, 0.0, 0.0, 1.0])  # (2, r, ?): 3
    scores[1, 1] = torch.tensor([0.3, 0.4, 0.3, 0.3])  # (?, r, 1): 0
    scores[1, 3] = torch.tensor([0.7, 0.7, 0.2, 0.7])  # (?, r, 3): 2
    negatives = GivenNegatives(
        head=np.array([[1, 2, 3, 3], [0, 1, 3, 3]], dtype=np.int32),
        tail=np.array([[0, 2, 3, 2], [0, 1, 2, 2]], dtype=np.int32),
    )
    result = evaluate_given(table_scorer(scores), dataset, "test", negatives)
    # tail of the first: one better, two tied of four: 1 + 1 + 1 = 3; of the second: best of all.
    # head of the first: one better, three tied: 1 + 1 + 1.5 = 3.5; of the second: four better.
    ranks = {"tail": [3, 1], "head": [3.5, 5]}
    for side, expected in ranks.items():
        metrics = getattr(result.overall, side).to_dict()
        assert metrics["mrr"] == pytest.approx(np.mean(1 / np.array(expected)))
        assert metrics["mr"] == pytest.approx(np.mean(expected))
        assert metrics["hits@3"] == np.mean(np.array(expected) <= 3)
    assert "4 given negatives" in result.protocol
    assert result.to_dict()["queries"] == 4
    for ties, first in (("optimistic", 2), ("pessimistic", 4)):
        other = evaluate_given(table_scorer(scores), dataset, "test", negatives, ties=ties)
        assert other.overall.tail.to_dict()["mr"] == (first + 1) / 2


def test_only_the_given_entities_count(knowledge, table_scorer):
    generator = np.random.default_rng(3)
    links, nodes = knowledge.valid, knowledge.train.num_nodes
    scores = torch.from_numpy(generator.integers(0, 6, size=(6, nodes, nodes)) / 4)
    negatives = GivenNegatives(*(generator.integers(0, nodes, (len(links), 7)).astype(np.int32) for _ in range(2)))
    for batch_size in (1, 5, 64):
        result = evaluate_given(table_scorer(scores), named(knowledge), "valid", negatives, batch_size=batch_size)
        for side, given in (("tail", negatives.tail), ("head", negatives.head)):
            ranks = []
            for i, (u, q, v) in enumerate(zip(links.head, links.relation, links.tail, strict=True)):
                row, answer = (scores[q, u], v) if side == "tail" else (scores[q + 3, v], u)
                own = row[answer]
                ranks.append(1 + sum(float(row[n] > own) + 0.5 * float(row[n] == own) for n in given[i]))
            shown = getattr(result.overall, side).to_dict()
            assert shown["mrr"] == pytest.approx(np.mean(1 / np.array(ranks)))
            assert shown["hits@1"] == pytest.approx(np.mean(np.array(ranks) <= 1))


def test_a_sample(knowledge, table_scorer):
    generator = np.random.default_rng(3)
    links, nodes = knowledge.valid, knowledge.train.num_nodes
    scores = table_scorer(torch.from_numpy(generator.random((6, nodes, nodes))))
    negatives = GivenNegatives(*(generator.integers(0, nodes, (len(links), 7)).astype(np.int32) for _ in range(2)))
    drawn = draw_links(len(links), 3, seed=5)
    result = evaluate_given(scores, named(knowledge), "valid", negatives, sample=3, seed=5)
    chosen = dataclasses.replace(named(knowledge), valid=links.take(drawn))
    own = GivenNegatives(head=negatives.head[drawn], tail=negatives.tail[drawn])
    expected = evaluate_given(scores, chosen, "valid", own)
    assert result.metrics == expected.metrics
    assert (result.sample.links, result.sample.of, expected.sample) == (3, len(links), None)


@pytest.mark.skipif(importlib.util.find_spec("ogb") is None, reason="ogb is not installed")
def test_ogbs_own_evaluator_agrees(knowledge, table_scorer):
    generator = np.random.default_rng(4)
    links, nodes = knowledge.test, knowledge.train.num_nodes
    scores = torch.from_numpy(generator.integers(0, 30, size=(6, nodes, nodes)) / 4)  # many ties
    negatives = GivenNegatives(*(generator.integers(0, nodes, (len(links), 30)).astype(np.int32) for _ in range(2)))
    result = evaluate_given(table_scorer(scores), named(knowledge), "test", negatives)
    official = result.ogb
    ours = result.metrics.to_dict()
    assert official is not None
    assert official.keys() == {"mrr", "hits@1", "hits@3", "hits@10"}
    for name, value in official.items():
        assert ours[name] == pytest.approx(value, abs=1e-6)
    alone = ogb_metrics("ogbl-biokg", np.array([[0.5, 0.5, 0.1], [0.1, 0.2, 0.3]]))
    assert alone["mrr"] == pytest.approx((1 / 1.5 + 1 / 3) / 2)


def test_scores_that_are_no_numbers_and_splits_without_links(dataset_of, table_scorer):
    dataset = named(dataset_of(3, 1, [(0, 0, 1)], [], [(0, 0, 1)]))
    negatives = GivenNegatives(*(np.array([[2, 2]], dtype=np.int32) for _ in range(2)))
    scores = torch.zeros(2, 3, 3)
    scores[0, 0, 1] = torch.nan
    with pytest.raises(EvaluationError, match="not a number"):
        evaluate_given(table_scorer(scores), dataset, "test", negatives)
    with pytest.raises(EvaluationError, match="no valid links"):
        evaluate_given(table_scorer(scores), dataset, "valid", negatives)


KINDS = {"disease": 5, "drug": 4, "function": 3, "protein": 9, "sideeffect": 3}


@pytest.fixture
def biokg(tmp_path, monkeypatch):
    """A folder as OGB publishes it, with random links between diseases and proteins, where datasets are looked for."""
    generator, folder = np.random.default_rng(6), tmp_path / "data" / "ogbl_biokg"
    (folder / "split" / "random").mkdir(parents=True)
    (folder / "mapping").mkdir()
    names = {f"{kind}_entidx2name": [f"{kind[0]}{i}" for i in range(count)] for kind, count in KINDS.items()}
    for file, rows in (names | {"relidx2relname": ["disease-protein", "similar"]}).items():
        with gzip.open(folder / "mapping" / f"{file}.csv.gz", "wt", newline="") as stream:
            csv.writer(stream).writerows([["idx", "name"], *enumerate(rows)])
    for split, count in (("train", 40), ("valid", 6), ("test", 7)):
        fields = {
            "head_type": ["disease"] * count,
            "head": generator.integers(0, 5, count),
            "relation": generator.integers(0, 2, count),
            "tail_type": ["protein"] * count,
            "tail": generator.integers(0, 9, count),
        }
        if split != "train":
            fields["head_neg"], fields["tail_neg"] = (generator.integers(0, n, (count, 11)) for n in (5, 9))
        torch.save(fields, folder / "split" / "random" / f"{split}.pt")
    monkeypatch.setenv("NBFNET_DATA", str(folder.parent))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return folder


def test_a_network_on_a_folder_of_ogb(biokg, small_config, tmp_path):
    read = read_biokg(biokg)
    run = nbfnet.train(read.dataset, tmp_path / "run", config=small_config)
    for split, negatives, links in (
        ("valid", read.valid_negatives, read.dataset.valid),
        ("test", read.test_negatives, read.dataset.test),
    ):
        given = given_negatives(run.dataset, split)
        np.testing.assert_array_equal(given.head, negatives.head)
        np.testing.assert_array_equal(given.tail, negatives.tail)
        scorer = NetworkScorer(run.folder.network(run.dataset), run.dataset.train.message_csr)
        result = evaluate_given(scorer, run.dataset, split, given)
        assert result.overall.links == len(links)
        everything = scorer.score_all(
            torch.from_numpy(links.head).long(), torch.from_numpy(links.relation).long()
        ).numpy()
        ranks = []
        for row, answer, others in zip(everything, links.tail.tolist(), given.tail, strict=True):
            ranks.append(1 + np.sum(row[others] > row[answer]) + 0.5 * np.sum(row[others] == row[answer]))
        assert result.overall.tail.to_dict()["mrr"] == pytest.approx(np.mean(1 / np.array(ranks)))
        if split == "valid":  # what the network was chosen by
            assert run.folder.manifest["metrics"]["valid"]["mrr"] == pytest.approx(result.metrics.mrr)


@pytest.mark.parametrize("name", ["world", "things of mine", "ogbl-biokg"])
def test_other_datasets_have_none(name, monkeypatch, tmp_path):
    monkeypatch.setenv("NBFNET_DATA", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    mine = dataclasses.replace(load("world"), name=name)
    assert given_negatives(mine, "test") is None


def test_another_dataset_of_the_same_name_has_none(biokg):
    assert given_negatives(dataclasses.replace(load("world"), name="ogbl-biokg"), "test") is None
