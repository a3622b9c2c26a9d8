"""DistMult as a message: scaling of each dim."""

from __future__ import annotations

from torch import Tensor

from nbfnet.operators.message import Message
from nbfnet.operators.registry import messages


@messages.register("distmult")
class DistMultMessage(Message):
    """MESSAGE(h, w) = h * w."""

    def forward(self, source_rows: Tensor, edge_rows: Tensor) -> Tensor:
        """(query, edge, dim) the products."""
        return source_rows * edge_rows
