"""Edge representations w_q(x, r, v) of one iteration: a vector for each relation, maybe for each query."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn


class EdgeRepresentation(nn.Module, ABC):
    """What an edge carries into its message; it depends on the edge's relation alone, or on the query too."""

    @abstractmethod
    def forward(self, query: Tensor) -> Tensor:
        """(query or 1, relation, dim) for query embeddings (query, dim), or what else the operator is made of."""


class QueryDependentEdges(EdgeRepresentation):
    """w_q(x, r, v) = W_r q + b_r, one linear function of the query for each relation.

    All of them are one linear layer from dim to relation * dim: output r * dim + i is dim i of relation r.
    """

    def __init__(self, num_relations: int, dim: int) -> None:
        super().__init__()
        self.num_relations = num_relations
        self.relation_linear = nn.Linear(dim, num_relations * dim)

    def forward(self, query: Tensor) -> Tensor:
        """(query, relation, dim)."""
        num_queries, dim = query.shape
        flat: Tensor = self.relation_linear(query)
        return flat.view(num_queries, self.num_relations, dim)


class IndependentEdges(EdgeRepresentation):
    """w(x, r, v) = b_r, whatever the query: few parameters, for graphs of few relations."""

    def __init__(self, num_relations: int, dim: int) -> None:
        super().__init__()
        self.relation = nn.Embedding(num_relations, dim)

    def forward(self, query: Tensor) -> Tensor:
        """(1, relation, dim), shared by all queries."""
        return self.relation.weight[None]


class RelationalEdges(EdgeRepresentation):
    """w_q(x, r, v) = MLP(h_q(r)), of what relation r is to the query's one: for any number of relations."""

    def __init__(self, num_relations: int, dim: int) -> None:
        """``num_relations`` does not matter."""
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, query: Tensor) -> Tensor:
        """(query, relation, dim) for relation representations h_q(r) (query, relation, dim)."""
        represented: Tensor = self.mlp(query)
        return represented
