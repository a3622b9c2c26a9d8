"""The sum of the messages."""

from __future__ import annotations

from torch import Tensor

from nbfnet.operators.aggregate import Aggregate, sum_by_row
from nbfnet.operators.registry import aggregates


@aggregates.register("sum")
class SumAggregate(Aggregate):
    """AGGREGATE(M) = sum of m in M."""

    def forward(self, messages: Tensor, row: Tensor, num_rows: int) -> Tensor:
        """(query, row, dim) of messages (query, message, dim)."""
        return sum_by_row(messages, row, num_rows)
