"""Learned rules: what a NeuralLP or DRUM network has learned, read off its weights; and a set of rules as a scorer.

The score of a pair is a sum over rules of weight times the number of walks from x to y along the rule's relations. A
rule's weight is the sum, over the ranks and over the steps at which the network may stay, of the products of weights.

- support: how many pairs (x, y) that a walk along the rule's body connects are facts of the query's relation;
- confidence: the share of the connected pairs that are.

Unlike an explained path a walk may visit a node twice, as in the score. It does not pass the fact between x and y that
it would conclude, which training hides, and x is not y.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import torch

from nbfnet.config import ModelConfig
from nbfnet.errors import ExplanationError
from nbfnet.explanation.explainer import find_relation
from nbfnet.explanation.explanation import Asked
from nbfnet.explanation.rule_format import comma_separated, datalog, implication
from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import base, invert, is_inverse
from nbfnet.graph.triplets import Float64
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.operators.rule_weights import GivenRuleWeights
from nbfnet.prediction.patterns import Pattern, PatternPairs
from nbfnet.prediction.predictor import Member
from nbfnet.tables import data_frame, html_table

LearnedOrder = Literal["weight", "support", "confidence"]
Relations = tuple[int, ...]  # relation ids of a rule's body, inverses included

_BEAM = 20_000  # partial rules that are kept at each step
_RANKS_AT_ONCE = 32  # rules that are scored together


@dataclass(frozen=True, repr=False)
class LearnedRule:
    """body(X, Z) and ... => query(X, Y): what one walk along the body adds to the score, and what the facts say."""

    query: str
    query_inverse: bool
    body: tuple[tuple[str, bool], ...]  # a relation's label, and whether it is followed backwards
    weight: float
    support: int  # connected pairs that are facts
    pairs: int  # connected pairs
    confidence: float | None  # None: it connects no pair in the facts
    exact: bool  # False: a sample of the paths was counted

    @property
    def text(self) -> str:
        """The rule without its figures."""
        return implication(self)

    def figures(self) -> dict[str, Any]:
        """What speaks for it, by name."""
        names = ("weight", "support", "pairs", "confidence", "exact")
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        body = [{"relation": name, "inverse": inverse} for name, inverse in self.body]
        return {**asdict(self), "body": body, "text": self.text}

    def __str__(self) -> str:
        known = "unknown" if self.confidence is None else f"{self.confidence:.3f}{'' if self.exact else ' (sampled)'}"
        return f"{self.weight:.4f}  {self.text}   support {self.support}, confidence {known}"

    def __repr__(self) -> str:
        return f"<LearnedRule {self}>"


class LearnedRules(list[LearnedRule]):
    """Rules of one query relation, on a graph: they can be chosen from, written, and asked by themselves."""

    def __init__(self, rules: Iterable[LearnedRule], graph: Graph, relation: str, asked: Asked) -> None:
        super().__init__(rules)
        self.graph, self.relation, self.asked = graph, relation, asked

    def chosen(self, rules: Iterable[LearnedRule]) -> LearnedRules:
        """Other rules of the same relation, such as some of these, on the same graph."""
        return LearnedRules(rules, self.graph, self.relation, self.asked)

    def scores(self, name: str) -> dict[str, float]:
        """The entities that some rule leads to from an entity, with their scores: the best first.

        score(x, y) = sum over rules of weight * the number of walks from x to y along the rule's body, exactly.

        Raises:
            UnknownNameError: the graph has no such entity.
        """
        scores = rule_scores(self, self.graph, self.graph.entities.find(name))
        best = np.lexsort((np.arange(len(scores)), -scores))
        return {self.graph.entities[int(v)]: float(scores[v]) for v in best if scores[v] > 0}

    def to_dict(self) -> dict[str, Any]:
        """The JSON of ``nbfnet rules``."""
        return {"relation": self.relation, "asked": self.asked, "rules": [rule.to_dict() for rule in self]}

    def to_csv(self) -> str:
        """A header, then one line for each rule."""
        return comma_separated(self)

    def to_datalog(self) -> str:
        """One clause for each rule."""
        return datalog(self)

    def to_pandas(self) -> Any:
        """One row for each rule."""
        names = ("text", "weight", "support", "pairs", "confidence", "exact")
        return data_frame([{name: rule.to_dict()[name] for name in names} for rule in self], names)

    def __repr__(self) -> str:
        return "\n".join([f"<{len(self)} learned rules for {self.relation}>", *map(str, self)])

    def _repr_html_(self) -> str:
        rows = [(rule.text, rule.weight, rule.support, rule.confidence) for rule in self]
        return html_table(f"Rules for {self.relation}", ("rule", "weight", "support", "confidence"), rows)


def learned_rules(
    member: Member,
    relation: str | None = None,
    *,
    most: int | None = 30,
    asked: Asked = "tail",
    min_support: int = 1,
    sort: LearnedOrder = "weight",
    trivial: bool = False,
    seed: int = 0,
) -> LearnedRules:
    """The rules that a network has learned for a relation; arguments as of ``Run.learned_rules``.

    Raises:
        UnknownNameError: a relation that the graph does not have.
        ExplanationError: no relation was named where there are several, or the network has no rules to read.
    """
    graph, network = member.graph, member.network
    if network.config.kind == "nbfnet":
        raise ExplanationError(
            "this network has no rules to read off: train one with --set model.kind=drum, or mine rules from its "
            "explanations ('nbfnet rules', Run.rules)"
        )
    q = find_relation(graph, relation)
    name = graph.relations[q]
    if asked == "head" and graph.kind != "homogeneous":
        q = invert(q, graph.num_relations)
    query = (base(q, graph.num_relations), is_inverse(q, graph.num_relations))
    pairs, found = PatternPairs(graph, np.random.default_rng(seed), walks=True), list[LearnedRule]()
    for body, weight in rules_by_weight(step_weights(network, q)):
        if most is not None and len(found) == most:
            break
        if not trivial and (not body or body == (q,)):
            continue  # x = y, and the query's own fact
        pattern = tuple((base(r, graph.num_relations), is_inverse(r, graph.num_relations)) for r in body)
        counted = pairs.count(pattern, query) if body else None
        rule = LearnedRule(
            graph.relations.label(query[0]),
            query[1],
            _labelled(graph, pattern),
            weight,
            0 if counted is None else counted.true,
            0 if counted is None else counted.pairs,
            None if counted is None else counted.share,
            True if counted is None else counted.exact,
        )
        if rule.support >= min_support:
            found.append(rule)
    if sort != "weight":
        found.sort(key=lambda rule: getattr(rule, sort) or 0.0, reverse=True)
    return LearnedRules(found, graph, name, asked)


def step_weights(network: NeuralBellmanFordNetwork, relation: int) -> Float64:
    """(step, relation + 1, rank) the weights of a query relation; the last relation is "stay"."""
    assert network.rule_weights is not None
    with torch.no_grad():
        weights = network.rule_weights(torch.tensor([relation], device=network.like.device))
    found: Float64 = weights[0].double().cpu().numpy()
    return found


def rules_by_weight(weights: Float64, beam: int = _BEAM) -> list[tuple[Relations, float]]:
    """The bodies of rules with their weights, the greatest weight first, of step weights (step, relation + 1, rank).

    A body is found in several ways, by staying at different steps; its weight is their sum. At each step the partial
    bodies of greatest weight are kept, ``beam`` at most; where there are no more, nothing is lost.
    """
    partial: dict[Relations, Float64] = {(): np.ones(weights.shape[2])}
    for of_step in weights:
        bodies, so_far = list(partial), np.stack(list(partial.values()))
        longer = so_far @ of_step[:-1].T  # (body, relation) summed over the ranks
        kept = np.argsort(-longer, axis=None, kind="stable")[:beam]
        following = {body: rank * of_step[-1] for body, rank in partial.items()}
        for at, r in zip(*np.unravel_index(kept, longer.shape), strict=True):
            body = (*bodies[at], int(r))
            following[body] = following.get(body, 0.0) + so_far[at] * of_step[r]
        best = sorted(following, key=lambda body: (-following[body].sum(), len(body), body))[:beam]
        partial = {body: following[body] for body in best}
    return [(body, float(rank.sum())) for body, rank in partial.items() if rank.sum() > 0]


def rule_scores(rules: LearnedRules, graph: Graph, source: int) -> Float64:
    """(node,) the score of every node by a set of rules alone: each rule is a rank of a linear network."""
    bodies = [(_relation_ids(rule, graph), rule.weight) for rule in rules]
    negative = next((rule for rule in rules if not 0 <= rule.weight < np.inf), None)
    if negative is not None:
        raise ExplanationError(f"the rule {negative.text!r} has the weight {negative.weight:g}: give 0 or more")
    messages, scores = MessageGraph(graph.message_csr), np.zeros(graph.num_nodes)
    query = torch.tensor([source]), torch.tensor([0])
    for first in range(0, len(bodies), _RANKS_AT_ONCE):
        network = _network_of(bodies[first : first + _RANKS_AT_ONCE], graph.num_relation_ids)
        with torch.no_grad():
            scores += network.pair_representation(messages, *query)[0].sum(dim=1).numpy()
    return scores


def _network_of(bodies: list[tuple[Relations, float]], num_relations: int) -> NeuralBellmanFordNetwork:
    """The linear network whose ranks are rules: each steps over its relations with weight 1, then stays."""
    steps = max(1, *(len(body) for body, _ in bodies))
    weights = torch.zeros(steps, num_relations + 1, len(bodies), dtype=torch.float64)
    for rank, (body, weight) in enumerate(bodies):
        for step in range(steps):
            weights[step, body[step] if step < len(body) else num_relations, rank] = 1.0
        weights[0, :, rank] *= weight
    config = ModelConfig(kind="drum", layers=steps, rank=len(bodies))
    return NeuralBellmanFordNetwork(config, num_relations, rule_weights=GivenRuleWeights(0, weights)).double()


def _labelled(graph: Graph, pattern: Pattern) -> tuple[tuple[str, bool], ...]:
    return tuple((graph.relations.label(relation), backwards) for relation, backwards in pattern)


def _relation_ids(rule: LearnedRule, graph: Graph) -> Relations:
    ids = ((graph.relations.find(name), inverse) for name, inverse in rule.body)
    return tuple(invert(r, graph.num_relations) if inverse else r for r, inverse in ids)
