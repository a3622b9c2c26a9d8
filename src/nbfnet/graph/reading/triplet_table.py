"""TripletTable: named triplets gathered in DuckDB, from any number of files, then indexed all at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nbfnet.errors import GraphFormatError
from nbfnet.graph.database import connect, execute
from nbfnet.graph.graph import Kind
from nbfnet.graph.reading.columns import ROLES, Columns
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.progress import stage

EDGE = "edge"  # the one relation of a homogeneous graph

# A row is bad when a name is missing or a weight is not a number from 0 to infinity, infinity not included.
BAD_ROW = (
    "head IS NULL OR tail IS NULL OR relation IS NULL "
    "OR trim(head, ' ') = '' OR trim(tail, ' ') = '' OR trim(relation, ' ') = '' "
    "OR weight IS NULL OR isnan(weight) OR isinf(weight) OR weight < 0"
)


@dataclass(frozen=True, eq=False)
class IndexedTriplets:
    """What indexing gives: one vocabulary of entities and one of relations, and each part's triplets."""

    kind: Kind
    entities: Vocabulary
    relations: Vocabulary
    parts: dict[str, Triplets]


class TripletTable:
    """Rows (part, head, relation, tail, weight) by name, in the order they were read."""

    def __init__(self) -> None:
        self.connection = connect()
        self.connection.execute(
            "CREATE TABLE triplet (part VARCHAR, head VARCHAR, relation VARCHAR, tail VARCHAR, weight DOUBLE)"
        )
        self.columns: dict[str, Columns] = {}  # of each part
        self.skipped = 0

    def begin(self, part: str, columns: Columns, origin: object) -> None:
        """Start a part; all parts of a graph must have relations, or none."""
        before = next(iter(self.columns.values()), columns)
        if ("relation" in columns) != ("relation" in before):
            raise GraphFormatError(
                f"the columns are {', '.join(columns)}, but the files before it had {', '.join(before)}",
                file=str(origin),
                remedy="give every part of a graph the same columns",
            )
        self.columns[part] = columns

    def insert(self, part: str, columns: Columns, relation_of: str, parameters: Iterable[object] = ()) -> None:
        """Append the rows of a SQL relation that has a text column for each role."""
        relation = "relation" if "relation" in columns else f"'{EDGE}'"
        weight = "TRY_CAST(weight AS DOUBLE)" if "weight" in columns else "1.0"
        query = f"INSERT INTO triplet SELECT '{part}', head, {relation}, tail, {weight} FROM {relation_of}"
        self.run(f"reading {part}", query, parameters)

    def insert_columns(self, part: str, columns: Mapping[str, npt.NDArray[Any]]) -> None:
        """Append rows given as one array for each role; names that are not text are written as text."""
        given = {role: _plain(role, array) for role, array in columns.items()}
        casts = ", ".join(f"CAST({role} AS VARCHAR) AS {role}" for role in given)
        self.connection.register("given", given)
        self.insert(part, tuple(given), f"(SELECT {casts} FROM given)")
        self.connection.unregister("given")

    def has_bad_rows(self, part: str) -> bool:
        """Whether a part has a row with an empty name or an impossible weight."""
        return self._value(f"SELECT count(*) FROM triplet WHERE part = ? AND ({BAD_ROW})", part) > 0

    def drop_bad_rows(self, part: str) -> None:
        """Leave bad rows out and count them."""
        before = self.count(part)
        execute(self.connection, f"DELETE FROM triplet WHERE part = ? AND ({BAD_ROW})", [part])
        self.skipped += before - self.count(part)

    def count(self, part: str) -> int:
        """How many rows a part has."""
        return self._value("SELECT count(*) FROM triplet WHERE part = ?", part)

    def index(self, extra_entities: Iterable[str] = (), *, unnamed: str | None = None) -> IndexedTriplets:
        """Number the names in order of first appearance, and fetch each part's triplets by number.

        ``extra_entities`` joins nodes that no triplet mentions, after all others. The part ``unnamed`` names no
        entity: its triplets with an entity that no other part has are left out.
        """
        self.run("naming entities", _NUMBER_ENTITIES, [unnamed])
        self.run("naming relations", _NUMBER_RELATIONS)
        kind: Kind = "knowledge" if "relation" in next(iter(self.columns.values())) else "homogeneous"
        with stage("gathering names"):
            relations = Vocabulary.of(self._names("relation"), role="relation")
            entities = Vocabulary.of(dict.fromkeys([*self._names("entity"), *extra_entities]))
        parts = {part: self._fetch(part) for part in self.columns}
        return IndexedTriplets(kind, entities, relations, parts)

    def run(self, text: str, query: str, parameters: Iterable[object] = ()) -> None:
        """Execute a long query under a progress bar."""
        with stage(text, poll=lambda: max(self.connection.query_progress(), 0.0) / 100):
            execute(self.connection, query, parameters)

    def _fetch(self, part: str) -> Triplets:
        self.run(f"indexing {part}", _FETCH_IDS, [part])
        columns = self.connection.fetchnumpy()
        head, relation, tail, weight = (np.asarray(columns[role]) for role in ROLES)
        return Triplets.of(head, relation, tail, weight if "weight" in self.columns[part] else None)

    def _names(self, table: str) -> list[str]:
        rows = execute(self.connection, f"SELECT name FROM {table} ORDER BY id").fetchnumpy()
        names: list[str] = rows["name"].tolist()
        return names

    def _value(self, query: str, *parameters: object) -> int:
        # All rows, though there is one: a result that was not read to its end keeps the connection busy.
        rows = execute(self.connection, query, parameters).fetchall()
        return int(rows[0][0])


def _plain(role: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array as text or numbers: DuckDB would guess what an array of objects holds from the first of them."""
    if array.dtype.kind not in "UO":
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    if role == "weight":
        return np.fromiter((_number(cell) for cell in array), dtype=np.float64, count=len(array))
    return np.fromiter((None if _is_missing(cell) else str(cell) for cell in array), dtype=object, count=len(array))


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return float("nan")


def _is_missing(cell: Any) -> bool:
    if isinstance(cell, float | np.floating):
        return bool(np.isnan(cell))
    return cell is None or type(cell).__name__ in ("NAType", "NaTType")  # what pandas writes for a missing value


_NUMBER_ENTITIES = """
    CREATE OR REPLACE TABLE entity AS
    SELECT name, row_number() OVER (ORDER BY first) - 1 AS id FROM (
        SELECT name, min(position) AS first FROM (
            SELECT head AS name, 2 * rowid AS position FROM triplet WHERE part IS DISTINCT FROM $1
            UNION ALL SELECT tail, 2 * rowid + 1 FROM triplet WHERE part IS DISTINCT FROM $1)
        GROUP BY name)
"""
_NUMBER_RELATIONS = """
    CREATE OR REPLACE TABLE relation AS
    SELECT relation AS name, row_number() OVER (ORDER BY min(rowid)) - 1 AS id FROM triplet GROUP BY relation
"""
_FETCH_IDS = """
    SELECT h.id::INT AS head, r.id::INT AS relation, t.id::INT AS tail, weight
    FROM triplet JOIN entity h ON h.name = head JOIN relation r ON r.name = relation JOIN entity t ON t.name = tail
    WHERE part = ? ORDER BY triplet.rowid
"""
