"""Explaining by name: a prediction of a predictor's network, or the rules behind many."""

from __future__ import annotations

import numpy as np

from nbfnet.errors import ExplanationError
from nbfnet.explanation.explainer import explain
from nbfnet.explanation.explanation import Explanation
from nbfnet.explanation.rules import Rule, mine_rules
from nbfnet.graph.graph import Graph
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.model.message_graph import MessageGraph
from nbfnet.prediction.predictor import Member
from nbfnet.sampling.query_edges import QueryEdges


def explain_named(member: Member, head: str, relation: str, tail: str, *, k: int = 5, beam: int = 32) -> Explanation:
    """The k most important paths from head to tail; where it is a fact already, that fact is taken away first.

    Raises:
        UnknownNameError: a name that the graph does not have.
        ExplanationError: k or beam is less than 1, or the network's weights are broken.
    """
    entities, relations = member.graph.entities, member.graph.relations
    return _explain(member, entities.find(head), relations.find(relation), entities.find(tail), k, beam)


def rules_of(member: Member, relation: str, *, predictions: int = 50, k: int = 3, seed: int = 0) -> list[Rule]:
    """The relation patterns that the network relies on for a relation, from the paths of facts drawn by the seed.

    The seed also draws the paths that a confidence is counted over, where there are too many of a pattern.

    Raises:
        UnknownNameError: a relation that the graph does not have.
        ExplanationError: the graph has no fact of the relation.
    """
    graph = member.graph
    facts = np.flatnonzero(graph.triplets.relation == graph.relations.find(relation))
    if not len(facts):
        raise ExplanationError(f"{graph.name} has no fact of the relation {relation!r} to explain; choose another one")
    drawn = np.random.default_rng(seed).permutation(facts)[:predictions]
    chosen = graph.triplets.take(np.sort(drawn))
    explained = [
        _explain(member, u, q, v, k, beam=8)
        for u, q, v in zip(chosen.head.tolist(), chosen.relation.tolist(), chosen.tail.tolist(), strict=True)
    ]
    return mine_rules(explained, graph, seed=seed)


def _explain(member: Member, head: int, relation: int, tail: int, k: int, beam: int) -> Explanation:
    network, graph = member.network, member.graph
    messages = MessageGraph(_without_fact(graph, head, relation, tail), network.indicator.query.weight.device)
    return explain(network, graph, messages, head, relation, tail, k=k, beam=beam, calibration=member.calibration)


def _without_fact(graph: Graph, head: int, relation: int, tail: int) -> RelationalCSR:
    csr = graph.message_csr
    u, q, v = (np.array([part], dtype=np.int32) for part in (head, relation, tail))
    return csr.hide(QueryEdges(csr, graph.kind, "triplet").slots(u, q, v[:, None]))
