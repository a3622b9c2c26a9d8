"""The largest message, in each dim."""

from __future__ import annotations

from torch import Tensor

from nbfnet.operators.aggregate import Aggregate, extremum_by_row
from nbfnet.operators.registry import aggregates


@aggregates.register("max")
class MaxAggregate(Aggregate):
    """AGGREGATE(M) = max of m in M, in each dim; ties share the gradient equally."""

    def forward(self, messages: Tensor, row: Tensor, num_rows: int) -> Tensor:
        """(query, row, dim) of messages (query, message, dim)."""
        return extremum_by_row(messages, row, num_rows, largest=True)
