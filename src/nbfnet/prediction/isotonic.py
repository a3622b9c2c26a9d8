"""Isotonic regression: the non-decreasing curve closest to some points, by pooling neighbours that are out of order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from nbfnet.graph.triplets import Float64


@dataclass(frozen=True, eq=False)
class IsotonicCurve:
    """A non-decreasing curve through some knots, straight between them and flat outside."""

    x: Float64  # (knot,) ascending
    y: Float64  # (knot,) not descending

    @classmethod
    def fit(cls, x: Float64, y: Float64) -> Self:
        """The curve with the least squared error over points (x, y); the ends of each level stretch are knots."""
        assert len(x) == len(y) > 0
        order = np.argsort(x, kind="stable")
        levels, first = np.unique(x[order], return_index=True)
        weight = np.diff(first, append=len(x)).astype(np.float64)
        height, size = _pool(np.add.reduceat(y[order].astype(np.float64), first) / weight, weight)
        last = np.cumsum(size) - 1
        ends = np.unique(np.concatenate([last - size + 1, last]))
        return cls(levels[ends], np.repeat(height, size)[ends])

    def __call__(self, x: Float64) -> Float64:
        """The height at each x."""
        heights: Float64 = np.interp(x, self.x, self.y)
        return heights


def _pool(mean: Float64, weight: Float64) -> tuple[Float64, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """The height and the number of levels of each pool: a lower mean after a higher one joins it."""
    height: list[float] = []
    mass: list[float] = []
    size: list[int] = []
    for m, w in zip(mean.tolist(), weight.tolist(), strict=True):
        height.append(m)
        mass.append(w)
        size.append(1)
        while len(height) > 1 and height[-2] >= height[-1]:
            m, w, s = height.pop(), mass.pop(), size.pop()
            total = mass[-1] + w
            height[-1] = (height[-1] * mass[-1] + m * w) / total
            mass[-1], size[-1] = total, size[-1] + s
    return np.array(height), np.array(size, dtype=np.int64)
