"""Paths and explanations in words, as JSON and as HTML."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from nbfnet.errors import MissingExtraError
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
    path = ExplainedPath(0.5, 0.25, 0.25, edges, (0.4, 0.1))
    return Explanation(PathEdge.named(graph, 1, 1, 2), 0.75, (path,), 0.25)


def test_a_path_reads_naturally(explanation: Explanation) -> None:
    assert str(explanation.paths[0]) == "France <-capital of- Paris -located in-> Seine"
    assert str(explanation.query) == "France -located in-> Seine"


def test_an_inverse_edge_is_the_fact_itself(explanation: Explanation) -> None:
    first, second = explanation.paths[0].edges
    assert (first.head, first.relation, first.tail, first.inverse) == ("Paris", "capital of", "France", True)
    assert (first.ids, first.start, first.end) == ((0, 0, 1), "France", "Paris")
    assert (second.ids, second.inverse, second.start, second.end) == ((0, 1, 2), False, "Paris", "Seine")


def test_the_document(explanation: Explanation) -> None:
    document = json.loads(json.dumps(explanation.to_dict()))
    assert document == {
        "query": {"head": "France", "relation": "located in", "tail": "Seine", "inverse": False},
        "asked": "tail",
        "probability": 0.75,
        "joint_drop": 0.25,
        "paths": [
            {
                "weight": 0.5,
                "deletion_drop": 0.25,
                "added_drop": 0.25,
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
    assert edge.to_dict() == {"head": "Q90", "relation": "P1376", "tail": "Q142", "inverse": True}


def test_an_undirected_edge_has_no_arrow(make_graph: Callable[..., Graph]) -> None:
    graph = make_graph(["a", "b"], ["edge"], [(0, 0, 1)], "homogeneous")
    assert str(PathEdge.named(graph, 1, 0, 0)) == "b -edge- a"
    assert PathEdge.named(graph, 1, 0, 0).inverse is False


def test_an_explanation_in_words(explanation: Explanation) -> None:
    assert str(explanation).splitlines() == [
        "France -located in-> Seine   probability 75.0%",
        "  asked: France -located in-> ?",
        "  -0.250 if deleted (weight +0.500)   France <-capital of- Paris -located in-> Seine",
    ]
    (path,) = explanation.paths
    again = replace(path, added_drop=0.01)
    more = replace(explanation, paths=(path, again), joint_drop=0.26)
    assert str(more).splitlines()[-2:] == [
        "  -0.250 if deleted, -0.010 after those above (weight +0.500)   "
        "France <-capital of- Paris -located in-> Seine",
        "  -0.260 if both paths are deleted together",
    ]
    assert replace(more, paths=(path, again, again)).lines()[-1] == "  -0.260 if all 3 paths are deleted together"
    nothing = Explanation(explanation.query, 0.25, (), 0.0)
    assert str(nothing).splitlines()[-1] == ("  no path leads there: the network judges by the two ends alone")


def test_the_question_and_the_fact(graph: Graph) -> None:
    asked_for_head = Explanation(PathEdge.named(graph, 2, 3, 1), 0.5556, (), 0.0, "head")
    assert asked_for_head.fact == "France -located in-> Seine"
    assert asked_for_head.question == "? -located in-> Seine"
    assert str(asked_for_head).splitlines()[:2] == [
        "France -located in-> Seine   probability 55.6%",
        "  asked: ? -located in-> Seine",
    ]
    assert asked_for_head.to_dict()["asked"] == "head"


def test_a_change_too_small_to_show_has_no_sign(explanation: Explanation) -> None:
    for drop in (0.0004, -0.0004, 0.0):
        assert replace(explanation.paths[0], deletion_drop=drop, added_drop=drop).effect.startswith("0.000 if deleted")


def test_readable_reprs(explanation: Explanation) -> None:
    assert repr(explanation) == "<Explanation of France -located in-> Seine: probability 75.0%, 1 path>"
    assert repr(explanation.paths[0]) == (
        "<ExplainedPath -0.250 if deleted (weight +0.500): France <-capital of- Paris -located in-> Seine>"
    )
    assert repr(explanation.query) == "<PathEdge France -located in-> Seine>"


def test_a_data_frame(explanation: Explanation) -> None:
    frame = explanation.to_pandas()
    assert frame.to_dict("records") == [
        {"rank": 1, "drop": 0.25, "added_drop": 0.25, "weight": 0.5, "length": 2, "path": str(explanation.paths[0])}
    ]
    empty = Explanation(explanation.query, 0.25, (), 0.0).to_pandas()
    assert (len(empty), list(empty.columns)) == (0, list(frame.columns))


def test_a_data_frame_without_pandas(explanation: Explanation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="pip install pandas"):
        explanation.to_pandas()


def test_a_notebook_shows_picture_and_table(explanation: Explanation) -> None:
    opened: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            opened.append(tag)

    Tags().feed(explanation._repr_html_())
    assert opened.count("svg") == 1
    assert opened.count("tr") == 2
    assert "France &lt;-capital of- Paris" in explanation._repr_html_()
    assert Explanation(explanation.query, 0.25, (), 0.0)._repr_html_()


def test_explanations_do_not_change(explanation: Explanation) -> None:
    with pytest.raises(AttributeError):
        explanation.probability = 1.0  # type: ignore[misc]
    with pytest.raises(AttributeError):
        explanation.paths[0].edges[0].head = "Lyon"  # type: ignore[misc]
