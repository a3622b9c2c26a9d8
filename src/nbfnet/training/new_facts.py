"""Links to ask a trained network on facts that it did not learn from: a new graph of the same relations."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np

from nbfnet.errors import EvaluationError, UnknownNameError
from nbfnet.graph.extension import described_as, with_entities
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.loading import open_source
from nbfnet.graph.reading.line_search import place_of
from nbfnet.graph.reading.read import read
from nbfnet.graph.reading.triplet_table import EDGE
from nbfnet.graph.triplets import Int32, Triplets
from nbfnet.graph.vocabulary import Vocabulary


def links_to_ask(learned: Dataset, facts: object | None, links: object) -> Dataset:
    """A dataset of some links, asked on other facts, or on those that were learned.

    A link may name any entity of the facts, and any that the network learned with; one that no fact mentions is an
    isolated node.

    Args:
        learned: what the network learned from.
        facts: whatever ``read_facts`` takes; None: the training facts.
        links: whatever ``nbfnet.read`` takes.

    Raises:
        EvaluationError: a relation is not among those that were learned, or an entity is unknown.
    """
    asked, origin = read_facts(links, learned.train), _origin(links)
    _require_kind(asked, learned.train, origin)
    graph = learned.train
    if facts is not None:
        graph = described_as(on_known_relations(read_facts(facts, graph), graph, _origin(facts)), graph)
    _require_entities(asked, graph, learned.train, origin)
    graph = with_entities(graph, asked.entities)
    entity, relation = graph.entities.ids(asked.entities), _relation_ids(asked, learned.train, origin)
    given = asked.triplets
    wanted = Triplets(entity[given.head], relation[given.relation], entity[given.tail])
    if facts is None:
        # The run's own test links stay known answers, unless they are of another graph.
        held_out = learned.valid.concatenate(learned.test) if learned.test_graph is None else learned.valid
        name = f"{learned.name}, {_name(links, asked)}"
        return Dataset(name, learned.train, held_out, wanted, split=learned.split)
    name = f"{_name(facts, graph)}, {_name(links, asked)}"
    if graph.kind == "homogeneous":  # its pairs are told apart by its own edges alone
        return Dataset(name, graph, Triplets.empty(), wanted)
    return Dataset(name, learned.train, Triplets.empty(), wanted, graph)


def read_facts(source: object, learned: Graph) -> Graph:
    """The facts of a file or a Python object, or everything that a folder of train, valid and test, or a store, holds.

    Edges without a relation keep their direction where those of the learned graph did.

    Raises:
        GraphFormatError: it cannot be read.
    """
    if isinstance(source, Graph):
        return source
    directed = True if learned.kind == "knowledge" and list(learned.relations) == [EDGE] else None
    if isinstance(source, str | Path) and Path(source).is_dir():
        opened = open_source(source, directed=directed)
        return opened.known_graph if isinstance(opened, Dataset) else opened
    return read(source, directed=directed)


def _name(source: object, graph: Graph) -> str:
    return Path(source).name if isinstance(source, str | Path) else graph.name


def _origin(source: object) -> Path | str:
    """What an error calls the place that names come from."""
    return Path(source) if isinstance(source, str | Path) else f"the given {type(source).__name__}"


def on_known_relations(graph: Graph, learned: Graph, origin: Path | str) -> Graph:
    """A graph whose relations are numbered as those that a network learned.

    Raises:
        EvaluationError: a relation is not among them.
    """
    _require_kind(graph, learned, origin)
    relation = _relation_ids(graph, learned, origin)[graph.triplets.relation]
    triplets = Triplets(graph.triplets.head, relation, graph.triplets.tail, graph.triplets.weight)
    return dataclasses.replace(graph, relations=learned.relations, triplets=triplets)


def _require_kind(graph: Graph, learned: Graph, origin: Path | str) -> None:
    if graph.kind != learned.kind:
        raise EvaluationError(
            f"{origin}: this is a {graph.kind} graph, the network learned from a {learned.kind} one; "
            "give facts with the same columns"
        )


def _relation_ids(graph: Graph, learned: Graph, origin: Path | str) -> Int32:
    """(relation,) the learned number of each relation of a graph."""
    remedy = "correct the name, leave such facts out, or train again: a network knows the relations it learned with"
    return np.array([_id(name, learned.relations, origin, remedy) for name in graph.relations], dtype=np.int32)


def _require_entities(asked: Graph, graph: Graph, learned: Graph, origin: Path | str) -> None:
    for name in asked.entities:
        if name not in learned.entities:
            _id(name, graph.entities, origin, "give a fact with it in --facts, or correct the name")


def _id(name: str, known: Vocabulary, origin: Path | str, remedy: str) -> int:
    try:
        return known.id(name)
    except UnknownNameError as error:
        raise EvaluationError(f"{place_of(origin, name)}: {error}\n  what to do: {remedy}") from None
