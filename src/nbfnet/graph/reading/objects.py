"""Graphs from Python objects: lists of tuples, NumPy, pandas, Polars and Arrow tables, networkx, PyG.

No library is imported here: an object is recognised by the module its class comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from nbfnet.errors import GraphFormatError
from nbfnet.graph.graph import EntityTypes
from nbfnet.graph.reading.columns import EXPECTED, columns_by_name, columns_by_position, stated_columns
from nbfnet.graph.reading.networks import NamedEdges, from_hetero_data, from_networkx, from_pyg_data
from nbfnet.graph.reading.parquet import check_rows
from nbfnet.graph.reading.triplet_table import IndexedTriplets, TripletTable
from nbfnet.graph.vocabulary import Vocabulary

_GIVE = "give a path, a list of tuples, a NumPy array, a pandas, Polars or Arrow table, a networkx or PyG graph"


def read_object(
    table: TripletTable, source: object, *, columns: Sequence[str] | None = None, skip_bad_rows: bool = False
) -> tuple[IndexedTriplets, EntityTypes | None]:
    """Index the edges of a Python object, with its entity types if it has some."""
    edges = _named_edges(source, columns)
    origin = f"{type(source).__name__} object"
    table.begin("train", tuple(edges.columns), origin)
    try:
        table.insert_columns("train", edges.columns)
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise GraphFormatError(f"cannot be read: {reason}", file=origin, remedy=_GIVE) from None
    check_rows(table, "train", origin, skip_bad_rows)
    indexed = table.index(extra_entities=edges.nodes)
    return indexed, None if edges.types is None else _entity_types(edges.types, indexed.entities)


def _named_edges(source: object, columns: Sequence[str] | None) -> NamedEdges:
    library = type(source).__module__.partition(".")[0]
    if library == "networkx":
        return from_networkx(source)
    if library == "torch_geometric":
        return from_hetero_data(source) if type(source).__name__ == "HeteroData" else from_pyg_data(source)
    if library in ("pandas", "polars", "pyarrow"):
        if type(source).__name__ in ("DataFrame", "Table", "RecordBatch"):
            return NamedEdges(_table_columns(source, columns))
    elif isinstance(source, np.ndarray):
        return NamedEdges(_array_columns(source, columns))
    elif isinstance(source, Iterable) and not isinstance(source, str | bytes):
        return NamedEdges(_row_columns(source, columns))
    raise GraphFormatError(f"cannot read a graph from a {type(source).__name__}", remedy=_GIVE)


def _table_columns(source: Any, stated: Sequence[str] | None) -> dict[str, npt.NDArray[Any]]:
    names = [str(name) for name in getattr(source, "column_names", None) or source.columns]
    roles = stated_columns(stated) if stated else columns_by_name(names) or columns_by_position(len(names))
    if roles is None or len(roles) != len(names):
        raise _wrong_width(len(names))
    # By position, because two columns may have one name.
    if hasattr(source, "iloc"):
        arrays = [source.iloc[:, i].to_numpy() for i in range(len(names))]
    elif hasattr(source, "column_names"):
        arrays = [source.column(i).to_numpy(zero_copy_only=False) for i in range(len(names))]
    else:
        arrays = [column.to_numpy() for column in source.get_columns()]
    return {role: np.asarray(array) for role, array in zip(roles, arrays, strict=True)}


def _array_columns(source: npt.NDArray[Any], stated: Sequence[str] | None) -> dict[str, npt.NDArray[Any]]:
    width = source.shape[1] if source.ndim == 2 else 1
    roles = stated_columns(stated) if stated else columns_by_position(width)
    if roles is None or len(roles) != width:
        raise _wrong_width(width)
    return {role: np.ascontiguousarray(source[:, i]) for i, role in enumerate(roles)}


def _row_columns(source: Iterable[Any], stated: Sequence[str] | None) -> dict[str, npt.NDArray[Any]]:
    rows = [_row(number, row) for number, row in enumerate(source)]
    if not rows:
        raise GraphFormatError("there is no edge", remedy="give at least one edge")
    width = len(rows[0])
    roles = stated_columns(stated) if stated else columns_by_position(width)
    if roles is None or len(roles) != width:
        raise _wrong_width(width)
    for number, row in enumerate(rows):
        if len(row) != width:
            what = f"item {number} has {len(row)} values, the ones before it {width}"
            raise GraphFormatError(what, text=repr(row), remedy="give every edge the same number of values")
    return {
        role: np.fromiter(cells, dtype=object, count=len(rows))
        for role, cells in zip(roles, zip(*rows, strict=True), strict=True)
    }


def _row(number: int, row: Any) -> tuple[Any, ...]:
    if isinstance(row, str | bytes) or not isinstance(row, Iterable):
        what = f"item {number} is a {type(row).__name__}, not an edge"
        raise GraphFormatError(
            what, text=repr(row), remedy="give (head, tail) or (head, relation, tail) for every edge"
        )
    return tuple(row)


def _entity_types(types: dict[str, str], entities: Vocabulary) -> EntityTypes:
    names = Vocabulary.of(dict.fromkeys(types.values()), role="entity type")
    return EntityTypes(
        names, np.array([names.id(types[name]) if name in types else -1 for name in entities], dtype=np.int32)
    )


def _wrong_width(width: int) -> GraphFormatError:
    return GraphFormatError(f"expected {EXPECTED}, got {width}", remedy="keep only the graph's columns, in that order")
