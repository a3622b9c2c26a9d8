"""The Bellman-Ford iteration in NumPy: the specification of the compiled one, and the one for any semiring."""

from __future__ import annotations

import math

import numpy as np

from nbfnet.graph.triplets import Float64, Int32, Int64
from nbfnet.semiring.semiring import Operator, Semiring, Value
from nbfnet.semiring.weighted_edges import Factor, WeightedEdges

_MESSAGES_AT_ONCE = 1 << 24


def iterate(
    edges: WeightedEdges,
    sources: Int32,
    semiring: Semiring,
    factor: Factor | None,
    iterations: int,
    tolerance: float,
) -> tuple[Float64, bool]:
    """H (source, node, *shape) after some iterations, and whether the last one changed nothing beyond the tolerance."""
    plus = semiring.summation.operator

    def solve(chunk: Int32) -> tuple[Float64, bool]:
        boundary = np.full((edges.csr.num_nodes, len(chunk), *semiring.shape), semiring.zero)  # (node, source, *shape)
        boundary[chunk, np.arange(len(chunk))] = semiring.one
        h, settled = boundary, False
        with np.errstate(over="ignore", invalid="ignore"):  # a sum that diverges is reported by the caller
            for _ in range(iterations):
                messages = edges.messages(semiring, h[edges.csr.source], slice(None), factor)
                following = plus(sum_rows(messages, edges.csr.degree, plus, semiring.zero), boundary)
                settled = _has_settled(following, h, semiring, tolerance)
                h = following
                if settled:
                    break
        return h, settled

    at_once = max(1, _MESSAGES_AT_ONCE // max(1, edges.csr.num_edges * math.prod(semiring.shape)))
    solved = [solve(sources[first : first + at_once]) for first in range(0, len(sources), at_once)]
    none = np.empty((0, edges.csr.num_nodes, *semiring.shape))
    scores = np.concatenate([none, *[h.swapaxes(0, 1) for h, _ in solved]])
    return scores, all(settled for _, settled in solved)


def _has_settled(following: Float64, h: Float64, semiring: Semiring, tolerance: float) -> bool:
    if semiring.idempotent:
        return bool(np.all(following == h))
    close = np.isfinite(following) & (np.abs(following - h) <= tolerance * np.abs(following))
    return bool(np.all(close | (following == h) & (following == semiring.zero)))


def sum_rows(messages: Float64, degree: Int64, plus: Operator, zero: Value) -> Float64:
    """⊕ over each row's messages, (slot, n) -> (node, n): neighbours are joined in pairs until one is left."""
    counts = degree
    while counts.max(initial=0) > 1:
        starts = np.cumsum(counts) - counts
        halved = (counts + 1) // 2
        row = np.repeat(np.arange(len(counts)), halved)
        within = 2 * (np.arange(len(row)) - np.repeat(np.cumsum(halved) - halved, halved))
        first, paired = starts[row] + within, within + 1 < counts[row]
        joined = messages[first]
        joined[paired] = plus(joined[paired], messages[first[paired] + 1])
        messages, counts = joined, halved
    sums = np.full((len(degree), *messages.shape[1:]), zero)
    sums[counts == 1] = messages
    return sums
