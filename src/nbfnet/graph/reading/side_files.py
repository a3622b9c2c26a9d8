"""Files beside a graph: readable labels and entity types, two tab-separated columns each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from nbfnet.errors import GraphFormatError
from nbfnet.graph.graph import EntityTypes
from nbfnet.graph.reading.dialect import TAB, cut, detect_dialect, is_blank
from nbfnet.graph.reading.opening import numbered_lines, open_text
from nbfnet.graph.vocabulary import Vocabulary


def read_labels(path: Path) -> dict[str, str]:
    """Name -> readable label; a name listed twice keeps its first label."""
    labels: dict[str, str] = {}
    for name, label in _pairs(path, "name", "readable name"):
        labels.setdefault(name, label)
    return labels


def read_types(path: Path, entities: Vocabulary) -> EntityTypes:
    """The type of each entity; entities that the file does not list have none."""
    types: dict[str, int] = {}
    of_entity = np.full(len(entities), -1, dtype=np.int32)
    for name, type_name in _pairs(path, "entity", "type"):
        if name in entities:
            of_entity[entities.id(name)] = types.setdefault(type_name, len(types))
    if not types:
        remedy = "list them as entity TAB type, with the names that the graph uses"
        raise GraphFormatError("no entity of the graph is listed", file=path, remedy=remedy)
    return EntityTypes(Vocabulary.of(types, role="entity type"), of_entity)


def _pairs(path: Path, first: str, second: str) -> Iterator[tuple[str, str]]:
    if not path.is_file():
        raise GraphFormatError("no such file", file=path, remedy=f"give a file of {first} TAB {second}")
    with open_text(path) as stream:
        has_tabs = TAB in stream.readline()
    delimiter = TAB if has_tabs else detect_dialect(path, header=False).delimiter
    for number, line in numbered_lines(path):
        if is_blank(line):
            continue
        cells = cut(line, delimiter)
        fault = None
        if len(cells) != 2:
            fault = f"{len(cells)} columns: expected 2 ({first}, {second})"
        elif not (cells[0].strip(" ") and cells[1].strip(" ")):
            fault = f"the {second if cells[0].strip(' ') else first} is empty"
        if fault:
            remedy = f"write {first} TAB {second}, or take the line out"
            raise GraphFormatError(fault, file=path, line=number, text=line, remedy=remedy)
        yield cells[0], cells[1]
