"""Text files of edges, plain or gzip, read by DuckDB; the first bad line is named, or bad lines are skipped."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import duckdb

from nbfnet.errors import GraphFormatError
from nbfnet.graph.database import execute
from nbfnet.graph.reading.columns import SKIPPED, Columns, find_roles, names_every_column, skipped_columns
from nbfnet.graph.reading.dialect import SPACE, TAB, Dialect, detect_dialect
from nbfnet.graph.reading.findings import Finding, Origin, counted
from nbfnet.graph.reading.header import announce_header, settle_header
from nbfnet.graph.reading.line_ends import report_line_ends
from nbfnet.graph.reading.names import BLANKS
from nbfnet.graph.reading.opening import (
    NOT_UTF8,
    STATE_ENCODING,
    LineCount,
    count_lines,
    even_copy,
    is_gzip_name,
    plain_name,
)
from nbfnet.graph.reading.records import Record, RowLines, records
from nbfnet.graph.reading.triplet_table import TripletTable

_SKIP = "fix the line, or leave bad lines out with --skip-bad-lines"
_MEANING = {
    "MISSING COLUMNS": "too few columns",
    "TOO MANY COLUMNS": "too many columns",
    "INVALID ENCODING": NOT_UTF8,
    "UNQUOTED VALUE": "a quoted field does not end where it should",
    "LINE SIZE OVER MAXIMUM": "the line is longer than two million bytes",
}
_SHOWN_BAD_LINES = 20


def read_text(
    table: TripletTable,
    part: str,
    path: Path,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    skip_bad_lines: bool = False,
    encoding: str | None = None,
) -> None:
    """Append a text file's edges to the table as a part."""
    dialect = detect_dialect(path, delimiter=delimiter, header=header, columns=columns, encoding=encoding)
    dialect = _like_the_parts_before(table, dialect)
    total = count_lines(path)
    lines = _load(table, part, dialect, path, encoding, total)
    _check_rejected(table, part, dialect, lines, skip_bad_lines)
    if dialect.has_header and header is None:
        named = names_every_column(dialect.first)
        announce_header(table, part, dialect.first, True, "note" if named else "important")
        table.findings += skipped_columns(dialect.first, dialect.columns, str(path), dialect.first_line)
    elif dialect.header_in_doubt and settle_header(table, part):
        dialect = dataclasses.replace(dialect, has_header=True, skip=dialect.first_line)
    if dialect.roles_in_doubt and (roles := find_roles(table, part)):
        dialect = dataclasses.replace(dialect, columns=roles)
        lines = _load(table, part, dialect, path, encoding, total)
        _rejected_records(table.connection)
    _check_rows(table, part, dialect, lines, skip_bad_lines)
    report_line_ends(table, part, dialect, lines)


def _load(
    table: TripletTable, part: str, dialect: Dialect, path: Path, encoding: str | None, total: LineCount
) -> RowLines:
    # In CSV a carriage return in quotes is part of a name, and DuckDB says if there is any other; where the encoding is
    # not UTF-8 the byte may be half of another character.
    lone_returns = total.lone_returns if dialect.delimiter in (TAB, SPACE) and encoding is None else 0
    lines = RowLines(path, dialect, encoding, total.lines, lone_returns)
    table.begin(part, dialect.columns, Origin(str(path), lines, dialect.first_line))
    # DuckDB takes the first line end for that of all lines, also where it stands in quotes.
    if encoding is not None or lone_returns or (total.mixed and _quoting(dialect)):
        with even_copy(path, encoding, delimiter=_quoting(dialect)) as copy:
            _insert(table, part, dialect, path, str(copy), copied=True)
    else:
        with plain_name(path) as name:
            _insert(table, part, dialect, path, name)
    lines.rows = table.count(part)
    return lines


def _like_the_parts_before(table: TripletTable, dialect: Dialect) -> Dialect:
    """A part's columns are as those of the parts before it where the part alone would leave them open."""
    before = next(iter(table.columns.values()), None)
    if before is None or len(before) != len(dialect.columns) or not dialect.roles_in_doubt:
        return dialect
    return dataclasses.replace(dialect, columns=before, roles_in_doubt=False)


def _insert(table: TripletTable, part: str, dialect: Dialect, path: Path, name: str, *, copied: bool = False) -> None:
    packed = is_gzip_name(path) and not copied
    try:
        try:
            table.insert(part, _lines(dialect, packed, copied), [name])
        except duckdb.InvalidInputException as error:
            if "state machine" not in str(error) or copied:
                raise
            with even_copy(path, delimiter=_quoting(dialect)) as even:
                table.insert(part, _lines(dialect, packed=False, copied=True), [str(even)])
    except duckdb.Error as error:
        reason = str(error).splitlines()[0].replace(name, str(path))
        remedy = "check that the file is what its name says"
        raise GraphFormatError(f"cannot be read: {reason}", file=path, remedy=remedy) from None


def _quoting(dialect: Dialect) -> str | None:
    """The delimiter, where a column in quotes may hold line ends."""
    return None if dialect.delimiter in (TAB, SPACE) else dialect.delimiter


def _lines(dialect: Dialect, packed: bool, copied: bool) -> str:
    """SQL for the file's rows, a text column for each role; the one parameter is the file's name."""
    shared = "header=false, auto_detect=false, ignore_errors=true, store_rejects=true, rejects_limit=0, nullstr=''"
    shared += ", hive_partitioning=false"  # TMPDIR may have a folder named key=value
    shared += f", skip={dialect.skip}" + (", compression='gzip'" if packed else "")
    shared += r", new_line='\n'" if copied else ""
    if dialect.delimiter in (TAB, SPACE):
        return _whole_lines(dialect, shared)
    types = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(dialect.columns)))
    delimiter = dialect.delimiter.replace("'", "''")
    quoting = "quote='\"', escape='\"', strict_mode=true"
    source = f"read_csv(?, delim='{delimiter}', {quoting}, columns={{{types}}}, {shared})"
    cells = ", ".join(f"c{i} AS {role}" for i, role in enumerate(dialect.columns) if role != SKIPPED)
    return f"(SELECT {cells} FROM {source})"


def _whole_lines(dialect: Dialect, shared: str) -> str:
    """Take whole lines and cut them in SQL: quotes stay literal, line ends may be mixed, runs of spaces merge."""
    if dialect.delimiter == TAB:
        cells = "string_split(line, chr(9))"
    else:
        tokens = r"""regexp_extract_all(line, '"[^"]*"|\S+')"""
        cells = rf"""list_transform({tokens}, lambda x: regexp_replace(x, '^"(.*)"$', '\1'))"""
    width = len(dialect.columns)
    picked = ", ".join(
        f"CASE len(cells) WHEN {width} THEN cells[{i}] END AS {role}"
        for i, role in enumerate(dialect.columns, 1)
        if role != SKIPPED
    )
    # Anything behind a delimiter would be lost, so it is one that no text holds: four control characters in a row.
    nowhere = "delim=chr(1) || chr(2) || chr(3) || chr(4)"
    whole = f"{nowhere}, quote='', escape='', strict_mode=false, columns={{'line': 'VARCHAR'}}"
    lines = f"read_csv(?, {whole}, {shared})"
    return f"(SELECT {picked} FROM (SELECT {cells} AS cells FROM {lines} WHERE trim(line, ' ') <> ''))"


def _check_rejected(table: TripletTable, part: str, dialect: Dialect, lines: RowLines, skip_bad_lines: bool) -> None:
    """Refuse, or count, the records that DuckDB could not read."""
    rejected = _rejected_records(table.connection)
    lines.rejected = {record for record, _ in rejected}
    faults = _faults(rejected, dialect, lines) if rejected else []
    if faults and not skip_bad_lines:
        raise _error(lines, *faults[0])
    table.skipped += len(rejected)
    _report_faults(table, lines, faults, len(rejected))


def _rejected_records(connection: duckdb.DuckDBPyConnection) -> list[tuple[int, str]]:
    """The records that DuckDB could not read, with what was wrong, in order; the list is cleared for the next file."""
    query = "SELECT line, min(error_type) FROM reject_errors GROUP BY line ORDER BY line"
    rows = execute(connection, query).fetchall()
    execute(connection, "DELETE FROM reject_errors")
    return [(line, _MEANING.get(kind, str(kind).lower())) for line, kind in rows]


def _faults(rejected: list[tuple[int, str]], dialect: Dialect, lines: RowLines) -> list[tuple[Record, str]]:
    """The first rejected records with what is wrong with them."""
    reasons, found = dict(rejected[:_SHOWN_BAD_LINES]), []
    for number, record in enumerate(records(lines.path, dialect.delimiter, lines.encoding), start=1):
        if number in reasons:
            what = reasons.pop(number)
            wanted = f": expected {len(dialect.columns)} ({', '.join(dialect.columns)})" if "columns" in what else ""
            found.append((record, what + wanted))
        if not reasons:
            break
    return found or [(Record(rejected[0][0], "", []), rejected[0][1])]


def _check_rows(table: TripletTable, part: str, dialect: Dialect, lines: RowLines, skip_bad_lines: bool) -> None:
    """Refuse, or leave out, rows with an empty name or an impossible weight."""
    bad = table.bad_rows(part, _SHOWN_BAD_LINES)
    if bad:
        found = lines.records([row - table.first_row[part] for row in bad])
        faults = [(record, _fault(record.cells, dialect.columns) or "not an edge") for record in found]
        if not skip_bad_lines:
            raise _error(lines, *faults[0])
        before = table.skipped
        table.drop_bad_rows(part)
        _report_faults(table, lines, faults, table.skipped - before)
    if table.count(part) == 0:
        remedy = "give at least one line that is not a header"
        raise GraphFormatError("the file has no edge", file=lines.path, remedy=remedy)


def _error(lines: RowLines, record: Record, fault: str) -> GraphFormatError:
    remedy = f"{STATE_ENCODING}; --skip-bad-lines leaves such lines out" if fault == NOT_UTF8 else _SKIP
    return GraphFormatError(fault, file=lines.path, line=record.line, text=record.text, remedy=remedy)


def _report_faults(table: TripletTable, lines: RowLines, faults: list[tuple[Record, str]], count: int) -> None:
    """One finding for each fault, of lines that were left out; the last has those that were not looked at."""
    by_fault: dict[str, list[Record]] = {}
    for record, fault in faults:
        by_fault.setdefault(fault, []).append(record)
    for i, (fault, found) in enumerate(by_fault.items()):
        here = len(found) + (count - len(faults) if i == len(by_fault) - 1 else 0)
        what = f"{counted(here, 'bad line')}: {fault}; the first reads {found[0].text[:120]!r}"
        places = tuple(record.line for record in found)
        remedy = STATE_ENCODING if fault == NOT_UTF8 else "fix the lines, or leave them out with --skip-bad-lines"
        table.findings.append(Finding("bad lines", what, str(lines.path), places, here, remedy, "note"))


def _fault(cells: list[str], columns: Columns) -> str | None:
    if len(cells) != len(columns):
        return f"{len(cells)} columns: expected {len(columns)} ({', '.join(columns)})"
    for role, cell in zip(columns, cells, strict=True):
        if role == "weight":
            try:
                weight = float(cell.encode("ascii"))  # DuckDB reads no other digits
            except ValueError:
                return f"the weight {cell!r} is not a number"
            if not 0 <= weight < float("inf"):
                return f"the weight {cell!r} is not a finite number of at least 0"
        elif role != SKIPPED and not cell.strip(BLANKS):
            return f"the {role} is empty"
    return None
