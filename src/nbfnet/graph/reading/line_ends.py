"""What is odd about the lines of a text file and is read all the same: marks, line ends, blank lines, comments."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from nbfnet.graph.database import execute
from nbfnet.graph.reading.dialect import Dialect
from nbfnet.graph.reading.findings import FEW, Finding, counted
from nbfnet.graph.reading.opening import lines_of, open_bytes, open_text
from nbfnet.graph.reading.records import RowLines

if TYPE_CHECKING:
    from nbfnet.graph.reading.triplet_table import TripletTable

_MARK = BOM_UTF8.decode()
_HANDLED = "nothing, they are not read as facts"


def report_line_ends(table: TripletTable, part: str, dialect: Dialect, lines: RowLines) -> None:
    """Report byte order marks, odd line ends, comments and blank lines; all of them are read."""

    def note(kind: str, what: str, where: tuple[int, ...], count: int, remedy: str = _HANDLED) -> None:
        table.findings.append(Finding(kind, what, str(lines.path), where, count, remedy, "note"))

    with open_bytes(lines.path) as stream:
        start = stream.read(1 << 16)
    if start.startswith(BOM_UTF8):
        note("byte order mark", "the file begins with a byte order mark", (1,), 1, "nothing, it is left out")
    if b"\r\n" in start:
        what = "the lines end as Windows writes them (CR LF)"
        note("line ends", what, (), 1, "nothing, they are read like any others")
    if lines.lone_returns and b"\n" in start:  # alone in every line they are how old Macintosh computers wrote
        _report_lone_returns(table, lines)
    _report_inner_marks(table, part, lines)
    if dialect.comments:
        what = f"{counted(dialect.comments, 'comment line')} at the beginning"
        note("comments", what, tuple(range(1, 1 + min(dialect.comments, FEW))), dialect.comments)
    if lines.encoding is None and not lines.has_one_line_for_each_row:
        blank, first = 0, []
        with open_bytes(lines.path) as stream:
            for number, line in enumerate(_split(lines_of(stream, lines.path), lines.lone_returns > 0), start=1):
                if not line.strip():
                    blank += 1
                    first += [number] if blank <= FEW else []
        if blank:
            note("blank lines", counted(blank, "blank line"), tuple(first), blank)


def _split(lines: Iterable[bytes], at_returns: bool) -> Iterator[bytes]:
    """The lines of a file, which carriage returns may end too."""
    for line in lines:
        yield from line.splitlines(keepends=True) if at_returns else [line]


def _report_lone_returns(table: TripletTable, lines: RowLines) -> None:
    first: list[int] = []
    with open_text(lines.path, encoding=lines.encoding) as stream:
        for number, line in enumerate(lines_of(stream, lines.path), start=1):
            if line.endswith("\r"):
                first.append(number)
                if len(first) == FEW:
                    break
    what = f"{counted(lines.lone_returns, 'carriage return')} without a line feed, each read as the end of a line"
    remedy = "end all lines in the same way; if they belong to names, remove them"
    finding = Finding("line ends", what, str(lines.path), tuple(first), lines.lone_returns, remedy, "important")
    table.findings.append(finding)


def _report_inner_marks(table: TripletTable, part: str, lines: RowLines) -> None:
    """Report byte order marks that begin a name, as where files were joined; the first of a file is left out anyway."""
    marked = " OR ".join(f"starts_with({role}, chr({ord(_MARK)}))" for role in ("head", "relation", "tail"))
    query = f"SELECT rowid FROM triplet WHERE part = ? AND ({marked}) ORDER BY rowid"
    rows = [row for (row,) in execute(table.connection, query, [part]).fetchall()]
    if rows:
        what = f"a byte order mark (U+FEFF), which is invisible, begins a name in {counted(len(rows), 'line')}"
        remedy = "remove it from the file: with it and without it are two names"
        where = table.lines(part, rows[:FEW])
        finding = Finding("byte order mark", what, str(lines.path), where, len(rows), remedy, "important")
        table.findings.append(finding)
