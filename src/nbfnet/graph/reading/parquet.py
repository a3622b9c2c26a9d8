"""Parquet files of edges, read by DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from nbfnet.errors import GraphFormatError
from nbfnet.graph.database import execute
from nbfnet.graph.reading.columns import (
    SKIPPED,
    Columns,
    columns_by_name,
    columns_of_table,
    find_roles,
    skipped_columns,
)
from nbfnet.graph.reading.findings import FEW, Finding, Origin, counted
from nbfnet.graph.reading.opening import plain_name
from nbfnet.graph.reading.triplet_table import TripletTable


def read_parquet(
    table: TripletTable,
    part: str,
    path: Path,
    *,
    columns: Sequence[str] | None = None,
    skip_bad_lines: bool = False,
) -> None:
    """Append a Parquet file's edges to the table as a part."""
    with path.open("rb") as stream:
        if stream.read(4) != b"PAR1":
            remedy = "rename the file to what it is, for example .tsv or .csv"
            raise GraphFormatError("the name says Parquet but the content is not", file=path, remedy=remedy)
    file = ""
    try:
        with plain_name(path) as file:
            names = [row[0] for row in execute(table.connection, _DESCRIBE, [file]).fetchall()]
            roles: Columns | None = columns_of_table(names, columns, path)
            while roles is not None:
                cells = ", ".join(_cell(name, role) for name, role in zip(names, roles, strict=True) if role != SKIPPED)
                table.begin(part, roles, Origin(str(path)))
                table.insert_parquet(part, cells, file)
                roles = None if columns or columns_by_name(names) else find_roles(table, part)
    except duckdb.Error as error:
        reason = str(error).splitlines()[0].replace(file, str(path))
        raise GraphFormatError(f"cannot be read: {reason}", file=path, remedy="write the file again") from None
    if not columns:
        table.findings += skipped_columns(names, table.columns[part], str(path))
    check_rows(table, part, skip_bad_lines)


def _cell(name: str, role: str) -> str:
    return f'CAST("{name.replace(chr(34), chr(34) * 2)}" AS VARCHAR) AS {role}'


def check_rows(table: TripletTable, part: str, skip_bad_rows: bool) -> None:
    """Refuse, or skip, rows of a part with empty names or impossible weights; for sources that have no lines."""
    bad, file = table.bad_rows(part, FEW), table.origins[part].file
    if bad:
        if not skip_bad_rows:
            raise _bad_row(table, part, bad[0])
        before, lines = table.skipped, table.lines(part, bad)
        table.drop_bad_rows(part)
        count = table.skipped - before
        what = f"{counted(count, 'bad row')}: a name is empty, or a weight is not a number of at least 0"
        remedy = "fix the rows, or leave them out with --skip-bad-lines"
        table.findings.append(Finding("bad lines", what, file, lines, count, remedy, "note"))
    if table.count(part) == 0:
        raise GraphFormatError("there is no edge", file=file, remedy="give at least one edge")


def _bad_row(table: TripletTable, part: str, bad: int) -> GraphFormatError:
    query = "SELECT head, relation, tail, weight FROM triplet WHERE rowid = ?"
    [cells] = execute(table.connection, query, [bad]).fetchall()
    missing = any(cell is None or not str(cell).strip() for cell in cells[:3])
    what = "a name is empty" if missing else "the weight is not a finite number of at least 0"
    text = "\t".join("" if cell is None else str(cell) for cell in cells)
    return GraphFormatError(
        f"row {1 + bad - table.first_row[part]}: {what}",
        file=table.origins[part].file,
        text=text,
        remedy="fix the row, or leave bad rows out with --skip-bad-lines (in Python skip_bad_lines=True)",
    )


_DESCRIBE = "SELECT column_name FROM (DESCRIBE SELECT * FROM read_parquet(?, hive_partitioning=false))"
