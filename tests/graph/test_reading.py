"""Good files of every sort are read exactly: names, order, weights, whatever the characters in them."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nbfnet.graph import database
from nbfnet.graph.graph import Graph
from nbfnet.graph.reading.names import BLANKS
from nbfnet.graph.reading.read import read

Write = Callable[[str, bytes | str], Path]
Named = Callable[[Graph], list[tuple[Any, ...]]]
Triple = tuple[str, str, str]

ABC = [("a", "r", "b"), ("b", "s", "c"), ("a", "r", "c")]
ROLES = ("head", "relation", "tail")


def text(rows: Sequence[Sequence[object]], delimiter: str = "\t", end: str = "\n") -> bytes:
    return "".join(delimiter.join(map(str, row)) + end for row in rows).encode()


def appearance(rows: Sequence[Sequence[str]]) -> list[str]:
    """The entities in the order of first appearance, a head before its tail."""
    return list(dict.fromkeys(name for row in rows for name in (row[0], row[2])))


# Separators, line ends, columns.


@pytest.mark.parametrize("delimiter", ["\t", ",", " "], ids=["tabs", "commas", "spaces"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize("suffix", [".tsv", "", ".CSV.gz"])
def test_separators_are_found_in_the_content(delimiter: str, end: str, suffix: str, write: Write, named: Named) -> None:
    content = text(ABC, delimiter, end)
    graph = read(write("graph" + suffix, gzip.compress(content) if suffix.endswith("gz") else content))
    assert named(graph) == ABC
    assert (graph.kind, graph.name, graph.skipped_lines) == ("knowledge", "graph", 0)
    assert list(graph.entities) == ["a", "b", "c"]
    assert list(graph.relations) == ["r", "s"]


@pytest.mark.parametrize("delimiter", ["\t", ",", " ", ";", "|", "'", "é", "\\", "a"])
def test_a_stated_delimiter(delimiter: str, write: Write, named: Named) -> None:
    rows = [("x", "r", "y"), ("y", "s", "z")]
    assert named(read(write("g.txt", text(rows, delimiter)), delimiter=delimiter)) == rows


@pytest.mark.parametrize("delimiter", ["\t", ",", " "], ids=["tabs", "commas", "spaces"])
@pytest.mark.parametrize(
    "content",
    [
        "a{d}r{d}b\nb{d}s{d}c\r\na{d}r{d}c\n",
        "a{d}r{d}b\r\nb{d}s{d}c\na{d}r{d}c\r\n",
        "a{d}r{d}b\nb{d}s{d}c\r\na{d}r{d}c",
        "\ufeffa{d}r{d}b\nb{d}s{d}c\na{d}r{d}c\n",
        "a{d}r{d}b\nb{d}s{d}c\na{d}r{d}c",
        "\n\na{d}r{d}b\n\nb{d}s{d}c\n\n\na{d}r{d}c\n\n",
        "# a comment\n#\n% another\na{d}r{d}b\nb{d}s{d}c\na{d}r{d}c\n",
        "\ufeff# a comment\r\na{d}r{d}b\r\nb{d}s{d}c\r\na{d}r{d}c\r\n",
        "# a comment\n\nhead{d}relation{d}tail\n\na{d}r{d}b\nb{d}s{d}c\na{d}r{d}c",
    ],
    ids=[
        *("one CRLF", "one LF", "mixed and no final newline", "mark", "no final newline", "blank lines", "comments"),
        *("mark, comment, CRLF", "comment, blank, header, blank"),
    ],
)
def test_line_ends_marks_blanks_and_comments(content: str, delimiter: str, write: Write, named: Named) -> None:
    skip = content.startswith("\n")  # blank lines are not bad lines
    graph = read(write("g.txt", content.format(d=delimiter)), skip_bad_lines=skip)
    assert named(graph) == ABC
    assert graph.skipped_lines == 0


def test_mixed_line_ends_in_gzip_csv_with_a_bad_line(write: Write, named: Named) -> None:
    path = write("g.csv.gz", gzip.compress(b'a,r,"b, c"\r\nx,r\nb,s,c\r\nd,r,e\n'))
    graph = read(path, skip_bad_lines=True)
    assert named(graph) == [("a", "r", "b, c"), ("b", "s", "c"), ("d", "r", "e")]
    assert graph.skipped_lines == 1


def test_a_file_of_one_line(write: Write, named: Named) -> None:
    assert named(read(write("g.tsv", b"a\tr\tb"))) == [("a", "r", "b")]
    assert named(read(write("g.txt", b"1 2"))) == [("1", "edge", "2")]


def test_spaces_separate_in_runs_and_quotes_hold_them(write: Write, named: Named) -> None:
    content = '  "New York"   in  USA \n"Los Angeles" in "United States"\n\nSão\u00a0Paulo in Brazil\n'
    expected = [("New York", "in", "USA"), ("Los Angeles", "in", "United States"), ("São\u00a0Paulo", "in", "Brazil")]
    assert named(read(write("g.txt", content))) == expected


def test_commas_follow_csv(write: Write, named: Named) -> None:
    content = '"Paris, Texas",in,USA\n"the ""city""", in ,"a\nb"\nplain,say "hi",x\n'
    expected = [("Paris, Texas", "in", "USA"), ('the "city"', "in", "a\nb"), ("plain", 'say "hi"', "x")]
    assert named(read(write("g.csv", content))) == expected


def test_tabs_take_quotes_and_commas_literally(write: Write, named: Named) -> None:
    rows = [('"a', 'r"', "b, c"), ("''", "s,s", '"'), ('"x y"', "r", "z z")]
    assert named(read(write("g.tsv", text(rows)))) == rows


@pytest.mark.parametrize("suffix", [".csv", ".txt", ".tsv.gz"])
@pytest.mark.parametrize("width", [2, 3, 4])
def test_two_three_and_four_columns(width: int, suffix: str, write: Write, named: Named) -> None:
    rows = [("a", "r", "b", 0.5), ("b", "s", "a", 0), ("c", "r", "c", 1e-3)]
    delimiter = {".csv": ",", ".txt": " "}.get(suffix, "\t")
    columns = {2: (0, 2), 3: (0, 1, 2), 4: (0, 1, 2, 3)}[width]
    content = text([[row[i] for i in columns] for row in rows], delimiter)
    graph = read(write("g" + suffix, gzip.compress(content) if suffix.endswith(".gz") else content))
    assert graph.kind == ("homogeneous" if width == 2 else "knowledge")
    relation = (lambda row: "edge") if width == 2 else (lambda row: row[1])
    assert named(graph) == [(row[0], relation(row), row[2], *row[3:width]) for row in rows]
    assert (graph.triplets.weight is None) == (width < 4)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (("head", "relation", "tail"), ("1", "2", "3")),
        (("tail", "relation", "head"), ("3", "2", "1")),
        (("relation", "head", "tail"), ("2", "1", "3")),
        (("head", "tail", "weight"), ("1", "edge", "2", 3.0)),
        (("weight", "tail", "head"), ("3", "edge", "2", 1.0)),
        (("Head", " TAIL ", "weight"), ("1", "edge", "2", 3.0)),
    ],
)
@pytest.mark.parametrize("delimiter", ["\t", ",", " "])
def test_stated_columns(
    columns: tuple[str, ...], expected: tuple[Any, ...], delimiter: str, write: Write, named: Named
) -> None:
    assert named(read(write("g.txt", text([(1, 2, 3)], delimiter)), columns=columns)) == [expected]


# Headers.

HEADERS = [
    ("words", "head\trelation\ttail\n", ROLES),
    ("capitals and spaces", " Head \tRelation\tTAIL\n", ROLES),
    ("RDF words", "subject\tpredicate\tobject\n", ROLES),
    ("another order", "tail\thead\trelation\n", ("tail", "head", "relation")),
    ("unknown names with a relation", "drug\trelation\tdisease\n", ROLES),
    ("with a weight", "head\trelation\ttail\tscore\n", (*ROLES, "weight")),
    ("weight first", "weight\tsource\ttarget\n", ("weight", "head", "tail")),
    ("homogeneous", "source\ttarget\n", ("head", "tail")),
    ("weighted edges", "from\tto\tweight\n", ("head", "tail", "weight")),
    ("unknown weight", "x\ty\tz\tw\n", (*ROLES, "weight")),
]


@pytest.mark.parametrize(("what", "header", "roles"), HEADERS, ids=[case[0] for case in HEADERS])
@pytest.mark.parametrize("delimiter", ["\t", ","])
def test_headers_are_found(
    what: str, header: str, roles: tuple[str, ...], delimiter: str, write: Write, named: Named
) -> None:
    cells = {"head": ["a", "b"], "relation": ["r", "s"], "tail": ["c", "d"], "weight": ["0.5", "2"]}
    rows = [[cells[role][i] for role in roles] for i in range(2)]
    graph = read(write("g.txt", header.replace("\t", delimiter).encode() + text(rows, delimiter)))
    weighted = "weight" in roles
    relations = cells["relation"] if "relation" in roles else ["edge", "edge"]
    expected = [("a", relations[0], "c", *([0.5] * weighted)), ("b", relations[1], "d", *([2.0] * weighted))]
    assert named(graph) == expected


@pytest.mark.parametrize("delimiter", ["\t", ",", " "])
def test_words_over_numbers_are_a_header(delimiter: str, write: Write, named: Named) -> None:
    content = text([("FromNodeId", "ToNodeId"), (0, 1), (1, 2)], delimiter)
    assert named(read(write("g.txt", content))) == [("0", "edge", "1"), ("1", "edge", "2")]


def test_a_first_edge_is_not_a_header(write: Write, named: Named) -> None:
    for rows in (
        [("a", "r", "b"), ("c", "s", "d")],
        [("a", "link", "b"), ("c", "link", "d")],
        [("1", "r", "2"), ("3", "s", "4")],
        [("head", "r", "tail"), ("a", "r", "b")],
        [("head", "hurts", "neck"), ("a", "s", "b")],
    ):
        assert named(read(write("g.tsv", text(rows)))) == rows


def test_a_stated_header(write: Write, named: Named) -> None:
    path = write("g.tsv", text([("x", "y", "z"), *ABC]))
    assert named(read(path, header=True)) == ABC
    assert named(read(path)) == [("x", "y", "z"), *ABC]
    for first in (("head", "relation", "tail"), ("tail", "relation", "head"), ("to", "link", "from")):
        path = write("g.tsv", text([first, *ABC]))
        assert named(read(path, header=False)) == [first, *ABC]


def test_stated_columns_over_a_header_of_other_words(write: Write, named: Named) -> None:
    path = write("g.csv", "gene,disease,score\nA,X,0.25\nB,Y,1\n")
    expected = [("A", "edge", "X", 0.25), ("B", "edge", "Y", 1.0)]
    assert named(read(path, columns=("head", "tail", "weight"))) == expected
    assert named(read(path, columns=("head", "tail", "weight"), header=True)) == expected


# Names.

NAMES = {
    "spaces": "New York City",
    "double quotes": 'the "Boss"',
    "one double quote": '"',
    "single quotes": "O'Hara''s",
    "commas": "Paris, Texas",
    "number sign": "C#",
    "number sign first": "#1",
    "percent": "100%",
    "emoji": "👩‍👩‍👧‍👦",
    "right to left": "שלום \u202eعربى",
    "combining": "e\u0301\u0323",
    "composed": "é",
    "line separator": "a\u2028b\u2029c",
    "next line": "a\x85b",
    "form feed": "a\x0b\x0cb",
    "separators": "\x1c\x1d\x1e\x1f",
    "one control character": "a\x01b",
    "no-break space": "x\u00a0x",
    "zero width": "\u200b",
    "mark inside": "a\ufeffb",
    "noncharacter": "\uffff\U0010ffff",
    "backslash": r"C:\new\table",
    "backslash N": r"\N",
    "null": "NULL",
    "nan": "nan",
    "true": "true",
    "number": "1e5",
    "leading zero": "007",
    "braces": "{0}%s$1",
    "SQL": "'); DROP TABLE triplet; --",
    "long": "x" * 150_000,
    "very long": "é" * 400_000,
}


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".parquet", ".nt"])
def test_any_name_is_kept(suffix: str, write: Write, named: Named) -> None:
    """All of them in one file, as head, relation and tail: none may be changed, or change what stands beside it."""
    if suffix == ".nt":  # literals stand only at the end
        rows = [("http://x/a", f"http://x/{i}", name) for i, name in enumerate(NAMES.values())]
        escaped = [(h, r, t.replace("\\", r"\\").replace('"', r"\"")) for h, r, t in rows]
        content = "".join(f'<{h}> <{r}> "{t}" .\n' for h, r, t in escaped).encode()
    else:
        rows = [row for i, name in enumerate(NAMES.values()) for row in ((name, "r", f"n{i}"), (f"n{i}", name, name))]
        stream = io.StringIO(newline="")
        csv.writer(stream).writerows(rows)
        content = {
            ".tsv": text(rows),
            ".csv": stream.getvalue().encode(),
            ".parquet": parquet(zip(*rows, strict=True)),
        }[suffix]
    assert named(read(write("g" + suffix, content))) == rows


def parquet(columns: Any, names: Sequence[str] = ROLES) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_arrays([pa.array(list(column)) for column in columns], names=list(names)), stream)
    return stream.getvalue()


# Every character but surrogates, which UTF-8 cannot hold, and those that end a cell or a line, and NUL.
characters = st.characters(exclude_categories=("Cs",), exclude_characters="\t\n\r\0")
common = st.sampled_from("ab,\"# '%é\u2028\x01\ufeff")
names = st.text(characters | common, min_size=1, max_size=5).map(lambda name: name.strip(BLANKS)).filter(bool)
COMMENT = re.compile("[#%]( |$)|\ufeff")  # a first line that begins like this is a comment, or has a mark


@given(rows=st.lists(st.tuples(names, names, names), min_size=1, max_size=12), end=st.sampled_from(["\n", "\r\n"]))
def test_any_triplets_survive_tabs(
    rows: list[Triple], end: str, tmp_path_factory: pytest.TempPathFactory, named: Named
) -> None:
    assume(not COMMENT.match(rows[0][0]))
    path = tmp_path_factory.getbasetemp() / "any.tsv"
    path.write_bytes(text(rows, end=end))
    graph = read(path, header=False)
    assert named(graph) == rows
    assert list(graph.entities) == appearance(rows)
    assert list(graph.relations) == list(dict.fromkeys(row[1] for row in rows))


@given(rows=st.lists(st.tuples(names, names, names), min_size=1, max_size=12), quoting=st.sampled_from([0, 1]))
def test_any_triplets_survive_csv(
    rows: list[Triple], quoting: int, tmp_path_factory: pytest.TempPathFactory, named: Named
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, quoting=quoting).writerows(rows)  # type: ignore[arg-type]
    assume(not COMMENT.match(path.read_text(encoding="utf-8")))
    graph = read(path, header=False)
    assert named(graph) == rows
    assert list(graph.entities) == appearance(rows)


@given(rows=st.lists(st.tuples(names, st.just("r"), names), min_size=2, max_size=8))
@pytest.mark.parametrize("suffix", [".tsv", ".csv"])
def test_any_triplets_survive_detection(
    rows: list[Triple], suffix: str, tmp_path_factory: pytest.TempPathFactory, named: Named
) -> None:
    path = tmp_path_factory.getbasetemp() / f"detected{suffix}"
    if suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows(rows)
    else:
        path.write_bytes(text(rows))
    assume(not COMMENT.match(path.read_text(encoding="utf-8")))
    assert named(read(path)) == rows


@given(rows=st.lists(st.tuples(names, names, names), min_size=1, max_size=8))
def test_any_triplets_survive_parquet(
    rows: list[Triple], tmp_path_factory: pytest.TempPathFactory, named: Named
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.parquet"
    path.write_bytes(parquet(zip(*rows, strict=True)))
    assert named(read(path)) == rows


# The names of files.


@pytest.mark.parametrize("folder", ["relation=x/head=y", "tail=1", "~", "deep/~"])
@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".csv.gz", ".txt", ".parquet"])
def test_the_name_of_a_folder_says_nothing_about_the_graph(
    folder: str, suffix: str, write: Write, named: Named, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB takes key=value in a path for a column, and ~ for the home folder."""
    content = text(ABC, {".tsv": "\t", ".txt": " "}.get(suffix, ","))
    if suffix == ".parquet":
        content = parquet(zip(*ABC, strict=True))
    write(f"{folder}/e{suffix}", gzip.compress(content) if suffix.endswith("gz") else content)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    graph = read(Path(folder) / f"e{suffix}")
    assert named(graph) == ABC
    assert not graph.findings


def test_nor_does_that_of_the_temporary_folder(tmp_path: Path) -> None:
    (tmp_path / "relation=x").mkdir()
    (tmp_path / "e.csv").write_bytes(text(ABC, ","))
    program = f"import nbfnet; print(list(nbfnet.read({str(tmp_path / 'e.csv')!r}).relations))"
    environment = dict(os.environ) | {"TMPDIR": str(tmp_path / "relation=x")}
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, check=True)
    assert shown.stdout == "['r', 's']\n"
    assert list((tmp_path / "relation=x").iterdir()) == []  # its own folder there is gone


@pytest.mark.parametrize(
    "stem",
    [
        *("with space", "it's", 'a"b', "[x]", "a*b", "a?b", "{a,b}", "é漢字😀", "-o", "a%20b", "a#b", "a;b", "$HOME"),
        *("~", "a=1", "a.b.c", ".hidden", "a\\b", "a\nb"),
    ],
)
@pytest.mark.parametrize("suffix", [".csv.gz", ".parquet"])
def test_any_file_name(stem: str, suffix: str, write: Write, named: Named) -> None:
    rows = [("a", "r", "b")]
    content = gzip.compress(text(rows, ",")) if suffix == ".csv.gz" else parquet(zip(*rows, strict=True))
    for other in ("axb", "x", "a", "b"):  # what the name would match if it were a pattern
        write(f"in [x] {{a}}/{other}{suffix}", content * 2)
    path = write(f"in [x] {{a}}/{stem}{suffix}", content)
    graph = read(path)
    assert named(graph) == rows
    assert graph.name == stem


def test_a_link_and_a_relative_path(write: Write, tmp_path: Path, named: Named, monkeypatch: Any) -> None:
    write("real.tsv", text(ABC))
    (tmp_path / "link.tsv").symlink_to("real.tsv")
    (tmp_path / "link[1].tsv").symlink_to("real.tsv")
    monkeypatch.chdir(tmp_path)
    for path in ("link.tsv", "link[1].tsv", "./real.tsv", Path("real.tsv")):
        assert named(read(path)) == ABC
    assert read("real.tsv", name="mine").name == "mine"


# Order and size.


def test_ids_follow_the_order_of_first_appearance_in_a_big_file(write: Write) -> None:
    generator = np.random.default_rng(0)
    head, relation, tail = (generator.integers(0, size, 150_000) for size in (40_000, 7, 40_000))
    weight = np.round(generator.random(150_000), 6)
    content = "".join(f"n{h}\tr{r}\tn{t}\t{w}\n" for h, r, t, w in zip(head, relation, tail, weight, strict=True))
    graph = read(write("g.tsv", content))
    number = {name: i for i, name in enumerate(dict.fromkeys(np.stack([head, tail], 1).ravel().tolist()))}
    assert list(graph.entities) == [f"n{i}" for i in number]
    assert list(graph.relations) == [f"r{i}" for i in dict.fromkeys(relation.tolist())]
    np.testing.assert_array_equal(graph.triplets.head, [number[h] for h in head.tolist()])
    np.testing.assert_array_equal(graph.triplets.tail, [number[t] for t in tail.tolist()])
    np.testing.assert_array_equal(graph.triplets.weight, weight)
    again = read(write("again.tsv.gz", gzip.compress(content.encode(), 1)))
    np.testing.assert_array_equal(again.triplets.head, graph.triplets.head)
    assert list(again.entities) == list(graph.entities)


@given(weights=st.lists(st.floats(0, allow_infinity=False, allow_nan=False), min_size=1, max_size=20))
def test_weights_are_read_to_the_last_digit(weights: list[float], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "weights.tsv"
    path.write_bytes(text([("a", "r", "b", repr(weight)) for weight in weights]))
    assert read(path, header=False).triplets.weight.tolist() == weights  # type: ignore[union-attr]


def test_ways_to_write_a_weight(write: Write) -> None:
    cells = ["1", "1.0", "+1", "1e0", "1E0", ".5", "5.", " 2 ", "0", "-0.0"]
    graph = read(write("g.tsv", text([("a", "r", "b", cell) for cell in cells])))
    assert graph.triplets.weight is not None
    assert graph.triplets.weight.tolist() == [1, 1, 1, 1, 1, 0.5, 5, 2, 0, 0]


# Parquet.


def test_parquet_of_text_numbers_and_categories(write: Write, named: Named) -> None:
    def stored(**columns: Any) -> Path:
        stream = io.BytesIO()
        pq.write_table(pa.table(columns), stream)
        return write("g.parquet", stream.getvalue())

    assert named(read(stored(x=["a"], y=["r"], z=["b"]))) == [("a", "r", "b")]
    assert named(read(stored(x=[1, 20], y=[3, 4]))) == [("1", "edge", "3"), ("20", "edge", "4")]
    assert named(read(stored(x=pa.array([1], pa.uint64()), y=[-3]))) == [("1", "edge", "-3")]
    category = pa.array(["r", "s", "r"]).dictionary_encode()
    expected = [("a", "r", "d"), ("b", "s", "e"), ("c", "r", "f")]
    assert named(read(stored(head=["a", "b", "c"], relation=category, tail=["d", "e", "f"]))) == expected
    assert named(read(stored(object=["d"], score=[0.1], predicate=["r"], subject=["a"]))) == [("a", "r", "d", 0.1)]
    assert named(read(stored(target=["d"], source=["a"]))) == [("a", "edge", "d")]
    assert named(read(stored(x=["d"], y=["a"]), columns=("tail", "head"))) == [("a", "edge", "d")]
    assert named(read(stored(x=["a"], y=["b"], z=[2]), columns=("head", "tail", "weight"))) == [("a", "edge", "b", 2.0)]
    assert named(read(stored(**{'a"b': ["x"], "c'd": ["y"]}))) == [("x", "edge", "y")]
    assert named(read(stored(x=pa.array(["a"], pa.large_string()), y=[" b "]))) == [("a", "edge", "b")]
    weight = [1 / 3, 5e-324, 1.7976931348623157e308]
    assert read(stored(head=[1] * 3, tail=[2] * 3, weight=weight)).triplets.weight.tolist() == weight  # type: ignore[union-attr]


# N-Triples.


def test_ntriples(write: Write, named: Named) -> None:
    content = (
        "# a comment\n"
        "<http://x/a> <http://x/r> <http://x/b> . # another\n"
        "\n"
        '<http://x/a> <http://x/name> "Ann \\"A\\" \\u00e9\\n"@en .\r\n'
        '<http://x/a> <http://x/age> "5"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
        "_:one <http://x/r> _:two .\n"
        "<http://x/é> <http://x/r> _:one ."
    )
    expected = [
        ("http://x/a", "http://x/r", "http://x/b"),
        ("http://x/a", "http://x/name", 'Ann "A" é\n'),
        ("http://x/a", "http://x/age", "5"),
        ("_:one", "http://x/r", "_:two"),
        ("http://x/é", "http://x/r", "_:one"),
    ]
    for path in (
        write("g.nt", content),
        write("g.ntriples", content),
        write("mark.nt", "\ufeff" + content),
        write("g.nt.gz", gzip.compress(content.encode())),
    ):
        graph = read(path)
        assert named(graph) == expected
        assert graph.kind == "knowledge"
        assert graph.triplets.weight is None


def test_ntriples_labels_are_readable_names(write: Write) -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    content = (
        f'<http://x/a> {label} "Ann"@en .\n'
        f'<http://x/a> {label} "Anna"@de .\n'
        "<http://x/a> <http://x/r> <http://x/b> .\n"
        f'<http://x/c> {label} "nobody" .\n'
        f'<http://x/b> {label} "" .\n'
    )
    graph = read(write("g.nt", content))
    assert len(graph.triplets) == 1
    assert list(graph.entities) == ["http://x/a", "http://x/b"]
    assert graph.entities.label(0) == "Ann"
    assert graph.entities.id("Ann") == 0
    labelled = read(write("g.nt", content), labels=write("labels.txt", "http://x/a\tthe side file\n"))
    assert labelled.entities.label(0) == "the side file"


# Files beside the graph.


@pytest.mark.parametrize("gz", [False, True])
def test_labels_and_types(gz: bool, write: Write) -> None:
    def side(name: str, content: str) -> Path:
        data = content.encode()
        return write(name + ".gz", gzip.compress(data)) if gz else write(name, data)

    labels = side("labels.txt", "a\tAlpha, the first\r\n\r\nb\tBe\u2028ta\nx\tnobody\na\tsecond\n")
    types = side("types.tsv", 'c\tdrug\na\t"gene"\nx\tother\n')
    graph = read(write("g.tsv", text([*ABC, ("d", "r", "a")])), labels=labels, types=str(types))
    assert [graph.entities.label(i) for i in range(4)] == ["Alpha, the first", "Be\u2028ta", "c", "d"]
    assert graph.types is not None
    kinds = [None if t < 0 else graph.types.names[t] for t in graph.types.of_entity]
    assert kinds == ['"gene"', None, "drug", None]
    assert graph.types.of_entity.dtype == np.int32


def test_side_files_with_commas(write: Write) -> None:
    graph = read(write("g.tsv", text(ABC)), labels=write("labels.csv", 'a,"Alpha, one"\nb,Beta\n'))
    assert [graph.entities.label(i) for i in range(3)] == ["Alpha, one", "Beta", "c"]


def test_a_graph_says_what_it_is(write: Write) -> None:
    assert repr(read(write("my.tsv", text(ABC)))) == "<Graph 'my': knowledge, 3 entities, 2 relations, 3 triplets>"


# The benchmark graphs.


def test_benchmark_files(data_folder: Path) -> None:
    graph = read(data_folder / "wn18rr" / "train.txt")
    assert (graph.num_relations, len(graph.triplets)) == (11, 86_835)
    lines = (data_folder / "wn18rr" / "train.txt").read_text(encoding="utf-8").splitlines()
    for i in (0, 1, 40_000, len(lines) - 1):
        h, r, t = (int(a[i]) for a in (graph.triplets.head, graph.triplets.relation, graph.triplets.tail))
        assert f"{graph.entities[h]}\t{graph.relations[r]}\t{graph.entities[t]}" == lines[i]
    assert len(read(data_folder / "cora" / "edges.txt").triplets) == 5429


@pytest.mark.parametrize("folder", ["[x]", "*", "a?c", "**", "{a,b}", "[!a]*"])
def test_a_path_is_never_a_pattern(tmp_path, monkeypatch, named, folder):
    """Neither that of the file nor that of temporary files; others lie where a pattern would find them."""
    for name in ("x", "abc", "a", "b", folder):
        (tmp_path / name / "temporary").mkdir(parents=True)
        (tmp_path / name / "g.tsv").write_text(f"{name}\tr\tb\n")
        (tmp_path / name / "g.csv").write_bytes(f'"{name}",r,b\r\nb,r,c\n'.encode())  # mixed line ends
        columns = pa.table({"head": [name], "relation": ["r"], "tail": ["b"]})
        pq.write_table(columns, tmp_path / name / "g.parquet")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / folder / "temporary"))
    database._private_folder.cache_clear()
    try:
        for name in ("g.tsv", "g.parquet"):
            assert named(read(tmp_path / folder / name)) == [(folder, "r", "b")]
        assert named(read(tmp_path / folder / "g.csv")) == [(folder, "r", "b"), ("b", "r", "c")]
        assert any((tmp_path / folder / "temporary").iterdir())
    finally:
        database._private_folder.cache_clear()
