"""Link prediction by classical path methods: what a learned model has to beat.

Paths run over the training facts only. A homogeneous graph is judged by AUROC and AP, a knowledge graph by filtered
ranks of the true answers to (head, relation, ?) and (?, relation, tail). Classical methods do not look at the
relation that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from nbfnet.errors import ParameterError
from nbfnet.evaluation.binary_metrics import BinaryMetrics, binary_metrics
from nbfnet.graph.graph import Dataset
from nbfnet.graph.triplets import Float64, Int32, Int64, Triplets
from nbfnet.semiring.bellman_ford import in_chunks
from nbfnet.semiring.edge_selection import EdgeSelection
from nbfnet.semiring.methods import path_method
from nbfnet.semiring.weighted_edges import WeightedEdges

Split = Literal["valid", "test"]


def separate_links(
    dataset: Dataset, method: str, *, split: Split = "test", seed: int = 0, **parameters: float | None
) -> BinaryMetrics:
    """AUROC and AP of a homogeneous graph's held-out edges against as many pairs that are no edges anywhere.

    The score of an edge is that of its second node from its first. The pairs depend on the seed only.
    """
    links = getattr(dataset, split)
    non_links = random_non_links(dataset, len(links), seed)
    pairs = links.concatenate(non_links)
    scores = pair_scores(EdgeSelection().edges(dataset.train), method, pairs.head, pairs.tail, **parameters)
    return binary_metrics(scores[: len(links)], scores[len(links) :])


def rank_answers(
    dataset: Dataset, method: str, *, split: Split = "test", **parameters: float | None
) -> tuple[Float64, Float64]:
    """Filtered ranks of the tails and of the heads of a split's facts, (fact,) each, among all entities.

    Other true answers, of any split, do not count. Equal scores share their mean rank.
    """
    facts = getattr(dataset, split)
    graph = dataset.facts_of_test if split == "test" else dataset.train
    known = dataset.train.triplets.concatenate(dataset.valid).concatenate(dataset.test)
    if dataset.test_graph is not None:
        known = graph.triplets.concatenate(facts)
    edges = EdgeSelection().edges(graph)
    inverse, inverse_known = (Triplets(t.tail, t.relation, t.head) for t in (facts, known))
    return _ranks(edges, method, facts, known, parameters), _ranks(edges, method, inverse, inverse_known, parameters)


def random_non_links(dataset: Dataset, count: int, seed: int) -> Triplets:
    """Pairs of different nodes that no split has an edge between, drawn at random."""
    nodes = dataset.train.num_nodes
    edges = dataset.train.triplets.concatenate(dataset.valid).concatenate(dataset.test)
    taken = np.unique(edges.pairs(nodes))
    if nodes * (nodes - 1) // 2 <= len(taken):
        raise ParameterError(f"{dataset.name} has an edge between all pairs of nodes: there are no non-links")
    generator = np.random.default_rng(seed)
    found = Triplets.empty()
    while len(found) < count:
        head, tail = generator.integers(0, nodes, size=(2, count))
        drawn = Triplets.of(head, np.zeros(count), tail)
        found = found.concatenate(drawn.take((head != tail) & ~np.isin(drawn.pairs(nodes), taken)))
    return found.take(np.arange(count))


def pair_scores(edges: WeightedEdges, method: str, heads: Int32, tails: Int32, **parameters: float | None) -> Float64:
    """(pair,) how close each tail is to its head, more is closer."""
    scores = np.empty(len(heads))
    for pairs, row, closeness in _by_source(edges, method, heads, parameters):
        scores[pairs] = closeness[row, tails[pairs]]
    return scores


def _ranks(
    edges: WeightedEdges, method: str, facts: Triplets, known: Triplets, parameters: dict[str, float | None]
) -> Float64:
    """(fact,) 1 + how many other entities are closer to the head than the tail is, equally close ones by half."""
    answers, first, last = _true_answers(facts, known)
    ranks = np.empty(len(facts))
    for pairs, row, closeness in _by_source(edges, method, facts.head, parameters):
        for pair, scores in zip(pairs.tolist(), (closeness[i] for i in row), strict=True):
            score = scores[facts.tail[pair]]
            true = scores[np.unique(answers[first[pair] : last[pair]])]
            closer = np.count_nonzero(scores > score) - np.count_nonzero(true > score)
            equal = np.count_nonzero(scores == score) - np.count_nonzero(true == score)
            ranks[pair] = 1 + closer + equal / 2
    return ranks


def _true_answers(facts: Triplets, known: Triplets) -> tuple[Int32, Int64, Int64]:
    """All tails, and where those of each fact's (head, relation) begin and end."""
    relations = int(max(facts.relation.max(initial=0), known.relation.max(initial=0))) + 1
    key, asked = (t.head.astype(np.int64) * relations + t.relation for t in (known, facts))
    order = np.argsort(key, kind="stable")
    return known.tail[order], np.searchsorted(key[order], asked), np.searchsorted(key[order], asked, side="right")


def _by_source(
    edges: WeightedEdges, method: str, heads: Int32, parameters: dict[str, float | None]
) -> Iterator[tuple[Int64, Int64, Float64]]:
    """Which pairs, their rows, and how close every node is to the head of each row; each head is solved once."""
    chosen = path_method(method)
    sources, which = np.unique(heads, return_inverse=True)
    done = 0
    for chunk in in_chunks(sources, edges.num_nodes):
        closeness = chosen.closeness(chosen.scores(edges, chunk, **parameters))
        pairs = np.flatnonzero((which >= done) & (which < done + len(chunk)))
        yield pairs, which[pairs] - done, closeness
        done += len(chunk)
