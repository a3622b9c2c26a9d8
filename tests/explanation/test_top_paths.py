"""The beam search against exhaustive search, compiled and in plain Python, on ugly graphs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.errors import ExplanationError
from nbfnet.explanation import top_paths as module
from nbfnet.explanation.top_paths import TopPath, best_placement, distance_to, top_paths
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.native import native, native_available

EVERYTHING = 100_000  # a beam that loses nothing
SEARCHES = ["compiled", "python"] if native_available() else ["python"]


@pytest.fixture(params=SEARCHES)
def search(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(module, "native", native if request.param == "compiled" else None)
    return top_paths


def walk(csr: RelationalCSR, target: int, path: tuple[int, ...], node: int, longest: int) -> Iterator[tuple[int, ...]]:
    """Every path to the target that goes on from a node, by the definition."""
    left = {int(csr.source[slot]) for slot in path}
    for slot in np.flatnonzero(csr.source == node).tolist():
        tail = int(csr.target[slot])
        if tail == target:
            yield (*path, slot)
        elif tail not in left and tail != node and len(path) + 1 < longest:
            yield from walk(csr, target, (*path, slot), tail, longest)


def exhaustive(csr: RelationalCSR, importance: np.ndarray, source: int, target: int) -> list[tuple[float, Any]]:
    """Every path with its best weight over all placements, best first."""
    found = []
    for path in walk(csr, target, (), source, len(importance)):
        placements = combinations(range(len(importance)), len(path))
        found.append((max(total(importance, path, placement) for placement in placements), path))
    return sorted(found, key=lambda item: (-item[0], len(item[1]), item[1]))


def total(importance: np.ndarray, path: tuple[int, ...], placement: tuple[int, ...]) -> float:
    return sum((float(importance[t, slot]) for t, slot in zip(placement, path, strict=True)), 0.0)


@st.composite
def problems(draw: st.DrawFn) -> tuple[RelationalCSR, np.ndarray, int, int]:
    """Small graphs with loops and multi-edges; importances with many ties, or none."""
    nodes = draw(st.integers(1, 5))
    node = st.integers(0, nodes - 1)
    edges = draw(st.lists(st.tuples(node, st.integers(0, 1), node), max_size=11))
    head, relation, tail = np.array(edges, dtype=np.int32).reshape(-1, 3).T
    csr = RelationalCSR.from_triplets(Triplets.of(head, relation, tail), nodes, 2)
    seed, ties = draw(st.integers(0, 1000)), draw(st.booleans())
    random, shape = np.random.default_rng(seed), (draw(st.integers(1, 5)), len(edges))
    importance = random.integers(-1, 3, shape).astype(float) if ties else random.normal(size=shape)
    return csr, importance, draw(node), draw(node)


@given(problem=problems(), k=st.sampled_from([1, 3, EVERYTHING]))
@pytest.mark.parametrize("kind", SEARCHES)
def test_a_wide_beam_is_an_exhaustive_search(kind: str, problem: Any, k: int) -> None:
    csr, importance, source, target = problem
    expected = exhaustive(csr, importance, source, target)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "native", native if kind == "compiled" else None)
        found = top_paths(csr, importance, source, target, k=k, beam=EVERYTHING)
    assert [(path.weight, path.slots) for path in found] == expected[:k]
    for path in found:
        assert list(path.iterations) == sorted(set(path.iterations))
        assert total(importance, path.slots, path.iterations) == path.weight


@pytest.mark.skipif(not native_available(), reason="compares with the compiled extension")
@given(problem=problems(), beam=st.integers(1, 4), k=st.integers(1, 6))
def test_both_searches_lose_the_same_paths(problem: Any, beam: int, k: int) -> None:
    found = []
    for chosen in (native, None):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "native", chosen)
            found.append(top_paths(*problem, k=k, beam=beam))
    assert found[0] == found[1]


def test_larger_graphs_with_hubs(search: Any) -> None:
    """Against networkx's simple paths; long enough that partial paths meet in the same nodes again and again."""
    random = np.random.default_rng(0)
    head, tail = (16 * random.random(70) ** 2).astype(int), (16 * random.random(70) ** 1.5).astype(int)
    csr = RelationalCSR.from_triplets(Triplets.of(head, head * 0, tail), 16, 1)
    importance = random.normal(size=(5, 70))
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(16))
    graph.add_edges_from((int(x), int(v), slot) for slot, (x, v) in enumerate(zip(csr.source, csr.target, strict=True)))
    for source, target in [(0, 9), (1, 2), (15, 0)]:
        simple = {tuple(key for *_, key in path) for path in nx.all_simple_edge_paths(graph, source, target, cutoff=5)}
        expected = exhaustive(csr, importance, source, target)
        assert {path for _, path in expected} == simple
        found = search(csr, importance, source, target, k=50, beam=EVERYTHING)
        assert [(path.weight, path.slots) for path in found] == expected[:50]


def test_more_threads_find_the_same() -> None:
    random = np.random.default_rng(1)
    head, tail = random.integers(0, 400, (2, 4000))
    csr = RelationalCSR.from_triplets(Triplets.of(head, head * 0, tail), 400, 1)
    importance = random.integers(-2, 4, (6, 4000)).astype(float)
    found = []
    for threads in (1, 4):
        torch.set_num_threads(threads)
        found.append(top_paths(csr, importance, 0, 1, k=20, beam=8))
    assert found[0] == found[1]
    assert len(found[0]) == 20


@pytest.mark.parametrize(
    ("nodes", "edges", "source", "target", "expected"),
    [
        (1, [], 0, 0, []),
        (1, [(0, 0, 0)], 0, 0, [(0,)]),  # a loop is the cycle of one edge
        (2, [], 0, 1, []),
        (2, [(1, 0, 0)], 0, 1, []),  # against the direction of the edge
        (2, [(0, 0, 1), (0, 0, 1), (0, 1, 1)], 0, 1, [(0,), (1,), (2,)]),  # each of several edges is a path
        (2, [(0, 0, 1), (1, 0, 0)], 0, 0, [(1, 0)]),  # there and back; slots are in the order of tails
        (3, [(0, 0, 1), (1, 0, 2), (2, 0, 1)], 0, 1, [(0,)]),  # never through the answer
        (3, [(0, 0, 0), (0, 0, 1), (1, 0, 1), (1, 0, 2)], 0, 2, [(1, 3)]),  # loops on the way are left out
        (3, [(0, 0, 1), (1, 0, 0), (1, 0, 2)], 0, 2, [(1, 2)]),  # nor back through the source
    ],
)
def test_what_counts_as_a_path(search: Any, nodes: int, edges: Any, source: int, target: int, expected: Any) -> None:
    head, relation, tail = np.array(edges, dtype=np.int32).reshape(-1, 3).T
    csr = RelationalCSR.from_triplets(Triplets.of(head, relation, tail), nodes, 2)
    found = search(csr, np.zeros((4, len(edges))), source, target, k=100)
    assert [path.slots for path in found] == expected


def test_a_path_takes_its_best_iterations(search: Any) -> None:
    csr = RelationalCSR.from_triplets(Triplets.of([0, 1], [0, 0], [1, 2]), 3, 1)
    importance = np.array([[1.0, 9.0], [3.0, 1.0], [9.0, 2.0]])
    assert search(csr, importance, 0, 2) == [TopPath(5.0, (0, 1), (1, 2))]


def test_a_path_longer_than_the_iterations_is_none(search: Any) -> None:
    csr = RelationalCSR.from_triplets(Triplets.of([0, 1, 2], [0, 0, 0], [1, 2, 3]), 4, 1)
    assert search(csr, np.ones((2, 3)), 0, 3) == []
    assert len(search(csr, np.ones((3, 3)), 0, 3)) == 1


def test_a_narrow_beam_keeps_what_looks_best(search: Any) -> None:
    """0 -> 1 twice, then 1 -> 2: one partial path survives in node 1."""
    csr = RelationalCSR.from_triplets(Triplets.of([0, 0, 1], [0, 1, 0], [1, 1, 2]), 3, 2)
    importance = np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    assert [path.slots for path in search(csr, importance, 0, 2, beam=1)] == [(1, 2)]
    assert [path.slots for path in search(csr, importance, 0, 2, beam=2)] == [(1, 2), (0, 2)]


@pytest.mark.parametrize(("k", "beam"), [(0, 5), (5, 0), (-1, 1)])
def test_no_path_at_all_cannot_be_asked_for(k: int, beam: int) -> None:
    csr = RelationalCSR.from_triplets(Triplets.of([0], [0], [1]), 2, 1)
    with pytest.raises(ExplanationError, match="at least 1"):
        top_paths(csr, np.ones((1, 1)), 0, 1, k=k, beam=beam)


@pytest.mark.parametrize(
    ("source", "target", "importance", "complaint"),
    [
        (3, 1, np.ones((2, 2)), "the source is the node 3, expected 0 to 2"),
        (-1, 1, np.ones((2, 2)), "the source is the node -1"),
        (0, 3, np.ones((2, 2)), "the target is the node 3"),
        (0, -3, np.ones((2, 2)), "the target is the node -3"),
        (0, 2, np.ones((2, 3)), r"importance is \(2, 3\), expected \(iterations, 2\)"),
        (0, 2, np.ones(2), r"importance is \(2,\)"),
        (0, 2, np.array([[1.0, np.nan]]), "importance holds a value that is not finite"),
        (0, 2, np.array([[np.inf, 1.0]]), "importance holds a value that is not finite"),
    ],
)
def test_what_does_not_fit_the_graph(
    search: Any, source: int, target: int, importance: np.ndarray, complaint: str
) -> None:
    csr = RelationalCSR.from_triplets(Triplets.of([0, 1], [0, 0], [1, 2]), 3, 1)
    with pytest.raises(ExplanationError, match=complaint):
        search(csr, importance, source, target)


def test_distances() -> None:
    csr = RelationalCSR.from_triplets(Triplets.of([0, 1, 2, 3, 4], [0] * 5, [1, 2, 3, 4, 4]), 6, 1)
    assert distance_to(csr, 3, 2).tolist() == [3, 2, 1, 0, 3, 3]


def test_placements() -> None:
    random = np.random.default_rng(4)
    for length in range(1, 6):
        importance = random.normal(size=(5, length))
        best = max(combinations(range(5), length), key=lambda p: importance[list(p), range(length)].sum())
        assert best_placement(importance) == best


def test_without_the_extension_plain_python_serves() -> None:
    script = """
import numpy as np
from nbfnet.explanation.top_paths import top_paths
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.native import native_available
assert not native_available()
csr = RelationalCSR.from_triplets(Triplets.of([0, 1], [0, 0], [1, 2]), 3, 1)
print(top_paths(csr, np.array([[1.0, 9.0], [3.0, 1.0], [9.0, 2.0]]), 0, 2)[0].weight)
"""
    environment = {**os.environ, "NBFNET_NATIVE": "0"}
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "5.0\n"), run.stderr
