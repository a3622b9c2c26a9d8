"""Finding: what was odd about a source when it was read, what was done about it, and how to fix it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Literal

FEW = 5  # how many lines or names a finding shows

Severity = Literal["note", "important"]  # important: the graph may not be what its owner thinks


@dataclass(frozen=True)
class Finding:
    """One sort of oddity of one file: where it is first, how often it is there, and what to do."""

    kind: str
    what: str
    file: str
    lines: tuple[int, ...]  # the first few; rows of a source that has no lines
    count: int
    remedy: str
    severity: Severity

    @property
    def place(self) -> str:
        """The file and the lines, in words."""
        if not self.lines:
            return self.file
        more = ", ..." if self.count > len(self.lines) else ""
        return f"{self.file}, {'lines' if len(self.lines) > 1 else 'line'} {', '.join(map(str, self.lines))}{more}"

    def document(self) -> dict[str, Any]:
        """The JSON document of a finding."""
        return asdict(self) | {"lines": list(self.lines)}

    def __str__(self) -> str:
        return f"{self.place}: {self.what}; {self.remedy}"


def examples(names: Iterable[str], of: int) -> str:
    """The first few of so many names, in words."""
    shown = [repr(name) for name in islice(names, FEW)]
    return ", ".join(shown) + (", ..." if of > len(shown) else "")


def counted(count: int, one: str, many: str | None = None) -> str:
    """'1 line', '1,234 lines'."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def joined(words: Sequence[str]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _by_row(rows: Sequence[int]) -> tuple[int, ...]:
    return tuple(row + 1 for row in rows)


@dataclass(frozen=True)
class Origin:
    """A file or an object, and the lines of its rows; rows count from 0, and a source without lines counts from 1."""

    file: str
    lines: Callable[[Sequence[int]], tuple[int, ...]] = _by_row
    first_line: int = 1  # the first that is neither blank nor a comment
