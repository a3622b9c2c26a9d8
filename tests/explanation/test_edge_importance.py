"""Edge importances against finite differences, and against golden values of an independent implementation."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from nbfnet.config import ModelConfig
from nbfnet.errors import ExplanationError, QueryError
from nbfnet.explanation.edge_importance import edge_importance
from nbfnet.graph.inverse import with_inverse_count, with_inverses
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.kernels.backend import KERNEL_AGGREGATES, KERNEL_MESSAGES, use_backend
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.native import native_available

BACKENDS = ["reference", "cpu"] if native_available() else ["reference"]
# Equal messages into one node, as of a copied edge or from nodes not reached yet, give a maximum no slope: but for the
# copy at the end, which is left out there, the edges into a node have different relations.
EDGES = [(0, 0, 1), (1, 1, 2), (0, 1, 1), (2, 0, 3), (3, 1, 0), (2, 0, 2), (1, 1, 3), (4, 2, 3), (3, 0, 4), (0, 0, 1)]


def logit(
    network: NeuralBellmanFordNetwork, graph: MessageGraph, query: tuple[int, int, int], weights: torch.Tensor
) -> float:
    """The prediction with a weight (iteration, slot) on each message, written out."""
    u, q, v = query
    relation = torch.tensor([q])
    with torch.no_grad():
        hidden = network.pair_representation(graph, torch.tensor([u]), relation, list(weights))[0, v]
        if network.config.symmetric:
            hidden = hidden + network.pair_representation(graph, torch.tensor([v]), relation, list(weights))[0, u]
        return float(network.score_function(hidden, network.indicator.query(relation)[0]))


def differences(network: NeuralBellmanFordNetwork, graph: MessageGraph, query: tuple[int, int, int]) -> np.ndarray:
    """Central differences of the logit, (iteration, slot)."""
    shape = (network.config.layers, graph.csr.num_edges)
    slopes, step = np.zeros(shape), 1e-6
    for place in np.ndindex(shape):
        more, less = torch.ones(shape, dtype=torch.float64), torch.ones(shape, dtype=torch.float64)
        more[place] += step
        less[place] -= step
        slopes[place] = (logit(network, graph, query, more) - logit(network, graph, query, less)) / (2 * step)
    return slopes


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("message", "aggregate"), list(product(KERNEL_MESSAGES, KERNEL_AGGREGATES)))
def test_importance_is_the_slope_of_the_logit(
    make_csr: Callable[..., RelationalCSR], make_network: Callable[..., Any], message: str, aggregate: str, backend: str
) -> None:
    edges = EDGES if aggregate in ("sum", "mean") else EDGES[:-1]
    graph = MessageGraph(make_csr(6, 3, edges))
    network = make_network(3, message=message, aggregate=aggregate, learned_zero=True, seed=3)
    with use_backend(backend):
        for query in [(0, 0, 3), (3, 1, 3), (0, 1, 5)]:
            found = edge_importance(network, graph, *query)
            expected = differences(network, graph, query)
            np.testing.assert_allclose(found, expected, atol=1e-7, rtol=1e-6)
            assert found.any() == (query[2] != 5)


@pytest.mark.parametrize("query", [(0, 0, 3), (2, 1, 2), (5, 0, 1)])
def test_a_weight_of_a_symmetric_network_acts_both_ways(
    make_csr: Callable[..., RelationalCSR], make_network: Callable[..., Any], query: tuple[int, int, int]
) -> None:
    graph = MessageGraph(make_csr(6, 3, EDGES))
    network = make_network(3, symmetric=True, aggregate="sum", seed=1)
    found = edge_importance(network, graph, *query)
    np.testing.assert_allclose(found, differences(network, graph, query), atol=1e-7, rtol=1e-6)
    u, q, v = (torch.tensor([part]) for part in query)
    ones = torch.ones(3, len(EDGES)).double()
    assert float(logit(network, graph, query, ones)) == pytest.approx(network.score(graph, u, q, v[:, None]).item())


def test_an_edge_that_the_answer_cannot_feel_has_no_importance(
    make_csr: Callable[..., RelationalCSR], make_network: Callable[..., Any]
) -> None:
    """On the chain 0 -> 1 -> 2 -> 3, three iterations: the last edge into 3 is felt only at the end of the walk."""
    graph = MessageGraph(make_csr(4, 1, [(0, 0, 1), (1, 0, 2), (2, 0, 3)]))
    found = edge_importance(make_network(1, seed=2), graph, 0, 0, 3)
    assert found[0, 0] != 0  # 0 -> 1 at the first iteration
    assert (found[1:, 0] == 0).all()  # later, 3 is too far
    assert (found[2, :2] == 0).all()  # in the last iteration only edges into 3 count


def test_a_graph_without_edges(make_csr: Callable[..., RelationalCSR], make_network: Callable[..., Any]) -> None:
    assert edge_importance(make_network(1), MessageGraph(make_csr(1, 1, [])), 0, 0, 0).shape == (3, 0)


@pytest.mark.parametrize("query", [(6, 0, 1), (-1, 0, 1), (0, 3, 1), (0, 0, 6), (0, 0, -1)])
def test_ids_that_do_not_fit_are_refused(
    make_csr: Callable[..., RelationalCSR], make_network: Callable[..., Any], query: tuple[int, int, int]
) -> None:
    with pytest.raises(QueryError, match="expected 0 to"):
        edge_importance(make_network(3), MessageGraph(make_csr(6, 3, EDGES)), *query)


def test_a_broken_network_is_refused(make_csr: Callable[..., RelationalCSR], make_network: Callable[..., Any]) -> None:
    network = make_network(3)
    with torch.no_grad():
        network.layers[1].linear.bias[0] = float("nan")
    with pytest.raises(ExplanationError, match="not a finite number"):
        edge_importance(network, MessageGraph(make_csr(6, 3, EDGES)), 0, 0, 3)


def test_no_gradient_is_left_on_the_parameters(
    make_csr: Callable[..., RelationalCSR], make_network: Callable[..., Any]
) -> None:
    network = make_network(3)
    with torch.no_grad():
        edge_importance(network, MessageGraph(make_csr(6, 3, EDGES)), 0, 0, 3)
    assert all(parameter.grad is None for parameter in network.parameters())


@pytest.mark.parametrize("backend", BACKENDS)
def test_golden_values(golden_file: Path, backend: str) -> None:
    """In the files a weight acts on its iteration and all later ones: rows are sums over this and later iterations."""
    values = load_file(golden_file)
    if "edge_importance" not in values:
        pytest.skip("the file gives no importances")
    message, aggregate, edges = golden_file.stem.split("-")
    config = ModelConfig(dim=8, layers=3, hidden=(len(values["param.mlp.0.bias"]),), message=message,
                         aggregate=aggregate, edges=edges)  # fmt: skip
    triplets = with_inverses(Triplets.of(*values["edges"].numpy().T), 3)
    csr = RelationalCSR.from_triplets(triplets, 23, with_inverse_count(3))
    network = NeuralBellmanFordNetwork(config, csr.num_relations).double()
    places = {"query.": "indicator.query.", "mlp.": "score_function.mlp."}
    parameters = {}
    for name, value in values.items():
        if name.startswith("param."):
            ours = name.removeprefix("param.").replace(".relation", ".edges.relation")
            for theirs, place in places.items():
                ours = place + ours.removeprefix(theirs) if ours.startswith(theirs) else ours
            parameters[ours] = value
    network.load_state_dict(parameters)
    u, q, v = (int(values[name][0]) for name in ("query_source", "query_relation", "explain_target"))
    with use_backend(backend):
        found = edge_importance(network, MessageGraph(csr), u, q, v)
    by_edge = np.zeros_like(found)
    by_edge[:, csr.edge] = found
    cumulative = by_edge[::-1].cumsum(0)[::-1]
    np.testing.assert_allclose(cumulative, values["edge_importance"].numpy(), atol=1e-9, rtol=1e-9)
