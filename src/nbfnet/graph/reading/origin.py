"""Origin: where the rows of a part come from, so that a row can be named by its line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


def _by_row(rows: Sequence[int]) -> tuple[int, ...]:
    return tuple(row + 1 for row in rows)


@dataclass(frozen=True)
class Origin:
    """A file or an object, and the lines of its rows; rows count from 0, and a source without lines counts from 1."""

    file: str
    lines: Callable[[Sequence[int]], tuple[int, ...]] = _by_row
    first_line: int = 1  # the first that is neither blank nor a comment
