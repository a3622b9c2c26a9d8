"""The Neural Bellman-Ford Network: INDICATOR, T iterations, score."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from nbfnet.config import ModelConfig
from nbfnet.graph.triplets import Int32, Int64
from nbfnet.model.frontier import Frontier
from nbfnet.model.iteration import BellmanFordIteration, RowEdges
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.parts import frontier_memory, in_parts, is_too_large, plain_memory
from nbfnet.model.query_check import check_graph, check_ids
from nbfnet.model.row_evaluation import (
    Background,
    Backgrounds,
    evaluate_background,
    evaluate_rows,
    is_fused,
    score_rows,
)
from nbfnet.model.score import Score
from nbfnet.native import native_available
from nbfnet.operators.aggregate import Aggregate
from nbfnet.operators.indicator import Indicator
from nbfnet.operators.message import Message


class NeuralBellmanFordNetwork(nn.Module):
    """h_q(u, v) by T learned Bellman-Ford iterations from the source u, and p(v | u, q) = sigmoid(f(h_q(u, v)))."""

    def __init__(
        self,
        config: ModelConfig,
        num_relations: int,
        *,
        message: Message | None = None,
        aggregate: Aggregate | None = None,
    ) -> None:
        """A network for ``num_relations`` relation ids, inverses included.

        ``message`` and ``aggregate`` are operators of your own instead of the configuration's.
        """
        super().__init__()
        self.config = config
        self.indicator = Indicator(num_relations, config.dim, learned_zero=config.learned_zero)
        self.layers = nn.ModuleList(
            BellmanFordIteration(config, num_relations, message, aggregate) for _ in range(config.layers)
        )
        self.score_function = Score(config.dim, config.hidden)
        self.memory_limit = 4 << 30  # bytes that the rows of one batch may take before it is split

    def parameter_counts(self) -> dict[str, int]:
        """The parameters in the paper's four parts, and their total."""
        layers = self._iterations()
        message = _count(*(part for layer in layers for part in (layer.edges, layer.message)))
        counts = {
            "indicator": _count(self.indicator),
            "message": message,
            "aggregate": _count(*layers) - message,
            "score": _count(self.score_function),
        }
        return {**counts, "total": sum(counts.values())}

    def score(
        self,
        graph: MessageGraph,
        source: Tensor,
        relation: Tensor,
        target: Tensor,
        *,
        edge_weights: Sequence[Tensor] | None = None,
    ) -> Tensor:
        """Logits (query, candidate) of targets (query, candidate) for sources (query,) and relations (query,).

        ``edge_weights`` holds a weight (edge,) for each iteration, which multiplies the messages; edges are in the
        order of the graph's slots.

        Raises:
            QueryError: shapes, types or ids do not fit the network and the graph.
        """
        source, relation, target = self._check(graph, source, relation, target)
        representation = self._represent(graph, source, relation, target, edge_weights)
        if self.config.symmetric:
            pairs = target.shape
            back = self._represent(
                graph,
                target.flatten(),
                relation[:, None].expand(pairs).flatten(),
                source[:, None].expand(pairs).reshape(-1, 1),
                edge_weights,
            )
            representation = representation + back.view_as(representation)
        logits: Tensor = self.score_function(representation, self.indicator.query(relation)[:, None])
        return logits

    def has_background(self, graph: MessageGraph) -> bool:
        """Whether queries share what no source changes, so that it is worth keeping from one to the next."""
        return not self.config.symmetric and self.config.frontier != "off" and self._plans_rows(graph)

    def background(self, graph: MessageGraph, relation: int) -> Background:
        """What no source changes, for ``score_all`` of a relation's queries."""
        with torch.no_grad():
            return evaluate_background(self.indicator, self._iterations(), self.score_function, graph, relation)

    def score_all(
        self, graph: MessageGraph, source: Tensor, relation: Tensor, backgrounds: Backgrounds | None = None
    ) -> Tensor:
        """Logits (query, node) of every node, for sources (query,) and relations (query,).

        ``backgrounds`` gives the background of a relation, where it is kept and no gradient is needed.

        Raises:
            QueryError: shapes, types or ids do not fit the network and the graph.
        """
        source, relation = self._check(graph, source, relation)
        if self.config.symmetric:
            nodes = torch.arange(graph.num_nodes, device=source.device).expand(len(source), -1)
            return self.score(graph, source, relation, nodes)
        return self._score_all(graph, source, relation, backgrounds)

    def _score_all(
        self, graph: MessageGraph, source: Tensor, relation: Tensor, backgrounds: Backgrounds | None = None
    ) -> Tensor:
        if len(source) == 0 or not self._plans_rows(graph):
            needed = plain_memory(graph, len(source), self.config, self.indicator.query.weight)
            if is_too_large(needed, self.memory_limit, len(source)):
                return in_parts(needed, self.memory_limit, self._score_all, graph, source, relation)
            hidden = self.pair_representation(graph, source, relation)
            logits: Tensor = self.score_function(hidden, self.indicator.query(relation)[:, None])
            return logits
        query, query_source, query_relation = _distinct_queries(source, relation)
        frontier = self._frontier(graph, query_source, query_relation, None, background_given=backgrounds is not None)
        needed = frontier_memory(frontier, self._iterations()[0], self.config, self.indicator.query.weight)
        if is_too_large(needed, self.memory_limit, len(query_source)):
            scored = partial(self._score_all, backgrounds=backgrounds)
            return in_parts(needed, self.memory_limit, scored, graph, source, relation)
        rows = evaluate_rows(self.indicator, self._iterations(), frontier, backgrounds=backgrounds)
        # Not [query]: as below, its gradient would be summed in any order.
        return score_rows(self.indicator, self.score_function, frontier, rows, backgrounds).index_select(0, query)

    def _represent(
        self,
        graph: MessageGraph,
        source: Tensor,
        relation: Tensor,
        target: Tensor,
        edge_weights: Sequence[Tensor] | None = None,
    ) -> Tensor:
        """h_q(u, v), (query, candidate, dim), of targets (query, candidate)."""
        if edge_weights is not None and not self._is_fused():
            hidden = self.pair_representation(graph, source, relation, edge_weights)
            return hidden.gather(1, target[:, :, None].expand(*target.shape, hidden.shape[2]))
        if len(source) == 0 or not self._plans_rows(graph):
            needed = plain_memory(graph, len(source), self.config, self.indicator.query.weight)
            if is_too_large(needed, self.memory_limit, len(source)):
                return in_parts(needed, self.memory_limit, self._represent, graph, source, relation, target)
            hidden = self.pair_representation(graph, source, relation)
            return hidden.gather(1, target[:, :, None].expand(*target.shape, hidden.shape[2]))
        query, query_source, query_relation = _distinct_queries(source, relation)
        order = torch.argsort(query, stable=True)
        begin = np.zeros(len(query_source) + 1, dtype=np.int64)
        np.cumsum(np.bincount(query.numpy(), minlength=len(query_source)) * target.shape[1], out=begin[1:])
        nodes = np.ascontiguousarray(target[order].flatten().numpy(), dtype=np.int32)
        frontier = self._frontier(graph, query_source, query_relation, (begin, nodes))
        needed = frontier_memory(frontier, self._iterations()[0], self.config, self.indicator.query.weight)
        if is_too_large(needed, self.memory_limit, len(query_source)):
            weighted = partial(self._represent, edge_weights=edge_weights)
            return in_parts(needed, self.memory_limit, weighted, graph, source, relation, target)
        rows = evaluate_rows(self.indicator, self._iterations(), frontier, edge_weights)
        # Not rows[...]: its gradient is summed by threads in any order, so that no two runs are the same.
        in_order = rows.index_select(0, frontier.target_rows()).view(*target.shape, self.config.dim)
        return in_order.index_select(0, torch.argsort(order))

    def pair_representation(
        self,
        graph: MessageGraph,
        source: Tensor,
        relation: Tensor,
        edge_weights: Sequence[Tensor] | None = None,
    ) -> Tensor:
        """h_q(u, v), (query, node, dim), of every node: the plain algorithm in plain PyTorch, the specification.

        ``edge_weights`` holds a weight (edge,) for each iteration, which multiplies the messages; edges are in the
        order of the graph's slots.

        Raises:
            QueryError: shapes, types or ids do not fit the network and the graph.
        """
        source, relation = self._check(graph, source, relation)
        query = self.indicator.query(relation)
        boundary = self.indicator(source, relation, graph.num_nodes)
        scale = graph.scale(query.dtype)
        hidden = boundary
        for t, layer in enumerate(self._iterations()):
            weight = None if edge_weights is None else edge_weights[t]
            edges = RowEdges(graph.indptr, graph.source_index, graph.relation, weight)
            hidden = layer(hidden, hidden, boundary, edges, layer.edges(query), scale)
        represented: Tensor = hidden
        return represented

    def _iterations(self) -> list[BellmanFordIteration]:
        return [layer for layer in self.layers if isinstance(layer, BellmanFordIteration)]

    def _check(
        self, graph: MessageGraph, source: Tensor, relation: Tensor, target: Tensor | None = None
    ) -> tuple[Tensor, ...]:
        weight = self.indicator.query.weight
        num_relations, device = len(weight), weight.device
        check_graph(graph, num_relations, device)
        source = check_ids("source", source, (None,), graph.num_nodes, device)
        relation = check_ids("relation", relation, (len(source),), num_relations, device)
        if target is None:
            return source, relation
        return source, relation, check_ids("target", target, (len(source), None), graph.num_nodes, device)

    def _is_fused(self) -> bool:
        """Whether iterations are compiled calls; BackendError where a backend was chosen that cannot serve."""
        return is_fused(self._iterations()[0], self.indicator.query.weight)

    def _plans_rows(self, graph: MessageGraph) -> bool:
        self._is_fused()
        return graph.device.type == "cpu" and native_available()

    def _frontier(
        self,
        graph: MessageGraph,
        source: Int32,
        relation: Int64,
        targets: tuple[Int64, Int32] | None,
        *,
        background_given: bool = False,
    ) -> Frontier:
        return Frontier.make(
            graph,
            source,
            relation,
            targets,
            iterations=self.config.layers,
            dependent=self.config.edges == "dependent",
            frontier=self.config.frontier != "off",
            background_given=background_given,
        )


def _distinct_queries(source: Tensor, relation: Tensor) -> tuple[Tensor, Int32, Int64]:
    """Queries that share source and relation are computed once: which one each is, and their parts."""
    both = np.stack([relation.numpy(), source.numpy()], axis=1)
    distinct, query = np.unique(both, axis=0, return_inverse=True)
    return torch.from_numpy(query.reshape(-1)), distinct[:, 1].astype(np.int32), distinct[:, 0]


def _count(*modules: nn.Module) -> int:
    """Parameters that several modules share, such as those of a user's own operator, count once."""
    distinct = {parameter for module in modules for parameter in module.parameters()}
    return sum(parameter.numel() for parameter in distinct)
