"""Inverse relations: a fact read the other way, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import base, invert, is_inverse, with_inverse_count, with_inverses, with_reversals
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary

rows = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 5)), max_size=20)


def triplets_of(facts: list[tuple[int, int, int]], weight: object = None) -> Triplets:
    head, relation, tail = zip(*facts, strict=True) if facts else ((), (), ())
    return Triplets.of(head, relation, tail, weight)


@given(rows)
def test_every_fact_is_joined_by_its_inverse(facts: list[tuple[int, int, int]]) -> None:
    weight = np.arange(len(facts), dtype=float)
    both = with_inverses(triplets_of(facts, weight), 3)
    got = list(zip(both.head.tolist(), both.relation.tolist(), both.tail.tolist(), strict=True))
    assert got == [*facts, *((t, r + 3, h) for h, r, t in facts)]
    assert both.relation.dtype == np.int32
    assert both.weight is not None
    np.testing.assert_array_equal(both.weight, np.tile(weight, 2))
    assert with_inverses(triplets_of(facts), 3).weight is None


@given(rows)
def test_an_undirected_edge_goes_both_ways_under_its_relation(facts: list[tuple[int, int, int]]) -> None:
    both = with_reversals(triplets_of(facts))
    got = list(zip(both.head.tolist(), both.relation.tolist(), both.tail.tolist(), strict=True))
    assert got == [*facts, *((t, r, h) for h, r, t in facts)]


@given(st.integers(1, 1000), st.data())
def test_the_inverse_of_the_inverse_is_the_relation(num_relations: int, data: st.DataObject) -> None:
    relation = data.draw(st.integers(0, 2 * num_relations - 1))
    other = invert(relation, num_relations)
    assert invert(other, num_relations) == relation
    assert other != relation
    assert 0 <= other < with_inverse_count(num_relations)
    assert base(other, num_relations) == base(relation, num_relations) < num_relations
    assert is_inverse(relation, num_relations) != is_inverse(other, num_relations)

    array = np.arange(2 * num_relations, dtype=np.int32)
    inverted = invert(array, num_relations)
    assert inverted.dtype == np.int32
    assert inverted.tolist() == [invert(r, num_relations) for r in range(2 * num_relations)]


@pytest.mark.parametrize("kind", ["knowledge", "homogeneous"])
def test_a_graph_passes_messages_both_ways(kind: str, multiset: Callable[[Triplets], Counter[object]]) -> None:
    relations = Vocabulary.of(["r", "s"] if kind == "knowledge" else ["edge"], role="relation")
    triplets = Triplets.of([0, 1, 1, 0], [0, 1, 0, 0] if kind == "knowledge" else [0] * 4, [1, 2, 1, 1], [1, 2, 3, 4])
    csr = Graph("g", kind, Vocabulary.numbered(4), relations, triplets).csr  # type: ignore[arg-type]
    edges = Triplets(csr.source, csr.relation, csr.target, csr.weight)
    if kind == "knowledge":
        assert csr.num_relations == 4
        assert multiset(edges) == multiset(with_inverses(triplets, 2))
    else:
        assert csr.num_relations == 1
        assert multiset(edges) == multiset(with_reversals(triplets))
    assert csr.num_nodes == 4
    assert csr.degree[3] == 0
