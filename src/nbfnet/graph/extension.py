"""A graph with more facts: the same names keep their numbers, new ones follow."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

import numpy as np

from nbfnet.errors import GraphFormatError
from nbfnet.graph.graph import EntityTypes, Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary


def with_entities(graph: Graph, names: Iterable[str]) -> Graph:
    """The graph with these entities too, named or labelled; those it lacks become isolated nodes after all others."""
    new = [name for name in dict.fromkeys(names) if not graph.entities.knows(name)]
    if not new:
        return graph
    entities = Vocabulary.of([*graph.entities, *new], labels=graph.entities.labels)
    types = graph.types
    if types is not None:
        untyped = np.full(len(new), -1, dtype=np.int32)
        types = EntityTypes(types.names, np.concatenate([types.of_entity, untyped]))
    return dataclasses.replace(graph, entities=entities, types=types)


def renumber_relations(graph: Graph, relations: Vocabulary) -> Graph:
    """The graph with its relations numbered as in another vocabulary, matched by name.

    Raises:
        UnknownNameError: a relation that is not there.
    """
    number, facts = relations.ids(graph.relations), graph.triplets
    renumbered = dataclasses.replace(facts, relation=number[facts.relation])
    return dataclasses.replace(graph, relations=relations, triplets=renumbered)


def with_facts(graph: Graph, more: Graph, *, any_relation: bool = False) -> Graph:
    """The graph with the facts of another one too, matched by name.

    Entities that it lacks follow those that it has, and with ``any_relation`` relations too.

    Raises:
        UnknownNameError: a relation that the graph does not have.
        GraphFormatError: one has relations, the other does not.
    """
    if graph.kind != more.kind:
        what = f"{more.name} is a {more.kind} graph, and {graph.name} is a {graph.kind} one"
        raise GraphFormatError(what, remedy="give facts with the same columns")
    relations = graph.relations
    new = [name for name in more.relations if not relations.knows(name)]
    if new and any_relation:
        labels = {**more.relations.labels, **relations.labels}
        relations = Vocabulary.of([*relations, *new], role=relations.role, labels=labels)
    more = renumber_relations(more, relations)
    joined = dataclasses.replace(described_as(with_entities(graph, more.entities), more), relations=relations)
    entity, facts = joined.entities.ids(more.entities), more.triplets
    added = Triplets(entity[facts.head], facts.relation, entity[facts.tail], facts.weight)
    return dataclasses.replace(joined, triplets=joined.triplets.concatenate(added))


def described_as(graph: Graph, other: Graph) -> Graph:
    """The graph with another one's readable names and types, where it has none of its own, matched by name."""
    entities = graph.entities.with_labels({**other.entities.labels, **graph.entities.labels})
    types = graph.types
    if types is None and other.types is not None:
        known = (other.types.of_entity[other.entities.id(n)] if n in other.entities else -1 for n in graph.entities)
        types = EntityTypes(other.types.names, np.fromiter(known, dtype=np.int32, count=graph.num_nodes))
    return dataclasses.replace(graph, entities=entities, types=types)
