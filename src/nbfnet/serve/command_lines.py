"""The command line that gives the same answer as a request, to copy."""

from __future__ import annotations

import shlex
from pathlib import Path

from nbfnet.explanation.explanation import Explanation
from nbfnet.prediction.answers import Answers
from nbfnet.prediction.asking import Wanted


def predict_command(run: Path, answers: Answers, wanted: Wanted, *, needs_relation: bool) -> str:
    """``nbfnet predict`` for a query."""
    parts = ["nbfnet", "predict", str(run)]
    for role, name in answers.query().items():
        if role != "relation" or needs_relation:
            parts += [f"--{role}", name]
    parts += ["-k", str(wanted.k)]
    parts += ["--exclude-known"] * wanted.exclude_known + ["--any-type"] * wanted.any_type
    return shlex.join([*parts, *(part for name in wanted.types for part in ("--type", name))])


def explain_command(run: Path, explanation: Explanation, *, needs_relation: bool) -> str:
    """``nbfnet explain`` for a prediction."""
    query = explanation.query
    link = [query.head, query.relation, query.tail] if needs_relation else [query.head, query.tail]
    parts = ["nbfnet", "explain", str(run), *link, "-k", str(max(1, len(explanation.paths)))]
    return shlex.join([*parts, "--asked", "head"] if explanation.asked == "head" else parts)
