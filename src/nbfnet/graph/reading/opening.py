"""Opening files: as text, unpacked, checked, and under names that DuckDB does not take for patterns."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, AnyStr, NamedTuple, cast

from nbfnet.errors import GraphFormatError
from nbfnet.graph.database import private_folder

LONGEST_LINE = 16_000_000  # bytes; DuckDB takes two million, and leaves out more than 32 million without a word
csv.field_size_limit(2 * LONGEST_LINE)  # of Python's reader, which else refuses fields of 131,072 characters


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The file's bytes, unpacked if it is gzip."""
    try:
        with gzip.open(path) if is_gzip_name(path) else path.open("rb") as stream:
            yield cast(IO[bytes], stream)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise GraphFormatError(
            f"the gzip content is damaged ({error})", file=path, remedy="fetch the file again"
        ) from None


@contextmanager
def open_text(
    path: Path, *, errors: str = "backslashreplace", encoding: str | None = None, newline: str | None = ""
) -> Iterator[IO[str]]:
    """The file's text, unpacked if it is gzip, with undecodable bytes kept visible; UTF-8 if nothing else is stated."""
    try:
        with (
            open_bytes(path) as stream,
            io.TextIOWrapper(stream, encoding=_codec(encoding, path), errors=errors, newline=newline) as text,
        ):
            yield text
    except UnicodeError as error:
        remedy = "state the encoding that the file has, such as latin-1, cp1252, utf-16 or utf-16-le"
        raise GraphFormatError(f"the text is not {encoding or 'UTF-8'} ({error})", file=path, remedy=remedy) from None


@contextmanager
def even_copy(path: Path, encoding: str | None = None, *, delimiter: str | None = None) -> Iterator[Path]:
    """A copy in UTF-8 whose lines end in a line feed, not compressed.

    For text in another encoding, and for files that mix line ends, on which DuckDB gives up. Where a ``delimiter`` is
    given, the columns follow CSV, and the line ends in quotes stay as they are.
    """
    errors = "surrogateescape" if encoding is None else "strict"
    with tempfile.TemporaryDirectory(dir=private_folder()) as folder:
        even = Path(folder) / "edges.csv"
        with (
            open_text(path, errors=errors, encoding=encoding) as text,
            even.open("w", encoding="utf-8", errors=errors, newline="") as copy,
        ):
            taken: list[str] = []  # the lines of a record
            lines, written = _noted(lines_of(text, path), taken), 0
            try:
                for _ in lines if delimiter is None else csv.reader(lines, delimiter=delimiter):
                    copy.writelines([*taken[:-1], taken[-1].rstrip("\r\n"), "\n"])
                    written += len(taken)
                    taken.clear()
            except csv.Error:
                what, remedy = "a quoted field does not end", "close the quotes, or take them out"
                line, begin = written + 1, taken[0].rstrip("\r\n")
                raise GraphFormatError(what, file=path, line=line, text=begin, remedy=remedy) from None
        yield even


def lines_of(stream: IO[AnyStr], path: Path) -> Iterator[AnyStr]:
    """The lines of an open file; one that is far too long is an error.

    A small gzip file may hold a line that does not fit into memory.
    """
    number = 0
    while line := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise _too_long(path, number)
        yield line


def _too_long(path: Path, line: int) -> GraphFormatError:
    what = f"the line is longer than {LONGEST_LINE // 1_000_000} million bytes"
    return GraphFormatError(what, file=path, line=line, remedy="check that the file is what its name says")


def _noted(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    for line in lines:
        taken.append(line)
        yield line


def _codec(encoding: str | None, path: Path) -> str:
    """The codec of a stated encoding, that of UTF-8 if there is none; a byte order mark is not part of the text."""
    try:
        name = codecs.lookup(encoding or "utf-8").name
        "".encode(name)  # some codecs are not of text
    except LookupError:
        remedy = "state one such as utf-8, latin-1, cp1252 or utf-16"
        raise GraphFormatError(f"there is no encoding {encoding!r}", file=path, remedy=remedy) from None
    return "utf-8-sig" if name == "utf-8" else name


NOT_UTF8 = "the text is not UTF-8"
STATE_ENCODING = (
    "save the file as UTF-8, or state what it is: --encoding latin-1, cp1252 or utf-16 (encoding= in Python)"
)


class LineCount(NamedTuple):
    """How many lines a file has, how many of them end in a carriage return alone, and whether their ends differ."""

    lines: int
    lone_returns: int
    mixed: bool


def count_lines(path: Path) -> LineCount:
    """Count the lines, whichever way they end.

    A gzip file is unpacked to its end for it, and so checked: DuckDB does not look at the checksum, nor always for a
    missing end.

    Raises:
        GraphFormatError: a line is far too long.
    """
    feeds, returns, pairs, last = 0, 0, 0, b"\n"
    length = 0  # of the line that a chunk begins in
    with open_bytes(path) as stream:
        while chunk := stream.read(1 << 20):
            feeds += chunk.count(b"\n")
            returns += chunk.count(b"\r")
            pairs += chunk.count(b"\r\n") + (last == b"\r" and chunk[:1] == b"\n")
            last = chunk[-1:]
            end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
            length = length + len(chunk) if end < 0 else len(chunk) - 1 - end
            if length > LONGEST_LINE:
                raise _too_long(path, feeds + returns - pairs + 1)
    kinds = (pairs, feeds - pairs, returns - pairs)
    return LineCount(sum(kinds) + (last not in (b"\n", b"\r")), returns - pairs, sum(map(bool, kinds)) > 1)


def is_gzip_name(path: Path) -> bool:
    """Whether a file's name says that it is compressed."""
    return path.suffix.casefold() == ".gz"


def numbered_lines(path: Path, encoding: str | None = None) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers from 1; one that is not UTF-8 is an error."""
    with open_text(path, errors="surrogateescape", encoding=encoding) as stream:
        for number, raw in enumerate(lines_of(stream, path), start=1):
            line = raw.rstrip("\r\n")
            try:
                line.encode()
            except UnicodeEncodeError:
                shown = line.encode(errors="surrogateescape").decode(errors="backslashreplace")
                raise GraphFormatError(NOT_UTF8, file=path, line=number, text=shown, remedy=STATE_ENCODING) from None
            yield number, line


@contextmanager
def plain_name(path: Path) -> Iterator[str]:
    """The path for DuckDB: a link to it, because DuckDB reads more into a path than where the file is.

    It takes * for a pattern, a part ``year=2020`` for a column of that value and a leading ~ for the home folder, and
    cannot take what is not UTF-8.
    """
    with tempfile.TemporaryDirectory(dir=private_folder()) as folder:
        yield _link(path, Path(folder))


def linked(path: Path) -> str:
    """The same for as long as this process runs."""
    return _link(path, Path(tempfile.mkdtemp(dir=private_folder())))


def _link(path: Path, folder: Path) -> str:
    link = folder / "edges"
    try:
        link.symlink_to(path.resolve())
    except OSError:  # Windows lets only some users make links
        link = path.resolve()
    return str(link)


def is_utf8(text: str) -> bool:
    """Whether a text can be written as UTF-8; Python keeps other bytes of a file's name as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
