"""Incidence: which relations a node is the head of, or the tail of, each once however many facts say so."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from nbfnet.graph.triplets import Int32, Int64

if TYPE_CHECKING:
    from nbfnet.graph.relational_csr import RelationalCSR


class Incidence:
    """The distinct pairs (v, r) where node v is the head of a fact of relation r; or, of another one, its tail.

    Those of a node v stand at begin[v]:begin[v + 1], its relations ascending.
    """

    def __init__(self, csr: RelationalCSR, node: Int32) -> None:
        """Of the edges' relations with ``node`` (slot,), their heads or their tails, in O(E log E)."""
        self.num_nodes, self.num_relations = csr.num_nodes, csr.num_relations
        key = np.sort(node.astype(np.int64) * csr.num_relations + csr.relation)
        key = key[np.flatnonzero(np.diff(key, prepend=-1))]
        self.node, self.relation = np.divmod(key, max(1, csr.num_relations))  # (pair,) both
        self.begin = _begins(self.node, self.num_nodes)

    @cached_property
    def by_relation(self) -> tuple[Int64, Int64]:
        """Where the nodes of each relation begin (relation + 1,), and these nodes (pair,)."""
        return _begins(self.relation, self.num_relations), self.node[np.argsort(self.relation, kind="stable")]


def _begins(keys: Int64, num_keys: int) -> Int64:
    begin = np.zeros(num_keys + 1, dtype=np.int64)
    np.cumsum(np.bincount(keys, minlength=num_keys), out=begin[1:])
    return begin
