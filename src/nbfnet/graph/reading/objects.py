"""Graphs from Python objects: lists of tuples, NumPy, pandas, Polars and Arrow tables, networkx, PyG.

No library is imported here: an object is recognised by the module its class comes from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import duckdb
import numpy as np
import numpy.typing as npt

from nbfnet.errors import GraphFormatError
from nbfnet.graph.reading.columns import (
    EXPECTED,
    STATE,
    columns_by_name,
    columns_by_position,
    columns_of_table,
    find_roles,
    skipped_columns,
    stated_columns,
)
from nbfnet.graph.reading.findings import Origin
from nbfnet.graph.reading.networks import NamedEdges, from_hetero_data, from_networkx, from_pyg_data
from nbfnet.graph.reading.parquet import check_rows
from nbfnet.graph.reading.triplet_table import IndexedTriplets, TripletTable

_GIVE = "give a path, a list of tuples, a NumPy array, a pandas, Polars or Arrow table, a networkx or PyG graph"


def read_object(
    table: TripletTable,
    source: object,
    *,
    columns: Sequence[str] | None = None,
    skip_bad_rows: bool = False,
    directed: bool | None = None,
) -> tuple[IndexedTriplets, dict[str, str] | None]:
    """Index the edges of a Python object, with its entity types by name if it has some."""
    edges = _named_edges(source, columns, directed)
    origin = Origin(f"{type(source).__name__} object")
    roles = edges.roles
    try:
        table.begin("train", roles, origin)
        table.insert_columns("train", edges.arrays)
        if edges.by_position and (found := find_roles(table, "train")):
            table.begin("train", found, origin)
            table.insert_columns("train", edges.arrays)
    except duckdb.Error as error:
        reason = str(error).splitlines()[0]
        raise GraphFormatError(f"cannot be read: {reason}", file=origin.file, remedy=_GIVE) from None
    check_rows(table, "train", skip_bad_rows)
    table.findings += skipped_columns(edges.names, roles, origin.file) if edges.names and not columns else []
    if directed is None and edges.directed is not None:
        directed = edges.directed
        table.findings += [edges.direction_note(origin.file)] if "relation" not in roles else []
    return table.index(edges.nodes, directed=directed), edges.types


def _named_edges(source: object, columns: Sequence[str] | None, directed: bool | None) -> NamedEdges:
    library = type(source).__module__.partition(".")[0]
    if library == "networkx":
        return from_networkx(source)
    if library == "torch_geometric":
        return from_hetero_data(source) if type(source).__name__ == "HeteroData" else from_pyg_data(source, directed)
    if library in ("pandas", "polars", "pyarrow"):
        if type(source).__name__ in ("DataFrame", "Table", "RecordBatch"):
            return _from_table(source, columns)
    elif library == "torch" and hasattr(source, "detach"):
        return _named_edges(source.detach().cpu().numpy(), columns, directed)
    elif isinstance(source, np.ndarray):
        return _from_columns([*source.T] if source.ndim == 2 else [source], columns)
    elif isinstance(source, Iterable) and not isinstance(source, str | bytes):
        return _from_rows(source, columns)
    raise GraphFormatError(f"cannot read a graph from a {type(source).__name__}", remedy=_GIVE)


def _from_table(source: Any, stated: Sequence[str] | None) -> NamedEdges:
    names = [str(name) for name in getattr(source, "column_names", None) or source.columns]
    roles = columns_of_table(names, stated, f"{type(source).__name__} object")
    # By position, because two columns may have one name.
    if hasattr(source, "iloc"):
        arrays = [source.iloc[:, i].to_numpy() for i in range(len(names))]
    elif hasattr(source, "column_names"):
        arrays = [source.column(i).to_numpy(zero_copy_only=False) for i in range(len(names))]
    else:
        arrays = [column.to_numpy() for column in source.get_columns()]
    by_position = not stated and columns_by_name(names) is None
    return NamedEdges(roles, [np.asarray(array) for array in arrays], names=names, by_position=by_position)


def _from_columns(arrays: list[npt.NDArray[Any]], stated: Sequence[str] | None) -> NamedEdges:
    roles = stated_columns(stated) if stated else columns_by_position(len(arrays))
    if roles is None or len(roles) != len(arrays):
        raise GraphFormatError(f"expected {EXPECTED}, got {len(arrays)}", remedy=f"pass columns=: {STATE}")
    return NamedEdges(roles, [_contiguous(array) for array in arrays], by_position=not stated)


def _contiguous(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """With its mask, if it has one."""
    return array.copy() if isinstance(array, np.ma.MaskedArray) else np.ascontiguousarray(array)


def _from_rows(source: Iterable[Any], stated: Sequence[str] | None) -> NamedEdges:
    rows = [_row(number, row) for number, row in enumerate(source)]
    if not rows:
        raise GraphFormatError("there is no edge", remedy="give at least one edge")
    width = len(rows[0])
    for number, row in enumerate(rows):
        if len(row) != width:
            what = f"item {number} has {len(row)} values, the ones before it {width}"
            raise GraphFormatError(what, text=repr(row), remedy="give every edge the same number of values")
    columns = zip(*rows, strict=True)
    return _from_columns([np.fromiter(cells, dtype=object, count=len(rows)) for cells in columns], stated)


def _row(number: int, row: Any) -> tuple[Any, ...]:
    if isinstance(row, str | bytes | Mapping | set) or not isinstance(row, Iterable):
        what = f"item {number} is a {type(row).__name__}, not an edge"
        raise GraphFormatError(
            what, text=repr(row), remedy="give (head, tail) or (head, relation, tail) for every edge"
        )
    return tuple(row)
