from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nbfnet.graph.triplets import Triplets
from nbfnet.sampling.known_answers import KnownAnswers

V, R = 6, 3
facts = st.lists(st.tuples(st.integers(0, V - 1), st.integers(0, R - 1), st.integers(0, V - 1)), max_size=30)


def triplets(rows):
    return Triplets.of(*np.array(rows, dtype=np.int32).reshape(-1, 3).T)


def brute(rows, source, relation):
    if relation < R:
        return sorted({t for h, r, t in rows if (h, r) == (source, relation)})
    return sorted({h for h, r, t in rows if (t, r) == (source, relation - R)})


def every_query():
    source, relation = np.divmod(np.arange(V * 2 * R, dtype=np.int32), 2 * R)
    return source.astype(np.int32), relation.astype(np.int32)


@settings(max_examples=60, deadline=None)
@given(facts, facts)
def test_answers_of_several_sets_equal_brute_force(first, second):
    known = KnownAnswers(triplets(first), triplets(second), num_nodes=V, num_relations=R)
    source, relation = every_query()
    rows = known.rows(source, relation)
    for u, q, row in zip(source.tolist(), relation.tolist(), rows.tolist(), strict=True):
        expected = brute(first + second, u, q)
        assert known.of_query(u, q).tolist() == expected
        assert known.of_row(row).tolist() == expected
    assert len(known.answer) == len(set(first + second)) * 2


def test_no_facts():
    known = KnownAnswers(Triplets.empty(), num_nodes=V, num_relations=R)
    assert known.of_query(0, 0).tolist() == []
    assert known.num_rows == 1
    assert np.all(known.rows(*every_query()) == 0)


def test_weights_do_not_matter():
    weighted = Triplets.of([0], [0], [1], [2.5])
    known = KnownAnswers(weighted, Triplets.of([0], [0], [2]), num_nodes=V, num_relations=R)
    assert known.of_query(0, 0).tolist() == [1, 2]


def test_the_largest_graphs_do_not_overflow():
    nodes, relations = 87_143_637, 1_315
    last = nodes - 1
    known = KnownAnswers(
        Triplets.of([last, last, 0], [relations - 1, relations - 1, 0], [last, 7, last]),
        num_nodes=nodes,
        num_relations=relations,
    )
    assert known.of_query(last, relations - 1).tolist() == [7, last]
    assert known.of_query(last, 2 * relations - 1).tolist() == [last]
    assert known.of_query(last, relations).tolist() == [0]
    assert known.of_query(0, 0).tolist() == [last]
    assert known.of_query(0, 1).tolist() == []
