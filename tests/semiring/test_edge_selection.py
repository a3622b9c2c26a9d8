import numpy as np
import pytest

from nbfnet.errors import UnknownNameError
from nbfnet.graph.graph import Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.semiring.edge_selection import EdgeSelection


@pytest.fixture
def graph():
    entities = Vocabulary.of(["aspirin", "headache", "fever", "tree"])
    relations = Vocabulary.of(["treats", "causes", "grows"], role="relation")
    return Graph("small", "knowledge", entities, relations, Triplets.of([0, 0, 2, 3], [0, 0, 1, 2], [1, 2, 1, 0]))


def listed(edges):
    csr = edges.csr
    weight = np.broadcast_to(edges.weight, csr.num_edges)
    return sorted(zip(csr.source.tolist(), csr.target.tolist(), weight.tolist(), strict=True))


def test_facts_both_ways_by_default(graph):
    edges = EdgeSelection().edges(graph)
    assert edges.csr is graph.csr
    assert len(listed(edges)) == 8


def test_facts_one_way(graph):
    assert listed(EdgeSelection(against=()).edges(graph)) == [(0, 1, 1), (0, 2, 1), (2, 1, 1), (3, 0, 1)]
    assert listed(EdgeSelection(along=()).edges(graph)) == [(0, 3, 1), (1, 0, 1), (1, 2, 1), (2, 0, 1)]


def test_relations_by_name(graph):
    selection = EdgeSelection(along=["treats", "grows"], against=["causes"])
    assert listed(selection.edges(graph)) == [(0, 1, 1), (0, 2, 1), (1, 2, 1), (3, 0, 1)]


def test_weights_by_name(graph):
    selection = EdgeSelection(against=(), weights={"treats": 0.5, "grows": 2.0})
    assert listed(selection.edges(graph)) == [(0, 1, 0.5), (0, 2, 0.5), (2, 1, 1), (3, 0, 2)]


def test_weights_multiply_those_of_the_facts(graph):
    weighted = Triplets.of([0, 0, 2, 3], [0, 0, 1, 2], [1, 2, 1, 0], [3.0, 4.0, 5.0, 6.0])
    graph = Graph("small", "knowledge", graph.entities, graph.relations, weighted)
    assert listed(EdgeSelection(against=()).edges(graph)) == [(0, 1, 3), (0, 2, 4), (2, 1, 5), (3, 0, 6)]
    both = EdgeSelection(along=["treats"], weights={"treats": 10.0}).edges(graph)
    assert listed(both) == [(0, 1, 30), (0, 2, 40), (0, 3, 6), (1, 0, 30), (1, 2, 5), (2, 0, 40)]


def test_a_homogeneous_graph_one_way():
    triplets = Triplets.of([0, 1], [0, 0], [1, 2])
    graph = Graph("h", "homogeneous", Vocabulary.numbered(3), Vocabulary.of(["edge"], role="relation"), triplets)
    assert listed(EdgeSelection().edges(graph)) == [(0, 1, 1), (1, 0, 1), (1, 2, 1), (2, 1, 1)]
    assert listed(EdgeSelection(against=()).edges(graph)) == [(0, 1, 1), (1, 2, 1)]


@pytest.mark.parametrize("options", [{"along": ["treat"]}, {"against": ["treat"]}, {"weights": {"treat": 1.0}}])
def test_a_typo_gets_a_suggestion(graph, options):
    with pytest.raises(UnknownNameError, match="unknown relation 'treat'; did you mean 'treats'"):
        EdgeSelection(**options).edges(graph)


def test_an_empty_graph():
    graph = Graph("e", "knowledge", Vocabulary.of([]), Vocabulary.of([], role="relation"), Triplets.empty())
    assert EdgeSelection(against=()).edges(graph).csr.num_edges == 0
