"""KnownAnswers: for a query (source, relation), every answer that some facts give."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise

import numpy as np

from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import with_inverse_count, with_inverses, with_reversals
from nbfnet.graph.relational_csr import sort_by_key
from nbfnet.graph.triplets import Int32, Int64, Triplets
from nbfnet.sampling.sorted_keys import first_of_runs, sort_distinct


class KnownAnswers:
    """{v | (u, q, v) is a fact} for every query (u, q), inverse relations included, sorted and without repeats.

    A fact (u, r, v) answers (u, r, ?) with v, and (v, inverse of r, ?) with u. Queries that share source and relation
    are one *row*; the last row is empty and stands for every query without an answer.
    """

    def __init__(self, *facts: Triplets, num_nodes: int, num_relations: int) -> None:
        """Index any number of sets of facts, in O(E log E).

        Args:
            facts: the sets of triplets; for an undirected graph, their reversals too.
            num_nodes: |V|.
            num_relations: |R|, inverses not counted.
        """
        self.num_nodes, self.num_relations = num_nodes, num_relations
        given = reduce(Triplets.concatenate, (_unweighted(part) for part in facts), Triplets.empty())
        given.check(num_nodes, num_relations)
        both = with_inverses(given, num_relations)
        answers_of = _sort_by_relation(both, num_nodes, with_inverse_count(num_relations))
        source, answer = np.divmod(np.concatenate(answers_of), num_nodes)
        relation = np.repeat(np.arange(len(answers_of)), [len(part) for part in answers_of])
        query = relation * num_nodes + source
        first = np.flatnonzero(first_of_runs(query))

        self.answer: Int32 = answer.astype(np.int32)  # (answer,) ascending within a row
        self.begin: Int64 = np.append(first, [len(query)] * 2)  # (row + 1,)
        self._query: Int64 = np.append(query[first], np.iinfo(np.int64).max)  # (row,) ascending

    @classmethod
    def of(cls, graph: Graph, *facts: Triplets) -> KnownAnswers:
        """The answers to a graph's queries that some facts give; those of an undirected graph hold both ways."""
        both_ways = [with_reversals(part) for part in facts] if graph.kind == "homogeneous" else facts
        return cls(*both_ways, num_nodes=graph.num_nodes, num_relations=graph.num_relations)

    @property
    def num_rows(self) -> int:
        """Rows, the empty one included."""
        return len(self.begin) - 1

    def relation_of_rows(self) -> Int64:
        """(row - 1,) the relation of each row's query; the empty row has none."""
        return self._query[:-1] // self.num_nodes

    def source_of_rows(self) -> Int64:
        """(row - 1,) the source of each row's query, ascending within a relation."""
        return self._query[:-1] % self.num_nodes

    def rows(self, source: Int32, relation: Int32) -> Int64:
        """(query,) the row of each query, in O(log E)."""
        key = self._key(source, relation)
        row = np.searchsorted(self._query, key)
        return np.where(self._query[row] == key, row, self.num_rows - 1)

    def of_row(self, row: int) -> Int32:
        """(answer,) the answers of a row, ascending."""
        return self.answer[self.begin[row] : self.begin[row + 1]]

    def of_query(self, source: int, relation: int) -> Int32:
        """(answer,) the answers of one query, ascending."""
        row = self.rows(np.array([source], dtype=np.int32), np.array([relation], dtype=np.int32))
        return self.of_row(int(row[0]))

    def _key(self, source: Int32, relation: Int32) -> Int64:
        return relation.astype(np.int64) * self.num_nodes + source


def _sort_by_relation(triplets: Triplets, num_nodes: int, num_relations: int) -> list[Int64]:
    """For each relation the distinct head * V + tail, ascending; relation by relation, so that no key overflows."""
    begin, order = sort_by_key(triplets.relation, num_relations)
    pair = triplets.head[order].astype(np.int64) * num_nodes + triplets.tail[order]
    return [sort_distinct(pair[a:b]) for a, b in pairwise(begin)]


def _unweighted(triplets: Triplets) -> Triplets:
    return Triplets(triplets.head, triplets.relation, triplets.tail)
