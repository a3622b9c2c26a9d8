"""WeightedEdges: the edges of a graph with their weights, looked at once and used by any method."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nbfnet.errors import WeightError
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Float64, Int64
from nbfnet.semiring.semiring import Semiring
from nbfnet.semiring.sorted_rows import SortedRows

Factor = Float64 | float  # (node,) multiplies the weight of the edges that end in each node; or one for all edges


@dataclass(frozen=True, eq=False)
class WeightedEdges:
    """w_e for every edge e of a graph: (slot,), or one number for all."""

    csr: RelationalCSR
    weight: Float64 | float = 1.0

    def __post_init__(self) -> None:
        weight, count = self.weight, self.csr.num_edges
        if isinstance(weight, np.ndarray) and (weight.shape != (count,) or weight.dtype != np.float64):
            raise WeightError(f"expected {count:,} weights as float64, got {weight.shape} as {weight.dtype}")

    @classmethod
    def of(cls, csr: RelationalCSR) -> WeightedEdges:
        """The edges with the weights they came with; where they have none, every edge weighs 1."""
        return cls(csr, 1.0 if csr.weight is None else csr.weight)

    @property
    def num_nodes(self) -> int:
        """|V|."""
        return self.csr.num_nodes

    @cached_property
    def range(self) -> tuple[float, float]:
        """The least and the greatest weight, NaN if one is NaN."""
        weight = np.atleast_1d(self.weight)
        return (float(weight.min()), float(weight.max())) if len(weight) else (1.0, 1.0)

    @cached_property
    def strength(self) -> Float64:
        """(node,) the sum of the weights of the edges that leave each node."""
        weight = np.broadcast_to(self.weight, self.csr.num_edges)
        return np.bincount(self.csr.source, weight, minlength=self.num_nodes).astype(np.float64)

    def check(self, low: float, high: float, method: str) -> None:
        """Refuse weights that a method has no meaning for, NaN above all.

        Raises:
            WeightError: names a bad weight and what it should be.
        """
        least, most = self.range
        if not (low <= least and most <= high):  # neither holds for NaN
            bad, limits = (least if low > least else most), f"from {low:g} to {high:g}"
            if np.isfinite(bad) and not np.isfinite(max(-low, high)):
                limits = f"{low:g} or more"
            raise WeightError(f"an edge weighs {bad:g}, but {method} needs weights {limits}")

    def messages(
        self, semiring: Semiring, values: Float64, slots: Int64 | slice, factor: Factor | None = None
    ) -> Float64:
        """h(x) ⊗ w(x, r, v) for the edges in some slots, whose sources x have these values: (slot, ...)."""
        times, columns = semiring.multiplication.operator, (-1, *[1] * (values.ndim - 1))
        rows = self.csr.target[slots]
        parts = [self.weight[slots] if isinstance(self.weight, np.ndarray) else np.full(len(rows), self.weight)]
        if factor is not None:
            parts.append(factor[rows] if isinstance(factor, np.ndarray) else np.full(len(rows), factor))
        for part in parts:
            values = times(values, np.broadcast_to(part.reshape(columns), values.shape))
        return values

    @cached_property
    def sorted_weight(self) -> Float64:
        """(slot,) the weights in the order of SortedRows; empty where one is for all."""
        return self._take(SortedRows.of(self.csr).slot)

    @cached_property
    def sorted_out_weight(self) -> Float64:
        """(edge,) the weights in the order of the out-edges of SortedRows; empty where one is for all."""
        return self._take(SortedRows.of(self.csr).out_slot)

    def _take(self, slots: Int64) -> Float64:
        return self.weight[slots] if isinstance(self.weight, np.ndarray) else np.empty(0)
