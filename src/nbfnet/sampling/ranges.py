"""Ranges of positions, written out one after the other."""

from __future__ import annotations

import numpy as np

from nbfnet.graph.triplets import Int64


def expand_ranges(begin: Int64, end: Int64) -> tuple[Int64, Int64]:
    """The positions begin_i, ..., end_i - 1 of every range i: whose each one is, and the position.

    >>> expand_ranges(np.array([5, 0, 2]), np.array([7, 0, 3]))
    (array([0, 0, 2]), array([5, 6, 2]))
    """
    length = end - begin
    owner = np.repeat(np.arange(len(begin)), length)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(length) - length, length)
    return owner, begin[owner] + within
