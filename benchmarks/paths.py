"""Classical path methods beside python-graphblas and networkx, in one run: a table, and JSON.

    NBFNET_DATA=folder python benchmarks/paths.py [--quick] [--json results.json]

Every row is one task on one graph, with the same number of threads for both. Graphs, matrices and layouts are built
before. GraphBLAS runs every formulation it may be fastest in, and the best counts; with many sources those that took at
most three times the best with one. Runs alternate; the least time of all that fit into a second counts. networkx runs
from few sources, times the number of sources; on the largest graph it runs on one of a tenth of the size, times ten.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

from machine import machine_facts
from nbfnet.graph.triplets import Float64
from nbfnet.semiring.bellman_ford import bellman_ford
from nbfnet.semiring.semiring import PLUS_TIMES
from path_graphblas import GraphBLASTask
from path_graphs import BenchmarkGraph, benchmark_graph, power_law
from path_networkx import NetworkXTask
from path_tasks import TASKS, Task, ours

GRAPHS = ["pubmed", "wn18rr", "fb15k-237", "power-law-1M"]
QUICK_GRAPHS = ["pubmed", "wn18rr", "fb15k-237", "power-law-100k"]
ENOUGH_SECONDS = 1.0  # of repeating one row


@dataclass
class Row:
    """One line of the table; times in seconds, None where a library has no such function or was not asked."""

    graph: str
    method: str
    until: str
    sources: int
    threads: int
    ours: float
    graphblas: float
    formulation: str
    networkx: float | None = None

    @property
    def ahead(self) -> float:
        """How many times as fast as GraphBLAS."""
        return self.graphblas / self.ours

    def line(self) -> str:
        """The row as text."""
        networkx = "" if self.networkx is None else f"{1e3 * self.networkx:12.1f} {self.networkx / self.ours:8.0f}x"
        return (
            f"{self.graph:15} {self.method:9} {self.until:13} {self.sources:3} {self.threads:3} "
            f"{1e3 * self.ours:10.3f} {1e3 * self.graphblas:10.3f} {self.formulation:9} {self.ahead:6.2f}x {networkx}"
        )


def seconds(function: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def compare(graph: BenchmarkGraph, task: Task, count: int, threads: int, known: dict[str, float]) -> Row:
    """Measure one row, and make sure that both computed the same.

    ``known`` holds how long each formulation took with fewer sources, and then with these.
    """
    gc.unfreeze()
    sources = graph.sources(count)
    peer = GraphBLASTask(graph, task, sources, threads)
    ways = {name: way for name, way in peer.formulations().items() if _is_promising(name, known, 3)}
    known.clear()
    expected = ours(graph, task, sources, threads)
    for name, way in ways.items():
        known[name], scores = _first_run(peer, way)
        for got, wanted in zip(scores, expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-9)
        del scores
    del expected
    promising = [name for name in ways if _is_promising(name, known, 2)]
    best_ours = seconds(lambda: ours(graph, task, sources, threads))
    spent = best_ours + sum(known[name] for name in promising)
    while spent < ENOUGH_SECONDS:
        best_ours = min(best_ours, seconds(lambda: ours(graph, task, sources, threads)))
        spent += best_ours
        for name in promising:
            known[name] = min(known[name], seconds(ways[name]))
            spent += known[name]
    best = min(known, key=known.__getitem__)
    return Row(graph.name, task.method, task.until, count, threads, best_ours, known[best], best)


def _is_promising(name: str, known: dict[str, float], factor: float) -> bool:
    return not known or (name in known and known[name] <= factor * min(known.values()))


def _first_run(peer: GraphBLASTask, way: Callable[[], object]) -> tuple[float, Float64]:
    """How long a formulation takes, and its scores (source, node)."""
    start = time.perf_counter()
    result = way()
    return time.perf_counter() - start, peer.scores(result)


def add_networkx(rows: list[Row], graph: BenchmarkGraph, task: Task, scale: float) -> None:
    """Fill in the networkx time of the rows of one graph and task."""
    peer = NetworkXTask(graph, task)
    times = []
    for source in graph.sources(2).tolist():
        function = peer.function(source)
        if function is None:
            return
        times.append(seconds(function))
        if times[0] > ENOUGH_SECONDS:
            break
    for row in rows:
        row.networkx = min(times) * scale * row.sources


def scaling(threads: int) -> list[dict[str, float]]:
    """Seconds for one dense iteration on graphs of 100,000 nodes and ever more edges."""
    table: list[dict[str, float]] = []
    for millions in (1, 2, 4, 8):
        graph = power_law(f"{millions}M edges", 100_000, millions * 1_000_000)
        for count in (1, 16):
            # Numbers of paths grow for ever: damped scores settle after some twenty iterations, and then none is run.
            # The first few iterations may be sparse: what forty more cost is taken.
            run = partial(bellman_ford, graph.unweighted, graph.sources(count), PLUS_TIMES, threads=threads)
            assert not np.array_equal(run(iterations=49), run(iterations=50))
            short, long = (partial(run, iterations=iterations) for iterations in (10, 50))
            each = (min(seconds(long) for _ in range(7)) - min(seconds(short) for _ in range(7))) / 40
            table.append({"edges": len(graph.head), "sources": count, "seconds": each})
            print(
                f"{len(graph.head):>10,} edges, {count:2} sources: {1e3 * each:9.3f} ms an iteration, "
                f"{1e9 * each / len(graph.head) / count:7.3f} ns an edge and source"
            )
    return table


def main() -> None:
    """Run the rows asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a generated graph of a tenth of the size, no networkx")
    parser.add_argument("--graphs", nargs="+")
    parser.add_argument("--methods", nargs="+", default=sorted({task.method for task in TASKS}))
    parser.add_argument("--sources", nargs="+", type=int, default=[1, 64])
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--json", type=Path, help="where to write the results")
    options = parser.parse_args()

    growth, rows = scaling(max(options.threads)), list[Row]()
    print(f"{'graph':15} {'method':9} {'until':13} {'src':>3} {'thr':>3} {'ours ms':>10} {'GraphBLAS':>10} {'as':9} ")
    for name in options.graphs or (QUICK_GRAPHS if options.quick else GRAPHS):
        graph = benchmark_graph(name)
        smaller = power_law(name, graph.num_nodes // 10, len(graph.head) // 10) if graph.num_nodes > 200_000 else None
        for task in (task for task in TASKS if task.method in options.methods):
            known: dict[int, dict[str, float]] = {threads: {} for threads in options.threads}
            measured = [compare(graph, task, n, t, known[t]) for n in sorted(options.sources) for t in options.threads]
            if not options.quick:
                add_networkx(measured, smaller or graph, task, 1.0 if smaller is None else 10.0)
            for row in measured:
                print(row.line(), flush=True)
            rows += measured
            if options.json:  # after every task: the largest graph takes long
                document = {"machine": machine_facts(), "scaling": growth, "rows": [asdict(row) for row in rows]}
                options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"\nleast lead over GraphBLAS: {min(row.ahead for row in rows):.2f}x")


if __name__ == "__main__":
    main()
