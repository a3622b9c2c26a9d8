"""Baselines: each is evaluated as a network is, and is what it says."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nbfnet.evaluation.baselines import BASELINES
from nbfnet.evaluation.evaluator import evaluate


def scores_by_hand(graph, name, networkx_scores):
    """(relation, source, node), inverse relations included."""
    count = graph.csr.num_relations
    if name != "relation frequency":
        return np.tile(networkx_scores(graph, name), (count, 1, 1))
    facts = graph.triplets
    both_ways = [(facts.relation, facts.tail), (facts.relation + (count // 2 if count > 1 else 0), facts.head)]
    table = np.zeros((count, graph.num_nodes, graph.num_nodes))
    for relation, answer in both_ways:
        np.add.at(table, (relation, slice(None), answer), 1)
    return table


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("kind", ["knowledge", "inductive", "homogeneous"])
def test_each_is_evaluated_as_scores_by_hand_are(request, name, kind, networkx_scores, table_scorer):
    dataset = request.getfixturevalue(kind)
    graph = dataset.facts_of_test
    table, baseline = scores_by_hand(graph, name, networkx_scores), BASELINES[name](graph)
    for relation, expected in enumerate(table):
        nodes = torch.arange(graph.num_nodes)
        got = baseline.score_all(nodes, torch.full_like(nodes, relation))
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-6, atol=1e-8)
    expected = evaluate(table_scorer(table), dataset, "test").metrics.to_dict()
    assert evaluate(baseline, dataset, "test").metrics.to_dict() == pytest.approx(expected)


def test_their_names():
    assert set(BASELINES) == {"katz", "ppr", "distance", "relation frequency"}
