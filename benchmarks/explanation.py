"""Are the top paths what the network relies on? Deleting the top path beside deleting a random one; and the time taken.

    [NBFNET_DATA=folder] python benchmarks/explanation.py [--dataset world] [--predictions 100] [--json FILE]

For true predictions (test facts, asked either way) the top path is deleted from the graph, and for comparison a random
path of the same length between the same two nodes: those that visit no node twice are all equally likely. Counted is
how often the logit falls further without the top path. Predictions with no path, and those where no other path of that
length was met in 500 random walks, are skipped and counted. Run from here, the network is untrained; ``study`` takes
any loader of a network and a dataset.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from nbfnet import Dataset, load
from nbfnet.config import ModelConfig
from nbfnet.explanation.deletion import Deletion
from nbfnet.explanation.explainer import explain
from nbfnet.explanation.explanation import Explanation
from nbfnet.graph.inverse import invert
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Int64
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from random_path import PathSampler, facts_of

Loader = Callable[[], tuple[NeuralBellmanFordNetwork, Dataset]]


@dataclass
class Study:
    """What the deletions showed."""

    dataset: str
    predictions: int  # asked
    no_path: int  # skipped: no path of at most T edges
    no_other: int  # skipped: no other path of the same length
    compared: int
    top_falls_further: float  # share of the compared
    mean_fall_top: float  # of the logit
    mean_fall_random: float
    seconds: float  # an explanation by 5 paths takes, median
    slowest: float


def study(loader: Loader, predictions: int = 100, seed: int = 0) -> Study:
    """Delete top paths and random paths of so many true predictions."""
    network, dataset = loader()
    graph, random = dataset.facts_of_test, np.random.default_rng(seed)
    messages = MessageGraph(graph.csr)
    chosen = random.choice(len(dataset.test), min(predictions, len(dataset.test)), replace=False)
    falls, seconds, no_path, no_other = [], [], 0, 0
    for number in chosen.tolist():
        query = _query(dataset, number, backwards=graph.kind == "knowledge" and random.random() < 0.5)
        begin = time.perf_counter()
        explanation = explain(network, graph, messages, *query)
        seconds.append(time.perf_counter() - begin)
        if not explanation.paths:
            no_path += 1
            continue
        top = _slots(graph.csr, explanation)
        sampler = PathSampler(graph.csr, query[0], query[2], len(top))
        other = sampler.draw(random, other_than=facts_of(graph.csr, top))
        if other is None:
            no_other += 1
            continue
        deletion = Deletion(network, messages, graph.kind, query)
        falls.append(deletion.logit() - deletion.logits_without([top.tolist(), other.tolist()]))
    of_top, of_random = np.array(falls).reshape(-1, 2).T
    return Study(
        dataset.name,
        len(chosen),
        no_path,
        no_other,
        len(falls),
        float(np.mean(of_top > of_random)) if falls else float("nan"),
        float(of_top.mean()) if falls else float("nan"),
        float(of_random.mean()) if falls else float("nan"),
        float(np.median(seconds)),
        max(seconds),
    )


def untrained(name: str) -> Loader:
    """A dataset with the paper's network, its parameters as they are before training."""

    def loader() -> tuple[NeuralBellmanFordNetwork, Dataset]:
        dataset = load(name)
        torch.manual_seed(0)
        return NeuralBellmanFordNetwork(ModelConfig.model_validate({}), dataset.train.csr.num_relations), dataset

    return loader


def main() -> None:
    """Measure, print, and write the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="world", help="a known dataset, a folder or a file")
    parser.add_argument("--predictions", type=int, default=100)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    found = study(untrained(arguments.dataset), arguments.predictions)
    for name, value in asdict(found).items():
        print(f"{name.replace('_', ' '):>18}  {value:.4g}" if isinstance(value, float) else f"{name:>18}  {value}")
    if arguments.json:
        arguments.json.write_text(json.dumps(asdict(found), indent=2), encoding="utf-8")


def _query(dataset: Dataset, number: int, *, backwards: bool) -> tuple[int, int, int]:
    """A test fact as a query for its tail, or for its head."""
    head, relation, tail = (
        int(column[number]) for column in (dataset.test.head, dataset.test.relation, dataset.test.tail)
    )
    return (tail, invert(relation, dataset.train.num_relations), head) if backwards else (head, relation, tail)


def _slots(csr: RelationalCSR, explanation: Explanation) -> Int64:
    """The edges of the top path, each by its first copy in the graph."""
    slots = []
    for edge in explanation.paths[0].edges:
        (source, _), (target, _) = edge.nodes
        relation = invert(edge.ids[1], csr.num_relations // 2) if edge.inverse else edge.ids[1]
        row = slice(csr.indptr[target], csr.indptr[target + 1])
        found = np.flatnonzero((csr.source[row] == source) & (csr.relation[row] == relation))
        slots.append(csr.indptr[target] + found[0])
    return np.array(slots, dtype=np.int64)


if __name__ == "__main__":
    main()
