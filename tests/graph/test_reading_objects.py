"""Python objects as graphs: tuples, arrays, tables, networkx and PyG graphs, and what is none of these."""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.errors import GraphFormatError
from nbfnet.graph.graph import Graph
from nbfnet.graph.reading.names import BLANKS
from nbfnet.graph.reading.read import read

Write = Callable[[str, bytes | str], Path]
Named = Callable[[Graph], list[tuple[Any, ...]]]

ABC = [("a", "r", "b"), ("b", "s", "c"), ("a", "r", "c")]


# Tuples.


def test_lists_generators_and_other_iterables(named: Named) -> None:
    for source in (ABC, tuple(ABC), iter(ABC), (list(row) for row in ABC), dict.fromkeys(ABC), map(tuple, ABC)):
        graph = read(source)
        assert named(graph) == ABC
        assert (graph.name, graph.kind) == ("graph", "knowledge")
    assert read(ABC, name="mine").name == "mine"


def test_two_and_four_values(named: Named) -> None:
    assert named(read([(1, 2), (2, "x")])) == [("1", "edge", "2"), ("2", "edge", "x")]
    assert read([(1, 2)]).kind == "homogeneous"
    weighted = [("a", "r", "b", 1), ("b", "r", "c", 0.1), ("c", "r", "d", np.float32(0.5)), ("d", "r", "e", "2")]
    assert named(read(weighted)) == [(*row[:3], float(row[3])) for row in weighted]
    stated = read([("a", "b", 0.5)], columns=("tail", "head", "weight"))
    assert named(stated) == [("b", "edge", "a", 0.5)]


characters = st.characters(exclude_categories=("Cs",))
names = st.text(characters, min_size=1, max_size=4).map(lambda name: name.strip(BLANKS)).filter(bool)


@given(rows=st.lists(st.tuples(names, names, names), min_size=1, max_size=10))
def test_any_names_are_kept(rows: list[tuple[str, str, str]], named: Named) -> None:
    """Also tabs, line ends and NUL, which no text file could hold."""
    graph = read(rows)
    assert named(graph) == rows
    assert list(graph.entities) == list(dict.fromkeys(itertools.chain(*((h, t) for h, _, t in rows))))


MALFORMED = {
    "nothing": None,
    "a number": 5,
    "bytes": b"a\tr\tb",
    "no rows": [],
    "no rows from a generator": (row for row in ()),
    "numbers": [1, 2, 3],
    "strings": ["abc", "def"],
    "a dictionary of columns": {"head": ["a"], "tail": ["b"]},
    "None as a row": [("a", "b"), None],
    "one value": [("a",)],
    "five values": [("a", "b", "c", "d", "e")],
    "changing": [("a", "b"), ("a", "r", "b")],
    "None as a name": [("a", "r", "b"), ("a", "r", None)],
    "NaN as a name": [("a", "r", "b"), (float("nan"), "r", "b")],
    "empty name": [("a", "r", "b"), ("a", "", "b")],
    "spaces as a name": [("a", "r", "b"), ("  ", "r", "b")],
    "lone surrogate": [("a", "r", "\ud800")],
    "negative weight": [("a", "r", "b", 1), ("a", "r", "b", -1)],
    "weight NaN": [("a", "r", "b", float("nan"))],
    "weight None": [("a", "r", "b", None)],
    "weight text": [("a", "r", "b", "heavy")],
    "infinite weight": [("a", "r", "b", float("inf"))],
    "one-dimensional array": np.arange(6),
    "three-dimensional array": np.zeros((2, 3, 2)),
    "array of five columns": np.zeros((2, 5)),
    "array without rows": np.zeros((0, 3), dtype=int),
    "array with None": np.array([["a", "r", None]], dtype=object),
    "array of bytes": np.array([[b"a", b"b"]]),
    "array of complex numbers": np.array([[1j, 2j]]),
    "pandas without rows": pd.DataFrame({"head": [], "tail": []}),
    "pandas of one column": pd.DataFrame({"head": ["a"]}),
    "pandas of five columns": pd.DataFrame([range(5)]),
    "pandas with a missing name": pd.DataFrame({"head": ["a", None], "tail": ["b", "c"]}),
    "pandas with a missing number": pd.DataFrame({"head": [1, None], "tail": [1, 2]}),
    "pandas with a missing Int64": pd.DataFrame({"head": pd.array([1, None], dtype="Int64"), "tail": [1, 2]}),
    "pandas with a missing weight": pd.DataFrame({"head": ["a"], "tail": ["b"], "weight": [np.nan]}),
    "pandas series": pd.Series(["a", "b"]),
    "Polars without rows": pl.DataFrame({"head": [], "tail": []}),
    "Polars with null": pl.DataFrame({"head": ["a", None], "tail": ["b", "c"]}),
    "Polars with a null number": pl.DataFrame({"head": [1, None], "tail": [1, 2]}),
    "Polars series": pl.Series(["a", "b"]),
    "Polars lazy frame": pl.LazyFrame({"head": ["a"], "tail": ["b"]}),
    "Arrow without rows": pa.table({"head": pa.array([], pa.string()), "tail": pa.array([], pa.string())}),
    "Arrow with null": pa.table({"head": ["a", None], "tail": ["b", "c"]}),
    "Arrow with only nulls": pa.table({"head": pa.nulls(1), "tail": ["b"]}),
    "Arrow array": pa.array(["a", "b"]),
    "networkx without edges": nx.empty_graph(3),
    "networkx with an empty name": nx.Graph([("", "b")]),
    "networkx with some relations": nx.DiGraph([("a", "b", {"relation": "r"}), ("a", "c", {})]),
    "networkx with a bad weight": nx.Graph([("a", "b", {"weight": "heavy"})]),
    "networkx with 1 and '1'": nx.Graph([(1, "a"), ("1", "b")]),
}
ISOLATED_BLANK = nx.Graph([("a", "b")])
ISOLATED_BLANK.add_node(" ")
MALFORMED["networkx with a blank isolated node"] = ISOLATED_BLANK


@pytest.mark.parametrize("source", MALFORMED.values(), ids=MALFORMED)
def test_what_is_not_a_graph_is_refused(source: object) -> None:
    with pytest.raises(GraphFormatError) as caught:
        read(source)
    assert caught.value.remedy


def test_the_item_at_fault_is_named() -> None:
    with pytest.raises(GraphFormatError, match=r"item 1.*\n.*'r', 'b'"):
        read([("a", "b"), ("a", "r", "b")])
    with pytest.raises(GraphFormatError, match=r"list object: row 3: a name is empty"):
        read([("a", "r", "b"), ("c", "r", "d"), ("", "r", "e")])
    with pytest.raises(GraphFormatError, match=r"DataFrame object: row 2: the weight .*\n.*-1\.0"):
        read(pd.DataFrame({"head": [1, 2], "tail": [3, 4], "weight": [1.0, -1.0]}))
    with pytest.raises(GraphFormatError, match="Series"):
        read(pd.Series([1]))


def test_bad_rows_can_be_skipped(named: Named) -> None:
    rows = [("a", "r", "b", 1), (None, "r", "b", 1), ("b", "r", "c", -1), ("c", "r", "d", 2), ("c", "", "d", 1)]
    graph = read(rows, skip_bad_lines=True)
    assert named(graph) == [("a", "r", "b", 1.0), ("c", "r", "d", 2.0)]
    assert graph.skipped_lines == 3


def test_labels_and_types_beside_an_object(write: Write) -> None:
    labels, types = write("labels.txt", "a\tAlpha\n"), write("types.txt", "b\tletter\n")
    graph = read(ABC, labels=labels, types=types)
    assert graph.entities.label(0) == "Alpha"
    assert graph.types is not None
    assert graph.types.of_entity.tolist() == [-1, 0, -1]


def test_kinds_may_change_far_down(named: Named) -> None:
    """The kind of a column must not be guessed from its first rows."""
    rows = [(i, "r", i + 1, 1) for i in range(3000)] + [("x", 5, 2.5, 0.25)]
    expected = [(str(h), str(r), str(t), float(w)) for h, r, t, w in rows]
    assert named(read(rows)) == expected
    assert named(read(np.array(rows, dtype=object))) == expected
    assert named(read(pd.DataFrame(rows, dtype=object))) == expected


# Arrays.


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.uint64, ">i4"])
def test_arrays_of_numbers(dtype: Any, named: Named) -> None:
    array = np.array([[0, 1], [7, 0], [200, 7]], dtype=dtype)
    expected = [("0", "edge", "1"), ("7", "edge", "0"), ("200", "edge", "7")]
    assert named(read(array)) == expected
    assert named(read(np.asfortranarray(array))) == expected
    assert named(read(array[::-1])) == expected[::-1]
    wide = np.hstack([array, array])[:, ::2]  # not contiguous
    assert named(read(wide)) == [(a, "edge", a) for a, _, _ in expected]


def test_arrays_of_text(named: Named) -> None:
    assert named(read(np.array(ABC))) == ABC
    assert named(read(np.array(ABC, dtype=object))) == ABC
    assert named(read(np.array([["a", "r", 1], ["é", "r", 2.5]], dtype=object))) == [("a", "r", "1"), ("é", "r", "2.5")]
    assert named(read(np.array([["😀", "r", "a b"]]))) == [("😀", "r", "a b")]


# Tables.

FRAME = {"head": ["a", "b", "a"], "relation": ["r", "s", "r"], "tail": ["b", "c", "c"]}


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "Polars", "Arrow"])
def test_tables(table: Callable[[dict[str, Any]], Any], named: Named) -> None:
    assert named(read(table(FRAME))) == ABC
    turned = {role: FRAME[role] for role in ("tail", "relation", "head")}
    assert named(read(table(turned))) == ABC
    unnamed = dict(zip("xyz", FRAME.values(), strict=True))
    assert named(read(table(unnamed))) == ABC
    stated = read(table(unnamed), columns=("tail", "relation", "head"))
    assert named(stated) == [(t, r, h) for h, r, t in ABC]
    weighted = read(table({**FRAME, "weight": [0.25, 1.0, 3.0]}))
    assert named(weighted) == [(*row, w) for row, w in zip(ABC, [0.25, 1.0, 3.0], strict=True)]
    assert named(read(table({"source": [10, 2], "target": [2, 3]}))) == [("10", "edge", "2"), ("2", "edge", "3")]
    with pytest.raises(GraphFormatError):
        read(table(FRAME), columns=("head", "tail"))


def test_pandas_of_every_kind(named: Named) -> None:
    frame = pd.DataFrame(FRAME)
    for kind in ("category", object, "string"):
        assert named(read(frame.astype(kind))) == ABC
    assert named(read(frame.iloc[::-1])) == ABC[::-1]
    assert named(read(frame.set_index(pd.Index([5, 5, 5])))) == ABC
    assert named(read(pd.DataFrame(ABC))) == ABC  # columns named 0, 1, 2
    assert named(read(pd.DataFrame(ABC, columns=["x", "x", "y"]))) == ABC  # two columns of one name
    nullable = pd.DataFrame({"head": pd.array([1, 2], dtype="Int64"), "tail": pd.array(["x", "y"], dtype="string")})
    assert named(read(nullable)) == [("1", "edge", "x"), ("2", "edge", "y")]


def test_polars_and_arrow_of_every_kind(named: Named) -> None:
    assert named(read(pl.DataFrame(FRAME, schema=dict.fromkeys(FRAME, pl.Categorical)))) == ABC
    assert named(read(pl.concat([pl.DataFrame(FRAME)[:1], pl.DataFrame(FRAME)[1:]], rechunk=False))) == ABC
    table = pa.table(FRAME)
    assert named(read(pa.concat_tables([table[:1], table[1:]]))) == ABC
    assert named(read(table.to_batches()[0])) == ABC
    for kind in (pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.string_view()):
        assert named(read(table.cast(pa.schema([(name, kind) for name in FRAME])))) == ABC
    assert named(read(pa.table([column.combine_chunks() for column in table.columns], names=["x", "x", "y"]))) == ABC


# networkx.


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph])
def test_networkx_edges(kind: type[nx.Graph], named: Named) -> None:
    source = kind()
    source.add_node("first")
    source.add_edges_from([(1, "x"), ("x", 1), (1, 1), ("x", (2, 3)), (1, "x")])
    source.add_node("alone")
    graph = read(source)
    assert graph.kind == ("knowledge" if source.is_directed() else "homogeneous")
    assert list(graph.relations) == ["edge"]
    expected = Counter((str(u), "edge", str(v)) for u, v in source.edges())
    assert Counter(named(graph)) == expected
    assert sorted(graph.entities) == sorted(["first", "1", "x", "(2, 3)", "alone"])
    assert graph.csr.degree[graph.entities.id("alone")] == 0


@pytest.mark.parametrize("kind", [nx.DiGraph, nx.MultiDiGraph])
def test_networkx_relations_and_weights(kind: type[nx.Graph], named: Named) -> None:
    source = kind()
    source.add_edge("a", "b", relation="r", weight=2)
    source.add_edge("b", "a", relation="s")
    source.add_edge("b", "c", relation=5, weight=0.5)
    source.add_edge("c", "a", relation=("two", "parts"))
    source.add_node("alone")
    graph = read(source)
    assert graph.kind == "knowledge"
    expected = {("a", "r", "b", 2.0), ("b", "s", "a", 1.0), ("b", "5", "c", 0.5), ("c", "('two', 'parts')", "a", 1.0)}
    assert set(named(graph)) == expected
    assert len(graph.triplets) == 4
    assert "alone" in graph.entities


def test_networkx_relations_that_are_all_tuples(named: Named) -> None:
    source = nx.DiGraph()
    source.add_edge("a", "b", relation=("r", "s"))
    source.add_edge("b", "c", relation=("r", "t"))
    assert named(read(source)) == [("a", "('r', 's')", "b"), ("b", "('r', 't')", "c")]


def test_networkx_parallel_edges_are_all_kept(named: Named) -> None:
    source = nx.MultiDiGraph()
    for relation in ("r", "s", "r"):
        source.add_edge("a", "b", relation=relation)
    assert named(read(source)) == [("a", "r", "b"), ("a", "s", "b"), ("a", "r", "b")]


# PyTorch Geometric.


@pytest.fixture(scope="module")
def pyg() -> ModuleType:
    with warnings.catch_warnings():  # importing it warns of its own use of torch.jit
        warnings.simplefilter("ignore")
        return pytest.importorskip("torch_geometric.data", reason="torch_geometric is not installed")


def test_pyg_data(pyg: ModuleType, named: Named) -> None:
    edges = torch.tensor([[0, 1, 4], [1, 2, 2]])
    graph = read(pyg.Data(edge_index=edges, num_nodes=6))
    assert graph.kind == "knowledge"  # no edge is there both ways: it is directed
    assert read(pyg.Data(edge_index=edges, num_nodes=6), directed=False).kind == "homogeneous"
    assert named(graph) == [("0", "edge", "1"), ("1", "edge", "2"), ("4", "edge", "2")]
    assert sorted(graph.entities) == ["0", "1", "2", "3", "4", "5"]
    weight = torch.tensor([0.5, 1.0, 2.0], requires_grad=True)
    weighted = read(pyg.Data(edge_index=edges, edge_weight=weight, num_nodes=5))
    assert [row[3] for row in named(weighted)] == [0.5, 1.0, 2.0]


def test_pyg_undirected_data_keeps_each_edge_once(pyg: ModuleType, named: Named) -> None:
    edges = torch.tensor([[0, 1, 1, 2, 3], [1, 0, 2, 1, 3]])
    graph = read(pyg.Data(edge_index=edges, edge_weight=torch.tensor([1.0, 1.0, 2.0, 2.0, 3.0]), num_nodes=4))
    assert named(graph) == [("0", "edge", "1", 1.0), ("1", "edge", "2", 2.0), ("3", "edge", "3", 3.0)]


def test_pyg_data_with_relations(pyg: ModuleType, named: Named) -> None:
    edges = torch.tensor([[0, 1, 2], [1, 0, 2]])
    graph = read(pyg.Data(edge_index=edges, edge_type=torch.tensor([0, 0, 7]), num_nodes=4))
    assert graph.kind == "knowledge"
    assert named(graph) == [("0", "0", "1"), ("1", "0", "0"), ("2", "7", "2")]  # both directions stay
    assert graph.num_nodes == 4


def test_pyg_hetero_data(pyg: ModuleType, named: Named) -> None:
    data = pyg.HeteroData()
    data["drug"].num_nodes = 3
    data["disease"].num_nodes = 2
    data["drug", "treats", "disease"].edge_index = torch.tensor([[0, 1], [1, 0]])
    data["drug", "like", "drug"].edge_index = torch.tensor([[0], [0]])
    data["disease", "like", "disease"].edge_index = torch.tensor([[1], [0]])
    graph = read(data)
    assert named(graph) == [
        ("drug:0", "treats", "disease:1"),
        ("drug:1", "treats", "disease:0"),
        ("drug:0", "drug like drug", "drug:0"),
        ("disease:1", "disease like disease", "disease:0"),
    ]
    assert graph.types is not None
    types = {name: graph.types.names[t] for name, t in zip(graph.entities, graph.types.of_entity, strict=True)}
    assert types == {**{f"drug:{i}": "drug" for i in range(3)}, **{f"disease:{i}": "disease" for i in range(2)}}


def test_pyg_data_without_edges(pyg: ModuleType) -> None:
    empty = torch.zeros((2, 0), dtype=torch.long)
    for data in (pyg.Data(num_nodes=3), pyg.Data(edge_index=empty, num_nodes=3), pyg.HeteroData()):
        with pytest.raises(GraphFormatError) as caught:
            read(data)
        assert caught.value.remedy


def test_masked_values_are_missing() -> None:
    """What lies under a mask is not data."""
    columns = np.ma.masked_array([["a", "r", "b"], ["c", "r", "secret"]], mask=[[0, 0, 0], [0, 0, 1]])
    with pytest.raises(GraphFormatError, match="row 2: a name is empty"):
        read(columns)
    graph = read(columns, skip_bad_lines=True)
    assert list(graph.entities) == ["a", "b"] and graph.skipped_lines == 1
    numbers = np.ma.masked_array([[1, 2], [3, 999]], mask=[[0, 0], [0, 1]])
    assert list(read(numbers, skip_bad_lines=True).entities) == ["1", "2"]
    assert list(read(np.ma.masked_array([[1, 2], [3, 4]])).entities) == ["1", "2", "3", "4"]
    with pytest.raises(GraphFormatError, match="row 2: a name is empty"):
        read([("a", "b"), ("c", np.ma.masked)])


def test_masked_weights_are_missing() -> None:
    rows = np.ma.masked_array([[0, 1, 0.5], [1, 2, 7.0]], mask=[[0, 0, 0], [0, 0, 1]])
    graph = read(rows, columns=["head", "tail", "weight"], skip_bad_lines=True)
    assert graph.triplets.weight is not None and graph.triplets.weight.tolist() == [0.5]


def test_tensors_are_the_numbers_that_they_hold() -> None:
    import torch

    edges = torch.tensor([[0, 1], [1, 2], [10, 0]])
    for source in (edges, edges.tolist(), [(u, v) for u, v in edges], [tuple(row.numpy()) for row in edges]):
        graph = read(source)
        assert list(graph.entities) == ["0", "1", "2", "10"]
        assert graph.triplets.head.tolist() == [0, 1, 3]
    weighted = read([("a", "b", torch.tensor(0.5)), ("b", "c", torch.tensor(2.0))], columns=["head", "tail", "weight"])
    assert weighted.triplets.weight is not None and weighted.triplets.weight.tolist() == [0.5, 2.0]
    with pytest.raises(GraphFormatError, match="row 1: the tail is a Tensor, not a name"):
        read([("a", torch.tensor([1, 2])), ("b", torch.tensor([3, 4]))])
