"""Course: the training of a peer within a budget of time, validated as it goes, the best state kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nbfnet.evaluation.evaluator import evaluate
from nbfnet.evaluation.scorer import Scorer
from nbfnet.graph.datasets.given import given_negatives
from nbfnet.graph.graph import Dataset

_VALIDATIONS = 20  # at most
_MOST_LINKS = 1_000  # valid links of each
_LONGEST = 9  # times what a validation took must pass before the next: validations take a tenth of the budget at most

Point = dict[str, Any]  # of a curve: seconds since the beginning, steps, and the valid metrics then


class BudgetSpentError(Exception):
    """The time is over: raised through a library's training loop to end it."""


@dataclass
class Course:
    """What a peer reports its steps to.

    A snapshot is a scorer of what was learned so far, which further steps do not change.
    """

    dataset: Dataset
    seconds: float  # of training and validation together
    listener: Callable[[Point], None] | None = None
    curve: list[Point] = field(default_factory=list)
    best: Scorer | None = None
    spent: float = 0.0
    _steps: int = 0
    _begun: float = 0.0
    _next: float = 0.0  # when the next validation is due
    _cost: float = 0.0  # seconds of the last one

    def __post_init__(self) -> None:
        self._begun, self._next = time.monotonic(), self.seconds / _VALIDATIONS

    def after_step(self, snapshot: Callable[[], Scorer]) -> float:
        """Count a step and validate if it is time; the share of the budget that is spent.

        Raises:
            BudgetSpentError: nothing of it is left.
        """
        self._steps += 1
        now = time.monotonic() - self._begun
        is_over = now + self._cost >= self.seconds
        if is_over or now >= self._next:
            self._validate(snapshot())
        if is_over:
            raise BudgetSpentError
        return min(1.0, now / self.seconds)

    def _validate(self, scorer: Scorer) -> None:
        begin = time.monotonic()
        valid = valid_metrics(scorer, self.dataset)
        end = time.monotonic()
        if not valid or not self.curve or self._quality(valid) >= max(self._quality(p["valid"]) for p in self.curve):
            self.best = scorer
        self.spent, self._cost = end - self._begun, end - begin
        self._next = self.spent + max(self.seconds / _VALIDATIONS, _LONGEST * self._cost)
        self.curve.append({"seconds": self.spent, "steps": self._steps, "valid": valid})
        if self.listener is not None:
            self.listener(self.curve[-1])

    def _quality(self, valid: dict[str, float]) -> float:
        return valid[quality_metric(self.dataset)] if valid else 0.0


def quality_metric(dataset: Dataset) -> str:
    """The metric that chooses among states, and that curves show."""
    return "auroc" if dataset.kind == "homogeneous" else "mrr"


def valid_metrics(scorer: Scorer, dataset: Dataset) -> dict[str, float]:
    """The metrics on valid links, the same ones every time; {} if there is none."""
    if not len(dataset.valid):
        return {}
    negatives = given_negatives(dataset, "valid")
    return evaluate(scorer, dataset, "valid", negatives=negatives, sample=_MOST_LINKS).metrics.to_dict()
