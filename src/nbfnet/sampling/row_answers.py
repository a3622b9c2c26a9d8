"""RowAnswers: the known answers of a query, read off the rows of its source, and wrong ones drawn beside them.

``KnownAnswers`` sorts all facts once, which a large graph has no memory for. Here a query reads the few facts that its
source has.
"""

from __future__ import annotations

import numpy as np

from nbfnet.errors import DatasetError
from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import base, is_inverse
from nbfnet.graph.triplets import Int32, Triplets
from nbfnet.sampling.known_answers import KnownAnswers


class RowAnswers:
    """{v | (u, q, v) is a fact of a knowledge graph, or one of some other links}, inverse relations included."""

    def __init__(self, graph: Graph, *held_out: Triplets) -> None:
        """``held_out`` are few links beside the facts, such as the valid and the test links."""
        assert graph.kind == "knowledge"
        self._facts, self.num_nodes, self._num_relations = graph.facts_csr, graph.num_nodes, graph.num_relations
        self._held_out = KnownAnswers.of(graph, *held_out) if held_out else None

    def of_query(self, source: int, relation: int) -> Int32:
        """(answer,) the answers of one query, ascending and without repeats."""
        records, number = self._facts.records, base(relation, self._num_relations)
        if is_inverse(relation, self._num_relations):
            begin, facts, end = self._facts.indptr, records.into, "head"
        else:
            begin, facts, end = self._facts.transpose.indptr, records.out, "tail"
        row = np.asarray(facts[begin[source] : begin[source + 1]])
        answers: Int32 = row[end][row["relation"] == number]
        if self._held_out is not None:
            answers = np.concatenate([answers, self._held_out.of_query(source, relation)])
        return np.unique(answers)

    def draw_others(
        self, source: Int32, relation: Int32, answer: Int32, count: int, generator: np.random.Generator
    ) -> Int32:
        """(query, count) nodes that are neither the answer nor a known one, uniformly and with replacement.

        The r-th such node is r + |{i : k_i - i <= r}| with the known answers k_0 < k_1 < ..., as in
        ``sampling/negatives.py``.

        Raises:
            DatasetError: every node is a known answer of some query.
        """
        drawn = np.empty((len(source), count), dtype=np.int32)
        for row, (u, q, v) in enumerate(zip(source.tolist(), relation.tolist(), answer.tolist(), strict=True)):
            known = np.union1d(self.of_query(u, q), np.int32(v))
            if len(known) == self.num_nodes:
                raise DatasetError(f"every entity is a known answer of source {u} and relation {q}: none is wrong")
            numbers = generator.integers(0, self.num_nodes - len(known), size=count)
            drawn[row] = numbers + np.searchsorted(known - np.arange(len(known)), numbers, side="right")
        return drawn
