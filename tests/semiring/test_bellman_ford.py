import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbfnet.errors import PathError
from nbfnet.native import native
from nbfnet.semiring import bellman_ford as module
from nbfnet.semiring import numpy_iteration
from nbfnet.semiring.bellman_ford import bellman_ford
from nbfnet.semiring.path_enumeration import path_enumeration
from nbfnet.semiring.semiring import MAX_MIN, MAX_TIMES, MIN_PLUS, PLUS_TIMES, Monoid, Semiring

SEMIRINGS = [PLUS_TIMES, MIN_PLUS, MAX_MIN, MAX_TIMES]
LOG = Semiring("log", Monoid(np.logaddexp, -np.inf), Monoid(np.add, 0.0))  # plus_times in the logarithm

INSTRUCTION_SETS = native.instruction_sets() if native else ["none"]
every_instruction_set = pytest.mark.usefixtures("instruction_set")
every_semiring = pytest.mark.parametrize("semiring", SEMIRINGS, ids=lambda s: s.name)


@st.composite
def graphs(draw):
    """Up to 6 nodes and 9 edges: self loops, multi-edges and lonely nodes included."""
    nodes = draw(st.integers(1, 6))
    node = st.integers(0, nodes - 1)
    ends = draw(st.lists(st.tuples(node, node), max_size=9))
    weights = draw(st.none() | st.lists(st.integers(0, 8).map(lambda w: w / 8), min_size=len(ends), max_size=len(ends)))
    sources = draw(st.lists(node, min_size=1, max_size=18))
    directed = draw(st.booleans())
    return nodes, ends, weights, directed, sources


def assert_equal(got, expected, semiring):
    """Selecting is exact; summing is rounded."""
    if semiring.idempotent:
        np.testing.assert_array_equal(got, expected)
    else:
        np.testing.assert_allclose(got, expected, rtol=1e-12)


@every_semiring
@settings(max_examples=60, deadline=None)
@given(graph=graphs(), iterations=st.integers(0, 4), threads=st.integers(1, 2))
def test_equals_path_enumeration(make_edges, use_instruction_set, semiring, graph, iterations, threads):
    nodes, ends, weights, directed, sources = graph
    edges = make_edges(nodes, [h for h, _ in ends], [t for _, t in ends], weights, directed)
    enumerated = {u: path_enumeration(edges, u, semiring, iterations) for u in set(sources)}
    for name in INSTRUCTION_SETS:
        with use_instruction_set(name):
            scores = bellman_ford(edges, sources, semiring, iterations=iterations, threads=threads)
        assert_equal(scores, np.array([enumerated[u] for u in sources]), semiring)


@every_semiring
@pytest.mark.parametrize("sources", [1, 2, 9, 40])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("threads", [1, 2])
def test_compiled_equals_numpy(random_edges, use_instruction_set, semiring, sources, weighted, threads):
    edges = random_edges(3, 3000, 9000, weighted)
    starts = np.random.default_rng(4).integers(0, 3000, sources).astype(np.int32)
    for iterations in (0, 1, 2, 3, 5, 9):
        expected, _ = numpy_iteration.iterate(edges, starts, semiring, None, iterations, 0.0)
        for name in INSTRUCTION_SETS:
            with use_instruction_set(name):
                scores = bellman_ford(edges, starts, semiring, iterations=iterations, threads=threads)
            assert_equal(scores, expected, semiring)


@every_instruction_set
@every_semiring
@pytest.mark.parametrize("sources", [1, 5, 17])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("directed", [True, False])
def test_until_convergence_equals_many_iterations(random_edges, semiring, sources, threads, directed):
    edges = random_edges(5, 2000, 5000, directed=directed)
    starts = np.random.default_rng(6).integers(0, 2000, sources)
    factor = None if semiring.idempotent else 0.01
    limit = bellman_ford(edges, starts, semiring, factor=factor, threads=threads)
    many = bellman_ford(edges, starts, semiring, factor=factor, iterations=300, threads=threads)
    if semiring.idempotent:
        np.testing.assert_array_equal(limit, many)
    else:
        np.testing.assert_allclose(limit, many, rtol=1e-8)


@every_instruction_set
@every_semiring
@pytest.mark.parametrize("direction", [1, -1])
@pytest.mark.parametrize("lanes", [1, 3, 12])
def test_no_iteration_runs_ahead(make_edges, semiring, direction, lanes):
    """On a chain, one edge is walked in one iteration, whatever order the nodes are visited in."""
    chain = np.arange(50)[::direction]
    edges = make_edges(50, chain[:-1], chain[1:], np.full(49, 0.5))
    sources = [int(chain[0])] * lanes
    whole = path_enumeration(edges, sources[0], semiring, 49)
    for iterations in (1, 2, 7, 48, 49, 60):
        scores = bellman_ford(edges, sources, semiring, iterations=iterations)
        expected = np.full(50, semiring.zero)
        expected[chain[: iterations + 1]] = whole[chain[: iterations + 1]]
        np.testing.assert_array_equal(scores, np.tile(expected, (lanes, 1)))


@every_instruction_set
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_a_dense_graph_is_iteration_exact(make_edges, lanes):
    """Where most rows change in every iteration, distances fall for several iterations, exactly like NumPy's."""
    generator = np.random.default_rng(8)
    edges = make_edges(400, *generator.integers(0, 400, (2, 20_000)), generator.random(20_000))
    starts = np.arange(lanes, dtype=np.int32)
    seen = []
    for iterations in range(1, 8):
        expected, _ = numpy_iteration.iterate(edges, starts, MIN_PLUS, None, iterations, 0.0)
        np.testing.assert_array_equal(bellman_ford(edges, starts, MIN_PLUS, iterations=iterations), expected)
        seen.append(expected.sum())
    assert len(set(seen)) > 3


@every_semiring
def test_the_layout_does_not_depend_on_edge_order(make_edges, semiring):
    generator = np.random.default_rng(9)
    heads, tails, weights = generator.integers(0, 40, 200), generator.integers(0, 40, 200), generator.random(200)
    shuffle = generator.permutation(200)
    one = bellman_ford(make_edges(40, heads, tails, weights), [3, 4], semiring, iterations=5)
    other = bellman_ford(
        make_edges(40, heads[shuffle], tails[shuffle], weights[shuffle]), [3, 4], semiring, iterations=5
    )
    assert_equal(one, other, semiring)


@every_instruction_set
def test_factor_by_target_equals_weights(random_edges, make_edges):
    edges = random_edges(11, 500, 3000)
    factor = np.random.default_rng(1).random(500)
    csr = edges.csr
    weighted = make_edges(500, csr.source, csr.target, edges.weight * factor[csr.target])
    for sources in ([7], list(range(20))):
        got = bellman_ford(edges, sources, PLUS_TIMES, factor=factor, iterations=6)
        np.testing.assert_allclose(got, bellman_ford(weighted, sources, PLUS_TIMES, iterations=6), rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(graph=graphs(), iterations=st.integers(0, 3))
def test_a_semiring_of_ones_own(make_edges, graph, iterations):
    nodes, ends, _, directed, sources = graph
    weights = [0.25 + (i % 4) for i in range(len(ends))]
    heads, tails = [h for h, _ in ends], [t for _, t in ends]
    plain = bellman_ford(make_edges(nodes, heads, tails, weights, directed), sources, PLUS_TIMES, iterations=iterations)
    logs = make_edges(nodes, heads, tails, np.log(weights), directed)
    np.testing.assert_allclose(np.exp(bellman_ford(logs, sources, LOG, iterations=iterations)), plain, rtol=1e-12)


def test_a_semiring_of_ones_own_converges(random_edges):
    edges = random_edges(2, 60, 150)
    scaled = type(edges)(edges.csr, edges.weight * 0.01)
    logs = type(edges)(edges.csr, np.log(scaled.weight))
    expected = bellman_ford(scaled, [0, 1], PLUS_TIMES, tolerance=1e-14)
    np.testing.assert_allclose(np.exp(bellman_ford(logs, [0, 1], LOG, tolerance=1e-14)), expected, rtol=1e-12)


@every_semiring
def test_without_the_extension_all_is_the_same(random_edges, monkeypatch, semiring):
    edges = random_edges(7, 300, 900)
    compiled = [bellman_ford(edges, [1, 2, 3], semiring, iterations=t) for t in (0, 3, 6)]
    monkeypatch.setattr(module, "native", None)
    for scores, t in zip(compiled, (0, 3, 6), strict=True):
        assert_equal(bellman_ford(edges, [1, 2, 3], semiring, iterations=t), scores, semiring)


def test_ugly_graphs(make_edges):
    empty = make_edges(0, [], [])
    assert bellman_ford(empty, np.empty(0, dtype=int), MIN_PLUS).shape == (0, 0)
    lonely = make_edges(1, [], [])
    assert bellman_ford(lonely, [0], MIN_PLUS).tolist() == [[0.0]]
    loop = make_edges(1, [0, 0], [0, 0], [0.25, 0.25])
    assert bellman_ford(loop, [0], PLUS_TIMES).tolist() == [[pytest.approx(2.0)]]
    assert bellman_ford(make_edges(3, [0], [1]), [], MAX_MIN).shape == (0, 3)
    hub = make_edges(5000, np.zeros(4999, int), np.arange(1, 5000), directed=False)
    assert bellman_ford(hub, [17], MIN_PLUS)[0].tolist() == [1.0] + [2.0] * 16 + [0.0] + [2.0] * 4982


def test_a_long_chain_until_convergence(make_edges):
    """As many iterations as nodes, but only one row changes in each."""
    length = 200_000
    edges = make_edges(length, np.arange(length - 1), np.arange(1, length))
    np.testing.assert_array_equal(bellman_ford(edges, [0], MIN_PLUS)[0], np.arange(length))


@pytest.mark.parametrize(
    ("weights", "semiring"),
    [
        ([np.nan, 1.0], PLUS_TIMES),
        ([1.0, np.nan], MIN_PLUS),
        ([np.nan, 1.0], MAX_MIN),
        ([np.inf, 1.0], PLUS_TIMES),
        ([-np.inf, 1.0], MIN_PLUS),
        ([-0.5, 1.0], MAX_TIMES),
    ],
)
def test_weights_without_a_meaning_are_refused(make_edges, weights, semiring):
    with pytest.raises(PathError, match=f"an edge weighs {weights[int(weights[0] == 1)]:g}"):
        bellman_ford(make_edges(3, [0, 1], [1, 2], weights), [0], semiring)


def test_an_infinite_distance_is_no_edge(make_edges):
    assert bellman_ford(make_edges(2, [0], [1], [np.inf]), [0], MIN_PLUS).tolist() == [[0.0, np.inf]]


@pytest.mark.parametrize("source", [-1, 3, 10**12])
def test_a_source_out_of_range(make_edges, source):
    with pytest.raises(PathError, match=f"no node {source}: the graph has 3 nodes"):
        bellman_ford(make_edges(3, [0], [1]), [0, source], MIN_PLUS)


def test_a_source_in_an_empty_graph(make_edges):
    with pytest.raises(PathError, match="the graph has no nodes"):
        bellman_ford(make_edges(0, [], []), [0], MIN_PLUS)


def test_a_source_that_is_no_id(make_edges):
    with pytest.raises(PathError, match="expected node ids"):
        bellman_ford(make_edges(3, [0], [1]), ["0"], MIN_PLUS)


@pytest.mark.parametrize(
    "options", [{"iterations": -1}, {"tolerance": 0.0}, {"tolerance": np.nan}, {"threads": 0}, {"threads": -1}]
)
def test_parameters_out_of_range(make_edges, options):
    with pytest.raises(PathError):
        bellman_ford(make_edges(3, [0], [1]), [0], PLUS_TIMES, **options)


def test_a_factor_is_for_sums(make_edges):
    with pytest.raises(PathError, match="min_plus"):
        bellman_ford(make_edges(3, [0], [1]), [0], MIN_PLUS, factor=0.5)


@pytest.mark.parametrize("weight", [1.0, 1.5, 1e200])
@pytest.mark.parametrize("lanes", [1, 16])
def test_a_sum_without_a_limit(make_edges, weight, lanes):
    edges = make_edges(2, [0, 1], [1, 0], [weight, weight])
    with pytest.raises(PathError, match="no limit"):
        bellman_ford(edges, [0] * lanes, PLUS_TIMES)


@pytest.mark.skipif(native is None, reason="the compiled extension is not there")
def test_by_default_as_many_threads_as_the_environment_says():
    """As PyTorch does, but without PyTorch."""
    program = "import sys; from nbfnet.native import native; print(native.default_threads(), 'torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "3"},
    )
    assert done.stdout == "3 False\n"


def test_ctrl_c_stops_a_long_run():
    """An endless sum in a process of its own, which a signal ends."""
    program = """
import signal, numpy as np
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.semiring.bellman_ford import bellman_ford
from nbfnet.semiring.semiring import PLUS_TIMES
from nbfnet.semiring.weighted_edges import WeightedEdges
ring = np.arange(200_000)
csr = RelationalCSR.from_triplets(Triplets.of(ring, 0 * ring, np.roll(ring, 1)), len(ring), 1)
signal.setitimer(signal.ITIMER_REAL, 1.0)
signal.signal(signal.SIGALRM, signal.default_int_handler)
try:
    bellman_ford(WeightedEdges.of(csr), np.arange(32), PLUS_TIMES, iterations=10**7, threads=2)
except KeyboardInterrupt:
    print("stopped")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "stopped\n"
