"""One Bellman-Ford iteration of the network: MESSAGE, AGGREGATE, and the update of each representation."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nbfnet.config import ModelConfig
from nbfnet.kernels.fused_iteration import FusedSettings
from nbfnet.kernels.relational_spmm import relational_spmm
from nbfnet.operators.aggregate import Aggregate
from nbfnet.operators.edge_representation import (
    EdgeRepresentation,
    IndependentEdges,
    QueryDependentEdges,
    RelationalEdges,
)
from nbfnet.operators.message import Message
from nbfnet.operators.registry import aggregates, messages

_EDGES: dict[str, type[QueryDependentEdges | IndependentEdges | RelationalEdges]] = {
    "dependent": QueryDependentEdges,
    "independent": IndependentEdges,
    "pairwise": RelationalEdges,
    "relational": RelationalEdges,
    "factorised": RelationalEdges,
    "alternating": RelationalEdges,
}


@dataclass(frozen=True, eq=False)
class RowEdges:
    """The in-edges of some rows: indptr (row + 1,), source rows (edge,), relations (edge,), weights (edge,)."""

    indptr: Tensor
    source_index: Tensor
    relation: Tensor
    weight: Tensor | None = None


class BellmanFordIteration(nn.Module):
    """h^(t)_v = h^(t-1)_v + ReLU(LayerNorm(W [h^(t-1)_v, AGGREGATE({MESSAGE(h^(t-1)_x, w_r)} + {h^(0)_v})] + b)).

    The addition of h^(t-1)_v is the shortcut; it and LayerNorm can be left out.
    """

    def __init__(
        self,
        config: ModelConfig,
        num_relations: int,
        message: Message | None = None,
        aggregate: Aggregate | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.edges: EdgeRepresentation = _EDGES[config.edges](num_relations, config.dim)
        self.message = message if message is not None else messages.make(config.message)
        self.aggregate = aggregate if aggregate is not None else aggregates.make(config.aggregate)
        self.message.check_dim(config.dim)
        self.linear = nn.Linear(config.dim + self.aggregate.feature_dim(config.dim), config.dim)
        self.layer_norm = nn.LayerNorm(config.dim) if config.layer_norm else None

    def forward(
        self, previous: Tensor, own: Tensor, boundary: Tensor, edges: RowEdges, representation: Tensor, scale: Tensor
    ) -> Tensor:
        """The composed path: message passing, then the update, in plain PyTorch.

        Args:
            previous: (query, source row, dim) h^(t-1) of the rows that edges start from.
            own: (query, row, dim) h^(t-1) of the rows themselves.
            boundary: (query, row, dim) h^(0).
            edges: the in-edges of each row.
            representation: (query or 1, relation, dim) edge representations.
            scale: (row,) the degree scale s_v.

        Returns:
            (query, row, dim) h^(t).
        """
        aggregated = relational_spmm(
            previous,
            representation,
            boundary,
            edges.indptr,
            edges.source_index,
            edges.relation,
            edges.weight,
            message=self.message,
            aggregate=self.aggregate,
        )
        dim = self.config.dim
        hidden = nn.functional.linear(own, self.linear.weight[:, :dim], self.linear.bias)
        hidden = hidden + self.aggregate.project(aggregated, scale, self.linear.weight[:, dim:])
        if self.layer_norm is not None:
            hidden = self.layer_norm(hidden)
        hidden = torch.relu(hidden)
        return hidden + own if self.config.shortcut else hidden

    def fused_settings(self) -> FusedSettings:
        """What the compiled iteration has to know."""
        message, aggregate = messages.name_of(self.message), aggregates.name_of(self.aggregate)
        assert message is not None and aggregate is not None  # those that kernels know are registered
        return FusedSettings(message, aggregate, self.layer_norm is not None, self.config.shortcut)
