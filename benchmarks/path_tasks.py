"""What the path benchmark measures: a method, for some iterations or until convergence, as this package does it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from nbfnet.graph.triplets import Float64, Int32
from nbfnet.semiring.bellman_ford import bellman_ford
from nbfnet.semiring.semiring import MAX_MIN, MAX_TIMES, MIN_PLUS, PLUS_TIMES, Semiring
from path_graphs import BenchmarkGraph

BETA, ALPHA = 1e-4, 0.85


@dataclass(frozen=True)
class Task:
    """One row of the table, apart from the graph, the sources and the threads."""

    method: str
    semiring: Semiring
    weighted: bool
    iterations: int | None

    @property
    def until(self) -> str:
        """When it stops, in words."""
        return "convergence" if self.iterations is None else f"{self.iterations} iterations"


TASKS = [
    Task("katz", PLUS_TIMES, False, 6),
    Task("ppr", PLUS_TIMES, False, 20),
    *(
        Task(method, semiring, weighted, iterations)
        for method, semiring, weighted in (
            ("hops", MIN_PLUS, False),
            ("distance", MIN_PLUS, True),
            ("widest", MAX_MIN, True),
            ("reliable", MAX_TIMES, True),
        )
        for iterations in (6, None)
    ),
]


def edge_values(graph: BenchmarkGraph, task: Task) -> Float64:
    """(edge,) the edge representations, by the formulas of the paper."""
    if task.method == "katz":
        return np.full(len(graph.head), BETA)
    if task.method == "ppr":
        return ALPHA / np.bincount(graph.head, minlength=graph.num_nodes)[graph.head]
    return graph.weight if task.weighted else np.ones(len(graph.head))


def ours(graph: BenchmarkGraph, task: Task, sources: Int32, threads: int) -> Float64:
    """(source, node) as this package computes it; PageRank as a plain sum over paths, so that all do the same."""
    edges = graph.weighted if task.weighted else graph.unweighted
    run = partial(bellman_ford, edges, sources, task.semiring, iterations=task.iterations, threads=threads)
    if task.method == "katz":
        return run(factor=BETA)
    if task.method == "ppr":
        strength = np.maximum(edges.strength, 1.0)
        scores = run(factor=ALPHA / strength)
        scores *= strength
        scores /= strength[sources, None]
        return scores
    return run()
