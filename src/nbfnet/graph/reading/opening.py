"""Opening files: as text, unpacked, checked, and under names that DuckDB does not take for patterns."""

from __future__ import annotations

import gzip
import io
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from nbfnet.errors import GraphFormatError


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
def open_text(path: Path, *, errors: str = "backslashreplace") -> Iterator[IO[str]]:
    """The file's text, unpacked if it is gzip, with undecodable bytes kept visible."""
    with (
        open_bytes(path) as stream,
        io.TextIOWrapper(stream, encoding="utf-8-sig", errors=errors, newline="") as text,
    ):
        yield text


def check_gzip(path: Path) -> None:
    """Unpack a gzip file to its end once: DuckDB does not look at the checksum, nor always for a missing end."""
    with open_bytes(path) as stream:
        while stream.read(1 << 20):
            pass


def is_gzip_name(path: Path) -> bool:
    """Whether a file's name says that it is compressed."""
    return path.suffix.casefold() == ".gz"


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers from 1; one that is not UTF-8 is an error."""
    with open_text(path, errors="surrogateescape") as stream:
        for number, raw in enumerate(stream, start=1):
            line = raw.rstrip("\r\n")
            try:
                line.encode()
            except UnicodeEncodeError:
                shown = line.encode(errors="surrogateescape").decode(errors="backslashreplace")
                raise GraphFormatError(
                    "the text is not UTF-8", file=path, line=number, text=shown, remedy="save the file as UTF-8"
                ) from None
            yield number, line


@contextmanager
def plain_name(path: Path) -> Iterator[str]:
    """The path for DuckDB: a link to it when it is not UTF-8, or holds characters such as * that match other files."""
    if not set("*?[]{}") & set(str(path)) and is_utf8(str(path)):
        yield str(path)
        return
    with tempfile.TemporaryDirectory() as folder:
        link = Path(folder) / "edges"
        link.symlink_to(path.resolve())
        yield str(link)


def is_utf8(text: str) -> bool:
    """Whether a text can be written as UTF-8; Python keeps other bytes of a file's name as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
