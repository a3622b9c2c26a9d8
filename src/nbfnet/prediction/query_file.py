"""A file of queries: triplets with a question mark for what is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nbfnet.errors import GraphFormatError, UnknownNameError
from nbfnet.graph.graph import Graph
from nbfnet.graph.reading.columns import is_relation_word
from nbfnet.graph.reading.dialect import is_blank
from nbfnet.graph.reading.opening import lines_of, numbered_lines, open_text
from nbfnet.graph.reading.read import check_is_file, place_of, read
from nbfnet.prediction.answers import QUESTION


@dataclass(frozen=True)
class Query:
    """One line of a file: names, or None for what is asked."""

    head: str | None
    relation: str | None
    tail: str | None


def read_queries(file: Path, graph: Graph) -> list[Query]:
    """The queries of a file, in order.

    Three columns are head, relation and tail with a question mark instead of one of them. Two columns are a head and a
    relation; of a homogeneous graph, a node and a question mark.

    Raises:
        GraphFormatError: a query does not ask for exactly one part, or has a name that the graph does not have.
    """
    asked = read(file, header=_has_header(file, graph))
    triplets, entities, relations = asked.triplets, asked.entities, asked.relations
    rows: Sequence[tuple[str, str, str]]
    if asked.kind == "homogeneous":
        pairs = [
            (entities[u], entities[v]) for u, v in zip(triplets.head.tolist(), triplets.tail.tolist(), strict=True)
        ]
        homogeneous = graph.kind == "homogeneous"
        rows = [(u, graph.relations[0], v) if homogeneous else (u, v, QUESTION) for u, v in pairs]
    else:
        columns = (triplets.head.tolist(), triplets.relation.tolist(), triplets.tail.tolist())
        rows = [(entities[u], relations[q], entities[v]) for u, q, v in zip(*columns, strict=True)]
    return [_query(file, number, row, graph) for number, row in enumerate(rows, start=1)]


def _query(file: Path, number: int, row: tuple[str, str, str], graph: Graph) -> Query:
    """One query, checked now: a misspelt name in the last line is found before hours of work."""
    if row.count(QUESTION) != 1:
        remedy = f"write {QUESTION} instead of the head, the relation or the tail"
        raise GraphFormatError(f"query {number} does not ask for one part: {', '.join(row)}", file=file, remedy=remedy)
    head, relation, tail = (None if name == QUESTION else name for name in row)
    for vocabulary, name in ((graph.entities, head), (graph.relations, relation), (graph.entities, tail)):
        if name is not None:
            try:
                vocabulary.find(name)
            except UnknownNameError as error:
                raise GraphFormatError(f"query {number}: {error}", file=place_of(file, name)) from None
    return Query(head, relation, tail)


def read_candidates(file: Path, graph: Graph) -> tuple[str, ...]:
    """The entities of a file, one name per line.

    Raises:
        GraphFormatError: lists every name that the graph does not have, with its line.
    """
    check_is_file(file)
    names, faults = [], []
    for number, line in numbered_lines(file):
        if is_blank(line):
            continue
        names.append(line.strip())
        try:
            graph.entities.find(names[-1])
        except UnknownNameError as error:
            faults.append(f"line {number}: {error}")
    if faults:
        listed = "".join(f"\n  {fault}" for fault in faults[:_LISTED])
        more = f"\n  ... and {len(faults) - _LISTED} more" if len(faults) > _LISTED else ""
        what = f"{len(faults)} of {len(names)} candidates are not in the graph:{listed}{more}"
        raise GraphFormatError(what, file=file, remedy="correct these names, or take the lines out")
    if not names:
        raise GraphFormatError("it lists no candidate", file=file, remedy="write one name per line")
    return tuple(names)


_LISTED = 20  # faults that are shown


def _has_header(file: Path, graph: Graph) -> bool | None:
    """Whether the first line is a header: not if it asks, and surely if it titles a relation; else None."""
    check_is_file(file)
    with open_text(file) as stream:
        cells = re.split(r"[\t, ]", next(lines_of(stream, file), "").strip())
    if QUESTION in cells:
        return False
    titles = len(cells) == 2 and is_relation_word(cells[1]) and not graph.relations.knows(cells[1])
    return True if titles else None
