"""A trial: one method, trained within the budget and evaluated on the test links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nbfnet.config import Table
from nbfnet.evaluation.baselines import BASELINES
from nbfnet.evaluation.evaluator import evaluate
from nbfnet.evaluation.filtering import facts_of
from nbfnet.evaluation.result import PairResult, RankingResult
from nbfnet.evaluation.scorer import Scorer
from nbfnet.graph.datasets.given import given_negatives
from nbfnet.graph.graph import Dataset
from nbfnet.peers.course import Course, Point, valid_metrics
from nbfnet.peers.embeddings import count_parameters, train_embeddings
from nbfnet.peers.homogeneous import train_deepwalk, train_vgae
from nbfnet.peers.methods import Method
from nbfnet.run import Run
from nbfnet.training.fine_tuning import SCRATCH

_OTHER_NAMES = {"frequency": "relation frequency"}  # of a classical method among the baselines
Teller = Callable[[Point], None]  # is told each point of a curve


@dataclass(frozen=True)
class Setting:
    """What all methods of a comparison share."""

    hours: float
    seed: int
    sample: int | None  # of the test links
    config: Table  # of the method nbfnet

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def run_trial(method: Method, dataset: Dataset, folder: Path, setting: Setting, tell: Teller) -> dict[str, Any]:
    """Train and evaluate a method: its metrics, parameters, settings, seconds, and curve of valid metrics.

    ``folder`` is for the run of a network, which resumes if it was interrupted.
    """
    if method.family == "network":
        return _run_network(method, dataset, folder, setting, tell)
    if method.family == "classical":
        return _run_classical(method, dataset, setting, tell)
    course = Course(dataset, 3600 * setting.hours, tell)
    found = _train(method.name, dataset, course, setting.seed)
    assert course.best is not None, "a course ends with a validation"
    measured = _measure(course.best, dataset, setting)
    return {**measured, **found, "training_seconds": course.spent, "curve": course.curve}


def _train(name: str, dataset: Dataset, course: Course, seed: int) -> dict[str, Any]:
    if name == "vgae":
        return train_vgae(dataset.train, course, seed)
    if name == "deepwalk":
        return train_deepwalk(dataset.train, course, seed)
    return train_embeddings(name, dataset.train, course, seed)


def _run_classical(method: Method, dataset: Dataset, setting: Setting, tell: Teller) -> dict[str, Any]:
    """A method that learns nothing: its curve is one point."""
    make = BASELINES[_OTHER_NAMES.get(method.name, method.name)]
    point = {"seconds": 0.0, "steps": 0, "valid": valid_metrics(make(dataset.train), dataset)}
    tell(point)
    measured = _measure(make(facts_of(dataset, "test")), dataset, setting)
    return {**measured, "parameters": 0, "settings": {}, "training_seconds": 0.0, "curve": [point]}


def _run_network(method: Method, dataset: Dataset, folder: Path, setting: Setting, tell: Teller) -> dict[str, Any]:
    """A run of this package, whose budget holds its calibration too."""
    stated = setting.config if method.name == "nbfnet" else {"model": {"kind": method.name}}
    budget = {"training": {"hours": setting.hours, "seed": setting.seed}}
    run = Run.resume(folder, dataset, stated, budget, start_from=SCRATCH)  # as the others do
    run.train(listener=lambda entry: tell(_points([entry])[0]))
    curve = _points(run.history)
    return {
        **_describe(run.evaluate(sample=setting.sample, seed=setting.seed)),
        "parameters": count_parameters(run.folder.network(dataset)),
        "settings": run.config.model_dump(mode="json", exclude={"experiment"}),
        "training_seconds": curve[-1]["seconds"] if curve else 0.0,
        "curve": curve,
    }


def _points(log: list[dict[str, Any]]) -> list[Point]:
    """The validations of a run as a curve; its seconds are of training and of all validations so far."""
    validated, points = 0.0, []
    for entry in log:
        validated += entry["validation_seconds"]
        seconds = entry["training_seconds"] + validated
        points.append({"seconds": seconds, "steps": entry.get("step", 0), "valid": entry["valid"]})
    return points


def _measure(scorer: Scorer, dataset: Dataset, setting: Setting) -> dict[str, Any]:
    negatives = given_negatives(dataset, "test")
    return _describe(evaluate(scorer, dataset, negatives=negatives, sample=setting.sample, seed=setting.seed))


def _describe(result: RankingResult | PairResult) -> dict[str, Any]:
    found = result.to_dict()
    kept = {key: found[key] for key in ("protocol", "ties", "queries", "metrics")}
    return {**kept, "ranking_seconds": found["seconds"]}
