"""Values that are vectors or matrices, multiplied in the order of the path: against all paths, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.errors import PathError
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Float64, Triplets
from nbfnet.semiring.bellman_ford import bellman_ford
from nbfnet.semiring.path_enumeration import path_enumeration
from nbfnet.semiring.semiring import PLUS_TIMES, Monoid, Semiring
from nbfnet.semiring.weighted_edges import WeightedEdges

INFINITE = np.where(np.eye(2, dtype=bool), 0.0, np.inf)


def min_plus_product(a: Float64, b: Float64) -> Float64:
    product: Float64 = (a[..., :, :, None] + b[..., None, :, :]).min(axis=-2)
    return product


MATRICES = Semiring("matrices", Monoid(np.add, np.zeros((2, 2))), Monoid(np.matmul, np.eye(2)))
SHORTEST = Semiring(
    "min-plus matrices",
    Monoid(np.minimum, np.full((2, 2), np.inf)),
    Monoid(min_plus_product, INFINITE),
    weights=(-np.inf, np.inf),
)
VECTORS = Semiring("vectors", Monoid(np.add, np.zeros(3)), Monoid(np.multiply, np.ones(3)))


def graph(seed: int, shape: tuple[int, ...], nodes: int = 5, edges: int = 9) -> WeightedEdges:
    """A random multigraph with loops, whose weights are small whole numbers."""
    random = np.random.default_rng(seed)
    head, relation, tail = random.integers([nodes, 2, nodes], size=(edges, 3)).astype(np.int32).T
    csr = RelationalCSR.from_triplets(Triplets.of(head, relation, tail), nodes, 2)
    return WeightedEdges(csr, random.integers(-3, 4, size=(edges, *shape)).astype(np.float64))


@pytest.mark.parametrize("semiring", [MATRICES, SHORTEST, VECTORS], ids=lambda semiring: semiring.name)
@given(seed=st.integers(0, 2**32 - 1), length=st.integers(0, 4))
def test_all_paths_one_by_one(semiring: Semiring, seed: int, length: int) -> None:
    edges = graph(seed, semiring.shape)
    found = bellman_ford(edges, np.arange(5), semiring, iterations=length)
    assert found.shape == (5, 5, *semiring.shape)
    for source in range(5):
        np.testing.assert_array_equal(found[source], path_enumeration(edges, source, semiring, length))


def test_the_order_of_a_path_counts() -> None:
    """Two edges one after the other: their product from left to right, which is not that from right to left."""
    a, b = np.array([[0.0, 1], [0, 0]]), np.array([[0.0, 0], [1, 0]])
    csr = RelationalCSR.from_triplets(Triplets.of(*np.array([[0, 0, 1], [1, 0, 2]], dtype=np.int32).T), 3, 1)
    weight = np.stack([a, b])[np.argsort(csr.source)]
    assert csr.source.tolist() == [0, 1]
    found = bellman_ford(WeightedEdges(csr, weight), [0], MATRICES)
    np.testing.assert_array_equal(found[0, 2], a @ b)
    assert not np.array_equal(a @ b, b @ a)


def test_sums_over_all_paths_of_matrices() -> None:
    """The limit is a block of (I - A)^-1, with a matrix in each place of A."""
    edges = graph(7, (2, 2))
    edges = WeightedEdges(edges.csr, np.asarray(edges.weight) * 0.05)
    blocks = np.zeros((5, 2, 5, 2))
    for slot, (u, v) in enumerate(zip(edges.csr.source, edges.csr.target, strict=True)):
        blocks[u, :, v, :] += np.asarray(edges.weight)[slot]
    inverse = np.linalg.inv(np.eye(10) - blocks.reshape(10, 10)).reshape(5, 2, 5, 2)
    found = bellman_ford(edges, np.arange(5), MATRICES)
    np.testing.assert_allclose(found, inverse.transpose(0, 2, 1, 3), rtol=1e-6, atol=1e-9)


def test_laws_of_arrays() -> None:
    random = np.random.default_rng(0)
    matrices = random.integers(-3, 4, size=(3, 2, 2)).astype(np.float64)
    MATRICES.check_laws(matrices)
    SHORTEST.check_laws(np.abs(matrices))
    VECTORS.check_laws(random.integers(-3, 4, size=(3, 3)).astype(np.float64))
    assert SHORTEST.idempotent and not MATRICES.idempotent
    subtracted = Semiring("mine", Monoid(np.subtract, np.zeros((2, 2))), Monoid(np.matmul, np.eye(2)))
    with pytest.raises(PathError, match="summation is commutative"):
        subtracted.check_laws(matrices)


@pytest.mark.parametrize(("semiring", "shape"), [(MATRICES, ()), (MATRICES, (3, 3)), (PLUS_TIMES, (2, 2))])
def test_weights_of_another_shape_are_refused(semiring: Semiring, shape: tuple[int, ...]) -> None:
    with pytest.raises(PathError, match="give one weight of that shape for each edge"):
        bellman_ford(graph(0, shape), [0], semiring, iterations=1)
