"""A graph with more facts: the same names keep their numbers, new ones follow."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nbfnet.errors import GraphFormatError, UnknownNameError
from nbfnet.graph.extension import described_as, with_entities, with_facts
from nbfnet.graph.graph import EntityTypes, Graph
from nbfnet.graph.reading.read import read
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary


def test_entities_join_behind_the_others(small_graph, named):
    extended = with_entities(small_graph, ["b", "new", "alone", "newer", "new"])
    assert list(extended.entities) == [*small_graph.entities, "new", "newer"]
    assert named(extended) == named(small_graph)
    assert extended.csr.num_nodes == 7
    assert with_entities(small_graph, ["a", "d"]) is small_graph
    assert with_entities(small_graph, []) is small_graph


def test_facts_join_behind_the_others(small_graph, named):
    more = read([("new", "knows", "c"), ("c", "likes", "a"), ("new", "knows", "newer")])
    extended = with_facts(small_graph, more)
    assert named(extended) == [*named(small_graph), *((*fact, 1.0) for fact in named(more))]
    assert list(extended.relations) == list(small_graph.relations)  # not in the order of the new facts
    assert extended.num_nodes == small_graph.num_nodes + 2


def test_labels_and_types_stay(small_graph):
    types = EntityTypes(Vocabulary.of(["x", "y"], role="entity type"), np.array([0, 1, 0, -1, 1], dtype=np.int32))
    entities = small_graph.entities.with_labels({"a": "Anna", "d": "Dora"})
    graph = dataclasses.replace(small_graph, entities=entities, types=types)
    extended = with_facts(graph, read([("Bert", "likes", "d"), ("Anna", "likes", "Bert")]))
    assert list(extended.entities) == [*small_graph.entities, "Bert"]  # 'Anna' is the readable name of a
    assert (extended.triplets.head[-2:].tolist(), extended.triplets.tail[-2:].tolist()) == ([5, 0], [3, 5])
    assert extended.entities.label(0) == "Anna"
    assert extended.types.of_entity.tolist() == [0, 1, 0, -1, 1, -1]
    assert extended.types.of_entity.dtype == np.int32
    assert extended.entities.role == "entity"


def test_new_labels_come_along(small_graph):
    more = read([("new", "likes", "a")])
    more = dataclasses.replace(more, entities=more.entities.with_labels({"new": "Nora", "a": "Another"}))
    graph = dataclasses.replace(small_graph, entities=small_graph.entities.with_labels({"a": "Anna"}))
    extended = with_facts(graph, more)
    assert extended.entities.label(5) == "Nora"
    assert extended.entities.label(0) == "Anna"


def test_nodes_that_are_only_numbered():
    graph = Graph(
        "n", "homogeneous", Vocabulary.numbered(3), Vocabulary.of(["edge"], role="relation"), Triplets.of([0], [0], [1])
    )
    more = Graph("m", "homogeneous", Vocabulary.of(["2", "x"]), graph.relations, Triplets.of([0], [0], [1]))
    extended = with_facts(graph, more)
    assert list(extended.entities) == ["0", "1", "2", "x"]
    assert (extended.triplets.head.tolist(), extended.triplets.tail.tolist()) == ([0, 2], [1, 3])


def test_a_new_relation_is_refused(small_graph):
    with pytest.raises(UnknownNameError, match="unknown relation 'lieks'; did you mean 'likes'"):
        with_facts(small_graph, read([("a", "lieks", "b")]))


def test_new_relations_follow_where_any_will_do(small_graph):
    more = read([("a", "lieks", "b"), ("a", "likes", "b")])
    extended = with_facts(small_graph, more, any_relation=True)
    assert list(extended.relations) == [*small_graph.relations, "lieks"]
    assert extended.relations.role == "relation"
    added = extended.triplets.relation[-2:].tolist()
    assert [extended.relations[r] for r in added] == ["lieks", "likes"]


def test_edges_without_relations_do_not_join_facts(small_graph):
    with pytest.raises(GraphFormatError, match="is a homogeneous graph"):
        with_facts(small_graph, read([("a", "b")]), any_relation=True)


def test_another_graph_lends_its_labels_and_types(small_graph):
    types = EntityTypes(Vocabulary.of(["x", "y"], role="entity type"), np.array([0, 1, 0, -1, 1], dtype=np.int32))
    entities = small_graph.entities.with_labels({"a": "Anna", "d": "Dora"})
    known = dataclasses.replace(small_graph, entities=entities, types=types)
    graph = read([("b", "likes", "new"), ("d", "likes", "a")])
    graph = dataclasses.replace(graph, entities=graph.entities.with_labels({"d": "Doris"}))
    lent = described_as(graph, known)
    assert list(lent.entities) == ["b", "new", "d", "a"]
    assert [lent.entities.label(i) for i in range(4)] == ["b", "new", "Doris", "Anna"]
    assert lent.types.of_entity.tolist() == [1, -1, -1, 0]
    assert lent.entities.id("Anna") == 3
    bare = described_as(graph, small_graph)
    assert bare.types is None
    assert bare.entities.labels == {"d": "Doris"}
