"""Bulk prediction on a local Ray cluster, one of whose workers is killed midway, beside one process.

python benchmarks/ray_predict.py [RUN] [--queries 10000] [--workers 2] [--json FILE]

Without a run, the network of ``nbfnet demo`` is trained first. The queries are about facts of the graph, and ask for
heads, relations and tails. One process answers them into a file. Then the workers of a cluster answer them into a
folder; when half of the parts are there, a worker gets SIGKILL. Every query must be answered exactly once, and the rows
must be those of one process, to all digits.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from machine import machine_facts
from nbfnet.cli.demo import QUICK
from nbfnet.prediction.answer_parts import split_queries
from nbfnet.prediction.query_file import Query
from nbfnet.run import Run


def main() -> None:
    """Measure, compare, print, and write the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, nargs="?", help="a run folder; else the network of the demo is trained")
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        figures = measure(arguments.run or _trained(Path(scratch)), arguments.queries, arguments.workers, Path(scratch))
    print(json.dumps(figures, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")
    if not figures["every_query_once"] or not figures["same_rows_as_one_process"]:
        sys.exit("the answers of the cluster are not those of one process")


def measure(folder: Path, count: int, workers: int, scratch: Path) -> dict[str, Any]:
    """Answer the same queries by one process, and by a cluster that loses a worker."""
    run = Run.open(folder)
    queries, alone, parts = scratch / "queries.parquet", scratch / "alone.parquet", scratch / "parts"
    _write_queries(run, count, queries)
    command = [sys.executable, "-m", "nbfnet", "predict", str(folder), "--queries", str(queries), "-o"]
    begun = time.perf_counter()
    subprocess.run([*command, str(alone)], check=True, stdout=subprocess.DEVNULL, env=_one_thread())
    seconds_alone = time.perf_counter() - begun

    begun = time.perf_counter()
    cluster = [*command, str(parts), "--engine", "ray", "--workers", str(workers)]
    process = subprocess.Popen(
        cluster, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=_one_thread(), start_new_session=True
    )
    half, killed_after = len(split_queries([(1, Query(None, None, None))] * count)) // 2, 0
    while process.poll() is None:
        if (done := len(list(parts.glob("part-*.parquet")))) >= half:
            os.kill(_worker_of(process.pid), signal.SIGKILL)
            killed_after = done
            break
        time.sleep(0.01)
    said, _ = process.communicate()
    seconds_cluster = time.perf_counter() - begun
    assert process.returncode == 0, said
    manifest = json.loads((parts / "manifest.json").read_text())
    numbers = [number for part in manifest["parts"] for number in range(part["first"], part["last"] + 1)]
    rows = [_rows(parts / part["file"]) for part in manifest["parts"]]
    return {
        "graph": run.dataset.name,
        "queries": count,
        "workers": workers,
        "threads_of_a_worker": 1,
        "parts": len(manifest["parts"]),
        "parts_when_a_worker_was_killed": killed_after,
        "every_query_once": numbers == list(range(1, count + 1)),
        "rows": sum(map(len, rows)),
        "same_rows_as_one_process": [row for part in rows for row in part] == _rows(alone),
        "said_by_the_command": said.splitlines()[:-1],
        "seconds_of_one_process": round(seconds_alone, 1),
        "seconds_of_the_cluster_with_its_start": round(seconds_cluster, 1),
        "ray": _ray_version(),
        "machine": machine_facts(),
    }


def _trained(scratch: Path) -> Path:
    Run.begin(scratch / "run", "world", QUICK, source="world").train()
    return scratch / "run"


def _write_queries(run: Run, count: int, file: Path) -> None:
    """Questions about facts that are drawn by chance, for heads, relations and tails in turn."""
    graph, facts = run.graph, run.graph.triplets
    drawn = np.random.default_rng(0).integers(len(facts), size=count).tolist()
    columns: list[list[str]] = [[], [], []]
    for number, i in enumerate(drawn):
        names = [graph.entities[int(facts.head[i])], graph.relations[int(facts.relation[i])]]
        names.append(graph.entities[int(facts.tail[i])])
        names[number % 3] = "?"
        for column, name in zip(columns, names, strict=True):
            column.append(name)
    table = "SELECT unnest(?) AS head, unnest(?) AS relation, unnest(?) AS tail"
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE asked AS {table}", columns)
    connection.execute(f"COPY asked TO '{file}' (FORMAT parquet)")


def _worker_of(session: int) -> int:
    """A process of the cluster that answers queries."""
    for entry in Path("/proc").iterdir():
        try:
            title = (entry / "cmdline").read_bytes().decode(errors="replace")
            found = int((entry / "stat").read_text().rpartition(")")[2].split()[3])
        except (OSError, ValueError):
            continue
        if title.startswith("ray::") and "MapWorker" in title and found == session:
            return int(entry.name)
    raise RuntimeError("no worker was found")


def _rows(file: Path) -> list[tuple[Any, ...]]:
    return duckdb.connect().execute("SELECT * FROM read_parquet(?)", [str(file)]).fetchall()


def _one_thread() -> dict[str, str]:
    return dict(os.environ) | {"OMP_NUM_THREADS": "1"}


def _ray_version() -> str:
    from importlib.metadata import version

    return version("ray")


if __name__ == "__main__":
    main()
