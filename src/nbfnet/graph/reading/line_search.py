"""Where a name stands in a file: asked only once something is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Unpack

from nbfnet.graph.reading.dialect import detect_dialect
from nbfnet.graph.reading.names import BLANKS
from nbfnet.graph.reading.read import ReadOptions, kind_of_file
from nbfnet.graph.reading.records import records


def place_of(origin: Path | str, *names: str, **options: Unpack[ReadOptions]) -> str:
    """The place of what has all these names, in words: a file's path, and the first such line where it is text.

    The options are those that the file was read with.
    """
    if not (isinstance(origin, Path) and origin.is_file() and kind_of_file(origin) == "text"):
        return str(origin)
    columns, encoding = options.get("columns"), options.get("encoding")
    delimiter = options.get("delimiter") or detect_dialect(origin, columns=columns, encoding=encoding).delimiter
    for line, _, cells in records(origin, delimiter, encoding):
        if {*names} <= {cell.strip(BLANKS) for cell in cells}:
            return f"{origin}, line {line}"
    return str(origin)
