"""INDICATOR: the boundary condition of the iterations, learned."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Indicator(nn.Module):
    """INDICATOR(u, v, q) = 1(u = v) * q: the query's embedding at its source, zero at every other node.

    With a learned zero, every other node has one learned embedding: 1(u = v) * q + 1(u != v) * zero.
    """

    def __init__(self, num_relations: int, dim: int, *, learned_zero: bool = False) -> None:
        """``num_relations`` relation ids have an embedding each; with none, the network makes them of the graph."""
        super().__init__()
        self.query = nn.Embedding(num_relations, dim) if num_relations else None
        self.zero = nn.Parameter(torch.zeros(dim)) if learned_zero else None

    def forward(self, source: Tensor, relation: Tensor, num_nodes: int) -> Tensor:
        """The boundary (query, node, dim) of queries with sources (query,) and relations (query,)."""
        assert self.query is not None
        query = self.query(relation)
        return boundary(source, query, query.new_zeros(query.shape[1]) if self.zero is None else self.zero, num_nodes)


def boundary(source: Tensor, query: Tensor, zero: Tensor, num_nodes: int) -> Tensor:
    """(query, node, dim): embeddings (query, dim) at their sources (query,), the zero (dim,) at every other node."""
    num_queries, dim = query.shape
    everywhere = zero.expand(num_queries, num_nodes, dim)
    return everywhere.index_put((torch.arange(num_queries, device=source.device), source), query)
