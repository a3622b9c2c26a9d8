"""Rules: support counted by hand, confidence against brute force and sparse products."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from nbfnet.explanation.explanation import Explanation
from nbfnet.explanation.path import ExplainedPath, PathEdge
from nbfnet.explanation.rules import Rule, mine_rules
from nbfnet.graph.graph import Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.prediction.patterns import ConnectedPairs, PatternPairs

PEOPLE = ["Ada", "Bob", "Cleo", "Rome", "Oslo", "Italy", "Norway"]
RELATIONS = ["nationality", "born in", "city of"]
FACTS = [(0, 1, 3), (1, 1, 3), (2, 1, 4), (3, 2, 5), (4, 2, 6), (0, 0, 5), (1, 0, 6), (2, 0, 6)]


@pytest.fixture
def graph(make_graph: Callable[..., Graph]) -> Graph:
    return make_graph(PEOPLE, RELATIONS, FACTS)


def explanation(graph: Graph, query: tuple[int, int, int], *paths: list[tuple[int, int, int]]) -> Explanation:
    """An explanation by paths that are given as edges (source, relation, target)."""
    explained = []
    for path in paths:
        assert all(first[2] == second[0] for first, second in pairwise(path))
        edges = tuple(PathEdge.named(graph, *edge) for edge in path)
        explained.append(ExplainedPath(1.0, 0.0, 0.0, edges, (1.0 / len(edges),) * len(edges)))
    return Explanation(PathEdge.named(graph, *query), 0.5, tuple(explained), 0.0)


def test_support_confidence_and_words(graph: Graph) -> None:
    by_birth = [(0, 1, 3), (3, 2, 5)]
    same_city = [(0, 1, 3), (3, 4, 1), (1, 0, 6)]
    explanations = [
        explanation(graph, (0, 0, 5), by_birth),
        explanation(graph, (0, 0, 6), by_birth, same_city, same_city),
        explanation(graph, (2, 0, 6), [(2, 0, 6)]),  # the query's own fact
    ]
    rules = mine_rules(explanations, graph)
    # Born in Rome: Ada and Bob, connected to Italy; in Oslo: Cleo, to Norway. Bob is from Norway all the same.
    # Ada and Bob share a city, so each is connected to the other's country, which is not the own one.
    # Three of the six pairs of a person and a country are facts.
    assert rules == [
        Rule("nationality", False, (("born in", False), ("city of", False)), 2, 3, 2 / 3, 3, True, 4 / 3),
        Rule(
            "nationality",
            False,
            (("born in", False), ("born in", True), ("nationality", False)),
            1,
            3,
            0.0,
            2,
            True,
            0.0,
        ),
    ]
    assert [str(rule) for rule in rules] == [
        "nationality(x, y) <- born in(x, z), city of(z, y)   support 2/3, confidence 0.667, lift 1.3",
        "nationality(x, y) <- born in(x, z1), born in(z2, z1), nationality(z2, y)   "
        "support 1/3, confidence 0.000, lift 0.0",
    ]


def test_an_inverse_query(graph: Graph) -> None:
    (rule,) = mine_rules([explanation(graph, (5, 3, 0), [(5, 5, 3), (3, 4, 0)])], graph)
    assert str(rule).startswith(
        "nationality(y, x) <- city of(z, x), born in(y, z)   support 1/1, confidence 0.667, lift 1.3"
    )


def test_a_pattern_that_connects_nothing(graph: Graph) -> None:
    """The fact behind an explanation need not be among the facts that the confidence is counted on."""
    (rule,) = mine_rules([explanation(graph, (0, 0, 5), [(0, 0, 3), (3, 0, 5)])], graph)
    assert (rule.confidence, rule.pairs, rule.lift) == (None, 0, None)
    assert str(rule).endswith("confidence unknown, lift unknown")


def test_order_and_least_support(graph: Graph) -> None:
    by_birth = [(0, 1, 3), (3, 2, 5)]
    explanations = [
        explanation(graph, (0, 0, 5), by_birth),
        explanation(graph, (1, 0, 6), [(1, 1, 3), (3, 4, 0), (0, 0, 5)], [(1, 1, 3), (3, 2, 5)]),
        explanation(graph, (2, 0, 6), [(2, 1, 4), (4, 2, 6)], [(2, 0, 6), (6, 5, 4)]),
    ]
    rules = mine_rules(explanations, graph)
    assert [rule.support for rule in rules] == [3, 1, 1]
    assert [rule.support for rule in mine_rules(explanations, graph, min_support=2)] == [3]
    assert mine_rules(explanations, graph, min_support=4) == []
    for order in ("confidence", "lift"):
        figures = [getattr(rule, order) for rule in mine_rules(explanations, graph, sort=order)]
        known = [figure for figure in figures if figure is not None]
        assert known == sorted(known, reverse=True)


def test_only_what_a_prediction_relies_on_is_support(graph: Graph) -> None:
    """The first path counts, whatever it does; another one if it adds a tenth of the joint drop."""
    by_birth, same_city, itself = [(0, 1, 3), (3, 2, 5)], [(0, 1, 3), (3, 4, 1), (1, 0, 6)], [(0, 0, 5), (5, 5, 3)]
    made = explanation(graph, (0, 0, 5), by_birth, same_city, itself)
    for added, expected in (
        ((8.0, 0.5, 1.5), {2}),
        ((-1.0, 0.0, 0.0), {2}),
        ((0.0, 0.0, 0.0), {2, 3}),
        ((1, 1, 1), {2, 3}),
    ):
        paths = tuple(replace(path, added_drop=drop) for path, drop in zip(made.paths, added, strict=True))
        rules = mine_rules([replace(made, paths=paths, joint_drop=float(sum(added)))], graph)
        assert {len(rule.body) for rule in rules} == expected
    assert len(mine_rules([replace(made, paths=made.paths[:1], joint_drop=-3.0)], graph)) == 1


def test_a_rule_comes_before_its_detours(graph: Graph) -> None:
    """nationality <- born in, born in backwards, born in, city of: the same as born in, city of, with more support."""
    straight, detour = [(0, 1, 3), (3, 2, 5)], [(0, 1, 3), (3, 4, 1), (1, 1, 3), (3, 2, 5)]
    rules = mine_rules([explanation(graph, (0, 0, 5), detour), explanation(graph, (0, 0, 5), detour, straight)], graph)
    assert [(len(rule.body), rule.support) for rule in rules] == [(2, 1), (4, 2)]
    (alone,) = mine_rules([explanation(graph, (0, 0, 5), detour)], graph)
    assert len(alone.body) == 4


@given(data=st.data())
@pytest.mark.parametrize("kind", ["knowledge", "homogeneous"])
def test_the_base_rate_against_brute_force(kind: Any, data: st.DataObject) -> None:
    nodes = data.draw(st.integers(1, 6))
    node = st.integers(0, nodes - 1)
    facts = data.draw(st.lists(st.tuples(node, node), max_size=14))
    columns = np.array([(h, 0, t) for h, t in facts], dtype=np.int32).reshape(-1, 3).T
    graph = Graph("g", kind, Vocabulary.numbered(nodes), Vocabulary.numbered(1), Triplets.of(*columns))
    known = set(facts) | ({(t, h) for h, t in facts} if kind == "homogeneous" else set())
    pairs = {(x, y) for x in {h for h, _ in known} for y in {t for _, t in known} if x != y}
    expected = len(pairs & known) / len(pairs) if pairs else 0.0
    for backwards in (False, True):
        found = PatternPairs(graph, np.random.default_rng(0)).base_rate((0, backwards))
        assert found == pytest.approx(expected)


def test_no_explanations_no_rules(graph: Graph) -> None:
    assert mine_rules([], graph) == []
    assert mine_rules([explanation(graph, (0, 0, 5))], graph) == []


def paths_of(
    facts: set[tuple[int, int, int]], undirected: bool, pattern: tuple[tuple[int, bool], ...], path: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """Every path of the pattern that goes on from a path, by the definition."""
    if not pattern:
        yield path
        return
    relation, backwards = pattern[0]
    for head, r, tail in facts:
        for a, b in [(head, tail), (tail, head)]:
            follows = undirected or (a, b) == ((tail, head) if backwards else (head, tail))
            if r == relation and follows and a == path[-1] and b not in path:
                yield from paths_of(facts, undirected, pattern[1:], (*path, b))


@given(data=st.data())
@pytest.mark.parametrize("kind", ["knowledge", "homogeneous"])
def test_pairs_against_brute_force(kind: Any, data: st.DataObject) -> None:
    nodes, relations = data.draw(st.integers(1, 6)), 2 if kind == "knowledge" else 1
    node, relation = st.integers(0, nodes - 1), st.integers(0, relations - 1)
    facts = data.draw(st.lists(st.tuples(node, relation, node), max_size=14))
    step = st.tuples(relation, st.booleans() if kind == "knowledge" else st.just(False))
    pattern, query = tuple(data.draw(st.lists(step, min_size=1, max_size=4))), data.draw(step)
    columns = np.array(facts, dtype=np.int32).reshape(-1, 3).T
    graph = Graph("g", kind, Vocabulary.numbered(nodes), Vocabulary.numbered(relations), Triplets.of(*columns))
    undirected = kind == "homogeneous"
    paths = (path for x in range(nodes) for path in paths_of(set(facts), undirected, pattern, (x,)))
    pairs = {(path[0], path[-1]) for path in paths}
    true = {
        (x, y) for x, y in pairs if any(True for _ in paths_of(set(facts), undirected, (query,), (x,)) if _[1] == y)
    }
    found = PatternPairs(graph, np.random.default_rng(0)).count(pattern, query)
    assert found == ConnectedPairs(len(pairs), len(true), True)


@pytest.fixture(scope="module")
def layered() -> tuple[Graph, list[Any]]:
    """Three sets of nodes, a relation from each to the next and one past the middle: every walk is a path."""
    random, size = np.random.default_rng(0), 300
    blocks = [(0, 0, 1), (1, 1, 2), (2, 0, 2)]
    parts = [
        (random.integers(0, size, 2500) + size * a, np.full(2500, r), random.integers(0, size, 2500) + size * b)
        for r, a, b in blocks
    ]
    triplets = Triplets.of(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    graph = Graph("layers", "knowledge", Vocabulary.numbered(3 * size), Vocabulary.numbered(3), triplets)
    matrices = [
        sparse.coo_array((np.ones(2500), (h, t)), shape=(3 * size,) * 2).tocsr().astype(bool) for h, _, t in parts
    ]
    return graph, matrices


def test_confidence_against_sparse_products(layered: Any) -> None:
    graph, (first, second, direct) = layered
    connected = (first.astype(int) @ second.astype(int)).astype(bool)
    true = connected.multiply(direct)
    found = PatternPairs(graph, np.random.default_rng(0)).count(((0, False), (1, False)), (2, False))
    assert found == ConnectedPairs(connected.nnz, true.nnz, True)


def test_a_sample_comes_near_and_says_so(layered: Any) -> None:
    graph, _ = layered
    pattern, query = ((0, False), (1, False)), (2, False)
    exact = PatternPairs(graph, np.random.default_rng(0)).count(pattern, query)
    sampled = PatternPairs(graph, np.random.default_rng(0), most_paths=6000).count(pattern, query)
    assert not sampled.exact
    assert 0 < sampled.pairs <= 6000 < exact.pairs
    assert sampled.share == pytest.approx(exact.share, rel=0.3)
    rule = Rule("q", False, (("r", False),), 1, 1, sampled.share, sampled.pairs, sampled.exact, 2.0)
    assert "(sampled), lift 2.0" in str(rule)


def test_a_hub_does_not_take_all_memory() -> None:
    """A thousand nodes around one: a million paths of two edges, of which few are looked at."""
    leaves = np.arange(1, 1001)
    triplets = Triplets.of(leaves, leaves * 0, leaves * 0)
    graph = Graph("star", "knowledge", Vocabulary.numbered(1001), Vocabulary.numbered(1), triplets)
    found = PatternPairs(graph, np.random.default_rng(0), most_paths=5000).count(((0, False), (0, True)), (0, False))
    assert not found.exact
    assert 1000 <= found.pairs <= 6000  # the last source may go beyond
    assert found.true == 0
