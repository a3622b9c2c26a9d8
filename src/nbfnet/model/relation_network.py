"""The relation network: what a relation is to the query's one, by how relations meet in the graph."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from nbfnet.config import ModelConfig
from nbfnet.graph.relation_graph import KINDS
from nbfnet.model.bellman_ford import BellmanFord
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.parts import in_parts, is_too_large, relation_memory
from nbfnet.model.query_relations import QueryRelations
from nbfnet.model.relation_update import RelationUpdate
from nbfnet.operators.aggregate import Aggregate
from nbfnet.operators.indicator import boundary
from nbfnet.operators.message import Message


class RelationNetwork(BellmanFord):
    """h_q(r), learned Bellman-Ford iterations on the relation graph, from the query's relation q.

    The boundary is 1 at q and 0 elsewhere; an edge has one of four learned representations, by its kind. Nothing
    belongs to a relation of its own, so any graph will do.
    """

    def __init__(self, config: ModelConfig, message: Message | None = None, aggregate: Aggregate | None = None) -> None:
        super().__init__(config.model_copy(update={"edges": "independent", "frontier": "off"}))
        self.layers = self.make_layers(KINDS, message, aggregate)

    def forward(self, graph: MessageGraph, asked: Tensor) -> Tensor:
        """(asked, relation, dim) the representations of a graph's relation ids, for each asked one."""
        one = self.like.new_ones(1, self.config.dim)
        nothing_else = QueryRelations(asked.new_zeros(1), one, one, torch.zeros_like(one[0]))
        every = torch.arange(graph.num_relations, device=asked.device).expand(len(asked), -1)
        return self.represent(graph.relations, asked, torch.zeros_like(asked), every, nothing_else)


class RelationPairs(nn.Module):
    """h_q(r) as parameters, one vector for each pair of relations; a relation network can give them at the beginning.

    They belong to the relations of a graph, and need no relation graph: the same relations are the same in any other.
    """

    # Few queries touch each vector, and a step of Adam's has the same length for all parameters, so these are scaled to
    # move faster: after one epoch from the shipped network the valid MRR of wn18rr-v1 is .567 instead of .560, that of
    # wn18rr-v4 .575 instead of .576.
    _SCALE = 5.0

    def __init__(self, num_relations: int, dim: int) -> None:
        super().__init__()
        self.scaled = nn.Parameter(torch.randn(num_relations, num_relations, dim) / self._SCALE)

    def set_pairs(self, pairs: Tensor) -> None:
        """Begin with vectors (asked, relation, dim)."""
        with torch.no_grad():
            self.scaled.copy_(pairs / self._SCALE)

    def forward(self, graph: MessageGraph, asked: Tensor) -> Tensor:
        """(asked, relation, dim) the representations of all relation ids, for each asked one, whatever the graph."""
        return self._SCALE * self.scaled.index_select(0, asked)


class FactorisedRelationNetwork(nn.Module):
    """h_q(r) by updates through the entities where relations meet, instead of over the relation graph.

    The boundary is the same. The relation graph has each pair of relations once, however often they meet; here each
    entity counts, by means, so that the size of the graph does not matter. No pair is ever listed: an update takes
    O(E).
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.memory_limit = 4 << 30
        self.layers = nn.ModuleList(RelationUpdate(config, with_entities=False) for _ in range(config.layers))

    def forward(self, graph: MessageGraph, asked: Tensor) -> Tensor:
        """(asked, relation, dim) the representations of a graph's relation ids, for each asked one."""
        like = next(self.parameters())
        needed = relation_memory(graph, len(asked), len(self.layers), like.element_size() * like.shape[0])
        if is_too_large(needed, self.memory_limit, len(asked)):
            return in_parts(needed, self.memory_limit, self, graph, asked)
        zero = like.new_zeros(like.shape[0])
        known = start = boundary(asked, like.new_ones(len(asked), len(zero)), zero, graph.num_relations)
        for update in self.layers:
            known = update(known, start, graph.meetings)
        return known
