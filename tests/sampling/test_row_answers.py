"""Known answers read off rows are those of the sorted index, and what is drawn beside them is never one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.errors import DatasetError
from nbfnet.graph.graph import Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.sampling.known_answers import KnownAnswers
from nbfnet.sampling.row_answers import RowAnswers

V, R = 5, 2
node = st.integers(0, V - 1)
links = st.lists(st.tuples(node, st.integers(0, R - 1), node), max_size=20)


def triplets(rows) -> Triplets:
    return Triplets.of(*np.array(rows, dtype=np.int32).reshape(-1, 3).T)


def graph_of(rows) -> Graph:
    return Graph("g", "knowledge", Vocabulary.numbered(V), Vocabulary.numbered(R, role="relation"), triplets(rows))


@given(facts=links, held_out=links)
def test_they_are_the_known_answers(facts, held_out) -> None:
    graph = graph_of(facts)
    expected = KnownAnswers.of(graph, graph.triplets, triplets(held_out))
    answers = RowAnswers(graph, triplets(held_out))
    alone, expected_alone = RowAnswers(graph), KnownAnswers.of(graph, graph.triplets)
    for source in range(V):
        for relation in range(2 * R):
            assert answers.of_query(source, relation).tolist() == expected.of_query(source, relation).tolist()
            assert alone.of_query(source, relation).tolist() == expected_alone.of_query(source, relation).tolist()


@given(facts=links, source=node, relation=st.integers(0, 2 * R - 1), answer=node, seed=st.integers(0, 5))
def test_what_is_drawn_is_wrong_and_everything_wrong_is_drawn(facts, source, relation, answer, seed) -> None:
    graph = graph_of(facts)
    answers = RowAnswers(graph)
    right = {answer, *answers.of_query(source, relation).tolist()}
    query = [np.array([part], dtype=np.int32) for part in (source, relation, answer)]
    generator = np.random.default_rng(seed)
    if len(right) == V:
        with pytest.raises(DatasetError, match="none is wrong"):
            answers.draw_others(*query, 3, generator)
        return
    drawn = answers.draw_others(*query, 400, generator)[0]
    counts = np.bincount(drawn, minlength=V)
    wrong = [v for v in range(V) if v not in right]
    assert set(np.flatnonzero(counts).tolist()) == set(wrong)
    expected = 400 / len(wrong)
    assert (np.abs(counts[wrong] - expected) < 6 * np.sqrt(expected)).all()
