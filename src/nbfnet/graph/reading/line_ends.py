"""What is odd about the lines of a text file and is read all the same: marks, line ends, blank lines, comments."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import TYPE_CHECKING

from nbfnet.graph.reading.dialect import Dialect
from nbfnet.graph.reading.findings import FEW, Finding, counted
from nbfnet.graph.reading.opening import open_bytes
from nbfnet.graph.reading.records import RowLines

if TYPE_CHECKING:
    from nbfnet.graph.reading.triplet_table import TripletTable

_HANDLED = "nothing, they are not read as facts"


def report_line_ends(table: TripletTable, part: str, dialect: Dialect, lines: RowLines) -> None:
    """Report a byte order mark, Windows line ends, comments and blank lines; all of them are handled."""

    def note(kind: str, what: str, where: tuple[int, ...], count: int, remedy: str = _HANDLED) -> None:
        table.findings.append(Finding(kind, what, str(lines.path), where, count, remedy, "note"))

    with open_bytes(lines.path) as stream:
        start = stream.read(1 << 16)
    if start.startswith(BOM_UTF8):
        note("byte order mark", "the file begins with a byte order mark", (1,), 1, "nothing, it is left out")
    if b"\r\n" in start:
        what = "the lines end as Windows writes them (CR LF)"
        note("line ends", what, (), 1, "nothing, they are read like any others")
    if dialect.comments:
        what = f"{counted(dialect.comments, 'comment line')} at the beginning"
        note("comments", what, tuple(range(1, 1 + min(dialect.comments, FEW))), dialect.comments)
    if lines.encoding is None and not lines.has_one_line_for_each_row:
        blank, first = 0, []
        with open_bytes(lines.path) as stream:
            for number, line in enumerate(stream, start=1):
                if not line.strip():
                    blank += 1
                    first += [number] if blank <= FEW else []
        if blank:
            note("blank lines", counted(blank, "blank line"), tuple(first), blank)
