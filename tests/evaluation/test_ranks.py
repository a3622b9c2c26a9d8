from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nbfnet.errors import EvaluationError
from nbfnet.evaluation.ranks import filtered_ranks
from nbfnet.graph.triplets import Triplets
from nbfnet.sampling.known_answers import KnownAnswers

V = 6
infinity = float("inf")
score = st.sampled_from([-infinity, -1.0, 0.0, 0.5, 2.0, infinity])


def known_answers(rows):
    triplets = Triplets.of(*np.array(rows, dtype=np.int32).reshape(-1, 3).T)
    return KnownAnswers(triplets, num_nodes=V, num_relations=1)


def brute(scores, answer, right):
    negatives = [s for v, s in enumerate(scores) if v != answer and v not in right]
    better = sum(s > scores[answer] for s in negatives)
    tied = sum(s == scores[answer] for s in negatives)
    return better, tied, len(negatives)


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.lists(score, min_size=V, max_size=V), min_size=2, max_size=2),
    st.sets(st.tuples(st.integers(0, 1), st.integers(0, V - 1))),
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, V - 1)), min_size=1, max_size=8),
)
def test_equal_to_brute_force(table, facts, asked):
    known = known_answers([(u, 0, v) for u, v in facts])
    row, answer = (np.array(part) for part in zip(*asked, strict=True))
    source, relation = np.array([0, 1], dtype=np.int32), np.zeros(2, dtype=np.int32)
    found = filtered_ranks(torch.tensor(table), source, relation, row, answer.astype(np.int32), known)
    expected = [brute(table[u], v, {t for s, t in facts if s == u}) for u, v in asked]
    assert list(zip(found.better.tolist(), found.tied.tolist(), found.negatives.tolist(), strict=True)) == expected


def test_tie_policies_by_hand():
    #        the answer 2 has score 5: node 0 is better, nodes 1, 3, 4 tie, node 3 is known; node 5 is worse
    scores = torch.tensor([[7.0, 5.0, 5.0, 5.0, 5.0, 1.0]])
    known = known_answers([(0, 0, 3)])
    zero = np.zeros(1, dtype=np.int32)
    found = filtered_ranks(scores, zero, zero, np.zeros(1, dtype=np.int64), np.array([2], dtype=np.int32), known)
    ranks = {ties: found.rank(ties).tolist() for ties in ("optimistic", "realistic", "pessimistic")}
    assert ranks == {"optimistic": [2.0], "realistic": [3.0], "pessimistic": [4.0]}
    assert found.negatives.tolist() == [4]


def test_not_a_number_is_an_error():
    scores = torch.zeros(3, V)
    scores[1, 4] = float("nan")
    source, relation = np.array([5, 2, 0], dtype=np.int32), np.array([0, 1, 1], dtype=np.int32)
    row, answer = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int32)
    with pytest.raises(EvaluationError, match=r"1 of 3 queries.*source 2 and relation 1"):
        filtered_ranks(scores, source, relation, row, answer, known_answers([]))
