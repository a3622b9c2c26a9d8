"""Links to ask a trained network on facts that it did not learn from: a new graph of the same relations."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from nbfnet.errors import EvaluationError, UnknownNameError
from nbfnet.graph.extension import with_entities
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.reading.read import read
from nbfnet.graph.triplets import Int32, Triplets
from nbfnet.graph.vocabulary import Vocabulary


def read_new_facts(learned: Dataset, facts: Path | None, queries: Path) -> Dataset:
    """A dataset of the queries' links, asked on the facts of a file, or on those that were learned.

    A query may name any entity of the facts, and any that the network learned with; one that no fact mentions is an
    isolated node.

    Raises:
        EvaluationError: a relation is not among those that were learned, or an entity is unknown.
    """
    asked = read(queries)
    graph = learned.train if facts is None else on_known_relations(read(facts), learned.train, facts)
    _require_entities(asked, graph, learned.train, queries)
    graph = with_entities(graph, asked.entities)
    entity, relation = graph.entities.ids(asked.entities), _relation_ids(asked, learned.train, queries)
    given = asked.triplets
    links = Triplets(entity[given.head], relation[given.relation], entity[given.tail])
    if facts is None:
        return dataclasses.replace(learned, name=f"{learned.name}, {queries.name}", test=links, test_graph=None)
    name = f"{facts.name}, {queries.name}"
    if graph.kind == "homogeneous":  # its pairs are told apart by its own edges alone
        return Dataset(name, graph, Triplets.empty(), links)
    return Dataset(name, learned.train, Triplets.empty(), links, graph)


def on_known_relations(graph: Graph, learned: Graph, origin: Path | str) -> Graph:
    """A graph whose relations are numbered as those that a network learned.

    Raises:
        EvaluationError: a relation is not among them.
    """
    if graph.kind != learned.kind:
        raise EvaluationError(
            f"{origin}: this is a {graph.kind} graph, the network learned from a {learned.kind} one; "
            "give facts with the same columns"
        )
    relation = _relation_ids(graph, learned, origin)[graph.triplets.relation]
    triplets = Triplets(graph.triplets.head, relation, graph.triplets.tail, graph.triplets.weight)
    entities = graph.entities.with_labels({**learned.entities.labels, **graph.entities.labels})
    return dataclasses.replace(graph, entities=entities, relations=learned.relations, triplets=triplets)


def _relation_ids(graph: Graph, learned: Graph, origin: Path | str) -> Int32:
    """(relation,) the learned number of each relation of a graph."""
    return _ids(graph.relations, learned.relations, origin, "a network cannot answer for a relation it never saw")


def _require_entities(asked: Graph, graph: Graph, learned: Graph, origin: Path) -> None:
    for name in asked.entities:
        if name not in graph.entities and name not in learned.entities:
            _refuse(name, graph.entities, origin, "give a fact with it in --facts, or correct the name")


def _ids(names: Iterable[str], known: Vocabulary, origin: Path | str, remedy: str) -> Int32:
    return np.array([_id(name, known, origin, remedy) for name in names], dtype=np.int32)


def _id(name: str, known: Vocabulary, origin: Path | str, remedy: str) -> int:
    try:
        return known.id(name)
    except UnknownNameError:
        _refuse(name, known, origin, remedy)
        raise


def _refuse(name: str, known: Vocabulary, origin: Path | str, remedy: str) -> None:
    try:
        known.id(name)
    except UnknownNameError as error:
        raise EvaluationError(f"{origin}: {error}\n  what to do: {remedy}") from None
