"""Dialect: how a text file separates its columns, found from its first lines."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from nbfnet.errors import GraphFormatError
from nbfnet.graph.reading.columns import (
    EXPECTED,
    Columns,
    columns_by_name,
    columns_by_position,
    is_relation_word,
    stated_columns,
)
from nbfnet.graph.reading.opening import is_gzip_name, open_text

TAB, COMMA, SPACE = "\t", ",", " "
_SAMPLE_LINES = 200
csv.field_size_limit(2**31 - 1)  # Python's reader refuses fields of 131,072 characters; DuckDB has its own limit
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

    Tabs separate literally, quotes included. Commas (and any other stated character) follow CSV: a field in double
    quotes may hold the separator. Spaces separate in runs of any length; a token in double quotes may hold spaces.
    """

    delimiter: str
    columns: Columns
    skip: int  # lines before the first edge: comments and a header
    has_header: bool


def detect_dialect(
    path: Path,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
) -> Dialect:
    """Find what was not stated from the first lines of a file."""
    _check_content_is_text(path)
    _check_delimiter(delimiter, path)
    lines = _sample(path)
    comments = _count_comments(lines)
    body = [line for line in lines[comments:] if not is_blank(line)]
    if not body:
        raise GraphFormatError("the file is empty", file=path, remedy=f"a graph file has {EXPECTED}")

    separator = delimiter or _detect_delimiter(body)
    if separator is None:
        raise _not_a_table(path, lines, body)
    rows = cut_all(body, separator)
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    named = columns_by_name(rows[0]) if header is not False else None
    roles = stated_columns(columns) if columns else named or columns_by_position(width)
    if roles is None:
        raise _not_a_table(path, lines, body, width)
    has_header = _looks_like_header(rows, roles) if header is None else header
    blank = next(i for i, line in enumerate(lines[comments:]) if not is_blank(line))
    return Dialect(separator, roles, comments + (blank + 1 if has_header else 0), has_header)


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


def _check_content_is_text(path: Path) -> None:
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
    if b"\0" in start:
        remedy = "save it as UTF-8 text (UTF-16 looks like this too)"
        raise GraphFormatError("the file is binary, not text", file=path, remedy=remedy)


def _check_delimiter(delimiter: str | None, path: Path) -> None:
    if delimiter is not None and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise GraphFormatError(
            f"the columns cannot be separated by {delimiter!r}",
            file=path,
            remedy="state one character that is neither a quote nor a line end, or replace the separator in the file",
        )


def _sample(path: Path) -> list[str]:
    with open_text(path) as stream:
        return [line.rstrip("\r\n") for line in islice(stream, _SAMPLE_LINES)]


def _count_comments(lines: list[str]) -> int:
    """Leading lines such as '# Nodes: 5 Edges: 7' (SNAP) or '% sym unweighted' (KONECT)."""
    count = 0
    while count < len(lines) and re.match(r"[#%]( |$)", lines[count]):
        count += 1
    return count


def _detect_delimiter(body: list[str]) -> str | None:
    """The first of tab, comma, space that cuts most lines into the same possible number of columns."""
    for delimiter in (TAB, COMMA, SPACE):
        widths = Counter(map(len, cut_all(body, delimiter)))
        width, count = widths.most_common(1)[0]
        if 2 * count >= widths.total() and columns_by_position(width):
            return delimiter
    return None


def _looks_like_header(rows: list[list[str]], roles: Columns) -> bool:
    first, others = rows[0], [row for row in rows[1:] if len(row) == len(roles)]
    if len(first) != len(roles):
        return False
    if columns_by_name(first):
        return True
    cells = {role: first[i].strip() for i, role in enumerate(roles)}
    below = {role: {row[i].strip() for row in others} for i, role in enumerate(roles)}
    if not others or cells.get("relation", "") in below.get("relation", ()):
        return False
    if "weight" in cells and not _is_number(cells["weight"]) and all(map(_is_number, below["weight"])):
        return True
    if is_relation_word(cells.get("relation", "")):
        return True
    entity_roles = ("head", "tail")
    return all(not _is_number(cells[role]) and all(map(str.isdigit, below[role])) for role in entity_roles)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _not_a_table(path: Path, lines: list[str], body: list[str], width: int | None = None) -> GraphFormatError:
    widths = {name: len(cut(body[0], sep)) for name, sep in (("tabs", TAB), ("commas", COMMA), ("spaces", SPACE))}
    found = width or max(widths.values())
    by = max(widths, key=lambda name: widths[name])
    what = "only one column" if found == 1 else f"{found} columns, separated by {by}"
    return GraphFormatError(
        f"expected {EXPECTED}, got {what}",
        file=path,
        line=lines.index(body[0]) + 1,
        text=body[0],
        remedy="state the separator with --delimiter or the roles with --columns, or keep only the graph's columns",
    )
