"""What commands print: one JSON document, or tables for people; messages go to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table


def print_json(document: Mapping[str, Any] | Sequence[Any]) -> None:
    """One JSON document on standard output, and nothing else there."""
    sys.stdout.write(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def report_error(error: object) -> None:
    """One clear message on standard error."""
    _stderr().print(f"[bold red]error:[/] {escape(str(error))}", soft_wrap=True, highlight=False)


def report_note(text: str) -> None:
    """A note on standard error, where it does not disturb what is printed."""
    _stderr().print(f"[dim]{escape(text)}[/]", soft_wrap=True, highlight=False)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table; numbers are set to the right and get thousands separators."""
    table = Table(box=None, pad_edge=False)
    numeric = [all(isinstance(row[i], int | float) or row[i] == "" for row in rows) for i in range(len(columns))]
    for name, is_number in zip(columns, numeric, strict=True):
        table.add_column(name, justify="right" if is_number else "left", header_style="dim")
    for row in rows:
        table.add_row(*(escape(_cell(value)) for value in row))
    console = Console()
    console.print(f"[bold]{escape(title)}[/]", highlight=False)
    console.print(table)


def print_text(text: str = "") -> None:
    """A line of plain text."""
    Console().print(escape(text), highlight=False)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _stderr() -> Console:
    return Console(stderr=True)
