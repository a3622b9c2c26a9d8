"""Folders of answers: parts that appear whole, are written once, and are resumed by whatever answers the rest."""

from __future__ import annotations

import json
import pickle

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbfnet import errors
from nbfnet.errors import WriteError
from nbfnet.graph.atomic import alone_in
from nbfnet.prediction.answer_file import write_answers
from nbfnet.prediction.answer_parts import MANIFEST, AnswerParts, Part, split_queries
from nbfnet.prediction.answers import Answer, Answers
from nbfnet.prediction.query_file import Query

NAMES = ("plain", 'with "quotes"', "two\nlines", "sep\u2028arated", "nul\0", "北京", "'", "")
QUERIES = [(n, Query(None if n % 3 else NAMES[n % 8], "r", NAMES[n % 8] if n % 3 else None)) for n in range(1, 101)]


def answer(query: Query):
    name = query.head if query.head is not None else query.tail
    answers = tuple(
        Answer(i + 1, f"{name}{i}", f"label of {name}", 1 / (i + 3), i == 0, -i / 7) for i in range(len(name) % 4)
    )
    return Answers(query.head, query.relation, query.tail, answers).rows()


def rows_of(files) -> list[tuple]:
    return [row for file in files for row in duckdb.sql(f"SELECT * FROM read_parquet('{file}')").fetchall()]


def content_of(folder) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def write_all(folder, queries=QUERIES, identity="one") -> AnswerParts:
    parts = AnswerParts.of(folder, queries, identity, reasons=False)
    with parts.alone():
        every = split_queries(queries)
        for part in parts.missing(every):
            parts.write(part, answer)
        parts.finish(every)
    return parts


@given(st.integers(0, 30_000))
def test_parts_cover_every_query_once(count):
    queries = [(n, None) for n in range(count)]
    parts = split_queries(queries)
    assert [query for part in parts for query in part.queries] == queries
    assert [part.number for part in parts] == list(range(len(parts)))
    assert all(part.queries for part in parts) and len(parts) <= 256


def test_the_parts_together_are_the_file_of_one_process(tmp_path):
    write_all(tmp_path / "parts")
    write_answers(tmp_path / "whole.parquet", QUERIES, answer, "one")
    manifest = json.loads((tmp_path / "parts" / MANIFEST).read_text())
    files = [tmp_path / "parts" / part["file"] for part in manifest["parts"]]
    assert len(files) == 7 and {*content_of(tmp_path / "parts")} == {*(file.name for file in files), MANIFEST}
    assert rows_of(files) == rows_of([tmp_path / "whole.parquet"])
    assert (manifest["format"], manifest["queries"]) == ("nbfnet-answers", 100)
    assert sum(part["rows"] for part in manifest["parts"]) == len(rows_of(files))
    assert (manifest["parts"][0]["first"], manifest["parts"][-1]["last"]) == (1, 100)


def test_what_is_missing_or_damaged_is_answered_again_and_nothing_else(tmp_path):
    write_all(tmp_path / "whole")
    parts = write_all(tmp_path / "parts")
    every = split_queries(QUERIES)
    expected = content_of(tmp_path / "whole")
    assert parts.missing(every) == []
    (parts.folder / every[2].file).unlink()
    damaged = parts.folder / every[4].file
    damaged.write_bytes(damaged.read_bytes()[:-40])
    (parts.folder / every[5].file).write_bytes(b"")
    (parts.folder / f".{every[2].file}.nbfnet-01234567.part").write_bytes(b"of a killed worker")
    assert [part.number for part in parts.missing(every)] == [2, 4, 5]
    write_all(tmp_path / "parts")
    assert content_of(tmp_path / "parts") == expected


def test_a_part_that_is_written_twice_is_the_same_file(tmp_path):
    parts = write_all(tmp_path / "parts")
    before = content_of(parts.folder)
    parts.write(split_queries(QUERIES)[3], answer)
    assert content_of(parts.folder) == before


@pytest.mark.parametrize("other", ["another run", "fewer queries", "more queries"])
def test_answers_of_something_else_are_never_touched(tmp_path, other):
    write_all(tmp_path / "parts")
    before = content_of(tmp_path / "parts")
    queries = {"fewer queries": QUERIES[:50], "more queries": QUERIES * 3}.get(other, QUERIES)
    with pytest.raises(WriteError, match="other queries, of another run, or with other options"):
        write_all(tmp_path / "parts", queries, "two" if other == "another run" else "one")
    assert content_of(tmp_path / "parts") == before


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "precious").write_text("precious")
    with pytest.raises(WriteError, match=r"something else \(precious\)"):
        write_all(tmp_path)
    with pytest.raises(WriteError, match="is a file, not a folder"):
        write_all(tmp_path / "precious")
    with pytest.raises(WriteError, match="is a file, not a folder"):
        write_all(tmp_path / "precious" / "below")
    assert content_of(tmp_path) == {"precious": b"precious"}


def test_two_commands_do_not_write_one_folder(tmp_path):
    parts = AnswerParts.of(tmp_path / "parts", QUERIES, "one", reasons=False)
    with parts.alone(), pytest.raises(WriteError, match="another process is writing into this folder"):
        write_all(tmp_path / "parts")
    assert not (tmp_path / "parts").exists()  # nothing was answered


def test_no_query_is_a_complete_folder_without_parts(tmp_path):
    write_all(tmp_path / "parts", [])
    assert [*content_of(tmp_path / "parts")] == [MANIFEST]


def test_a_folder_whose_lock_was_left_by_a_killed_process(tmp_path):
    (tmp_path / "parts").mkdir()
    with alone_in(tmp_path / "parts", wait=False):
        left = (tmp_path / "parts" / ".lock").read_bytes()
    (tmp_path / "parts" / ".lock").write_bytes(left)
    write_all(tmp_path / "parts")
    assert ".lock" not in content_of(tmp_path / "parts")


def test_what_is_sent_to_workers_comes_out_as_it_was(tmp_path):
    part = Part(3, tuple(QUERIES))
    assert pickle.loads(pickle.dumps(part)) == part
    raised = [
        WriteError("what", file=tmp_path, remedy="remedy"),
        errors.UnknownNameError("entity", "Pariss", ["Paris"]),
        errors.RunFolderError(tmp_path, "what", "remedy"),
        errors.MissingExtraError("this", "package", "extra"),
        errors.ImprovingCycleError("distance", ["a", "b"]),
        errors.GraphFormatError("what", file="f", line=3, text="text"),
    ]
    for error in raised:
        sent = pickle.loads(pickle.dumps(error))
        assert (type(sent), str(sent), sent.args, vars(sent)) == (type(error), str(error), error.args, vars(error))
