"""The classical path methods, each an instance of the generalized Bellman-Ford algorithm.

| method | ⊕ | ⊗ | w(e) |
| --- | --- | --- | --- |
| Katz index | + | × | β w_e |
| personalized PageRank | + | × | α w_xv / Σ_v' w_xv' |
| graph distance | min | + | w_e |
| widest path | max | min | w_e |
| most reliable path | max | × | w_e |

All take the edges of a graph and source ids, and return (source, node). ``iterations`` limits the paths to so many
edges; by default all paths count. ``METHODS`` lists them by the names that a user gives them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbfnet.errors import PathError, UnknownNameError
from nbfnet.graph.triplets import Float64
from nbfnet.semiring.bellman_ford import bellman_ford, check_sources
from nbfnet.semiring.semiring import LARGEST, MAX_MIN, MAX_TIMES, MIN_PLUS, PLUS_TIMES, Semiring
from nbfnet.semiring.spectral_radius import spectral_radius
from nbfnet.semiring.weighted_edges import WeightedEdges

_SHARE_OF_LARGEST_BETA = 0.1
LARGEST_SUMMED = 1e150  # a weight: sums over all edges, and their squares, stay finite


def katz(
    edges: WeightedEdges,
    sources: npt.ArrayLike,
    *,
    beta: float | None = None,
    iterations: int | None = None,
    tolerance: float = 1e-9,
    threads: int | None = None,
) -> Float64:
    """Katz(u, v) = Σ_{t ≥ 1} βᵗ (Aᵗ)_uv: the count of paths, longer ones damped. The path of no edge does not count.

    Without a β, it is a tenth of the largest that converges.

    Raises:
        PathError: the sum over all paths has no limit for this β; names the largest β that can be used.
    """
    edges.check(0.0, LARGEST_SUMMED, "the Katz index")
    if beta is None:
        beta = _SHARE_OF_LARGEST_BETA * largest_beta(edges)
    if not 0 < beta <= LARGEST:
        raise PathError(f"beta must be a number of more than 0, got {str(beta)[:20]}")
    if iterations is None:
        refuse_divergence(edges, beta)
    starts = check_sources(sources, edges.num_nodes)
    scores = bellman_ford(
        edges, starts, PLUS_TIMES, factor=beta, iterations=iterations, tolerance=tolerance, threads=threads
    )
    scores[np.arange(len(starts)), starts] -= 1.0
    return scores


def largest_beta(edges: WeightedEdges) -> float:
    """1 / ρ(A): the Katz index has a limit for every smaller β. At most 1, where the graph has no cycle."""
    radius = spectral_radius(edges).upper
    return 1.0 if radius <= 1.0 else 1.0 / radius


def refuse_divergence(edges: WeightedEdges, beta: float) -> None:
    """Make sure that β ρ(A) < 1."""
    radius = spectral_radius(edges, below=1.0 / beta)
    if beta * radius.upper >= 1.0 - 1e-9:
        raise PathError(
            f"the Katz index does not converge for beta = {beta:g}: beta must be less than {1.0 / radius.upper:g}, "
            "which is 1 / spectral radius of this graph"
        )


def personalized_pagerank(
    edges: WeightedEdges,
    sources: npt.ArrayLike,
    *,
    alpha: float = 0.85,
    iterations: int | None = None,
    tolerance: float = 1e-9,
    threads: int | None = None,
) -> Float64:
    """PPR(u, v): how often a walker is at v who moves on with probability α, or else returns to u.

    From a node without out-edges the walker returns to u, too. Scores are those of the path formulation, path of no
    edge included, divided by their sum, so that those of a source add up to 1.
    """
    edges.check(0.0, LARGEST_SUMMED, "personalized PageRank")
    if not 0 < alpha < 1:
        raise PathError(f"alpha must be between 0 and 1, got {alpha:g}")
    # α w_xv / s_x has the strength s of an edge's source; with that of its target, which costs no time, a path from u
    # to v has s_v instead of s_u: the same factor for all paths, corrected afterwards.
    strength = np.where(edges.strength > 0, edges.strength, 1.0)
    scores = bellman_ford(
        edges, sources, PLUS_TIMES, factor=alpha / strength, iterations=iterations, tolerance=tolerance, threads=threads
    )
    scores *= strength
    scores /= scores.sum(axis=1, keepdims=True)
    if not np.isfinite(scores).all():
        raise PathError("the weights differ so much that scores are beyond all numbers: give weights of like size")
    return scores


def graph_distance(
    edges: WeightedEdges, sources: npt.ArrayLike, *, iterations: int | None = None, threads: int | None = None
) -> Float64:
    """GD(u, v) = min over paths of Σ w_e: the length of the shortest path; infinite where there is none.

    Negative weights are allowed as long as no cycle within reach is negative.

    Raises:
        ImprovingCycleError: one is.
    """
    longest = max(map(abs, edges.range))
    if np.isfinite(longest) and longest * edges.num_nodes > LARGEST:
        raise PathError(f"an edge weighs {longest:g}: the length of a path would be beyond all numbers")
    return bellman_ford(edges, sources, MIN_PLUS, iterations=iterations, threads=threads)


def widest_path(
    edges: WeightedEdges, sources: npt.ArrayLike, *, iterations: int | None = None, threads: int | None = None
) -> Float64:
    """WP(u, v) = max over paths of min w_e: the widest bottleneck; -inf where there is no path, +inf at the source."""
    return bellman_ford(edges, sources, MAX_MIN, iterations=iterations, threads=threads)


def most_reliable_path(
    edges: WeightedEdges, sources: npt.ArrayLike, *, iterations: int | None = None, threads: int | None = None
) -> Float64:
    """MRP(u, v) = max over paths of Π w_e: the probability of the most reliable path; 0 where there is none.

    Weights are probabilities, from 0 to 1.
    """
    edges.check(0.0, 1.0, "the most reliable path")
    return bellman_ford(edges, sources, MAX_TIMES, iterations=iterations, threads=threads)


@dataclass(frozen=True)
class PathMethod:
    """A classical method: ``scores(edges, sources, ...)`` gives (source, node) in its semiring."""

    name: str
    title: str
    scores: Callable[..., Float64]
    semiring: Semiring
    parameter: str | None = None  # the keyword of ``scores`` that belongs to this method alone
    baseline: bool = False  # whether networks are compared with it

    def closeness(self, scores: Float64) -> Float64:
        """The scores turned so that more means closer."""
        return -scores if self.semiring == MIN_PLUS else scores


METHODS = {
    method.name: method
    for method in (
        PathMethod("katz", "Katz index", katz, PLUS_TIMES, "beta", baseline=True),
        PathMethod("ppr", "personalized PageRank", personalized_pagerank, PLUS_TIMES, "alpha", baseline=True),
        PathMethod("distance", "graph distance", graph_distance, MIN_PLUS, baseline=True),
        PathMethod("widest", "widest path", widest_path, MAX_MIN),
        PathMethod("reliable", "most reliable path", most_reliable_path, MAX_TIMES),
    )
}


def path_method(name: str) -> PathMethod:
    """The method of a name.

    Raises:
        UnknownNameError: there is none; the closest names are suggested.
    """
    if name not in METHODS:
        raise UnknownNameError("method", name, METHODS)
    return METHODS[name]
