"""Draws m of n positions without replacement, every set of them with the same probability, by Floyd's algorithm.

For j = n - m to n - 1 take a random t of 0 to j or, where t was taken before, j itself. Nothing random is remembered:
draws depend on the key alone. ``native/sampling/drawing.hpp`` has the same draws.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nbfnet.graph.triplets import Int32, Int64

UInt64 = npt.NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def draw_keys(seed: int, entity: Int32, side: int) -> UInt64:
    """(entity,) the key of each entity's draws among its in-edges (side 0) or its out-edges (side 1)."""
    return _mix(np.uint64(seed) + _GOLDEN * (2 * entity.astype(np.uint64) + np.uint64(side + 1)))


def draw_positions(size: Int64, count: int, key: UInt64) -> Int64:
    """(row, count) different positions of each row's 0 to size - 1; every size must be more than the count."""
    last = (size[:, None] - count + np.arange(count)).astype(np.uint64)
    number = _draw_numbers(key[:, None], last)
    drawn = np.empty((count, len(size)), dtype=np.uint64)  # each step's in one piece
    for step in range(count):
        was_taken = (drawn[:step] == number[:, step]).any(axis=0)
        drawn[step] = np.where(was_taken, last[:, step], number[:, step])
    return drawn.T.astype(np.int64)


def _draw_numbers(key: UInt64, last: UInt64) -> UInt64:
    """Random numbers of 0 to last, for last < 2^32."""
    half = np.uint64(32)
    return ((_mix(key + _GOLDEN * last) >> half) * (last + np.uint64(1))) >> half


def _mix(x: UInt64) -> UInt64:
    """The finalizer of splitmix64: every bit of the result depends on every bit of x."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
