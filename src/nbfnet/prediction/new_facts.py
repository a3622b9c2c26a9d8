"""Facts and links that a trained network did not learn from: other entities, and other relations if it takes any."""

from __future__ import annotations

from pathlib import Path

from nbfnet.errors import EvaluationError, UnknownNameError
from nbfnet.graph.datasets.registry import known_datasets
from nbfnet.graph.extension import described_as, renumber_relations, with_entities
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.loading import open_source
from nbfnet.graph.reading.read import place_of, read
from nbfnet.graph.reading.triplet_table import EDGE
from nbfnet.graph.triplets import Triplets


def new_graph(source: object, learned: Graph, *, any_relation: bool = False) -> Graph:
    """The graph of a source, with the relations numbered as those that a network learned.

    With ``any_relation`` it may have other relations, and be of another kind: a network for any graph asks.
    The source is whatever ``nbfnet.read`` takes, or a folder or a store, of which every known fact counts. Edges
    without a relation keep their direction where those of the learned graph did. Entities keep the readable names and
    the types that were learned.

    Raises:
        GraphFormatError: it cannot be read.
        EvaluationError: it has a relation that was not learned, or is a graph of another kind.
    """
    graph = _read(source, learned)
    known = graph if any_relation else on_known_relations(graph, learned, _origin(source))
    return described_as(known, learned)


def links_to_ask(learned: Dataset, facts: object | None, links: object, *, any_relation: bool = False) -> Dataset:
    """A dataset of some links, asked on other facts, or on those that were learned.

    A link may name any entity of the facts, and any that the network learned with; one that no fact mentions is an
    isolated node.

    Args:
        learned: what the network learned from.
        facts: whatever ``new_graph`` takes; None: the training facts.
        links: the same.
        any_relation: whether the facts may have relations that were not learned; the links have those of the facts.

    Raises:
        EvaluationError: a relation is not among those that were learned, or an entity is unknown.
    """
    origin = _origin(links)
    if any_relation:
        graph = learned.train if facts is None else new_graph(facts, learned.train, any_relation=True)
        asked = on_relations_of(graph, _read(links, graph), origin)
    else:
        asked = on_known_relations(_read(links, learned.train), learned.train, origin)
        graph = learned.train if facts is None else new_graph(facts, learned.train)
    for name in asked.entities:
        if name not in learned.train.entities:
            _find(name, graph, origin)
    graph = with_entities(graph, asked.entities)
    entity, given = graph.entities.ids(asked.entities), asked.triplets
    wanted = Triplets(entity[given.head], given.relation, entity[given.tail])
    if facts is None:
        # The run's own test links stay known answers, unless they are of another graph.
        held_out = learned.valid.concatenate(learned.test) if learned.test_graph is None else learned.valid
        return Dataset(f"{learned.name}, {_name(links, asked)}", learned.train, held_out, wanted, split=learned.split)
    name = f"{_name(facts, graph)}, {_name(links, asked)}"
    if graph.kind == "homogeneous" or any_relation:  # what was learned says nothing about these
        return Dataset(name, graph, Triplets.empty(), wanted)
    return Dataset(name, learned.train, Triplets.empty(), wanted, graph)


def on_known_relations(graph: Graph, learned: Graph, origin: Path | str) -> Graph:
    """A graph whose relations are numbered as those that a network learned; ``origin`` is where an error looks.

    Raises:
        EvaluationError: a relation is not among them, or the graph is of another kind.
    """
    if graph.kind != learned.kind:
        what = f"this is a {graph.kind} graph, the network learned from a {learned.kind} one"
        raise EvaluationError(what, file=origin, remedy="give facts with the same columns")
    try:
        return renumber_relations(graph, learned.relations)
    except UnknownNameError as error:
        remedy = "correct the name, leave such facts out, or train again: a network knows the relations it learned with"
        raise _unknown(error, origin, remedy) from None


def on_relations_of(facts: Graph, asked: Graph, origin: Path | str) -> Graph:
    """Links whose relations are numbered as those of the facts that they are asked on.

    Raises:
        EvaluationError: no fact has a relation of theirs, or they are of another kind.
    """
    if asked.kind != facts.kind:
        what = f"these links are those of a {asked.kind} graph, the facts are those of a {facts.kind} one"
        raise EvaluationError(what, file=origin, remedy="give links with the same columns as the facts")
    try:
        return renumber_relations(asked, facts.relations)
    except UnknownNameError as error:
        remedy = "give a fact with it in --facts, correct the name, or leave such links out"
        raise _unknown(error, origin, remedy) from None


def _read(source: object, learned: Graph) -> Graph:
    directed = True if learned.kind == "knowledge" and list(learned.relations) == [EDGE] else None
    if isinstance(source, Graph):
        return source
    if isinstance(source, Dataset):
        return source.known_graph
    if not isinstance(source, str | Path) or not (Path(source).is_dir() or _is_dataset(source)):
        return read(source, directed=directed)
    opened = open_source(str(source)) if _is_dataset(source) else open_source(Path(source), directed=directed)
    return opened.known_graph if isinstance(opened, Dataset) else opened


def _is_dataset(source: str | Path) -> bool:
    """Whether it names a known dataset; a file or folder of that name is the file or folder."""
    return str(source).casefold() in known_datasets() and not Path(source).exists()


def _name(source: object, graph: Graph) -> str:
    return Path(source).name if isinstance(source, str | Path) else graph.name


def _origin(source: object) -> Path | str:
    """What an error calls the place that names come from."""
    return Path(source) if isinstance(source, str | Path) else f"the given {type(source).__name__}"


def _find(name: str, graph: Graph, origin: Path | str) -> int:
    try:
        return graph.entities.id(name)
    except UnknownNameError as error:
        raise _unknown(error, origin, "give a fact with it in --facts, or correct the name") from None


def _unknown(error: UnknownNameError, origin: Path | str, remedy: str) -> EvaluationError:
    return EvaluationError(str(error), file=place_of(origin, error.name), remedy=remedy)
