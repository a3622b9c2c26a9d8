"""The same tasks with python-graphblas, each in every formulation that may be the fastest."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import graphblas as gb
import numpy as np
from graphblas import Matrix, Vector, binary, monoid, semiring

from nbfnet.graph.triplets import Float64, Int32
from path_graphs import BenchmarkGraph
from path_tasks import Task, edge_values

_OPERATORS = {
    "plus_times": (semiring.plus_times, monoid.plus, binary.plus, None),
    "min_plus": (semiring.min_plus, monoid.min, binary.min, binary.ge),
    "max_min": (semiring.max_min, monoid.max, binary.max, binary.le),
    "max_times": (semiring.max_times, monoid.max, binary.max, binary.le),
}


class GraphBLASTask:
    """A task as GraphBLAS operations.

    Parallel edges are merged by the semiring's summation, and both matrices built, before time is taken.
    """

    def __init__(self, graph: BenchmarkGraph, task: Task, sources: Int32, threads: int) -> None:
        gb.ss.config["nthreads"] = threads
        self.task, self.sources, self.nodes = task, sources, graph.num_nodes
        self.times, self.plus, merge, self.no_better = _OPERATORS[task.semiring.name]
        self.forward = Matrix.from_coo(
            graph.head, graph.tail, edge_values(graph, task), nrows=self.nodes, ncols=self.nodes, dup_op=merge
        )
        self.forward.wait()
        self.backward = self.forward.T.new()  # by tail: row v holds the edges into v
        self.backward.wait()
        # Its objects stand in cycles: where they are large, those of an iteration go before the next begins. Nothing
        # older is looked at then, so this takes no time.
        self.is_large = self.nodes * len(sources) > 1_000_000
        gc.collect()
        gc.freeze()

    def formulations(self) -> dict[str, Callable[[], Any]]:
        """Ways to compute the task, by name; each returns GraphBLAS's own object."""
        ways: dict[str, Callable[[], Any]] = {"pull": self._pull, "push": self._push}
        if self.task.semiring.idempotent:
            ways["frontier"] = self._frontier
        if self.task.method == "hops":
            ways["bfs"] = self._bfs
        return ways

    def scores(self, result: Any) -> Float64:
        """(source, node) from what a formulation returned."""
        dense: Float64 = result.to_dense(fill_value=self.task.semiring.zero)
        if len(self.sources) == 1:
            return dense.reshape(1, -1)
        return dense if dense.shape[1] == self.nodes else dense.T

    def _collect(self) -> None:
        if self.is_large:
            gc.collect()

    def _start(self, by_node: bool) -> Any:
        """1̄ at the sources: a vector, or a matrix (node, source) or (source, node)."""
        one, count = self.task.semiring.one, len(self.sources)
        if count == 1:
            return Vector.from_coo(self.sources, [one], size=self.nodes)
        shape = {"nrows": self.nodes, "ncols": count} if by_node else {"nrows": count, "ncols": self.nodes}
        ends = (self.sources, np.arange(count)) if by_node else (np.arange(count), self.sources)
        return Matrix.from_coo(*ends, np.full(count, one), **shape)

    def _dense(self, start: Any) -> Any:
        dense = start.to_dense(fill_value=self.task.semiring.zero)
        return Vector.from_dense(dense) if dense.ndim == 1 else Matrix.from_dense(dense)

    def _iterate(self, h: Any, start: Any, step: Callable[[Any], Any]) -> Any:
        """H ← (h ⊗ A) ⊕ h⁽⁰⁾; for min and max h itself is joined, in place of h⁽⁰⁾ and of a copy."""
        done = 0
        while self.task.iterations is None or done < self.task.iterations:
            self._collect()
            if self.task.semiring.idempotent:
                following = h if self.task.iterations is not None else h.dup()
            else:
                following = start.dup()
            following(self.plus) << step(h)
            if self.task.iterations is None and following.isequal(h):
                break
            h, done = following, done + 1
        return h

    def _pull(self) -> Any:
        """All nodes are dense, and every iteration reads all edges by tail."""
        start = self._dense(self._start(by_node=True))
        return self._iterate(start.dup(), start, lambda h: self.times(self.backward @ h))

    def _push(self) -> Any:
        """Starts sparse: only nodes that were reached send along their edges."""
        start = self._start(by_node=False)
        return self._iterate(start.dup(), start, lambda h: self.times(h @ self.forward))

    def _frontier(self) -> Any:
        """Only nodes that changed send along their edges."""
        h = self._start(by_node=False)
        frontier, done = h.dup(), 0
        while frontier.nvals and (self.task.iterations is None or done < self.task.iterations):
            self._collect()
            reached = self.times(frontier @ self.forward).new()
            worse = self.no_better(reached & h).new()
            frontier = reached.dup()
            frontier.clear()
            frontier(~worse.V, replace=True) << reached
            h(self.plus) << frontier
            done += 1
        return h

    def _bfs(self) -> Any:
        """Breadth-first search: unweighted distances are the iterations in which nodes are first reached."""
        h = self._start(by_node=False)
        frontier, done = h.dup(dtype=bool), 0
        while frontier.nvals and (self.task.iterations is None or done < self.task.iterations):
            self._collect()
            done += 1
            frontier(~h.S, replace=True) << semiring.any_pair(frontier @ self.forward)
            h(frontier.S) << float(done)
        return h
