"""The records of a text file with their lines: looked at by Python only to say where something is."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from nbfnet.graph.reading.dialect import SPACE, TAB, Dialect, cut
from nbfnet.graph.reading.opening import lines_of, open_text


class Record(NamedTuple):
    """A record's first line, by number and text, and its columns."""

    line: int
    text: str
    cells: list[str]


def records(path: Path, delimiter: str, encoding: str | None = None) -> Iterator[Record]:
    """Every record; blank lines count, as they do in DuckDB."""
    with open_text(path, encoding=encoding) as stream:
        if delimiter in (TAB, SPACE):
            for number, raw in enumerate(lines_of(stream, path), start=1):
                line = raw.rstrip("\r\n")
                yield Record(number, line, cut(line, delimiter))
            return
        first: str | None = None  # line of the record

        def noted() -> Iterator[str]:
            nonlocal first
            for raw in lines_of(stream, path):
                first = raw if first is None else first
                yield raw

        reader, begin = csv.reader(noted(), delimiter=delimiter), 1
        with suppress(csv.Error):  # a field is longer than any that DuckDB takes: its quotes do not end
            for cells in reader:  # a quoted field may run over several lines
                yield Record(begin, (first or "").rstrip("\r\n"), cells)
                begin, first = reader.line_num + 1, None
            return
        yield Record(begin, (first or "").rstrip("\r\n"), [])


@dataclass
class RowLines:
    """The records that became rows of the table: all but those skipped, blank, or rejected by DuckDB."""

    path: Path
    dialect: Dialect
    encoding: str | None
    total: int  # how many lines the file has
    lone_returns: int = 0  # how many of them end in a carriage return alone
    rows: int = 0  # how many there are
    rejected: Collection[int] = field(default_factory=set)  # numbers of records, from 1

    def __call__(self, wanted: Sequence[int]) -> tuple[int, ...]:
        """The lines of rows, which count from 0."""
        if wanted and self.has_one_line_for_each_row:
            return tuple(self.dialect.skip + row + 1 for row in wanted)
        return tuple(record.line for record in self.records(wanted))

    def records(self, wanted: Sequence[int]) -> list[Record]:
        """The records of rows, in the order of the file."""
        missing, found = set(wanted), []
        rows = -1
        for number, record in enumerate(records(self.path, self.dialect.delimiter, self.encoding), start=1):
            if not missing:
                break
            if record.line > self.dialect.skip and number not in self.rejected and record.text.strip(" "):
                rows += 1
                if rows in missing:
                    missing.remove(rows)
                    found.append(record)
        return found

    @property
    def has_one_line_for_each_row(self) -> bool:
        """Whether the lines are as many as the rows, so that none has to be looked at."""
        return not self.rejected and self.total == self.dialect.skip + self.rows
