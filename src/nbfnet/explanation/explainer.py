"""Explain a prediction, by number or by name, by its most important paths, each checked by deletion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nbfnet.errors import ExplanationError
from nbfnet.explanation.deletion import Deletion
from nbfnet.explanation.edge_importance import edge_importance
from nbfnet.explanation.explanation import Asked, Explanation, PathOrder
from nbfnet.explanation.path import ExplainedPath, PathEdge
from nbfnet.explanation.selection import Candidate, Selected, Selection
from nbfnet.explanation.top_paths import DistinctEdges, short_paths, top_paths
from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import invert
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.prediction.calibration import UNCALIBRATED, Calibration
from nbfnet.prediction.predictor import Member

_LEAST_CANDIDATES = 30
_SHORT_CANDIDATES = 10
_MOST_LISTED = 20  # relations that an error lists


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
    order: PathOrder = "deletion",
) -> Explanation:
    """The k paths from head to tail that the prediction (head, relation, tail) relies on most.

    Paths are found by their importance, which is a slope: it says what a little less of a path would cost. Twice as
    many as asked for, and thirty at least, are candidates, and ten of one or two edges whatever their importance. What
    all of a path costs is measured, by deletion, and ``selection.py`` says which are listed. Importance and deletion
    drop are in units of the logit.

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
        order: by deletion, or by weight: the paper's definition, the sum of a path's edge importances.

    Raises:
        QueryError: the ids do not fit the network and the graph.
        ExplanationError: the network's score is not a finite number, or k or beam is less than 1.
    """
    if k < 1:
        raise ExplanationError(f"k is {k}: it must be at least 1")
    importance = edge_importance(network, messages, head, relation, tail)
    distinct = DistinctEdges.of(messages.csr, importance)
    edges = distinct.csr, distinct.importance, head, tail
    found = top_paths(*edges, k=k if order == "weight" else max(2 * k, _LEAST_CANDIDATES), beam=beam)
    known = {path.slots for path in found}
    if order == "deletion":
        found += [path for path in short_paths(*edges, most=_SHORT_CANDIDATES) if path.slots not in known]
    candidates = [Candidate(path, tuple(distinct.slot[list(path.slots)].tolist())) for path in found]
    selection = Selection(Deletion(network, messages, graph.kind, (head, relation, tail)), candidates)
    listed = selection.best(k) if order == "deletion" else selection.heaviest(k)
    query = PathEdge.named(graph, head, relation, tail)
    return Explanation(
        query,
        float(calibration.probability(np.array([selection.logit]))[0]),
        tuple(_named(graph, distinct, selected) for selected in listed),
        sum(selected.added_drop for selected in listed),
        "head" if query.inverse else "tail",
    )


def explain_fact(
    member: Member,
    source: int,
    relation: int,
    target: int,
    *,
    k: int,
    beam: int,
    order: PathOrder = "deletion",
) -> Explanation:
    """A prediction of a predictor's network by number; if it is a fact already, it is hidden, as in training."""
    network, graph = member.network, member.graph
    edges = member.query_edges.without(source, relation, target)
    messages = MessageGraph(edges, network.like.device)
    query = (source, relation, target)
    return explain(network, graph, messages, *query, k=k, beam=beam, calibration=member.calibration, order=order)


def explain_named(
    member: Member,
    head: str,
    relation: str | None,
    tail: str,
    *,
    asked: Asked = "tail",
    k: int = 5,
    beam: int = 32,
    order: PathOrder = "deletion",
) -> Explanation:
    """The k most important paths behind a prediction; arguments as of ``Run.explain``.

    A tail answers (head, relation, ?), a head (?, relation, tail): two questions, to which the network gives
    probabilities of their own. In a homogeneous graph they are the same.

    Raises:
        UnknownNameError: a name that the graph does not have.
        ExplanationError: no relation was named where there are several, ``asked`` is neither end, there is no such
            order, k or beam is less than 1, or the network's weights are broken.
    """
    graph = member.graph
    if asked not in ("tail", "head"):
        raise ExplanationError(f"asked is {asked!r}: it must be 'tail' or 'head'")
    if order not in ("deletion", "weight"):
        raise ExplanationError(f"the order is {order!r}: it must be 'deletion' or 'weight'")
    q = find_relation(graph, relation)
    u, v = graph.entities.find(head), graph.entities.find(tail)
    if asked == "tail" or graph.kind == "homogeneous":
        return replace(explain_fact(member, u, q, v, k=k, beam=beam, order=order), asked=asked)
    return explain_fact(member, v, invert(q, graph.num_relations), u, k=k, beam=beam, order=order)


def find_relation(graph: Graph, name: str | None) -> int:
    """The id of a relation; without a name, of the only one that a homogeneous graph has.

    Raises:
        UnknownNameError: a name that the graph does not have.
        ExplanationError: there is no name, and the graph has relations to choose from.
    """
    if name is not None:
        return graph.relations.find(name)
    if graph.kind == "homogeneous":
        return 0
    names = [repr(graph.relations[i]) for i in range(min(graph.num_relations, _MOST_LISTED))]
    more = graph.num_relations - len(names)
    raise ExplanationError(
        f"no relation was named, and {graph.name} has {graph.num_relations}: name one of {', '.join(names)}"
        + (f" and {more} more" if more else "")
    )


def _named(graph: Graph, distinct: DistinctEdges, selected: Selected) -> ExplainedPath:
    csr, path = distinct.csr, selected.path
    slots = list(path.slots)
    walked = zip(csr.source[slots].tolist(), csr.relation[slots].tolist(), csr.target[slots].tolist(), strict=True)
    edges = tuple(PathEdge.named(graph, *edge) for edge in walked)
    importance = distinct.importance[list(path.iterations), slots].tolist()
    return ExplainedPath(path.weight, selected.drop, selected.added_drop, edges, tuple(importance))
