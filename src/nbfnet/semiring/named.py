"""The classical methods by name: a graph and names in, names and scores out, best first.

The source itself and nodes that no path leads to are left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nbfnet.errors import ImprovingCycleError
from nbfnet.graph.graph import Graph
from nbfnet.semiring.best_path import best_path
from nbfnet.semiring.catalog import path_method
from nbfnet.semiring.edge_selection import EdgeSelection, facts_of
from nbfnet.semiring.path_enumeration import path_representation
from nbfnet.semiring.weighted_edges import WeightedEdges


class NamedScore(NamedTuple):
    """A node and its score from the source."""

    node: str
    score: float


class Step(NamedTuple):
    """A fact that a path follows; an inverse step follows it from tail to head."""

    head: str
    relation: str
    tail: str
    inverse: bool
    weight: float


class NamedPath(NamedTuple):
    """A best path and its score."""

    steps: list[Step]
    score: float


def katz(
    graph: Graph,
    source: str,
    *,
    beta: float | None = None,
    k: int | None = None,
    selection: EdgeSelection | None = None,
) -> list[NamedScore]:
    """Katz index: how many paths lead to each node, longer ones damped by β each step."""
    return closest_nodes(graph, "katz", source, k=k, selection=selection, beta=beta)


def personalized_pagerank(
    graph: Graph,
    source: str,
    *,
    alpha: float = 0.85,
    k: int | None = None,
    selection: EdgeSelection | None = None,
) -> list[NamedScore]:
    """Personalized PageRank: how often a walker who keeps returning to the source is at each node."""
    return closest_nodes(graph, "ppr", source, k=k, selection=selection, alpha=alpha)


def graph_distance(
    graph: Graph, source: str, *, k: int | None = None, selection: EdgeSelection | None = None
) -> list[NamedScore]:
    """Graph distance: the length of the shortest path to each node."""
    return closest_nodes(graph, "distance", source, k=k, selection=selection)


def widest_path(
    graph: Graph, source: str, *, k: int | None = None, selection: EdgeSelection | None = None
) -> list[NamedScore]:
    """Widest path: the least weight on the path to each node where it is greatest."""
    return closest_nodes(graph, "widest", source, k=k, selection=selection)


def most_reliable_path(
    graph: Graph, source: str, *, k: int | None = None, selection: EdgeSelection | None = None
) -> list[NamedScore]:
    """Most reliable path: the greatest product of probabilities on a path to each node."""
    return closest_nodes(graph, "reliable", source, k=k, selection=selection)


def closest_nodes(
    graph: Graph,
    method: str,
    source: str,
    *,
    k: int | None = None,
    selection: EdgeSelection | None = None,
    **parameters: float | None,
) -> list[NamedScore]:
    """The nodes closest to a source by any method, the best ``k`` or all; equal scores in the graph's order.

    Raises:
        UnknownNameError: no such node, relation or method; the closest names are suggested.
    """
    chosen, start = path_method(method), graph.entities.find(source)
    edges = (selection or EdgeSelection()).edges(graph)
    try:
        scores = chosen.scores(edges, [start], **parameters)[0]
    except ImprovingCycleError as error:
        raise _with_names(error, graph) from None
    nodes = np.flatnonzero(scores != chosen.semiring.zero)
    nodes = nodes[nodes != start]
    order = np.argsort(-chosen.closeness(scores[nodes]), kind="stable")[:k]
    return [NamedScore(graph.entities[int(node)], float(scores[node])) for node in nodes[order]]


def path(
    graph: Graph, method: str, source: str, target: str, *, selection: EdgeSelection | None = None
) -> NamedPath | None:
    """The best path by distance, width or reliability, with its score; None if no path leads to the target.

    Raises:
        UnknownNameError: no such node, relation or method; the closest names are suggested.
        PathError: the method sums over all paths, so that no path is the best.
    """
    semiring = path_method(method).semiring
    edges = (selection or EdgeSelection()).edges(graph)
    try:
        slots = best_path(edges, graph.entities.find(source), graph.entities.find(target), semiring)
    except ImprovingCycleError as error:
        raise _with_names(error, graph) from None
    if slots is None:
        return None
    value = float(path_representation(edges, tuple(slots), semiring))
    return NamedPath([_step(graph, edges, slot) for slot in slots], value)


def _step(graph: Graph, edges: WeightedEdges, slot: int) -> Step:
    facts, backwards = facts_of(graph, edges.csr)
    fact = facts[slot]
    weight = edges.weight[slot] if isinstance(edges.weight, np.ndarray) else edges.weight
    return Step(
        graph.entities[int(graph.triplets.head[fact])],
        graph.relations[int(graph.triplets.relation[fact])],
        graph.entities[int(graph.triplets.tail[fact])],
        bool(backwards[slot]),
        float(weight),
    )


def _with_names(error: ImprovingCycleError, graph: Graph) -> ImprovingCycleError:
    return ImprovingCycleError(error.semiring, [graph.entities[node] for node in error.cycle])
