"""One iteration of NeuralLP and DRUM: natural multiplication and summation, and nothing after it."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from nbfnet.kernels.fused_iteration import FusedSettings
from nbfnet.kernels.relational_spmm import relational_spmm
from nbfnet.model.iteration import RowEdges
from nbfnet.operators.aggregate import SumAggregate
from nbfnet.operators.message import DistMultMessage


class LinearIteration(nn.Module):
    """h^(t)_v = w_stay h^(t-1)_v + sum over edges (x, r, v) of w_r h^(t-1)_x, in each rank.

    The identity, "stay", is one more operator beside the relations: with it a rule may have fewer atoms than there are
    iterations. The boundary condition is h^(0) alone. All values are 0 or more.
    """

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step
        self.message, self.aggregate = DistMultMessage(), SumAggregate()

    def edges(self, context: Tensor) -> Tensor:
        """(query, relation + 1, rank), the weights of this step, of all steps' (query, step, relation + 1, rank)."""
        return context[:, self.step]

    def forward(
        self, previous: Tensor, own: Tensor, boundary: Tensor, edges: RowEdges, representation: Tensor, scale: Tensor
    ) -> Tensor:
        """The plain algorithm in plain PyTorch; arguments as of ``BellmanFordIteration``, "stay" among relations."""
        return own * representation[:, -1:] + self.sum_messages(previous, own, edges, representation)

    def sum_messages(self, previous: Tensor, own: Tensor, edges: RowEdges, representation: Tensor) -> Tensor:
        """(query, row, rank): what comes over the edges."""
        return relational_spmm(
            previous,
            representation,
            torch.zeros_like(own),
            edges.indptr,
            edges.source_index,
            edges.relation,
            edges.weight,
            message=self.message,
            aggregate=self.aggregate,
        )

    def fused_settings(self) -> FusedSettings:
        """What the compiled iteration has to know. Its ReLU changes nothing: no value is negative."""
        return FusedSettings("distmult", "sum", layer_norm=False, shortcut=False)

    def fused_weight(self, like: Tensor) -> Tensor:
        """(rank, 2 rank) the linear layer of the compiled iteration that takes the sum of the messages as it is."""
        rank = like.shape[1]
        return torch.cat([like.new_zeros(rank, rank), torch.eye(rank, dtype=like.dtype)], dim=1)
