"""QueryEdges: the edges to hide from a batch while training, so that no answer can be read off an edge."""

from __future__ import annotations

from typing import Literal

import numpy as np

from nbfnet.graph.graph import Kind
from nbfnet.graph.inverse import invert, without_inverse_count
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Int32, Int64
from nbfnet.sampling.sorted_keys import expand_ranges, sort_distinct

Hiding = Literal["triplet", "pair"]


class QueryEdges:
    """An index of a graph's edges by (head, tail), to find those of a batch in O(batch log E).

    ``"triplet"`` hides the batch's triplets (u, q, v) and their inverses, every copy of them. ``"pair"`` hides every
    edge, whatever its relation, both ways, between the two nodes of each pair that the batch scores.
    """

    def __init__(self, csr: RelationalCSR, kind: Kind, hiding: Hiding) -> None:
        self.csr, self.kind, self.hiding = csr, kind, hiding
        transpose = csr.transpose
        # The slots are sorted by tail, the transpose stably by head: together, by (head, tail).
        self._slot = transpose.slot
        self._pair: Int64 = csr.source[self._slot].astype(np.int64) * csr.num_nodes + transpose.target  # ascending

    def slots(self, source: Int32, relation: Int32, target: Int32) -> Int64:
        """The slots to hide, for ``csr.hide``.

        Args:
            source: (query,).
            relation: (query,), inverse relations included.
            target: (query, candidate) what the batch scores; the first is the answer.
        """
        if self.hiding == "pair":
            sources = np.broadcast_to(source[:, None], target.shape)
            return self._between(sources.ravel(), target.ravel())
        return self._of_triplets(source, relation, target[:, 0])

    def without(self, source: int, relation: int, target: int) -> RelationalCSR:
        """The edges to ask about one triplet: all if it is not among them, else without those to hide for it."""
        u, q, v = (np.array([part], dtype=np.int32) for part in (source, relation, target))
        own = self._of_triplets(u, q, v)
        if not len(own):
            return self.csr
        return self.csr.hide(own if self.hiding == "triplet" else self._between(u, v))

    def _between(self, u: Int32, v: Int32) -> Int64:
        pair = sort_distinct(np.concatenate([self._key(u, v), self._key(v, u)]))
        _, position = self._find(pair)
        return self._slot[position]

    def _of_triplets(self, head: Int32, relation: Int32, tail: Int32) -> Int64:
        undirected = self.kind == "homogeneous"
        back = relation if undirected else invert(relation, without_inverse_count(self.csr.num_relations))
        owner, position = self._find(np.concatenate([self._key(head, tail), self._key(tail, head)]))
        slot, wanted = self._slot[position], np.concatenate([relation, back])[owner]
        return sort_distinct(slot[self.csr.relation[slot] == wanted])

    def _find(self, pair: Int64) -> tuple[Int64, Int64]:
        """The edges of each pair: whose each one is, and its position in the index."""
        begin, end = (np.searchsorted(self._pair, pair, side=side) for side in ("left", "right"))
        return expand_ranges(begin, end)

    def _key(self, head: Int32, tail: Int32) -> Int64:
        return head.astype(np.int64) * self.csr.num_nodes + tail
