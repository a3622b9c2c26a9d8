"""Rules: the relation patterns that a network relies on, read off the explanations of many predictions.

A pattern is the sequence of relations of a path, each with its direction, such as born_in(x, z), city_of(z, y). As a
rule of a query relation it has

- support: how many of the explained predictions rely on a path of the pattern. It must be the first path, or one of the
  top k that adds at least a tenth of their joint drop: the others may only be detours;
- confidence: of all pairs (x, y) that a path of the pattern connects in the facts, the share for which the query's
  relation is a fact. Like an explained path, the path visits no node twice, and x is not y;
- lift: confidence / P(the relation holds between x and y), for x and y drawn at random from the entities that appear as
  its head and as its tail. A lift of 1 says that the pattern tells nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nbfnet.errors import ExplanationError
from nbfnet.explanation.explainer import explain_fact, find_relation
from nbfnet.explanation.explanation import Explanation, RuleOrder
from nbfnet.explanation.path import ExplainedPath, PathEdge
from nbfnet.explanation.rule_format import comma_separated, datalog
from nbfnet.graph.graph import Graph
from nbfnet.prediction.patterns import Pattern, PatternPairs, Step
from nbfnet.prediction.predictor import Member
from nbfnet.tables import data_frame, html_table

_ADDS = 0.1  # of the joint drop


@dataclass(frozen=True, repr=False)
class Rule:
    """query(x, y) <- body(x, z), ...: a pattern, and what speaks for it."""

    query: str
    query_inverse: bool
    body: tuple[tuple[str, bool], ...]  # a relation's label, and whether it is followed backwards
    support: int  # explained predictions that rely on a path of this pattern
    explained: int  # explained predictions of the query's relation
    confidence: float | None  # None: the pattern connects no pair in the facts
    pairs: int  # pairs that the confidence was counted over
    exact: bool  # False: a sample of the paths
    lift: float | None  # None: as for the confidence

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        body = [{"relation": name, "inverse": inverse} for name, inverse in self.body]
        return {**asdict(self), "body": body, "text": str(self)}

    @property
    def text(self) -> str:
        """The rule without its figures, such as ``lives in(x, y) <- works in(x, y)``."""
        names = _variables(len(self.body))
        atoms = [_atom(name, inverse, a, b) for (name, inverse), a, b in zip(self.body, names, names[1:], strict=False)]
        return f"{_atom(self.query, self.query_inverse, 'x', 'y')} <- {', '.join(atoms)}"

    def figures(self) -> dict[str, Any]:
        """What speaks for it, by name."""
        names = ("support", "explained", "confidence", "lift", "pairs", "exact")
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        known = "unknown" if self.confidence is None else f"{self.confidence:.3f}{'' if self.exact else ' (sampled)'}"
        lift = "unknown" if self.lift is None else f"{self.lift:.1f}"
        return f"{self.text}   support {self.support}/{self.explained}, confidence {known}, lift {lift}"

    def __repr__(self) -> str:
        return f"<Rule {self}>"


class Rules(list[Rule]):
    """The rules of a relation, the best first."""

    def __init__(self, rules: Iterable[Rule], relation: str) -> None:
        super().__init__(rules)
        self.relation = relation

    def to_dict(self) -> dict[str, Any]:
        """The JSON of ``nbfnet rules``."""
        return {"relation": self.relation, "rules": [rule.to_dict() for rule in self]}

    def to_csv(self) -> str:
        """A header, then one line for each rule."""
        return comma_separated(self)

    def to_datalog(self) -> str:
        """One clause for each rule."""
        return datalog(self)

    def to_pandas(self) -> Any:
        """One row for each rule."""
        names = ("text", "support", "explained", "confidence", "lift", "pairs")
        return data_frame([{name: rule.to_dict()[name] for name in names} for rule in self], names)

    def __repr__(self) -> str:
        return "\n".join([f"<{len(self)} rules for {self.relation}>", *map(str, self)])

    def _repr_html_(self) -> str:
        rows = [(rule.text, f"{rule.support}/{rule.explained}", rule.confidence, rule.lift) for rule in self]
        return html_table(f"Rules for {self.relation}", ("rule", "support", "confidence", "lift"), rows)


def rules_of(
    member: Member,
    relation: str | None = None,
    *,
    predictions: int = 50,
    k: int = 3,
    min_support: int = 1,
    sort: RuleOrder = "support",
    seed: int = 0,
) -> Rules:
    """The relation patterns that a network relies on for a relation; arguments as of ``Run.rules``.

    The seed draws the facts to explain, and the paths that a confidence is counted over where there are too many.

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
    ends = zip(chosen.head.tolist(), chosen.tail.tolist(), strict=True)
    explained = [explain_fact(member, u, q, v, k=k, beam=8) for u, v in ends]
    return Rules(mine_rules(explained, graph, min_support=min_support, sort=sort, seed=seed), graph.relations[q])


def mine_rules(
    explanations: Iterable[Explanation],
    graph: Graph,
    *,
    min_support: int = 1,
    sort: RuleOrder = "support",
    seed: int = 0,
) -> list[Rule]:
    """The rules behind some explanations, by query relation, then with the greatest support, confidence or lift first.

    Rules of the same support are ordered by how often their pattern is that of the first path, then by confidence and
    length. A rule never comes before one that says the same without a detour. Confidence counts the pairs among the
    graph's facts, exactly where the paths of a pattern are few enough to list, else over a random sample of them. A
    path that is the query's own fact is not a rule.
    """
    supports: defaultdict[Step, Counter[Pattern]] = defaultdict(Counter)
    firsts: defaultdict[Step, Counter[Pattern]] = defaultdict(Counter)
    explained: Counter[Step] = Counter()
    for explanation in explanations:
        query = _step(explanation.query)
        explained[query] += 1
        patterns = [tuple(_step(edge) for edge in path.edges) for path in _relied_on(explanation)]
        supports[query].update({pattern for pattern in patterns if pattern != (query,)})
        firsts[query].update(patterns[:1])
    pairs = PatternPairs(graph, np.random.default_rng(seed))
    found: list[Rule] = []
    for query in sorted(supports, key=lambda step: (graph.relations.label(step[0]), step[1])):
        base_rate, rules = pairs.base_rate(query), dict[Pattern, Rule]()
        for pattern, support in supports[query].items():
            if support < min_support:
                continue
            connected = pairs.count(pattern, query)
            share = connected.share
            lift = None if share is None or not base_rate else share / base_rate
            body = tuple((graph.relations.label(relation), backwards) for relation, backwards in pattern)
            name, counts = graph.relations.label(query[0]), (support, explained[query])
            rules[pattern] = Rule(name, query[1], body, *counts, share, connected.pairs, connected.exact, lift)

        def order(pattern: Pattern, rules: dict[Pattern, Rule] = rules, query: Step = query) -> tuple[Any, ...]:
            rule = rules[pattern]
            of_choice = {"support": rule.support, "confidence": rule.confidence or 0, "lift": rule.lift or 0}[sort]
            return -of_choice, -rule.support, -firsts[query][pattern], -(rule.confidence or 0), len(pattern), pattern

        ordered = sorted(rules, key=order)
        if graph.kind != "homogeneous":
            ordered = _before_their_detours(ordered)
        found += [rules[pattern] for pattern in ordered]
    return found


def _before_their_detours(patterns: list[Pattern]) -> list[Pattern]:
    """The same patterns, each one before those that say the same with a detour."""
    known, placed = set(patterns), dict[Pattern, None]()
    for pattern in patterns:
        straight = _straightened(pattern)
        if straight in known:
            placed.setdefault(straight)
        placed.setdefault(pattern)
    return list(placed)


def _straightened(pattern: Pattern) -> Pattern:
    """A pattern without steps that are followed by their own inverse: r(x, z1), r(z2, z1) leads to what is like x."""
    straight: list[Step] = []
    for relation, backwards in pattern:
        if straight and straight[-1] == (relation, not backwards):
            straight.pop()
        else:
            straight.append((relation, backwards))
    return tuple(straight)


def _relied_on(explanation: Explanation) -> list[ExplainedPath]:
    least = _ADDS * abs(explanation.joint_drop)
    return [path for rank, path in enumerate(explanation.paths) if rank == 0 or path.added_drop >= least]


def _step(edge: PathEdge) -> Step:
    return edge.ids[1], edge.inverse


def _variables(length: int) -> list[str]:
    """x, z, y; x, z1, z2, y; ..."""
    between = ["z"] if length == 2 else [f"z{i}" for i in range(1, length)]
    return ["x", *between, "y"]


def _atom(name: str, inverse: bool, first: str, second: str) -> str:
    return f"{name}({second}, {first})" if inverse else f"{name}({first}, {second})"
