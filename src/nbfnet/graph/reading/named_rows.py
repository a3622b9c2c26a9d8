"""Where the named rows of a source lie while it is read: in a table in memory, or in Parquet files.

Both are the SQL relation ``triplet`` with the columns part, head, relation, tail, weight and ``rowid``. The rows of a
part are numbered one after the other, and those of the parts that were begun before it come before them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import duckdb

from nbfnet.graph.database import execute
from nbfnet.graph.reading.opening import linked
from nbfnet.graph.workspace import Workspace

Run = Callable[[str, str, Iterable[object]], None]  # executes a query that may take long, under a title


@dataclass(frozen=True)
class Cells:
    """SQL for the relation and the weight of rows that have columns for them, or not."""

    relation: str
    weight: str


class NamedRows(Protocol):
    """What reading asks of the rows."""

    def clear(self, part: str) -> None:
        """Forget a part, which was read with other columns."""

    def add(self, part: str, cells: Cells, relation_of: str, parameters: Iterable[object], run: Run) -> int:
        """Fill a part with the rows of a SQL relation; the number of its first row."""

    def add_parquet(self, part: str, cells: Cells, columns: str, file: str, run: Run) -> int:
        """Fill a part with some columns of a Parquet file; the number of its first row."""

    def replace(self, part: str, names: dict[str, str], where: str) -> None:
        """Set names of a part to SQL expressions; rows where a condition is not true stay as they are anyway."""

    def remove(self, part: str, where: str) -> None:
        """Leave out the rows of a part for which a condition is true."""

    def discard(self) -> None:
        """Forget all rows, which are numbered now."""


class TableRows:
    """Rows in a table of the database."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        connection.execute(
            "CREATE TABLE triplet (part VARCHAR, head VARCHAR, relation VARCHAR, tail VARCHAR, weight DOUBLE)"
        )

    def clear(self, part: str) -> None:
        """Forget a part."""
        execute(self._connection, "DELETE FROM triplet WHERE part = ?", [part])

    def add(self, part: str, cells: Cells, relation_of: str, parameters: Iterable[object], run: Run) -> int:
        """Insert the rows."""
        rows = f"SELECT '{part}', head, {cells.relation}, tail, {cells.weight} FROM {relation_of}"
        run(f"reading {part}", f"INSERT INTO triplet {rows}", parameters)
        query = "SELECT coalesce(min(rowid), 0) FROM triplet WHERE part = ?"
        [(first,)] = execute(self._connection, query, [part]).fetchall()
        return int(first)

    def add_parquet(self, part: str, cells: Cells, columns: str, file: str, run: Run) -> int:
        """Insert the rows of the file."""
        rows = f"(SELECT {columns} FROM read_parquet(?, hive_partitioning=false))"
        return self.add(part, cells, rows, [file], run)

    def replace(self, part: str, names: dict[str, str], where: str) -> None:
        """Update the rows."""
        changes = ", ".join(f"{role} = {name}" for role, name in names.items())
        execute(self._connection, f"UPDATE triplet SET {changes} WHERE part = ? AND ({where})", [part])

    def remove(self, part: str, where: str) -> None:
        """Delete the rows."""
        execute(self._connection, f"DELETE FROM triplet WHERE part = ? AND ({where})", [part])

    def discard(self) -> None:
        """Drop the table."""
        execute(self._connection, "DROP TABLE triplet")


class FileRows:
    """Rows in Parquet files, each read from the disk whenever it is asked for.

    A source that is Parquet is not copied. Any other is written once, compressed, into the workspace.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, here: Workspace) -> None:
        self._connection, self._workspace = connection, here
        self._rows: dict[str, str] = {}  # SQL for those of each part
        self._end: dict[str, int] = {}  # the number after its last one
        self._written: list[Path] = []

    def clear(self, part: str) -> None:
        """Forget a part."""
        self._rows.pop(part, None)
        self._end.pop(part, None)
        self._show()

    def add(self, part: str, cells: Cells, relation_of: str, parameters: Iterable[object], run: Run) -> int:
        """Write the rows to a file."""
        file = self._workspace.new_file(".parquet")
        self._written.append(file)
        rows = f"SELECT head, {cells.relation} AS relation, tail, {cells.weight} AS weight FROM {relation_of}"
        run(f"reading {part}", f"COPY ({rows}) TO {_quoted(str(file))} (FORMAT parquet)", parameters)
        return self._add(part, Cells("relation", "weight"), "head, relation, tail, weight", linked(file))

    def add_parquet(self, part: str, cells: Cells, columns: str, file: str, run: Run) -> int:
        """Look at the file where it is."""
        return self._add(part, cells, columns, linked(Path(file)))

    def _add(self, part: str, cells: Cells, columns: str, file: str) -> int:
        source = f"read_parquet({_quoted(file)}, hive_partitioning=false, file_row_number=true)"
        [(count,)] = execute(self._connection, f"SELECT count(*) FROM {source}").fetchall()
        first = max(self._end.values(), default=0)
        self._end[part] = first + int(count)
        self._rows[part] = (
            f"SELECT '{part}' AS part, head, {cells.relation} AS relation, tail, {cells.weight} AS weight, rowid "
            f"FROM (SELECT {columns}, {first} + file_row_number AS rowid FROM {source})"
        )
        self._show()
        return first

    def replace(self, part: str, names: dict[str, str], where: str) -> None:
        """Change them whenever they are read: that is cheaper than to ask where it is needed."""
        changes = ", ".join(f"{name} AS {role}" for role, name in names.items())
        self._rows[part] = f"SELECT * REPLACE ({changes}) FROM ({self._rows[part]})"
        self._show()

    def remove(self, part: str, where: str) -> None:
        """Leave them out whenever they are read."""
        self._rows[part] = f"SELECT * FROM ({self._rows[part]}) WHERE ({where}) IS NOT TRUE"
        self._show()

    def discard(self) -> None:
        """Remove the files that were written."""
        execute(self._connection, "DROP VIEW triplet")
        for file in self._written:
            file.unlink()

    def _show(self) -> None:
        if self._rows:
            rows = " UNION ALL ".join(f"({rows})" for rows in self._rows.values())
            execute(self._connection, f"CREATE OR REPLACE VIEW triplet AS {rows}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
