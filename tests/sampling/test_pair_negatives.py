from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from nbfnet.errors import DatasetError
from nbfnet.graph.triplets import Triplets
from nbfnet.sampling.negatives import PairNegatives


def edges(rows):
    u, v = np.array(rows, dtype=np.int32).reshape(-1, 2).T
    return Triplets.of(u, np.zeros(len(u)), v)


def allowed_pairs(num_nodes, rows):
    joined = {frozenset(row) for row in rows}
    return [pair for pair in itertools.combinations(range(num_nodes), 2) if frozenset(pair) not in joined]


def unordered(u, v):
    return [tuple(sorted(pair)) for pair in zip(u.tolist(), v.tolist(), strict=True)]


@st.composite
def graphs(draw):
    num_nodes = draw(st.integers(1, 7))
    node = st.integers(0, num_nodes - 1)
    rows = st.lists(st.tuples(node, node), max_size=15)
    return num_nodes, draw(rows), draw(rows)


@settings(max_examples=60, deadline=None)
@given(graphs(), st.integers(0, 2**32))
def test_distinct_draws_of_all_are_all_pairs_without_an_edge(graph, seed):
    num_nodes, first, second = graph
    negatives = PairNegatives(edges(first), edges(second), num_nodes=num_nodes)
    allowed = allowed_pairs(num_nodes, first + second)
    assert negatives.num_allowed == len(allowed)
    drawn = negatives.draw_distinct(len(allowed), np.random.default_rng(seed))
    assert sorted(unordered(*drawn)) == allowed
    if allowed:
        assert set(unordered(*negatives.draw(50, np.random.default_rng(seed)))) <= set(allowed)


def test_uniform_over_pairs_and_directions():
    rows = [(0, 1), (3, 2), (2, 3), (4, 4), (0, 5)]
    u, v = PairNegatives(edges(rows), num_nodes=6).draw(20_000, np.random.default_rng(0))
    counts = np.zeros((6, 6))
    np.add.at(counts, (u, v), 1)
    low, high = np.array(allowed_pairs(6, rows)).T
    both_ways = np.concatenate([counts[low, high], counts[high, low]])
    assert both_ways.sum() == 20_000
    assert chisquare(both_ways).pvalue > 0.01


def test_large_graphs_do_not_overflow():
    nodes = 1_000_000  # 5e11 pairs
    last = nodes - 1
    negatives = PairNegatives(edges([(last, last - 1), (0, last)]), num_nodes=nodes)
    assert negatives.num_allowed == nodes * (nodes - 1) // 2 - 2
    u, v = negatives.draw(1000, np.random.default_rng(0))
    assert np.all(u != v) and u.min() >= 0 and max(u.max(), v.max()) < nodes


def test_the_seed_decides():
    negatives = PairNegatives(edges([(0, 1)]), num_nodes=50)
    first, again, other = (negatives.draw_distinct(20, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_complete_graph_has_no_negatives():
    negatives = PairNegatives(edges([(0, 1), (1, 2), (2, 0)]), num_nodes=3)
    for draw in (negatives.draw, negatives.draw_distinct):
        with pytest.raises(DatasetError, match="the graph of 3 nodes has only 0"):
            draw(1, np.random.default_rng(0))
        assert len(draw(0, np.random.default_rng(0))[0]) == 0


def test_too_few_distinct_pairs():
    negatives = PairNegatives(edges([(0, 1)]), num_nodes=3)
    with pytest.raises(DatasetError, match=r"3 pairs of nodes without an edge are needed.*only 2"):
        negatives.draw_distinct(3, np.random.default_rng(0))
