"""The learning rate over a training, and its decay to zero."""

from __future__ import annotations

import math

from nbfnet.config import TrainingConfig


def learning_rate(config: TrainingConfig, position: float) -> float:
    """The rate of a step whose middle stands at ``position``, from 0 (start) to 1 (end of the planned steps).

    With S steps the k-th, from 0, has its middle at (k + 1/2) / S, so that no step has a rate of zero.
    """
    assert 0 <= position <= 1
    match config.schedule:
        case "constant":
            return config.learning_rate
        case "linear":
            return config.learning_rate * (1 - position)
        case "cosine":
            return config.learning_rate * (1 + math.cos(math.pi * position)) / 2
