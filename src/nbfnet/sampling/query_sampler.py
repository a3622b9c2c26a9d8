"""QuerySampler: the edges that messages pass over for some queries, sampled around each, with its own fact hidden."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nbfnet.graph.graph import Graph
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Int32
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.sampling.bidirectional_bfs import BidirectionalBFS
from nbfnet.sampling.query_edges import Hiding, QueryEdges

_CHUNK = 1 << 22  # entities whose degrees are read at once


@dataclass(frozen=True, eq=False)
class SampledQueries:
    """Queries on the union of their samples, which have no edge in common."""

    csr: RelationalCSR  # as a network takes it: with inverses
    mean_log_degree: float  # of the whole graph, which the scale of a degree is relative to
    source: Int32  # (query,) as the samples number it
    target: Int32  # (query, candidate)
    node: Int32  # (node,) what each entity is in the graph


class QuerySampler:
    """Samples one graph for queries; the sample of a query depends on the seed, and not on the others of its batch."""

    def __init__(self, graph: Graph, hops: int, neighbours: int | None, hiding: Hiding | None = None) -> None:
        """``hiding`` says what is hidden of each query's first candidate, its answer; None hides nothing."""
        self.graph, self._hiding = graph, hiding
        self._search = BidirectionalBFS(graph.facts_csr, hops=hops, neighbours=neighbours)

    def sample(
        self, source: Int32, relation: Int32, target: Int32, *, seed: int = 0, threads: int = 1
    ) -> SampledQueries:
        """The samples of queries (source, relation) with candidates (query, candidate)."""
        found = self._search.sample(source, target, seed=seed, threads=threads)
        graph, names = self.graph, Vocabulary.numbered(found.num_nodes)
        csr = Graph("sample", graph.kind, names, graph.relations, found.triplets).message_csr
        if self._hiding is not None:
            edges = QueryEdges(csr, graph.kind, self._hiding)
            csr = csr.hide(edges.slots(found.source, relation, found.target))
        return SampledQueries(csr, self.mean_log_degree, found.source, found.target, found.node)

    def around(self, source: int, most: int, *, seed: int = 0) -> Int32:
        """(node,) the entities nearest to one, itself not included: at most so many of its own neighbourhood."""
        start = np.array([source], dtype=np.int32)
        return self._search.sample(start, np.empty((1, 0), dtype=np.int32), seed=seed).node[1 : most + 1]

    @cached_property
    def mean_log_degree(self) -> float:
        """The mean over all entities of log(degree + 1), each fact counted at both of its ends."""
        into, out = self.graph.facts_csr.indptr, self.graph.facts_csr.transpose.indptr
        count, total = len(into) - 1, 0.0
        loop = int(self.graph.kind == "homogeneous")
        for begin in range(0, count, _CHUNK):
            rows = slice(begin, min(begin + _CHUNK, count) + 1)
            total += float(np.log1p(np.diff(into[rows]) + np.diff(out[rows]) + loop).sum())
        return total / max(count, 1)
