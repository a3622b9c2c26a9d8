"""Conversion within a limit of memory writes the store that reading all at once would write, or nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

from nbfnet.errors import ConfigError, GraphFormatError, NotEnoughMemoryError, WriteError
from nbfnet.graph import conversion, fact_rows
from nbfnet.graph.conversion import convert
from nbfnet.graph.graph import Dataset
from nbfnet.graph.loading import load, open_source
from nbfnet.graph.reading import mapped_index, name_numbers, triplet_table
from nbfnet.graph.store import read_store, write_store
from nbfnet.graph.workspace import current_workspace, workspace
from nbfnet.native import native

MEMORY = 256 << 20
needs_extension = pytest.mark.skipif(native is None, reason="there is no compiled extension")


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """So that a small graph takes many chunks and passes."""
    monkeypatch.setattr(fact_rows, "_CHUNK", 13)
    monkeypatch.setattr(fact_rows, "_BYTES_PER_FACT", MEMORY // 60)
    monkeypatch.setattr(mapped_index, "_CHUNK", 11)


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def write_sources(folder: Path) -> dict[str, Path]:
    """The same kinds of sources that any command takes."""
    generator = np.random.default_rng(0)
    names = ["a", "é😀", "x" * 300, *(f"http://example.org/{i}" for i in range(40))]
    rows = [
        (names[h], f"r{r}", names[t], w)
        for h, r, t, w in zip(*generator.integers(0, [[43], [3], [43], [9]], (4, 200)).tolist(), strict=True)
    ]
    split = folder / "split"
    split.mkdir(parents=True)
    for part, chosen in (("train", rows[:160]), ("valid", rows[160:180]), ("test", rows[180:])):
        (split / f"{part}.txt").write_text("".join("\t".join(map(str, row[:3])) + "\n" for row in chosen))
    (split / "entity_types.txt").write_text(
        "".join(f"{name}\t{'odd' if len(name) % 2 else 'even'}\n" for name in names)
    )
    (split / "entity_names.txt").write_text("a\tAlpha\nnobody\tNobody\n")
    (split / "entities.txt").write_text("lonely\na\nlonelier\nlonely\n")
    weighted = folder / "weighted.tsv"
    weighted.write_text("head\trelation\ttail\tweight\n" + "".join("\t".join(map(str, row)) + "\n" for row in rows))
    pairs = folder / "pairs.csv"
    pairs.write_text("".join(f"{h},{t}\n" for h, _, t, _ in rows))
    inductive, twin = folder / "v1", folder / "v1_ind"
    for place, parts in ((inductive, ("train", "valid")), (twin, ("train", "valid", "test"))):
        place.mkdir()
        for part in parts:
            (place / f"{part}.txt").write_text((split / f"{part}.txt").read_text())
    parquet = folder / "parquet"
    parquet.mkdir()
    columns = "head: r[1], relation: r[2], tail: r[3], weight: r[4]"
    for part, chosen in (("train", rows[:160]), ("valid", rows[160:180]), ("test", rows[180:])):
        # Names with spaces around them, and numbers as weights.
        listed = [[f" {h}" if i % 7 == 0 else h, r, t, str(w)] for i, (h, r, t, w) in enumerate(chosen)]
        query = f"SELECT unnest({{{columns}}}) FROM (SELECT unnest(?) AS r)"
        file = parquet / f"{part}.parquet"
        duckdb.connect().execute(f"COPY ({query}) TO '{file}' (FORMAT parquet, ROW_GROUP_SIZE 2048)", [listed])
    unnamed = folder / "unnamed.parquet"  # its relation stands first, and nothing says so
    query = "SELECT r[2] AS a, r[1] AS b, r[3] AS c FROM (SELECT unnest(?) AS r)"
    listed = [[h, r, t] for h, r, t, _ in rows]
    duckdb.connect().execute(f"COPY ({query}) TO '{unnamed}' (FORMAT parquet)", [listed])
    return {
        "split": split,
        "weighted": weighted,
        "pairs": pairs,
        "inductive": inductive,
        "parquet": parquet,
        "unnamed": unnamed,
    }


@pytest.mark.parametrize("compiled", [pytest.param(True, marks=needs_extension), False])
@pytest.mark.parametrize("kind", ["split", "weighted", "pairs", "inductive", "parquet", "unnamed"])
def test_it_writes_what_reading_at_once_would_write(kind: str, compiled: bool, tmp_path: Path, monkeypatch) -> None:
    if not compiled:
        monkeypatch.setattr(name_numbers, "native", None)
    source = write_sources(tmp_path / "sources")[kind]
    options = {"test_graph": tmp_path / "sources" / "v1_ind"} if kind == "inductive" else {}
    write_store(load(source, **options), tmp_path / "whole")
    made = convert(lambda: open_source(source, **options), tmp_path / "store", memory=MEMORY)
    assert content_of(tmp_path / "store") == content_of(tmp_path / "whole")
    dataset = read_store(tmp_path / "store", check=True)
    assert (made.train, made.valid, made.test) == (len(dataset.train.triplets), len(dataset.valid), len(dataset.test))
    assert current_workspace() is None


@pytest.mark.parametrize("kind", ["weighted", "parquet", "unnamed"])
def test_findings_are_those_of_reading_at_once(kind: str, tmp_path: Path) -> None:
    source = write_sources(tmp_path / "sources")[kind]
    (tmp_path / "work").mkdir()
    with workspace(tmp_path / "work" / "here", MEMORY):
        inside = open_source(source)
    outside = open_source(source)
    if isinstance(inside, Dataset) and isinstance(outside, Dataset):
        inside, outside = inside.train, outside.train
    assert inside.findings == outside.findings
    assert inside.findings
    assert isinstance(inside.triplets.head, np.memmap)
    assert isinstance(inside.entities.names.text, np.memmap)


def test_bad_rows_of_a_parquet_file_are_named_or_left_out(tmp_path: Path) -> None:
    source, rows = tmp_path / "facts.parquet", "('a', 'r', 'b'), ('c ', 'r', NULL), ('b', 's', 'c'), (' ', 'r', 'a')"
    duckdb.connect().execute(f"COPY (FROM (VALUES {rows}) t(head, relation, tail)) TO '{source}' (FORMAT parquet)")
    with pytest.raises(GraphFormatError, match="row 2: a name is empty"):
        convert(lambda: open_source(source), tmp_path / "store", memory=MEMORY, no_split=True)
    made = convert(lambda: open_source(source, skip_bad_lines=True), tmp_path / "store", memory=MEMORY, no_split=True)
    assert (made.train, made.skipped_lines) == (2, 2)
    graph = read_store(tmp_path / "store").train
    assert (list(graph.entities), list(graph.relations)) == (["a", "b", "c"], ["r", "s"])
    assert (graph.triplets.head.tolist(), graph.triplets.tail.tolist()) == ([0, 1], [1, 2])


def test_no_named_row_is_left_where_it_was_read(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources")
    for kind in ("parquet", "split"):
        with workspace(tmp_path / kind, MEMORY):
            opened = open_source(sources[kind])
            assert {file.suffix for file in (tmp_path / kind).iterdir()} == {".bin"}
            del opened


def test_names_that_do_not_fit_into_the_limit_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "facts.parquet"
    names = "repeat('a', 400) || i AS head, 'r' AS relation, repeat('b', 400) || i AS tail"
    rows = f"SELECT {names} FROM range(400000) t(i)"
    duckdb.connect().execute(f"COPY ({rows}) TO '{source}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
    with pytest.raises(NotEnoughMemoryError, match=r"names take .* of memory, and 256\.0 MB may be used"):
        convert(lambda: open_source(source), tmp_path / "store", memory=MEMORY)
    assert {path.name for path in tmp_path.iterdir()} == {"facts.parquet"}


def test_every_fact_may_be_kept_for_training(tmp_path: Path) -> None:
    sources = write_sources(tmp_path / "sources")
    made = convert(lambda: open_source(sources["weighted"]), tmp_path / "store", memory=MEMORY, no_split=True)
    assert (made.train, made.valid, made.test) == (200, 0, 0)
    with pytest.raises(ConfigError, match="comes with its own split"):
        convert(lambda: open_source(sources["split"]), tmp_path / "other", memory=MEMORY, no_split=True)
    assert not (tmp_path / "other").exists()


def test_a_graph_that_cannot_be_split_within_the_limit_is_refused(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(conversion, "_BYTES_TO_SPLIT", MEMORY)
    source = write_sources(tmp_path / "sources")["weighted"]
    with pytest.raises(NotEnoughMemoryError, match=r"splitting 200 facts needs about 50\.0 GB") as caught:
        convert(lambda: open_source(source), tmp_path / "store", memory=MEMORY)
    assert "--no-split" in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} == {"sources"}


def test_a_source_that_cannot_be_read_leaves_nothing(tmp_path: Path) -> None:
    bad = tmp_path / "bad.tsv"
    bad.write_text("a\tr\tb\na\tr\n")
    with pytest.raises(GraphFormatError, match="line 2"):
        convert(lambda: open_source(bad), tmp_path / "store", memory=MEMORY)
    assert {path.name for path in tmp_path.iterdir()} == {"bad.tsv"}
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "mine").touch()
    with pytest.raises(WriteError, match="exists already"):
        convert(lambda: open_source(bad), tmp_path / "store", memory=MEMORY)


def test_a_store_can_be_converted_again(tmp_path: Path) -> None:
    source = write_sources(tmp_path / "sources")["split"]
    convert(lambda: open_source(source), tmp_path / "store", memory=MEMORY)
    convert(lambda: open_source(tmp_path / "store"), tmp_path / "again", memory=MEMORY)
    assert content_of(tmp_path / "again") == content_of(tmp_path / "store")


def test_the_limit_is_kept_to_by_duckdb(tmp_path: Path) -> None:
    source = write_sources(tmp_path / "sources")["split"]
    limits = []

    def read() -> Dataset:
        limits.append(triplet_table.connect().sql("SELECT current_setting('memory_limit')").fetchall()[0][0])
        return load(source)

    convert(read, tmp_path / "store", memory=MEMORY)
    assert limits == ["102.0 MiB"]


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files as Linux lets it")
@pytest.mark.parametrize("blocks", [1, 20, 60, 150])
def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path, blocks: int) -> None:
    """No file may be larger than so many kilobytes: whichever is the first to be, of DuckDB or of the store."""
    source, place = tmp_path / "facts.tsv", tmp_path / "place"
    source.write_text("".join(f"entity {i * 7919 % 9001}\tr\tentity {i * 104729 % 9001}\n" for i in range(30_000)))
    place.mkdir()
    convert_it = ["data", "convert", str(source), "-o", str(place / "store"), "--memory-limit", "256MB"]
    command = ["bash", "-c", f'ulimit -f {blocks}; exec "$@"', "-", sys.executable, "-m", "nbfnet", *convert_it]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 2, ended.stderr
    assert "Traceback" not in ended.stderr
    assert "store: cannot be written: " in ended.stderr
    assert not list(place.iterdir())


def test_verify_names_the_file(nbfnet_command, tmp_path: Path) -> None:
    source = write_sources(tmp_path / "sources")["split"]
    convert(lambda: open_source(source), tmp_path / "store", memory=MEMORY)
    assert nbfnet_command("data", "info", tmp_path / "store", "--verify").returncode == 0
    files = sorted(path for path in (tmp_path / "store").rglob("*") if path.is_file())
    dice = np.random.default_rng(1)
    for file in dice.choice(files, 4, replace=False):
        content = bytearray(file.read_bytes())
        place = int(dice.integers(len(content)))
        content[place] ^= 1 << int(dice.integers(8))
        before, _ = file.read_bytes(), file.write_bytes(content)
        ended = nbfnet_command("data", "info", tmp_path / "store", "--verify")
        assert ended.returncode == 2
        assert "Traceback" not in ended.stderr
        assert "store" in ended.stderr
        file.write_bytes(before)
    refused = nbfnet_command("data", "info", source, "--verify")
    assert (refused.returncode, "only a store has checksums" in refused.stderr) == (2, True)


@pytest.fixture
def nbfnet_command():
    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "nbfnet", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    return run


def test_the_manifest_says_what_is_there(tmp_path: Path) -> None:
    source = write_sources(tmp_path / "sources")["split"]
    convert(lambda: open_source(source), tmp_path / "store", memory=MEMORY)
    manifest = json.loads((tmp_path / "store" / "store.json").read_text())
    assert manifest["version"] == 2
    files = {str(path.relative_to(tmp_path / "store")) for path in (tmp_path / "store").rglob("*") if path.is_file()}
    assert set(manifest["files"]) == files - {"store.json"}
