import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbfnet.errors import PathError
from nbfnet.semiring.bellman_ford import bellman_ford
from nbfnet.semiring.best_path import best_path
from nbfnet.semiring.path_enumeration import path_representation
from nbfnet.semiring.semiring import MAX_MIN, MAX_TIMES, MIN_PLUS, PLUS_TIMES

selecting = pytest.mark.parametrize("semiring", [MIN_PLUS, MAX_MIN, MAX_TIMES], ids=lambda s: s.name)


@st.composite
def graphs(draw):
    """Few different weights, zero and one among them: ties and cycles that cost nothing everywhere."""
    nodes = draw(st.integers(1, 8))
    node = st.integers(0, nodes - 1)
    ends = draw(st.lists(st.tuples(node, node, st.sampled_from([0.0, 0.25, 0.5, 1.0])), max_size=25))
    return nodes, ends, draw(st.booleans())


def assert_is_path(edges, path, source, target):
    nodes = [source, *(int(edges.csr.target[slot]) for slot in path)]
    assert [int(edges.csr.source[slot]) for slot in path] == nodes[:-1]
    assert nodes[-1] == target
    assert len(set(nodes)) == len(nodes)


@selecting
@settings(max_examples=100, deadline=None)
@given(graph=graphs())
def test_the_path_has_the_score(make_edges, semiring, graph):
    nodes, ends, directed = graph
    edges = make_edges(nodes, [h for h, *_ in ends], [t for _, t, _ in ends], [w for *_, w in ends], directed)
    scores = bellman_ford(edges, [0], semiring)[0]
    for target in range(nodes):
        path = best_path(edges, 0, target, semiring)
        if target != 0 and scores[target] == semiring.zero:
            assert path is None
        else:
            assert_is_path(edges, path, 0, target)
            assert path_representation(edges, tuple(path), semiring) == scores[target]


def test_fewest_edges_of_equal_paths(make_edges):
    edges = make_edges(4, [0, 1, 2, 0], [1, 2, 3, 3], [1.0, 1.0, 1.0, 3.0])
    path = best_path(edges, 0, 3, MIN_PLUS)
    assert [int(edges.csr.edge[slot]) for slot in path] == [3]


@selecting
def test_a_cycle_that_costs_nothing_is_not_walked_for_ever(make_edges, semiring):
    cost = {"min_plus": 0.0, "max_min": 1.0, "max_times": 1.0}[semiring.name]
    edges = make_edges(5, [0, 1, 2, 3, 3, 3], [1, 2, 3, 1, 3, 4], [cost] * 6)
    path = best_path(edges, 0, 4, semiring)
    assert_is_path(edges, path, 0, 4)
    assert len(path) == 4


def test_random_weights_as_networkx(random_edges):
    edges = random_edges(12, 300, 1200)
    csr = edges.csr
    oracle = nx.MultiDiGraph()
    oracle.add_weighted_edges_from(zip(csr.source.tolist(), csr.target.tolist(), edges.weight.tolist(), strict=True))
    source = int(csr.source[0])
    lengths, paths = nx.single_source_dijkstra(oracle, source)
    for target in list(lengths)[::10]:
        path = best_path(edges, source, target, MIN_PLUS)
        assert path_representation(edges, tuple(path), MIN_PLUS) == lengths[target]
        assert len(path) <= len(paths[target]) - 1


def test_a_path_along_negative_edges(make_edges):
    edges = make_edges(4, [0, 0, 1, 2], [1, 2, 2, 3], [5.0, 3.0, -3.0, 1.0])
    path = best_path(edges, 0, 3, MIN_PLUS)
    assert [int(edges.csr.edge[slot]) for slot in path] == [0, 2, 3]


def test_no_way_and_no_step(make_edges):
    edges = make_edges(3, [0], [1])
    assert best_path(edges, 0, 2, MIN_PLUS) is None
    assert best_path(edges, 2, 2, MAX_MIN) == []


def test_a_sum_has_no_best_path(make_edges):
    with pytest.raises(PathError, match="no single path"):
        best_path(make_edges(3, [0], [1]), 0, 1, PLUS_TIMES)


@pytest.mark.parametrize("ends", [(0, 3), (3, 0)])
def test_nodes_out_of_range(make_edges, ends):
    with pytest.raises(PathError):
        best_path(make_edges(3, [0], [1]), *ends, MIN_PLUS)


def test_a_long_chain(make_edges):
    length = 3000
    edges = make_edges(length, np.arange(length - 1), np.arange(1, length), np.full(length - 1, 0.1))
    assert len(best_path(edges, 0, length - 1, MIN_PLUS)) == length - 1
