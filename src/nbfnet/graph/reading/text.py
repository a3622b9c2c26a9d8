"""Text files of edges, plain or gzip, read by DuckDB; the first bad line is named, or bad lines are skipped."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import duckdb

from nbfnet.errors import GraphFormatError
from nbfnet.graph.reading.columns import Columns
from nbfnet.graph.reading.dialect import SPACE, TAB, Dialect, cut, detect_dialect, is_gzip_name, open_text
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
    with _plain_name(path) as name:
        try:
            table.insert(part, dialect.columns, _lines(dialect, path), [name])
        except duckdb.Error as error:
            raise _unreadable(path, error) from None
    rejected = _rejected_lines(table.connection)
    if rejected and not skip_bad_lines:
        line, what = rejected[0]
        wanted = f": expected {len(dialect.columns)} ({', '.join(dialect.columns)})" if "columns" in what else ""
        raise GraphFormatError(what + wanted, file=path, line=line, text=_text_of(path, line), remedy=_SKIP)
    if table.has_bad_rows(part):
        if not skip_bad_lines:
            raise _first_bad_line(path, dialect)
        table.drop_bad_rows(part)
    table.skipped += len(rejected)
    if table.count(part) == 0:
        raise GraphFormatError("the file has no edge", file=path, remedy="give at least one line that is not a header")


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
    return f"(SELECT {', '.join(f'trim({role}) AS {role}' for role in dialect.columns)} FROM {source})"


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
    whole = "delim=chr(1), quote='', escape='', strict_mode=false, columns={'line': 'VARCHAR'}"
    lines = f"read_csv(?, {whole}, {shared})"
    return f"(SELECT {picked} FROM (SELECT {cells} AS cells FROM {lines} WHERE trim(line) <> ''))"


def _rejected_lines(connection: duckdb.DuckDBPyConnection) -> list[tuple[int, str]]:
    """The lines that DuckDB could not read, with what was wrong, in order; the list is cleared for the next file."""
    rows = connection.execute("SELECT line, min(error_type) FROM reject_errors GROUP BY line ORDER BY line").fetchall()
    connection.execute("DELETE FROM reject_errors")
    return [(line, _MEANING.get(kind, str(kind).lower())) for line, kind in rows]


def _text_of(path: Path, line: int) -> str:
    with open_text(path) as stream:
        return next(islice(stream, line - 1, None), "").rstrip("\r\n")


def _first_bad_line(path: Path, dialect: Dialect) -> GraphFormatError:
    """Find the line with an empty name or a bad weight again, with its number: only done once something is wrong."""
    with open_text(path) as stream:
        for number, raw in enumerate(stream, start=1):
            line = raw.rstrip("\r\n")
            if number <= dialect.skip or not line.strip():
                continue
            fault = _fault(cut(line, dialect.delimiter), dialect.columns)
            if fault:
                return GraphFormatError(fault, file=path, line=number, text=line, remedy=_SKIP)
    return GraphFormatError("a name is empty or a weight is impossible", file=path, remedy=_SKIP)


def _fault(cells: list[str], columns: Columns) -> str | None:
    if len(cells) != len(columns):
        return f"{len(cells)} columns: expected {len(columns)} ({', '.join(columns)})"
    for role, cell in zip(columns, cells, strict=True):
        if role == "weight":
            try:
                weight = float(cell)
            except ValueError:
                return f"the weight {cell!r} is not a number"
            if not 0 <= weight < float("inf"):
                return f"the weight {cell!r} is not a finite number of at least 0"
        elif not cell.strip():
            return f"the {role} is empty"
    return None


@contextmanager
def _plain_name(path: Path) -> Iterator[str]:
    """The path under a name that DuckDB does not take for a pattern."""
    if not set("*?[]{}") & set(str(path)):
        yield str(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / ("edges.gz" if is_gzip_name(path) else "edges")
        link.symlink_to(path.resolve())
        yield str(link)


def _unreadable(path: Path, error: duckdb.Error) -> GraphFormatError:
    reason = str(error).splitlines()[0]
    if "state machine" in reason:
        reason = "quotes or line ends are not used in one consistent way"
    return GraphFormatError(f"cannot be read: {reason}", file=path, remedy="check that the file is what its name says")
