from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nbfnet.graph.graph import Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.sampling.query_edges import QueryEdges

V, R = 5, 2
node = st.integers(0, V - 1)


def make_graph(kind, rows):
    relations = R if kind == "knowledge" else 1
    triplets = Triplets.of(*np.array(rows, dtype=np.int32).reshape(-1, 3).T)
    names = Vocabulary.numbered(V), Vocabulary.numbered(relations, role="relation")
    return Graph("tiny", kind, *names, triplets)


@st.composite
def cases(draw):
    kind = draw(st.sampled_from(["knowledge", "homogeneous"]))
    relations = R if kind == "knowledge" else 1
    rows = draw(st.lists(st.tuples(node, st.integers(0, relations - 1), node), max_size=25))
    relation = st.integers(0, (2 * R if kind == "knowledge" else 1) - 1)
    candidates = draw(st.integers(1, 3))
    batch = draw(st.lists(st.tuples(node, relation, *[node] * candidates), min_size=1, max_size=4))
    return make_graph(kind, rows), np.array(batch, dtype=np.int32)


def edges_of(csr):
    return list(zip(csr.source.tolist(), csr.relation.tolist(), csr.target.tolist(), strict=True))


def back(kind, relation):
    return relation if kind == "homogeneous" else (relation + R) % (2 * R)


def hidden(graph, batch, hiding):
    source, relation, target = batch[:, 0], batch[:, 1], batch[:, 2:]
    return QueryEdges(graph.csr, graph.kind, hiding).slots(source, relation, target)


@settings(max_examples=80, deadline=None)
@given(cases())
def test_triplets_and_their_inverses_are_hidden_and_nothing_else(case):
    graph, batch = case
    wanted = {(u, q, v) for u, q, v in batch[:, :3].tolist()}
    wanted |= {(v, back(graph.kind, q), u) for u, q, v in wanted}
    expected = [slot for slot, edge in enumerate(edges_of(graph.csr)) if edge in wanted]
    slots = hidden(graph, batch, "triplet")
    assert sorted(slots.tolist()) == expected
    assert not wanted & set(edges_of(graph.csr.hide(slots)))


@settings(max_examples=80, deadline=None)
@given(cases())
def test_every_edge_between_scored_pairs_is_hidden_and_nothing_else(case):
    graph, batch = case
    pairs = {frozenset((row[0], target)) for row in batch.tolist() for target in row[2:]}
    expected = [slot for slot, (u, _, v) in enumerate(edges_of(graph.csr)) if frozenset((u, v)) in pairs]
    assert sorted(hidden(graph, batch, "pair").tolist()) == expected


def test_multi_edges_and_self_loops():
    graph = make_graph("knowledge", [(0, 0, 1), (0, 0, 1), (0, 1, 1), (1, 0, 0), (2, 0, 2), (2, 0, 3)])
    left = graph.csr.hide(
        hidden(graph, np.array([[1, 2, 0]], dtype=np.int32), "triplet")
    )  # (0, 0, 1) asked for its head
    expected = [(0, 1, 1), (1, 0, 0), (2, 0, 2), (2, 0, 3)]
    assert sorted(edges_of(left)) == sorted(expected + [(v, r + R, u) for u, r, v in expected])
    left = graph.csr.hide(hidden(graph, np.array([[2, 0, 2, 0]], dtype=np.int32), "pair"))
    assert len(left.source) == 2 * 5
    left = graph.csr.hide(hidden(graph, np.array([[0, 1, 1, 2]], dtype=np.int32), "pair"))
    assert sorted(edges_of(left)) == [(2, 0, 2), (2, 0, 3), (2, R, 2), (3, R, 2)]


def test_a_graph_without_edges():
    graph = make_graph("knowledge", [])
    for hiding in ("triplet", "pair"):
        assert len(hidden(graph, np.array([[0, 0, 1]], dtype=np.int32), hiding)) == 0
