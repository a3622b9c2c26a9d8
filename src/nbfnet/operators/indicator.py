"""INDICATOR: the boundary condition of the iterations, learned."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Indicator(nn.Module):
    """INDICATOR(u, v, q) = 1(u = v) * q: the query's embedding at its source, zero at every other node.

    With a learned zero, every other node has one learned embedding: 1(u = v) * q + 1(u != v) * zero.
    """

    def __init__(self, num_relations: int, dim: int, *, learned_zero: bool = False) -> None:
        super().__init__()
        self.query = nn.Embedding(num_relations, dim)
        self.zero = nn.Parameter(torch.zeros(dim)) if learned_zero else None

    def forward(self, source: Tensor, relation: Tensor, num_nodes: int) -> Tensor:
        """The boundary (query, node, dim) of queries with sources (query,) and relations (query,)."""
        query = self.query(relation)
        num_queries, dim = query.shape
        zero = query.new_zeros(dim) if self.zero is None else self.zero
        everywhere = zero.expand(num_queries, num_nodes, dim)
        return everywhere.index_put((torch.arange(num_queries, device=source.device), source), query)
