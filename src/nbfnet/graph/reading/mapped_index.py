"""Indexing within a workspace: every row is read once, numbered as it comes, and written to files that are mapped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import duckdb
import numpy as np

from nbfnet.available_memory import show_size
from nbfnet.errors import NotEnoughMemoryError
from nbfnet.graph.database import execute
from nbfnet.graph.name_index import sort_names
from nbfnet.graph.packed_names import PackedNames
from nbfnet.graph.reading.name_numbers import Batch, NameTable, new_table, number_rows
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.graph.workspace import Workspace
from nbfnet.progress import Report, stage

_BYTES_TO_COMPARE = 200  # for each name, to find those that look alike
_CHUNK = 1 << 20  # names that are handed to DuckDB at once


@dataclass(frozen=True)
class Part:
    """The rows of ``triplet`` that are indexed together."""

    name: str
    rows: int
    weighted: bool
    names_entities: bool  # or else its rows with an entity that no part before it has are left out


@dataclass(frozen=True, eq=False)
class MappedIndex:
    """Names and triplets in mapped files; whether names were few enough to be looked at together, in SQL."""

    entities: Vocabulary
    relations: Vocabulary
    parts: dict[str, Triplets]
    has_entity_table: bool


def index_in(
    here: Workspace, connection: duckdb.DuckDBPyConnection, parts: Iterable[Part], extra_entities: Iterable[str]
) -> MappedIndex:
    """Number the names in order of first appearance, then the extra ones.

    The tables ``entity``, if it fits into memory, and ``relation`` get the names, with the first row of each.

    Raises:
        NotEnoughMemoryError: the names alone do not fit.
    """
    entities, relations = new_table(), new_table()
    triplets = {part.name: _number(here, connection, part, entities, relations) for part in parts}
    with stage("gathering names"):
        fits = _BYTES_TO_COMPARE * len(entities) <= here.memory * 2 // 5
        if fits:
            _make_table(connection, "entity", entities)
        _make_table(connection, "relation", relations)
        for name in extra_entities:
            entities.add(name)
        offsets, text = here.map_array(np.int64, [entities.offsets()]), here.map_array(np.uint8, [entities.text()])
        del entities  # sorting takes as much memory again
    with stage("sorting names"):
        order = here.map_array(np.int32, [sort_names(PackedNames(offsets, text))])
    named = Vocabulary(PackedNames(offsets, text, order))
    relation_names = Vocabulary(PackedNames(relations.offsets(), relations.text()), role="relation")
    return MappedIndex(named, relation_names, triplets, fits)


def _number(
    here: Workspace, connection: duckdb.DuckDBPyConnection, part: Part, entities: NameTable, relations: NameTable
) -> Triplets:
    weight = ", weight" if part.weighted else ""
    query = f"SELECT rowid, head, relation, tail{weight} FROM triplet WHERE part = '{part.name}'"
    dtypes: list[type[np.generic]] = [np.int32, np.int32, np.int32, *([np.float64] if part.weighted else [])]
    with stage(f"indexing {part.name}") as report:
        batches = number_rows(connection, query, entities, relations, add=part.names_entities)
        watched = _watched(batches, part, entities, here, report)
        columns = here.map_columns(dtypes, ([array for array in batch if array is not None] for batch in watched))
    return Triplets(*columns)


def _watched(
    batches: Iterator[Batch], part: Part, entities: NameTable, here: Workspace, report: Report
) -> Iterator[Batch]:
    """The batches, with progress and a look at how much memory the names take."""
    done = 0
    for batch in batches:
        yield batch
        done += len(batch[0])
        report(done / max(part.rows, 1))
        if entities.memory() > here.memory:
            raise NotEnoughMemoryError(
                f"the first {len(entities):,} names take {show_size(entities.memory())} of memory, "
                f"and {show_size(here.memory)} may be used",
                remedy="raise --memory-limit",
            )


def _make_table(connection: duckdb.DuckDBPyConnection, role: str, table: NameTable) -> None:
    """A table of names, with their numbers and the rows in which they are first."""
    execute(connection, f"CREATE OR REPLACE TABLE {role} (name VARCHAR, first BIGINT, id BIGINT)")
    names, first = PackedNames(table.offsets(), table.text()), table.first()
    for begin in range(0, len(names), _CHUNK):
        part = slice(begin, begin + _CHUNK)
        columns = {"name": np.array(names[part], dtype=object), "first": first[part]}
        connection.register("given", {**columns, "id": begin + np.arange(len(columns["first"]))})
        execute(connection, f"INSERT INTO {role} SELECT name, first, id FROM given")
        connection.unregister("given")
