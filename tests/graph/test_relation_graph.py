"""The relation graph against a plain enumeration of all pairs of facts, and against published arrays."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
from safetensors.numpy import load_file

from nbfnet.graph import relation_graph as module
from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import with_inverses
from nbfnet.graph.reading.read import read
from nbfnet.graph.relation_graph import relation_graph
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets

Edge = tuple[int, int, int]


def edges_of(csr: RelationalCSR) -> list[Edge]:
    """(from, kind, to) of each edge, sorted; repeated ones are repeated."""
    return sorted(zip(csr.source.tolist(), csr.relation.tolist(), csr.target.tolist(), strict=True))


def enumerate_meetings(facts: list[Edge]) -> list[Edge]:
    """The definition, fact by fact."""
    found = set()
    for (h, r, t), (head, s, tail) in product(facts, repeat=2):
        meets = (h == head, t == tail, h == tail, t == head)
        found |= {(r, kind, s) for kind in range(4) if meets[kind]}
    return sorted(found)


def rows(facts: list[Edge], num_nodes: int, num_relations: int) -> RelationalCSR:
    head, relation, tail = np.array(facts, dtype=np.int32).reshape(-1, 3).T
    return RelationalCSR.from_triplets(Triplets.of(head, relation, tail), num_nodes, num_relations)


@hypothesis.given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4), st.integers(0, 6)), max_size=25))
def test_any_graph(facts: list[Edge]) -> None:
    """Multi-edges, self loops, isolated nodes and relations without a fact among them."""
    found = relation_graph(rows(facts, 8, 5))
    assert (found.num_nodes, found.num_relations) == (5, 4)
    assert edges_of(found) == enumerate_meetings(facts)


@hypothesis.given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2), st.integers(0, 6)), max_size=20))
def test_any_graph_with_inverses(facts: list[Edge]) -> None:
    """Where one product gives all four kinds."""
    both = [*facts, *((t, r + 3, h) for h, r, t in facts)]
    assert edges_of(relation_graph(rows(both, 8, 6))) == enumerate_meetings(both)


@pytest.mark.parametrize(("pairs", "marks"), [(1, 1 << 27), (3, 0), (1 << 22, 0)])
def test_any_number_of_pairs_at_a_time(pairs: int, marks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAIRS", pairs)
    monkeypatch.setattr(module, "_MARKS", marks)
    random = np.random.default_rng(0)
    facts = [tuple(edge) for edge in random.integers([12, 6, 12], size=(60, 3)).tolist()]
    assert edges_of(relation_graph(rows(facts, 12, 6))) == enumerate_meetings(facts)


def test_every_relation_with_a_fact_meets_itself() -> None:
    graph = relation_graph(rows([(0, 0, 1), (2, 2, 3)], 4, 3))
    assert edges_of(graph) == [(0, 0, 0), (0, 1, 0), (2, 0, 2), (2, 1, 2)]


def test_no_fact_and_no_relation() -> None:
    assert relation_graph(rows([], 3, 2)).num_edges == 0
    assert relation_graph(rows([], 0, 0)).num_edges == 0


def test_an_undirected_graph_has_one_relation_that_meets_itself_in_every_way() -> None:
    graph = read([("a", "b"), ("b", "c")])
    assert graph.kind == "homogeneous"
    assert edges_of(graph.message_csr.relations) == [(0, kind, 0) for kind in range(4)]


def test_hidden_edges_do_not_change_it() -> None:
    """It describes the graph, not what a batch of it may see; so it is also made once."""
    graph = read([("a", "r", "b"), ("b", "s", "c"), ("c", "t", "a")])
    whole = graph.message_csr
    hidden = whole.hide(np.arange(4)).hide(np.arange(1))
    assert hidden.num_edges == whole.num_edges - 5
    assert hidden.relations is whole.relations


@pytest.mark.parametrize("name", ["wn18rr-v1", "fb15k-237-v1"])
def test_published_relation_graphs(name: str, ultra_folder: Path) -> None:
    values = load_file(ultra_folder / f"ultra_3g-{name}.safetensors")
    num_nodes, num_relations = int(values["num_nodes"]), int(values["num_relations"])
    facts = Triplets.of(values["head"], values["relation"], values["tail"])
    both = with_inverses(facts, num_relations)
    found = relation_graph(RelationalCSR.from_triplets(both, num_nodes, 2 * num_relations))
    first, second, kind = values["relation_graph"]
    expected = sorted(zip(first.tolist(), kind.tolist(), second.tolist(), strict=True))
    assert edges_of(found) == expected


def test_a_graph_makes_it_of_all_its_relation_ids() -> None:
    graph: Graph = read([("a", "r", "b")])
    # r: a to b, its inverse 1: b to a.
    expected = [(0, 0, 0), (0, 1, 0), (0, 2, 1), (0, 3, 1), (1, 0, 1), (1, 1, 1), (1, 2, 0), (1, 3, 0)]
    assert edges_of(graph.message_csr.relations) == expected
