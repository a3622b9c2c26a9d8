"""Hops from one source: every way the search takes a step, and the changes between them."""

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph

from nbfnet.semiring import numpy_iteration
from nbfnet.semiring.bellman_ford import bellman_ford
from nbfnet.semiring.semiring import MIN_PLUS


@pytest.fixture(scope="module")
def beads(make_edges):
    """Chain, cloud, chain, cloud: few rows in the frontier, many, few again, many again; and some never reached."""
    rng = np.random.default_rng(0)
    heads, tails, first = [], [], 0
    for length, size, edges in ((20, 700, 6000), (30, 900, 2500)):
        chain = np.arange(first, first + length)
        cloud = rng.integers(first + length, first + length + size, (2, edges))
        heads += [chain, cloud[0]]
        tails += [chain + 1, cloud[1]]
        first += length + size - 1  # the last of a cloud begins the next chain
    return make_edges(first + 70, np.concatenate(heads), np.concatenate(tails))


def scipy_hops(edges, source):
    matrix = scipy.sparse.coo_array(
        (np.ones(edges.csr.num_edges), (edges.csr.source, edges.csr.target)), shape=(edges.num_nodes,) * 2
    )
    return scipy.sparse.csgraph.shortest_path(matrix.tocsr(), indices=source, unweighted=True)


def test_as_scipy_from_anywhere(beads):
    for source in range(0, beads.num_nodes, 37):
        np.testing.assert_array_equal(bellman_ford(beads, [source], MIN_PLUS)[0], scipy_hops(beads, source))


@pytest.mark.parametrize("iterations", range(0, 70, 3))
def test_after_any_number_of_iterations_as_the_reference(beads, iterations):
    expected, _ = numpy_iteration.iterate(beads, np.array([0], dtype=np.int32), MIN_PLUS, None, iterations, 0.0)
    np.testing.assert_array_equal(bellman_ford(beads, [0], MIN_PLUS, iterations=iterations), expected)


@pytest.mark.parametrize("num_nodes", [1, 2, 63, 64, 65, 128])
def test_sizes_around_a_word_of_bits(random_edges, num_nodes):
    for seed in range(20):
        edges = random_edges(seed, num_nodes, 4 * num_nodes, weighted=False)
        np.testing.assert_array_equal(bellman_ford(edges, [0], MIN_PLUS)[0], scipy_hops(edges, 0))
