import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbfnet.semiring import spectral_radius as module
from nbfnet.semiring.spectral_radius import spectral_radius, strong_components


def dense(edges):
    matrix = np.zeros((edges.num_nodes, edges.num_nodes))
    np.add.at(matrix, (edges.csr.target, edges.csr.source), np.broadcast_to(edges.weight, edges.csr.num_edges))
    return matrix


def eigenvalue(edges):
    return np.abs(np.linalg.eigvals(dense(edges))).max(initial=0.0)


@st.composite
def graphs(draw):
    nodes = draw(st.integers(1, 12))
    node = st.integers(0, nodes - 1)
    ends = draw(st.lists(st.tuples(node, node, st.sampled_from([0.0, 0.5, 1.0, 3.0])), max_size=30))
    return nodes, ends, draw(st.booleans())


@pytest.mark.parametrize("small", [256, 0], ids=["by eigenvalues", "by power iteration"])
@settings(max_examples=100, deadline=None)
@given(graph=graphs())
def test_bounds_hold(make_edges, small, graph):
    """Bipartite, nilpotent, disconnected, with cycles one after the other: whatever comes."""
    nodes, ends, directed = graph
    edges = make_edges(nodes, [h for h, *_ in ends], [t for _, t, _ in ends], [w for *_, w in ends], directed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_SMALL", small)
        radius = spectral_radius(edges)
    expected = eigenvalue(edges)
    # Eigenvalues of defective matrices are known to the root of the machine's precision only.
    assert radius.lower <= expected * (1 + 1e-9) + 1e-3
    assert radius.upper >= expected * (1 - 1e-9) - 1e-3


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_bounds_meet(random_edges, directed, seed):
    edges = random_edges(seed, 260, 1100, directed=directed)
    radius = spectral_radius(edges)
    assert radius.upper <= radius.lower * (1 + 1e-5)
    assert radius.lower * (1 - 1e-6) <= eigenvalue(edges) <= radius.upper * (1 + 1e-6)


def test_known_radii(make_edges):
    ring = np.arange(1000)
    cases = [
        (make_edges(5, [], []), 0.0),
        (make_edges(1000, ring[:-1], ring[1:]), 0.0),  # nilpotent
        (make_edges(1000, ring, np.roll(ring, 1)), 1.0),  # periodic
        (make_edges(1001, np.zeros(1000, int), ring + 1, directed=False), np.sqrt(1000)),  # bipartite
        (make_edges(600, np.arange(600), np.arange(600), np.arange(600.0)), 599.0),  # 600 components
    ]
    for edges, expected in cases:
        radius = spectral_radius(edges)
        assert radius.lower == pytest.approx(expected, rel=1e-3)
        assert radius.upper == pytest.approx(expected, rel=2e-6)


def test_equal_cycles_one_after_the_other(make_edges):
    """The hardest case for power iteration: the bound of the whole would fall like 1 + 1 / rounds."""
    heads = [10 * i + j for i in range(40) for j in range(10)] + [10 * i for i in range(39)]
    tails = [10 * i + (j + 1) % 10 for i in range(40) for j in range(10)] + [10 * i + 10 for i in range(39)]
    radius = spectral_radius(make_edges(400, heads, tails))
    assert (radius.lower, radius.upper) == (pytest.approx(1.0), pytest.approx(1.0))


def test_stops_early_when_low_enough(random_edges):
    edges = random_edges(1, 600, 2500)
    quick = spectral_radius(edges, below=1e9)
    assert not quick.final
    assert quick.upper >= spectral_radius(edges).upper
    assert spectral_radius(edges).final


def test_without_the_extension(random_edges, monkeypatch):
    edges = [random_edges(1, 400, 1000), random_edges(1, 400, 1000)]
    compiled = spectral_radius(edges[0])
    monkeypatch.setattr(module, "native", None)
    assert spectral_radius(edges[1]).upper == pytest.approx(compiled.upper, rel=1e-9)


@settings(max_examples=200, deadline=None)
@given(graph=graphs())
def test_strong_components_as_networkx(make_edges, graph):
    nodes, ends, _ = graph
    heads, tails = [h for h, *_ in ends], [t for _, t, _ in ends]
    component = strong_components(make_edges(nodes, heads, tails).csr)
    oracle = nx.DiGraph(list(zip(heads, tails, strict=True)))
    oracle.add_nodes_from(range(nodes))
    expected = {frozenset(c) for c in nx.strongly_connected_components(oracle)}
    assert {frozenset(np.flatnonzero(component == c).tolist()) for c in set(component.tolist())} == expected


def test_strong_components_of_a_long_ring(make_edges):
    ring = np.arange(20_000)
    assert set(strong_components(make_edges(20_000, ring, np.roll(ring, 1)).csr).tolist()) == {0}
