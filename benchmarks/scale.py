"""A generated power-law graph of any size, from a file to an answer: what each step takes, as a table and JSON.

    python benchmarks/scale.py FOLDER [--nodes 10000000] [--triplets 50000000] [--memory-limit 16GB] [--json FILE]

The graph is written to FOLDER as Parquet, converted to a store by ``nbfnet data convert`` in a process of its own,
whose peaks of memory and of disk are measured, and opened. Then queries with 1,000 random candidates each are sampled
with two hops and at most 100 in- and out-neighbours, steps of training are taken, and predictions are made. What is in
FOLDER already is used again. Times are by the clock, and, as ``cpu``, of the processor: others may use the machine.
The JSON file keeps the graphs of other sizes that it has, and what it says about a conversion that is not done again.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch

from machine import machine_facts
from nbfnet.config import make_config
from nbfnet.distributed import ALONE
from nbfnet.graph.graph import Dataset
from nbfnet.graph.store import read_store
from nbfnet.run import Run
from nbfnet.sampling.bidirectional_bfs import BidirectionalBFS
from nbfnet.training.batches import make_batches
from nbfnet.training.run_folder import initial_network
from nbfnet.training.step import Optimization
from scale_graph import write_graph

RELATIONS, HELD_OUT = 1_315, 5_000
HOPS, NEIGHBOURS, CANDIDATES = 2, 100, 1_000
WARMING, QUERIES, FIRST_STEPS, STEPS, FIRST_ASKED, ASKED = 100, 20, 40, 9, 60, 60
SETTINGS: dict[str, Any] = {
    "model": {"dim": 32, "layers": 4, "edges": "independent"},
    "training": {"epochs": 0, "batch_size": 16, "negatives": 32},
    "sampling": {"hops": HOPS, "neighbours": NEIGHBOURS, "candidates": CANDIDATES},
}


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """How long a call takes, and what it gives."""
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def convert(source: Path, store: Path, limit: str) -> dict[str, float]:
    """Convert in another process; seconds, and its peaks of memory and of disk, the store included, in gigabytes."""
    command = [sys.executable, "-m", "nbfnet", "data", "convert", str(source), "-o", str(store)]
    begin, disk = time.perf_counter(), 0
    others = {path.name for path in store.parent.iterdir()}
    with subprocess.Popen([*command, "--memory-limit", limit]) as process:
        while process.poll() is None:
            time.sleep(1)
            disk = max(disk, sum(size_of(path) for path in store.parent.iterdir() if path.name not in others))
    taken = time.perf_counter() - begin
    if process.returncode:
        sys.exit(process.returncode)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    peak, processor = used.ru_maxrss, used.ru_utime + used.ru_stime  # kilobytes on Linux
    return {
        "convert_seconds": taken,
        "convert_cpu_seconds": processor,
        "convert_peak_gb": peak / (1 << 20),
        "convert_disk_gb": disk / (1 << 30),
    }


def size_of(path: Path) -> int:
    """Bytes of a file or of everything in a folder, which somebody may just remove."""
    size = 0
    for file in [path, *path.rglob("*")]:
        with suppress(OSError):
            size += file.stat().st_size if file.is_file() and not file.is_symlink() else 0
    return size


def sample(dataset: Dataset) -> dict[str, float]:
    """Milliseconds for each query, first and once the process has seen most pages of the store; sizes of samples."""
    generator, nodes = np.random.default_rng(0), dataset.train.num_nodes
    sampler = BidirectionalBFS(dataset.train.facts_csr, hops=HOPS, neighbours=NEIGHBOURS)
    times, sizes = [], []
    for _ in range(WARMING + QUERIES):
        source = generator.integers(0, nodes, 1).astype(np.int32)
        target = generator.integers(0, nodes, (1, CANDIDATES)).astype(np.int32)
        begin, begin_cpu = time.perf_counter(), time.process_time()
        found = sampler.sample(source, target)
        times.append((time.perf_counter() - begin, time.process_time() - begin_cpu))
        sizes.append((found.num_nodes, len(found.slot)))
    nodes_of, edges_of = np.mean(sizes, axis=0).tolist()
    first, warm = np.median(times[:QUERIES], axis=0).tolist(), np.median(times[-QUERIES:], axis=0).tolist()
    return {
        "first_sample_ms": 1e3 * first[0],
        "first_sample_cpu_ms": 1e3 * first[1],
        "sample_ms": 1e3 * warm[0],
        "sample_cpu_ms": 1e3 * warm[1],
        "samples_per_cpu_second": 1 / warm[1],
        "sample_nodes": nodes_of,
        "sample_edges": edges_of,
    }


def train(dataset: Dataset) -> dict[str, float]:
    """Seconds for a step of 16 queries with 32 negatives each, once the process has seen most pages of the store."""
    config = make_config(SETTINGS)
    batches = make_batches(dataset.train, config.training, config.sampling)
    optimization = Optimization(initial_network(config, dataset), dataset.train, config.training, ALONE)
    times = []
    for number in range(FIRST_STEPS + STEPS):
        begin = time.process_time()
        optimization.compute_gradients(batches.batch(0, number))
        optimization.take_step()
        times.append(time.process_time() - begin)
    return {
        "first_step_cpu_seconds": float(np.median(times[:STEPS])),
        "step_cpu_seconds": float(np.median(times[-STEPS:])),
    }


def predict(store: Path, run: Path) -> dict[str, float]:
    """Seconds to open a run that refers to the store, and for each prediction of the best of 1,000 candidates."""
    if not run.exists():
        Run.begin(run, read_store(store), SETTINGS)
    opening, opened = seconds(lambda: Run.open(run))
    graph, times = opened.graph, []
    for number in range(FIRST_ASKED + ASKED):
        link = opened.dataset.test.take(np.array([number]))
        names = graph.entities[int(link.head[0])], graph.relations[int(link.relation[0])]
        begin = time.process_time()
        opened.predict(*names, exclude_known=True)
        times.append(time.process_time() - begin)
    return {
        "open_run_ms": 1e3 * opening,
        "first_predict_cpu_seconds": float(np.median(times[:FIRST_ASKED])),
        "predict_cpu_seconds": float(np.median(times[-ASKED:])),
    }


def main() -> None:
    """Measure one graph."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--nodes", type=int, default=10_000_000)
    parser.add_argument("--triplets", type=int, default=50_000_000)
    parser.add_argument("--memory-limit", default="16GB")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    source, store = options.folder / "source", options.folder / "store"
    found: dict[str, Any] = {"nodes": options.nodes, "triplets": options.triplets, "limit": options.memory_limit}
    if not source.exists():
        found["generate_seconds"] = seconds(
            lambda: write_graph(source, options.nodes, options.triplets, RELATIONS, HELD_OUT)
        )[0]
    if not store.exists():
        found |= convert(source, store, options.memory_limit)
    found |= {"source_gb": size_of(source) / (1 << 30), "store_gb": size_of(store) / (1 << 30)}
    opening, dataset = seconds(lambda: read_store(store))
    found["open_ms"] = 1e3 * opening
    name = dataset.train.entities[dataset.train.num_nodes // 2]
    found["find_name_ms"] = 1e3 * seconds(lambda: dataset.train.entities.id(name))[0]
    found |= sample(dataset) | train(dataset) | predict(store, options.folder / "run")
    for key, value in found.items():
        print(f"{key:20} {value:,.2f}" if isinstance(value, float) else f"{key:20} {value}")
    if options.json:
        before = json.loads(options.json.read_text(encoding="utf-8"))["graphs"] if options.json.exists() else []
        graphs = {(graph["nodes"], graph["triplets"]): graph for graph in before}
        size = options.nodes, options.triplets
        graphs[size] = graphs.get(size, {}) | found | {"machine": machine_facts()}
        document = {"graphs": [graphs[each] for each in sorted(graphs)]}
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
