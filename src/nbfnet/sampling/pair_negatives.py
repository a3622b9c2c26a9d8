"""Negative pairs of a homogeneous graph: two different nodes that no edge joins.

The pairs u < v are numbered 0, 1, ... in lexicographic order; a negative is the r-th number that no edge has, found as
in ``negatives.py``.
"""

from __future__ import annotations

import numpy as np

from nbfnet.errors import SamplingError
from nbfnet.graph.triplets import Int32, Int64, Triplets
from nbfnet.sampling.sorted_keys import sort_distinct


class PairNegatives:
    """Draws pairs (u, v), u != v, that are edges nowhere in some sets of edges, uniformly, either way round."""

    def __init__(self, *edges: Triplets, num_nodes: int) -> None:
        self.num_nodes = num_nodes
        node = np.arange(num_nodes, dtype=np.int64)
        self._first: Int64 = node * (num_nodes - 1) - node * (node - 1) // 2  # (node,) the number of (u, u + 1)
        joined = sort_distinct(np.concatenate([self._number(part) for part in edges]))
        self._shifted: Int64 = joined - np.arange(len(joined))

    @property
    def num_allowed(self) -> int:
        """How many unordered pairs no edge joins."""
        return self.num_nodes * (self.num_nodes - 1) // 2 - len(self._shifted)

    def draw(self, count: int, generator: np.random.Generator) -> tuple[Int32, Int32]:
        """(count,) u and v of pairs, with replacement.

        Raises:
            SamplingError: an edge joins every pair.
        """
        self._require(min(count, 1))
        return self._pairs(generator.integers(0, max(self.num_allowed, 1), size=count), generator)

    def draw_distinct(self, count: int, generator: np.random.Generator) -> tuple[Int32, Int32]:
        """(count,) u and v of pairs that all differ, which a test set needs.

        Raises:
            SamplingError: so many pairs are not there.
        """
        self._require(count)
        return self._pairs(generator.choice(self.num_allowed, size=count, replace=False), generator)

    def _number(self, edges: Triplets) -> Int64:
        """The numbers of the edges' pairs; self loops join no pair."""
        low, high = np.minimum(edges.head, edges.tail), np.maximum(edges.head, edges.tail)
        low, high = low[low != high], high[low != high]
        number: Int64 = self._first[low] + high - low - 1
        return number

    def _pairs(self, drawn: Int64, generator: np.random.Generator) -> tuple[Int32, Int32]:
        number = drawn + np.searchsorted(self._shifted, drawn, side="right")
        low = np.searchsorted(self._first[:-1], number, side="right") - 1
        high = low + 1 + number - self._first[low]
        swap = generator.integers(0, 2, size=len(number)) == 1
        u, v = np.where(swap, high, low), np.where(swap, low, high)
        return u.astype(np.int32), v.astype(np.int32)

    def _require(self, count: int) -> None:
        if self.num_allowed < count:
            raise SamplingError(
                f"{count} pairs of nodes without an edge are needed, and the graph of {self.num_nodes} nodes has only "
                f"{self.num_allowed}: hold fewer edges out, or give a sparser graph"
            )
