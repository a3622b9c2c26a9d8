"""Paths and explanations in words, as JSON and as HTML."""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from nbfnet.explanation.explanation import Explanation
from nbfnet.explanation.path import ExplainedPath, PathEdge
from nbfnet.graph.graph import Graph
from nbfnet.graph.vocabulary import Vocabulary

ENTITIES = ["Paris", "France", "Seine", "Spain"]
RELATIONS = ["capital of", "located in"]


@pytest.fixture
def graph(make_graph: Callable[..., Graph]) -> Graph:
    return make_graph(ENTITIES, RELATIONS, [(0, 0, 1), (0, 1, 2)])


@pytest.fixture
def explanation(graph: Graph) -> Explanation:
    """From France over Paris to the Seine: the first fact is read backwards."""
    edges = PathEdge.named(graph, 1, 2, 0), PathEdge.named(graph, 0, 1, 2)
    return Explanation(PathEdge.named(graph, 1, 1, 2), 0.75, (ExplainedPath(0.5, 0.25, edges, (0.4, 0.1)),))


def test_a_path_reads_naturally(explanation: Explanation) -> None:
    assert str(explanation.paths[0]) == "France <-capital of- Paris -located in-> Seine"
    assert str(explanation.query) == "France -located in-> Seine"


def test_an_inverse_edge_is_the_fact_itself(explanation: Explanation) -> None:
    first, second = explanation.paths[0].edges
    assert (first.head, first.relation, first.tail, first.inverse) == ("Paris", "capital of", "France", True)
    assert (first.ids, first.start, first.end) == ((0, 0, 1), "France", "Paris")
    assert (second.ids, second.inverse, second.start, second.end) == ((0, 1, 2), False, "Paris", "Seine")


def test_the_document(explanation: Explanation) -> None:
    document = json.loads(json.dumps(explanation.document()))
    assert document == {
        "query": {"head": "France", "relation": "located in", "tail": "Seine", "inverse": False},
        "probability": 0.75,
        "paths": [
            {
                "weight": 0.5,
                "deletion_drop": 0.25,
                "edges": [
                    {"head": "Paris", "relation": "capital of", "tail": "France", "inverse": True},
                    {"head": "Paris", "relation": "located in", "tail": "Seine", "inverse": False},
                ],
            }
        ],
    }


def test_people_read_labels_and_programs_names(graph: Graph) -> None:
    labelled = Graph(
        "labelled",
        "knowledge",
        Vocabulary.of(["Q90", "Q142"], labels={"Q90": "Paris", "Q142": "France"}),
        Vocabulary.of(["P1376"], role="relation", labels={"P1376": "capital of"}),
        graph.triplets,
    )
    edge = PathEdge.named(labelled, 1, 1, 0)
    assert str(edge) == "France <-capital of- Paris"
    assert edge.document() == {"head": "Q90", "relation": "P1376", "tail": "Q142", "inverse": True}


def test_an_undirected_edge_has_no_arrow(make_graph: Callable[..., Graph]) -> None:
    graph = make_graph(["a", "b"], ["edge"], [(0, 0, 1)], "homogeneous")
    assert str(PathEdge.named(graph, 1, 0, 0)) == "b -edge- a"
    assert PathEdge.named(graph, 1, 0, 0).inverse is False


def test_an_explanation_in_words(explanation: Explanation) -> None:
    assert str(explanation).splitlines() == [
        "France -located in-> Seine: probability 0.75",
        "  -0.250 if deleted (weight +0.500)   France <-capital of- Paris -located in-> Seine",
    ]
    nothing = Explanation(explanation.query, 0.25, ())
    assert "no path leads from France to Seine" in str(nothing)


def test_a_notebook_shows_picture_and_table(explanation: Explanation) -> None:
    opened: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            opened.append(tag)

    Tags().feed(explanation._repr_html_())
    assert opened.count("svg") == 1
    assert opened.count("tr") == 2
    assert "France &lt;-capital of- Paris" in explanation._repr_html_()
    assert Explanation(explanation.query, 0.25, ())._repr_html_()


def test_explanations_do_not_change(explanation: Explanation) -> None:
    with pytest.raises(AttributeError):
        explanation.probability = 1.0  # type: ignore[misc]
    with pytest.raises(AttributeError):
        explanation.paths[0].edges[0].head = "Lyon"  # type: ignore[misc]
