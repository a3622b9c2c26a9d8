"""TransE as a message: translation."""

from __future__ import annotations

from torch import Tensor

from nbfnet.operators.message import Message
from nbfnet.operators.registry import messages


@messages.register("transe")
class TransEMessage(Message):
    """MESSAGE(h, w) = h + w."""

    def forward(self, source_rows: Tensor, edge_rows: Tensor) -> Tensor:
        """(query, edge, dim) the sums."""
        return source_rows + edge_rows
