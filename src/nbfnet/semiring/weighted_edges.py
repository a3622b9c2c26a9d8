"""WeightedEdges: the edges of a graph with their weights, used by any method; SortedRows: their compiled layout."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from nbfnet.errors import PathError
from nbfnet.graph.relational_csr import RelationalCSR, sort_by_key
from nbfnet.graph.triplets import Float64, Int32, Int64
from nbfnet.semiring.semiring import Semiring


@dataclass(frozen=True, eq=False)
class SortedRows:
    """In-edges and out-edges with the nodes numbered by falling degree; row ``rank[v]`` is that of node v.

    Neighbouring rows then have equally many edges, so a processor guesses where each row ends; and the nodes that most
    edges lead to lie close together. On small graphs this makes an iteration three times as fast.
    """

    rank: Int32  # (node,)
    begin: Int64  # (row + 1,) in-edges
    source: Int32  # (slot,) a row
    slot: Int64  # (slot,) where the edge stands in the RelationalCSR
    out_begin: Int64  # (row + 1,) out-edges
    target: Int32  # (edge,) a row
    out_slot: Int64  # (edge,) where the edge stands in the RelationalCSR

    @classmethod
    def of(cls, csr: RelationalCSR) -> SortedRows:
        """Sort the rows of a graph, in O(E + V); done once for each graph."""
        if csr not in _sorted:
            _sorted[csr] = cls._sort(csr)
        return _sorted[csr]

    @classmethod
    def _sort(cls, csr: RelationalCSR) -> SortedRows:
        most = int(csr.degree.max(initial=0))
        _, order = sort_by_key((most - csr.degree).astype(np.int32), most + 1)
        rank = np.empty(csr.num_nodes, dtype=np.int32)
        rank[order] = np.arange(csr.num_nodes, dtype=np.int32)
        begin, slot = _permute(csr.indptr, order)
        out_begin, edge = _permute(csr.transpose.indptr, order)
        return cls(
            rank=rank,
            begin=begin,
            source=rank[csr.source[slot]],
            slot=slot,
            out_begin=out_begin,
            target=rank[csr.transpose.target[edge]],
            out_slot=csr.transpose.slot[edge],
        )


def _permute(indptr: Int64, order: Int64) -> tuple[Int64, Int64]:
    """Rows in another order: where each begins (row + 1,), and where each entry was (entry,)."""
    length = np.diff(indptr)[order]
    begin = np.zeros(len(indptr), dtype=np.int64)
    np.cumsum(length, out=begin[1:])
    return begin, np.repeat(indptr[:-1][order] - begin[:-1], length) + np.arange(begin[-1])


_sorted: WeakKeyDictionary[RelationalCSR, SortedRows] = WeakKeyDictionary()


Factor = Float64 | float  # (node,) multiplies the weight of the edges that end in each node; or one for all edges


@dataclass(frozen=True, eq=False)
class WeightedEdges:
    """w_e for every edge e of a graph: (slot,), or one number for all; (slot, ...) where values are arrays."""

    csr: RelationalCSR
    weight: Float64 | float = 1.0

    def __post_init__(self) -> None:
        weight, count = self.weight, self.csr.num_edges
        if isinstance(weight, np.ndarray) and (weight.shape[:1] != (count,) or weight.dtype != np.float64):
            raise PathError(f"expected {count:,} weights as float64, got {weight.shape} as {weight.dtype}")

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
            PathError: names a bad weight and what it should be.
        """
        least, most = self.range
        if not (low <= least and most <= high):  # neither holds for NaN
            bad, limits = (least if low > least else most), f"from {low:g} to {high:g}"
            if np.isfinite(bad) and not np.isfinite(max(-low, high)):
                limits = f"{low:g} or more"
            raise PathError(f"an edge weighs {bad:g}, but {method} needs weights {limits}")

    def messages(
        self, semiring: Semiring, values: Float64, slots: Int64 | slice, factor: Factor | None = None
    ) -> Float64:
        """h(x) ⊗ w(x, r, v) for the edges in some slots, whose sources x have these values: (slot, ..., *shape)."""
        between = values.ndim - 1 - len(semiring.shape)  # such as one axis of sources
        times, columns = semiring.multiplication.operator, (-1, *[1] * between, *semiring.shape)
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
