"""A file of queries: triplets with a question mark for what is asked."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nbfnet.errors import GraphFormatError
from nbfnet.prediction.query_file import Query, read_queries

HUB = "北京 市"


@pytest.fixture
def read(tmp_path, things_run):
    def read(text, graph=things_run.graph, name="queries.tsv"):
        file = tmp_path / name
        file.write_text(text, encoding="utf-8")
        return read_queries(file, graph)

    return read


def test_three_columns(read):
    text = f'{HUB}\thas part\t?\n?\tgrößer "als"\tnext\x85line\nbell\x07ring\t?\ttwo\u2028lines\n'
    expected = [Query(HUB, "has part", None), Query(None, 'größer "als"', "next\x85line")]
    expected.append(Query("bell\x07ring", None, "two\u2028lines"))
    assert read(text) == expected
    assert read("head\trelation\ttail\n" + text) == expected
    assert read(text + text) == expected * 2  # a query that is there twice is asked twice


def test_two_columns_leave_the_tail_out(read):
    assert read(f"{HUB}\thas part\nleaf 3\tnext to\n") == [
        Query(HUB, "has part", None),
        Query("leaf 3", "next to", None),
    ]
    assert read("head\trelation\nleaf 3\tnext to\n") == [Query("leaf 3", "next to", None)]


def test_commas_and_quotes(read):
    assert read('"a,b",has part,?\n"Zoë, née X",?,leaf 3\n', name="queries.csv") == [
        Query("a,b", "has part", None),
        Query("Zoë, née X", None, "leaf 3"),
    ]


def test_parquet(tmp_path, things_run):
    file = tmp_path / "queries.parquet"
    pq.write_table(pa.table({"head": [HUB, "?"], "relation": ["next to"] * 2, "tail": ["?", "a,b"]}), file)
    assert read_queries(file, things_run.graph) == [Query(HUB, "next to", None), Query(None, "next to", "a,b")]


def test_a_homogeneous_graph_needs_no_relation(read, friends_run):
    graph, edge = friends_run.graph, friends_run.graph.relations[0]
    assert read("a0\t?\n?\tb leaf 3\n", graph) == [Query("a0", edge, None), Query(None, edge, "b leaf 3")]
    assert read(f"a0\t{edge}\t?\n", graph) == [Query("a0", edge, None)]


def test_a_first_query_is_no_header(read, things_run):
    """Words such as 'link' title a column in other files."""
    import nbfnet

    graph = nbfnet.read([("a", "link", "b"), ("b", "next", "c"), ("c", "next", "a")])
    assert len(read("a\tlink\t?\nb\tnext\t?\nc\tnext\t?\n", graph)) == 3
    numbers = nbfnet.read([("1", "r", "2"), ("x", "s", "3")])
    assert len(read("x\ts\t?\n1\tr\t2\n".replace("\t2\n", "\t?\n"), numbers)) == 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "leaf 3\thas part\t?\nleaf 3\thas part\tleaf 4\n",
            "query 2 does not ask for one part: leaf 3, has part, leaf 4",
        ),
        ("leaf 3\thas part\t?\n?\thas part\t?\n", "query 2"),
        (
            "leaf 3\thas part\t?\nleaf 3\thas part\t?\nlaef 3\thas part\t?\n",
            "queries.tsv, line 3: query 3: unknown entity 'laef 3'; did you mean",
        ),
        ("leaf 3\thas prat\t?\n", "query 1: unknown relation 'has prat'; did you mean 'has part'"),
        ("head\trelation\n\nlaef 3\thas part\n", "queries.tsv, line 3: query 1: unknown entity 'laef 3'"),
        ("Twin\thas part\t?\n", "query 1: entity 'Twin' stands for 2"),
        ("?\thas part\n", "query 1"),
    ],
)
def test_malformed_queries_are_named_with_their_number(read, text, says):
    with pytest.raises(GraphFormatError) as raised:
        read(text)
    assert says in str(raised.value)
    assert "queries.tsv" in str(raised.value)


@pytest.mark.parametrize("content", [b"", b"\x00\x01", "leaf 3\thas part\t\xff".encode("latin-1"), b"alone\n"])
def test_files_that_cannot_be_read(tmp_path, things_run, content):
    file = tmp_path / "queries.tsv"
    file.write_bytes(content)
    with pytest.raises(GraphFormatError, match=r"queries\.tsv"):
        read_queries(file, things_run.graph)
    with pytest.raises(GraphFormatError, match="no such file"):
        read_queries(tmp_path / "gone.tsv", things_run.graph)
