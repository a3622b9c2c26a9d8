"""The spectral radius of a weighted graph: the sum over all its paths has a limit if it is below 1."""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Float64, Int64
from nbfnet.native import native
from nbfnet.semiring.weighted_edges import WeightedEdges


def strong_components(csr: RelationalCSR) -> Int64:
    """(node,) the number of each node's component; Tarjan's algorithm without recursion, in O(E + V).

    It walks edges backwards, which does not change what is connected.
    """
    begin, source = csr.indptr.tolist(), csr.source.tolist()
    component = [-1] * csr.num_nodes
    index = [-1] * csr.num_nodes  # when a node was met
    low = [0] * csr.num_nodes  # the earliest node known to be in the same component
    cursor = list(begin[:-1])  # the next edge to walk
    met, found = 0, 0
    stack: list[int] = []
    for root in range(csr.num_nodes):
        trail = [root] if index[root] < 0 else []
        while trail:
            node = trail[-1]
            if index[node] < 0:
                index[node] = low[node] = met
                met += 1
                stack.append(node)
            while cursor[node] < begin[node + 1]:
                other = source[cursor[node]]
                if index[other] < 0:
                    trail.append(other)
                    break
                if component[other] < 0:
                    low[node] = min(low[node], low[other])
                cursor[node] += 1
            else:
                trail.pop()
                if low[node] == index[node]:
                    while component[node] < 0:
                        component[stack.pop()] = found
                    found += 1
    return np.array(component, dtype=np.int64)


_SMALL = 256  # nodes whose eigenvalues are computed directly
_FEW_ROUNDS, _MOST_ROUNDS = 30, 500
_ACCURACY = 1e-6


@dataclass(frozen=True)
class SpectralRadius:
    """Bounds of the spectral radius ρ: lower ≤ ρ ≤ upper."""

    lower: float
    upper: float
    final: bool = True  # false if they were not followed until they met


_known: WeakKeyDictionary[WeightedEdges, SpectralRadius] = WeakKeyDictionary()


def spectral_radius(edges: WeightedEdges, below: float = 0.0) -> SpectralRadius:
    """ρ of A, whose entry (v, x) sums the weights of the edges from x to v; no weight may be negative.

    Power iteration with bounds: for x > 0, ρ ≤ max (Ax)_i / x_i. Within a strongly connected component the
    least ratio is a lower bound; where A is symmetric, x'Ax / x'x is. Iterating with A + sI keeps x from
    swinging on bipartite graphs. Stops when the bounds meet, or as soon as the upper one is less than ``below``.
    """
    known = _known.get(edges)
    if known is None or not (known.final or known.upper < below):
        known = _known[edges] = _compute(edges, below)
    return known


def _compute(edges: WeightedEdges, below: float) -> SpectralRadius:
    csr = edges.csr
    weight = np.broadcast_to(edges.weight, csr.num_edges).astype(np.float64)
    x, upper = np.ones(csr.num_nodes), np.inf
    for _ in range(_FEW_ROUNDS):
        upper, x = _step(csr, weight, x, upper)
        if upper == 0 or upper < below:
            return SpectralRadius(0.0, upper, final=upper == 0)
    if csr.num_nodes <= _SMALL:
        radius = float(np.abs(np.linalg.eigvals(_dense(csr, weight))).max())
        return SpectralRadius(radius, radius)
    if _is_symmetric(csr, weight):
        return _refine(csr, weight, x, component=None)
    component = strong_components(csr)
    inside = component[csr.source] == component[csr.target]  # an edge between components is on no cycle
    return _refine(csr.keep(inside), weight[inside], np.ones(csr.num_nodes), component)


def _refine(csr: RelationalCSR, weight: Float64, x: Float64, component: Int64 | None) -> SpectralRadius:
    lower, upper = 0.0, np.inf
    for _ in range(_MOST_ROUNDS):
        product = _multiply(csr, weight, x)
        if component is None:
            lower = max(lower, float(x @ product / (x @ x)))
        else:
            least = np.full(csr.num_nodes, np.inf)
            np.minimum.at(least, component, product / x)
            lower = max(lower, float(least[component].max(initial=0.0)))
        upper, x = _step(csr, weight, x, upper)
        if lower >= upper * (1 - _ACCURACY):
            break
    return SpectralRadius(min(lower, upper), upper)


def _step(csr: RelationalCSR, weight: Float64, x: Float64, upper: float) -> tuple[float, Float64]:
    """One round: a better upper bound, and an x that is closer to the eigenvector."""
    product = _multiply(csr, weight, x)
    upper = min(upper, float((product / x).max(initial=0.0)))
    x = product + upper / 2 * x
    return upper, np.maximum(x / x.max(initial=1e-200), 1e-200)  # any x > 0 gives a bound


def _multiply(csr: RelationalCSR, weight: Float64, x: Float64) -> Float64:
    """Ax."""
    if native is None:
        return np.bincount(csr.target, weight * x[csr.source], minlength=csr.num_nodes).astype(np.float64)
    product = np.empty_like(x)
    native.multiply_rows(csr.indptr, csr.source, weight, x, product)
    return product


def _dense(csr: RelationalCSR, weight: Float64) -> Float64:
    dense = np.zeros((csr.num_nodes, csr.num_nodes))
    np.add.at(dense, (csr.target, csr.source), weight)
    return dense


def _is_symmetric(csr: RelationalCSR, weight: Float64) -> bool:
    """Whether A = A', told from x'Ay = y'Ax for random vectors."""
    x, y = np.random.default_rng(0).random((2, csr.num_nodes))
    return bool(np.isclose(x @ _multiply(csr, weight, y), y @ _multiply(csr, weight, x), rtol=1e-12))
