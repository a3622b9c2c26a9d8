"""TripletTable: named triplets gathered in DuckDB, from any number of files, then indexed all at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nbfnet.errors import GraphFormatError
from nbfnet.graph.database import connect, execute
from nbfnet.graph.graph import Kind
from nbfnet.graph.reading.columns import ROLES, SKIPPED, Columns
from nbfnet.graph.reading.findings import Finding, Origin, Severity, counted
from nbfnet.graph.reading.mapped_index import Part, index_in
from nbfnet.graph.reading.named_rows import Cells, FileRows, NamedRows, TableRows
from nbfnet.graph.reading.names import find_similar_names, strip_names
from nbfnet.graph.reading.repeated import find_directions, find_repeated
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.graph.workspace import current_workspace
from nbfnet.progress import stage

_BYTES_TO_COMPARE = 48  # for each triplet, to find those that are listed twice
EDGE = "edge"  # the one relation of a homogeneous graph

# A row is bad when a name is missing or a weight is not a number from 0 to infinity, infinity not included.
BAD_ROW = (
    "head IS NULL OR tail IS NULL OR relation IS NULL OR head = '' OR tail = '' OR relation = '' "
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
        self.connection, self._workspace = connect(), current_workspace()
        self.rows: NamedRows = (
            TableRows(self.connection) if self._workspace is None else FileRows(self.connection, self._workspace)
        )
        self.columns: dict[str, Columns] = {}  # of each part
        self.origins: dict[str, Origin] = {}  # of each part
        self.first_row: dict[str, int] = {}  # of each part, as DuckDB numbers rows
        self.findings: list[Finding] = []
        self.siblings: list[Path] = []  # text files of other parts, which tell whether a first line is a header
        self.skipped = 0
        self._counts: dict[str, int] = {}  # the rows of each part, once they are indexed
        self._stray: dict[str, tuple[int, list[int]]] = {}  # of each part: rows with spaces around names

    def begin(self, part: str, columns: Columns, origin: Origin) -> None:
        """Start a part; all parts of a graph must have relations, or none."""
        before = next((known for other, known in self.columns.items() if other != part), columns)
        if ("relation" in columns) != ("relation" in before):
            raise GraphFormatError(
                f"the columns are {', '.join(columns)}, but the files before it had {', '.join(before)}",
                file=origin.file,
                remedy="give every part of a graph the same columns",
            )
        self.rows.clear(part)
        self.columns[part], self.origins[part] = columns, origin

    def insert(self, part: str, relation_of: str, parameters: Iterable[object] = ()) -> None:
        """Fill a part with the rows of a SQL relation that has a text column for each role; names are stripped."""
        self.first_row[part] = self.rows.add(part, self._cells(part), relation_of, parameters, self.run)
        self._stray[part] = strip_names(self, part)

    def insert_parquet(self, part: str, columns: str, file: str) -> None:
        """Fill a part with columns of a Parquet file, SQL that has a text column for each role; names are stripped."""
        self.first_row[part] = self.rows.add_parquet(part, self._cells(part), columns, file, self.run)
        self._stray[part] = strip_names(self, part)

    def _cells(self, part: str) -> Cells:
        columns = self.columns[part]
        return Cells(
            relation="relation" if "relation" in columns else f"'{EDGE}'",
            weight="TRY_CAST(weight AS DOUBLE)" if "weight" in columns else "1.0",
        )

    def insert_columns(self, part: str, arrays: Iterable[npt.NDArray[Any]]) -> None:
        """Fill a part with rows given as one array for each column; names that are not text are written as text."""
        columns = zip(self.columns[part], arrays, strict=True)
        given = {role: _plain(role, array) for role, array in columns if role != SKIPPED}
        casts = ", ".join(f"CAST({role} AS VARCHAR) AS {role}" for role in given)
        self.connection.register("given", given)
        self.insert(part, f"(SELECT {casts} FROM given)")
        self.connection.unregister("given")

    def drop_bad_rows(self, part: str) -> None:
        """Leave bad rows out and count them."""
        before = self.count(part)
        self.rows.remove(part, BAD_ROW)
        self.skipped += before - self.count(part)

    def bad_rows(self, part: str, limit: int) -> list[int]:
        """The first bad rows of a part, as DuckDB numbers them."""
        query = f"SELECT rowid FROM triplet WHERE part = ? AND ({BAD_ROW}) ORDER BY rowid LIMIT {limit}"
        return [row for (row,) in execute(self.connection, query, [part]).fetchall()]

    def place(self, row: int) -> tuple[str, int]:
        """The file and the line of a row, as DuckDB numbers rows."""
        part = max((part for part, first in self.first_row.items() if first <= row), key=self.first_row.__getitem__)
        origin = self.origins[part]
        return origin.file, next(iter(origin.lines([row - self.first_row[part]])), 0)

    def lines(self, part: str, rows: Iterable[int]) -> tuple[int, ...]:
        """The lines of a part's rows, as DuckDB numbers rows."""
        return self.origins[part].lines([row - self.first_row[part] for row in rows])

    def count(self, part: str) -> int:
        """How many rows a part has."""
        if self._counts:
            return self._counts[part]
        return self._value("SELECT count(*) FROM triplet WHERE part = ?", part)

    def index(
        self, extra_entities: Iterable[str] = (), *, unnamed: str | None = None, directed: bool | None = None
    ) -> IndexedTriplets:
        """Number the names in order of first appearance, and fetch each part's triplets by number.

        ``extra_entities`` joins nodes that no triplet mentions, after all others. The part ``unnamed`` names no
        entity: its triplets with an entity that no other part has are left out. Edges without a relation make an
        undirected graph, or, if ``directed``, facts of the one relation 'edge'.
        """
        has_relations = "relation" in next(iter(self.columns.values()))
        kind: Kind = "knowledge" if has_relations or directed else "homogeneous"
        if self._workspace is None:
            entities, relations, parts = self._index(extra_entities, unnamed)
            few_names = True
        else:
            found = index_in(self._workspace, self.connection, self._parts(unnamed), extra_entities)
            entities, relations, parts, few_names = found.entities, found.relations, found.parts, found.has_entity_table
        with stage("checking"):
            for part, (count, rows) in self._stray.items():
                self._report_stray(part, count, rows)
            if few_names:
                find_similar_names(self, "entity")
            if has_relations:
                find_similar_names(self, "relation")
            for part, triplets in parts.items():
                if part != unnamed and self._fits(triplets):
                    find_repeated(self, part, triplets, len(entities), kind)
            if kind == "homogeneous" and directed is None:
                part, triplets = next(iter(parts.items()))
                if self._fits(triplets):
                    find_directions(self, part, triplets, len(entities))
        self._counts = {part: self.count(part) for part in self.columns}
        self.rows.discard()
        return IndexedTriplets(kind, entities, relations, parts)

    def run(self, text: str, query: str, parameters: Iterable[object] = ()) -> None:
        """Execute a long query under a progress bar."""
        with stage(text, poll=lambda: max(self.connection.query_progress(), 0.0) / 100):
            execute(self.connection, query, parameters)

    def _report_stray(self, part: str, count: int, rows: list[int]) -> None:
        if not count:
            return
        what = f"spaces around the names of {counted(count, 'line')}, which were stripped"
        # Spaces on most lines are how the file is written, such as 'a, b, c'; on a few they are slips.
        severity: Severity = "note" if 2 * count > self.count(part) else "important"
        remedy = "remove them from the file too: other programs keep them"
        lines = self.lines(part, rows)
        self.findings.append(Finding("spaces", what, self.origins[part].file, lines, count, remedy, severity))

    def _fits(self, triplets: Triplets) -> bool:
        """Whether triplets can be compared with each other within the memory of the workspace."""
        return self._workspace is None or _BYTES_TO_COMPARE * len(triplets) <= self._workspace.memory // 3

    def _parts(self, unnamed: str | None) -> list[Part]:
        return [
            Part(part, self.count(part), "weight" in columns, part != unnamed) for part, columns in self.columns.items()
        ]

    def _index(
        self, extra_entities: Iterable[str], unnamed: str | None
    ) -> tuple[Vocabulary, Vocabulary, dict[str, Triplets]]:
        """Entities, relations and triplets of each part, in memory."""
        self.run("naming entities", _NUMBER_ENTITIES, [unnamed])
        self.run("naming relations", _NUMBER_RELATIONS)
        with stage("gathering names"):
            relations = Vocabulary.of(self._names("relation"), role="relation")
            entities = Vocabulary.of(dict.fromkeys([*self._names("entity"), *extra_entities]))
        return entities, relations, {part: self._fetch(part) for part in self.columns}

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
    if isinstance(array, np.ma.MaskedArray):  # what is masked is missing
        masked, array = np.ma.getmaskarray(array), array.data
        if masked.any():
            array = array.astype(object)
            array[masked] = None
    if array.dtype.kind not in "UO":
        return array.astype(array.dtype.newbyteorder("="), copy=False)
    if role == "weight":
        return np.fromiter((_number(cell) for cell in array), dtype=np.float64, count=len(array))
    names = np.empty(len(array), dtype=object)
    for row, cell in enumerate(map(_number_of_tensor, array)):
        if cell is not np.ma.masked and (isinstance(cell, list | dict | set | np.ndarray) or _is_tensor(cell)):
            what = f"row {row + 1}: the {role} is a {type(cell).__name__}, not a name"
            raise GraphFormatError(what, text=repr(cell), remedy="give text or a number for every name")
        try:
            names[row] = None if _is_missing(cell) else str(cell)
        except ValueError as error:  # a number of thousands of digits
            what = f"row {row + 1}: the {role} cannot be a name: {error}"
            raise GraphFormatError(what, remedy="give text or a number for every name") from None
    return names


def _is_tensor(cell: Any) -> bool:
    return type(cell).__module__.partition(".")[0] == "torch" and hasattr(cell, "item")


def _number_of_tensor(cell: Any) -> Any:
    """The number that a tensor of one number holds; str would write 'tensor(0)'."""
    is_number = (_is_tensor(cell) or type(cell) is np.ndarray) and cell.ndim == 0
    return cell.item() if is_number else cell


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _is_missing(cell: Any) -> bool:
    if isinstance(cell, float | np.floating):
        return bool(np.isnan(cell))
    return (
        cell is None or cell is np.ma.masked or type(cell).__name__ in ("NAType", "NaTType")
    )  # what pandas writes for a missing value


_NUMBER_ENTITIES = """
    CREATE OR REPLACE TABLE entity AS
    SELECT name, position // 2 AS first, row_number() OVER (ORDER BY position) - 1 AS id FROM (
        SELECT name, min(position) AS position FROM (
            SELECT head AS name, 2 * rowid AS position FROM triplet WHERE part IS DISTINCT FROM $1
            UNION ALL SELECT tail, 2 * rowid + 1 FROM triplet WHERE part IS DISTINCT FROM $1)
        GROUP BY name)
    ORDER BY id
"""
_NUMBER_RELATIONS = """
    CREATE OR REPLACE TABLE relation AS
    SELECT relation AS name, min(rowid) AS first, row_number() OVER (ORDER BY min(rowid)) - 1 AS id
    FROM triplet GROUP BY relation
"""
_FETCH_IDS = """
    SELECT h.id::INT AS head, r.id::INT AS relation, t.id::INT AS tail, weight
    FROM triplet JOIN entity h ON h.name = head JOIN relation r ON r.name = relation JOIN entity t ON t.name = tail
    WHERE part = ? ORDER BY triplet.rowid
"""
