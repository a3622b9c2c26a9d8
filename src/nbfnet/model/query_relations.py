"""QueryRelations: the relations that a batch of queries asks, as the network sees them."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class QueryRelations:
    """For each asked relation q its embedding, and what the edge representations of its queries are made of."""

    asked: Tensor  # (asked,) distinct relation ids, ascending
    embedding: Tensor  # (asked, dim) q: the boundary at a query's source, and what the score sees of the query
    context: Tensor  # (asked, dim) the same, or (asked, relation, dim) a representation of every relation
    zero: Tensor  # (dim,) the boundary at every other node

    def of(self, relation: Tensor) -> Tensor:
        """(query, dim) the embeddings of the relations (query,) of some queries."""
        return self.embedding.index_select(0, self._place(relation))

    def context_of(self, relation: Tensor) -> Tensor:
        """(query, dim) or (query, relation, dim), what the operators of the edges take."""
        return self.context.index_select(0, self._place(relation))

    def _place(self, relation: Tensor) -> Tensor:
        return torch.searchsorted(self.asked, relation.contiguous())
