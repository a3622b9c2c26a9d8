"""Sorted integer keys, the index of everything in this package: making them, and reading ranges of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nbfnet.graph.triplets import Int64


def sort_distinct(keys: Int64) -> Int64:
    """The distinct keys, ascending. ``np.unique`` hashes, which is a hundred times slower on millions of keys."""
    ascending = np.sort(keys)
    return ascending[first_of_runs(ascending)]


def first_of_runs(keys: Int64) -> npt.NDArray[np.bool_]:
    """Whether each key differs from the one before it."""
    first = np.ones(len(keys), dtype=np.bool_)
    first[1:] = keys[1:] != keys[:-1]
    return first


def number_in_runs(keys: Int64) -> Int64:
    """0, 1, 2, ... within each run of equal keys.

    >>> number_in_runs(np.array([7, 7, 7, 8, 9, 9])).tolist()
    [0, 1, 2, 0, 0, 1]
    """
    first = np.flatnonzero(first_of_runs(keys))
    length = np.diff(first, append=len(keys))
    return np.arange(len(keys)) - np.repeat(first, length)


def expand_ranges(begin: Int64, end: Int64) -> tuple[Int64, Int64]:
    """The positions begin_i, ..., end_i - 1 of every range i: whose each one is, and the position.

    >>> owner, position = expand_ranges(np.array([5, 0, 2]), np.array([7, 0, 3]))
    >>> owner.tolist(), position.tolist()
    ([0, 0, 2], [5, 6, 2])
    """
    length = end - begin
    owner = np.repeat(np.arange(len(begin)), length)
    return owner, np.arange(len(owner)) + (begin - np.cumsum(length) + length)[owner]
