"""Strict negatives: wrong answers to a query, and pairs without an edge; never one that is known to be right.

No draw is ever thrown away. With the known answers k_0 < k_1 < ... of a query, the r-th node that is none of them is

    r + |{i : k_i - i <= r}|,

so a uniform r gives a uniform negative, exactly, by one binary search. The pairs u < v of a homogeneous graph are
numbered 0, 1, ... in lexicographic order; a negative pair is the r-th number that no edge has, found in the same way.
"""

from __future__ import annotations

import numpy as np

from nbfnet.errors import DatasetError
from nbfnet.graph.graph import EntityTypes
from nbfnet.graph.relational_csr import sort_by_key
from nbfnet.graph.triplets import Int32, Int64, Triplets
from nbfnet.sampling.known_answers import KnownAnswers
from nbfnet.sampling.sorted_keys import number_in_runs, sort_distinct


class StrictNegatives:
    """Draws nodes that are not known answers, uniformly and with replacement.

    Where entities have types, a negative has the type of the answer; entities without one are a type of their own.
    """

    def __init__(self, known: KnownAnswers, types: EntityTypes | None = None) -> None:
        self.known = known
        num_nodes = known.num_nodes
        untyped = np.zeros(num_nodes, dtype=np.int32)
        self._type: Int32 = untyped if types is None else types.of_entity + np.int32(1)  # (node,) from 0
        self._num_types = 1 if types is None else len(types.names) + 1
        if known.num_rows * self._num_types * num_nodes >= 2**63:
            raise DatasetError(
                f"{known.num_rows:,} queries with known answers, {self._num_types:,} types and {num_nodes:,} entities "
                "cannot be numbered in 64 bits: use fewer types"
            )
        # Nodes by type; a node's place is its number among the nodes of its type.
        self._first, self._node = sort_by_key(self._type, self._num_types)
        place = np.empty(num_nodes, dtype=np.int64)
        place[self._node] = np.arange(num_nodes) - np.repeat(self._first[:-1], np.diff(self._first))
        self._shifted = self._shift(place)

    def draw(self, source: Int32, relation: Int32, answer: Int32, count: int, generator: np.random.Generator) -> Int32:
        """(query, count) negatives for the answers (query,) of queries (source, relation).

        Raises:
            DatasetError: every node (of the answer's type) is a known answer of some query.
        """
        group, kind = self._group(source, relation, answer), self._type[answer]
        allowed = self._allowed(group, kind)
        if not allowed.all():
            self._refuse(np.flatnonzero(allowed == 0), source, relation)
        drawn = generator.integers(0, allowed[:, None], size=(len(allowed), count))
        lowest = (group * self.known.num_nodes)[:, None]
        known_before = np.searchsorted(self._shifted, lowest + drawn, side="right") - self._begin_of(group)[:, None]
        place = self._first[kind][:, None] + drawn + known_before
        return self._node[place].astype(np.int32)

    def count_allowed(self, source: Int32, relation: Int32, answer: Int32) -> Int64:
        """(query,) how many nodes may be drawn for each query; zero where no negative exists."""
        return self._allowed(self._group(source, relation, answer), self._type[answer])

    def _shift(self, place: Int64) -> Int64:
        """(answer,) k_i - i for the known answers of each group (row, type), with the group in front; ascending."""
        known = self.known
        row = np.repeat(np.arange(known.num_rows), np.diff(known.begin))
        group = row * self._num_types + self._type[known.answer]
        key = np.sort(group * known.num_nodes + place[known.answer])
        return key - number_in_runs(key // known.num_nodes)

    def _group(self, source: Int32, relation: Int32, answer: Int32) -> Int64:
        return self.known.rows(source, relation) * self._num_types + self._type[answer]

    def _begin_of(self, group: Int64) -> Int64:
        return np.searchsorted(self._shifted, group * self.known.num_nodes)

    def _allowed(self, group: Int64, kind: Int32) -> Int64:
        of_type: Int64 = np.diff(self._first)[kind]
        return of_type - (self._begin_of(group + 1) - self._begin_of(group))

    def _refuse(self, queries: Int64, source: Int32, relation: Int32) -> None:
        which = "entity" if self._num_types == 1 else "entity of the answer's type"
        first = queries[0]
        raise DatasetError(
            f"{len(queries)} of {len(source)} queries have no wrong answer to learn from: for source {source[first]} "
            f"and relation {relation[first]} every {which} is a known answer; leave such facts out of the batch"
        )


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
            DatasetError: an edge joins every pair.
        """
        self._require(min(count, 1))
        return self._pairs(generator.integers(0, max(self.num_allowed, 1), size=count), generator)

    def draw_distinct(self, count: int, generator: np.random.Generator) -> tuple[Int32, Int32]:
        """(count,) u and v of pairs that all differ, which a test set needs.

        Raises:
            DatasetError: so many pairs are not there.
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
            raise DatasetError(
                f"{count} pairs of nodes without an edge are needed, and the graph of {self.num_nodes} nodes has only "
                f"{self.num_allowed}: hold fewer edges out, or give a sparser graph"
            )
