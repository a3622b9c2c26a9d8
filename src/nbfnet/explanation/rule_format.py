"""Rules in writing: as an implication, as Datalog, and as tables in CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol

RuleFormat = Literal["text", "json", "csv", "datalog"]
Body = Sequence[tuple[str, bool]]  # a relation's label, and whether it is followed backwards

_PLAIN_ATOM = re.compile(r"[a-z][a-zA-Z0-9_]*\Z")


class WrittenRule(Protocol):
    """What a rule must have to be written."""

    @property
    def query(self) -> str:
        """The label of the relation that it predicts."""

    @property
    def query_inverse(self) -> bool:
        """Whether it predicts heads."""

    @property
    def body(self) -> Body:
        """The atoms that lead from X to Y."""

    def figures(self) -> Mapping[str, Any]:
        """What speaks for it, by name."""


def implication(rule: WrittenRule) -> str:
    """Such as ``born in(X, Z) and city of(Z, Y) => nationality(X, Y)``."""
    return f"{' and '.join(_body(rule)) or 'X = Y'} => {_atom(rule.query, rule.query_inverse, 'X', 'Y')}"


def datalog(rules: Iterable[WrittenRule]) -> str:
    """One clause on each line, its figures in a comment above it; names that are not plain atoms are quoted."""
    lines = []
    for rule in rules:
        figures = ", ".join(f"{name} {_figure(value)}" for name, value in rule.figures().items())
        head = _atom(_quoted(rule.query), rule.query_inverse, "X", "Y")
        lines += [f"% {figures}", f"{head} :- {', '.join(_body(rule, quoted=True)) or 'X = Y'}."]
    return "".join(line + "\n" for line in lines)


def comma_separated(rules: Iterable[WrittenRule]) -> str:
    """A header, then one line for each rule."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    for number, rule in enumerate(rules):
        figures = rule.figures()
        if number == 0:
            writer.writerow(["rule", *figures])
        writer.writerow([implication(rule), *("" if value is None else value for value in figures.values())])
    return table.getvalue()


def _body(rule: WrittenRule, *, quoted: bool = False) -> list[str]:
    length = len(rule.body)
    between = ["Z"] if length == 2 else [f"Z{i}" for i in range(1, length)]
    names = ["X", *between, "Y"]
    return [
        _atom(_quoted(label) if quoted else label, inverse, first, second)
        for (label, inverse), first, second in zip(rule.body, names, names[1:], strict=False)
    ]


def _atom(label: str, inverse: bool, first: str, second: str) -> str:
    return f"{label}({second}, {first})" if inverse else f"{label}({first}, {second})"


def _quoted(label: str) -> str:
    if _PLAIN_ATOM.match(label):
        return label
    escaped = label.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def _figure(value: object) -> str:
    if value is None:
        return "unknown"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
