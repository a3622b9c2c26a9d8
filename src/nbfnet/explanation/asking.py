"""Explaining by name: a prediction of a predictor's network, or the rules behind many."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nbfnet.errors import ExplanationError
from nbfnet.explanation.explainer import explain
from nbfnet.explanation.explanation import Asked, Explanation
from nbfnet.explanation.rules import Rule, RuleOrder, mine_rules
from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import invert
from nbfnet.model.message_graph import MessageGraph
from nbfnet.prediction.predictor import Member

_MOST_LISTED = 20  # relations that an error lists


def explain_named(
    member: Member,
    head: str,
    relation: str | None,
    tail: str,
    *,
    asked: Asked = "tail",
    k: int = 5,
    beam: int = 32,
) -> Explanation:
    """The k most important paths behind a prediction; a fact that is known already is hidden, as in training.

    Args:
        member: a network on a graph.
        head: a name.
        relation: a name; None is the only relation of a homogeneous graph.
        tail: a name.
        asked: which end the prediction asked for. A tail answers (head, relation, ?), a head (?, relation, tail): two
            questions, to which the network gives probabilities of their own. In a homogeneous graph they are the same.
        k: how many paths.
        beam: partial paths that the search keeps at each node.

    Raises:
        UnknownNameError: a name that the graph does not have.
        ExplanationError: no relation was named where there are several, ``asked`` is neither end, k or beam is less
            than 1, or the network's weights are broken.
    """
    graph = member.graph
    if asked not in ("tail", "head"):
        raise ExplanationError(f"asked is {asked!r}: it must be 'tail' or 'head'")
    q = find_relation(graph, relation)
    u, v = graph.entities.find(head), graph.entities.find(tail)
    if asked == "tail" or graph.kind == "homogeneous":
        return replace(_explain(member, u, q, v, k, beam), asked=asked)
    return _explain(member, v, invert(q, graph.num_relations), u, k, beam)


def rules_of(
    member: Member,
    relation: str | None = None,
    *,
    predictions: int = 50,
    k: int = 3,
    min_support: int = 1,
    sort: RuleOrder = "support",
    seed: int = 0,
) -> list[Rule]:
    """The relation patterns that the network relies on for a relation, from the paths of facts drawn by the seed.

    The seed also draws the paths that a confidence is counted over, where there are too many of a pattern.

    Args:
        member: a network on a graph.
        relation: a name; None is the only relation of a homogeneous graph.
        predictions: how many facts to explain.
        k: how many paths of each count.
        min_support: leave out rules that are among the paths of fewer predictions.
        sort: what comes first: the greatest support, confidence or lift.
        seed: of everything random.

    Raises:
        UnknownNameError: a relation that the graph does not have.
        ExplanationError: no relation was named where there are several, or the graph has no fact of it.
    """
    graph = member.graph
    q = find_relation(graph, relation)
    facts = np.flatnonzero(graph.triplets.relation == q)
    if not len(facts):
        name = graph.relations[q]
        raise ExplanationError(f"{graph.name} has no fact of the relation {name!r} to explain; choose another one")
    drawn = np.random.default_rng(seed).permutation(facts)[:predictions]
    chosen = graph.triplets.take(np.sort(drawn))
    explained = [
        _explain(member, u, q, v, k, beam=8) for u, v in zip(chosen.head.tolist(), chosen.tail.tolist(), strict=True)
    ]
    return mine_rules(explained, graph, min_support=min_support, sort=sort, seed=seed)


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


def _explain(member: Member, source: int, relation: int, target: int, k: int, beam: int) -> Explanation:
    network, graph = member.network, member.graph
    edges = member.query_edges.without(source, relation, target)
    messages = MessageGraph(edges, network.indicator.query.weight.device)
    return explain(network, graph, messages, source, relation, target, k=k, beam=beam, calibration=member.calibration)
