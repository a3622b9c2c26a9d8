"""Opening what a user names as SOURCE."""

from __future__ import annotations

from pathlib import Path

from nbfnet.cli.output import report_note
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.loading import SourceOptions, open_source

_WORDS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ","}  # separators that are hard to type in a shell


def open_graph(
    source: str,
    delimiter: str | None,
    header: bool | None,
    columns: str | None,
    skip_bad_lines: bool,
    names: Path | None,
    types: Path | None,
) -> Graph | Dataset:
    """Read what a user named as SOURCE, as the options say, and tell how many lines were left out."""
    options: SourceOptions = {
        "delimiter": None if delimiter is None else _WORDS.get(delimiter, delimiter),
        "header": header,
        "columns": None if columns is None else columns.split(","),
        "skip_bad_lines": skip_bad_lines,
        "labels": names,
        "types": types,
    }
    opened = open_source(source, **options)
    graph = opened.train if isinstance(opened, Dataset) else opened
    if graph.skipped_lines:
        report_note(f"{graph.skipped_lines:,} bad {'line' if graph.skipped_lines == 1 else 'lines'} skipped")
    return opened
