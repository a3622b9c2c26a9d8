"""How good are the missing links that are found on training facts, and how fast? Held-out links are counted among them.

    [NBFNET_DATA=folder] python benchmarks/missing_links.py RUN ... [--best 100 500] [--json FILE]

RUN is a folder that ``nbfnet train`` wrote. On its training facts the best missing links of the whole graph are found
in three ways, and those that are held-out links, valid or test, are counted (of an inductive dataset only the valid
links, as the test links are of another graph):

- candidates of patterns, scored by the network until all are done: what ``missing_links`` does on a large graph;
- every tail of every head, scored by the network: what it does where there is time enough;
- pairs that two edges connect, with a relation that the head has, in random order, as many as the patterns proposed,
  scored by the network.

A held-out link is only one of the right ones, so the share of them is a lower bound of the share of right ones.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from machine import machine_facts
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.prediction.candidate_pairs import CandidatePairs, propose
from nbfnet.prediction.members import make_predictor
from nbfnet.prediction.missing_links import MissingLinks, missing_links, rank_candidates
from nbfnet.run import Run

UNLIMITED = 1e9  # seconds
Link = tuple[int, int, int]


def main() -> None:
    """Measure, print, and write the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN", help="run folders of knowledge graphs")
    parser.add_argument("--best", type=int, nargs="+", default=[100, 500], help="how many of the best are looked at")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    figures = {}
    for folder in arguments.runs:
        run = Run.open(folder)
        figures[run.dataset.name] = measure(run, arguments.best)
        print(run.dataset.name, json.dumps(figures[run.dataset.name], indent=2))
    if arguments.json:
        document = {"machine": machine_facts(), "datasets": figures}
        arguments.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def measure(run: Run, best: Sequence[int]) -> dict[str, object]:
    """The held-out links among the best missing ones, by each of the ways."""
    dataset = run.dataset
    predictor = make_predictor(dataset.train, [run.folder], [dataset])
    held_out = set(_links(_held_out(dataset)))
    begin = time.perf_counter()
    pairs = propose(dataset.train, range(dataset.train.num_relations), until=time.monotonic() + UNLIMITED)
    proposing = time.perf_counter() - begin
    by_promise = _count(_links(pairs), held_out, best)
    ways = {}
    for name, candidates in (("patterns", pairs), ("two edges, random", _two_edges(dataset.train, len(pairs)))):
        found = rank_candidates(predictor, candidates, max(best), until=time.monotonic() + UNLIMITED)
        ways[name] = {
            "scored": found.scored,
            "held-out links among them": len(held_out.intersection(_links(candidates))),
            "held-out links among the best": _count(_links(found), held_out, best),
            "seconds": round(found.seconds + (proposing if candidates is pairs else 0), 2),
        }
    found = missing_links(predictor, max(best), seconds=UNLIMITED)
    assert found.exhaustive and found.complete
    ways["every tail of every head"] = {
        "scored": found.scored,
        "held-out links among the best": _count(_links(found), held_out, best),
        "seconds": round(found.seconds, 2),
    }
    return {
        "facts": len(dataset.train.triplets),
        "held-out links": len(held_out),
        "held-out links among the most promising, before the network": by_promise,
        "seconds to propose": round(proposing, 2),
        **ways,
    }


def _held_out(dataset: Dataset) -> Triplets:
    return dataset.valid if dataset.kind == "inductive" else dataset.valid.concatenate(dataset.test)


def _two_edges(graph: Graph, count: int) -> CandidatePairs:
    """Random pairs that two edges connect and that are not facts, with a relation that the head has."""
    random, csr = np.random.default_rng(0), graph.csr
    by_head = csr.transpose
    found: set[Link] = set()
    facts = set(_links(graph.triplets))
    while len(found) < count:
        fact = random.integers(0, len(graph.triplets), 2 * count)  # its head and relation are the query
        head, relation = graph.triplets.head[fact], graph.triplets.relation[fact]
        node = head.astype(np.int64)
        for _ in range(2):
            degree = by_head.indptr[node + 1] - by_head.indptr[node]
            node = by_head.target[by_head.indptr[node] + random.integers(0, degree)].astype(np.int64)
        drawn = set(_links(Triplets.of(head, relation, node))) - facts - found
        new = sorted(link for link in drawn if link[0] != link[2])
        if not new:
            break
        found.update(new[i] for i in random.permutation(len(new))[: count - len(found)].tolist())
    head, relation, tail = np.array(sorted(found), dtype=np.int32).T
    return CandidatePairs(head, relation, tail, random.random(len(found))).best(count)


def _links(links: Triplets | CandidatePairs | MissingLinks) -> list[Link]:
    return list(zip(links.head.tolist(), links.relation.tolist(), links.tail.tolist(), strict=True))


def _count(found: list[Link], held_out: set[Link], best: Sequence[int]) -> dict[str, int]:
    return {str(k): len(held_out.intersection(found[:k])) for k in best}


if __name__ == "__main__":
    main()
