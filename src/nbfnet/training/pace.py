"""Pace: the clock of a training that has a budget. What it takes is timed first, and the plan follows the clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np
import torch

from nbfnet.config import TrainingConfig
from nbfnet.distributed import Team
from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.training.batches import Epochs, MixedEpochs
from nbfnet.training.budget import CALIBRATION_LINKS, CALIBRATION_PAIRS, Plan, make_plan
from nbfnet.training.step import Optimization
from nbfnet.training.validation import Validation

_TIMED_STEPS, _TIMED_LINKS = 10, 32  # at most
_FOR_TIMING = 0.01  # of the budget, after two steps


class Pace:
    """A plan and the time that was spent on it. In a team the leader's clock counts, and all follow the same plan."""

    def __init__(self, plan: Plan, team: Team, since: float) -> None:
        """``since`` is when this process began, by the monotonic clock."""
        self.plan, self._team, self._since = plan, team, since

    def spent(self) -> float:
        """Seconds, with those of processes before this one."""
        return self.plan.spent + time.monotonic() - self._since

    def state(self) -> dict[str, Any]:
        """The plan for a checkpoint, with what is spent so far."""
        self.plan.spent, self._since = self.spent(), time.monotonic()
        return asdict(self.plan)

    def review(self, step: int, seconds: float) -> None:
        """After so many steps, the last of which took so long: fewer if the machine has become slower, or more."""
        self.plan.observe_step(seconds, step)
        self.plan.change_steps(_of_leader(self._team, self.plan.affordable_steps(step, self.spent()))[0], step)

    def final_links(self) -> int:
        """How many valid links there is still time for at the end."""
        return _of_leader(self._team, self.plan.affordable_final(self.spent()))[0]


def plan_ahead(
    seconds: float,
    optimization: Optimization,
    epochs: Epochs | MixedEpochs,
    validation: Validation,
    config: TrainingConfig,
    since: float,
) -> Plan:
    """Time some steps, which are not taken, some valid links and the calibration, and plan a budget by that."""
    team, network = optimization.team, optimization.network
    steps: list[float] = []
    while len(steps) < 2 or (
        len(steps) < _TIMED_STEPS and not _of_leader(team, int(time.monotonic() - since > _FOR_TIMING * seconds))[0]
    ):
        batch = epochs.batch(0, len(steps) % epochs.length)
        steps.append(_seconds(lambda batch=batch: optimization.compute_gradients(batch)))  # type: ignore[misc]
    links = min(validation.links, _TIMED_LINKS)
    per_link = _seconds(lambda: validation.metrics(network, links)) / links if links else 0.0
    calibration = min(validation.links, CALIBRATION_LINKS) * per_link
    if validation.datasets[0].kind == "homogeneous":
        node = torch.zeros(1, dtype=torch.long)
        scorer = NetworkScorer(network, validation.datasets[0].train.message_csr, config.device)
        calibration = 2 * min(validation.links, CALIBRATION_PAIRS) * _seconds(lambda: scorer.score_all(node, node))
    plan = make_plan(
        validation.links,
        seconds,
        sample=config.validation_sample,
        seconds_per_step=float(np.mean(steps[1:])),  # the first one also makes what the others share
        seconds_per_link=per_link,
        calibration=calibration,
        spent=time.monotonic() - since,
    )
    numbers = _of_leader(team, plan.steps, plan.validations, plan.sample, plan.final)
    plan.steps, plan.validations, plan.sample, plan.final = numbers
    return plan


def _of_leader(team: Team, *numbers: int) -> list[int]:
    """What the leader counts, in every process."""
    shared = np.array(numbers if team.leads else [0] * len(numbers), dtype=np.int64)
    team.add_counts(shared)
    return [int(number) for number in shared]


def _seconds(work: Callable[[], object]) -> float:
    begin = time.monotonic()
    work()
    return time.monotonic() - begin
