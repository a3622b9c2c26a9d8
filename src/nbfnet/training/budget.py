"""A budget of time: how many steps and validations fit into it, planned at the start and reviewed after every step."""

from __future__ import annotations

import math
from dataclasses import dataclass

# What calibration asks after training, see prediction/calibration.py.
CALIBRATION_LINKS, CALIBRATION_PAIRS = 1000, 50
_MOST_VALIDATIONS, _FEWEST_LINKS = 10, 200
_FOR_VALIDATIONS = 0.1  # of the budget, without the final one
_FOR_THE_END = 0.3  # of the budget at most, for the final validation
_TOLERANCE = 0.01  # of the budget: smaller deviations leave the plan as it is
_OVERRUN = 0.03  # of the budget, rather than a final validation on fewer links
_WINDOW = 50  # steps that the expected duration of a step is averaged over


@dataclass
class Plan:
    """What a training with a budget does, in its checkpoint, so that a resumed training follows it.

    The learning rate depends on the position in the plan, from 0 to 1. When the number of steps changes, the positions
    of the remaining ones lead from where the training is to 1: the decay is always finished.
    """

    budget: float  # seconds
    steps: int  # in all
    validations: int  # evenly spread, the last one after the last step
    sample: int  # valid links of each of these
    final: int  # valid links that the chosen network is validated on at the end
    calibration: float  # seconds
    seconds_per_step: float
    seconds_per_link: float  # of a validation
    spent: float = 0.0  # seconds, over all processes that took turns
    validated: int = 0
    changed_at: int = 0  # the step where the number of steps was changed
    changed_from: float = 0.0  # the position there
    finished: bool = False

    def position(self, step: float) -> float:
        """Where a step stands, from 0 to 1."""
        if step >= self.steps:
            return 1.0
        share = (step - self.changed_at) / (self.steps - self.changed_at)
        return self.changed_from + (1 - self.changed_from) * share

    def is_validation_due(self, step: int) -> bool:
        """Whether a validation stands before the next step."""
        return step >= self.steps or self.position(step) * self.validations >= self.validated + 1

    def observe_step(self, seconds: float, step: int) -> None:
        """Learn how long steps take, after the step with this number."""
        self.seconds_per_step += (seconds - self.seconds_per_step) * max(1 / _WINDOW, 1 / (step + 1))

    def observe_validation(self, seconds: float, links: int) -> None:
        """Count a validation, and learn how long they take."""
        self.validated += 1
        self.seconds_per_link = seconds / max(1, links)

    def affordable_steps(self, step: int, spent: float) -> int:
        """How many steps, in all, would end the training on time; the planned number if the difference is small."""
        validations = (self.validations - self.validated) * self.sample
        if self.final > self.sample:
            validations += self.final
        left = self.budget - spent - self.calibration - validations * self.seconds_per_link
        steps = step + max(0, math.floor(left / self.seconds_per_step))
        return self.steps if abs(steps - self.steps) * self.seconds_per_step <= _TOLERANCE * self.budget else steps

    def affordable_final(self, spent: float) -> int:
        """How many valid links can still be asked in the final validation."""
        left = max(self.budget - spent - self.calibration, 0.0) + _OVERRUN * self.budget
        return max(self.sample, min(self.final, int(left / max(self.seconds_per_link, 1e-9))))

    def change_steps(self, steps: int, step: int) -> None:
        """Plan another number of steps after this one."""
        if steps != self.steps:
            self.changed_from, self.changed_at = self.position(step), step
            self.steps = steps


def make_plan(
    valid: int,
    seconds: float,
    *,
    sample: int | None,
    seconds_per_step: float,
    seconds_per_link: float,
    calibration: float,
    spent: float = 0.0,
) -> Plan:
    """The plan for a budget of which some is spent, by how long a step, a valid link and the calibration take.

    ``valid`` is how many valid links there are.
    ``sample`` is the stated number of valid links; None lets a tenth of the budget decide.
    """
    per_link = max(seconds_per_link, 1e-9)
    affordable = int(_FOR_VALIDATIONS * seconds / per_link)  # links, in all validations
    wanted = sample or max(_FEWEST_LINKS, affordable // _MOST_VALIDATIONS)
    size = min(valid, wanted)
    validations = max(1, min(_MOST_VALIDATIONS, affordable // max(1, size)))
    final = max(size, min(valid, int(_FOR_THE_END * seconds / per_link)))
    plan = Plan(seconds, 1, validations, size, final, calibration, seconds_per_step, seconds_per_link)
    plan.steps = max(1, plan.affordable_steps(0, spent))
    return plan
