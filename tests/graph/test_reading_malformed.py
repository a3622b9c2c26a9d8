"""Malformed input of every sort: one kind of error, which names the file, the line, the text and the way out."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.errors import GraphFormatError, NbfnetError
from nbfnet.graph.graph import Graph
from nbfnet.graph.loading import load
from nbfnet.graph.reading.folders import read_folder, read_inductive
from nbfnet.graph.reading.read import read

Write = Callable[[str, bytes | str], Path]
Named = Callable[[Graph], list[tuple[str, ...]]]


def parquet(**columns: Any) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def zipped(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("edges.tsv", content)
    return stream.getvalue()


def latin1(text: str) -> bytes:
    return text.encode("latin-1")


GOOD = b"a\tr\tb\n"
NT = b"<http://x/a> <http://x/r> <http://x/b> .\n"
MANY = b"".join(b"a%d\tr\tb%d\n" % (i, i) for i in range(5000))
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1"
NAMES = parquet(head=["a", "b"], relation=["r", "r"], tail=["b", "c"])
BROKEN_GZIP = gzip.compress(b"a\tr\tb\n" * 20, mtime=0)


@dataclass(frozen=True)
class Case:
    """A file's name and content, the line that is at fault, what the error must show of it, what it must say."""

    what: str
    name: str
    content: bytes
    line: int | None = None
    shows: str = ""
    says: str = ""
    options: dict[str, Any] = field(default_factory=dict)


CASES = [
    # The number of columns.
    Case("one column", "a.tsv", b"a\nb\nc\n", 1, "'a'", "only one column"),
    Case("five columns, tabs", "a.tsv", b"a\tb\tc\td\te\nf\tg\th\ti\tj\n", 1, r"'a\tb\tc\td\te'", "5 columns"),
    Case("six columns, commas", "a.csv", b"a,b,c,d,e,f\ng,h,i,j,k,l\n", 1, "'a,b,c,d,e,f'", "6 columns"),
    Case("seven columns, spaces", "a.txt", b"a b c d e f g\n" * 3, 1, "'a b c d e f g'", "7 columns"),
    Case("five columns under a comment", "a.tsv", b"# five\n\na\tb\tc\td\te\n", 3, r"'a\tb\tc\td\te'", "5 columns"),
    Case("too few, tabs", "a.tsv", b"a\tr\tb\nb\tr\nc\tr\td\n", 2, r"'b\tr'", "expected 3 (head, relation, tail)"),
    Case("too few, commas", "a.csv", b"a,r,b\nb,r\nc,r,d\n", 2, "'b,r'", "expected 3 (head, relation, tail)"),
    Case("too few, spaces", "a.txt", b"a r b\nb r\nc r d\n", 2, "'b r'", "expected 3 (head, relation, tail)"),
    Case("too many, tabs", "a.tsv", b"a\tr\tb\nb\tr\tc\td\nc\tr\td\n", 2, r"'b\tr\tc\td'", "expected 3"),
    Case("too many, commas", "a.csv", b"a,r,b\nc,r,d\nb,r,c,d,e\n", 3, "'b,r,c,d,e'", "expected 3"),
    Case("too many, spaces", "a.txt", b"a b\nb c\nNew York USA\n", 3, "'New York USA'", "expected 2 (head, tail)"),
    Case("trailing tab", "a.tsv", b"a\tr\tb\nb\tr\tc\t\n", 2, r"'b\tr\tc\t'", "expected 3"),
    Case("changing midway", "a.tsv", b"a\tr\tb\n" * 9 + b"a\tb\n" * 8, 10, r"'a\tb'", "expected 3"),
    Case("the last line, no final newline", "a.tsv", b"a\tr\tb\nc\tr\td\ne\tr", 3, r"'e\tr'", "expected 3"),
    Case("below a header", "a.csv", b"head,relation,tail\na,r,b\nc,r\n", 3, "'c,r'", "expected 3"),
    Case("below comments", "a.tsv", b"# one\n# two\na\tr\tb\nc\tr\n", 4, r"'c\tr'", "expected 3"),
    Case("below blank lines", "a.csv", b"\n\na,r,b\n\nc,r\n", 5, "'c,r'", "expected 3"),
    Case("CRLF", "a.csv", b"a,r,b\r\nc,r\r\ne,r,f\r\n", 2, "'c,r'", "expected 3"),
    Case("far down", "a.tsv", MANY + b"x\ty\n" + MANY, 5001, r"'x\ty'", "expected 3"),
    Case("far down in gzip", "a.tsv.gz", gzip.compress(MANY + b"x\ty\n"), 5001, r"'x\ty'", "expected 3"),
    Case("below a quoted line break", "a.csv", b'a,r,"b\nx"\nc,r,d\ne,r\n', 4, "'e,r'", "expected 3"),
    # The encoding.
    Case("Latin-1, first line", "a.tsv", latin1("café\tr\tb\na\tr\tb\n"), 1, r"caf\\xe9\tr\tb", "not UTF-8"),
    Case("Latin-1, middle", "a.tsv", latin1("a\tr\tb\nñu\tr\tb\nc\tr\td\n"), 2, r"\\xf1u\tr\tb", "not UTF-8"),
    Case("Latin-1, commas", "a.csv", latin1("a,r,b\nc,r,é\nc,r,d\n"), 2, r"c,r,\\xe9", "not UTF-8"),
    Case("Latin-1, spaces", "a.txt", latin1("a r b\nc r d\nc r é\n"), 3, r"c r \\xe9", "not UTF-8"),
    Case("cut in a character", "a.tsv", b"a\tr\tb\nc\tr\t\xf0\x9f\x98\n", 2, r"\\xf0\\x9f\\x98", "not UTF-8"),
    Case("UTF-16", "a.tsv", "a\tr\tb\n".encode("utf-16"), None, "", "UTF-16"),
    Case("UTF-16 without a mark", "a.tsv", "a\tr\tb\n".encode("utf-16-le"), None, "", "UTF-16"),
    Case("UTF-32", "a.csv", "a,r,b\n".encode("utf-32"), None, "", "binary"),
    Case("UTF-16 in gzip", "a.tsv.gz", gzip.compress("a\tr\tb\n".encode("utf-16")), 1, "", "not UTF-8"),
    # The weight.
    Case("weight: a word", "a.tsv", b"a\tr\tb\t1\nb\tr\tc\theavy\n", 2, "'heavy'", "not a number"),
    Case("weight: a word, commas", "a.csv", b"a,r,b,1\nb,r,c,heavy\n", 2, "'heavy'", "not a number"),
    Case("weight: a word, spaces", "a.txt", b"a r b 1\nb r c heavy\n", 2, "'heavy'", "not a number"),
    Case("weight: negative", "a.tsv", b"a\tr\tb\t1\nb\tr\tc\t-0.5\n", 2, "'-0.5'", "at least 0"),
    Case("weight: NaN", "a.tsv", b"a\tr\tb\t1\nb\tr\tc\tNaN\n", 2, "'NaN'", "finite"),
    Case("weight: infinite", "a.csv", b"a,r,b,1\nb,r,c,inf\n", 2, "'inf'", "finite"),
    Case("weight: too large", "a.tsv", b"a\tr\tb\t1\nb\tr\tc\t1e999\n", 2, "'1e999'", "finite"),
    Case("weight: empty", "a.tsv", b"a\tr\tb\t1\nb\tr\tc\t\n", 2, "''", "not a number"),
    Case("weight: empty, commas", "a.csv", b"a,r,b,1\nb,r,c,\n", 2, "''", "not a number"),
    Case("weight: a decimal comma", "a.tsv", b"a\tr\tb\t1\nb\tr\tc\t1,5\n", 2, "'1,5'", "not a number"),
    Case("weight: other digits", "a.tsv", "a\tr\tb\t1\nb\tr\tc\t３\n".encode(), 2, "'３'", "not a number"),
    Case("weight: below a quoted line break", "a.csv", b'a,r,"b\nx",1\nc,r,d,-1\n', 3, "'-1'", "at least 0"),
    # Nothing in it.
    Case("empty", "a.tsv", b"", None, "", "empty"),
    Case("blank lines", "a.tsv", b"\n\r\n  \n\n", None, "", "empty"),
    Case("only comments", "a.tsv", b"# nothing\n# at all\n", None, "", "empty"),
    Case("only a header", "a.tsv", b"head\trelation\ttail\n", None, "", "no edge"),
    Case("only a header, commas", "a.csv", b"source,target\n\n", None, "", "no edge"),
    Case("only a stated header", "a.csv", b"x,y\n", None, "", "no edge", {"header": True}),
    Case("empty in gzip", "a.tsv.gz", gzip.compress(b""), None, "", "empty"),
    Case("empty N-Triples", "a.nt", b"# nothing\n\n", None, "", "no triple"),
    Case("empty Parquet", "a.parquet", b"", None, "", "empty"),
    Case("Parquet without rows", "a.parquet", parquet(head=[], tail=[]), None, "", "no edge"),
    # Not what the name says.
    Case("text named .gz", "a.tsv.gz", b"a\tr\tb\n", None, "", "not gzip"),
    Case("text named .parquet", "a.parquet", b"a\tr\tb\n", None, "", "says Parquet"),
    Case("TSV named .nt", "a.nt", b"a\tr\tb\n", 1, r"'a\tr\tb'", "N-Triples"),
    Case("Parquet named .tsv", "a.tsv", NAMES, None, "", "Parquet"),
    Case("gzip named .tsv", "a.tsv", gzip.compress(b"a\tr\tb\n"), None, "", "gzip"),
    Case("zip named .tsv", "a.tsv", zipped(b"a\tr\tb\n"), None, "", "zip"),
    Case("PNG named .tsv", "a.tsv", PNG, None, "", "binary"),
    Case("gzip named .parquet", "a.parquet", gzip.compress(NAMES), None, "", "says Parquet"),
    Case("gzip named .nt", "a.nt", gzip.compress(NT), 1, "", "N-Triples"),
    # Damaged.
    Case("gzip cut short", "a.tsv.gz", gzip.compress(MANY)[:-5000], None, "", "gzip"),
    Case("gzip with a wrong checksum", "a.tsv.gz", gzip.compress(MANY)[:-8] + bytes(8), None, "", "damaged"),
    Case("gzip without its end", "a.tsv.gz", gzip.compress(MANY)[:-4], None, "", "gzip"),
    Case("gzip cut in the first lines", "a.tsv.gz", gzip.compress(b"a\tr\tb\n")[:-9], None, "", "damaged"),
    Case("gzip: only its mark", "a.tsv.gz", b"\x1f\x8b", None, "", "damaged"),
    Case("gzip with wrong bytes", "a.tsv.gz", BROKEN_GZIP[:10] + b"\xff" + BROKEN_GZIP[11:], None, "", "damaged"),
    Case("gzip N-Triples cut short", "a.nt.gz", gzip.compress(NT)[:-6], None, "", "damaged"),
    Case("gzip N-Triples with wrong bytes", "a.nt.gz", BROKEN_GZIP[:10] + b"\xff" * 9, None, "", "damaged"),
    Case("Parquet cut short", "a.parquet", NAMES[: len(NAMES) // 2], None, "", "cannot be read"),
    Case("Parquet: only its mark", "a.parquet", b"PAR1", None, "", "cannot be read"),
    Case("Parquet with wrong bytes", "a.parquet", NAMES[:20] + bytes(40) + NAMES[60:], None, "", "cannot be read"),
    Case("N-Triples: no object", "a.nt", NT + b"<http://x/a> <http://x/r>\n" + NT, 2, "<http://x/r>'", "N-Triples"),
    Case("N-Triples: no dot", "a.nt", NT * 3 + b"<http://x/a> <http://x/r> <http://x/b>\n", 4, "http://x/b>'", "dot"),
    Case("N-Triples: Latin-1", "a.nt", NT + latin1('<http://x/a> <http://x/r> "é" .\n'), 2, r"\\xe9", "UTF-8"),
    Case("N-Triples: an empty literal", "a.nt", NT + b'<http://x/a> <http://x/r> "" .\n', 2, '""', "empty"),
    Case("N-Triples: nested", "a.nt", NT + b"<http://x/a> <http://x/r> <<( " + NT[:-3] + b" )>> .\n", 2, "<<("),
    Case("CSV: a quote that never ends", "a.csv", b'a,r,b\nc,r,"d\ne,r,f\n', 2, "'c,r,\"d'", "quoted field"),
    Case("CSV: text after a quote", "a.csv", b'a,r,b\nc,r,"d"x\ne,r,f\n', 2, "'c,r,\"d\"x'", "quoted field"),
    Case("a line of three megabytes", "a.tsv", b"a\tr\tb\n" + b"x" * 3_000_000 + b"\tr\tb\n", 2, "xxx…", "longer than"),
    # Empty names.
    Case("empty head", "a.tsv", b"a\tr\tb\n\tr\tb\n", 2, r"'\tr\tb'", "head is empty"),
    Case("empty relation", "a.tsv", b"a\tr\tb\nc\t\tb\n", 2, r"'c\t\tb'", "relation is empty"),
    Case("empty tail", "a.tsv", b"a\tr\tb\nc\tr\t\n", 2, r"'c\tr\t'", "tail is empty"),
    Case("spaces for a tail", "a.tsv", b"a\tr\tb\nc\tr\t  \n", 2, r"'c\tr\t  '", "tail is empty"),
    Case("only tabs", "a.tsv", b"a\tr\tb\n\t\t\nc\tr\td\n", 2, r"'\t\t'", "head is empty"),
    Case("empty head, commas", "a.csv", b"a,r,b\n,r,c\n", 2, "',r,c'", "head is empty"),
    Case("empty relation, commas", "a.csv", b"a,r,b\nc,,b\n", 2, "'c,,b'", "relation is empty"),
    Case("empty tail in quotes", "a.csv", b'a,r,b\nc,r,""\n', 2, "'c,r,\"\"'", "tail is empty"),
    Case("only commas", "a.csv", b"a,r,b\n,,\nc,r,d\n", 2, "',,'", "head is empty"),
    Case("empty token in quotes", "a.txt", b'a r b\nc r ""\n', 2, "'c r \"\"'", "tail is empty"),
    Case("empty tail, two columns", "a.tsv", b"a\tb\nc\t\n", 2, r"'c\t'", "tail is empty"),
    Case("empty below a quoted line break", "a.csv", b'a,r,"b\nx"\nc,r,d\ne,,f\n', 4, "'e,,f'", "is empty"),
    # Parquet rows and columns.
    Case("Parquet: null head", "a.parquet", parquet(head=["a", None], tail=["b", "c"]), None, "c", "row 2"),
    Case("Parquet: null number", "a.parquet", parquet(head=[1, 2], tail=[3, None]), None, "2", "row 2"),
    Case("Parquet: empty relation", "a.parquet", parquet(head=["a"], relation=[""], tail=["b"]), None, "a", "row 1"),
    Case("Parquet: negative weight", "a.parquet", parquet(head=[1], tail=[2], weight=[-2.5]), None, "-2.5", "row 1"),
    Case("Parquet: weight NaN", "a.parquet", parquet(head=[1], tail=[2], weight=[float("nan")]), None, "1", "weight"),
    Case("Parquet: null weight", "a.parquet", parquet(head=[1], tail=[2], weight=[None]), None, "1", "weight"),
    Case("Parquet: one column", "a.parquet", parquet(only=["a"]), None, "only", "got 1"),
    Case("Parquet: five columns", "a.parquet", parquet(**{c: [1] for c in "abcde"}), None, "a, b, c, d, e", "got 5"),
    Case("Parquet: stated columns", "a.parquet", NAMES, None, "relation", "got 3", {"columns": ("head", "tail")}),
    # Stated wrongly.
    Case("stated columns do not fit", "a.tsv", GOOD, 1, r"'a\tr\tb'", "expected 2", {"columns": ["head", "tail"]}),
    Case("stated delimiter is not there", "a.tsv", b"a\tr\tb\n", 1, r"'a\tr\tb'", "one column", {"delimiter": ";"}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_a_malformed_file_names_file_line_text_and_way_out(case: Case, write: Write) -> None:
    path = write(case.name, case.content)
    with pytest.raises(GraphFormatError) as caught:
        read(path, **case.options)
    error, message = caught.value, str(caught.value)
    assert message.startswith(f"{path}: " if case.line is None else f"{path}, line {case.line}: ")
    assert error.line == case.line
    assert case.shows in message
    assert case.says.casefold() in message.casefold()
    assert error.remedy
    assert f"what to do: {error.remedy}" in message
    assert len(message) < 800 + len(str(path))  # a line of megabytes is not repeated in full
    assert error.__suppress_context__ or error.__context__ is None  # one clear message, no chain of tracebacks


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ({"delimiter": "::"}, "'::'"),
        ({"delimiter": "\n"}, r"'\n'"),
        ({"delimiter": '"'}, "'\"'"),
        ({"columns": ("head", "nonsense")}, "nonsense"),
        ({"columns": ("head", "head", "tail")}, "head,head,tail"),
        ({"columns": ("head", "relation")}, "head,relation"),
    ],
)
def test_an_impossible_option_is_refused(option: dict[str, Any], says: str, write: Write) -> None:
    with pytest.raises(GraphFormatError) as caught:
        read(write("a.tsv", b"a\tr\tb\nc\tr\td\n"), **option)
    assert says in str(caught.value)
    assert caught.value.remedy


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.tsv", tmp_path / "missing.parquet", tmp_path / "missing.nt", tmp_path):
        with pytest.raises(GraphFormatError) as caught:
            read(path)
        assert str(path) in str(caught.value)
        assert caught.value.remedy


@pytest.mark.parametrize("source", ["x" * 5000, "a\tr\tb\n" * 1000, "a\0b", "", "missing/file.tsv", "a\ud800"])
def test_text_that_cannot_be_a_path(source: str) -> None:
    with pytest.raises(GraphFormatError) as caught:
        read(source)
    assert caught.value.remedy
    assert len(str(caught.value)) < 1000


def test_a_file_in_place_of_a_folder_of_the_path(write: Write) -> None:
    with pytest.raises(GraphFormatError):
        read(write("a.tsv", b"a\tr\tb\n") / "b.tsv")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
@pytest.mark.parametrize("name", ["a.tsv", "a.parquet", "a.nt", "a.tsv.gz"])
def test_a_file_without_permission(name: str, write: Write) -> None:
    path = write(name, b"a\tr\tb\n")
    path.chmod(0)
    with pytest.raises(GraphFormatError, match="permission"):
        read(path)


BAD_LINES = {
    "\t": [b"x\tr", b"x\tr\ty\tz", b"x", b"\tr\ty", b"x\t\ty", b"x\tr\t", b"\xff\tr\ty", b"\t\t", b"a\tb\tc\td\te"],
    ",": [b"x,r", b"x,r,y,z", b"x", b",r,y", b"x,,y", b"x,r,", b"\xff,r,y", b",,", b'x,r,"y"z', b"a,b,c,d,e"],
    " ": [b"x r", b"x r y z", b"x", b"\xff r y", b'x r ""', b"a b c d e"],
}


@pytest.mark.parametrize("delimiter", BAD_LINES, ids=["tabs", "commas", "spaces"])
@pytest.mark.parametrize("suffix", [".txt", ".txt.gz"])
def test_skipping_counts_exactly_and_keeps_the_order(delimiter: str, suffix: str, write: Write, named: Named) -> None:
    good = [("a", "r", "b"), ("c", "s", "d"), ("a", "r", "b"), ("b", "s", "a")]
    lines = [delimiter.join(good[0]).encode(), b""]
    for i, bad in enumerate(BAD_LINES[delimiter]):
        lines += [bad, b"", delimiter.join(good[i % 4]).encode(), delimiter.join(good[(i + 1) % 4]).encode()]
    content = b"\n".join(lines) + b"\n"
    path = write("a" + suffix, gzip.compress(content) if suffix.endswith(".gz") else content)
    graph = read(path, skip_bad_lines=True)
    expected = [good[0]]
    for i in range(len(BAD_LINES[delimiter])):
        expected += [good[i % 4], good[(i + 1) % 4]]
    assert named(graph) == expected
    assert graph.skipped_lines == len(BAD_LINES[delimiter])
    with pytest.raises(GraphFormatError):
        read(path)


@given(
    delimiter=st.sampled_from(list(BAD_LINES)),
    plan=st.lists(st.tuples(st.booleans(), st.integers(0, 100)), min_size=1, max_size=30),
    end=st.sampled_from([b"\n", b"\r\n"]),
)
def test_any_mixture_of_good_and_bad_lines(
    delimiter: str,
    plan: list[tuple[bool, int]],
    end: bytes,
    tmp_path_factory: pytest.TempPathFactory,
    named: Named,
) -> None:
    path = tmp_path_factory.getbasetemp() / "mixture.txt"
    lines, good = [], []
    for is_good, number in [*plan, (True, 0)]:
        if is_good:
            good.append((f"e{number}", f"r{number % 3}", f"é{number // 2}"))
            lines.append(delimiter.join(good[-1]).encode())
        else:
            lines.append(BAD_LINES[delimiter][number % len(BAD_LINES[delimiter])])
    path.write_bytes(end.join(lines))
    stated = {"delimiter": delimiter, "header": False, "columns": ("head", "relation", "tail")}
    graph = read(path, skip_bad_lines=True, **stated)  # type: ignore[arg-type]
    assert named(graph) == good
    assert graph.skipped_lines == len(lines) - len(good)


def test_skipping_bad_weights(write: Write, named: Named) -> None:
    weights = ["1", "x", "2.5", "-1", "nan", "inf", "", "0", "1e3"]
    text = "".join(f"a{i}\tr\tb\t{weight}\n" for i, weight in enumerate(weights))
    graph = read(write("a.tsv", text), skip_bad_lines=True)
    assert named(graph) == [("a0", "r", "b", 1.0), ("a2", "r", "b", 2.5), ("a7", "r", "b", 0.0), ("a8", "r", "b", 1e3)]
    assert graph.skipped_lines == 5


def test_skipping_in_parquet_and_ntriples(write: Write, named: Named) -> None:
    rows = parquet(head=["a", None, "b", "c", ""], tail=["b", "x", "c", "d", "e"], weight=[1.0, 1.0, 2.0, -1.0, 1.0])
    graph = read(write("a.parquet", rows), skip_bad_lines=True)
    assert named(graph) == [("a", "edge", "b", 1.0), ("b", "edge", "c", 2.0)]
    assert graph.skipped_lines == 3
    graph = read(write("a.nt", b"nonsense\n" + NT + b"\n# comment\n<http://x/a> .\n" + NT), skip_bad_lines=True)
    assert named(graph) == [("http://x/a", "http://x/r", "http://x/b")] * 2
    assert graph.skipped_lines == 2


def test_nothing_is_left_after_skipping(write: Write) -> None:
    for name, content in (("a.tsv", b"\tr\tb\n"), ("a.nt", b"a\tr\tb\n"), ("a.parquet", parquet(a=[None], b=["x"]))):
        with pytest.raises(GraphFormatError, match=r"no (edge|triple)"):
            read(write(name, content), skip_bad_lines=True)


def test_a_good_file_skips_nothing(write: Write) -> None:
    assert read(write("a.tsv", b"a\tr\tb\n\nc\tr\td\n"), skip_bad_lines=True).skipped_lines == 0


# Files beside the graph.

SIDE_CASES = [
    ("one column", b"a\tAlpha\nb\n", 2, "'b'"),
    ("three columns", b"a\tAlpha\nb\tBeta\tB\n", 2, r"'b\tBeta\tB'"),
    ("Latin-1", latin1("a\tAlpha\nb\tBêta\n"), 2, r"B\\xeata"),
    ("Latin-1 first", latin1("a\tÄlpha\nb\tBeta\n"), 1, r"\\xc4lpha"),
    ("empty name", b"a\tAlpha\n\tBeta\n", 2, r"'\tBeta'"),
    ("empty value", b"a\tAlpha\nb\t\n", 2, r"'b\t'"),
    ("empty", b"", None, ""),
    ("binary", PNG, None, ""),
    ("no columns", b"Alpha\nBeta\n", 1, "'Alpha'"),
]


@pytest.mark.parametrize("side", ["labels", "types"])
@pytest.mark.parametrize(("what", "content", "line", "shows"), SIDE_CASES, ids=[case[0] for case in SIDE_CASES])
def test_a_malformed_side_file(
    side: str, what: str, content: bytes, line: int | None, shows: str, write: Write
) -> None:
    path = write(f"{side}.txt", content)
    graph = write("a.tsv", b"a\tr\tb\n")
    with pytest.raises(GraphFormatError) as caught:
        read(graph, **{side: path})  # type: ignore[arg-type]
    assert str(caught.value).startswith(f"{path}: " if line is None else f"{path}, line {line}: ")
    assert shows in str(caught.value)
    assert caught.value.remedy


@pytest.mark.parametrize("side", ["labels", "types"])
def test_a_missing_side_file(side: str, write: Write, tmp_path: Path) -> None:
    graph = write("a.tsv", b"a\tr\tb\n")
    for path in (tmp_path / "missing.txt", tmp_path):
        with pytest.raises(GraphFormatError) as caught:
            read(graph, **{side: path})  # type: ignore[arg-type]
        assert str(path) in str(caught.value)
        assert caught.value.remedy


@pytest.mark.parametrize("side", ["labels", "types"])
@pytest.mark.parametrize("content", [gzip.compress(b"a\tAlpha\n" * 9)[:-9], b"a\tAlpha\n"], ids=["cut", "text"])
def test_a_damaged_gzip_side_file(side: str, content: bytes, write: Write) -> None:
    path = write("side.txt.gz", content)
    with pytest.raises(GraphFormatError, match="gzip") as caught:
        read(write("a.tsv", b"a\tr\tb\n"), **{side: path})  # type: ignore[arg-type]
    assert str(path) in str(caught.value)


def test_types_that_fit_no_entity(write: Write) -> None:
    types = write("types.txt", b"x\tdrug\n")
    with pytest.raises(GraphFormatError, match="no entity"):
        read(write("a.tsv", b"a\tr\tb\n"), types=types)


# Folders.

FOLDER_CASES: list[tuple[str, dict[str, bytes], str, str]] = [
    ("empty folder", {"notes.md": b"x"}, "", "no train file"),
    ("only valid and test", {"valid.txt": GOOD, "test.txt": GOOD}, "", "no train file"),
    ("empty train", {"train.txt": b""}, "train.txt", "empty"),
    ("empty test", {"train.txt": GOOD, "test.txt": b""}, "test.txt", "empty"),
    ("bad line in valid", {"train.txt": GOOD, "valid.txt": GOOD + b"c\tr\n"}, "valid.txt, line 2", "expected 3"),
    ("2 after 3 columns", {"train.txt": GOOD, "valid.txt": b"a\tb\n"}, "valid.txt", "head, relation, tail"),
    ("3 after 2 columns", {"train.txt": b"a\tb\n", "test.txt": GOOD}, "test.txt", "head, tail"),
    ("2 in Parquet after 3", {"train.txt": GOOD, "test.parquet": parquet(a=[1], b=[2])}, "test.parquet", "columns"),
    ("N-Triples after 2", {"train.txt": b"a\tb\n", "test.nt": NT}, "test.nt", "columns"),
    ("labels", {"train.txt": GOOD, "entity_names.txt": b"a\tA\nb\n"}, "entity_names.txt, line 2", "expected 2"),
    ("types", {"train.txt": GOOD, "entity_types.txt": b"a\tA\tB\n"}, "entity_types.txt, line 1", "expected 2"),
    ("relations", {"train.txt": GOOD, "relation_names.txt": b"r\tR\nx\n"}, "relation_names.txt, line 2", "expected 2"),
    ("list of entities", {"train.txt": GOOD, "entities.txt": latin1("a\né\n")}, "entities.txt, line 2", "UTF-8"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "files", "place", "says"), FOLDER_CASES, ids=[case[0] for case in FOLDER_CASES])
def test_a_malformed_folder(what: str, files: dict[str, bytes], place: str, says: str, write: Write) -> None:
    for name, content in files.items():
        folder = write(f"dataset/{name}", content).parent
    with pytest.raises(GraphFormatError) as caught:
        read_folder(folder, "dataset")
    assert str(caught.value).startswith(f"{folder / place}: ")
    assert says in str(caught.value)
    assert caught.value.remedy


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(GraphFormatError) as caught:
        read_folder(tmp_path / "missing", "missing")
    assert str(tmp_path / "missing") in str(caught.value)


def test_skipping_in_a_folder_counts_all_parts(write: Write) -> None:
    for part, content in (
        ("train", b"a\tr\tb\nx\nb\tr\tc\n"),
        ("valid", b"a\tr\tc\n\tr\tb\n"),
        ("test", b"c\tr\ta\nx\n"),
    ):
        folder = write(f"d/{part}.txt", content).parent
    stated = {"delimiter": "\t", "columns": ("head", "relation", "tail")}
    dataset = read_folder(folder, "d", skip_bad_lines=True, **stated)  # type: ignore[arg-type]
    assert dataset.train.skipped_lines == 3
    assert (len(dataset.train.triplets), len(dataset.valid), len(dataset.test)) == (2, 1, 1)


@pytest.mark.parametrize("part", ["train", "test"])
def test_an_inductive_test_graph_with_an_unseen_relation(part: str, write: Write) -> None:
    folder = write("x/train.txt", b"a\tr\tb\n").parent
    write("x/valid.txt", b"b\tr\ta\n")
    write("x_ind/train.txt", b"c\tr\td\n")
    write("x_ind/test.txt", b"d\tr\tc\n")
    write(f"x_ind/{part}.txt", b"c\tr\td\nc\tnever seen\td\n")
    with pytest.raises(GraphFormatError, match="'never seen'") as caught:
        read_inductive(folder, "x")
    assert "x_ind" in str(caught.value)
    assert caught.value.remedy


def test_an_inductive_test_graph_that_is_homogeneous(write: Write) -> None:
    folder = write("x/train.txt", b"a\tr\tb\n").parent
    write("x_ind/train.txt", b"c\td\n")
    with pytest.raises(GraphFormatError):
        read_inductive(folder, "x")


@given(content=st.binary(max_size=60), suffix=st.sampled_from([".tsv", ".csv", ".nt", ".parquet", ".tsv.gz", ".nt.gz"]))
def test_noise_is_read_or_refused_but_never_crashes(
    content: bytes, suffix: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"noise{suffix}"
    path.write_bytes(content)
    for skip in (False, True):
        try:
            graph = read(path, skip_bad_lines=skip)
        except NbfnetError as error:
            assert str(path) in str(error)
        else:
            assert len(graph.triplets) > 0


@given(
    content=st.text(st.sampled_from('abé,\t "\n\r#%1.5\u2028\x01\ufeff'), max_size=40),
    suffix=st.sampled_from([".tsv", ".csv"]),
    options=st.fixed_dictionaries(
        {},
        optional={
            "delimiter": st.sampled_from(["\t", ",", " ", ";", "a"]),
            "header": st.booleans(),
            "columns": st.sampled_from([("head", "tail"), ("tail", "head", "weight"), ("head", "relation", "tail")]),
        },
    ),
)
def test_near_misses_are_read_or_refused_but_never_crash(
    content: str, suffix: str, options: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"near{suffix}"
    path.write_bytes(content.encode())
    for skip in (False, True):
        try:
            graph = read(path, skip_bad_lines=skip, **options)
        except NbfnetError as error:
            assert str(path) in str(error)
            assert "what to do" in str(error)
        else:
            assert len(graph.triplets) > 0
            assert all(name.strip(" ") for name in [*graph.entities, *graph.relations])


@pytest.mark.parametrize("option", [{"delimiter": ";"}, {"header": True}, {"header": False}])
def test_options_of_text_are_refused_where_they_have_no_effect(option, tmp_path):
    (tmp_path / "a.nt").write_text("<a> <r> <b> .\n")
    for source in ([("a", "r", "b")], tmp_path / "a.nt"):
        with pytest.raises(GraphFormatError, match=f"leave out: {next(iter(option))}"):
            read(source, **option)


def test_nodes_of_a_known_graph_that_are_not_numbers(tmp_path, monkeypatch):
    (tmp_path / "cora").mkdir()
    (tmp_path / "cora" / "edges.txt").write_text("0\t1\n1\tBob\n")
    monkeypatch.setenv("NBFNET_DATA", str(tmp_path))
    with pytest.raises(GraphFormatError, match=r"edges\.txt.*'Bob' is not a number"):
        load("cora")


@pytest.mark.parametrize("number", ["2708", "-1", "3000000000", "9" * 5000, "1e3", "٣"])
def test_a_node_of_a_known_dataset_beyond_its_numbers(tmp_path, monkeypatch, number):
    (tmp_path / "cora").mkdir()
    (tmp_path / "cora" / "edges.txt").write_text(f"0\t2707\n0\t1\n5\t{number}\n", encoding="utf-8")
    monkeypatch.setenv("NBFNET_DATA", str(tmp_path))
    with pytest.raises(
        GraphFormatError, match=r"edges\.txt, line 3: the node '.*' is not a number from 0 to 2707"
    ) as error:
        load("cora")
    assert number[:100] in str(error.value) and error.value.remedy
    assert len(str(error.value)) < 1000


def pack_long_line(path, start, megabytes=40):
    """A small gzip file of 250 good lines, then one that begins like this and is very long."""
    good = "".join(f"a{i}\tr\tb{i}\n".replace("\t", start[1]) for i in range(250))
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write((good + start).encode())
        for _ in range(megabytes):
            file.write(b"x" * 1_000_000)
        file.write(b"\nc\tr\td\n".replace(b"\t", start[1].encode()))
    return path


@pytest.mark.parametrize("options", [{}, {"skip_bad_lines": True}, {"encoding": "latin-1"}])
@pytest.mark.parametrize("start", ["a\tr\t", "a,r,", 'a,r,"', "a r "])
def test_a_line_that_does_not_fit_into_memory(tmp_path, start, options):
    """DuckDB leaves lines of more than 32 million bytes out without a word."""
    path = pack_long_line(tmp_path / "g.txt.gz", start)
    with pytest.raises(GraphFormatError, match=r"g\.txt\.gz, line 251: the line is longer than 16 million bytes"):
        read(path, **options)


def test_a_line_that_does_not_fit_into_memory_beside_the_graph(tmp_path):
    path = pack_long_line(tmp_path / "labels.tsv.gz", "a\tb")
    with pytest.raises(GraphFormatError, match=r"labels\.tsv\.gz, line (1|251): "):
        read([("a", "r", "b")], labels=path)
    (tmp_path / "g.nt").write_bytes(b"<http://a> <http://r> <http://b> .\n<" + b"x" * 20_000_000)
    with pytest.raises(GraphFormatError, match=r"g\.nt, line 2: the line is longer than 16 million bytes"):
        read(tmp_path / "g.nt", skip_bad_lines=True)


def test_quotes_that_never_end(tmp_path):
    """A field that Python's reader gives up on is the end of what it can tell."""
    good = "".join(f"a{i},r,b{i}\n" for i in range(250))
    for ending in ("\n", "\r\n"):  # mixed ends are copied first
        (tmp_path / "g.csv").write_bytes((good + 'a,r,"' + f"x,r,y{ending}" * 6_000_000).encode())
        with pytest.raises(GraphFormatError, match=r"g\.csv, line 251: a quoted field does not end"):
            read(tmp_path / "g.csv")


MEASURE = """
import resource, sys
from nbfnet.errors import GraphFormatError
from nbfnet.graph.reading.read import read
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read(sys.argv[1])
except GraphFormatError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="counts memory as Linux does")
def test_a_small_file_with_a_huge_line_takes_little_memory(tmp_path):
    path = pack_long_line(tmp_path / "g.tsv.gz", "a\tr\t", megabytes=300)
    assert path.stat().st_size < 2_000_000
    shown = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, timeout=180)
    assert int(shown.stdout) < 300_000, shown.stderr  # kilobytes
