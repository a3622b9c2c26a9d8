"""Path enumeration: the path formulation as it is written, by walking every path. Exponential; for small graphs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nbfnet.graph.triplets import Float64
from nbfnet.semiring.semiring import Semiring, Value
from nbfnet.semiring.weighted_edges import WeightedEdges

Path = tuple[int, ...]  # slots of the edges, in the order they are walked


def enumerate_paths(edges: WeightedEdges, source: int, length: int) -> Iterator[tuple[Path, int]]:
    """Every path of at most so many edges from a source, with the node it ends in; the path of no edge comes first."""
    leaving: dict[int, list[int]] = {}
    for slot, head in enumerate(edges.csr.source.tolist()):
        leaving.setdefault(head, []).append(slot)
    tails = edges.csr.target.tolist()
    waiting: list[tuple[Path, int]] = [((), source)]
    while waiting:
        path, end = waiting.pop()
        yield path, end
        if len(path) < length:
            waiting.extend(((*path, slot), tails[slot]) for slot in leaving.get(end, []))


def path_representation(edges: WeightedEdges, path: Path, semiring: Semiring) -> Value:
    """h(P) = w(e_1) ⊗ w(e_2) ⊗ ... ⊗ w(e_|P|), from left to right."""
    product = np.array([semiring.one])
    for slot in path:
        product = edges.messages(semiring, product, np.array([slot]))
    return product[0] if semiring.shape else float(product[0])


def path_enumeration(edges: WeightedEdges, source: int, semiring: Semiring, length: int) -> Float64:
    """(node, *shape) h(u, v) = ⊕ over the paths P of at most so many edges from u to v of h(P)."""
    sums = np.full((edges.csr.num_nodes, *semiring.shape), semiring.zero)
    for path, end in enumerate_paths(edges, source, length):
        representation = np.array([path_representation(edges, path, semiring)])
        sums[end : end + 1] = semiring.summation.operator(sums[end : end + 1], representation)
    return sums
