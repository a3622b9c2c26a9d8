"""Bellman-Ford on benchmark graphs equals independent libraries."""

import graphblas as gb
import networkx as nx
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph

from nbfnet.semiring.bellman_ford import bellman_ford
from nbfnet.semiring.catalog import graph_distance, katz, largest_beta, personalized_pagerank
from nbfnet.semiring.semiring import MAX_MIN, MAX_TIMES, MIN_PLUS, PLUS_TIMES
from nbfnet.semiring.weighted_edges import WeightedEdges

GRAPHS = ["cora", "pubmed", "wn18rr"]
GRAPHBLAS = {
    "plus_times": (gb.semiring.plus_times, gb.monoid.plus),
    "min_plus": (gb.semiring.min_plus, gb.monoid.min),
    "max_min": (gb.semiring.max_min, gb.monoid.max),
    "max_times": (gb.semiring.max_times, gb.monoid.max),
}


@pytest.fixture(scope="module", params=GRAPHS)
def edges(request, benchmark_graph):
    csr = benchmark_graph(request.param).csr
    return WeightedEdges(csr, np.random.default_rng(0).random(csr.num_edges))


@pytest.fixture(scope="module")
def sources(edges):
    return np.random.default_rng(1).integers(0, edges.num_nodes, 20)


def matrix(edges):
    """scipy's (head, tail) matrix; parallel edges keep the least weight."""
    csr = edges.csr
    order = np.lexsort((edges.weight, csr.target, csr.source))
    head, tail, weight = csr.source[order], csr.target[order], edges.weight[order]
    first = np.append(True, (np.diff(head) != 0) | (np.diff(tail) != 0))
    shape = (edges.num_nodes, edges.num_nodes)
    return scipy.sparse.csr_array((weight[first], (head[first], tail[first])), shape=shape)


def test_distances_as_scipy(edges, sources):
    expected = scipy.sparse.csgraph.dijkstra(matrix(edges), indices=sources)
    np.testing.assert_allclose(graph_distance(edges, sources), expected, rtol=1e-12)


def test_hops_as_scipy(edges, sources):
    expected = scipy.sparse.csgraph.shortest_path(matrix(edges), indices=sources, unweighted=True)
    np.testing.assert_array_equal(graph_distance(WeightedEdges(edges.csr), sources), expected)


def test_hops_as_networkx(edges, sources):
    graph = nx.DiGraph(list(zip(edges.csr.source.tolist(), edges.csr.target.tolist(), strict=True)))
    for source in sources[:3].tolist():
        expected = nx.single_source_shortest_path_length(graph, source) if source in graph else {source: 0}
        got = graph_distance(WeightedEdges(edges.csr), [source])[0]
        assert {int(v): got[v] for v in np.flatnonzero(np.isfinite(got))} == expected


def test_pagerank_as_networkx(edges, sources):
    csr = edges.csr
    graph = nx.from_scipy_sparse_array(
        scipy.sparse.coo_array((edges.weight, (csr.source, csr.target))).tocsr(), create_using=nx.DiGraph
    )
    graph.add_nodes_from(range(edges.num_nodes))
    source = int(sources[0])
    expected = nx.pagerank(graph, 0.85, personalization={source: 1}, tol=1e-19, max_iter=1000)
    got = personalized_pagerank(edges, [source], tolerance=1e-12)[0]
    np.testing.assert_allclose(got, [expected[v] for v in range(edges.num_nodes)], rtol=1e-9, atol=1e-15)


def test_katz_as_scipy(edges, sources):
    csr = edges.csr
    beta = 0.7 * largest_beta(edges)
    adjacency = scipy.sparse.coo_array((edges.weight, (csr.target, csr.source)), shape=(edges.num_nodes,) * 2).tocsc()
    system = scipy.sparse.eye_array(edges.num_nodes, format="csc") - beta * adjacency
    boundary = np.zeros(edges.num_nodes)
    boundary[sources[0]] = 1
    expected, info = scipy.sparse.linalg.gmres(system, boundary, rtol=1e-13, atol=0, restart=100)
    assert info == 0
    np.testing.assert_allclose(katz(edges, sources[:1], beta=beta)[0], expected - boundary, rtol=1e-5, atol=1e-11)


@pytest.mark.parametrize("semiring", [PLUS_TIMES, MIN_PLUS, MAX_MIN, MAX_TIMES], ids=lambda s: s.name)
@pytest.mark.parametrize("iterations", [1, 3, 6])
def test_as_graphblas(edges, sources, semiring, iterations):
    times, plus = GRAPHBLAS[semiring.name]
    csr, nodes = edges.csr, edges.num_nodes
    adjacency = gb.Matrix.from_coo(csr.source, csr.target, edges.weight, nrows=nodes, ncols=nodes, dup_op=plus.binaryop)
    boundary = np.full((len(sources), nodes), semiring.zero)
    boundary[np.arange(len(sources)), sources] = semiring.one
    start = gb.Matrix.from_dense(boundary)
    h = start
    for _ in range(iterations):
        following = start.dup()
        following(plus) << times(h @ adjacency)
        h = following
    got = bellman_ford(edges, sources, semiring, iterations=iterations)
    if semiring is PLUS_TIMES:
        np.testing.assert_allclose(got, h.to_dense(), rtol=1e-12)
    else:
        np.testing.assert_array_equal(got, h.to_dense())


@pytest.mark.parametrize("semiring", [MIN_PLUS, MAX_MIN, MAX_TIMES], ids=lambda s: s.name)
def test_until_convergence_as_graphblas(edges, sources, semiring):
    times, plus = GRAPHBLAS[semiring.name]
    csr, nodes = edges.csr, edges.num_nodes
    adjacency = gb.Matrix.from_coo(csr.source, csr.target, edges.weight, nrows=nodes, ncols=nodes, dup_op=plus.binaryop)
    boundary = np.full(nodes, semiring.zero)
    boundary[sources[0]] = semiring.one
    h = gb.Vector.from_dense(boundary)
    while True:
        following = h.dup()
        following(plus) << times(h @ adjacency)
        if following.isequal(h):
            break
        h = following
    np.testing.assert_array_equal(bellman_ford(edges, sources[:1], semiring)[0], h.to_dense())
