"""SortedRows: a graph's edges with the nodes numbered by falling degree, the layout of the compiled loops.

Neighbouring rows then have equally many edges, so a processor guesses where each row ends; and the nodes that most
edges lead to lie close together. On small graphs this makes an iteration three times as fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from nbfnet.graph.relational_csr import RelationalCSR, sort_by_key
from nbfnet.graph.triplets import Int32, Int64


@dataclass(frozen=True, eq=False)
class SortedRows:
    """In-edges and out-edges of every node; row ``rank[v]`` is that of node v."""

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
