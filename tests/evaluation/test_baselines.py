"""Baselines: each is evaluated as a network is, and is what it says."""

from __future__ import annotations

import networkx as nx
import pytest
import torch

from nbfnet.evaluation.baselines import BASELINES
from nbfnet.evaluation.evaluator import evaluate


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("kind", ["knowledge", "inductive", "homogeneous"])
def test_each_can_be_evaluated(request, name, kind):
    dataset = request.getfixturevalue(kind)
    result = evaluate(BASELINES[name](dataset.facts_of_test), dataset, "test")
    metrics = result.metrics.document()
    assert all(0 <= value <= 1 for key, value in metrics.items() if key != "mr")


def test_their_scores_are_what_they_say(knowledge):
    graph = knowledge.train
    facts = list(
        zip(graph.triplets.head.tolist(), graph.triplets.relation.tolist(), graph.triplets.tail.tolist(), strict=True)
    )
    undirected = nx.Graph([(u, v) for u, _, v in facts])
    asked = torch.tensor([1]), torch.tensor([0])
    distance = BASELINES["distance"](graph).score_all(*asked)[0].tolist()
    lengths = nx.single_source_shortest_path_length(undirected, 1)
    order = sorted(range(graph.num_nodes), key=lambda v: (-distance[v], v))
    assert order == sorted(range(graph.num_nodes), key=lambda v: (lengths.get(v, 10**9), v))
    frequency = BASELINES["relation frequency"](graph)
    assert frequency.score_all(*asked)[0].tolist() == [
        sum((r, t) == (0, v) for _, r, t in facts) for v in range(graph.num_nodes)
    ]
    heads = frequency.score_all(torch.tensor([1]), torch.tensor([3 + 1]))[0].tolist()
    assert heads == [sum((h, r) == (v, 1) for h, r, _ in facts) for v in range(graph.num_nodes)]
    assert set(BASELINES) == {"katz", "ppr", "distance", "relation frequency"}
