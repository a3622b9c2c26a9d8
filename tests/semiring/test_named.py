import numpy as np
import pytest

from nbfnet.errors import ImprovingCycleError, PathError, UnknownNameError
from nbfnet.graph.graph import Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.semiring import named
from nbfnet.semiring.catalog import METHODS, katz
from nbfnet.semiring.edge_selection import EdgeSelection
from nbfnet.semiring.weighted_edges import WeightedEdges

NAMES = ["aspirin", "headache", "fever", "ibuprofen", "tree"]


def make_graph(weights=None):
    """aspirin treats headache and fever, ibuprofen treats fever; the tree stands alone."""
    triplets = Triplets.of([0, 0, 3], [0, 0, 0], [1, 2, 2], weights)
    return Graph("small", "knowledge", Vocabulary.of(NAMES), Vocabulary.of(["treats"], role="relation"), triplets)


def test_names_and_scores_best_first():
    graph = make_graph([0.5, 0.25, 0.75])
    assert named.graph_distance(graph, "aspirin") == [("fever", 0.25), ("headache", 0.5), ("ibuprofen", 1.0)]
    assert named.widest_path(graph, "aspirin") == [("headache", 0.5), ("fever", 0.25), ("ibuprofen", 0.25)]
    assert named.most_reliable_path(graph, "aspirin") == [("headache", 0.5), ("fever", 0.25), ("ibuprofen", 0.1875)]


def test_katz_and_pagerank():
    graph = make_graph()
    scores = named.katz(graph, "aspirin", beta=0.1)
    assert [name for name, _ in scores] == ["fever", "headache", "ibuprofen"]
    expected = katz(WeightedEdges.of(graph.csr), [0], beta=0.1)[0]
    assert [score for _, score in scores] == expected[[2, 1, 3]].tolist()
    ranks = dict(named.personalized_pagerank(graph, "aspirin", alpha=0.5))
    assert set(ranks) == {"headache", "fever", "ibuprofen"}
    assert sum(ranks.values()) < 1


def test_the_best_k():
    assert named.graph_distance(make_graph(), "aspirin", k=1) == [("headache", 1.0)]
    assert named.graph_distance(make_graph(), "aspirin", k=0) == []


def test_facts_one_way():
    one_way = EdgeSelection(against=())
    assert named.graph_distance(make_graph(), "aspirin", selection=one_way) == [("headache", 1.0), ("fever", 1.0)]
    assert named.graph_distance(make_graph(), "fever", selection=one_way) == []


def test_a_lonely_node():
    for method in METHODS:
        assert named.closest_nodes(make_graph(), method, "tree") == []


def test_a_path_by_name():
    graph = make_graph([0.5, 0.25, 0.75])
    path = named.path(graph, "distance", "headache", "ibuprofen")
    assert path.score == 1.5
    assert path.steps == [
        ("aspirin", "treats", "headache", True, 0.5),
        ("aspirin", "treats", "fever", False, 0.25),
        ("ibuprofen", "treats", "fever", True, 0.75),
    ]


def test_no_path():
    assert named.path(make_graph(), "distance", "aspirin", "tree") is None
    assert named.path(make_graph(), "widest", "tree", "tree") == ([], float("inf"))


def test_a_path_of_a_sum():
    with pytest.raises(PathError):
        named.path(make_graph(), "katz", "aspirin", "fever")


@pytest.mark.parametrize("ends", [("asprin", "fever"), ("aspirin", "fewer")])
def test_a_typo_gets_a_suggestion(ends):
    with pytest.raises(UnknownNameError, match=r"did you mean '(aspirin|fever)'"):
        named.path(make_graph(), "distance", *ends)
    with pytest.raises(UnknownNameError, match="did you mean 'aspirin'"):
        named.katz(make_graph(), "asprin")


def test_an_unknown_method():
    with pytest.raises(UnknownNameError, match="unknown method 'distant'; did you mean 'distance'"):
        named.closest_nodes(make_graph(), "distant", "aspirin")


def test_a_negative_cycle_by_name():
    with pytest.raises(ImprovingCycleError, match=r"headache → aspirin|aspirin → headache"):
        named.graph_distance(make_graph([-1.0, 1.0, 1.0]), "ibuprofen")
    with pytest.raises(ImprovingCycleError, match="aspirin"):
        named.path(make_graph([-1.0, 1.0, 1.0]), "distance", "ibuprofen", "fever")


def test_scores_are_plain_numbers():
    (node, score), *_ = named.katz(make_graph(), "aspirin")
    assert type(node) is str
    assert type(score) is float
    assert np.isfinite(score)
