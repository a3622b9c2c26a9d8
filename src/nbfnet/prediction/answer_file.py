"""A file of answers: CSV, Parquet or JSON lines, written in one piece, resumed when it was interrupted."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import duckdb

from nbfnet.errors import QueryError, WriteError
from nbfnet.graph.atomic import check_can_be_replaced, open_alone, replacing
from nbfnet.graph.database import connect, execute, private_folder
from nbfnet.graph.reading.opening import is_utf8, plain_name
from nbfnet.prediction.query_file import Query
from nbfnet.progress import stage
from nbfnet.strict_json import strict_json

_START = b'{"identity": "'
_FIRST_LINE = re.compile(re.escape(_START) + rb'([0-9a-f]{32}("(\}\n?)?)?|[0-9a-f]{0,31})')  # perhaps cut off
FORMATS = (".csv", ".parquet", ".jsonl")
COLUMNS = {
    "query": "BIGINT",  # the query's number in its file, from 1
    "head": "VARCHAR",
    "relation": "VARCHAR",
    "tail": "VARCHAR",
    "asked": "VARCHAR",
    "rank": "BIGINT",
    "answer": "VARCHAR",
    "label": "VARCHAR",
    "probability": "DOUBLE",
    "score": "DOUBLE",
    "known": "BOOLEAN",
    "reason": "VARCHAR",  # the best path, where reasons are asked for
}


def check_format(file: Path) -> None:
    """Refuse an ending that is not that of a format, and what is not a file: a link, a device, a folder."""
    check_can_be_replaced(file)
    if file.suffix.casefold() not in FORMATS:
        raise WriteError("this is not an ending that can be written", file=file, remedy=f"use {', '.join(FORMATS)}")
    if not is_utf8(str(file)):
        raise WriteError("this name is not UTF-8", file=file, remedy="choose another name")


def write_answers(
    file: Path,
    queries: Sequence[tuple[int, Query]],
    answer: Callable[[Query], list[dict[str, Any]]],
    identity: str,
    *,
    reasons: bool = False,
) -> int:
    """Answer numbered queries into a file; returns how many had been answered before an interruption.

    Answers gather beside the file, one query after the other, and become the file when all are there.

    Args:
        file: its ending says the format.
        queries: with their numbers.
        answer: the rows of one query's answers.
        identity: of everything else that the answers depend on; what was begun with another one, or with other queries,
            is begun again.
        reasons: whether the rows have a reason.

    Raises:
        WriteError: the ending is not that of a format, another process writes the same file, the name for what
            gathers belongs to another file, or the disk is full.
    """
    check_format(file)
    partial = file.with_name(file.name + ".progress")
    try:
        with _alone(partial, file) as progress:
            _check_is_ours(progress, partial)
            done = _resume(progress, digest_of(identity, queries))
            with stage(f"answering {len(queries):,} queries") as report:
                for position, (number, query) in enumerate(queries[done:], start=done):
                    rows_of = [{"query": number, **row} for row in answer(query)]
                    lines = [line_of(row) for row in [*rows_of, {"done": position + 1}]]
                    progress.write("".join(lines).encode())
                    progress.flush()
                    report((position + 1) / len(queries))
            convert_lines(partial, file, answer_columns(reasons))
            partial.unlink()
    except (OSError, duckdb.Error) as error:
        remedy = (
            "make room or choose another place; what was answered is kept, and the same command continues from there"
        )
        raise WriteError(f"it cannot be written: {error}", file=file, remedy=remedy) from None
    return done


def write_links(file: Path, rows: Sequence[Mapping[str, Any]], *, reasons: bool = False) -> None:
    """Write the rows of scored links, whole or not at all.

    Raises:
        WriteError: the ending is not that of a format, or the disk is full.
    """
    check_format(file)
    names = ["rank", "head", "relation", "tail", "probability", "score", *(["reason"] if reasons else [])]
    try:
        with tempfile.TemporaryDirectory(dir=private_folder()) as folder:
            lines = Path(folder) / "links.jsonl"
            lines.write_text("".join(map(line_of, rows)), encoding="utf-8")
            convert_lines(lines, file, names)
    except (OSError, duckdb.Error) as error:
        remedy = "make room or choose another place"
        raise WriteError(f"it cannot be written: {error}", file=file, remedy=remedy) from None


@contextmanager
def _alone(partial: Path, file: Path) -> Iterator[BinaryIO]:
    """The file of progress, locked until the block ends: two processes that write it would mix their answers."""
    check_can_be_replaced(partial)
    partial.parent.mkdir(parents=True, exist_ok=True)
    try:
        handle = open_alone(partial)
    except BlockingIOError:
        remedy = "wait until it has ended, or give each process, and each --shard, an output of its own"
        raise WriteError("another process is writing this file", file=file, remedy=remedy) from None
    with os.fdopen(handle, "r+b") as progress:
        yield progress


def _check_is_ours(progress: BinaryIO, partial: Path) -> None:
    """Refuse somebody's own file that happens to have this name; the beginning of a first line was cut off."""
    start = progress.read(len(_START) + 35)
    progress.seek(0)
    if not (_FIRST_LINE.fullmatch(start) or _START.startswith(start)):
        what = "answers would gather in this file, but it holds something else"
        raise WriteError(what, file=partial, remedy="move it away, or choose another output")


def digest_of(identity: str, queries: Sequence[tuple[int, Query]]) -> str:
    """Of queries, and of everything else that their answers depend on."""
    return hashlib.blake2b(repr((identity, list(queries))).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _resume(progress: BinaryIO, identity: str) -> int:
    """How many queries are answered; whatever comes after the last complete one is cut off."""
    lines = progress.read().splitlines(keepends=True)
    kept, done = 0, 0
    if lines and _parse(lines[0]) == {"identity": identity}:
        last = 0
        for i, line in enumerate(lines):
            if _parse(line).get("done") == done + 1:  # anything else is damaged, and what follows is asked again
                last, done = i, done + 1
        kept = sum(len(line) for line in lines[: last + 1])
    progress.truncate(kept)
    progress.seek(kept)
    if not kept:
        progress.write(line_of({"identity": identity}).encode())
        progress.flush()
    return done


def line_of(row: Mapping[str, Any]) -> str:
    """A row as a line of JSON."""
    return strict_json(row, ensure_ascii=False) + "\n"


def _parse(line: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(line)
        return parsed if isinstance(parsed, dict) and line.endswith(b"\n") else {}
    except (ValueError, RecursionError):
        return {}


def answer_columns(reasons: bool) -> list[str]:
    """The columns of a table of answers."""
    return [name for name in COLUMNS if reasons or name != "reason"]


def convert_lines(partial: Path, file: Path, names: Sequence[str], note: str | None = None) -> None:
    """CSV and Parquet are written by DuckDB; JSON lines are the rows as they are. A Parquet file may carry a note."""
    with replacing(file) as target:
        if file.suffix.casefold() == ".jsonl":
            with partial.open("rb") as lines, target.open("wb") as rows:
                rows.writelines(line for line in lines if b'"rank"' in line)
            return
        columns = ", ".join(f"'{name}': '{COLUMNS[name]}'" for name in names)
        options = "FORMAT csv, HEADER" if file.suffix.casefold() == ".csv" else "FORMAT parquet"
        options += "" if note is None else f", KV_METADATA {{nbfnet: {quoted(note)}}}"
        with plain_name(partial) as source, plain_name(target) as written:
            lines_of = f"{quoted(source)}, format = 'newline_delimited', hive_partitioning = false"
            rows_of = f"read_json({lines_of}, columns = {{{columns}}})"
            options += ", USE_TMP_FILE false"  # of a name that others can foresee
            query = f"COPY (SELECT * FROM {rows_of} WHERE rank IS NOT NULL) TO {quoted(written)} ({options})"
            execute(connect(), query)


def quoted(text: str) -> str:
    """A text for DuckDB."""
    return "'" + text.replace("'", "''") + "'"


def parse_shard(text: str | None, count: int) -> slice:
    """The part i of n, from 1, of ``count`` queries: '2/4' is the second quarter.

    >>> parse_shard("2/4", 10)
    slice(2, 5, None)

    Raises:
        QueryError: it is not of that form.
    """
    if text is None:
        return slice(0, count)
    i, _, n = text.partition("/")
    if not (i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)):
        raise QueryError(f"--shard {text!r}: write i/n with 1 <= i <= n, for example 1/4 for the first quarter")
    return slice(count * (int(i) - 1) // int(n), count * int(i) // int(n))
