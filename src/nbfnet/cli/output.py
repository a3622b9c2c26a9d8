"""What commands print: one JSON document, or tables for people; messages go to standard error."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import typer
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from nbfnet.strict_json import strict_json

_ENDLESS = 10_000  # columns, where nothing says how wide the output may be
# A name may hold what would move the cursor or change colours: shown as \x1b, never sent to a terminal.
_CONTROL = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) != "\n"}
# Marks that reorder what is shown, or cannot be seen, and line ends that are not "\n"; not the joiners of some scripts.
_MARKS = (0xAD, 0x61C, 0x180E, 0x200B, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF)
_CONTROL |= {code: f"\\u{code:04x}" for code in _MARKS}
_IN_ONE_LINE = {**_CONTROL, ord("\n"): "\\n"}
_JSON_CONTROL = {code: f"\\u{code:04x}" for code in (*range(127, 160), *_MARKS)}  # those that JSON leaves as they are
_notes_shown = True


def show_notes(shown: bool) -> None:
    """Switch notes on or off for this process: of a team only one talks, and none where it should be quiet."""
    global _notes_shown
    _notes_shown = shown


def accept_any_name() -> None:
    """Let names be printed that the terminal's encoding does not have: they are escaped."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def print_json(document: Mapping[str, Any] | Sequence[Any]) -> None:
    """One JSON document on standard output, and nothing else there."""
    unicode = (getattr(sys.stdout, "encoding", None) or "").casefold().startswith("utf")
    typer.echo(strict_json(document, ensure_ascii=not unicode, indent=2).translate(_JSON_CONTROL))


def report_error(error: object) -> None:
    """One clear message on standard error."""
    _report(Text.assemble(("Error:", "bold red"), f" {_visible(error)}"))


def report_note(text: str) -> None:
    """A note on standard error, where it does not disturb what is printed."""
    if _notes_shown:
        _report(Text(_visible(text), style="dim"))


def print_title(text: str) -> None:
    """A line that stands above others."""
    _print(Console(), Text(text.translate(_IN_ONE_LINE), style="bold"))


def print_text(text: str = "") -> None:
    """A line of plain text, however long."""
    _print(Console(), Text(text.translate(_IN_ONE_LINE)))


def print_table(rows: Sequence[Sequence[object]], columns: Sequence[str] = ()) -> None:
    """A table; numbers are set to the right and get thousands separators.

    The last column is folded where the terminal is narrow, the others never: a name can always be copied. Without
    rows there is none.
    """
    if not rows:
        return
    table = Table(box=None, pad_edge=False, show_header=bool(columns))
    for i in range(len(rows[0])):
        is_number = all(isinstance(row[i], int) or row[i] == "" for row in rows)
        last = i == len(rows[0]) - 1
        title = columns[i] if columns else ""
        table.add_column(title, justify="right" if is_number else "left", header_style="dim", no_wrap=not last)
    for row in rows:
        table.add_row(*(Text(_cell(value)) for value in row))
    console = Console()
    needed = Measurement.get(console, console.options.update(width=_ENDLESS), table).minimum
    if not console.is_terminal or console.width < needed:
        console.width = _ENDLESS
    console.print(table)


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value).translate(_IN_ONE_LINE)


def _visible(value: object) -> str:
    return str(value).translate(_CONTROL)


def _report(text: Text) -> None:
    with suppress(OSError):  # a full disk, a closed pipe: work must not end because nobody can be told
        _print(Console(stderr=True), text)


def _print(console: Console, text: Text) -> None:
    console.print(text, soft_wrap=True)
