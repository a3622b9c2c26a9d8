from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from sklearn.metrics import average_precision_score, roc_auc_score

from nbfnet.config import ModelConfig
from nbfnet.errors import DatasetError, EvaluationError
from nbfnet.evaluation.evaluator import evaluate, negative_pairs
from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.graph.triplets import Triplets
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork


def pairs_of(*parts):
    return {frozenset(pair) for part in parts for pair in zip(part.head.tolist(), part.tail.tolist(), strict=True)}


@pytest.mark.parametrize("split", ["valid", "test"])
def test_negatives_are_edges_nowhere_and_fixed_by_the_seed(homogeneous, split):
    u, v = negative_pairs(homogeneous, split, 60, seed=0)
    drawn = {frozenset(pair) for pair in zip(u.tolist(), v.tolist(), strict=True)}
    assert len(drawn) == 60 and all(len(pair) == 2 for pair in drawn)
    assert not drawn & pairs_of(homogeneous.train.triplets, homogeneous.valid, homogeneous.test)
    assert np.array_equal((u, v), negative_pairs(homogeneous, split, 60, seed=0))
    assert not np.array_equal((u, v), negative_pairs(homogeneous, split, 60, seed=1))


def test_valid_and_test_have_negatives_of_their_own(homogeneous):
    valid, test = (negative_pairs(homogeneous, split, 20, seed=0) for split in ("valid", "test"))
    assert not np.array_equal(valid, test)


@pytest.mark.parametrize("batch_size", [1, 4, 1000])
def test_a_network_equals_scikit_learn_on_its_scores(homogeneous, batch_size):
    torch.manual_seed(0)
    config = ModelConfig(dim=8, layers=2, edges="independent", symmetric=True)
    network = NeuralBellmanFordNetwork(config, 1).double()
    result = evaluate(NetworkScorer(network, homogeneous.train.csr), homogeneous, seed=3, batch_size=batch_size)
    u, v = negative_pairs(homogeneous, "test", len(homogeneous.test), seed=3)
    pairs = [*zip(homogeneous.test.head, homogeneous.test.tail, strict=True), *zip(u, v, strict=True)]
    graph = MessageGraph(homogeneous.train.csr)
    with torch.no_grad():
        scores = [
            network.score(graph, torch.tensor([int(a)]), torch.tensor([0]), torch.tensor([[int(b)]])).item()
            for a, b in pairs
        ]
    labels = [1] * len(homogeneous.test) + [0] * len(u)
    assert result.metrics.auroc == pytest.approx(roc_auc_score(labels, scores))
    assert result.metrics.ap == pytest.approx(average_precision_score(labels, scores))
    document = result.to_dict()
    assert document["metrics"] == {"auroc": result.metrics.auroc, "ap": result.metrics.ap}
    assert document["queries"] == 2 * len(homogeneous.test)
    assert {"dataset", "split", "protocol", "ties", "queries", "metrics", "by_category", "sample", "seconds"} == set(
        document
    )


def test_a_sample(homogeneous, table_scorer):
    table = np.random.default_rng(0).random((1, 30, 30))
    drawn = evaluate(table_scorer(table), homogeneous, sample=5)
    assert drawn.links == 5
    sample = drawn.to_dict()["sample"]
    assert (sample["links"], sample["of"], sample["seed"]) == (5, 13, 0)
    low, high = sample["auroc_interval"]
    assert 0 <= low < drawn.metrics.auroc < high <= 1
    assert evaluate(table_scorer(table), homogeneous).to_dict()["sample"] is None


def test_scores_that_are_not_numbers(homogeneous, table_scorer):
    with pytest.raises(EvaluationError, match="26 of 26 queries"):
        evaluate(table_scorer(np.full((1, 30, 30), np.nan)), homogeneous)


def test_no_links_or_no_negatives(dataset_of, homogeneous, table_scorer):
    scorer = table_scorer(np.zeros((1, 30, 30)))
    with pytest.raises(EvaluationError, match="no valid links"):
        evaluate(scorer, dataclasses.replace(homogeneous, valid=Triplets.empty()), "valid")
    triangle = dataset_of(3, 1, [(0, 0, 1)], [(1, 0, 2)], [(2, 0, 0)], kind="homogeneous")
    with pytest.raises(DatasetError, match="only 0"):
        evaluate(scorer, triangle)
