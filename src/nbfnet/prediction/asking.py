"""Asking by name: names in, names out."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from nbfnet.errors import QueryError, UnknownNameError
from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import invert
from nbfnet.graph.triplets import Int32
from nbfnet.prediction.answers import QUESTION, Answer, Answers
from nbfnet.prediction.predictor import Predictor, Ranking
from nbfnet.sampling.possible_answers import Mask, seen_answers


@dataclass(frozen=True)
class Wanted:
    """What answers are wanted."""

    k: int = 10
    exclude_known: bool = False  # only what is not a fact yet
    any_type: bool = False  # also entities of types that the relation does not have on that side
    seen: bool = False  # only entities that some fact has in that place
    types: tuple[str, ...] = ()  # only entities of these types
    candidates: tuple[str, ...] | None = None  # only these entities

    @property
    def restricts_entities(self) -> bool:
        """Whether the question says which entities may be answers."""
        return self.seen or bool(self.types) or self.candidates is not None


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
        given = ", ".join(role for role, part in zip(_ROLES, (head, relation, tail), strict=True) if part is not None)
        raise QueryError(
            "leave out exactly one of head, relation and tail, which is what is asked; "
            f"{f'you gave {given}' if given else 'you gave none of them'}"
        )
    for role, part in zip(_ROLES, (head, relation, tail), strict=True):
        if part is not None and not isinstance(part, str):
            raise QueryError(f"the {role} is {part!r}: give a name as text, for example {str(part)!r}")
    ids = graph.entities, graph.relations
    u, v = (None if name is None else ids[0].find(name) for name in (head, tail))
    q = None if relation is None else ids[1].find(relation)
    ranking = _rank(predictor, u, q, v, wanted)
    vocabulary = ids[1] if q is None else ids[0]
    columns = (ranking.rank, ranking.candidate, ranking.score, ranking.probability, ranking.known)
    answers = tuple(
        Answer(rank, vocabulary[candidate], vocabulary.label(candidate), probability, known, score)
        for rank, candidate, score, probability, known in zip(*(part.tolist() for part in columns), strict=True)
    )
    given_head, given_tail = (None if node is None else ids[0][node] for node in (u, v))
    return Answers(given_head, None if q is None else ids[1][q], given_tail, answers, ranking.more_known)


_ROLES = ("head", "relation", "tail")


def queries_of(given: Any) -> list[tuple[str | None, ...]]:
    """(head, relation, tail) of each query of a list or a DataFrame, None for what is asked."""
    if not hasattr(given, "columns"):
        return [_query(number, tuple(row)) for number, row in enumerate(given, start=1)]
    names = [str(name) for name in given.columns]
    if len(names) < 2 or not set(names) <= set(_ROLES):
        raise QueryError(f"queries have the columns head, relation and tail, not {', '.join(names)}")
    columns = [list(given[role]) if role in names else [None] * len(given) for role in _ROLES]
    return [_query(number, row) for number, row in enumerate(zip(*columns, strict=True), start=1)]


def _query(number: int, row: tuple[Any, ...]) -> tuple[str | None, ...]:
    if len(row) not in (2, 3):
        raise QueryError(f"query {number} has {len(row)} parts: give head, relation and tail, None for what is asked")
    parts = row if len(row) == 3 else (*row, None)
    return tuple(None if _is_asked(part) else part for part in parts)


def _is_asked(part: object) -> bool:
    return part is None or part == QUESTION or (isinstance(part, float) and math.isnan(part))


def _rank(predictor: Predictor, u: int | None, q: int | None, v: int | None, wanted: Wanted) -> Ranking:
    graph = predictor.graph
    if u is not None and v is not None:
        if wanted.restricts_entities:
            raise QueryError(
                "the query asks for a relation: leave out types, candidates and seen, which choose entities"
            )
        return predictor.relations(u, v, wanted.k, exclude_known=wanted.exclude_known)
    assert q is not None
    source = u if u is not None else v
    assert source is not None
    backwards = u is None and graph.kind != "homogeneous"
    asked = invert(q, graph.num_relations) if backwards else q
    possible = _possible(predictor, asked, wanted)
    return predictor.tails(source, asked, wanted.k, exclude_known=wanted.exclude_known, possible=possible)


def _possible(predictor: Predictor, relation: int, wanted: Wanted) -> Mask | None:
    """(node,) which entities may be answers: what the question says, or else those of a possible type; None: all."""
    graph = predictor.graph
    masks = []
    if wanted.candidates is not None:
        masks.append(np.isin(np.arange(graph.num_nodes), candidate_ids(graph, wanted.candidates)))
    if wanted.types:
        masks.append(np.isin(_types(graph), _type_ids(graph, wanted.types)))
    if wanted.seen:
        masks.append(seen_answers(graph, relation))
    if not masks and not wanted.any_type and predictor.possible is not None:
        masks.append(predictor.possible.mask(relation))
    if not masks:
        return None
    possible: Mask = np.logical_and.reduce(masks)
    if not possible.any():
        raise QueryError("no entity fits all of types, candidates and seen: give fewer of them")
    return possible


def candidate_ids(graph: Graph, names: Iterable[str]) -> Int32:
    """The ids of candidates by name.

    Raises:
        QueryError: lists all that the graph does not have.
    """
    found, faults = [], []
    for name in names:
        try:
            found.append(graph.entities.find(name))
        except UnknownNameError as error:
            faults.append(str(error))
    if faults:
        more = f"\n  ... and {len(faults) - 20} more" if len(faults) > 20 else ""
        listed = "".join(f"\n  {fault}" for fault in faults[:20])
        raise QueryError(f"{len(faults)} of {len(faults) + len(found)} candidates are not in the graph:{listed}{more}")
    return np.array(found, dtype=np.int32)


def _types(graph: Graph) -> Int32:
    if graph.types is None:
        raise QueryError("the graph's entities have no types: train on a graph with a file of types, or leave them out")
    return graph.types.of_entity


def _type_ids(graph: Graph, names: Iterable[str]) -> Int32:
    assert graph.types is not None
    return graph.types.names.ids(names)
