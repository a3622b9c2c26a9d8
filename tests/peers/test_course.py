"""A course: the budget ends it, validations are a tenth of it, the best state is kept."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest
import torch

from nbfnet.evaluation.scorer import Scorer
from nbfnet.graph.triplets import Triplets
from nbfnet.peers import course as module
from nbfnet.peers.course import BudgetSpentError, Course


class Fixed(Scorer):
    """A state of a known quality."""

    def __init__(self, quality):
        self.quality = quality

    def score_all(self, source, relation):
        raise AssertionError("the metrics are given")


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the test moves, and metrics that a scorer states."""

    class Clock:
        now = 100.0
        cost = 0.0

        def metrics(self, scorer, dataset):
            self.now += self.cost
            return {"mrr": scorer.quality}

    clock = Clock()
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(module, "valid_metrics", clock.metrics)
    return clock


def follow(course, clock, qualities, step=1.0):
    qualities, shares = iter(qualities), []
    with pytest.raises(BudgetSpentError):
        for quality in qualities:
            clock.now += step
            shares.append(course.after_step(lambda quality=quality: Fixed(quality)))
    return shares


def test_it_validates_twenty_times_and_keeps_the_best(blocks, clock):
    course = Course(blocks, 100.0)
    shares = follow(course, clock, [min(s, 70 - s / 2) / 100 for s in range(1, 200)])
    assert len(course.curve) == 20
    assert [point["seconds"] for point in course.curve] == [5.0 * i for i in range(1, 21)]
    assert course.best.quality == max(point["valid"]["mrr"] for point in course.curve)
    assert shares[9] == pytest.approx(0.1)
    assert course.spent == pytest.approx(100.0)


def test_costly_validations_are_rare_and_fit_into_the_budget(blocks, clock):
    clock.cost = 5.0
    course = Course(blocks, 100.0)
    follow(course, clock, [0.1] * 200)
    assert [point["seconds"] for point in course.curve] == [10.0, 60.0, 100.0]


def test_one_step_that_takes_longer_than_the_budget_is_validated(blocks, clock):
    course = Course(blocks, 1.0)
    follow(course, clock, [0.3], step=50.0)
    assert course.best.quality == 0.3 and len(course.curve) == 1


def test_where_states_tie_the_later_one_is_kept(blocks, clock):
    course = Course(blocks, 100.0)
    kept = []

    def snapshot():
        kept.append(Fixed(0.5))
        return kept[-1]

    with pytest.raises(BudgetSpentError):
        while True:
            clock.now += 1
            course.after_step(snapshot)
    assert course.best is kept[-1]


def test_without_valid_links_the_last_state_is_kept(blocks):
    course = Course(dataclasses.replace(blocks, valid=Triplets.empty()), 1e-9)
    last = Fixed(0.0)
    with pytest.raises(BudgetSpentError):
        course.after_step(lambda: last)
    assert course.best is last and course.curve[0]["valid"] == {}
    assert torch.is_grad_enabled()
