"""Budgets: the plan by numbers worked out by hand, and trainings of some seconds by the real clock."""

from __future__ import annotations

import contextlib
import time

import numpy as np
import pytest

import nbfnet.prediction.calibration as calibration
from nbfnet.evaluation.evaluator import evaluate
from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.graph.triplets import Triplets
from nbfnet.training.budget import CALIBRATION_LINKS, CALIBRATION_PAIRS, Plan, make_plan
from nbfnet.training.checkpoint import read_progress
from nbfnet.training.loop import train
from nbfnet.training.schedule import learning_rate
from nbfnet.training.start import begin
from nbfnet.training.step import Optimization

SECONDS = 4.0
SMALL = {"model": {"dim": 4, "layers": 2, "hidden": [4]}, "training": {"batch_size": 8, "negatives": 3}}


@pytest.fixture(autouse=True)
def _warm(learn, tmp_path_factory, knowledge):
    """The first training of a process imports for seconds."""
    learn(tmp_path_factory.mktemp("warm") / "run", knowledge, epochs=1)


@pytest.fixture
def with_valid(knowledge, dataset_of):
    """The same facts with so many valid links."""

    def with_valid(count):
        return dataset_of(knowledge.train, Triplets.of(*np.zeros((3, count), dtype=np.int32)))

    return with_valid


def plan_of(dataset, seconds=1000.0, sample=None, step=0.1, link=0.01, spent=0.0):
    return make_plan(
        len(dataset.valid),
        seconds,
        sample=sample,
        seconds_per_step=step,
        seconds_per_link=link,
        calibration=50.0,
        spent=spent,
    )


def test_a_plan(with_valid):
    """100 s are for validations, ten of 1,000 links each; the final one takes 50 s, calibration too."""
    plan = plan_of(with_valid(5000), spent=10)
    assert (plan.validations, plan.sample, plan.final) == (10, 1000, 5000)
    assert plan.steps == round((1000 - 10 - 50 - 100 - 50) / 0.1)
    plan = plan_of(with_valid(300))  # all of them each time: the last validation is the final one
    assert (plan.validations, plan.sample, plan.final) == (10, 300, 300)
    assert plan.steps == round((1000 - 50 - 30) / 0.1)


def test_a_short_budget_has_fewer_validations_but_never_none(with_valid):
    plan = plan_of(with_valid(5000), seconds=60.0)  # 6 s for validations of 200 links
    assert (plan.validations, plan.sample, plan.final) == (3, 200, 1800)  # 18 s for the final one, not 50
    plan = plan_of(with_valid(5000), seconds=10.0)
    assert (plan.validations, plan.sample, plan.steps) == (1, 200, 1)
    assert plan_of(with_valid(0)).sample == plan_of(with_valid(0)).final == 0
    assert plan_of(with_valid(5000), sample=77).sample == 77


def test_positions_lead_to_the_end_whatever_changes():
    plan = Plan(100.0, 100, 4, 10, 10, 0.0, 1.0, 0.0)
    assert [plan.position(step) for step in (0, 25, 99.5, 100, 101)] == [0, 0.25, 0.995, 1, 1]
    plan.change_steps(70, 40)  # 30 more, for the positions from 0.4 to 1
    assert [plan.position(step) for step in (40, 55, 70)] == pytest.approx([0.4, 0.7, 1.0])
    plan.change_steps(100, 55)
    assert [plan.position(step) for step in (55, 77.5, 100)] == pytest.approx([0.7, 0.85, 1.0])
    due = [step for step in range(56, 101) if plan.is_validation_due(step)]
    plan.validated = 2
    assert due[0] == 56 and next(step for step in range(56, 101) if plan.is_validation_due(step)) == 63
    plan.change_steps(80, 80)
    assert plan.position(80) == 1 and plan.is_validation_due(80)


def test_a_plan_follows_the_clock():
    plan = Plan(100.0, 90, 1, 100, 100, 5.0, 1.0, 0.05)
    assert plan.affordable_steps(0, 0.0) == 90
    assert plan.affordable_steps(40, 40.9) == 90  # less than 1 % of the budget: as planned
    assert plan.affordable_steps(40, 65.0) == 65
    assert plan.affordable_steps(40, 200.0) == 40
    for _ in range(300):
        plan.observe_step(2.0, 40)
    assert plan.affordable_steps(40, 40.0) == 40 + 50 // 2
    plan.observe_validation(seconds=20.0, links=100)
    assert plan.validated == 1 and plan.affordable_steps(40, 40.0) == 40 + 55 // 2
    assert (
        Plan(100.0, 90, 1, 10, 100, 5.0, 1.0, 0.5).affordable_final(73.0) == 50
    )  # 22 s are left, and 3 s may be too much
    assert Plan(100.0, 90, 1, 10, 100, 5.0, 1.0, 0.5).affordable_final(999.0) == 10


def test_calibration_asks_what_the_plan_expects():
    assert (calibration._LINKS, calibration._PAIRS) == (CALIBRATION_LINKS, CALIBRATION_PAIRS)


@pytest.mark.parametrize("kind", ["knowledge", "homogeneous"])
def test_a_training_ends_on_time_with_its_decay(kind, learn, tmp_path, monkeypatch, request):
    rates, original = [], Optimization.take_step

    def take_step(self, position):
        rates.append(learning_rate(self.config, position))
        original(self, position)

    monkeypatch.setattr(Optimization, "take_step", take_step)
    begin, heard = time.monotonic(), []
    folder = learn(tmp_path / "run", request.getfixturevalue(kind), heard.append, hours=SECONDS / 3600)
    # On a busy machine a process may wait for long; nothing else makes a budget of seconds so inexact.
    assert 0.5 * SECONDS < time.monotonic() - begin < 1.5 * SECONDS
    progress = read_progress(tmp_path / "run")
    assert progress.plan["steps"] == progress.step == len(rates) and progress.plan["finished"]
    assert rates[0] > 0.0049 and rates[-1] < 1e-4 and rates == sorted(rates, reverse=True)
    assert 5 <= len(heard) <= 11 and heard[-1]["step"] == progress.step
    assert progress.epoch * -(-20 // 8) <= progress.step
    before = {file: file.read_bytes() for file in (tmp_path / "run").glob("*.*")}
    learn(tmp_path / "run", request.getfixturevalue(kind), heard.append)  # it has ended: nothing is done
    assert {file: file.read_bytes() for file in (tmp_path / "run").glob("*.*")} == before
    assert folder.config().training.schedule == "cosine"


def test_a_machine_that_becomes_slower_shortens_the_plan(learn, tmp_path, knowledge, monkeypatch):
    planned, original = [], Optimization.compute_gradients

    def slower(self, batch):
        if (progress := read_progress(tmp_path / "run")).plan:
            planned.append(progress.plan["steps"])
            time.sleep(0.1)
        return original(self, batch)

    monkeypatch.setattr(Optimization, "compute_gradients", slower)
    begin = time.monotonic()
    learn(tmp_path / "run", knowledge, hours=SECONDS / 3600)
    assert time.monotonic() - begin < 1.5 * SECONDS
    progress = read_progress(tmp_path / "run")
    assert progress.plan["steps"] == progress.step == len(planned) < planned[0] / 2
    assert progress.plan["finished"]


def test_a_stopped_training_follows_its_plan(learn, tmp_path, knowledge):
    heard = []

    def stop(entry):
        heard.append(entry)
        if len(heard) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        learn(tmp_path / "run", knowledge, stop, hours=SECONDS / 3600)
    stopped = read_progress(tmp_path / "run")
    assert 0 < stopped.step < stopped.plan["steps"] and 0 < stopped.plan["spent"] < SECONDS
    begin = time.monotonic()
    learn(tmp_path / "run", knowledge, heard.append)
    assert time.monotonic() - begin < 1.5 * SECONDS - stopped.plan["spent"]
    ended = read_progress(tmp_path / "run")
    assert ended.plan["budget"] == stopped.plan["budget"] and ended.plan["finished"]
    assert ended.plan["spent"] > 0.5 * SECONDS and ended.step == ended.plan["steps"] > stopped.step


def test_the_chosen_network_is_validated_on_all_valid_links(learn, tmp_path, knowledge):
    heard = []
    folder = learn(tmp_path / "run", knowledge, heard.append, hours=SECONDS / 3600, validation_sample=2)
    assert [entry["links"] for entry in heard] == [2] * (len(heard) - 1) + [len(knowledge.valid)]
    best = max(heard[:-1], key=lambda entry: (entry["valid"]["mrr"], entry["step"]))
    metrics = folder.manifest["metrics"]
    assert metrics == {"epoch": best["epoch"], "step": best["step"], "valid": heard[-1]["valid"]}
    scorer = NetworkScorer(folder.network(knowledge), knowledge.train.message_csr)
    assert evaluate(scorer, knowledge, "valid").metrics.to_dict() == metrics["valid"]


def test_a_final_validation_that_is_stopped_is_done_again(learn, tmp_path, knowledge, monkeypatch):
    import nbfnet.training.validation as validation

    original, of_all = validation.evaluate, []

    def stops(*arguments, sample, **options):
        if sample == len(knowledge.valid):
            of_all.append(sample)
            if len(of_all) > 1:  # the first time it is timed, before the first step
                raise KeyboardInterrupt
        return original(*arguments, sample=sample, **options)

    with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        patch.setattr(validation, "evaluate", stops)
        learn(tmp_path / "run", knowledge, hours=SECONDS / 3600, validation_sample=2)
    stopped = read_progress(tmp_path / "run")
    assert not stopped.plan["finished"] and stopped.step == stopped.plan["steps"]
    heard = []
    learn(tmp_path / "run", knowledge, heard.append)
    assert [entry["links"] for entry in heard] == [len(knowledge.valid)]
    assert read_progress(tmp_path / "run").plan["finished"]


def test_a_time_limit_stops_a_budget_and_another_call_follows_its_plan(tmp_path, knowledge):
    folder, config, _ = begin(tmp_path / "run", knowledge, SMALL, {"training": {"hours": SECONDS / 3600}})
    train(folder, knowledge, config, stop_after=SECONDS / 10 / 3600)
    stopped = read_progress(tmp_path / "run")
    assert 0 < stopped.step < stopped.plan["steps"] and not stopped.plan["finished"]
    train(folder, knowledge, config)
    assert read_progress(tmp_path / "run").plan["finished"]
