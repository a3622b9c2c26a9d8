"""Edge importance: how much the prediction would gain if an edge's message weighed a little more than 1."""

from __future__ import annotations

import torch
from torch import Tensor

from nbfnet.errors import ExplanationError
from nbfnet.graph.triplets import Float64
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.model.query_check import check_ids


def edge_importance(
    network: NeuralBellmanFordNetwork, graph: MessageGraph, source: int, relation: int, target: int
) -> Float64:
    """(iteration, slot) importances d logit(u, q, v) / d weight^(t)_e, at a weight of 1 on every message.

    The derivative passes through the very kernels that trained. A symmetric network adds h(u, v) and h(v, u) before
    the score; a weight then acts on both.

    Raises:
        QueryError: the query's ids do not fit the network and the graph.
        ExplanationError: the logit or a derivative is not a finite number.
    """
    dtype = network.indicator.query.weight.dtype
    weights = [
        torch.ones(graph.csr.num_edges, dtype=dtype, device=graph.device, requires_grad=True)
        for _ in range(network.config.layers)
    ]
    with torch.enable_grad():
        logit = _logit(network, graph, source, relation, target, weights)
        slopes = torch.autograd.grad(logit, weights)
    importance = torch.stack(slopes).double()
    if not (torch.isfinite(logit) and torch.isfinite(importance).all()):
        raise ExplanationError(
            f"the network's score of the query ({source}, {relation}, {target}) or its slope is not a finite number: "
            "its parameters are broken, train it again"
        )
    return importance.cpu().numpy()


def _logit(
    network: NeuralBellmanFordNetwork,
    graph: MessageGraph,
    source: int,
    relation: int,
    target: int,
    weights: list[Tensor],
) -> Tensor:
    both_ways = network.config.symmetric
    ends = check_ids("query", torch.tensor([source, target]).to(graph.device), (2,), graph.num_nodes, graph.device)
    sources = ends if both_ways else ends[:1]
    relations = torch.full_like(sources, relation)
    # The plain algorithm: with a derivative for every edge no row can be left out.
    hidden = network.pair_representation(graph, sources, relations, weights)
    representation = hidden[0, target] + hidden[1, source] if both_ways else hidden[0, target]
    logit: Tensor = network.score_function(representation, network.indicator.query(relations[0]))
    return logit
