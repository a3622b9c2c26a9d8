"""The generalized Bellman-Ford algorithm: all targets for many sources at once, in any semiring.

    h⁽⁰⁾(u, v) = 1̄ if u = v, else 0̄                                                   (boundary)
    h⁽ᵗ⁾(u, v) = (⊕ over (x, r, v) in E(v) of h⁽ᵗ⁻¹⁾(u, x) ⊗ w(x, r, v)) ⊕ h⁽⁰⁾(u, v)   (iteration)

After t iterations h(u, v) sums all paths from u to v of at most t edges. The path of no edge is one of them: it gives
every source 1̄ to itself.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nbfnet.errors import PathError
from nbfnet.graph.triplets import Float64, Int32
from nbfnet.native import native
from nbfnet.semiring.improving_cycle import refuse_improving_cycle
from nbfnet.semiring.numpy_iteration import iterate
from nbfnet.semiring.semiring import MAX_MIN, MAX_TIMES, MIN_PLUS, PLUS_TIMES, Semiring
from nbfnet.semiring.weighted_edges import Factor, SortedRows, WeightedEdges

_COMPILED = {PLUS_TIMES: 0, MIN_PLUS: 1, MAX_MIN: 2, MAX_TIMES: 3}  # as in native/path_edges.hpp
_MOST_ITERATIONS = 100_000


def bellman_ford(
    edges: WeightedEdges,
    sources: npt.ArrayLike,
    semiring: Semiring,
    *,
    factor: Factor | None = None,
    iterations: int | None = None,
    tolerance: float = 1e-9,
    threads: int | None = None,
) -> Float64:
    """H (source, node, *shape): the sum over all paths of at most so many edges or, by default, over all paths.

    Where values are vectors or matrices the shape is theirs, otherwise it is empty.

    Args:
        edges: the graph with its edge weights, which are the edge representations w(x, r, v).
        sources: node ids.
        semiring: any, of numbers, vectors or matrices; the four of ``nbfnet.semiring.semiring`` run compiled.
        factor: for ``plus_times``, makes the edge representations w(x, r, v) · factor[v], or times one number. This
            costs less than other weights.
        iterations: exactly so many; by default until nothing changes.
        tolerance: without ``iterations``, the largest change of a score, as a share of the score, that counts as
            none. Semirings of min and max need none: they reach their limit.
        threads: how many threads to use; by default as many as OMP_NUM_THREADS says, or else as there are processor
            cores.

    Raises:
        PathError: the sum over all paths has no limit.
        PathError: a parameter is out of range.
    """
    edges.check(*semiring.weights, semiring.name)
    starts = check_sources(sources, edges.num_nodes)
    _check_shape(edges, semiring)
    if iterations is not None and iterations < 0:
        raise PathError(f"iterations must be 0 or more, got {iterations}")
    if not tolerance > 0:
        raise PathError(f"the tolerance must be more than 0, got {tolerance}")
    if threads is not None and threads < 1:
        raise PathError(f"threads must be 1 or more, got {threads}")
    if factor is not None and semiring != PLUS_TIMES:
        raise PathError(f"a factor is for plus_times, not for {semiring.name}")
    if iterations is not None:
        scores = _solve(edges, starts, semiring, factor, iterations, 0.0, threads)[0]
        if semiring == PLUS_TIMES and not np.isfinite(scores).all():
            raise PathError("a sum over paths is beyond all numbers: make the edge weights smaller")
        return scores
    most = _MOST_ITERATIONS
    if not semiring.shape:
        refuse_improving_cycle(edges, starts, semiring)
        # A best path visits no node twice, and one more iteration tells that nothing changes.
        most = edges.num_nodes + 1 if semiring.idempotent else _MOST_ITERATIONS
    scores, settled = _solve(edges, starts, semiring, factor, most, tolerance, threads)
    if not settled:
        raise PathError(
            f"the {semiring.name} sum over all paths has no limit, or is not near it after {most:,} iterations: "
            "make the edge weights smaller, or give a number of iterations"
        )
    return scores


def _check_shape(edges: WeightedEdges, semiring: Semiring) -> None:
    found = edges.weight.shape[1:] if isinstance(edges.weight, np.ndarray) else ()
    if found != semiring.shape:
        raise PathError(
            f"the values of {semiring.name} have the shape {semiring.shape}, the weights of the edges {found}: "
            "give one weight of that shape for each edge"
        )


def check_sources(sources: npt.ArrayLike, num_nodes: int) -> Int32:
    """Node ids as an array, all of them in the graph.

    Raises:
        PathError: names the id that is not.
    """
    starts = np.atleast_1d(np.asarray(sources))
    if starts.ndim != 1 or (starts.size and not np.issubdtype(starts.dtype, np.integer)):
        raise PathError(f"expected node ids, got {sources!r}")
    outside = (starts < 0) | (starts >= num_nodes)
    if outside.any():
        nodes = f"{num_nodes:,} nodes, numbered from 0" if num_nodes else "no nodes"
        raise PathError(f"there is no node {starts[outside][0]}: the graph has {nodes}")
    return np.ascontiguousarray(starts, dtype=np.int32)


def _solve(
    edges: WeightedEdges,
    sources: Int32,
    semiring: Semiring,
    factor: Factor | None,
    iterations: int,
    tolerance: float,
    threads: int | None,
) -> tuple[Float64, bool]:
    """The scores, and whether they have settled: whether the last iteration changed none by more than the tolerance."""
    if native is None or semiring not in _COMPILED:
        return iterate(edges, sources, semiring, factor, iterations, tolerance)
    rows = SortedRows.of(edges.csr)
    uniform = float(semiring.one) if isinstance(edges.weight, np.ndarray) else edges.weight
    factors = np.empty(0)
    if isinstance(factor, np.ndarray):
        factors = np.empty(edges.num_nodes)
        factors[rows.rank] = factor * uniform
    elif factor is not None:
        uniform *= factor
    scores = np.empty((len(sources), edges.num_nodes))
    settled = native.bellman_ford(
        semiring=_COMPILED[semiring],
        begin=rows.begin,
        source=rows.source,
        weight=edges.sorted_weight,
        out_begin=rows.out_begin,
        target=rows.target,
        out_weight=edges.sorted_out_weight,
        factor=factors,
        uniform=uniform,
        rank=rows.rank,
        sources=sources,
        iterations=iterations,
        until_convergence=tolerance > 0,
        tolerance=tolerance,
        threads=native.default_threads() if threads is None else threads,
        scores=scores,
    )
    return scores, settled
