"""The tasks that networkx has a function for."""

from __future__ import annotations

import math
from collections.abc import Callable

import networkx as nx

from path_graphs import BenchmarkGraph
from path_tasks import ALPHA, BETA, Task


class NetworkXTask:
    """A task from one source, as networkx does it; widest paths it does not have."""

    def __init__(self, graph: BenchmarkGraph, task: Task) -> None:
        self.task = task
        self.graph = nx.DiGraph()
        self.graph.add_nodes_from(range(graph.num_nodes))
        weights = graph.weight.tolist()
        self.graph.add_weighted_edges_from(zip(graph.head.tolist(), graph.tail.tolist(), weights, strict=True))

    def function(self, source: int) -> Callable[[], object] | None:
        """What to call for one source."""
        if self.task.method == "hops":
            return lambda: nx.single_source_shortest_path_length(self.graph, source)
        if self.task.method == "distance":
            return lambda: nx.single_source_dijkstra_path_length(self.graph, source)
        if self.task.method == "reliable":

            def length(_head: int, _tail: int, data: dict[str, float]) -> float:
                return -math.log(data["weight"])

            return lambda: nx.single_source_dijkstra_path_length(self.graph, source, weight=length)
        if self.task.method == "ppr":
            return lambda: self._pagerank(source)
        if self.task.method == "katz":
            return lambda: self._katz(source)
        return None

    def _pagerank(self, source: int) -> object:
        """As many power iterations as the task: networkx stops with an error when they are over."""
        try:
            return nx.pagerank(
                self.graph, ALPHA, personalization={source: 1}, max_iter=self.task.iterations, tol=0, weight=None
            )
        except nx.PowerIterationFailedConvergence:
            return None

    def _katz(self, source: int) -> object:
        """Katz centrality in which only the source has a weight of its own is the Katz index from it."""
        weight = dict.fromkeys(self.graph, 0.0)
        weight[source] = 1.0
        try:
            return nx.katz_centrality(self.graph, BETA, weight, max_iter=self.task.iterations, tol=0, normalized=False)
        except nx.PowerIterationFailedConvergence:
            return None
