"""A fingerprint tells datasets apart by their names and links, and nothing else."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from nbfnet.graph.fingerprint import fingerprint
from nbfnet.graph.graph import Dataset, EntityTypes, Graph
from nbfnet.graph.store import read_store, write_store
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary


@pytest.fixture
def dataset(small_graph):
    return Dataset("d", small_graph, small_graph.triplets.take([0]), small_graph.triplets.take([1, 2]))


def graph_with(graph, **changes):
    return dataclasses.replace(graph, **changes)


def changed(dataset):
    """The dataset, each time with one thing changed."""
    graph, facts = dataset.train, dataset.train.triplets
    train = {
        "an entity's name": graph_with(graph, entities=Vocabulary.of(["a", "b", "c", "D", "alone"])),
        "where a name ends": graph_with(graph, entities=Vocabulary.of(["a", "b", "c", "da", "lone"])),
        "the order of names": graph_with(graph, entities=Vocabulary.of(["b", "a", "c", "d", "alone"])),
        "one entity more": graph_with(graph, entities=Vocabulary.of(["a", "b", "c", "d", "alone", "x"])),
        "a relation's name": graph_with(graph, relations=Vocabulary.of(["likes", "hates"], role="relation")),
        "the order of facts": graph_with(graph, triplets=facts.take(np.array([1, 0, 2, 3, 4, 5]))),
        "one fact less": graph_with(graph, triplets=facts.take(np.arange(5))),
        "a direction": graph_with(graph, triplets=Triplets(facts.tail, facts.relation, facts.head, facts.weight)),
        "a weight": graph_with(graph, triplets=dataclasses.replace(facts, weight=facts.weight * 2)),
        "no weights": graph_with(graph, triplets=dataclasses.replace(facts, weight=None)),
        "the kind": graph_with(graph, kind="homogeneous"),
        "types": graph_with(graph, types=EntityTypes(Vocabulary.of(["t"]), np.zeros(5, dtype=np.int32))),
        "numbers": graph_with(graph, entities=Vocabulary.numbered(5)),
        "more numbers": graph_with(graph, entities=Vocabulary.numbered(6)),
    }
    yield from ((what, dataclasses.replace(dataset, train=graph)) for what, graph in train.items())
    yield "valid and test", dataclasses.replace(dataset, valid=dataset.test, test=dataset.valid)
    yield "no valid", dataclasses.replace(dataset, valid=Triplets.empty())
    yield "no test", dataclasses.replace(dataset, test=Triplets.empty())
    yield "a test graph", dataclasses.replace(dataset, test_graph=graph)


def test_every_change_shows(dataset):
    prints = {what: fingerprint(other) for what, other in changed(dataset)} | {"nothing": fingerprint(dataset)}
    assert len(set(prints.values())) == len(prints)
    assert all(len(text) == 32 and int(text, 16) >= 0 for text in prints.values())


def test_other_words_do_not(dataset):
    entities = dataset.train.entities.with_labels({"a": "Anna"})
    renamed = dataclasses.replace(
        dataset, name="other", split="by hand", train=graph_with(dataset.train, entities=entities)
    )
    assert fingerprint(renamed) == fingerprint(dataset)


def test_the_store_keeps_it(dataset, tmp_path):
    numbered = Graph(
        "n", "homogeneous", Vocabulary.numbered(3), Vocabulary.of(["edge"], role="relation"), Triplets.of([0], [0], [1])
    )
    for i, given in enumerate((dataset, Dataset("n", numbered, Triplets.empty(), Triplets.empty()))):
        write_store(given, tmp_path / str(i))
        assert fingerprint(read_store(tmp_path / str(i))) == fingerprint(given)
