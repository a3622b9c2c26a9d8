"""The most important paths of a prediction: a Bellman-Ford-style beam search over (iteration, node).

A path from the source u to the answer v is a sequence of at most T edges that visits no node twice, so it never
passes through the answer before its end. For u = v it is a cycle: only its first and last node are the same. The
path of no edge explains nothing and is left out.

The boundary joins the messages of every iteration and h_v is carried from each iteration to the next, so a path of
L <= T edges may walk them in any L of the T iterations, in ascending order: its *placement*. A path weighs the sum of
its edges' importances in its best placement,

    w(P) = max over t_1 < ... < t_L of sum_i importance[t_i, e_i],

and is listed once. Equal weights are ordered by the number of edges, then by the slots of the edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from nbfnet.errors import ExplanationError
from nbfnet.explanation.beam_search import beam_search
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Float64, Int32
from nbfnet.native import native

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
