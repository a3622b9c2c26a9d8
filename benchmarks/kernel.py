"""One Bellman-Ford iteration: the compiled call beside plain PyTorch, in one run.

    [NBFNET_DATA=folder] python benchmarks/kernel.py [--quick] [--json FILE]

Times are milliseconds for one query and one iteration over all nodes, each the smallest of several runs taken in turn;
PNA and DistMult in 32 dims, unless a table says otherwise. Backward: all gradients but that of edge weights.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from kernel_case import Case, compiled, gather_scatter, random_graph, reference
from machine import machine_facts
from nbfnet import load
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.kernels.backend import KERNEL_AGGREGATES, KERNEL_MESSAGES
from nbfnet.native import native

Row = dict[str, str | int | float]


def compare(contenders: Mapping[str, tuple[Case, Callable[[Case], Tensor], int]]) -> dict[str, tuple[float, float]]:
    """The smallest forward and backward times of each, all taking turns for as many rounds as each may."""
    best = {name: (float("inf"), float("inf")) for name in contenders}
    for turn in range(max(rounds for _, _, rounds in contenders.values())):
        for name, (case, step, rounds) in contenders.items():
            if turn < rounds:
                forward, backward = case.milliseconds(step)
                best[name] = (min(best[name][0], forward), min(best[name][1], backward))
    return best


def peers(graphs: Mapping[str, RelationalCSR], quick: bool) -> list[Row]:
    """The compiled iteration, the reference and gather/scatter on each graph."""
    table: list[Row] = []
    for name, csr in graphs.items():
        many, one = Case(csr, 4 if quick else 16), Case(csr, 1)
        slow = 2 if quick else 4
        times = compare(
            {
                "compiled": (many, compiled, 4 * slow),
                "compiled, 1 query": (one, compiled, 4 * slow),
                "reference": (one, reference, slow),
                "gather/scatter": (one, gather_scatter, slow),
            }
        )
        fastest = sum(times["compiled"])
        for contender, (forward, backward) in times.items():
            table.append(_row(forward, backward, graph=name, contender=contender))
            table[-1]["times the compiled"] = round((forward + backward) / fastest, 1)
    return table


def operators(csr: RelationalCSR, quick: bool) -> list[Row]:
    """Every message with every aggregate."""
    table = []
    for message in KERNEL_MESSAGES:
        for aggregate in KERNEL_AGGREGATES:
            case = Case(csr, 4, message=message, aggregate=aggregate)
            times = compare({"": (case, compiled, 3 if quick else 8)})
            table.append(_row(*times[""], message=message, aggregate=aggregate))
    return table


def scaling(name: str, values: Iterable[int], make: Callable[[int], Case], quick: bool) -> list[Row]:
    """How the time of a query changes with one number."""
    rounds = 4 if quick else 10
    return [_row(*compare({"": (make(n), compiled, rounds)})[""], **{name: n}) for n in values]


def threads(csr: RelationalCSR, quick: bool) -> list[Row]:
    """One query and many, by the number of threads."""
    table, before = [], torch.get_num_threads()
    for count in [n for n in (1, 2, 4, 8, 16, 32) if n <= (os.cpu_count() or 1)]:
        torch.set_num_threads(count)
        for queries in (1, 16):
            times = compare({"": (Case(csr, queries), compiled, 4 if quick else 10)})
            table.append(_row(*times[""], threads=count, queries=queries))
    torch.set_num_threads(before)
    return table


def memory(quick: bool) -> list[Row]:
    """What forward and backward of 4 queries on 5,000 nodes add to the memory of a process, by edges."""
    table: list[Row] = []
    for edges in (100_000, 400_000) if quick else (100_000, 400_000, 1_600_000, 6_400_000):
        command = [sys.executable, str(Path(__file__).with_name("kernel_memory.py")), str(edges)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        all_messages = 4 * edges * 32 * 4 / 2**20
        table.append({"edges": edges, "MB": round(float(done.stdout), 1), "MB of all messages": round(all_messages, 1)})
    return table


def _row(forward: float, backward: float, **key: str | int) -> Row:
    times = {"forward": forward, "backward": backward, "both": forward + backward}
    return {**key, **{name: round(value, 3) for name, value in times.items()}}


def main() -> None:
    """Measure, print tables, write JSON."""
    parser = argparse.ArgumentParser(description="A compiled iteration beside plain PyTorch.")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter measurements")
    parser.add_argument("--json", type=Path, help="write the tables to this file too")
    arguments = parser.parse_args()
    if native is None:
        raise SystemExit("needs the compiled extension")
    quick = arguments.quick
    graphs = {name: load(name).train.csr for name in ("fb15k-237", "wn18rr")}
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
        "instruction set": native.instruction_set(),
        "threads": torch.get_num_threads(),
    }
    console = Console()
    console.print(f"{native.instruction_set()}, {torch.get_num_threads()} threads; milliseconds for one query")
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
