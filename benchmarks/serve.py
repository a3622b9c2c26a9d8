"""How much a server bears: predictions a second, the slowest of them, memory, and whether sessions ever mix.

python benchmarks/serve.py RUN [--connections 16] [--minutes 10] [--json FILE]

The server is a process of its own on a free port of loopback; this program asks it. No question is asked twice in a
row, and the server caches no answer. Two phases: questions alone for a minute, then questions beside what-if sessions
for the rest, in which every client checks that it sees its own facts and nobody else's.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from machine import machine_facts
from nbfnet.client import Client, ServerError
from nbfnet.run import Run

Question = tuple[str, str]  # head, relation


def main() -> None:
    """Measure, print, and write the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run folder")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--minutes", type=float, default=10.0, help="of both phases together")
    parser.add_argument("--workers", type=int, default=2, help="of the server")
    parser.add_argument("-k", type=int, default=10, help="answers of a question")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()

    run = Run.open(arguments.run)
    questions = _questions(run)
    with _Server(arguments.run, arguments.workers) as server:
        seconds = 60 * arguments.minutes
        alone = _phase(server, _asker(questions, arguments.k), arguments.connections, min(60.0, seconds / 2))
        beside = _phase(server, _what_if_asker(run), arguments.connections, seconds - min(60.0, seconds / 2))
    figures = {
        "graph": run.dataset.name,
        "entities": run.graph.num_nodes,
        "facts": len(run.graph.triplets),
        "connections": arguments.connections,
        "workers": arguments.workers,
        "k": arguments.k,
        "predictions": alone,
        "what_if_sessions": beside,
        "machine": machine_facts(),
    }
    print(json.dumps(figures, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")
    if beside["mixed_up"] or alone["failed"] or beside["failed"]:
        sys.exit("requests failed, or sessions were mixed up")


def _questions(run: Run) -> list[Question]:
    """Questions of the test links, in an order by chance: what a person would ask."""
    dataset = run.dataset
    graph, links = dataset.facts_of_test, dataset.test if len(dataset.test) else dataset.train.triplets
    pairs = {
        (graph.entities[h], graph.relations[r])
        for h, r in zip(links.head.tolist(), links.relation.tolist(), strict=True)
    }
    known = [pair for pair in sorted(pairs) if pair[0] in run.graph.entities]
    random.Random(0).shuffle(known)
    return known


class _Server:
    """``nbfnet serve`` in a process of its own."""

    def __init__(self, run: Path, workers: int) -> None:
        command = [sys.executable, "-m", "nbfnet", "serve", str(run), "--port", "0", "--workers", str(workers)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().split()[-1]

    def __enter__(self) -> _Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(60)

    def megabytes(self) -> float:
        """The memory that the server holds now."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024

    def cpu_seconds(self) -> float:
        """The time of all cores that the server has taken."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100


Ask = Callable[[Client, random.Random, int], bool]  # one request; whether the answer is the client's own


def _phase(server: _Server, ask: Ask, connections: int, seconds: float) -> dict[str, Any]:
    """Ask over some connections at the same time, and watch memory and the health check meanwhile."""
    latencies: list[list[float]] = [[] for _ in range(connections)]
    failed, mixed = [0] * connections, [0] * connections
    until = time.monotonic() + seconds

    def work(number: int) -> None:
        draw = random.Random(number)
        with Client(server.url) as client:
            while time.monotonic() < until:
                begun = time.perf_counter()
                try:
                    mixed[number] += not ask(client, draw, number)
                except ServerError as error:
                    failed[number] += 1
                    print(f"failed: {error}", file=sys.stderr)
                latencies[number].append(time.perf_counter() - begun)

    memory, health = [], []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(connections)]
    cpu, begun = server.cpu_seconds(), time.monotonic()
    for thread in threads:
        thread.start()
    with Client(server.url) as watcher:
        while time.monotonic() < until:
            time.sleep(min(1.0, max(0.0, until - time.monotonic())))
            asked = time.perf_counter()
            watcher.health()
            health.append(time.perf_counter() - asked)
            memory.append(server.megabytes())
    for thread in threads:
        thread.join()
    took, cpu = time.monotonic() - begun, server.cpu_seconds() - cpu
    all_latencies = np.concatenate([np.array(part) for part in latencies])
    return {
        "seconds": round(took, 1),
        "requests": len(all_latencies),
        "per_second": round(len(all_latencies) / took, 1),
        "milliseconds": {f"p{p}": round(1000 * float(np.percentile(all_latencies, p)), 1) for p in (50, 90, 99)},
        "health_milliseconds_p99": round(1000 * float(np.percentile(health, 99)), 1),
        "server_cpu_milliseconds_a_request": round(1000 * cpu / len(all_latencies), 2),
        "megabytes_by_tenth_of_the_time": [
            round(float(part.mean()), 1) for part in np.array_split(memory, 10) if len(part)
        ],
        "failed": sum(failed),
        "mixed_up": sum(mixed),
    }


def _asker(questions: list[Question], k: int) -> Ask:
    """Predictions: each connection goes through all questions in an order of its own."""

    def ask(client: Client, draw: random.Random, number: int) -> bool:
        head, relation = draw.choice(questions)
        found = client.predict(head, relation, k=k)
        return bool(found["query"]["head"]["name"] == head and found["query"]["relation"]["name"] == relation)

    return ask


def _what_if_asker(run: Run) -> Ask:
    """What-if: each connection adds a fact about an entity of its own, asks for it, and now and then begins anew."""
    entities, relation = run.graph.entities, run.graph.relations[0]
    own: dict[int, tuple[str, str]] = {}

    def ask(client: Client, draw: random.Random, number: int) -> bool:
        if client.session is None or draw.random() < 0.05:
            if client.session is not None:
                client.forget()
            own[number] = f"entity of connection {number}, {draw.random()}", entities[draw.randrange(len(entities))]
            client.what_if(add=[(own[number][0], relation, own[number][1])])
        name, target = own[number]
        facts = client.neighbours(name)["facts"]
        answers = client.predict(name, relation, k=3)
        known = {answer["name"] for answer in answers["answers"] if answer["known"]}
        return [fact["other"]["name"] for fact in facts] == [target] and known <= {target} and answers["what_if"]

    return ask


if __name__ == "__main__":
    main()
