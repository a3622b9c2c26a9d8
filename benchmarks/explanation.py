"""Are the top paths what a network relies on? Deleting the top path beside deleting a random one; and the time taken.

    [NBFNET_DATA=folder] python benchmarks/explanation.py RUN [--predictions 200] [--all] [--json FILE]

RUN is a folder that ``nbfnet train`` or ``nbfnet reproduce`` wrote. For true predictions (test facts, asked either way,
whose answer the network ranks first, other known answers aside) the top path is deleted from the graph, and for
comparison a random path of the same length between the same two nodes: those that visit no node twice are all equally
likely. Counted is how often the logit falls further without the top path. Predictions with no path, and those where no
other path of that length was met in 500 random walks, are skipped and counted.

An explanation lists first what costs most to delete, of the paths that its importances found; so the same is also
counted for the heaviest path, which the importances alone would list first.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from machine import machine_facts
from nbfnet.evaluation.filtering import RankingProtocol
from nbfnet.evaluation.ranks import filtered_ranks
from nbfnet.explanation.deletion import Deletion
from nbfnet.explanation.edge_importance import edge_importance
from nbfnet.explanation.explainer import explain
from nbfnet.explanation.explanation import Explanation
from nbfnet.explanation.top_paths import DistinctEdges, top_paths
from nbfnet.graph.inverse import invert, without_inverse_count
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Float64, Int64
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.run import Run
from random_path import PathSampler, facts_of

Query = tuple[int, int, int]


@dataclass
class Study:
    """What the deletions showed."""

    run: str
    asked: int  # test facts looked at
    no_path: int  # skipped: no path of at most T edges
    no_other: int  # skipped: no other path of the same length
    compared: int
    top_falls_further: float  # share of the compared
    mean_fall_top: float  # of the logit
    mean_fall_random: float
    heaviest_falls_further: float  # share, for the path of most weight
    seconds: float  # an explanation by 5 paths takes, median
    slowest: float


def study(run: Run, predictions: int, *, only_first: bool = True, seed: int = 0) -> Study:
    """Delete top paths and random paths of so many predictions."""
    protocol = RankingProtocol.of(run.dataset, "test")
    graph, messages = protocol.facts, MessageGraph(protocol.facts.message_csr)
    network = run.folder.network(run.dataset, "cpu")
    falls, of_heaviest = list[Float64](), list[Float64]()
    seconds, asked, no_path, no_other = list[float](), 0, 0, 0
    for query in _test_queries(protocol, np.random.default_rng(seed)):
        if len(falls) == predictions:
            break
        asked += 1
        random = np.random.default_rng([seed, asked])  # of its own: what is asked next does not depend on what is drawn
        if only_first and not _is_first(network, messages, protocol, query):
            continue
        begin = time.perf_counter()
        explanation = explain(network, graph, messages, *query)
        seconds.append(time.perf_counter() - begin)
        if not explanation.paths:
            no_path += 1
            continue
        deletion = Deletion(network, messages, graph.kind, query)
        compared = _falls(deletion, messages.csr, query, _slots(messages.csr, explanation), random)
        if compared is None:
            no_other += 1
            continue
        falls.append(compared)
        compared = _falls(deletion, messages.csr, query, _heaviest(network, messages, query), random)
        of_heaviest += [] if compared is None else [compared]
    of_top, of_random = np.array(falls).T
    return Study(
        run.folder.path.name,
        asked,
        no_path,
        no_other,
        len(falls),
        float(np.mean(of_top > of_random)),
        float(of_top.mean()),
        float(of_random.mean()),
        float(np.mean([top > other for top, other in of_heaviest])),
        float(np.median(seconds)),
        max(seconds),
    )


def main() -> None:
    """Measure, print, and write the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run folder of a knowledge graph")
    parser.add_argument("--predictions", type=int, default=200, help="how many to compare")
    parser.add_argument("--all", action="store_true", help="also test facts that the network does not rank first")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    found = asdict(study(Run.open(arguments.run), arguments.predictions, only_first=not arguments.all))
    for name, value in found.items():
        print(f"{name.replace('_', ' '):>18}  {value:.4g}" if isinstance(value, float) else f"{name:>18}  {value}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": machine_facts(), **found}, indent=2) + "\n", encoding="utf-8")


def _test_queries(protocol: RankingProtocol, random: np.random.Generator) -> Iterator[Query]:
    """Test facts in random order, as queries for the tail or for the head."""
    links, relations = protocol.links, protocol.facts.num_relations
    for number in random.permutation(len(links)).tolist():
        head, relation, tail = (int(column[number]) for column in (links.head, links.relation, links.tail))
        yield (tail, invert(relation, relations), head) if random.random() < 0.5 else (head, relation, tail)


def _is_first(
    network: NeuralBellmanFordNetwork, messages: MessageGraph, protocol: RankingProtocol, query: Query
) -> bool:
    """Whether no other node, known answers aside, scores as high as the answer."""
    source, relation, answer = (np.array([number], dtype=np.int32) for number in query)
    with torch.no_grad():
        scores = network.score_all(messages, torch.from_numpy(source).long(), torch.from_numpy(relation).long())
    ranks = filtered_ranks(scores, source, relation, np.zeros(1, dtype=np.int64), answer, protocol.filter)
    return bool(ranks.rank("pessimistic")[0] == 1)


def _falls(
    deletion: Deletion, csr: RelationalCSR, query: Query, path: Int64, random: np.random.Generator
) -> Float64 | None:
    """How far the logit falls without a path, and without a random one of its length; None if there is no such."""
    sampler = PathSampler(csr, query[0], query[2], len(path))
    other = sampler.draw(random, other_than=facts_of(csr, path))
    if other is None:
        return None
    return deletion.logit() - deletion.logits_without([path.tolist(), other.tolist()])


def _heaviest(network: NeuralBellmanFordNetwork, messages: MessageGraph, query: Query) -> Int64:
    """The edges of the path with the highest weight."""
    distinct = DistinctEdges.of(messages.csr, edge_importance(network, messages, *query))
    (path,) = top_paths(distinct.csr, distinct.importance, query[0], query[2], k=1)
    return distinct.slot[list(path.slots)]


def _slots(csr: RelationalCSR, explanation: Explanation) -> Int64:
    """The edges of the top path, each by its first copy in the graph."""
    slots = []
    for edge in explanation.paths[0].edges:
        (source, _), (target, _) = edge.nodes
        relation = invert(edge.ids[1], without_inverse_count(csr.num_relations)) if edge.inverse else edge.ids[1]
        row = slice(csr.indptr[target], csr.indptr[target + 1])
        found = np.flatnonzero((csr.source[row] == source) & (csr.relation[row] == relation))
        slots.append(csr.indptr[target] + found[0])
    return np.array(slots, dtype=np.int64)


if __name__ == "__main__":
    main()
