"""Learned Bellman-Ford iterations: from the sources of a batch to the representations of some nodes, or of all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nbfnet.config import ModelConfig
from nbfnet.graph.triplets import Int32, Int64
from nbfnet.model.frontier import Frontier
from nbfnet.model.iteration import BellmanFordIteration, RowEdges
from nbfnet.model.linear_iteration import LinearIteration
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.parts import frontier_memory, in_parts, is_too_large, plain_memory
from nbfnet.model.query_relations import QueryRelations
from nbfnet.model.row_evaluation import Iteration, evaluate_rows, is_fused
from nbfnet.native import native_available
from nbfnet.operators.aggregate import Aggregate
from nbfnet.operators.indicator import boundary
from nbfnet.operators.message import Message


class BellmanFord(nn.Module):
    """h_q(u, v) by T learned iterations from the source u, for whatever the embeddings q of the relations are."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.memory_limit = 4 << 30  # bytes that the rows of one batch may take before it is split

    def make_layers(self, num_relations: int, message: Message | None, aggregate: Aggregate | None) -> nn.ModuleList:
        """T iterations over edges of so many relations; operators of a user's own instead of the configuration's."""
        config = self.config
        if config.kind != "nbfnet":
            return nn.ModuleList(LinearIteration(step) for step in range(config.layers))
        return nn.ModuleList(
            BellmanFordIteration(config, num_relations, message, aggregate) for _ in range(config.layers)
        )

    @property
    def like(self) -> Tensor:
        """A parameter: representations have its type and are on its device."""
        return next(self.parameters())

    def iterations(self) -> list[Iteration]:
        """The layers."""
        layers = self.layers
        assert isinstance(layers, nn.ModuleList)
        return [layer for layer in layers if isinstance(layer, Iteration)]

    def represent(
        self,
        graph: MessageGraph,
        source: Tensor,
        relation: Tensor,
        target: Tensor,
        relations: QueryRelations,
        edge_weights: Sequence[Tensor] | None = None,
    ) -> Tensor:
        """h_q(u, v), (query, candidate, dim), of targets (query, candidate)."""
        if edge_weights is not None and not self.is_fused():
            hidden = self.represent_all(graph, source, relation, relations, edge_weights)
            return hidden.gather(1, target[:, :, None].expand(*target.shape, hidden.shape[2]))
        if len(source) == 0 or not self.plans_rows(graph):
            needed = plain_memory(graph, len(source), self.config, self.like)
            if is_too_large(needed, self.memory_limit, len(source)):
                part = partial(self.represent, relations=relations)
                return in_parts(needed, self.memory_limit, part, graph, source, relation, target)
            hidden = self.represent_all(graph, source, relation, relations)
            return hidden.gather(1, target[:, :, None].expand(*target.shape, hidden.shape[2]))
        query, query_source, query_relation = distinct_queries(source, relation)
        order = torch.argsort(query, stable=True)
        begin = np.zeros(len(query_source) + 1, dtype=np.int64)
        np.cumsum(np.bincount(query.numpy(), minlength=len(query_source)) * target.shape[1], out=begin[1:])
        nodes = np.ascontiguousarray(target[order].flatten().numpy(), dtype=np.int32)
        frontier = self.frontier(graph, query_source, query_relation, (begin, nodes))
        needed = self.frontier_memory(frontier)
        if is_too_large(needed, self.memory_limit, len(query_source)):
            part = partial(self.represent, relations=relations, edge_weights=edge_weights)
            return in_parts(needed, self.memory_limit, part, graph, source, relation, target)
        rows = evaluate_rows(relations, self.iterations(), frontier, edge_weights)
        # Not rows[...]: its gradient is summed by threads in any order, so that no two runs are the same.
        in_order = rows.index_select(0, frontier.target_rows()).view(*target.shape, self.config.width)
        return in_order.index_select(0, torch.argsort(order))

    def represent_all(
        self,
        graph: MessageGraph,
        source: Tensor,
        relation: Tensor,
        relations: QueryRelations,
        edge_weights: Sequence[Tensor] | None = None,
    ) -> Tensor:
        """h_q(u, v), (query, node, dim), of every node: the plain algorithm in plain PyTorch, the specification.

        ``edge_weights`` holds a weight (edge,) for each iteration, which multiplies the messages; edges are in the
        order of the graph's slots.
        """
        start = boundary(source, relations.of(relation), relations.zero, graph.num_nodes)
        context = relations.context_of(relation)
        scale = graph.scale(start.dtype)
        hidden = start
        for t, layer in enumerate(self.iterations()):
            weight = None if edge_weights is None else edge_weights[t]
            edges = RowEdges(graph.indptr, graph.source_index, graph.relation, weight)
            hidden = layer(hidden, hidden, start, edges, layer.edges(context), scale)
        return hidden

    def is_fused(self) -> bool:
        """Whether iterations are compiled calls; BackendError where a backend was chosen that cannot serve."""
        return is_fused(self.iterations()[0], self.like)

    def plans_rows(self, graph: MessageGraph) -> bool:
        """Whether the rows of a batch are planned, or every node of every query is computed."""
        self.is_fused()
        return graph.device.type == "cpu" and native_available()

    def frontier(
        self,
        graph: MessageGraph,
        source: Int32,
        relation: Int64,
        targets: tuple[Int64, Int32] | None,
        **options: Any,
    ) -> Frontier:
        """The rows of distinct queries, see ``Frontier.make``."""
        return Frontier.make(
            graph,
            source,
            relation,
            targets,
            iterations=self.config.layers,
            dependent=self.config.edges != "independent",
            frontier=self.config.frontier != "off",
            **options,
        )

    def frontier_memory(self, frontier: Frontier) -> int:
        """About how many bytes the rows of a frontier take."""
        return frontier_memory(frontier, self.iterations()[0], self.config, self.like)


def distinct_queries(source: Tensor, relation: Tensor) -> tuple[Tensor, Int32, Int64]:
    """Queries that share source and relation are computed once: which one each is, and their parts."""
    if len(source) == 1:  # sorting one takes longer than a small query
        return torch.zeros(1, dtype=torch.long), source.numpy().astype(np.int32), relation.numpy().astype(np.int64)
    both = np.stack([relation.numpy(), source.numpy()], axis=1)
    distinct, query = np.unique(both, axis=0, return_inverse=True)
    return torch.from_numpy(query.reshape(-1)), distinct[:, 1].astype(np.int32), distinct[:, 0]
