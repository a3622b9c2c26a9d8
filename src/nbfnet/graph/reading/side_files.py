"""What stands beside a graph: readable labels and entity types, as files of two columns or as dictionaries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from nbfnet.errors import GraphFormatError
from nbfnet.graph.graph import EntityTypes
from nbfnet.graph.reading.dialect import TAB, cut, detect_dialect, is_blank
from nbfnet.graph.reading.findings import FEW, Finding, counted, examples
from nbfnet.graph.reading.names import BLANKS
from nbfnet.graph.reading.opening import lines_of, numbered_lines, open_text
from nbfnet.graph.vocabulary import Vocabulary

SideFile = str | Path | Mapping[str, str]  # a file of name TAB value, or name -> value

Line = tuple[int, str, str]  # its number (0 in a dictionary), a name, and what is said of it


def read_labels(source: SideFile, encoding: str | None = None) -> dict[str, str]:
    """Name -> readable label; a name listed twice keeps its first label."""
    labels: dict[str, str] = {}
    for _, name, label in _pairs(source, "name", "readable name", encoding):
        labels.setdefault(name, label)
    return labels


def read_types(
    source: SideFile, entities: Vocabulary, findings: list[Finding], encoding: str | None = None
) -> EntityTypes:
    """The type of each entity; entities that are not listed have none, which is reported, as are strangers."""
    types: dict[str, int] = {}
    strangers: list[Line] = []
    of_entity = np.full(len(entities), -1, dtype=np.int32)
    for line in _pairs(source, "entity", "type", encoding):
        _, name, type_name = line
        if name in entities:
            of_entity[entities.id(name)] = types.setdefault(type_name, len(types))
        else:
            strangers.append(line)
    if not types:
        remedy = "list them as entity TAB type, with the names that the graph uses"
        raise GraphFormatError("no entity of the graph is listed", file=_origin(source), remedy=remedy)
    without = np.flatnonzero(of_entity < 0)
    _report(findings, source, (entities[int(i)] for i in without), len(without), strangers)
    return EntityTypes(Vocabulary.of(types, role="entity type"), of_entity)


def _report(
    findings: list[Finding], source: SideFile, untyped: Iterable[str], count: int, strangers: list[Line]
) -> None:
    file = str(_origin(source))
    if count:
        what = f"{counted(count, 'entity has', 'entities have')} no type: {examples(untyped, count)}"
        remedy = "add a line for each of them: entity TAB type"
        findings.append(Finding("entities without a type", what, file, (), count, remedy, "important"))
    if strangers:
        names = examples((name for _, name, _ in strangers), len(strangers))
        what = f"{counted(len(strangers), 'name is', 'names are')} not in the graph: {names}"
        lines = tuple(number for number, _, _ in strangers[:FEW] if number)
        remedy = "write the names as the graph does, or take the lines out"
        findings.append(Finding("unknown entities", what, file, lines, len(strangers), remedy, "important"))


def _origin(source: SideFile) -> Path | str:
    return "a dictionary" if isinstance(source, Mapping) else source


def _pairs(source: SideFile, first: str, second: str, encoding: str | None) -> Iterator[Line]:
    if isinstance(source, Mapping):
        for name, value in source.items():
            if value is not None and value == value:  # NaN, which pandas writes for a missing one, equals nothing
                yield 0, str(name).strip(BLANKS), str(value).strip(BLANKS)
        return
    path = Path(source)
    if not path.is_file():
        raise GraphFormatError("no such file", file=path, remedy=f"give a file of {first} TAB {second}")
    with open_text(path, encoding=encoding) as stream:
        has_tabs = TAB in next(lines_of(stream, path), "")
    delimiter = TAB if has_tabs else detect_dialect(path, header=False, encoding=encoding).delimiter
    for number, line in numbered_lines(path, encoding):
        if is_blank(line):
            continue
        cells = [cell.strip(BLANKS) for cell in cut(line, delimiter)]
        fault = None
        if len(cells) != 2:
            fault = f"{len(cells)} columns: expected 2 ({first}, {second})"
        elif not all(cells):
            fault = f"the {second if cells[0] else first} is empty"
        if fault:
            remedy = f"write {first} TAB {second}, or take the line out"
            raise GraphFormatError(fault, file=path, line=number, text=line, remedy=remedy)
        yield number, cells[0], cells[1]
