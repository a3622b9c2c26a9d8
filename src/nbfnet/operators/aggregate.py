"""AGGREGATE functions: the base of all of them, also of one that a user writes, and sum, mean, max and min."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn

from nbfnet.operators.registry import aggregates


class Aggregate(nn.Module, ABC):
    """AGGREGATE: the messages of a row become one representation.

    The boundary is already among the messages, one for each row, so that every row has at least one message.
    A subclass with nothing but a ``forward`` in PyTorch works at once, on any device.
    """

    @abstractmethod
    def forward(self, messages: Tensor, row: Tensor, num_rows: int) -> Tensor:
        """(query, row, dim), or statistics (query, row, statistic, dim), of messages (query, message, dim).

        ``row`` (message,) says which row each message belongs to.
        """

    def features(self, aggregated: Tensor, scale: Tensor) -> Tensor:
        """What the update of a representation sees: (query, row, feature_dim).

        ``scale`` (row,) is each row's log degree over the mean one; only aggregates that scale look at it.
        """
        return aggregated

    def feature_dim(self, dim: int) -> int:
        """How many features ``features`` makes of representations of this dim."""
        return dim

    def project(self, aggregated: Tensor, scale: Tensor, weight: Tensor) -> Tensor:
        """(query, row, out) = features @ weight^T, with a weight (out, feature_dim)."""
        return nn.functional.linear(self.features(aggregated, scale), weight)


@aggregates.register("sum")
class SumAggregate(Aggregate):
    """AGGREGATE(M) = sum of m in M."""

    def forward(self, messages: Tensor, row: Tensor, num_rows: int) -> Tensor:
        """(query, row, dim) of messages (query, message, dim)."""
        return sum_by_row(messages, row, num_rows)


@aggregates.register("mean")
class MeanAggregate(Aggregate):
    """AGGREGATE(M) = sum of m in M / |M|, the boundary counted: |M| = degree + 1."""

    def forward(self, messages: Tensor, row: Tensor, num_rows: int) -> Tensor:
        """(query, row, dim) of messages (query, message, dim)."""
        return sum_by_row(messages, row, num_rows) / messages_by_row(row, num_rows, messages)


@aggregates.register("max")
class MaxAggregate(Aggregate):
    """AGGREGATE(M) = max of m in M, in each dim; ties share the gradient equally."""

    def forward(self, messages: Tensor, row: Tensor, num_rows: int) -> Tensor:
        """(query, row, dim) of messages (query, message, dim)."""
        return extremum_by_row(messages, row, num_rows, largest=True)


@aggregates.register("min")
class MinAggregate(Aggregate):
    """AGGREGATE(M) = min of m in M, in each dim; ties share the gradient equally."""

    def forward(self, messages: Tensor, row: Tensor, num_rows: int) -> Tensor:
        """(query, row, dim) of messages (query, message, dim)."""
        return extremum_by_row(messages, row, num_rows, largest=False)


def sum_by_row(values: Tensor, row: Tensor, num_rows: int) -> Tensor:
    """(query, row, dim) sums of values (query, message, dim)."""
    return values.new_zeros(values.shape[0], num_rows, values.shape[2]).index_add(1, row, values)


def extremum_by_row(values: Tensor, row: Tensor, num_rows: int, *, largest: bool) -> Tensor:
    """(query, row, dim) largest or smallest of values (query, message, dim); ties share the gradient."""
    # Starting from infinity, not from what the rows hold: PyTorch's gradient would count that among the ties.
    start = values.new_full((values.shape[0], num_rows, values.shape[2]), float("-inf" if largest else "inf"))
    index = row[None, :, None].expand_as(values)
    return start.scatter_reduce(1, index, values, "amax" if largest else "amin")


def messages_by_row(row: Tensor, num_rows: int, like: Tensor) -> Tensor:
    """(row, 1) how many messages each row has, as a number of the type of ``like``."""
    return row.bincount(minlength=num_rows).to(like.dtype)[:, None]
