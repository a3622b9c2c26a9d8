"""Whether the first line of a file names the columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nbfnet.graph.database import execute
from nbfnet.graph.reading.columns import (
    Columns,
    columns_by_name,
    is_number,
    is_relation_word,
    names_every_column,
)
from nbfnet.graph.reading.findings import Finding, Severity
from nbfnet.graph.reading.opening import lines_of, open_text

if TYPE_CHECKING:
    from nbfnet.graph.reading.triplet_table import TripletTable

_TINY = 10  # facts; among fewer, one that shares nothing with the others says little
_LONELY = 0.1  # the share of facts that share nothing with the others, up to which such a first line is a header


def is_header(rows: list[list[str]], roles: Columns | None) -> bool | None:
    """Whether the first of some rows is a header; None where only the whole file can tell.

    ``roles`` are those of the columns by position or as stated, None where their number says nothing.
    """
    first, width = rows[0], len(roles or rows[0])
    others = [row for row in rows[1:] if len(row) == width]
    if len(first) != width:
        return False
    if names_every_column(first):
        return True
    if not others:
        return False
    if roles is None:
        return columns_by_name(first) is not None
    cells = {role: first[i].strip() for i, role in enumerate(roles)}
    below = {role: {row[i].strip() for row in others} for i, role in enumerate(roles)}
    if "weight" in cells and not is_number(cells["weight"]) and all(map(is_number, below["weight"])):
        return True
    ends = ("head", "tail")
    if all(not is_number(cells[role]) and all(map(str.isdigit, below[role])) for role in ends):
        return True
    names = set().union(*(below[role] for role in (*ends, "relation") if role in below))
    if cells.get("relation", "") in below.get("relation", ()) or all(is_number(cells[role]) for role in ends):
        return False
    if any(cells[role] in names for role in ends):
        return None if _has_title(first, cells.get("relation", "")) else False
    if columns_by_name(first):
        return True
    amounts = roles[2:] == ("tail",) and not is_number(cells["tail"]) and all(map(is_number, below["tail"]))
    return True if amounts else None  # amounts: such as 'who, whom, how much'


def settle_header(table: TripletTable, part: str) -> bool:
    """Decide about a first line that may be a header, by the whole file, and take it out of the table if it is one.

    It is one where none of its cells stands anywhere else, though nearly all other lines share names or a relation.
    """
    first = table.first_row[part]
    row = execute(table.connection, "SELECT head, relation, tail FROM triplet WHERE rowid = ?", [first]).fetchall()
    if not row or None in row[0]:
        return False
    head, relation, tail = row[0]
    has_relation = "relation" in table.columns[part]
    cells = [head, tail, *([relation] if has_relation else [])]
    again = f"head IN $2 OR tail IN $2 {'OR relation IN $2' if has_relation else ''}"
    query = f"SELECT count(*), count(*) FILTER ({again}) FROM triplet WHERE rowid <> $1"
    [(others, shared)] = execute(table.connection, query, [first, cells]).fetchall()
    in_order = [{"head": head, "relation": relation, "tail": tail}.get(role, "") for role in table.columns[part]]
    titled = _has_title(in_order, relation if has_relation else "")
    if shared and not titled:
        return False
    odd = not shared and _is_odd(table, has_relation, first, others) and not _is_used(table.siblings, cells)
    taken = odd or (titled and not shared)
    announce_header(table, part, in_order, taken, "important" if titled or others >= _TINY else "note")
    if taken:
        table.rows.remove(part, f"rowid = {first}")
    return taken


def announce_header(table: TripletTable, part: str, cells: Sequence[str], taken: bool, severity: Severity) -> None:
    """Say what became of a first line that may name the columns."""
    shown = ", ".join(cell.strip() for cell in cells if cell)
    what = f"{shown!r} was taken as a header" if taken else f"{shown!r} was read as a fact"
    remedy = "--no-header reads it as a fact" if taken else "if it names the columns, give --header"
    origin = table.origins[part]
    table.findings.append(Finding("header", what, origin.file, (origin.first_line,), 1, remedy, severity))


def _has_title(first: Sequence[str], relation: str) -> bool:
    """Whether a word of the first line is a usual title of a column."""
    return is_relation_word(relation) or columns_by_name(first) is not None


def _is_used(files: Sequence[Path], cells: Sequence[str]) -> bool:
    """Whether a cell stands in another part of the graph, other than in the same first line."""
    wanted = set(cells)
    for file in files:
        with open_text(file) as stream:
            for number, line in enumerate(lines_of(stream, file)):
                found = {cell.strip() for cell in re.split(r"[\t,;|]", line)}
                if wanted & found and (number or wanted != found):
                    return True
    return False


def _is_odd(table: TripletTable, has_relation: bool, first: int, others: int) -> bool:
    """Whether a first line that shares nothing with the others stands out: nearly all of them share something."""
    if others < _TINY:
        return False
    query = _LONELY_RELATIONS if has_relation else _LONELY_EDGES
    [(lonely,)] = execute(table.connection, query, [first]).fetchall()
    return bool(lonely <= _LONELY * others)


# Facts with a relation of their own, and edges with two ends of their own.
_LONELY_RELATIONS = """
    SELECT count(*) FROM (SELECT relation FROM triplet WHERE rowid <> $1 GROUP BY relation HAVING count(*) = 1)
"""
_LONELY_EDGES = """
    WITH once AS (
        SELECT name FROM (SELECT head AS name FROM triplet WHERE rowid <> $1
                          UNION ALL SELECT tail FROM triplet WHERE rowid <> $1)
        GROUP BY name HAVING count(*) = 1)
    SELECT count(*) FROM triplet WHERE rowid <> $1 AND head IN (FROM once) AND tail IN (FROM once)
"""
