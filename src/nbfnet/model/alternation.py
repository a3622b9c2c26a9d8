"""Alternating edges: relations and entities learn of each other, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from nbfnet.config import ModelConfig
from nbfnet.graph.inverse import inverse_ids
from nbfnet.model.frontier import Frontier
from nbfnet.model.iteration import BellmanFordIteration, RowEdges
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.relation_update import RelationUpdate
from nbfnet.model.row_evaluation import Boundary, Iteration, fused_step
from nbfnet.operators.indicator import boundary


@dataclass(frozen=True, eq=False)
class Alternated:
    """What the rounds end with."""

    hidden: Tensor  # (query, row, dim) h^(T) of every entity
    place: Tensor | None  # (node,) the row of each entity; None: they are in order
    query: Tensor  # (query, dim) x^(T) of the query's relation


class Alternation(nn.Module):
    """T rounds over the relations and the entities of a query (u, q); each updates the relations first.

        x^(t)_r = RelationUpdate of x^(t-1) through the entities, with h^(t-1), from x^(0)_r = 1(r = q)
        h^(t)_v = BellmanFordIteration of h^(t-1) with the edges MLP(x^(t)_r) and the boundary 1(u = v) x^(t)_q

    from h^(0)_v = 1(u = v). Relations hear from all entities, so all are rows, whatever the targets are.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.updates = nn.ModuleList(RelationUpdate(config, with_entities=True) for _ in range(config.layers))

    def rounds(
        self,
        graph: MessageGraph,
        source: Tensor,
        relation: Tensor,
        layers: Sequence[Iteration],
        zero: Tensor,
        edge_weights: Sequence[Tensor] | None = None,
        *,
        fused: bool,
    ) -> Alternated:
        """The rounds of queries with sources (query,) and relations (query,), over entity iterations ``layers``.

        ``zero`` (dim,) is h^(0) of entities that are not the source. ``edge_weights`` holds a weight (edge,) for each
        round, which multiplies the messages between entities. ``fused`` makes each of these iterations a compiled call.
        """
        ones = zero.new_ones(len(source), len(zero))
        start = boundary(relation, ones, torch.zeros_like(zero), graph.num_relations)
        known, hidden = start, boundary(source, ones, zero, graph.num_nodes)
        step = _Fused(graph, source, relation, ones, len(layers)) if fused else _Plain(graph, source, hidden)
        query, place = ones, None
        for t, (layer, update) in enumerate(zip(layers, self.updates, strict=True)):
            assert isinstance(layer, BellmanFordIteration)
            known = update(known, start, graph.meetings, hidden, place)
            query = known.gather(1, relation[:, None, None].expand(-1, 1, known.shape[2]))[:, 0]
            edges = layer.edges(self._of_edges(known))
            hidden = step(layer, t + 1, edges, Boundary(query, zero), None if edge_weights is None else edge_weights[t])
            place = step.place
        return Alternated(hidden, place, query)

    def _of_edges(self, known: Tensor) -> Tensor:
        if not self.config.inverse_edges:
            return known
        return known.index_select(1, torch.from_numpy(inverse_ids(known.shape[1])).to(known.device))


class _Plain:
    """Entity iterations in plain PyTorch, the specification."""

    place: Tensor | None = None

    def __init__(self, graph: MessageGraph, source: Tensor, hidden: Tensor) -> None:
        self._graph, self._source, self._hidden = graph, source, hidden

    def __call__(
        self, layer: BellmanFordIteration, _: int, edges: Tensor, at: Boundary, weight: Tensor | None
    ) -> Tensor:
        graph, previous = self._graph, self._hidden
        rows = RowEdges(graph.indptr, graph.source_index, graph.relation, weight)
        start = boundary(self._source, at.query, at.zero, graph.num_nodes)
        self._hidden = layer(previous, previous, start, rows, edges, graph.scale(previous.dtype))
        return self._hidden


class _Fused:
    """Entity iterations as compiled calls, over every node of every query, each with edges of its own."""

    def __init__(self, graph: MessageGraph, source: Tensor, relation: Tensor, first: Tensor, rounds: int) -> None:
        queries = source.numpy().astype(np.int32), relation.numpy().astype(np.int64)
        self._frontier = Frontier.of_all_nodes(graph, *queries, rounds)
        self._rows = first  # only the sources have a row before the first iteration
        order = torch.from_numpy(self._frontier.plan.node(1)[: graph.num_nodes]).long()  # the same for all queries
        self.place = torch.empty_like(order).index_copy_(0, order, torch.arange(len(order)))

    def __call__(
        self, layer: BellmanFordIteration, iteration: int, edges: Tensor, at: Boundary, weight: Tensor | None
    ) -> Tensor:
        self._rows = fused_step(layer, self._frontier, iteration, self._rows, edges, at, weight)
        return self._rows.view(len(at.query), -1, self._rows.shape[1])
