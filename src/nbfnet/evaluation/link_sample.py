"""A random sample of the links, where all of them would take too long, and what it says about all."""

from __future__ import annotations

import numpy as np

from nbfnet.errors import EvaluationError
from nbfnet.graph.triplets import Float64, Int64

NORMAL_95 = 1.959963984540054  # the standard normal lies within +- this with probability 95 %


def draw_links(total: int, sample: int | None, seed: int) -> Int64:
    """Which links to ask, ascending: all, or ``sample`` different ones drawn by the seed."""
    if sample is None or sample >= total:
        return np.arange(total)
    if sample < 1:
        raise EvaluationError(f"a sample of {sample} links was asked for: ask for 1 to {total}, or leave it out")
    return np.sort(np.random.default_rng(seed).choice(total, size=sample, replace=False))


def mean_interval(values: Float64, total: int) -> tuple[float, float]:
    """Where the mean of ``total`` values in [0, 1] lies, of which ``values`` were drawn without replacement.

    mean +- 1.96 s / sqrt(n) * sqrt(1 - n / total), by the normal approximation; one value says nothing.
    """
    n = len(values)
    if n < 2:
        return 0.0, 1.0
    mean = float(np.mean(values))
    half = NORMAL_95 * float(np.std(values, ddof=1)) * ((1 - n / total) / n) ** 0.5
    return max(0.0, mean - half), min(1.0, mean + half)
