"""Dialect: how a text file separates its columns, found from its first lines."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nbfnet.errors import GraphFormatError
from nbfnet.graph.reading.columns import (
    EXPECTED,
    Columns,
    columns_by_name,
    columns_by_position,
    may_have_other_roles,
    stated_columns,
)
from nbfnet.graph.reading.header import is_header
from nbfnet.graph.reading.opening import LONGEST_LINE, is_gzip_name, open_text

TAB, COMMA, SEMICOLON, BAR, SPACE = "\t", ",", ";", "|", " "
_SAMPLE_LINES = 200
_LONGEST_LINE = 2_000_000  # what DuckDB takes
_TOKEN = re.compile(r'"[^"]*"|[^ \t\n\f\r]+')  # DuckDB's idea of a space: names may hold other blanks
_FOREIGN = {
    b"PAR1": "Parquet",
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "a zip archive",
    b"%PDF": "PDF",
    b"\x89HDF": "HDF5",
}


@dataclass(frozen=True)
class Dialect:
    """How to cut lines into columns.

    Tabs separate literally, quotes included. Commas, semicolons and bars (and any other stated character) follow CSV:
    a field in double quotes may hold the separator. Spaces separate in runs of any length; a token in double quotes
    may hold spaces.
    """

    delimiter: str
    columns: Columns
    skip: int  # lines before the first edge: comments and a header
    has_header: bool
    # What the first lines leave open and only the whole file can tell.
    header_in_doubt: bool = False
    roles_in_doubt: bool = False
    first: tuple[str, ...] = field(default=(), compare=False)  # the cells of the first line that is not a comment
    first_line: int = field(default=1, compare=False)
    comments: int = field(default=0, compare=False)


def detect_dialect(
    path: Path,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    encoding: str | None = None,
) -> Dialect:
    """Find what was not stated from the first lines of a file."""
    _check_content_is_text(path, encoding)
    _check_delimiter(delimiter, path)
    lines = _sample(path, encoding)
    comments = _count_comments(lines)
    body = [line for line in lines[comments:] if not is_blank(line)]
    if not body:
        raise GraphFormatError("the file is empty", file=path, remedy=f"a graph file has {EXPECTED}")

    stated = stated_columns(columns) if columns else None
    separator = delimiter or _detect_delimiter(body, stated) or _detect_delimiter(body, None)
    if separator is None:
        raise _not_a_table(path, lines, body)
    rows = cut_all(body, separator)
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    by_position = stated or columns_by_position(width)
    verdict = is_header(rows, by_position) if header is None else header
    named = columns_by_name(rows[0]) if verdict and not stated else None
    roles = named or by_position
    if roles is None:
        raise _not_a_table(path, lines, body, width)
    blank = next(i for i, line in enumerate(lines[comments:]) if not is_blank(line))
    return Dialect(
        separator,
        roles,
        comments + (blank + 1 if verdict else 0),
        has_header=bool(verdict),
        header_in_doubt=verdict is None,
        roles_in_doubt=not (stated or named) and may_have_other_roles(rows if verdict is False else rows[1:] or rows),
        first=tuple(rows[0]),
        first_line=comments + blank + 1,
        comments=comments,
    )


def is_blank(line: str) -> bool:
    """Whether a line holds nothing; blanks other than spaces and tabs may be a name."""
    return not line.strip(" \t")


def cut(line: str, delimiter: str) -> list[str]:
    """The columns of one line."""
    if delimiter == TAB:
        return line.split(TAB)
    if delimiter == SPACE:
        return [
            token[1:-1] if len(token) > 1 and token[0] == token[-1] == '"' else token for token in _TOKEN.findall(line)
        ]
    return next(csv.reader([line], delimiter=delimiter), [""])


def cut_all(lines: list[str], delimiter: str) -> list[list[str]]:
    """The columns of every record; a quoted field of a CSV file may run over several lines."""
    if delimiter in (TAB, SPACE):
        return [cut(line, delimiter) for line in lines]
    return [row for row in csv.reader((f"{line}\n" for line in lines), delimiter=delimiter) if row]


def _check_content_is_text(path: Path, encoding: str | None) -> None:
    with path.open("rb") as stream:
        start = stream.read(4096)
    if is_gzip_name(path):
        if start and not start.startswith(b"\x1f\x8b"):
            remedy = "compress it with gzip, or rename it if it is not compressed"
            raise GraphFormatError("the name ends in .gz but the content is not gzip", file=path, remedy=remedy)
        return
    for magic, kind in _FOREIGN.items():
        if start.startswith(magic):
            raise GraphFormatError(f"the name says text but the content is {kind}", file=path, remedy="rename the file")
    if b"\0" in start and encoding is None:
        remedy = "save it as UTF-8 text; if it is UTF-16, state --encoding utf-16 (encoding= in Python)"
        raise GraphFormatError("the file is binary, not text", file=path, remedy=remedy)


def _check_delimiter(delimiter: str | None, path: Path) -> None:
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise GraphFormatError(
            f"the columns cannot be separated by {delimiter!r}",
            file=path,
            remedy="state one character that is neither a quote nor a line end, or replace the separator in the file",
        )


def _sample(path: Path, encoding: str | None) -> list[str]:
    lines: list[str] = []
    with open_text(path, encoding=encoding) as stream:
        size = 0
        while len(lines) < _SAMPLE_LINES and size < LONGEST_LINE and (line := stream.readline(_LONGEST_LINE + 1)):
            size += len(line)
            if len(line) > _LONGEST_LINE:
                what = "the line is longer than two million bytes"
                text, remedy = line[:200], "check that the file is what its name says"
                raise GraphFormatError(what, file=path, line=len(lines) + 1, text=text, remedy=remedy)
            lines.append(line.rstrip("\r\n"))
    return lines


def _count_comments(lines: list[str]) -> int:
    """Leading lines such as '# Nodes: 5 Edges: 7' (SNAP) or '% sym unweighted' (KONECT)."""
    count = 0
    while count < len(lines) and re.match(r"[#%]( |$)", lines[count]):
        count += 1
    return count


def _detect_delimiter(body: list[str], stated: Columns | None) -> str | None:
    """The first separator that cuts most lines into the same possible number of columns.

    Semicolons and bars that cut every line into more columns come before commas, which decimal numbers may have.
    """
    widths: dict[str, int] = {}
    for delimiter in (TAB, COMMA, SEMICOLON, BAR, SPACE):
        rows = cut_all(body, delimiter)
        counts = Counter(map(len, rows))
        width, count = counts.most_common(1)[0]
        possible = width == len(stated) if stated else columns_by_position(width) or columns_by_name(rows[0])
        if 2 * count >= counts.total() and possible:
            widths[delimiter] = width
            every = count == counts.total()
            if delimiter in (SEMICOLON, BAR) and every and width > widths.get(COMMA, width):
                return delimiter
    return next(iter(widths), None)


def _not_a_table(path: Path, lines: list[str], body: list[str], width: int | None = None) -> GraphFormatError:
    names = {"tabs": TAB, "commas": COMMA, "semicolons": SEMICOLON, "bars": BAR, "spaces": SPACE}
    widths = {name: len(cut(body[0], sep)) for name, sep in names.items()}
    found = width or max(widths.values())
    by = max(widths, key=lambda name: widths[name])
    what = "only one column" if found == 1 else f"{found} columns, separated by {by}"
    return GraphFormatError(
        f"expected {EXPECTED}, got {what}",
        file=path,
        line=lines.index(body[0]) + 1,
        text=body[0],
        remedy="state the separator with --delimiter, or what each column is with --columns, where _ leaves one out, "
        "such as head,_,relation,tail",
    )
