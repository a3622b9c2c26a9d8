"""Edge importance: how much the prediction would gain if an edge's message weighed a little more than 1."""

from __future__ import annotations

import torch

from nbfnet.errors import ExplanationError
from nbfnet.graph.triplets import Float64
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork


def edge_importance(
    network: NeuralBellmanFordNetwork, graph: MessageGraph, source: int, relation: int, target: int
) -> Float64:
    """(iteration, slot) importances d logit(u, q, v) / d weight^(t)_e, at a weight of 1 on every message.

    The derivative passes through the very kernels that trained, over the rows that the answer depends on: the weights
    of all other messages have the slope zero. A symmetric network adds h(u, v) and h(v, u) before
    the score; a weight then acts on both.

    Raises:
        QueryError: the query's ids do not fit the network and the graph.
        ExplanationError: the logit or a derivative is not a finite number.
    """
    dtype = network.like.dtype
    weights = [
        torch.ones(graph.csr.num_edges, dtype=dtype, device=graph.device, requires_grad=True)
        for _ in range(network.config.layers)
    ]
    query = (torch.tensor(ids, device=graph.device) for ids in ([source], [relation], [[target]]))
    with torch.enable_grad():
        logit = network.score(graph, *query, edge_weights=weights)[0, 0]
        slopes = torch.autograd.grad(logit, weights)
    importance = torch.stack(slopes).double()
    if not (torch.isfinite(logit) and torch.isfinite(importance).all()):
        raise ExplanationError(
            f"the network's score of the query ({source}, {relation}, {target}) or its slope is not a finite number: "
            "its parameters are broken, train it again"
        )
    return importance.cpu().numpy()
