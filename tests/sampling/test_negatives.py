from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from nbfnet.errors import DatasetError
from nbfnet.graph.graph import EntityTypes
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.sampling.known_answers import KnownAnswers
from nbfnet.sampling.negatives import StrictNegatives

V, R = 7, 2
facts = st.lists(
    st.tuples(st.integers(0, V - 1), st.integers(0, R - 1), st.integers(0, V - 1)), min_size=1, max_size=25
)
type_ids = st.lists(st.integers(-1, 2), min_size=V, max_size=V)


def known_answers(rows):
    triplets = Triplets.of(*np.array(rows, dtype=np.int32).reshape(-1, 3).T)
    return KnownAnswers(triplets, num_nodes=V, num_relations=R)


def entity_types(ids):
    return EntityTypes(Vocabulary.of(["a", "b", "c"], role="type"), np.array(ids, dtype=np.int32))


def queries_of(rows):
    """Each fact as a tail query, then as a head query."""
    h, r, t = np.array(rows, dtype=np.int32).reshape(-1, 3).T
    return (
        np.concatenate([h, t]),
        np.concatenate([r, r + R]).astype(np.int32),
        np.concatenate([t, h]),
    )


def allowed_nodes(known, source, relation, answer, ids):
    right = set(known.of_query(int(source), int(relation)).tolist())
    return sorted(v for v in range(V) if v not in right and ids[v] == ids[int(answer)])


@settings(max_examples=40, deadline=None)
@given(facts, st.none() | type_ids, st.integers(0, 2**32))
def test_draws_exactly_the_allowed_nodes(rows, ids, seed):
    known = known_answers(rows)
    negatives = StrictNegatives(known, None if ids is None else entity_types(ids))
    source, relation, answer = queries_of(rows)
    kinds = [0] * V if ids is None else ids
    allowed = [allowed_nodes(known, *query, kinds) for query in zip(source, relation, answer, strict=True)]
    assert negatives.count_allowed(source, relation, answer).tolist() == [len(nodes) for nodes in allowed]
    some = np.array([bool(nodes) for nodes in allowed])
    assume(some.any())
    # 400 draws of at most 7 nodes: that one is missed has probability 1e-26.
    drawn = negatives.draw(source[some], relation[some], answer[some], 400, np.random.default_rng(seed))
    assert drawn.dtype == np.int32
    assert [np.unique(row).tolist() for row in drawn] == [nodes for nodes in allowed if nodes]


def test_queries_without_a_known_answer_may_draw_every_node():
    negatives = StrictNegatives(known_answers([(0, 0, 1)]))
    one = np.array([3], dtype=np.int32)
    drawn = negatives.draw(one, np.array([1], dtype=np.int32), one, 400, np.random.default_rng(0))
    assert np.unique(drawn).tolist() == list(range(V))


@pytest.mark.parametrize("ids", [None, [0, 1, 0, 0, 1, 0, 0]])
def test_uniform_over_the_allowed_nodes(ids):
    known = known_answers([(0, 0, 1), (0, 0, 3), (0, 0, 4), (2, 1, 0)])
    negatives = StrictNegatives(known, None if ids is None else entity_types(ids))
    query = (np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32), np.array([3], dtype=np.int32))
    drawn = negatives.draw(*query, 20_000, np.random.default_rng(1))
    allowed = allowed_nodes(known, 0, 0, 3, ids or [0] * V)
    counts = np.bincount(drawn.ravel(), minlength=V)
    assert np.flatnonzero(counts).tolist() == allowed == [0, 2, 5, 6]
    assert chisquare(counts[allowed]).pvalue > 0.01


def test_the_seed_decides():
    negatives = StrictNegatives(known_answers([(0, 0, 1), (1, 1, 2)]))
    query = queries_of([(0, 0, 1), (1, 1, 2)])
    first, again, other = (negatives.draw(*query, 50, np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_query_that_everything_answers():
    rows = [(2, 1, v) for v in range(V)] + [(0, 0, 1)]
    negatives = StrictNegatives(known_answers(rows))
    source, relation, answer = (np.array(part, dtype=np.int32) for part in ([0, 2], [0, 1], [1, 5]))
    assert negatives.count_allowed(source, relation, answer).tolist() == [V - 1, 0]
    with pytest.raises(DatasetError, match=r"1 of 2 queries.*source 2 and relation 1 every entity is a known answer"):
        negatives.draw(source, relation, answer, 3, np.random.default_rng(0))


def test_a_type_that_holds_only_the_answer():
    negatives = StrictNegatives(known_answers([(0, 0, 1)]), entity_types([0, 1, 0, 0, 0, 0, -1]))
    query = (np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int32), np.ones(1, dtype=np.int32))
    with pytest.raises(DatasetError, match="every entity of the answer's type"):
        negatives.draw(*query, 1, np.random.default_rng(0))


def test_no_queries():
    negatives = StrictNegatives(known_answers([(0, 0, 1)]))
    none = np.zeros(0, dtype=np.int32)
    assert negatives.draw(none, none, none, 4, np.random.default_rng(0)).shape == (0, 4)
