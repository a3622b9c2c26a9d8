"""The mean of the messages."""

from __future__ import annotations

from torch import Tensor

from nbfnet.operators.aggregate import Aggregate, messages_by_row, sum_by_row
from nbfnet.operators.registry import aggregates


@aggregates.register("mean")
class MeanAggregate(Aggregate):
    """AGGREGATE(M) = sum of m in M / |M|, the boundary counted: |M| = degree + 1."""

    def forward(self, messages: Tensor, row: Tensor, num_rows: int) -> Tensor:
        """(query, row, dim) of messages (query, message, dim)."""
        return sum_by_row(messages, row, num_rows) / messages_by_row(row, num_rows, messages)
