"""A random path between two nodes, each of a given length as likely as any other: what a top path is compared with."""

from __future__ import annotations

import numpy as np

from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Float64, Int64

Facts = tuple[tuple[int, int, int], ...]  # source, relation and target of every edge


class PathSampler:
    """Paths of some length from a source to an answer that visit no node twice.

    A walk is drawn edge by edge, in proportion to how many walks go on from there to the answer, so that all walks are
    equally likely; walks that visit a node twice are drawn again.
    """

    def __init__(self, csr: RelationalCSR, source: int, target: int, length: int) -> None:
        self.csr, self.source, self.target, self.length = csr, source, target, length
        # (edge left, node): how many walks of so many edges lead to the answer without passing through it before.
        self.walks: list[Float64] = [(np.arange(csr.num_nodes) == target).astype(np.float64)]
        for _ in range(length):
            ending = self.walks[-1][csr.target]
            if len(self.walks) > 1:
                ending = np.where(csr.target == target, 0, ending)
            walks = np.bincount(csr.source, weights=ending, minlength=csr.num_nodes)
            self.walks.append(walks.astype(np.float64))

    def draw(self, random: np.random.Generator, *, other_than: Facts, tries: int = 500) -> Int64 | None:
        """The slots of a path with other facts; None if none was met in so many walks, or there is no walk."""
        if self.walks[self.length][self.source] == 0:
            return None
        for _ in range(tries):
            slots = self._walk(random)
            nodes = self.csr.source[slots].tolist()
            if len(set(nodes)) == len(nodes) and facts_of(self.csr, slots) != other_than:
                return slots
        return None

    def _walk(self, random: np.random.Generator) -> Int64:
        out, node, slots = self.csr.transpose, self.source, []
        for left in reversed(range(self.length)):
            ways = slice(out.indptr[node], out.indptr[node + 1])
            weight = self.walks[left][out.target[ways]]
            if left > 0:
                weight = np.where(out.target[ways] == self.target, 0, weight)
            total = np.cumsum(weight)
            chosen = int(np.searchsorted(total, random.random() * total[-1], side="right"))
            slots.append(out.slot[ways][chosen])
            node = int(out.target[ways][chosen])
        return np.array(slots, dtype=np.int64)


def facts_of(csr: RelationalCSR, slots: Int64) -> Facts:
    """What tells a path apart from others, copies of its edges aside."""
    columns = (csr.source[slots].tolist(), csr.relation[slots].tolist(), csr.target[slots].tolist())
    return tuple(zip(*columns, strict=True))
