"""A user's mistakes: each ends with exit code 2 and one message with a way out, and leaves nothing behind."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import zipfile
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

GOOD = b"".join(b"a%d\tr\tb%d\n" % (i, i % 9) for i in range(60))
NT = b"<http://x/a> <http://x/r> <http://x/b> .\n"


def parquet(**columns: list[object]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


def zipped(content: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("edges.tsv", content)
    return stream.getvalue()


def store(**changes: object) -> bytes:
    return json.dumps({"format": "nbfnet-store", "version": 1, "name": "x", "split": "as given"} | changes).encode()


@dataclass(frozen=True)
class Case:
    """Files by name, the source and options to give, and what the message must say."""

    what: str
    files: dict[str, bytes]
    source: str
    says: tuple[str, ...]
    options: tuple[str, ...] = field(default=())


SOURCES = [
    # Text.
    Case("empty", {"a.tsv": b""}, "a.tsv", ("a.tsv", "empty")),
    Case("only a header", {"a.csv": b"source,target\n"}, "a.csv", ("a.csv", "no edge")),
    Case("one column", {"a.txt": b"alpha\nbeta\n"}, "a.txt", ("line 1", "'alpha'", "only one column", "--delimiter")),
    Case("six columns", {"a.tsv": b"1\t2\t3\t4\t5\t6\n" * 9}, "a.tsv", ("a.tsv, line 1", "6 columns")),
    Case("a short line", {"a.tsv": GOOD + b"x\ty\n" + GOOD}, "a.tsv", ("line 61", r"'x\ty'", "--skip-bad-lines")),
    Case("an empty name", {"a.csv": b"a,r,b\nc,r,\n"}, "a.csv", ("line 2", "the tail is empty")),
    Case("a word for a weight", {"a.tsv": b"a\tr\tb\t1\nc\tr\td\tmuch\n"}, "a.tsv", ("line 2", "'much'")),
    Case("a negative weight", {"a.txt": b"a r b 1\na r c -2\n"}, "a.txt", ("line 2", "'-2'", "at least 0")),
    Case("a weight of NaN", {"a.csv": b"a,r,b,1\na,r,c,nan\n"}, "a.csv", ("line 2", "'nan'", "finite")),
    Case("an open quote", {"a.csv": b'a,r,b\nc,r,"d\n'}, "a.csv", ("a.csv",)),
    # Bytes.
    Case("Latin-1", {"a.tsv": GOOD + "café\tr\tb\n".encode("latin-1")}, "a.tsv", ("line 61", "not UTF-8")),
    Case("UTF-16", {"a.tsv": GOOD.decode().encode("utf-16")}, "a.tsv", ("UTF-16",)),
    Case("a picture", {"a.txt": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"}, "a.txt", ("binary",)),
    Case("random bytes", {"a.csv": bytes(range(256)) * 9}, "a.csv", ("binary",)),
    Case("a zip archive", {"a.tsv": zipped(GOOD)}, "a.tsv", ("zip",)),
    # Compressed.
    Case("gz that is not", {"a.tsv.gz": GOOD}, "a.tsv.gz", ("not gzip", "rename")),
    Case("not gz that is", {"a.tsv": gzip.compress(GOOD)}, "a.tsv", ("gzip", "rename")),
    Case("cut gz", {"a.tsv.gz": gzip.compress(os.urandom(999))[:-50]}, "a.tsv.gz", ("a.tsv.gz", "gzip", "damaged")),
    Case("empty gz", {"a.tsv.gz": gzip.compress(b"")}, "a.tsv.gz", ("empty",)),
    # Parquet and N-Triples.
    Case("text named parquet", {"a.parquet": GOOD}, "a.parquet", ("Parquet", "rename")),
    Case("cut parquet", {"a.parquet": parquet(head=["a"], tail=["b"])[:60]}, "a.parquet", ("cannot be read",)),
    Case("one column of parquet", {"a.pq": parquet(x=["a", "b"])}, "a.pq", ("expected 2 columns", "x")),
    Case("no name in parquet", {"a.pq": parquet(head=["a", None], tail=["b", "c"])}, "a.pq", ("row 2", "empty")),
    Case("no dot in N-Triples", {"a.nt": NT * 2 + b"<http://x/a> <http://x/r>\n"}, "a.nt", ("a.nt, line 3",)),
    Case("no triple", {"a.nt": b"# nothing\n\n"}, "a.nt", ("no triple",)),
    Case("cut N-Triples gz", {"a.nt.gz": gzip.compress(NT * 999)[:-9]}, "a.nt.gz", ("gzip", "damaged")),
    # Folders and stores.
    Case("a folder without train", {"f/test.txt": GOOD}, "f", ("f: ", "no train file", "train.txt")),
    Case("a bad line of valid", {"f/train.txt": GOOD, "f/valid.txt": b"a\tr\tb\nc\tr\n"}, "f", ("valid.txt, line 2",)),
    Case("other columns", {"f/train.txt": GOOD, "f/test.txt": b"a b\n"}, "f", ("test.txt", "same columns")),
    Case(
        "a relation of the test graph only",
        {"f/train.txt": GOOD, "g/train.txt": b"x\tnew\ty\n"},
        "f",
        ("'new'",),
        ("--test-graph", "g"),
    ),
    Case("a test graph that is not there", {"f/train.txt": GOOD}, "f", ("no such folder",), ("--test-graph", "g")),
    Case("a test graph for a file", {"a.tsv": GOOD, "g/train.txt": GOOD}, "a.tsv", ("folder",), ("--test-graph", "g")),
    Case("a test graph for a dataset", {"g/train.txt": GOOD}, "world", ("test_graph",), ("--test-graph", "g")),
    Case("a store of no JSON", {"s/store.json": b"{"}, "s", ("store is damaged", "nbfnet data convert")),
    Case("a store of the future", {"s/store.json": store(version=99)}, "s", ("version 99", "nbfnet data convert")),
    Case("a store of nothing", {"s/store.json": store()}, "s", ("store is damaged",)),
    # Nothing there.
    Case("a misspelt dataset", {}, "fb15k237", ("'fb15k237'", "did you mean 'fb15k-237'")),
    Case("another misspelt dataset", {}, "Citesear", ("'citeseer'",)),
    Case("no dataset at all", {}, "qqqqqq", ("qqqqqq", "no such file, folder or dataset", "nbfnet data list")),
    Case("no file", {}, "no/such/file.tsv", ("no/such/file.tsv", "no such file, folder or dataset")),
    Case("a file inside a file", {"a.tsv": GOOD}, "a.tsv/b.tsv", ("a.tsv/b.tsv",)),
    Case("no name", {}, "", ("no such file",)),
    Case("a name that is too long", {}, "x" * 5000, ("too long",)),
    # Options.
    Case("unknown roles", {"a.tsv": GOOD}, "a.tsv", ("'foo,bar'", "head"), ("--columns", "foo,bar")),
    Case("no roles", {"a.tsv": GOOD}, "a.tsv", ("''", "head"), ("--columns", "")),
    Case("a role twice", {"a.tsv": GOOD}, "a.tsv", ("'head,head,tail'",), ("--columns", "head,head,tail")),
    Case("too few roles", {"a.tsv": GOOD}, "a.tsv", ("line 1", "expected 2"), ("--columns", "head,tail")),
    Case("too many roles", {"a.tsv": GOOD}, "a.tsv", ("expected 4",), ("--columns", "head,relation,tail,weight")),
    Case("a long separator", {"a.tsv": GOOD}, "a.tsv", ("'::'", "one character"), ("--delimiter", "::")),
    Case("an empty separator", {"a.tsv": GOOD}, "a.tsv", ("''", "one character"), ("--delimiter", "")),
    Case("a quote for a separator", {"a.tsv": GOOD}, "a.tsv", ("""'"'""",), ("--delimiter", '"')),
    Case("the wrong separator", {"a.tsv": GOOD}, "a.tsv", ("only one column",), ("--delimiter", "|")),
    Case("no names", {"a.tsv": GOOD}, "a.tsv", ("n.txt", "no such file"), ("--names", "n.txt")),
    Case("bad names", {"a.tsv": GOOD, "n.txt": b"a\tb\tc\n"}, "a.tsv", ("n.txt, line 1",), ("--names", "n.txt")),
    Case("types of others", {"a.tsv": GOOD, "t.txt": b"x\ty\n"}, "a.tsv", ("t.txt", "no entity"), ("--types", "t.txt")),
    Case("no names for a folder", {"f/train.txt": GOOD}, "f", ("n.txt", "no such file"), ("--names", "n.txt")),
    Case("no such encoding", {"a.tsv": GOOD}, "a.tsv", ("'nonsense'", "latin-1"), ("--encoding", "nonsense")),
    Case("an encoding of bytes", {"a.tsv": GOOD}, "a.tsv", ("'zip'", "latin-1"), ("--encoding", "zip")),
    Case("the wrong encoding", {"a.tsv": GOOD}, "a.tsv", ("a.tsv", "utf-16"), ("--encoding", "utf-16")),
    Case("columns of a dataset", {}, "world", ("known dataset", "columns"), ("--columns", "head,tail")),
]


@pytest.mark.parametrize("command", ["info", "split", "convert"])
@pytest.mark.parametrize("case", SOURCES, ids=lambda case: case.what)
def test_sources_that_cannot_be_read(nbfnet, tmp_path, monkeypatch, listing, case, command):
    for name, content in case.files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    before = listing(tmp_path)
    monkeypatch.chdir(tmp_path)
    output = [] if command == "info" else ["-o", "new/out"]
    nbfnet("data", command, case.source, *case.options, *output).assert_refused(*case.says)
    assert listing(tmp_path) == before


@pytest.mark.parametrize("command", ["split", "convert"])
@pytest.mark.parametrize("content", ["a\tr\tb\n", "a\tr\tb\nc\tr\td\n", "".join(f"a{i} b{i}\n" for i in range(19))])
def test_a_graph_too_small_to_split(nbfnet, tmp_path, command, content):
    (tmp_path / "tiny.tsv").write_text(content)
    output = tmp_path / "out"
    nbfnet("data", command, tmp_path / "tiny.tsv", "-o", output).assert_refused("too few edges", "larger graph")
    assert not output.exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["data", "info"], "Missing argument 'SOURCE'"),
        (["data", "info", "a", "b"], "unexpected extra argument"),
        (["data", "info", "world", "--jason"], "--jason"),
        (["data", "inf", "world"], "Did you mean 'info'"),
        (["dat"], "Did you mean 'data'"),
        (["--jason"], "--jason"),
        (["data", "info", "world", "--columns"], "--columns"),
        (["data", "split", "world"], "--output"),
        (["data", "split", "world", "-o"], "-o"),
        (["data", "convert", "world"], "--output"),
        (["data", "split", "world", "-o", "out", "--seed", "-1"], "--seed"),
        (["data", "split", "world", "-o", "out", "--seed", "many"], "--seed"),
        (["data", "info", "world", "--seed", "1"], "--seed"),
        (["demo", "world"], "unexpected extra argument"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_commands_that_do_not_exist_like_that(nbfnet, tmp_path, monkeypatch, arguments, says):
    monkeypatch.chdir(tmp_path)
    nbfnet(*arguments).assert_refused(says)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("source", ["graph", "dataset"])
@pytest.mark.parametrize("command", ["split", "convert"])
def test_the_papers_split_is_for_homogeneous_graphs(nbfnet, triplets, tmp_path, command, source):
    given = triplets if source == "graph" else "world"
    answer = nbfnet("data", command, given, "--paper-split", "-o", tmp_path / "out")
    assert answer.code == 2
    assert "the paper's split is for" in answer.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("command", ["split", "convert"])
def test_nothing_is_overwritten(nbfnet, triplets, tmp_path, listing, command):
    assert nbfnet("data", command, triplets, "-o", tmp_path / "out").code == 0
    before = listing(tmp_path)
    for output in ("out", "out/train.txt", "out/store.json", "graph.tsv"):
        if (tmp_path / output).exists():
            nbfnet("data", command, triplets, "-o", tmp_path / output).assert_refused(
                "exists already", "choose another"
            )
    assert listing(tmp_path) == before


@pytest.mark.parametrize("command", ["split", "convert"])
@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("graph.tsv/out", ("graph.tsv is a file",)),
        ("graph.tsv/deep/er/out", ("Not a directory",)),
        ("new/" + "x" * 300, ("too long",)),
        ("new/" + "x" * 250, ("too long",)),  # the name itself could be, but not that of a draft
        ("", ("exists already",)),
        (".", ("exists already",)),
        ("empty/.", ("cannot be written",)),
    ],
    ids=lambda value: value[:20] if isinstance(value, str) else "",
)
def test_outputs_that_cannot_be(nbfnet, triplets, tmp_path, monkeypatch, listing, command, output, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    if output == "empty/.":
        monkeypatch.chdir(tmp_path / "empty")
        output = "."
    before = listing(tmp_path)
    nbfnet("data", command, triplets, "-o", output).assert_refused(*says)
    assert listing(tmp_path) == before


@pytest.mark.skipif(sys.platform != "linux", reason="writes below /proc, where nobody can")
@pytest.mark.parametrize("command", ["split", "convert"])
def test_an_output_where_nobody_can_write(nbfnet, triplets, command):
    nbfnet("data", command, triplets, "-o", "/proc/nbfnet").assert_refused("/proc/nbfnet", "cannot be written")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("command", ["split", "convert"])
def test_an_output_where_the_user_cannot_write(nbfnet, triplets, tmp_path, command):
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    nbfnet("data", command, triplets, "-o", closed / "out").assert_refused("Permission denied", "choose another")
    assert list(closed.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="Windows has no named pipes of this sort")
def test_a_pipe_is_not_a_file(nbfnet, tmp_path):
    os.mkfifo(tmp_path / "pipe.tsv")
    nbfnet("data", "info", tmp_path / "pipe.tsv").assert_refused("pipe.tsv", "neither a file nor a folder")
    (tmp_path / "dangling.tsv").symlink_to(tmp_path / "gone.tsv")
    nbfnet("data", "info", tmp_path / "dangling.tsv").assert_refused("dangling.tsv", "no such file")
    (tmp_path / "loop.tsv").symlink_to(tmp_path / "loop.tsv")
    nbfnet("data", "info", tmp_path / "loop.tsv").assert_refused("loop.tsv")


@pytest.mark.parametrize("file", ["train/head.npy", "test/tail.npy", "train/entities/text.npy"])
def test_a_store_with_a_file_that_is_gone(nbfnet, triplets, tmp_path, file):
    assert nbfnet("data", "convert", triplets, "-o", tmp_path / "store").code == 0
    (tmp_path / "store" / file).unlink()
    nbfnet("data", "info", tmp_path / "store").assert_refused("store is damaged", "nbfnet data convert")


@pytest.mark.parametrize("command", ["split", "convert"])
def test_a_full_disk(process, tmp_path, listing, command):
    pytest.importorskip("resource", reason="limits the size of files as Unix does")
    graph = tmp_path / "graph.tsv"
    graph.write_bytes(b"".join(b"a%d\tr\tb%d\n" % (i, i % 99) for i in range(3000)))
    before = listing(tmp_path)
    output = tmp_path / "new" / "out"
    # A file may have 8192 bytes: the error is of the same sort as that of a disk with no room left.
    limited = "import resource as r, nbfnet.cli as c; r.setrlimit(r.RLIMIT_FSIZE, (8192, 8192)); c.main()"
    answer = process("data", command, graph, "-o", output, program=["-c", limited])
    answer.assert_refused(str(output), "cannot be written", "check its space")
    assert listing(tmp_path) == before


def test_no_command_at_all_shows_the_help(nbfnet):
    for arguments in ([], ["data"]):
        answer = nbfnet(*arguments)
        assert answer.code == 2
        assert "Usage: nbfnet" in answer.out + answer.err
