"""Names are numbered in the order they are met, the same with the extension and without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.errors import GraphFormatError
from nbfnet.graph.packed_names import PackedNames
from nbfnet.graph.reading import name_numbers
from nbfnet.graph.reading.name_numbers import new_table, number_rows
from nbfnet.native import native

needs_extension = pytest.mark.skipif(native is None, reason="there is no compiled extension")

# Long ones, those that differ in the last byte or in their length alone, and zeros.
UGLY = ["a", "aa", "a" * 7, "a" * 8, "a" * 9, "b" * 300, "b" * 299 + "c", "é😀", "e\u0301", "\0", "\0\0", "x\0", "'\\"]
name = st.sampled_from(UGLY) | st.integers(0, 50).map(lambda i: f"http://example.org/{i}")
rows = st.lists(st.tuples(name, st.sampled_from(["r", "s", "é"]), name), max_size=60)


def numbered(triplets: list[tuple[str, str, str]], named: int | None = None, weighted: bool = False) -> dict[str, Any]:
    """The columns of some rows, the first ``named`` of which name entities, and the names of both tables."""
    connection = duckdb.connect()
    connection.execute("CREATE TABLE triplet (row BIGINT, head VARCHAR, relation VARCHAR, tail VARCHAR, weight DOUBLE)")
    if triplets:
        connection.executemany(
            "INSERT INTO triplet VALUES (?, ?, ?, ?, ?)", [(3 * i, *row, i / 4) for i, row in enumerate(triplets)]
        )
    split = 3 * (len(triplets) if named is None else named)
    entities, relations, batches = new_table(), new_table(), []
    for condition, add in ((f"row < {split}", True), (f"row >= {split}", False)):
        query = f"SELECT row, head, relation, tail{', weight' * weighted} FROM triplet WHERE {condition} ORDER BY row"
        batches += number_rows(connection, query, entities, relations, add=add)
    assert connection.execute("SELECT 1").fetchall() == [(1,)]  # it is free again
    found: dict[str, Any] = {
        role: np.concatenate([np.empty(0), *(batch[i] for batch in batches)]).tolist()
        for i, role in enumerate(("head", "relation", "tail", "weight"))
        if role != "weight" or weighted
    }
    for role, table in (("entities", entities), ("relations", relations)):
        found[role] = list(PackedNames(table.offsets(), table.text()))
        found[f"first {role}"] = table.first().tolist()
        assert len(table) == len(found[role])
    return found


def expected(triplets: list[tuple[str, str, str]], named: int, weighted: bool) -> dict[str, Any]:
    """By the definition."""
    ends = [(3 * i, end) for i, (head, _, tail) in enumerate(triplets[:named]) for end in (head, tail)]
    entities = list(dict.fromkeys(end for _, end in ends))
    relations = list(dict.fromkeys(relation for _, relation, _ in triplets))
    kept = [(i, h, r, t) for i, (h, r, t) in enumerate(triplets) if h in entities and t in entities]
    columns = {
        "head": [entities.index(h) for _, h, _, _ in kept],
        "relation": [relations.index(r) for _, _, r, _ in kept],
        "tail": [entities.index(t) for _, _, _, t in kept],
        "entities": entities,
        "relations": relations,
        "first entities": [next(row for row, end in ends if end == entity) for entity in entities],
        "first relations": [3 * [r for _, r, _ in triplets].index(relation) for relation in relations],
    }
    return columns | ({"weight": [i / 4 for i, *_ in kept]} if weighted else {})


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_extension), False])
@given(triplets=rows, named=st.integers(0, 60), weighted=st.booleans())
def test_numbers_are_in_the_order_of_first_appearance(compiled: bool, triplets, named: int, weighted: bool) -> None:
    named = min(named, len(triplets))
    with pytest.MonkeyPatch.context() as patch:
        if not compiled:
            patch.setattr(name_numbers, "native", None)
            patch.setattr(name_numbers, "_CHUNK", 7)
        assert numbered(triplets, named, weighted) == expected(triplets, named, weighted)


@needs_extension
def test_many_names_in_many_batches() -> None:
    connection = duckdb.connect()
    query = "SELECT i, 'e' || (i * 7919) % 300007, 'r' || i % 3, 'e' || (i * 104729) % 300007 FROM range(400000) t(i)"
    tables = new_table(), new_table()
    batches = list(number_rows(connection, query, *tables, add=True))
    assert len(batches) > 1
    names = list(PackedNames(tables[0].offsets(), tables[0].text()))
    head, tail = (np.concatenate([batch[i] for batch in batches]) for i in (0, 2))
    ends = [f"e{i * factor % 300007}" for i in range(400000) for factor in (7919, 104729)]
    assert names == list(dict.fromkeys(ends))
    assert [names[i] for i in np.stack([head, tail], axis=1).ravel()] == ends


@needs_extension
def test_what_cannot_be_numbered_is_refused(tmp_path: Path) -> None:
    connection = duckdb.connect()
    assert native is not None

    def number(query: str) -> None:
        list(number_rows(connection, query, new_table(), new_table(), add=True))

    with pytest.raises(ValueError, match="the columns are not row, head"):
        number("SELECT 1::BIGINT, 'a', 'r'")
    with pytest.raises(ValueError, match="the columns are not row, head"):
        number("SELECT 1::BIGINT, 'a', 'r', 5")
    with pytest.raises(ValueError, match="a name is missing"):
        number("SELECT 1::BIGINT, 'a', 'r', NULL::VARCHAR")
    with pytest.raises(GraphFormatError, match="out of their order"):
        number("SELECT 5 - i, 'a', 'r', 'b' FROM range(3) t(i)")
    with pytest.raises(GraphFormatError, match="cannot be read"):
        number("SELECT i, 'a', 'r', CASE WHEN i < 5000 THEN 'b' ELSE error('damaged') END FROM range(9000) t(i)")
    stream = connection.sql("SELECT 1::BIGINT, 'a', 'r', 'b'").__arrow_c_stream__()
    entities = native.NameTable()
    taken = native.RowStream(stream)
    with pytest.raises(ValueError, match="taken already"):
        native.RowStream(stream)
    with pytest.raises(ValueError, match="expected two"):
        taken.number(entities, entities, True)
    with pytest.raises(TypeError):
        native.RowStream(None)
