"""The graphs of the path benchmark: benchmark graphs as they are on disk, and generated power-law graphs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Float64, Int32, Triplets
from nbfnet.semiring.weighted_edges import WeightedEdges

CITATION_NODES = {"cora": 2_708, "citeseer": 3_327, "pubmed": 19_717}


@dataclass(frozen=True, eq=False)
class BenchmarkGraph:
    """Directed edges, those of an undirected graph both ways, with random weights between 0 and 1."""

    name: str
    num_nodes: int
    head: Int32  # (edge,)
    tail: Int32  # (edge,)

    @cached_property
    def weight(self) -> Float64:
        """(edge,) the weights of distance, widest and most reliable path."""
        return np.random.default_rng(1).random(len(self.head))

    @cached_property
    def weighted(self) -> WeightedEdges:
        """The edges with their weights, laid out."""
        return WeightedEdges.of(self._csr(self.weight))

    @cached_property
    def unweighted(self) -> WeightedEdges:
        """The edges, 1 each, laid out."""
        return WeightedEdges.of(self._csr(None))

    def sources(self, count: int) -> Int32:
        """Random nodes that an edge leaves."""
        return np.random.default_rng(2).choice(np.unique(self.head), count, replace=False)

    def _csr(self, weight: Float64 | None) -> RelationalCSR:
        triplets = Triplets.of(self.head, np.zeros(len(self.head)), self.tail, weight)
        return RelationalCSR.from_triplets(triplets, self.num_nodes, 1)


def benchmark_graph(name: str) -> BenchmarkGraph:
    """A benchmark graph from the folder that NBFNET_DATA names, facts and edges both ways; or ``power-law-1M``."""
    if name.startswith("power-law-"):
        edges = 10 * int(name.removeprefix("power-law-").replace("M", "000000").replace("k", "000"))
        return power_law(name, edges // 10, edges)
    folder = Path(os.environ["NBFNET_DATA"]) / name
    if name in CITATION_NODES:
        head, tail = np.loadtxt(folder / "edges.txt", dtype=np.int32).T
        nodes = CITATION_NODES[name]
    else:
        facts = [line.split("\t") for line in (folder / "train.txt").read_text(encoding="utf-8").splitlines()]
        ids: dict[str, int] = {}
        ends = [[ids.setdefault(fact[column], len(ids)) for fact in facts] for column in (0, 2)]
        head, tail = np.array(ends, dtype=np.int32)
        nodes = len(ids)
    return BenchmarkGraph(name, nodes, np.concatenate([head, tail]), np.concatenate([tail, head]))


def power_law(name: str, nodes: int, edges: int, exponent: float = 2.5) -> BenchmarkGraph:
    """Directed edges whose ends are drawn with probability proportional to rank^(-1 / (exponent - 1)).

    Degrees then follow a power law with that exponent. Ranks are shuffled: node numbers say nothing about degrees.
    """
    generator = np.random.default_rng(0)
    share = np.cumsum(np.arange(1, nodes + 1) ** (-1 / (exponent - 1)))
    shuffle = generator.permutation(nodes).astype(np.int32)
    head, tail = (shuffle[np.searchsorted(share, generator.random(edges) * share[-1])] for _ in range(2))
    return BenchmarkGraph(name, nodes, head, tail)
