"""One Bellman-Ford iteration over all nodes of a graph, timed: compiled, and as message passing libraries do it."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn

from nbfnet.config import ModelConfig
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.model.frontier import Frontier
from nbfnet.model.iteration import BellmanFordIteration, RowEdges
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.row_evaluation import Boundary, fused_step


class Case:
    """The inputs of an iteration, every query with edge representations of its own, and the time that it takes."""

    def __init__(
        self, csr: RelationalCSR, queries: int, dim: int = 32, message: str = "distmult", aggregate: str = "pna"
    ) -> None:
        settings = {"layers": 2, "dim": dim, "message": message, "aggregate": aggregate, "edges": "dependent"}
        self.graph, self.queries, self.dim = MessageGraph(csr), queries, dim
        self.layer = BellmanFordIteration(ModelConfig.model_validate(settings), csr.num_relations)
        ids = np.arange(queries)
        self.frontier = Frontier.make(
            self.graph, ids.astype(np.int32), ids, None, iterations=2, dependent=True, frontier=False
        )
        # Representations come out of a ReLU, so many numbers are exactly zero.
        self.previous = torch.randn(queries, csr.num_nodes, dim).relu_().requires_grad_()
        self.representation = torch.randn(queries, csr.num_relations, dim).requires_grad_()
        self.query = torch.randn(queries, dim).requires_grad_()
        self.direction = torch.randn(queries, csr.num_nodes, dim)

    def milliseconds(self, step: Callable[[Case], Tensor]) -> tuple[float, float]:
        """Forward and backward, for one query."""
        inputs = [self.previous, self.representation, self.query, *self.layer.linear.parameters()]
        begin = time.perf_counter()
        out = step(self)
        middle = time.perf_counter()
        torch.autograd.grad(out, inputs, self.direction)
        end = time.perf_counter()
        return (middle - begin) / self.queries * 1e3, (end - middle) / self.queries * 1e3

    def boundary(self) -> Tensor:
        """(query, node, dim): query i starts at node i."""
        every = torch.zeros(self.queries, self.graph.num_nodes, self.dim)
        ids = torch.arange(self.queries)
        return every.index_put((ids, ids), self.query)


def compiled(case: Case) -> Tensor:
    """One compiled call."""
    rows, boundary = case.previous.flatten(0, 1), Boundary(case.query, torch.zeros(case.dim))
    out = fused_step(case.layer, case.frontier, 2, rows, case.representation, boundary, None)
    return out.view(case.queries, -1, case.dim)


def reference(case: Case) -> Tensor:
    """Our own specification in plain PyTorch."""
    graph = case.graph
    edges = RowEdges(graph.indptr, graph.source_index, graph.relation)
    scale = graph.scale(torch.float32)
    out: Tensor = case.layer(case.previous, case.previous, case.boundary(), edges, case.representation, scale)
    return out


def gather_scatter(case: Case) -> Tensor:
    """As message passing libraries do it: gather the messages, scatter them once for each statistic, project."""
    graph, layer, boundary = case.graph, case.layer, case.boundary()
    degree = graph.indptr.diff()
    row = torch.arange(graph.num_nodes).repeat_interleave(degree)
    messages = case.previous[:, graph.source_index] * case.representation[:, graph.relation]
    spread = row[None, :, None].expand_as(messages)
    count = (degree + 1)[:, None]
    mean = boundary.scatter_add(1, spread, messages) / count
    mean_square = boundary.square().scatter_add(1, spread, messages.square()) / count
    largest = boundary.scatter_reduce(1, spread, messages, "amax")
    smallest = boundary.scatter_reduce(1, spread, messages, "amin")
    deviation = (mean_square - mean.square()).clamp(min=1e-6).sqrt()
    statistics = torch.stack([mean, largest, smallest, deviation], dim=-1)
    scale = graph.scale(torch.float32)
    scalers = torch.stack([torch.ones_like(scale), scale, 1 / scale.clamp(min=0.01)], dim=-1)
    features = (statistics[..., None] * scalers[:, None, None]).flatten(2)
    hidden = nn.functional.linear(torch.cat([case.previous, features], dim=-1), layer.linear.weight, layer.linear.bias)
    assert layer.layer_norm is not None
    normal: Tensor = layer.layer_norm(hidden)
    return normal.relu() + case.previous


def random_graph(nodes: int, edges: int) -> RelationalCSR:
    """Edges between random nodes, 50 relations."""
    generator = np.random.default_rng(0)
    head, relation, tail = (generator.integers(n, size=edges, dtype=np.int32) for n in (nodes, 50, nodes))
    return RelationalCSR.from_triplets(Triplets(head, relation, tail), nodes, 50)
