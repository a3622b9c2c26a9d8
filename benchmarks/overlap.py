"""How many links of the inductive graphs the network ``universal`` has learned from, as facts of another graph.

    python benchmarks/overlap.py [--json FILE]

It learned from the training graphs of all eight. Those of a family are parts of one graph and overlap, so a test or a
valid link of one may be a training fact of another.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from nbfnet import load
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.triplets import Triplets
from universal import INDUCTIVE

Named = set[tuple[str, str, str]]


def main() -> None:
    """Count, print, and write the counts where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    datasets: dict[str, Dataset] = {name: load(name) for name in INDUCTIVE}
    learned = set().union(*(named(dataset.train, dataset.train.triplets) for dataset in datasets.values()))
    found = {}
    for name, dataset in datasets.items():
        parts = {"valid": (dataset.train, dataset.valid), "test": (dataset.facts_of_test, dataset.test)}
        found[name] = {
            part: {"links": len(links), "learned": len(named(graph, links) & learned)}
            for part, (graph, links) in parts.items()
        }
        print(name, found[name])
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def named(graph: Graph, links: Triplets) -> Named:
    """Links by the names of their parts."""
    entities, relations = list(graph.entities), list(graph.relations)
    rows = zip(links.head.tolist(), links.relation.tolist(), links.tail.tolist(), strict=True)
    return {(entities[head], relations[relation], entities[tail]) for head, relation, tail in rows}


if __name__ == "__main__":
    main()
