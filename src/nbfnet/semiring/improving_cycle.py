"""Improving cycles: a walk around one gives ever better paths, so that no best path exists (a negative cycle)."""

from __future__ import annotations

import numpy as np

from nbfnet.errors import ImprovingCycleError
from nbfnet.graph.triplets import Int32, Int64
from nbfnet.semiring.numpy_iteration import sum_rows
from nbfnet.semiring.semiring import Semiring
from nbfnet.semiring.weighted_edges import WeightedEdges


def refuse_improving_cycle(edges: WeightedEdges, sources: Int32, semiring: Semiring) -> None:
    """Make sure that best paths exist: that no cycle within reach of a source improves on staying in place.

    Raises:
        ImprovingCycleError: names the nodes of such a cycle.
    """
    if not semiring.idempotent or len(sources) == 0 or not _can_improve(edges, semiring):
        return
    cycle = _find(edges, sources, semiring)
    if cycle is not None:
        raise ImprovingCycleError(semiring.name, cycle)


def _can_improve(edges: WeightedEdges, semiring: Semiring) -> bool:
    """Whether an edge improves on 1̄, that is 1̄ ⊕ w ≠ 1̄; without one, no cycle does."""
    plus = semiring.summation.operator
    # What distributes over min or max keeps the order of numbers, so the extremes tell for all between them.
    ordered = plus in (np.minimum, np.maximum)
    weights = np.array(edges.range) if ordered else np.unique(edges.weight)
    return bool(np.any(plus(np.full_like(weights, semiring.one), weights) != semiring.one))


def _find(edges: WeightedEdges, sources: Int32, semiring: Semiring) -> list[int] | None:
    """Iterate from all sources at once, remembering through which edge each node improved last.

    These edges form a forest as long as no cycle improves; when they close a cycle, it is an improving one.
    """
    csr, plus = edges.csr, semiring.summation.operator
    h = np.full(csr.num_nodes, semiring.zero)
    h[sources] = semiring.one
    through = np.full(csr.num_nodes, -1, dtype=np.int64)  # (node,) a slot
    check = 1
    for iteration in range(1, csr.num_nodes + 2):
        messages = edges.messages(semiring, h[csr.source], slice(None))
        following = plus(h, sum_rows(messages, csr.degree, plus, semiring.zero))
        improving = np.flatnonzero((messages == following[csr.target]) & (following != h)[csr.target])
        if len(improving) == 0:
            return None
        through[csr.target[improving]] = improving
        h = following
        if iteration == check or iteration > csr.num_nodes:
            check *= 2
            cycle = _cycle(through, csr.source)
            if cycle is not None:
                return [int(csr.source[slot]) for slot in cycle]
    raise AssertionError("nodes improve for ever, but along no cycle")


def _cycle(through: Int64, source: Int32) -> list[int] | None:
    """The slots of a cycle in the graph that has at most one in-edge a node, in the order they are walked."""
    nowhere = len(through)
    back = np.append(np.where(through >= 0, source[through], nowhere), nowhere)
    for _ in range(int(nowhere).bit_length()):  # 2^k steps back from every node at once
        back = back[back]
    on_cycle = back[back < nowhere]
    if len(on_cycle) == 0:
        return None
    slots = [int(through[on_cycle[0]])]
    while source[slots[-1]] != on_cycle[0]:
        slots.append(int(through[source[slots[-1]]]))
    return slots[::-1]
