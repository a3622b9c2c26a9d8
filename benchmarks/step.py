"""What a training step and a ranking cost: frontier beside dense, in one run.

NBFNET_DATA=... python benchmarks/step.py [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from machine import machine_facts
from nbfnet import load
from nbfnet.config import ModelConfig
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.native import native

QUERIES, NEGATIVES = 64, 32
EDGES = {"wn18rr": "independent", "fb15k-237": "dependent"}


class Case:
    """A benchmark graph with a batch of its training queries, their own edges hidden, and a seeded network."""

    def __init__(self, name: str, queries: int = QUERIES) -> None:
        dataset = load(name)
        csr, facts = dataset.train.csr, dataset.train.triplets
        random = np.random.default_rng(0)
        chosen = random.choice(len(facts), queries, replace=False)
        batch, slot = facts.take(chosen), np.argsort(csr.edge)
        self.graph = MessageGraph(csr.hide(np.concatenate([slot[chosen], slot[chosen + len(facts)]])))
        self.source = torch.from_numpy(batch.head).long()
        self.relation = torch.from_numpy(batch.relation).long()
        wrong = random.integers(0, csr.num_nodes, (queries, NEGATIVES))
        self.target = torch.from_numpy(np.concatenate([batch.tail[:, None], wrong], axis=1))
        self.name = name

    def network(self, **settings: object) -> NeuralBellmanFordNetwork:
        """The paper's network for this graph."""
        torch.manual_seed(0)
        config = ModelConfig.model_validate({"edges": EDGES[self.name], **settings})
        return NeuralBellmanFordNetwork(config, self.graph.num_relations)

    def step(self, network: NeuralBellmanFordNetwork) -> None:
        """Scores of every target, and all gradients."""
        network.zero_grad()
        total = network.score(self.graph, self.source, self.relation, self.target).sigmoid().sum()
        torch.autograd.backward(total)

    def rank(self, network: NeuralBellmanFordNetwork) -> Tensor:
        """Scores of every node."""
        with torch.no_grad():
            return network.score_all(self.graph, self.source, self.relation)


def main() -> None:
    """Measure, print, and write the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    parser.add_argument("--memory", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory:
        _report_memory(arguments.memory)
        return
    if "NBFNET_DATA" not in os.environ:
        sys.exit("NBFNET_DATA is not set: the benchmark graphs are needed")
    runs = 2 if arguments.quick else 5
    figures: dict[str, object] = {
        "machine": machine_facts(),
        "threads": torch.get_num_threads(),
        "instruction set": "none" if native is None else native.instruction_set(),
    }
    for name in EDGES:
        figures[name] = _measure(name, runs)
        print(json.dumps({name: figures[name]}, indent=2))
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=2) + "\n")


def _measure(name: str, runs: int) -> dict[str, object]:
    case = Case(name)
    frontier, dense = case.network(), case.network(frontier="off")
    step = _best(lambda: case.step(frontier), runs)
    dense_step = _best(lambda: case.step(dense), 1)
    rank = _best(lambda: case.rank(frontier), runs)
    dense_rank = _best(lambda: case.rank(dense), 1)
    return {
        f"training step of {QUERIES} queries, seconds": round(step, 3),
        "the same, dense": round(dense_step, 3),
        "frontier is faster by": round(dense_step / step, 1),
        "training, ms a query": round(1e3 * step / QUERIES, 2),
        "ranking all entities, ms a query": round(1e3 * rank / QUERIES, 2),
        "ranking, dense, ms a query": round(1e3 * dense_rank / QUERIES, 2),
        f"peak memory of a step of {QUERIES} queries, GB": _memory(name),
    }


def _memory(name: str) -> float:
    command = [sys.executable, __file__, "--memory", name]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _report_memory(name: str) -> None:
    case = Case(name)
    case.step(case.network())
    # The peak of this program alone: what getrusage gives includes the program that started it.
    status = Path("/proc/self/status").read_text().splitlines()
    print(round(next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1e6, 2))


def _best(work: Callable[[], object], runs: int) -> float:
    seconds = []
    for _ in range(runs):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return min(seconds)


if __name__ == "__main__":
    main()
