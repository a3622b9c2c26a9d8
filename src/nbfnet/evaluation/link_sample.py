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
    """Where the mean of ``total`` values in [0, 1] lies with 95 % confidence, of which ``values`` were drawn.

    mean +- 1.96 s / sqrt(n + 4 u) * sqrt(u), where u = 1 - n / total is the share that was not drawn, by the normal
    approximation. Four more values count u each, two of 0 and two of 1 (Agresti and Coull): twenty links that all
    rank first do not say that all others do.
    """
    n, undrawn = len(values), 1 - len(values) / total
    count = n + 4 * undrawn
    mean = (float(np.sum(values)) + 2 * undrawn) / count
    variance = max(0.0, (float(np.sum(values**2)) + 2 * undrawn) / count - mean**2)
    half = NORMAL_95 * (variance * undrawn / count) ** 0.5
    return max(0.0, mean - half), min(1.0, mean + half)
