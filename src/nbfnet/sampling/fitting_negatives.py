"""Fitting negatives: wrong answers that fit the relation, because some fact of it has them in that place.

A random entity is mostly of the wrong sort, and easily told apart. With the distinct tails t_0 < t_1 < ... of a
relation and the known answers of a query at the places p_0 < p_1 < ... among them, the r-th tail that is not an answer
stands at place r + |{i : p_i - i <= r}|, as in ``negatives.py``.
"""

from __future__ import annotations

import numpy as np

from nbfnet.graph.triplets import Int32, Int64
from nbfnet.sampling.known_answers import KnownAnswers
from nbfnet.sampling.sorted_keys import number_in_runs, sort_distinct


class FittingNegatives:
    """Draws, for the queries of a relation, tails of its other facts, uniformly and with replacement."""

    def __init__(self, known: KnownAnswers) -> None:
        self.known = known
        row = np.repeat(np.arange(known.num_rows), np.diff(known.begin))
        relation = np.append(known.relation_of_rows(), 0)[row]  # of each known answer; the empty row has none
        key: Int64 = relation * known.num_nodes + known.answer.astype(np.int64)
        self._tail: Int64 = sort_distinct(key)  # (relation, tail) as one number, ascending
        ids = np.arange(2 * known.num_relations + 1)
        self._first: Int64 = np.searchsorted(self._tail, ids * known.num_nodes)  # (relation + 1,)
        place = np.searchsorted(self._tail, key) - self._first[relation]
        self._shifted: Int64 = row * known.num_nodes + place - number_in_runs(row)  # ascending

    def count_allowed(self, source: Int32, relation: Int32) -> Int64:
        """(query,) how many nodes may be drawn for each query; zero where every tail of the relation is an answer."""
        row = self.known.rows(source, relation)
        answers = self.known.begin[row + 1] - self.known.begin[row]
        return self._first[relation + 1] - self._first[relation] - answers

    def draw(self, source: Int32, relation: Int32, count: int, generator: np.random.Generator) -> Int32:
        """(query, count) negatives of queries (source, relation), each of which must have one."""
        row, allowed = self.known.rows(source, relation), self.count_allowed(source, relation)
        drawn = generator.integers(0, allowed[:, None], size=(len(allowed), count))
        lowest = row * self.known.num_nodes
        answers_before = np.searchsorted(self._shifted, lowest[:, None] + drawn, side="right")
        place = drawn + answers_before - np.searchsorted(self._shifted, lowest)[:, None]
        tail = self._tail[self._first[relation][:, None] + place] % self.known.num_nodes
        return tail.astype(np.int32)
