from __future__ import annotations

import dataclasses

import pytest

from nbfnet.graph.fingerprint import fingerprint
from nbfnet.graph.graph import Dataset, EntityTypes, Graph
from nbfnet.graph.reading.read import read
from nbfnet.graph.store import read_store, write_store
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary


@pytest.fixture
def dataset():
    graph = Graph(
        "g",
        "knowledge",
        Vocabulary.of(["a", "b", "c"]),
        Vocabulary.of(["r", "s"], role="relation"),
        Triplets.of([0, 1], [0, 1], [1, 2]),
    )
    return Dataset("d", graph, Triplets.of([0], [0], [2]), Triplets.of([2], [1], [0]))


def changes(dataset):
    """The same dataset with one thing changed, whatever it is."""
    graph, replace = dataset.train, dataclasses.replace
    weighted = Triplets.of([0, 1], [0, 1], [1, 2], [1.0, 2.0])
    yield replace(dataset, train=replace(graph, triplets=Triplets.of([0, 1], [0, 1], [2, 1])))
    yield replace(dataset, train=replace(graph, triplets=Triplets.of([1, 0], [1, 0], [2, 1])))
    yield replace(dataset, train=replace(graph, triplets=Triplets.of([0, 1], [1, 1], [1, 2])))
    yield replace(dataset, train=replace(graph, triplets=weighted))
    yield replace(dataset, train=replace(graph, entities=Vocabulary.of(["a", "b", "d"])))
    yield replace(dataset, train=replace(graph, entities=Vocabulary.of(["ab", "", "c"])))
    yield replace(dataset, train=replace(graph, entities=Vocabulary.of(["a", "b", "c", "d"])))
    yield replace(dataset, train=replace(graph, entities=Vocabulary.numbered(3)))
    yield replace(dataset, train=replace(graph, relations=Vocabulary.of(["r", "t"], role="relation")))
    yield replace(dataset, train=replace(graph, kind="homogeneous"))
    types = EntityTypes(Vocabulary.of(["x"], role="entity type"), Triplets.of([0, 0, -1], [0] * 3, [0] * 3).head)
    yield replace(dataset, train=replace(graph, types=types))
    yield replace(dataset, valid=dataset.test, test=dataset.valid)
    yield replace(dataset, valid=Triplets.empty())
    yield replace(dataset, test=Triplets.of([2, 2], [1, 1], [0, 0]))
    yield replace(dataset, test_graph=graph)
    yield replace(dataset, test_graph=graph, test_graph_valid=dataset.valid)


def test_any_other_dataset_has_another(dataset):
    found = [fingerprint(other) for other in changes(dataset)]
    assert len({fingerprint(dataset), *found}) == 1 + len(found)


def test_names_for_people_and_descriptions_do_not_matter(dataset):
    other = dataclasses.replace(dataset, name="other", split="by hand")
    labelled = dataclasses.replace(dataset.train, entities=dataset.train.entities.with_labels({"a": "A"}), name="h")
    assert fingerprint(other) == fingerprint(dataset) == fingerprint(dataclasses.replace(dataset, train=labelled))


def test_a_store_keeps_it(dataset, tmp_path):
    for number, other in enumerate([dataset, *changes(dataset)]):
        if other.train.kind == "knowledge" or other.train.num_relations == 1:
            write_store(other, tmp_path / str(number))
            assert fingerprint(read_store(tmp_path / str(number))) == fingerprint(other)


def test_reading_a_file_again_keeps_it(tmp_path):
    (tmp_path / "g.tsv").write_text("é\tr\tb\nb\ts\té\n", encoding="utf-8")
    first, second = (read(tmp_path / "g.tsv") for _ in range(2))
    made = [Dataset("d", graph, Triplets.empty(), Triplets.empty()) for graph in (first, second)]
    assert fingerprint(made[0]) == fingerprint(made[1])
