"""Relational SpMM: the compiled kernel beside plain PyTorch, in one run.

    NBFNET_DATA=FOLDER python benchmarks/kernel.py [--quick] [--json FILE]

Times are milliseconds for one query and one iteration, each the smallest of several runs taken in turn; PNA
and DistMult in 32 dims, unless a table says otherwise. Backward: all gradients but that of edge weights.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from machine import machine_facts
from nbfnet.graph.inverse import with_inverse_count, with_inverses
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.kernels.backend import KERNEL_AGGREGATES, KERNEL_MESSAGES, use_backend
from nbfnet.kernels.cpu import instruction_set
from nbfnet.kernels.relational_spmm import relational_spmm

Row = dict[str, str | int | float]
Step = Callable[..., Tensor]


class Case:
    """The inputs of a call on a graph, and the time that it takes."""

    def __init__(self, csr: RelationalCSR, queries: int, dim: int = 32, aggregate: str = "pna") -> None:
        self.queries = queries
        rows = [csr.num_nodes, csr.num_relations, csr.num_nodes]
        # Representations come out of a ReLU, so many numbers are exactly zero.
        self.inputs = [torch.randn(queries, n, dim).relu_().requires_grad_() for n in rows]
        self.edges = [torch.from_numpy(array) for array in (csr.indptr, csr.source, csr.relation)]
        statistics = [4] if aggregate == "pna" else []
        self.direction = torch.randn(queries, csr.num_nodes, *statistics, dim)

    def milliseconds(self, step: Step) -> tuple[float, float]:
        """Forward and backward, for one query."""
        begin = time.perf_counter()
        out = step(*self.inputs, *self.edges)
        middle = time.perf_counter()
        torch.autograd.grad(out, self.inputs, self.direction)
        end = time.perf_counter()
        return (middle - begin) / self.queries * 1e3, (end - middle) / self.queries * 1e3


def kernel(*tensors: Tensor, backend: Any = "cpu", message: str = "distmult", aggregate: str = "pna") -> Tensor:
    """The operation by one of our backends."""
    with use_backend(backend):
        return relational_spmm(*tensors, message=message, aggregate=aggregate)


def reference(*tensors: Tensor) -> Tensor:
    """Our own specification in plain PyTorch."""
    return kernel(*tensors, backend="reference")


def gather_scatter(
    source: Tensor, edges: Tensor, boundary: Tensor, indptr: Tensor, index: Tensor, relation: Tensor
) -> Tensor:
    """As message passing libraries do it: gather the messages, scatter them once for each statistic."""
    row = torch.arange(boundary.shape[1]).repeat_interleave(indptr.diff())
    messages = source[:, index] * edges[:, relation]
    spread = row[None, :, None].expand_as(messages)
    count = (indptr.diff() + 1)[:, None]
    mean = boundary.scatter_add(1, spread, messages) / count
    mean_square = boundary.square().scatter_add(1, spread, messages.square()) / count
    largest = boundary.scatter_reduce(1, spread, messages, "amax")
    smallest = boundary.scatter_reduce(1, spread, messages, "amin")
    deviation = (mean_square - mean.square()).clamp(min=1e-6).sqrt()
    return torch.stack([mean, largest, smallest, deviation], dim=2)


def compare(contenders: Mapping[str, tuple[Case, Step, int]]) -> dict[str, tuple[float, float]]:
    """The smallest forward and backward times of each, all taking turns for as many rounds as each may."""
    best = {name: (float("inf"), float("inf")) for name in contenders}
    for turn in range(max(rounds for _, _, rounds in contenders.values())):
        for name, (case, step, rounds) in contenders.items():
            if turn < rounds:
                forward, backward = case.milliseconds(step)
                best[name] = (min(best[name][0], forward), min(best[name][1], backward))
    return best


def peers(graphs: Mapping[str, RelationalCSR], quick: bool) -> list[Row]:
    """The kernel, the reference and gather/scatter on each graph."""
    table: list[Row] = []
    for name, csr in graphs.items():
        many, one = Case(csr, 4 if quick else 16), Case(csr, 1)
        slow = 2 if quick else 4
        times = compare(
            {
                "kernel": (many, kernel, 4 * slow),
                "kernel, 1 query": (one, kernel, 4 * slow),
                "reference": (one, reference, slow),
                "gather/scatter": (one, gather_scatter, slow),
            }
        )
        fastest = sum(times["kernel"])
        for contender, (forward, backward) in times.items():
            table.append(_row(forward, backward, graph=name, contender=contender))
            table[-1]["times the kernel"] = round((forward + backward) / fastest, 1)
    return table


def operators(csr: RelationalCSR, quick: bool) -> list[Row]:
    """Every message with every aggregate."""
    table = []
    for message in KERNEL_MESSAGES:
        for aggregate in KERNEL_AGGREGATES:

            def step(*tensors: Tensor, message: str = message, aggregate: str = aggregate) -> Tensor:
                return kernel(*tensors, message=message, aggregate=aggregate)

            times = compare({"": (Case(csr, 4, aggregate=aggregate), step, 3 if quick else 8)})
            table.append(_row(*times[""], message=message, aggregate=aggregate))
    return table


def scaling(name: str, values: Iterable[int], make: Callable[[int], Case], quick: bool) -> list[Row]:
    """How the time of a query changes with one number."""
    rounds = 4 if quick else 10
    return [_row(*compare({"": (make(n), kernel, rounds)})[""], **{name: n}) for n in values]


def threads(csr: RelationalCSR, quick: bool) -> list[Row]:
    """One query and many, by the number of threads."""
    table, before = [], torch.get_num_threads()
    for count in [n for n in (1, 2, 4, 8, 16, 32) if n <= (os.cpu_count() or 1)]:
        torch.set_num_threads(count)
        for queries in (1, 16):
            times = compare({"": (Case(csr, queries), kernel, 4 if quick else 10)})
            table.append(_row(*times[""], threads=count, queries=queries))
    torch.set_num_threads(before)
    return table


MEMORY = """
import re, sys
from pathlib import Path
from kernel import Case, kernel, random_graph

def kilobytes(field):
    return int(re.search(field + r":\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

case = Case(random_graph(5_000, int(sys.argv[1])), 4)
Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
before = kilobytes("VmRSS")
case.milliseconds(kernel)
print((kilobytes("VmHWM") - before) / 1024)
"""


def memory(quick: bool) -> list[Row]:
    """What forward and backward of 4 queries on 5,000 nodes add to the memory of a process, by edges."""
    table: list[Row] = []
    for edges in (100_000, 400_000) if quick else (100_000, 400_000, 1_600_000, 6_400_000):
        command = [sys.executable, "-c", MEMORY, str(edges)]
        folder = Path(__file__).parent
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
        all_messages = 4 * edges * 32 * 4 / 2**20
        table.append({"edges": edges, "MB": round(float(done.stdout), 1), "MB of all messages": round(all_messages, 1)})
    return table


def random_graph(nodes: int, edges: int) -> RelationalCSR:
    """Edges between random nodes, 50 relations."""
    generator = np.random.default_rng(0)
    head, relation, tail = (generator.integers(n, size=edges, dtype=np.int32) for n in (nodes, 50, nodes))
    return RelationalCSR.from_triplets(Triplets(head, relation, tail), nodes, 50)


def read(folder: Path) -> RelationalCSR:
    """The training triplets of a benchmark, with inverses."""
    lines = [line.split("\t") for line in (folder / "train.txt").read_text(encoding="utf-8").splitlines()]
    entities: dict[str, int] = {}
    relations: dict[str, int] = {}
    head, tail = ([entities.setdefault(line[i], len(entities)) for line in lines] for i in (0, 2))
    relation = [relations.setdefault(line[1], len(relations)) for line in lines]
    edges = with_inverses(Triplets.of(head, relation, tail), len(relations))
    return RelationalCSR.from_triplets(edges, len(entities), with_inverse_count(len(relations)))


def _row(forward: float, backward: float, **key: str | int) -> Row:
    times = {"forward": forward, "backward": backward, "both": forward + backward}
    return {**key, **{name: round(value, 3) for name, value in times.items()}}


def main() -> None:
    """Measure, print tables, write JSON."""
    parser = argparse.ArgumentParser(description="Relational SpMM beside plain PyTorch.")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter measurements")
    parser.add_argument("--json", type=Path, help="write the tables to this file too")
    arguments = parser.parse_args()
    data, quick = os.environ.get("NBFNET_DATA"), arguments.quick
    if data is None:
        parser.error("set NBFNET_DATA to the folder that holds fb15k-237 and wn18rr")

    graphs = {name: read(Path(data) / name) for name in ("fb15k-237", "wn18rr")}
    fb15k = graphs["fb15k-237"]
    sizes = (50_000, 200_000, 800_000) if quick else (50_000, 100_000, 200_000, 400_000, 800_000, 1_600_000)
    counts = (1, 4, 16) if quick else (1, 2, 4, 8, 16, 32, 64)
    tables: dict[str, Callable[[], list[Row]]] = {
        "peers": lambda: peers(graphs, quick),
        "operators on fb15k-237": lambda: operators(fb15k, quick),
        "edges, 10,000 nodes": lambda: scaling("edges", sizes, lambda n: Case(random_graph(10_000, n), 8), quick),
        "dim on fb15k-237": lambda: scaling("dim", (1, 8, 16, 32, 33, 64, 128), lambda n: Case(fb15k, 4, n), quick),
        "queries on fb15k-237": lambda: scaling("queries", counts, lambda n: Case(fb15k, n), quick),
        "threads on fb15k-237": lambda: threads(fb15k, quick),
        "memory": lambda: memory(quick),
    }
    results: dict[str, Any] = {
        "machine": machine_facts(),
        "instruction set": instruction_set(),
        "threads": torch.get_num_threads(),
    }
    console = Console()
    console.print(f"{instruction_set()}, {torch.get_num_threads()} threads; milliseconds for one query")
    for title, measure in tables.items():
        results[title] = measure()
        table = Table(*results[title][0], title=title)
        for row in results[title]:
            table.add_row(*(f"{value:,}" if not isinstance(value, str) else value for value in row.values()))
        console.print(table)
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
