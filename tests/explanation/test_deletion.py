"""Logits without some facts, against the network asked from the beginning on a graph that does not have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from nbfnet.explanation import deletion
from nbfnet.explanation.deletion import Deletion
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Float64, Triplets
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork

Deleted = list[frozenset[int]]
QUERIES = [(0, 1, 2), (3, 0, 3), (5, 2, 11), (11, 3, 0)]


def ugly_csr(seed: int = 0, nodes: int = 12, edges: int = 30) -> RelationalCSR:
    """Hubs, loops, copies, and a node that nothing leads to or from."""
    random = np.random.default_rng(seed)
    ends = random.integers(0, nodes - 1, (2, edges)) * random.integers(0, 2, (2, edges))
    relation = random.integers(0, 4, edges)
    rows = np.stack([ends[0], relation, ends[1]]).astype(np.int32)
    return RelationalCSR.from_triplets(Triplets.of(*np.concatenate([rows, rows[:, :3]], axis=1)), nodes, 4)


def random_sets(csr: RelationalCSR, seed: int = 1) -> Deleted:
    random = np.random.default_rng(seed)
    sizes = (0, 1, 1, 2, 5, csr.num_edges) * 3
    return [frozenset(random.choice(csr.num_edges, size, replace=False).tolist()) for size in sizes]


def from_the_beginning(
    network: NeuralBellmanFordNetwork,
    graph: MessageGraph,
    query: tuple[int, int, int],
    deleted: Deleted,
    mean_log_degree: float | None,
) -> Float64:
    source, relation, target = (torch.tensor([part]) for part in query)
    logits = []
    for slots in deleted:
        view = graph.csr.hide(np.array(sorted(slots), dtype=np.int64))
        messages = MessageGraph(view, mean_log_degree=mean_log_degree)
        with torch.no_grad():
            logits.append(network.score(messages, source, relation, target[:, None]).item())
    return np.array(logits)


@pytest.mark.parametrize("edges", ["dependent", "independent", "pairwise", "relational", "factorised", "alternating"])
@pytest.mark.parametrize("aggregate", ["pna", "sum"])
def test_a_small_graph_without_some_edges(make_network: Callable[..., Any], edges: str, aggregate: str) -> None:
    """Every row of a small graph is computed again: the scale of every degree is another one."""
    network, graph, query = make_network(4, edges=edges, aggregate=aggregate), MessageGraph(ugly_csr()), (0, 1, 2)
    deleted = random_sets(graph.csr)
    found = Deletion(network, graph, "knowledge", query).logits_without_facts(deleted)
    np.testing.assert_allclose(found, from_the_beginning(network, graph, query, deleted, None), rtol=0, atol=1e-12)


@pytest.mark.parametrize("layers", [1, 2, 6])
@pytest.mark.parametrize(
    "options",
    [
        {"edges": "dependent"},
        {"edges": "independent", "aggregate": "sum", "message": "transe"},
        {"edges": "independent", "aggregate": "max", "message": "rotate", "shortcut": False},
        {"edges": "independent", "symmetric": True},
        {"edges": "relational", "learned_zero": True},
        {"edges": "pairwise", "layer_norm": False},
    ],
)
@pytest.mark.parametrize("query", QUERIES)
def test_cones(
    make_network: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    layers: int,
    options: dict[str, Any],
    query: tuple[int, int, int],
) -> None:
    """With the whole graph's scale of degrees, the rows of the cones are all that a deletion changes."""
    monkeypatch.setattr(deletion, "_SMALL", np.inf)
    monkeypatch.setattr(Deletion, "_score", None)  # nothing is asked from the beginning
    for seed, together in enumerate((1 << 22, 20)):
        monkeypatch.setattr(deletion, "_NODES_TOGETHER", together)
        network, graph = make_network(4, layers=layers, seed=seed, **options), MessageGraph(ugly_csr(seed))
        deleted = random_sets(graph.csr, seed)
        found = Deletion(network, graph, "knowledge", query).logits_without_facts(deleted)
        expected = from_the_beginning(network, graph, query, deleted, graph.mean_log_degree)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_a_large_graph_needs_cones_only(make_network: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The scale of degrees hardly changes, and what that would change is left out."""
    csr = ugly_csr(nodes=5000, edges=20_000)
    network, graph = make_network(4, layers=4), MessageGraph(csr)
    query = (int(csr.source[-1]), 1, int(csr.target[-1]))
    deleted = [frozenset({slot}) for slot in range(csr.num_edges - 20, csr.num_edges)]
    expected = from_the_beginning(network, graph, query, deleted, None)
    monkeypatch.setattr(Deletion, "_score", None)
    found = Deletion(network, graph, "knowledge", query).logits_without_facts(deleted)
    assert np.ptp(expected) > 0.1
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3)
