"""The short paths of a prediction, all of them: a beam search may miss one whose importance is small."""

from __future__ import annotations

from collections import Counter

import numpy as np

from nbfnet.explanation.top_paths import TopPath, best_placement
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Float64, Int64
from nbfnet.sampling.sorted_keys import expand_ranges


def short_paths(csr: RelationalCSR, importance: Float64, source: int, target: int, *, most: int) -> list[TopPath]:
    """The paths of one and two edges from source to target, weighed as ``top_paths`` weighs its own.

    Where there are more than ``most``, first the heaviest of every relation pattern is taken, then the second of each,
    and so on: a pattern with a hundred look-alikes does not crowd out the others.

    Args:
        csr: the edges.
        importance: (iteration, slot).
        source: u.
        target: v.
        most: how many at most.
    """
    found = []
    for length in range(1, min(2, len(importance)) + 1):
        slots = _slots(csr, source, target, length)
        weights = _weights(importance, slots)
        found += list(zip(weights.tolist(), map(tuple, slots.tolist()), strict=True))
    found.sort(key=lambda path: (-path[0], len(path[1]), path[1]))
    turns: Counter[tuple[int, ...]] = Counter()
    ordered = []
    for weight, path in found:
        pattern = tuple(csr.relation[list(path)].tolist())
        ordered.append((turns[pattern], weight, path))
        turns[pattern] += 1
    ordered.sort(key=lambda path: path[0])
    return [TopPath(weight, path, best_placement(importance[:, path])) for _, weight, path in ordered[:most]]


def _weights(importance: Float64, slots: Int64) -> Float64:
    """(path,) max over t_1 < ... < t_L of sum_i importance[t_i, e_i], for all paths at once."""
    best = np.zeros((len(importance) + 1, len(slots)))  # of the first edges in the first iterations
    for edge in slots.T:
        longer = np.full_like(best, -np.inf)
        longer[1:] = best[:-1] + importance[:, edge]
        best = np.maximum.accumulate(longer, axis=0)
    weights: Float64 = best[-1]
    return weights


def _slots(csr: RelationalCSR, source: int, target: int, length: int) -> Int64:
    """(path, edge) the slots of the paths of one edge, or of two."""
    into = np.arange(csr.indptr[target], csr.indptr[target + 1])
    if length == 1:
        direct: Int64 = into[csr.source[into] == source][:, None]
        return direct
    into = into[(csr.source[into] != source) & (csr.source[into] != target)]
    into = into[np.argsort(csr.source[into], kind="stable")]
    out = csr.transpose.slot[csr.transpose.indptr[source] : csr.transpose.indptr[source + 1]]
    middle = csr.target[out]
    begin, end = (np.searchsorted(csr.source[into], middle, side=side) for side in ("left", "right"))
    first, second = expand_ranges(begin, end)
    return np.stack([out[first], into[second]], axis=1).astype(np.int64)
