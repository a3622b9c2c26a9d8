import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbfnet.errors import PathError
from nbfnet.semiring.catalog import (
    graph_distance,
    katz,
    largest_beta,
    most_reliable_path,
    personalized_pagerank,
    widest_path,
)
from nbfnet.semiring.path_enumeration import path_enumeration
from nbfnet.semiring.semiring import MAX_MIN, MAX_TIMES, MIN_PLUS, PLUS_TIMES
from nbfnet.semiring.weighted_edges import WeightedEdges


@st.composite
def graphs(draw):
    nodes = draw(st.integers(1, 6))
    node = st.integers(0, nodes - 1)
    ends = draw(st.lists(st.tuples(node, node, st.integers(1, 8).map(lambda w: w / 8)), max_size=9))
    return nodes, ends, draw(st.booleans()), draw(st.lists(node, min_size=1, max_size=3))


def with_values(edges, values):
    return WeightedEdges(edges.csr, np.ascontiguousarray(values, dtype=np.float64))


def enumerated(edges, sources, semiring, length):
    return np.array([path_enumeration(edges, u, semiring, length) for u in sources])


@settings(max_examples=60, deadline=None)
@given(graph=graphs(), length=st.integers(0, 4))
def test_all_five_equal_path_enumeration(make_edges, graph, length):
    """The edge representations are those of the paper's table, written out."""
    nodes, ends, directed, sources = graph
    edges = make_edges(nodes, [h for h, *_ in ends], [t for _, t, _ in ends], [w for *_, w in ends], directed)
    each = np.arange(len(sources))
    heads, weight = edges.csr.source, edges.weight

    indices = enumerated(with_values(edges, 0.3 * weight), sources, PLUS_TIMES, length)
    indices[each, sources] -= 1  # the path of no edge
    np.testing.assert_allclose(katz(edges, sources, beta=0.3, iterations=length), indices, rtol=1e-9, atol=1e-15)

    leaving = np.zeros(nodes)
    np.add.at(leaving, heads, weight)
    walks = enumerated(with_values(edges, 0.85 * weight / leaving[heads]), sources, PLUS_TIMES, length)
    expected = walks / walks.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(personalized_pagerank(edges, sources, iterations=length), expected, rtol=1e-9)

    for method, semiring in ((graph_distance, MIN_PLUS), (widest_path, MAX_MIN), (most_reliable_path, MAX_TIMES)):
        expected = enumerated(edges, sources, semiring, length)
        np.testing.assert_array_equal(method(edges, sources, iterations=length), expected)


def to_networkx(edges):
    """Parallel edges merged into one with the sum of their weights."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(edges.num_nodes))
    weight = np.broadcast_to(edges.weight, edges.csr.num_edges)
    for head, tail, w in zip(edges.csr.source.tolist(), edges.csr.target.tolist(), weight.tolist(), strict=True):
        graph.add_edge(head, tail, weight=graph.get_edge_data(head, tail, {"weight": 0.0})["weight"] + w)
    return graph


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("alpha", [0.5, 0.85, 0.99])
def test_pagerank_as_networkx(random_edges, weighted, directed, alpha):
    """networkx lets the walker return to the source from nodes without out-edges, too."""
    edges = random_edges(3, 80, 200, weighted, directed)
    assert (edges.strength == 0).any()
    oracle = to_networkx(edges)
    for source in (0, 5, 79):
        expected = nx.pagerank(oracle, alpha, personalization={source: 1}, tol=1e-14, max_iter=10_000)
        got = personalized_pagerank(edges, [source], alpha=alpha, tolerance=1e-13)[0]
        np.testing.assert_allclose(got, [expected[v] for v in range(80)], rtol=1e-8, atol=1e-12)
        assert got.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("directed", [True, False])
def test_katz_as_networkx(random_edges, directed):
    """Katz centrality with weights of their own for nodes is the sum of the index over the sources."""
    edges = random_edges(4, 60, 200, directed=directed)
    beta = 0.5 * largest_beta(edges)
    scores = katz(edges, range(60), beta=beta, tolerance=1e-13)
    expected = nx.katz_centrality(
        to_networkx(edges), beta, 1.0, max_iter=10_000, tol=1e-13, normalized=False, weight="weight"
    )
    np.testing.assert_allclose(scores.sum(axis=0) + 1, [expected[v] for v in range(60)], rtol=1e-9)


def test_katz_solves_its_equation(random_edges):
    edges = random_edges(6, 50, 150)
    adjacency = np.zeros((50, 50))
    np.add.at(adjacency, (edges.csr.source, edges.csr.target), edges.weight)
    beta = 0.9 * largest_beta(edges)
    expected = np.linalg.inv(np.eye(50) - beta * adjacency) - np.eye(50)
    np.testing.assert_allclose(katz(edges, range(50), beta=beta, tolerance=1e-13), expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("nodes", [40, 260])
def test_a_beta_too_large_is_refused_and_the_largest_named(random_edges, nodes, directed):
    edges = random_edges(7, nodes, 4 * nodes, directed=directed)
    adjacency = np.zeros((nodes, nodes))
    np.add.at(adjacency, (edges.csr.source, edges.csr.target), edges.weight)
    largest = 1 / np.abs(np.linalg.eigvals(adjacency)).max()
    assert largest_beta(edges) == pytest.approx(largest, rel=1e-4)
    with pytest.raises(PathError, match=f"must be less than {largest:.3g}"[:-1]):
        katz(edges, [0], beta=1.001 * largest)
    katz(edges, [0], beta=0.99 * largest)
    assert np.isfinite(katz(edges, [0], beta=2 * largest, iterations=5)).all()


def test_beta_exactly_at_the_limit(make_edges):
    pair = make_edges(2, [0], [1], directed=False)
    with pytest.raises(PathError, match="less than 1"):
        katz(pair, [0], beta=1.0)


def test_any_beta_without_a_cycle(make_edges):
    edges = make_edges(3, [0, 1], [1, 2])
    assert katz(edges, [0], beta=10.0).tolist() == [[0.0, 10.0, 100.0]]


def test_katz_chooses_a_beta_that_converges(random_edges):
    edges = random_edges(9, 300, 3000)
    np.testing.assert_array_equal(katz(edges, [1]), katz(edges, [1], beta=0.1 * largest_beta(edges)))


@pytest.mark.parametrize("beta", [0.0, -0.1, np.nan, np.inf])
def test_beta_out_of_range(make_edges, beta):
    with pytest.raises(PathError, match="beta"):
        katz(make_edges(2, [0], [1]), [0], beta=beta)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.5, np.nan])
def test_alpha_out_of_range(make_edges, alpha):
    with pytest.raises(PathError, match="alpha"):
        personalized_pagerank(make_edges(2, [0], [1]), [0], alpha=alpha)


@pytest.mark.parametrize("weight", [-0.1, 1.1, np.nan])
def test_reliability_needs_probabilities(make_edges, weight):
    with pytest.raises(PathError, match=f"an edge weighs {weight:g}, but .* needs weights from 0 to 1"):
        most_reliable_path(make_edges(2, [0, 1], [1, 0], [weight, 0.5]), [0])


@pytest.mark.parametrize("method", [katz, personalized_pagerank])
def test_walks_need_weights_that_are_not_negative(make_edges, method):
    with pytest.raises(PathError, match="an edge weighs -1"):
        method(make_edges(2, [0], [1], [-1.0]), [0])


def test_pagerank_of_a_lonely_node(make_edges):
    assert personalized_pagerank(make_edges(3, [1], [2]), [0]).tolist() == [[1.0, 0.0, 0.0]]


def test_unreachable_nodes(make_edges):
    edges = make_edges(3, [0], [1], [0.5])
    assert graph_distance(edges, [0]).tolist() == [[0.0, 0.5, np.inf]]
    assert widest_path(edges, [0]).tolist() == [[np.inf, 0.5, -np.inf]]
    assert most_reliable_path(edges, [0]).tolist() == [[1.0, 0.5, 0.0]]
    assert katz(edges, [0], beta=0.5).tolist() == [[0.0, 0.25, 0.0]]
