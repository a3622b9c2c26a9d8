"""Where a name stands in a file: asked only once something is wrong with it."""

from __future__ import annotations

from pathlib import Path

from nbfnet.graph.reading.dialect import detect_dialect
from nbfnet.graph.reading.read import kind_of_file
from nbfnet.graph.reading.text import records


def place_of(origin: Path | str, *names: str) -> str:
    """The place of what has all these names, in words: a file's path, and the first such line where it is text."""
    wanted = set(names)
    if isinstance(origin, Path) and origin.is_file() and kind_of_file(origin) == "text":
        for line, _, cells in records(origin, detect_dialect(origin).delimiter):
            if wanted <= {cell.strip(" ") for cell in cells}:
                return f"{origin}, line {line}"
    return str(origin)
