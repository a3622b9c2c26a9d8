"""Fitting negatives against a plain enumeration of the tails of each relation."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import numpy as np

from nbfnet.graph.triplets import Triplets
from nbfnet.sampling.fitting_negatives import FittingNegatives
from nbfnet.sampling.known_answers import KnownAnswers

NODES, RELATIONS = 6, 3
Edge = tuple[int, int, int]


def both_ways(facts: list[Edge]) -> set[Edge]:
    return {*facts, *((t, r + RELATIONS, h) for h, r, t in facts)}


@hypothesis.given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 5)), min_size=1, max_size=20),
    st.integers(0, 2**16),
)
def test_every_tail_of_the_relation_that_is_not_an_answer_is_drawn(facts: list[Edge], seed: int) -> None:
    edges = both_ways(facts)
    known = KnownAnswers(Triplets.of(*np.array(facts, dtype=np.int32).T), num_nodes=NODES, num_relations=RELATIONS)
    negatives = FittingNegatives(known)
    queries = [(u, q) for u in range(NODES) for q in range(2 * RELATIONS)]
    expected = [{t for _, r, t in edges if r == q} - {t for h, r, t in edges if (h, r) == (u, q)} for u, q in queries]
    source, relation = (np.array(part, dtype=np.int32) for part in zip(*queries, strict=True))
    allowed = negatives.count_allowed(source, relation)
    assert allowed.tolist() == [len(nodes) for nodes in expected]
    has = allowed > 0
    drawn = negatives.draw(source[has], relation[has], 200, np.random.default_rng(seed))
    assert drawn.dtype == np.int32
    found = [set(row) for row in drawn.tolist()]
    assert found == [nodes for nodes in expected if nodes]  # of at most six, 200 draws leave none out


def test_draws_are_uniform() -> None:
    facts = [(0, 0, t) for t in (1, 3, 5)] + [(1, 0, t) for t in (0, 2, 4)]
    known = KnownAnswers(Triplets.of(*np.array(facts, dtype=np.int32).T), num_nodes=NODES, num_relations=RELATIONS)
    zero = np.zeros(1, dtype=np.int32)
    drawn = FittingNegatives(known).draw(zero, zero, 30_000, np.random.default_rng(0))
    nodes, counts = np.unique(drawn, return_counts=True)
    assert nodes.tolist() == [0, 2, 4]
    assert np.abs(counts / 10_000 - 1).max() < 0.05
