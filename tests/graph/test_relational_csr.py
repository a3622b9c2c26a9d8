"""The CSR holds exactly the given edges, its transpose the same ones, and hiding equals building anew."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict

import numpy as np
import pytest
import scipy.sparse
from hypothesis import example, given
from hypothesis import strategies as st

from nbfnet.errors import GraphFormatError
from nbfnet.graph.relational_csr import RelationalCSR, sort_by_key
from nbfnet.graph.triplets import Triplets

pytestmark = pytest.mark.usefixtures("backend")


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Triplets, int, int]:
    """Any edges: few nodes and relations, so that self loops, multi-edges and repeated edges are common."""
    num_nodes, num_relations = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    node, relation = st.integers(0, num_nodes - 1), st.integers(0, num_relations - 1)
    weight = st.floats(0, 10, allow_nan=False, width=32)
    rows = draw(st.lists(st.tuples(node, relation, node, weight), max_size=25))
    head, relations, tail, weights = (list(column) for column in zip(*rows, strict=True)) if rows else ([],) * 4
    weighted = draw(st.booleans())
    return Triplets.of(head, relations, tail, weights if weighted else None), num_nodes, num_relations


@given(graphs())
def test_rows_hold_the_in_edges_in_their_order(graph: tuple[Triplets, int, int]) -> None:
    triplets, num_nodes, num_relations = graph
    csr = RelationalCSR.from_triplets(triplets, num_nodes, num_relations)
    weight = triplets.weight_or_ones()
    rows = defaultdict(list)
    for i, tail in enumerate(triplets.tail.tolist()):
        rows[tail].append((int(triplets.head[i]), int(triplets.relation[i]), i, weight[i]))

    assert (csr.num_nodes, csr.num_relations, csr.num_edges) == (num_nodes, num_relations, len(triplets))
    assert [a.dtype for a in (csr.source, csr.relation, csr.target, csr.edge)] == [np.int32] * 3 + [np.int64]
    assert (csr.weight is None) == (triplets.weight is None)
    assert csr.indptr[0] == 0
    assert csr.indptr[-1] == len(triplets)
    assert csr.degree.tolist() == [len(rows[v]) for v in range(num_nodes)]
    for v in range(num_nodes):
        slots = slice(csr.indptr[v], csr.indptr[v + 1])
        weights = np.ones(csr.num_edges) if csr.weight is None else csr.weight
        got = zip(csr.source[slots], csr.relation[slots], csr.edge[slots], weights[slots], strict=True)
        assert list(got) == rows[v]
        assert (csr.target[slots] == v).all()


@given(graphs())
def test_records_have_what_the_columns_have(graph: tuple[Triplets, int, int]) -> None:
    csr = RelationalCSR.from_triplets(*graph)
    assert csr.records.into.tolist() == list(zip(csr.source.tolist(), csr.relation.tolist(), strict=True))
    target, slot = csr.transpose.target.tolist(), csr.transpose.slot.tolist()
    assert csr.records.out.tolist() == [(v, int(csr.relation[at]), at) for v, at in zip(target, slot, strict=True)]


@given(graphs())
def test_the_transpose_is_the_inverse_and_scipy_agrees(graph: tuple[Triplets, int, int]) -> None:
    triplets, num_nodes, num_relations = graph
    csr = RelationalCSR.from_triplets(triplets, num_nodes, num_relations)
    transpose = csr.transpose

    assert sorted(transpose.slot.tolist()) == list(range(csr.num_edges))  # a permutation of the slots
    head = np.repeat(np.arange(num_nodes), np.diff(transpose.indptr))
    np.testing.assert_array_equal(head, csr.source[transpose.slot])
    np.testing.assert_array_equal(transpose.target, csr.target[transpose.slot])
    assert transpose.indptr.tolist() == [0, *np.cumsum(np.bincount(triplets.head, minlength=num_nodes)).tolist()]

    # Transposing twice: the out-edges of the graph with every edge turned round are the rows of the graph.
    turned = Triplets(triplets.tail, triplets.relation, triplets.head)
    rows = RelationalCSR.from_triplets(turned, num_nodes, num_relations)
    again = rows.transpose
    np.testing.assert_array_equal(again.indptr, csr.indptr)
    for v in range(num_nodes):
        slots = slice(csr.indptr[v], csr.indptr[v + 1])
        there = zip(again.target[slots].tolist(), rows.relation[again.slot[slots]].tolist(), strict=True)
        here = zip(csr.source[slots].tolist(), csr.relation[slots].tolist(), strict=True)
        assert sorted(there) == sorted(here)

    for relation in range(num_relations):
        chosen, mask = triplets.take(triplets.relation == relation), csr.relation == relation
        ends = (chosen.tail, chosen.head)
        expected = scipy.sparse.coo_array((chosen.weight_or_ones(), ends), shape=(num_nodes, num_nodes)).toarray()
        view = csr.keep(mask)
        weight = np.ones(view.num_edges) if view.weight is None else view.weight
        rows = scipy.sparse.csr_array((weight, view.source, view.indptr), shape=(num_nodes, num_nodes)).toarray()
        np.testing.assert_allclose(rows, expected, rtol=1e-12)


@given(graphs(), st.data())
def test_hiding_edges_equals_building_without_them(graph: tuple[Triplets, int, int], data: st.DataObject) -> None:
    triplets, num_nodes, num_relations = graph
    csr = RelationalCSR.from_triplets(triplets, num_nodes, num_relations)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(triplets), max_size=len(triplets))), dtype=bool)
    _assert_hides(csr, triplets, np.flatnonzero(mask))


@given(graphs())
def test_hiding_none_and_hiding_all(graph: tuple[Triplets, int, int]) -> None:
    triplets, num_nodes, num_relations = graph
    csr = RelationalCSR.from_triplets(triplets, num_nodes, num_relations)
    _assert_hides(csr, triplets, np.arange(0))
    _assert_hides(csr, triplets, np.arange(len(triplets)))
    if len(triplets):
        _assert_hides(csr, triplets, np.array([0, 0, len(triplets) - 1]))  # a slot named twice is hidden once


@given(graphs(), st.data())
def test_hiding_in_two_steps_equals_hiding_at_once(graph: tuple[Triplets, int, int], data: st.DataObject) -> None:
    triplets, num_nodes, num_relations = graph
    csr = RelationalCSR.from_triplets(triplets, num_nodes, num_relations)
    step = np.array(data.draw(st.lists(st.integers(0, 2), min_size=csr.num_edges, max_size=csr.num_edges)), dtype=int)
    once = csr.hide(np.flatnonzero(step < 2))
    twice = csr.hide(np.flatnonzero(step == 0))
    twice = twice.hide(np.flatnonzero(step[step > 0] == 1))
    _assert_same(twice, once)
    np.testing.assert_array_equal(twice.transpose.slot, once.transpose.slot)


def _assert_hides(csr: RelationalCSR, triplets: Triplets, slots: np.ndarray) -> None:
    rest = np.ones(len(triplets), dtype=bool)
    rest[csr.edge[slots]] = False
    rebuilt = RelationalCSR.from_triplets(triplets.take(rest), csr.num_nodes, csr.num_relations)
    for _ in range(2):  # the second time the transpose is there, and that of a view is made from it
        hidden = csr.hide(slots)
        assert ("transpose" in hidden.__dict__) == ("transpose" in csr.__dict__ and len(np.unique(slots)) <= 8)
        _assert_same(hidden, rebuilt, numbering=np.flatnonzero(rest))
        for column in ("indptr", "target", "slot"):
            found, expected = (getattr(view.transpose, column) for view in (hidden, rebuilt))
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == expected.dtype
        _ = csr.transpose


def _assert_same(got: RelationalCSR, expected: RelationalCSR, numbering: np.ndarray | None = None) -> None:
    """Equal arrays; a view keeps the numbers of the edges it came from, which ``numbering`` gives."""
    for column in ("indptr", "source", "relation", "degree", "target"):
        np.testing.assert_array_equal(getattr(got, column), getattr(expected, column))
        assert getattr(got, column).dtype == getattr(expected, column).dtype
    np.testing.assert_array_equal(got.edge, expected.edge if numbering is None else numbering[expected.edge])
    assert (got.weight is None) == (expected.weight is None)
    if got.weight is not None and expected.weight is not None:
        np.testing.assert_array_equal(got.weight, expected.weight)


@given(st.lists(st.integers(0, 8), max_size=40), st.integers(9, 12))
@example([], 1)
@example([], 0)
def test_sorting_is_stable_and_counts(keys: list[int], num_keys: int) -> None:
    indptr, order = sort_by_key(np.array(keys, dtype=np.int32), num_keys)
    assert order.tolist() == sorted(range(len(keys)), key=lambda i: keys[i])
    assert indptr.tolist() == [sum(key < k for key in keys) for k in range(num_keys + 1)]
    assert (indptr.dtype, order.dtype) == (np.int64, np.int64)


def test_arrays_that_are_not_contiguous_or_not_writable() -> None:
    head, tail = np.arange(12, dtype=np.int32).reshape(6, 2).T
    frozen = tail.copy()
    frozen.setflags(write=False)
    relation = np.zeros(6, dtype=np.int32)
    for ends in (tail, frozen):
        csr = RelationalCSR.from_triplets(Triplets(head, relation, ends), 12, 1)
        assert csr.target.tolist() == tail.tolist()
        assert csr.source.tolist() == head.tolist()


def test_a_hub_and_a_graph_without_edges() -> None:
    count = 100_000
    star = Triplets.of(np.arange(count), np.zeros(count), np.zeros(count))
    csr = RelationalCSR.from_triplets(star, count, 1)
    assert csr.degree[0] == count
    assert csr.degree[1:].sum() == 0
    np.testing.assert_array_equal(csr.source, np.arange(count))
    np.testing.assert_array_equal(csr.transpose.indptr, np.arange(count + 1))

    empty = RelationalCSR.from_triplets(Triplets.empty(), 3, 1)
    assert empty.indptr.tolist() == [0, 0, 0, 0]
    assert empty.num_edges == len(empty.transpose.slot) == empty.hide(np.arange(0)).num_edges == 0


@pytest.mark.parametrize(
    "edge", [(3, 0, 0), (0, 0, 3), (-1, 0, 0), (0, 0, -5), (0, 2, 0), (0, -1, 0), (99_999_999, 0, 0)]
)
def test_an_edge_out_of_range_is_refused(edge: tuple[int, int, int]) -> None:
    """Compiled code would take it for an index and write past the end."""
    head, relation, tail = zip((0, 0, 1), edge, (1, 1, 2), strict=True)
    with pytest.raises(GraphFormatError) as caught:
        RelationalCSR.from_triplets(Triplets.of(head, relation, tail), 3, 2)
    assert caught.value.remedy
    assert any(f" {number}," in str(caught.value) for number in edge)


def test_the_environment_turns_the_extension_off(backend: str) -> None:
    """NBFNET_NATIVE=0 in a process of its own: the pure path is taken and gives the same rows."""
    if backend == "compiled":
        pytest.skip("the same for both")
    code = (
        "from nbfnet.native import native, native_available\n"
        "from nbfnet.graph.relational_csr import RelationalCSR\n"
        "from nbfnet.graph.triplets import Triplets\n"
        "assert native is None and not native_available()\n"
        "csr = RelationalCSR.from_triplets(Triplets.of([0, 1, 2, 0], [0, 1, 0, 1], [2, 2, 0, 2]), 4, 2)\n"
        "assert csr.indptr.tolist() == [0, 1, 1, 4, 4]\n"
        "assert csr.source.tolist() == [2, 0, 1, 0] and csr.edge.tolist() == [2, 0, 1, 3]\n"
        "assert csr.transpose.slot.tolist() == [1, 3, 2, 0]\n"
    )
    environment = {**os.environ, "NBFNET_NATIVE": "0"}
    subprocess.run([sys.executable, "-W", "error", "-c", code], env=environment, check=True)
