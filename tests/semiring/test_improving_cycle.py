import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbfnet.errors import ImprovingCycleError
from nbfnet.semiring.bellman_ford import bellman_ford
from nbfnet.semiring.semiring import MAX_TIMES, MIN_PLUS, Monoid, Semiring


@st.composite
def graphs(draw):
    nodes = draw(st.integers(1, 8))
    node = st.integers(0, nodes - 1)
    return nodes, draw(st.lists(st.tuples(node, node, st.integers(-3, 8)), max_size=20)), draw(node)


@settings(max_examples=200, deadline=None)
@given(graph=graphs())
def test_as_networkx(make_edges, graph):
    """Distances with negative weights where they exist, and an error exactly where a reachable cycle is negative."""
    nodes, ends, source = graph
    edges = make_edges(nodes, [h for h, _, _ in ends], [t for _, t, _ in ends], [float(w) for _, _, w in ends])
    oracle = nx.MultiDiGraph()
    oracle.add_nodes_from(range(nodes))
    oracle.add_weighted_edges_from(ends)
    try:
        lengths = nx.single_source_bellman_ford_path_length(oracle, source)
    except nx.NetworkXUnbounded:
        with pytest.raises(ImprovingCycleError) as caught:
            bellman_ford(edges, [source], MIN_PLUS)
        assert_negative(caught.value.cycle, oracle)
    else:
        expected = [lengths.get(v, np.inf) for v in range(nodes)]
        assert bellman_ford(edges, [source], MIN_PLUS)[0].tolist() == expected


def assert_negative(cycle, oracle):
    total = 0
    for head, tail in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
        total += min(data["weight"] for data in oracle[head][tail].values())
    assert total < 0


def test_the_cycle_is_named(make_edges):
    edges = make_edges(5, [0, 1, 2, 3, 3], [1, 2, 3, 1, 4], [1.0, 2.0, -4.0, 1.0, 1.0])
    with pytest.raises(ImprovingCycleError, match=r"min_plus: the cycle .* improves it with every round") as caught:
        bellman_ford(edges, [0], MIN_PLUS)
    assert sorted(caught.value.cycle) == [1, 2, 3]


def test_a_cycle_out_of_reach_does_not_matter(make_edges):
    edges = make_edges(4, [0, 2, 3], [1, 3, 2], [1.0, -1.0, -1.0])
    assert bellman_ford(edges, [0], MIN_PLUS).tolist() == [[0.0, 1.0, np.inf, np.inf]]
    with pytest.raises(ImprovingCycleError):
        bellman_ford(edges, [0, 2], MIN_PLUS)


def test_some_iterations_are_possible_all_the_same(make_edges):
    edges = make_edges(2, [0, 1], [1, 0], [-1.0, -1.0])
    assert bellman_ford(edges, [0], MIN_PLUS, iterations=3).tolist() == [[-2.0, -3.0]]


def test_an_undirected_negative_edge_is_a_cycle(make_edges):
    with pytest.raises(ImprovingCycleError):
        bellman_ford(make_edges(3, [0, 1], [1, 2], [1.0, -0.5], directed=False), [0], MIN_PLUS)


def test_a_negative_self_loop(make_edges):
    with pytest.raises(ImprovingCycleError, match="1 → 1"):
        bellman_ford(make_edges(2, [0, 1], [1, 1], [1.0, -1.0]), [0], MIN_PLUS)


def test_a_cycle_of_length_zero_is_allowed(make_edges):
    edges = make_edges(3, [0, 1, 2], [1, 2, 1], [1.0, 2.0, -2.0])
    assert bellman_ford(edges, [0], MIN_PLUS).tolist() == [[0.0, 1.0, 3.0]]


def test_products_above_one(make_edges):
    with pytest.raises(ImprovingCycleError):
        bellman_ford(make_edges(2, [0, 1], [1, 0], [2.0, 0.75]), [0], MAX_TIMES)
    assert bellman_ford(make_edges(2, [0, 1], [1, 0], [2.0, 0.5]), [0], MAX_TIMES).tolist() == [[1.0, 2.0]]


def test_a_semiring_of_ones_own(make_edges):
    longest = Semiring("max_plus", Monoid(np.fmax, -np.inf), Monoid(np.add, 0.0))
    with pytest.raises(ImprovingCycleError, match="max_plus"):
        bellman_ford(make_edges(2, [0, 1], [1, 0], [1.0, -0.5]), [0], longest)
    assert bellman_ford(make_edges(3, [0, 1, 0], [1, 2, 2], [1.0, 1.0, 1.5]), [0], longest).tolist() == [
        [0.0, 1.0, 2.0]
    ]


def test_a_long_cycle_in_a_large_graph(make_edges):
    ring = np.arange(3000)
    weights = np.zeros(3000)
    weights[1234] = -1e-3
    with pytest.raises(ImprovingCycleError) as caught:
        bellman_ford(make_edges(3000, ring, np.roll(ring, -1), weights), [7], MIN_PLUS)
    assert sorted(caught.value.cycle) == ring.tolist()
