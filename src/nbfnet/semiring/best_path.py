"""The best path itself, not only its score, for semirings that select: min and max."""

from __future__ import annotations

import numpy as np

from nbfnet.errors import PathError
from nbfnet.graph.triplets import Float64, Int64
from nbfnet.semiring.bellman_ford import bellman_ford, check_sources
from nbfnet.semiring.semiring import Semiring
from nbfnet.semiring.weighted_edges import WeightedEdges


def best_path(
    edges: WeightedEdges, source: int, target: int, semiring: Semiring, *, threads: int | None = None
) -> list[int] | None:
    """The slots of the best path from source to target, in the order they are walked; None if there is no path.

    Of several best paths it is one with the fewest edges, so it visits no node twice. Its edges multiply to
    h(source, target) exactly.
    """
    if not semiring.idempotent:
        raise PathError(f"{semiring.name} sums over all paths: no single path is its score")
    check_sources([target], edges.csr.num_nodes)
    h = bellman_ford(edges, [source], semiring, threads=threads)[0]
    if source == target:
        return []
    if h[target] == semiring.zero:
        return None
    return _walk(edges, _search(edges, semiring, h, source, target), source, target)


def _search(edges: WeightedEdges, semiring: Semiring, h: Float64, source: int, target: int) -> dict[int, int]:
    """Breadth-first from the target back along tight edges: which edge to take from each node met, up to the source.

    An edge (x, r, v) is tight if h(x) ⊗ w = h(v). When nothing changes any more, every node got its value along a
    tight edge from a node that had got its own before, so tight edges lead back to the source. Breadth-first search
    finds the way even where tight edges form cycles.
    """
    csr = edges.csr
    leave: dict[int, int] = {target: -1}
    level = np.array([target])
    while source not in leave:
        slots = _rows(csr.indptr, level)
        messages = edges.messages(semiring, h[csr.source[slots]], slots)
        tight = slots[messages == h[csr.target[slots]]]
        heads, first = np.unique(csr.source[tight], return_index=True)
        found = [(int(head), int(slot)) for head, slot in zip(heads, tight[first], strict=True) if head not in leave]
        assert found, "a node has a value that came along no edge"
        leave.update(found)
        level = np.array([head for head, _ in found])
    return leave


def _walk(edges: WeightedEdges, leave: dict[int, int], source: int, target: int) -> list[int]:
    path, node = [], source
    while node != target:
        path.append(leave[node])
        node = int(edges.csr.target[leave[node]])
    return path


def _rows(indptr: Int64, rows: Int64) -> Int64:
    """All slots of some rows."""
    length = indptr[rows + 1] - indptr[rows]
    return np.repeat(indptr[rows] - (np.cumsum(length) - length), length) + np.arange(length.sum())
