"""Explain a prediction by its most important paths, each checked by deletion."""

from __future__ import annotations

import numpy as np

from nbfnet.errors import ExplanationError
from nbfnet.explanation.deletion import Deletion
from nbfnet.explanation.distinct_edges import DistinctEdges
from nbfnet.explanation.edge_importance import edge_importance
from nbfnet.explanation.explanation import Explanation
from nbfnet.explanation.path import ExplainedPath, PathEdge
from nbfnet.explanation.top_paths import TopPath, top_paths
from nbfnet.graph.graph import Graph
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.prediction.calibration import UNCALIBRATED, Calibration

_LEAST_CANDIDATES = 30


def explain(
    network: NeuralBellmanFordNetwork,
    graph: Graph,
    messages: MessageGraph,
    head: int,
    relation: int,
    tail: int,
    *,
    k: int = 5,
    beam: int = 32,
    calibration: Calibration = UNCALIBRATED,
) -> Explanation:
    """The k paths from head to tail that the prediction (head, relation, tail) relies on most.

    Twice as many paths, and thirty at least, are found by their importance, which is a slope: it says what a little
    less of a path would cost. What all of it costs is measured, by deletion, and those k are listed that cost most, in
    that order. Importance and deletion drop are in units of the logit.

    Args:
        network: a trained network.
        graph: the names of entities and relations.
        messages: the edges that messages pass over, ``graph.message_csr`` or a view of it. Where the prediction is a
            fact of the graph, hide it there first, or the fact itself is the explanation.
        head: the id of the source.
        relation: the id of the query's relation; an inverse relation asks the other way.
        tail: the id of the answer.
        k: how many paths.
        beam: partial paths that the search keeps at each node; more find better paths, more slowly.
        calibration: from the logit to the probability that is shown.

    Raises:
        QueryError: the ids do not fit the network and the graph.
        ExplanationError: the network's score is not a finite number, or k or beam is less than 1.
    """
    if k < 1:
        raise ExplanationError(f"k is {k}: it must be at least 1")
    importance = edge_importance(network, messages, head, relation, tail)
    distinct = DistinctEdges.of(messages.csr, importance)
    found = top_paths(distinct.csr, distinct.importance, head, tail, k=max(2 * k, _LEAST_CANDIDATES), beam=beam)
    deletion = Deletion(network, messages, graph.kind, (head, relation, tail))
    logit = deletion.logit()
    drops = logit - deletion.logits_without([distinct.slot[list(path.slots)].tolist() for path in found])
    listed = sorted(zip(drops.tolist(), found, strict=True), key=_rank)[:k]
    paths = (_named(graph, distinct, path, drop) for drop, path in listed)
    probability = float(calibration.probability(np.array([logit]))[0])
    return Explanation(PathEdge.named(graph, head, relation, tail), probability, tuple(paths))


def _rank(measured: tuple[float, TopPath]) -> tuple[float, float, int, tuple[int, ...]]:
    """Look-alike paths differ by rounding, which is the machine's own: the order is not."""
    drop, path = measured
    return -round(drop, 4), -round(path.weight, 4), len(path.slots), path.slots


def _named(graph: Graph, distinct: DistinctEdges, path: TopPath, drop: float) -> ExplainedPath:
    csr, slots = distinct.csr, list(path.slots)
    walked = zip(csr.source[slots].tolist(), csr.relation[slots].tolist(), csr.target[slots].tolist(), strict=True)
    importance = distinct.importance[list(path.iterations), slots].tolist()
    return ExplainedPath(path.weight, drop, tuple(PathEdge.named(graph, *edge) for edge in walked), tuple(importance))
