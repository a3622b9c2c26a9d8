"""Files of answers: the same rows in every format, whole or not at all, gone on with after an interruption."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.errors import QueryError, WriteError
from nbfnet.prediction.answer_file import parse_shard, write_answers, write_links
from nbfnet.prediction.answers import Answer, Answers
from nbfnet.prediction.query_file import Query

UGLY = (
    "plain",
    'with "quotes"',
    "comma, here",
    "two\nlines",
    "sep\u2028arated",
    "next\x85line",
    "nul\0",
    "北京",
    "tab\t",
    "'",
)
QUERIES = [(n, Query(None if n % 3 else name, "r", name if n % 3 else None)) for n, name in enumerate(UGLY, start=1)]


class Crash(Exception):
    """What stops the work half way."""


class Answerer:
    """Answers with ugly names; stops for good after some queries."""

    def __init__(self, stop_after=None):
        self.calls, self.stop_after = 0, stop_after

    def __call__(self, query):
        if self.calls == self.stop_after:
            raise Crash
        self.calls += 1
        name = query.head or query.tail
        answers = tuple(
            Answer(i + 1, f"{name}{i}", f"label of {name}", 1 / (i + 3), i == 0, -i / 7) for i in range(len(name) % 4)
        )
        return Answers(query.head, query.relation, query.tail, answers).rows()


def expected_rows():
    answerer = Answerer()
    return [(n, *row.values()) for n, q in QUERIES for row in answerer(q)]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl", ".CSV"])
@pytest.mark.parametrize("folder", ["plain", "with 'quote' and *?[x]"])
def test_every_format_has_the_same_rows(tmp_path, ending, folder):
    file = tmp_path / folder / f"answers{ending}"
    assert write_answers(file, QUERIES, Answerer(), "one") == 0
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    copy = tmp_path / f"copy{ending.lower()}"  # DuckDB takes * and ? for patterns
    copy.write_bytes(file.read_bytes())
    if ending == ".jsonl":
        rows = [tuple(json.loads(line).values()) for line in copy.read_text(encoding="utf-8").split("\n")[:-1]]
    elif ending == ".parquet":
        rows = duckdb.sql(f"SELECT * FROM '{copy}'").fetchall()
        assert pd.read_parquet(copy)["answer"].tolist() == [row[6] for row in expected_rows()]
    else:
        table = pd.read_csv(copy, keep_default_na=False, na_values={"head": [""], "tail": [""]}, lineterminator="\n")
        rows = [
            tuple(None if isinstance(cell, float) and cell != cell else cell for cell in row)
            for row in table.itertuples(index=False)
        ]
    assert rows == expected_rows()


def test_no_query_is_an_empty_table(tmp_path):
    for ending in (".csv", ".parquet", ".jsonl"):
        write_answers(tmp_path / f"a{ending}", [], Answerer(), "one")
    assert (
        tmp_path / "a.csv"
    ).read_text().strip() == "query,head,relation,tail,asked,rank,answer,label,probability,score,known"
    assert (tmp_path / "a.jsonl").read_bytes() == b""
    assert len(pd.read_parquet(tmp_path / "a.parquet")) == 0


def test_an_ending_without_a_format_is_refused(tmp_path):
    with pytest.raises(WriteError, match="not an ending"):
        write_answers(tmp_path / "answers.txt", QUERIES, Answerer(), "one")
    assert list(tmp_path.iterdir()) == []


def test_a_file_cut_at_any_byte_is_gone_on_with(tmp_path):
    whole, queries = tmp_path / "whole.jsonl", QUERIES[:5]
    write_answers(whole, queries, Answerer(), "one")
    file, progress = tmp_path / "a.jsonl", tmp_path / "a.jsonl.progress"
    with pytest.raises(Crash):
        write_answers(file, queries, Answerer(stop_after=3), "one")
    assert not file.exists()
    written = progress.read_bytes()
    assert written.count(b'{"done"') == 3
    for length in range(len(written) + 1):
        progress.write_bytes(written[:length])
        answerer = Answerer()
        done = write_answers(file, queries, answerer, "one")
        complete = written[:length].rpartition(b"\n")[0].count(b'{"done"')
        assert (done, answerer.calls) == (complete, len(queries) - complete)
        assert file.read_bytes() == whole.read_bytes()
        assert not progress.exists()
        file.unlink()


def test_a_disk_that_fills_up_while_answering_keeps_what_was_answered(tmp_path):
    resource = pytest.importorskip("resource", reason="files have no limit here")
    file, before = tmp_path / "answers.csv", resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, before[1]))
    try:
        with pytest.raises(WriteError, match=r"answers\.csv: it cannot be written[\s\S]*the same command continues"):
            write_answers(file, QUERIES, Answerer(), "same")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not file.exists()
    assert 0 < write_answers(file, QUERIES, Answerer(), "same") < len(QUERIES)


def test_a_disk_without_room_for_the_file_keeps_what_was_answered(tmp_path):
    resource = pytest.importorskip("resource", reason="files have no limit here")
    file, before = tmp_path / "answers.csv", resource.getrlimit(resource.RLIMIT_FSIZE)

    def answer(query):
        file.mkdir(exist_ok=True)  # so that everything is answered, and the file cannot be written
        return Answerer()(query)

    with pytest.raises(WriteError, match="this is a folder"):
        write_answers(file, QUERIES, answer, "same")
    file.rmdir()
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(WriteError, match=r"answers\.csv: it cannot be written[\s\S]*the same command continues"):
            write_answers(file, QUERIES, Answerer(), "same")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in tmp_path.iterdir()] == ["answers.csv.progress"]
    assert write_answers(file, QUERIES, Answerer(), "same") == len(QUERIES)


def test_what_was_begun_with_something_else_is_begun_anew(tmp_path):
    file = tmp_path / "a.csv"
    with pytest.raises(Crash):
        write_answers(file, QUERIES, Answerer(stop_after=4), "one")
    answerer = Answerer()
    assert write_answers(file, QUERIES, answerer, "other") == 0
    assert answerer.calls == len(QUERIES)
    other = tmp_path / "b.csv"
    write_answers(other, QUERIES, Answerer(), "one")
    assert file.read_bytes() == other.read_bytes()


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe\x00", b"[1]\n", b"null\n{}\n", b'{"identity": "one", "x": 1}\n', b"\n\n", b"my notes\n" * 9999, b"{}"],
)
def test_somebodys_own_file_is_not_taken_for_progress(tmp_path, content):
    (tmp_path / "a.jsonl.progress").write_bytes(content)
    with pytest.raises(WriteError, match=r"a\.jsonl\.progress: .* something else[\s\S]*move it away"):
        write_answers(tmp_path / "a.jsonl", QUERIES, Answerer(), "one")
    assert (tmp_path / "a.jsonl.progress").read_bytes() == content
    assert not (tmp_path / "a.jsonl").exists()


@pytest.mark.parametrize(
    "mark", [b'{"done": "x"}', b'{"done": null}', b'{"done": 99}', b'{"done": -1}', b"[" * 100_000]
)
def test_a_damaged_mark_of_progress(tmp_path, mark):
    """What stands behind it is asked again."""
    write_answers(tmp_path / "whole.jsonl", QUERIES, Answerer(), "id")
    with pytest.raises(Crash):
        write_answers(tmp_path / "a.jsonl", QUERIES, Answerer(stop_after=2), "id")
    partial = tmp_path / "a.jsonl.progress"
    partial.write_bytes(partial.read_bytes() + mark + b"\n")
    write_answers(tmp_path / "a.jsonl", QUERIES, Answerer(), "id")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()


def test_the_file_before_stays_until_the_new_one_is_whole(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("before")
    with pytest.raises(Crash):
        write_answers(file, QUERIES, Answerer(stop_after=len(QUERIES) - 1), "one")
    assert file.read_text() == "before"
    write_answers(file, QUERIES, Answerer(), "one")
    assert file.read_text() != "before"


@given(st.integers(0, 100), st.integers(1, 20))
def test_shards_are_disjoint_and_complete(count, parts):
    everything = list(range(count))
    shards = [everything[parse_shard(f"{i}/{parts}", count)] for i in range(1, parts + 1)]
    assert [query for shard in shards for query in shard] == everything
    assert max(map(len, shards)) - min(map(len, shards)) <= 1
    assert everything[parse_shard(None, count)] == everything


@pytest.mark.parametrize("text", ["", "1", "0/4", "5/4", "1/0", "-1/4", "1/4/2", "a/b", "1.5/4", "²/4", "1/ 4"])
def test_shards_that_cannot_be(text):
    with pytest.raises(QueryError, match="i/n"):
        parse_shard(text, 10)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("folder", ["answer=Z/rank=7", "~", "x/~/y"])
def test_the_name_of_a_folder_says_nothing_about_the_answers(tmp_path, monkeypatch, ending, folder):
    """DuckDB takes key=value in a path for a column, and ~ for the home folder."""
    plain = tmp_path / f"plain{ending}"
    write_answers(plain, QUERIES, Answerer(), "one")
    (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    write_answers(Path(folder) / f"a{ending}", QUERIES, Answerer(), "one")
    assert (tmp_path / folder / f"a{ending}").read_bytes() == plain.read_bytes()
    rows = [{"rank": 1, "head": "h", "relation": "r", "tail": "t", "probability": 0.5, "score": 0.0}]
    write_links(Path(folder) / f"links{ending}", rows)
    write_links(plain, rows)
    assert (tmp_path / folder / f"links{ending}").read_bytes() == plain.read_bytes()
    assert not (tmp_path / "home").exists()


WRITER = """
import sys, time
from pathlib import Path
from nbfnet.errors import NbfnetError
from nbfnet.prediction.answer_file import write_answers
from nbfnet.prediction.query_file import Query
file, gate, label = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]

def answer(query):
    gate.touch()
    while not gate.with_name("go").exists():
        time.sleep(0.01)
    return [{"head": query.head, "rank": 1, "answer": label}]

try:
    write_answers(file, [(i, Query(str(i), "r", None)) for i in range(50)], answer, "same")
except NbfnetError as error:
    print(error)
    sys.exit(2)
"""


def test_a_second_process_is_told_that_the_file_is_being_written(tmp_path):
    file, gate = tmp_path / "answers.jsonl", tmp_path / "gate"
    command = [sys.executable, "-c", WRITER, str(file), str(gate)]
    with subprocess.Popen([*command, "first"]) as first:
        while not gate.exists():
            assert first.poll() is None
            time.sleep(0.01)
        second = subprocess.run([*command, "second"], capture_output=True, text=True, timeout=180)
        (tmp_path / "go").touch()
        assert first.wait(180) == 0
    assert second.returncode == 2
    assert "answers.jsonl: another process is writing this file" in second.stdout and "--shard" in second.stdout
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(row["query"], row["answer"]) for row in rows] == [(i, "first") for i in range(50)]


def test_the_lock_ends_with_its_process(tmp_path):
    file, gate = tmp_path / "answers.jsonl", tmp_path / "gate"
    command = [sys.executable, "-c", WRITER, str(file), str(gate)]
    with subprocess.Popen([*command, "first"]) as first:
        while not gate.exists():
            assert first.poll() is None
            time.sleep(0.01)
        first.kill()
    (tmp_path / "go").touch()
    assert subprocess.run([*command, "second"], timeout=180).returncode == 0
    assert len(file.read_text().splitlines()) == 50


def test_progress_with_other_queries_is_begun_anew(tmp_path):
    file = tmp_path / "a.jsonl"
    with pytest.raises(Crash):
        write_answers(file, QUERIES[:8], Answerer(stop_after=6), "one")
    assert write_answers(file, QUERIES[2:], Answerer(), "one") == 0
    assert [json.loads(line)["query"] for line in file.read_text("utf-8").split("\n")[:-1]] == [
        row[0] for row in expected_rows() if row[0] > 2
    ]


@pytest.mark.parametrize("name", ["a.csv", "a.csv.progress"])
def test_links_and_pipes_are_not_written_to(tmp_path, name):
    precious = tmp_path / "precious"
    precious.write_text("precious")
    (tmp_path / name).symlink_to(precious)
    with pytest.raises(WriteError, match="symbolic link"):
        write_answers(tmp_path / "a.csv", QUERIES, Answerer(), "one")
    assert precious.read_text() == "precious" and (tmp_path / name).is_symlink()
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(WriteError, match="this is a pipe"):
        write_answers(tmp_path / "a.csv", QUERIES, Answerer(), "one")
    assert (tmp_path / name).is_fifo()
