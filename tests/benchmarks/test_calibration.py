"""The calibration's figures are those of asking by name, one query at a time."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

from nbfnet import Run

BEFORE, AFTER = "expected calibration error of the sigmoid", "expected calibration error"
CANDIDATES = "bins of probability: candidates"
ANSWERS = "bins of probability: share that is the answer"


def bins_by_name(run: Run) -> list[list[tuple[float, bool]]]:
    """The probability of each test query's ten best candidates, known answers aside, and whether it is the answer."""
    run = Run.open(run.folder.path, train_only=True)
    entities, relations = run.dataset.train.entities, run.dataset.train.relations
    parts = [run.dataset.train.triplets, run.dataset.valid, run.dataset.test]
    named = [
        [
            (entities[h], relations[r], entities[t])
            for h, r, t in zip(p.head.tolist(), p.relation.tolist(), p.tail.tolist(), strict=True)
        ]
        for p in parts
    ]
    known = {fact for part in named for fact in part}
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(10)]
    for head, relation, tail in named[2]:
        tails = [
            a for a in run.predict(head, relation, k=999) if a.name == tail or (head, relation, a.name) not in known
        ]
        heads = [
            a
            for a in run.predict(relation=relation, tail=tail, k=999)
            if a.name == head or (a.name, relation, tail) not in known
        ]
        for answers, answer in ((tails, tail), (heads, head)):
            for a in answers[:10]:
                bins[min(int(10 * a.probability), 9)].append((a.probability, a.name == answer))
    return bins


def error(bins: list[list[tuple[float, bool]]]) -> float:
    gaps = [abs(sum(p for p, _ in found) - sum(right for _, right in found)) for found in bins]
    return sum(gaps) / sum(len(found) for found in bins)


def test_figures_before_and_after(
    benchmark_module: Callable[[str], ModuleType], things_run: Run, sigmoid_run: Run
) -> None:
    """The sigmoid's run is the same network without its curve."""
    figures = benchmark_module("calibration").measure(things_run, None)
    before, after = bins_by_name(sigmoid_run), bins_by_name(things_run)
    assert figures["test queries"] == 2 * len(things_run.dataset.test)
    assert figures[AFTER] == pytest.approx(error(after), abs=6e-5)
    assert figures[BEFORE] == pytest.approx(error(before), abs=6e-5)
    assert figures[BEFORE] != figures[AFTER]
    assert figures[CANDIDATES] == [len(found) for found in after]
    shares = [round(float(np.mean([right for _, right in found])), 3) if found else None for found in after]
    assert figures[ANSWERS] == shares
    assert benchmark_module("calibration").measure(sigmoid_run, None)[AFTER] == figures[BEFORE]


def test_so_many_queries(benchmark_module: Callable[[str], ModuleType], things_run: Run) -> None:
    figures = benchmark_module("calibration").measure(things_run, 3)
    assert (figures["test queries"], sum(figures[CANDIDATES])) == (3, 30)
