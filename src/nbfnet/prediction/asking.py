"""Asking by name: names in, names out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from nbfnet.errors import QueryError
from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import invert
from nbfnet.graph.triplets import Int32
from nbfnet.prediction.answers import Answer, Answers
from nbfnet.prediction.predictor import Predictor, Ranking


@dataclass(frozen=True)
class Wanted:
    """What answers are wanted."""

    k: int = 10
    exclude_known: bool = False  # only what is not a fact yet
    types: tuple[str, ...] = ()  # only entities of these types
    candidates: tuple[str, ...] | None = None  # only these entities

    @property
    def restricts_entities(self) -> bool:
        """Whether some entities are no answers."""
        return bool(self.types) or self.candidates is not None


def ask(
    predictor: Predictor, head: str | None, relation: str | None, tail: str | None, wanted: Wanted | None = None
) -> Answers:
    """The best answers to a query with one part left out.

    A homogeneous graph has one relation, which need not be given, and no direction.

    Raises:
        QueryError: not exactly one part is left out, or no entity may be an answer.
        UnknownNameError: a name that the graph does not have; the closest are suggested.
    """
    wanted = wanted or Wanted()
    graph = predictor.graph
    if wanted.k < 1:
        raise QueryError(f"{wanted.k} answers were asked for: ask for at least 1")
    if graph.kind == "homogeneous" and relation is None:
        relation = graph.relations[0]
    if sum(part is None for part in (head, relation, tail)) != 1:
        raise QueryError(
            "leave out exactly one of head, relation and tail: it is what is asked; "
            f"given were head {head!r}, relation {relation!r}, tail {tail!r}"
        )
    ids = graph.entities, graph.relations
    u, v = (None if name is None else ids[0].find(name) for name in (head, tail))
    q = None if relation is None else ids[1].find(relation)
    ranking = _rank(predictor, u, q, v, wanted)
    vocabulary = ids[1] if q is None else ids[0]
    answers = tuple(
        Answer(rank, vocabulary[candidate], vocabulary.label(candidate), probability, known)
        for rank, (candidate, probability, known) in enumerate(
            zip(ranking.candidate.tolist(), ranking.probability.tolist(), ranking.known.tolist(), strict=True), start=1
        )
    )
    given_head, given_tail = (None if node is None else ids[0][node] for node in (u, v))
    return Answers(given_head, None if q is None else ids[1][q], given_tail, answers)


def _rank(predictor: Predictor, u: int | None, q: int | None, v: int | None, wanted: Wanted) -> Ranking:
    graph = predictor.graph
    if u is not None and v is not None:
        if wanted.restricts_entities:
            raise QueryError("types and candidates restrict entities, and a relation is asked: leave them out")
        return predictor.relations(u, v, wanted.k, exclude_known=wanted.exclude_known)
    assert q is not None
    source = u if u is not None else v
    assert source is not None
    backwards = u is None and graph.kind != "homogeneous"
    asked = invert(q, graph.num_relations) if backwards else q
    candidates = _candidates(graph, wanted)
    return predictor.tails(source, asked, wanted.k, exclude_known=wanted.exclude_known, candidates=candidates)


def _candidates(graph: Graph, wanted: Wanted) -> Int32 | None:
    if not wanted.restricts_entities:
        return None
    allowed = np.arange(graph.num_nodes, dtype=np.int32)
    if wanted.candidates is not None:
        allowed = np.array([graph.entities.find(name) for name in wanted.candidates], dtype=np.int32)
    if wanted.types:
        allowed = allowed[np.isin(_types(graph)[allowed], _type_ids(graph, wanted.types))]
    if not len(allowed):
        what = "has the types that are asked for" if wanted.types else "is listed"
        raise QueryError(f"no candidate {what}; ask for others, or leave them out")
    return allowed


def _types(graph: Graph) -> Int32:
    if graph.types is None:
        raise QueryError("the graph's entities have no types: train on a graph with a file of types, or leave them out")
    return graph.types.of_entity


def _type_ids(graph: Graph, names: Iterable[str]) -> Int32:
    assert graph.types is not None
    return graph.types.names.ids(names)
