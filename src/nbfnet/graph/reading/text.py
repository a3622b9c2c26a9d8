"""Text files of edges, plain or gzip, read by DuckDB; the first bad line is named, or bad lines are skipped."""

from __future__ import annotations

import csv
import io
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import duckdb

from nbfnet.errors import GraphFormatError
from nbfnet.graph.database import execute
from nbfnet.graph.reading.columns import Columns
from nbfnet.graph.reading.dialect import SPACE, TAB, Dialect, cut, detect_dialect
from nbfnet.graph.reading.opening import check_gzip, is_gzip_name, open_bytes, open_text, plain_name
from nbfnet.graph.reading.triplet_table import TripletTable

_SKIP = "mend the line, or leave bad lines out with --skip-bad-lines"
_MEANING = {
    "MISSING COLUMNS": "too few columns",
    "TOO MANY COLUMNS": "too many columns",
    "INVALID ENCODING": "the text is not UTF-8",
    "UNQUOTED VALUE": "a quoted field does not end where it should",
    "LINE SIZE OVER MAXIMUM": "the line is longer than two million bytes",
}


def read_text(
    table: TripletTable,
    part: str,
    path: Path,
    *,
    delimiter: str | None = None,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    skip_bad_lines: bool = False,
) -> None:
    """Append a text file's edges to the table as a part."""
    dialect = detect_dialect(path, delimiter=delimiter, header=header, columns=columns)
    table.begin(part, dialect.columns, path)
    if is_gzip_name(path):
        check_gzip(path)
    with plain_name(path) as name:
        _insert(table, part, dialect, path, name)
    rejected = _rejected_records(table.connection)
    if rejected and not skip_bad_lines:
        record, what = rejected[0]
        wanted = f": expected {len(dialect.columns)} ({', '.join(dialect.columns)})" if "columns" in what else ""
        line, text, _ = next(islice(records(path, dialect.delimiter), record - 1, None), (record, None, []))
        raise GraphFormatError(what + wanted, file=path, line=line, text=text, remedy=_SKIP)
    if table.has_bad_rows(part):
        if not skip_bad_lines:
            raise _first_bad_line(path, dialect)
        table.drop_bad_rows(part)
    table.skipped += len(rejected)
    if table.count(part) == 0:
        raise GraphFormatError("the file has no edge", file=path, remedy="give at least one line that is not a header")


def _insert(table: TripletTable, part: str, dialect: Dialect, path: Path, name: str) -> None:
    try:
        try:
            table.insert(part, dialect.columns, _lines(dialect, path), [name])
        except duckdb.InvalidInputException as error:
            if "state machine" not in str(error):
                raise
            with _even_line_ends(path) as even:
                table.insert(part, dialect.columns, _lines(dialect, even), [str(even)])
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        remedy = "check that the file is what its name says"
        raise GraphFormatError(f"cannot be read: {reason}", file=path, remedy=remedy) from None


def _lines(dialect: Dialect, path: Path) -> str:
    """SQL for the file's rows, a text column for each role; the one parameter is the file's name."""
    shared = "header=false, auto_detect=false, ignore_errors=true, store_rejects=true, rejects_limit=0, nullstr=''"
    shared += f", skip={dialect.skip}" + (", compression='gzip'" if is_gzip_name(path) else "")
    if dialect.delimiter in (TAB, SPACE):
        return _whole_lines(dialect, shared)
    types = ", ".join(f"'{role}': 'VARCHAR'" for role in dialect.columns)
    delimiter = dialect.delimiter.replace("'", "''")
    quoting = "quote='\"', escape='\"', strict_mode=true"
    source = f"read_csv(?, delim='{delimiter}', {quoting}, columns={{{types}}}, {shared})"
    cells = ", ".join(f"trim({role}, ' ') AS {role}" for role in dialect.columns)
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
        f"CASE len(cells) WHEN {width} THEN cells[{i}] END AS {r}" for i, r in enumerate(dialect.columns, 1)
    )
    # Anything behind a delimiter would be lost, so it is one that no text holds: four control characters in a row.
    nowhere = "delim=chr(1) || chr(2) || chr(3) || chr(4)"
    whole = f"{nowhere}, quote='', escape='', strict_mode=false, columns={{'line': 'VARCHAR'}}"
    lines = f"read_csv(?, {whole}, {shared})"
    return f"(SELECT {picked} FROM (SELECT {cells} AS cells FROM {lines} WHERE trim(line, ' ') <> ''))"


def _rejected_records(connection: duckdb.DuckDBPyConnection) -> list[tuple[int, str]]:
    """The records that DuckDB could not read, with what was wrong, in order; the list is cleared for the next file."""
    query = "SELECT line, min(error_type) FROM reject_errors GROUP BY line ORDER BY line"
    rows = execute(connection, query).fetchall()
    execute(connection, "DELETE FROM reject_errors")
    return [(line, _MEANING.get(kind, str(kind).lower())) for line, kind in rows]


def records(path: Path, delimiter: str) -> Iterator[tuple[int, str, list[str]]]:
    """Every record's first line, by number and text, and its columns; blank lines count, as they do in DuckDB."""
    with open_text(path) as stream:
        if delimiter in (TAB, SPACE):
            for number, raw in enumerate(stream, start=1):
                line = raw.rstrip("\r\n")
                yield number, line, cut(line, delimiter)
            return
        taken: list[str] = []

        def noted() -> Iterator[str]:
            for raw in stream:
                taken.append(raw)
                yield raw

        reader, begin = csv.reader(noted(), delimiter=delimiter), 1
        for cells in reader:  # a quoted field may run over several lines
            yield begin, taken[0].rstrip("\r\n"), cells
            begin = reader.line_num + 1
            taken.clear()


def _first_bad_line(path: Path, dialect: Dialect) -> GraphFormatError:
    """Find the line with an empty name or a bad weight again, with its number: only done once something is wrong."""
    for number, line, cells in records(path, dialect.delimiter):
        if number <= dialect.skip or not line.strip(" "):
            continue
        fault = _fault(cells, dialect.columns)
        if fault:
            return GraphFormatError(fault, file=path, line=number, text=line, remedy=_SKIP)
    return GraphFormatError("a name is empty or a weight is impossible", file=path, remedy=_SKIP)


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
        elif not cell.strip(" "):
            return f"the {role} is empty"
    return None


@contextmanager
def _even_line_ends(path: Path) -> Iterator[Path]:
    """A copy with one sort of line end, for CSV files that mix them: DuckDB's strict reader gives up on those."""
    with tempfile.TemporaryDirectory() as folder:
        even = Path(folder) / "edges.csv"
        with (
            open_bytes(path) as stream,
            io.TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape", newline=None) as mixed,
            even.open("w", encoding="utf-8", errors="surrogateescape", newline="\n") as copy,
        ):
            shutil.copyfileobj(mixed, copy)
        yield even
