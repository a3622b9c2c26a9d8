"""Numbers for the names of rows that are read once, in their order, and never held: the names alone are in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import duckdb
import numpy as np
import numpy.typing as npt

from nbfnet.errors import GraphFormatError
from nbfnet.graph.database import shortage
from nbfnet.graph.packed_names import PackedNames
from nbfnet.native import native

_CHUNK = 1 << 16  # rows that are fetched at once without the extension

Batch = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float64] | None]


class NameTable(Protocol):
    """Names with the numbers 0, 1, 2, ... in the order they are first met."""

    def __len__(self) -> int:
        """How many there are."""

    def add(self, name: str) -> int:
        """The number of a name that stands in no row."""

    def offsets(self) -> npt.NDArray[np.int64]:
        """(name + 1,) where each name begins in the text."""

    def text(self) -> npt.NDArray[np.uint8]:
        """The names in UTF-8, end to end."""

    def first(self) -> npt.NDArray[np.int64]:
        """(name,) the row in which each one is first."""

    def memory(self) -> int:
        """Bytes that it takes."""


def new_table() -> NameTable:
    """An empty table, compiled if there is the extension."""
    return PlainTable() if native is None else native.NameTable()


def number_rows(
    connection: duckdb.DuckDBPyConnection, rows: str, entities: NameTable, relations: NameTable, *, add: bool
) -> Iterator[Batch]:
    """Head, relation, tail and weight of the rows that a query gives, some at a time.

    Args:
        connection: answers nothing else until the last row was taken.
        rows: the query, of row, head, relation, tail and, perhaps, weight; rows ascend.
        entities: gets the names that are new, if ``add``; else rows with an entity that it has not are left out.
        relations: gets the names that are new.
        add: see above.
    """
    if native is None:
        yield from _plain_rows(connection, rows, entities, relations, add)
        return
    try:
        stream = native.RowStream(connection.sql(rows).__arrow_c_stream__())
        while (batch := stream.number(entities, relations, add)) is not None:
            yield batch
    except RuntimeError as error:
        what = f"cannot be read: {str(error).splitlines()[0]}"
        raise shortage(error) or GraphFormatError(what, remedy="write the file again") from None


class PlainTable:
    """The same without the extension."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}
        self.rows: list[int] = []
        self.bytes = 0

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, name: str) -> int:
        """The number of a name that stands in no row."""
        return self.number(name, -1)

    def number(self, name: str, row: int) -> int:
        """The number of a name in a row."""
        number = self.ids.setdefault(name, len(self.ids))
        if number == len(self.rows):
            self.rows.append(row)
            self.bytes += 200 + len(name)
        return number

    def offsets(self) -> npt.NDArray[np.int64]:
        """(name + 1,) where each name begins in the text."""
        return PackedNames.pack(self.ids).offsets

    def text(self) -> npt.NDArray[np.uint8]:
        """The names in UTF-8, end to end."""
        return PackedNames.pack(self.ids).text

    def first(self) -> npt.NDArray[np.int64]:
        """(name,) the row in which each one is first."""
        return np.array(self.rows, dtype=np.int64)

    def memory(self) -> int:
        """Bytes that it takes, about."""
        return self.bytes


def _plain_rows(connection: Any, rows: str, entities: Any, relations: Any, add: bool) -> Iterator[Batch]:
    result = connection.execute(rows)
    while chunk := result.fetchmany(_CHUNK):
        numbers = []
        for row, head, relation, tail, *_ in chunk:
            number = relations.number(relation, row)
            if add:
                numbers.append((entities.number(head, row), number, entities.number(tail, row)))
            else:
                numbers.append((entities.ids.get(head, -1), number, entities.ids.get(tail, -1)))
        columns = np.array(numbers, dtype=np.int32)
        known = (columns >= 0).all(axis=1)
        weight = np.array([row[4] for row in chunk], dtype=np.float64)[known] if len(chunk[0]) == 5 else None
        head, relation, tail = columns[known].T
        yield head, relation, tail, weight
