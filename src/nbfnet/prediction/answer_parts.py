"""A folder of answers: Parquet parts that any process may write, each whole and once, and then a manifest.

    part-00000.parquet  the answers to the first queries, with a note in its metadata that says of what it is a part
    ...
    manifest.json       the parts with their queries, rows and checksums; without it the folder is not complete

The parts depend on the queries alone, not on how many processes answer them. So an interrupted folder is resumed by any
number of processes, and a part that was answered twice, because a worker died, is the same file.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from nbfnet.errors import WriteError
from nbfnet.graph.atomic import LOCK, alone_in, remove_stale_partials, replacing
from nbfnet.graph.database import connect, private_folder
from nbfnet.graph.reading.opening import is_utf8, plain_name
from nbfnet.prediction.answer_file import answer_columns, convert_lines, digest_of, line_of, quoted
from nbfnet.prediction.query_file import Query
from nbfnet.strict_json import strict_json

FORMAT, VERSION = "nbfnet-answers", 1
MANIFEST = "manifest.json"
_PARTS = "part-*.parquet"
_MOST_PARTS, _FEWEST, _MOST = 256, 16, 4096  # parts of a file of queries, and the least and most queries of a part
_REMEDY = "make room or choose another place; the parts that are there are kept, and the same command continues"


@dataclass(frozen=True)
class Part:
    """Some of the queries of a file, with their numbers in it."""

    number: int
    queries: tuple[tuple[int, Query], ...]

    @property
    def file(self) -> str:
        """The name of the file of its answers."""
        return f"part-{self.number:05d}.parquet"


@dataclass(frozen=True)
class AnswerParts:
    """A folder that the answers to numbered queries are written to."""

    folder: Path
    identity: str  # of the queries, and of everything else that the answers depend on
    reasons: bool = False  # whether the rows have a reason

    @classmethod
    def of(cls, folder: Path, queries: Sequence[tuple[int, Query]], identity: str, *, reasons: bool) -> AnswerParts:
        """The folder for some queries; ``identity`` is that of everything else that the answers depend on."""
        return cls(folder, digest_of(f"{identity} in parts of {_part_size(len(queries))}", queries), reasons)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Make the folder if it is not there, and keep other commands out of it. Workers need not ask.

        Raises:
            WriteError: it is not a folder of these answers, or another process is writing into it.
        """
        if not is_utf8(str(self.folder)):
            raise WriteError("this name is not UTF-8", file=self.folder, remedy="choose another name")
        made = [place for place in (self.folder, *self.folder.parents) if not place.exists()]
        try:
            with ExitStack() as stack:
                self._enter(stack)
                yield
        finally:
            remove_stale_partials(self.folder, _PARTS)
            for place in made:
                with suppress(OSError):  # it is not empty: something was answered
                    place.rmdir()

    def _enter(self, stack: ExitStack) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _check_is_ours(self.folder)
            stack.enter_context(alone_in(self.folder, wait=False))
        except (FileExistsError, NotADirectoryError) as error:
            what, remedy = f"{error.filename} is a file, not a folder", "answers in parts need a folder: name a new one"
            raise WriteError(what, file=self.folder, remedy=remedy) from None
        except BlockingIOError:
            remedy = "wait until it has ended, or give each command an output of its own"
            raise WriteError("another process is writing into this folder", file=self.folder, remedy=remedy) from None
        except OSError as error:
            raise self._cannot_be_written(error) from None

    def missing(self, parts: Sequence[Part]) -> list[Part]:
        """The parts that are not there yet; one that cannot be read is not there.

        Raises:
            WriteError: the folder has parts of something else.
        """
        connection = connect()
        found = {file.name: _note(connection, file) for file in self.folder.glob(_PARTS)}
        expected = {part.file: self._note_of(part) for part in parts}
        for name, note in found.items():
            if note is not None and note != expected.get(name):
                what = "it holds the answers to other queries, of another run, or with other options"
                remedy = "give the command that they were begun with, remove the folder, or choose another one"
                raise WriteError(what, file=self.folder, remedy=remedy)
        return [part for part in parts if found.get(part.file) is None]

    def write(self, part: Part, answer: Callable[[Query], list[dict[str, Any]]]) -> None:
        """Answer the queries of a part into its file, which appears whole or not at all.

        Raises:
            WriteError: the disk is full, for example.
        """
        rows = [{"query": number, **row} for number, query in part.queries for row in answer(query)]
        try:
            with tempfile.TemporaryDirectory(dir=private_folder()) as scratch:
                lines = Path(scratch) / "rows.jsonl"
                lines.write_text("".join(map(line_of, rows)), encoding="utf-8")
                convert_lines(lines, self.folder / part.file, answer_columns(self.reasons), self._note_of(part))
        except (OSError, duckdb.Error) as error:
            raise self._cannot_be_written(error) from None

    def finish(self, parts: Sequence[Part]) -> None:
        """Write the manifest: every part is there.

        Raises:
            WriteError: the disk is full, for example.
        """
        connection = connect()
        listed = [
            {
                "file": part.file,
                "first": part.queries[0][0],
                "last": part.queries[-1][0],
                "rows": _count_rows(connection, self.folder / part.file),
                "blake2b": hashlib.blake2b((self.folder / part.file).read_bytes(), digest_size=16).hexdigest(),
            }
            for part in parts
        ]
        queries = sum(len(part.queries) for part in parts)
        head = {"format": FORMAT, "version": VERSION, "identity": self.identity, "queries": queries}
        try:
            with replacing(self.folder / MANIFEST) as partial:
                partial.write_text(strict_json({**head, "parts": listed}, indent=2) + "\n", encoding="utf-8")
        except OSError as error:
            raise self._cannot_be_written(error) from None

    def _note_of(self, part: Part) -> str:
        return strict_json({"identity": self.identity, "part": part.number})

    def _cannot_be_written(self, error: Exception) -> WriteError:
        return WriteError(f"it cannot be written: {error}", file=self.folder, remedy=_REMEDY)


def split_queries(queries: Sequence[tuple[int, Query]]) -> list[Part]:
    """Numbered queries in parts, by their number alone: the same for any number of workers."""
    size = _part_size(len(queries))
    return [Part(i, tuple(queries[begin : begin + size])) for i, begin in enumerate(range(0, len(queries), size))]


def _part_size(count: int) -> int:
    """How many queries a part has.

    >>> [_part_size(count) for count in (10, 10_000, 100_000_000)]
    [16, 40, 4096]
    """
    return min(max(-(-count // _MOST_PARTS), _FEWEST), _MOST)


def _check_is_ours(folder: Path) -> None:
    """Refuse a folder that holds something else."""
    for entry in folder.iterdir():
        ours = entry.match(_PARTS) or entry.name in (MANIFEST, LOCK) or entry.match(f".{_PARTS}.nbfnet-*.part")
        if not ours:
            what = f"this folder holds something else ({entry.name})"
            raise WriteError(what, file=folder, remedy="choose a new folder for the answers")


def _note(connection: duckdb.DuckDBPyConnection, file: Path) -> str | None:
    """What a part says that it is; None where it cannot be read."""
    try:
        found = _ask(connection, file, "SELECT decode(value) FROM parquet_kv_metadata({}) WHERE decode(key) = 'nbfnet'")
    except duckdb.Error:
        return None
    return str(found[0][0]) if found else ""


def _count_rows(connection: duckdb.DuckDBPyConnection, file: Path) -> int:
    return int(_ask(connection, file, "SELECT num_rows FROM parquet_file_metadata({})")[0][0])


def _ask(connection: duckdb.DuckDBPyConnection, file: Path, query: str) -> list[tuple[Any, ...]]:
    with plain_name(file) as source:
        return connection.execute(query.format(quoted(source))).fetchall()
