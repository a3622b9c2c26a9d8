"""The most important paths of a prediction: a Bellman-Ford-style beam search over (iteration, node).

A path from the source u to the answer v is a sequence of at most T edges that visits no node twice, so it never
passes through the answer before its end. For u = v it is a cycle: only its first and last node are the same. The
path of no edge explains nothing and is left out.

The boundary joins the messages of every iteration and h_v is carried from each iteration to the next, so a path of
L <= T edges may walk them in any L of the T iterations, in ascending order: its *placement*. A path weighs the sum of
its edges' importances in its best placement,

    w(P) = max over t_1 < ... < t_L of sum_i importance[t_i, e_i],

and is listed once. Equal weights are ordered by the number of edges, then by the slots of the edges. A beam search may
miss a path whose importance is small, so all paths of one and two edges are listed as well (``short_paths``). A fact
that the data states twice is one edge to a reader, and one step of a path (``DistinctEdges``).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np
import torch

from nbfnet.errors import ExplanationError
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Float64, Int32, Int64
from nbfnet.native import native
from nbfnet.sampling.sorted_keys import expand_ranges

_ALL = 2**62  # paths: more than any graph has, and what fits into the compiled search


@dataclass(frozen=True)
class TopPath:
    """A path's weight, the slots of its edges in the order they are walked, and the iteration (from 0) of each."""

    weight: float
    slots: tuple[int, ...]
    iterations: tuple[int, ...]


def top_paths(
    csr: RelationalCSR, importance: Float64, source: int, target: int, *, k: int = 5, beam: int = 32
) -> list[TopPath]:
    """The k best paths from source to target, best first; fewer where there are no more.

    Each node keeps its ``beam`` best partial paths in each iteration. A beam as wide as the number of partial paths
    that end in a node makes the search exhaustive; a narrow one may miss a path whose beginning looks poor.

    Args:
        csr: the edges.
        importance: (iteration, slot).
        source: u.
        target: v.
        k: how many paths.
        beam: partial paths kept at each node.

    Raises:
        ExplanationError: a node is not in the graph, or an importance is missing or not finite.
    """
    if k < 1 or beam < 1:
        raise ExplanationError(f"k is {k} and beam is {beam}: both must be at least 1")
    k, beam = min(k, _ALL), min(beam, _ALL)
    importance = np.ascontiguousarray(importance, dtype=np.float64)
    _check(csr, importance, source, target)
    distance = distance_to(csr, target, len(importance))
    if native is None:
        found = beam_search(csr, importance, distance, source, target, beam, k)
    else:
        edges = np.ascontiguousarray(csr.indptr), np.ascontiguousarray(csr.source), importance, distance
        try:
            weights, paths = native.beam_search(*edges, source, target, beam, k, torch.get_num_threads())
        except ValueError as error:
            raise ExplanationError(f"the edges of the graph do not fit together: {error}") from None
        found = list(zip(weights, paths, strict=True))
    return [TopPath(weight, tuple(slots), best_placement(importance[:, slots])) for weight, slots in found]


def _check(csr: RelationalCSR, importance: Float64, source: int, target: int) -> None:
    for role, node in (("source", source), ("target", target)):
        if not 0 <= node < csr.num_nodes:
            raise ExplanationError(f"the {role} is the node {node}, expected 0 to {csr.num_nodes - 1}")
    if importance.ndim != 2 or importance.shape[1] != csr.num_edges:
        raise ExplanationError(f"importance is {importance.shape}, expected (iterations, {csr.num_edges})")
    if not np.isfinite(importance).all():
        raise ExplanationError("importance holds a value that is not finite")


def distance_to(csr: RelationalCSR, target: int, limit: int) -> Int32:
    """(node,) how many edges lead from each node to the target at least; limit + 1 where it is more than the limit."""
    distance = np.full(csr.num_nodes, limit + 1, dtype=np.int32)
    distance[target] = 0
    for step in range(1, limit + 1):
        heads = csr.source[distance[csr.target] == step - 1]
        distance[heads[distance[heads] > limit]] = step
    return distance


def best_placement(importance: Float64) -> tuple[int, ...]:
    """The ascending iterations of a path's edges with the greatest sum of importances (iteration, edge).

    >>> best_placement(np.array([[1.0, 9.0], [3.0, 0.0], [9.0, 2.0]]))
    (1, 2)
    """
    num_iterations, length = importance.shape
    best = np.full((num_iterations + 1, length + 1), -np.inf)  # of the first edges in the first iterations
    best[:, 0] = 0
    for t, e in np.ndindex(num_iterations, length):
        best[t + 1, e + 1] = max(best[t, e + 1], best[t, e] + importance[t, e])
    placement, t = [], num_iterations
    for e in reversed(range(length)):
        while best[t - 1, e + 1] == best[t, e + 1]:
            t -= 1
        t -= 1
        placement.append(t)
    return tuple(reversed(placement))


Slots = tuple[int, ...]


def beam_search(
    csr: RelationalCSR, importance: Float64, distance: Int32, source: int, target: int, beam: int, k: int
) -> list[tuple[float, Slots]]:
    """The k best paths, each with its weight, best first; see ``top_paths``.

    Args:
        csr: the edges.
        importance: (iteration, slot).
        distance: (node,) edges from each node to the target at least.
        source: u.
        target: v.
        beam: partial paths kept at each node.
        k: paths kept at the target.
    """
    heads, out = csr.source.tolist(), csr.transpose
    start: dict[Slots, float] = {(): 0.0}
    before: dict[int, dict[Slots, float]] = {source: start}
    found: dict[Slots, float] = {}
    for t, weights in enumerate(importance):
        left = len(importance) - t - 1
        after: defaultdict[int, dict[Slots, float]] = defaultdict(dict)
        for node, paths in before.items():  # a path may rest for an iteration
            if distance[node] <= left:
                after[node] |= paths
        for node, paths in before.items():
            ways = slice(out.indptr[node], out.indptr[node + 1])
            for slot, tail in zip(out.slot[ways].tolist(), out.target[ways].tolist(), strict=True):
                if tail != target and (tail in (source, node) or distance[tail] > left):
                    continue
                ending = found if tail == target else after[tail]
                for path, weight in paths.items():
                    if tail != target and any(heads[step] == tail for step in path):
                        continue
                    longer = (*path, slot)
                    ending[longer] = max(ending.get(longer, -float("inf")), weight + float(weights[slot]))
        found = _best(found, k)
        before = {node: _best(paths, beam) for node, paths in after.items() if node != source and node != target}
        before[source] = start
    return [(weight, path) for path, weight in found.items()]


def _best(paths: dict[Slots, float], count: int) -> dict[Slots, float]:
    """The best paths, best first: by weight, then fewer edges, then smaller slots."""
    return dict(sorted(paths.items(), key=lambda item: (-item[1], len(item[0]), item[0]))[:count])


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


@dataclass(frozen=True, eq=False)
class DistinctEdges:
    """Every edge (source, relation, target) once; a copied edge is as important as its copies together."""

    csr: RelationalCSR
    importance: Float64  # (iteration, edge)
    slot: Int64  # (edge,) the first copy in the graph it came from

    @classmethod
    def of(cls, csr: RelationalCSR, importance: Float64) -> DistinctEdges:
        """Merge the copies of each edge; importance is (iteration, slot)."""
        order, first = csr.copies
        if first.all():
            return cls(csr, importance, np.arange(csr.num_edges))
        keep = np.zeros(csr.num_edges, dtype=np.bool_)
        keep[order[first]] = True
        together = np.add.reduceat(importance[:, order], np.flatnonzero(first), axis=1)
        by_slot = np.empty_like(importance)
        by_slot[:, order[first]] = together
        return cls(csr.keep(keep), by_slot[:, keep], np.flatnonzero(keep))
