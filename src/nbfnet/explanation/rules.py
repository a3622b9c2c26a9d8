"""Rules: the relation patterns that a network relies on, read off the explanations of many predictions.

A pattern is the sequence of relations of a path, each with its direction, such as born_in(x, z), city_of(z, y). As a
rule of a query relation it has

- support: in how many of the explained predictions it is the pattern of a path among the top k;
- confidence: of all pairs (x, y) that a path of the pattern connects in the facts, the share for which the query's
  relation is a fact. Like an explained path, the path visits no node twice, and x is not y.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nbfnet.explanation.explanation import Explanation
from nbfnet.explanation.path import PathEdge
from nbfnet.graph.graph import Graph
from nbfnet.prediction.pattern_pairs import Pattern, PatternPairs, Step


@dataclass(frozen=True)
class Rule:
    """query(x, y) <- body(x, z), ...: a pattern, and what speaks for it."""

    query: str
    query_inverse: bool
    body: tuple[tuple[str, bool], ...]  # a relation's label, and whether it is followed backwards
    support: int  # explained predictions with this pattern among their paths
    explained: int  # explained predictions of the query's relation
    confidence: float | None  # None: the pattern connects no pair in the facts
    pairs: int  # pairs that the confidence was counted over
    exact: bool  # False: a sample of the paths

    def document(self) -> dict[str, Any]:
        """As plain data."""
        body = [{"relation": name, "inverse": inverse} for name, inverse in self.body]
        return {**asdict(self), "body": body, "text": str(self)}

    def __str__(self) -> str:
        names = _variables(len(self.body))
        atoms = [_atom(name, inverse, a, b) for (name, inverse), a, b in zip(self.body, names, names[1:], strict=False)]
        known = "unknown" if self.confidence is None else f"{self.confidence:.3f}{'' if self.exact else ' (sampled)'}"
        head = _atom(self.query, self.query_inverse, "x", "y")
        return f"{head} <- {', '.join(atoms)}   support {self.support}/{self.explained}, confidence {known}"


def mine_rules(explanations: Iterable[Explanation], graph: Graph, *, seed: int = 0) -> list[Rule]:
    """The rules behind some explanations, by query relation, then the most supported and most confident first.

    Confidence counts the pairs among the graph's facts, exactly where the paths of a pattern are few enough to list,
    else over a random sample of them. A path that is the query's own fact is no rule.
    """
    supports: defaultdict[Step, Counter[Pattern]] = defaultdict(Counter)
    explained: Counter[Step] = Counter()
    for explanation in explanations:
        query = _step(explanation.query)
        explained[query] += 1
        patterns = {tuple(_step(edge) for edge in path.edges) for path in explanation.paths}
        supports[query].update(pattern for pattern in patterns if pattern != (query,))
    pairs = PatternPairs(graph, np.random.default_rng(seed))
    found = []
    for query, patterns_of_query in supports.items():
        for pattern, support in patterns_of_query.items():
            connected = pairs.count(pattern, query)
            name, inverse = graph.relations.label(query[0]), query[1]
            body = tuple((graph.relations.label(relation), backwards) for relation, backwards in pattern)
            found.append(
                Rule(name, inverse, body, support, explained[query], connected.share, connected.pairs, connected.exact)
            )
    return sorted(found, key=lambda rule: (rule.query, rule.query_inverse, -rule.support, -(rule.confidence or 0)))


def _step(edge: PathEdge) -> Step:
    return edge.ids[1], edge.inverse


def _variables(length: int) -> list[str]:
    """x, z, y; x, z1, z2, y; ..."""
    between = ["z"] if length == 2 else [f"z{i}" for i in range(1, length)]
    return ["x", *between, "y"]


def _atom(name: str, inverse: bool, first: str, second: str) -> str:
    return f"{name}({second}, {first})" if inverse else f"{name}({first}, {second})"
