"""The learning rate over a training, at positions that were worked out by hand."""

from __future__ import annotations

import math

import pytest

from nbfnet.config import TrainingConfig
from nbfnet.training.schedule import learning_rate


@pytest.mark.parametrize(
    ("schedule", "factors"),
    [
        ("constant", [1, 1, 1, 1, 1]),
        ("linear", [1, 0.75, 0.5, 0.25, 0]),
        ("cosine", [1, (1 + math.sqrt(0.5)) / 2, 0.5, (1 - math.sqrt(0.5)) / 2, 0]),
    ],
)
def test_the_rate_at_every_quarter(schedule, factors):
    config = TrainingConfig(learning_rate=0.02, schedule=schedule)
    found = [learning_rate(config, quarter / 4) for quarter in range(5)]
    assert found == pytest.approx([0.02 * factor for factor in factors], abs=1e-15)
