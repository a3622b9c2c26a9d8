"""Parquet files of edges, read by DuckDB."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from nbfnet.errors import GraphFormatError
from nbfnet.graph.database import execute
from nbfnet.graph.reading.columns import (
    EXPECTED,
    Columns,
    columns_by_name,
    columns_by_position,
    stated_columns,
)
from nbfnet.graph.reading.opening import plain_name
from nbfnet.graph.reading.triplet_table import BAD_ROW, TripletTable


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
    try:
        with plain_name(path) as file:
            names = [row[0] for row in execute(table.connection, _DESCRIBE, [file]).fetchall()]
            roles = _roles(names, columns, path)
            cells = ", ".join(
                f'CAST("{name.replace(chr(34), chr(34) * 2)}" AS VARCHAR) AS {role}' for role, name in roles.items()
            )
            table.begin(part, tuple(roles), path)
            table.insert(part, tuple(roles), f"(SELECT {cells} FROM read_parquet(?))", [file])
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise GraphFormatError(f"cannot be read: {reason}", file=path, remedy="write the file again") from None
    check_rows(table, part, path, skip_bad_lines)


def check_rows(table: TripletTable, part: str, origin: object, skip_bad_rows: bool) -> None:
    """Refuse, or skip, rows of a part with empty names or impossible weights; for sources that have no lines."""
    if table.has_bad_rows(part):
        if not skip_bad_rows:
            raise _first_bad_row(table, part, origin)
        table.drop_bad_rows(part)
    if table.count(part) == 0:
        raise GraphFormatError("there is no edge", file=str(origin), remedy="give at least one edge")


def _roles(names: list[str], stated: Sequence[str] | None, path: Path) -> dict[str, str]:
    """Role -> column name: as stated, by the columns' names, or by position."""
    roles: Columns | None = (
        stated_columns(stated) if stated else columns_by_name(names) or columns_by_position(len(names))
    )
    if roles is None or len(roles) != len(names):
        raise GraphFormatError(
            f"expected {EXPECTED}, got {len(names)}: {', '.join(names)}",
            file=path,
            remedy="keep only the graph's columns, or name them head, relation, tail, weight",
        )
    return dict(zip(roles, names, strict=True))


def _first_bad_row(table: TripletTable, part: str, origin: object) -> GraphFormatError:
    query = f"""
        SELECT row, head, relation, tail, weight FROM (
            SELECT *, row_number() OVER (ORDER BY rowid) AS row FROM triplet WHERE part = ?)
        WHERE {BAD_ROW} ORDER BY row LIMIT 1
    """
    found = execute(table.connection, query, [part]).fetchone()
    assert found is not None
    row, *cells = found
    missing = any(cell is None or not str(cell).strip() for cell in cells[:3])
    what = "a name is empty" if missing else "the weight is not a finite number of at least 0"
    text = "\t".join("" if cell is None else str(cell) for cell in cells)
    return GraphFormatError(
        f"row {row}: {what}",
        file=str(origin),
        text=text,
        remedy="mend the row, or leave bad rows out with --skip-bad-lines (in Python skip_bad_lines=True)",
    )


_DESCRIBE = "SELECT column_name FROM (DESCRIBE SELECT * FROM read_parquet(?))"
