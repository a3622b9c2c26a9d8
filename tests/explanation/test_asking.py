"""Explaining by name: the fact itself is hidden, rules come from facts drawn by the seed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nbfnet.errors import ExplanationError, UnknownNameError
from nbfnet.explanation.explainer import explain_named
from nbfnet.explanation.rules import rules_of
from nbfnet.model.message_graph import MessageGraph
from nbfnet.prediction.calibration import UNCALIBRATED, Calibration, IsotonicCurve
from nbfnet.prediction.predictor import Member

NAMES, RELATIONS = ["a", "b", "c", "d", "e"], ["r", "s"]
EDGES = [(0, 0, 1), (1, 1, 2), (0, 0, 2), (0, 0, 2), (3, 1, 0), (2, 0, 3)]  # a fact that is there twice


@pytest.fixture
def member(make_graph, make_network):
    return Member(make_network(4, seed=1), UNCALIBRATED, make_graph(NAMES, RELATIONS, EDGES))


def logit(member, graph, query):
    source, relation, target = (torch.tensor([part]) for part in query)
    with torch.no_grad():
        return float(member.network.score(MessageGraph(graph.message_csr), source, relation, target[:, None]))


def test_every_copy_of_the_fact_is_hidden(member, make_graph):
    explanation = explain_named(member, "a", "r", "c", k=9)
    without = make_graph(NAMES, RELATIONS, [edge for edge in EDGES if edge != (0, 0, 2)])
    expected = 1 / (1 + np.exp(-logit(member, without, (0, 0, 2))))
    assert explanation.probability == pytest.approx(expected, rel=1e-12)
    steps = {(edge.head, edge.relation, edge.tail) for path in explanation.paths for edge in path.edges}
    assert steps
    assert ("a", "r", "c") not in steps


def test_what_is_no_fact_is_explained_on_the_whole_graph(member):
    explanation = explain_named(member, "a", "s", "c", k=9)
    assert explanation.probability == pytest.approx(
        1 / (1 + np.exp(-logit(member, member.graph, (0, 1, 2)))), rel=1e-12
    )
    assert ("a", "r", "c") in {(e.head, e.relation, e.tail) for path in explanation.paths for e in path.edges}


def test_the_probability_is_calibrated(member):
    curve = IsotonicCurve(np.array([-100.0, 100.0]), np.array([0.0, 1.0]))
    calibrated = Member(member.network, Calibration(curve, {}), member.graph)
    expected = 0.5 + logit(member, member.graph, (0, 1, 2)) / 200
    assert explain_named(calibrated, "a", "s", "c").probability == pytest.approx(expected, rel=1e-12)


def test_an_undirected_fact_is_hidden_both_ways(make_graph, make_network):
    graph = make_graph(NAMES, ["edge"], [(0, 0, 1), (1, 0, 2), (2, 0, 0)], kind="homogeneous")
    member = Member(make_network(1, seed=2, symmetric=True), UNCALIBRATED, graph)
    without = make_graph(NAMES, ["edge"], [(0, 0, 1), (1, 0, 2)], kind="homogeneous")
    for head, tail, ids in (("a", "c", (0, 0, 2)), ("c", "a", (2, 0, 0))):
        explanation = explain_named(member, head, "edge", tail, k=9)
        assert explanation.probability == pytest.approx(1 / (1 + np.exp(-logit(member, without, ids))), rel=1e-9)
        pairs = {frozenset((e.head, e.tail)) for path in explanation.paths for e in path.edges}
        assert {"a", "c"} not in pairs


def test_self_loops_and_ends_that_meet(member, make_graph, make_network):
    graph = make_graph(NAMES, RELATIONS, [*EDGES, (1, 0, 1)])
    looped = Member(member.network, UNCALIBRATED, graph)
    assert explain_named(looped, "b", "r", "b").paths == explain_named(member, "b", "r", "b").paths
    assert explain_named(member, "e", "r", "e").paths == ()


def test_rules_come_from_facts_drawn_by_the_seed(member):
    rules = rules_of(member, "r", predictions=99)
    assert {(rule.query, rule.query_inverse) for rule in rules} == {("r", False)}
    assert {rule.explained for rule in rules} == {4}  # facts of r, each copy one
    assert all(1 <= rule.support <= 4 for rule in rules)
    assert [str(rule) for rule in rules_of(member, "r", predictions=2, seed=3)] == [
        str(rule) for rule in rules_of(member, "r", predictions=2, seed=3)
    ]
    drawn = {tuple(map(str, rules_of(member, "r", predictions=1, seed=seed))) for seed in range(9)}
    assert len(drawn) > 1


def test_the_seed_draws_the_paths_of_a_pattern_that_has_too_many(make_graph, make_network):
    """1,500 sources, each to one of two hubs, and on to the targets of the hub: 2,250,000 paths."""
    first, second, both = range(3)
    sources, hubs, targets = range(1500), (1500, 1501), range(1502, 3505)
    edges = [(x, first, hubs[x % 2]) for x in sources]
    edges += [(hub, second, y) for hub, most in zip(hubs, (997, 2003), strict=True) for y in targets[:most]]
    facts = [(0, both, targets[0]), (1, both, targets[1])]
    graph = make_graph([f"e{i}" for i in range(3505)], ["first", "second", "both"], edges + facts)
    member = Member(make_network(6, layers=2), UNCALIBRATED, graph)
    # Every fact is explained, whatever the seed: only the sample of paths differs.
    rules = [rules_of(member, "both", k=1, seed=seed) for seed in (1, 1, 2)]
    assert all((rule.explained, rule.exact) == (2, False) for found in rules for rule in found)
    assert rules[0] == rules[1]
    assert [rule.pairs for rule in rules[0]] != [rule.pairs for rule in rules[2]]


def test_a_head_that_was_asked_for(member, make_graph):
    """The question (?, r, c), asked of the network itself by the inverse relation, with the fact hidden."""
    explanation = explain_named(member, "a", "r", "c", asked="head", k=9)
    without = make_graph(NAMES, RELATIONS, [edge for edge in EDGES if edge != (0, 0, 2)])
    expected = 1 / (1 + np.exp(-logit(member, without, (2, 2, 0))))
    assert explanation.probability == pytest.approx(expected, rel=1e-12)
    assert explanation.probability != explain_named(member, "a", "r", "c").probability
    assert (explanation.asked, explanation.question, explanation.fact) == ("head", "? -r-> c", "a -r-> c")
    assert explanation.paths
    for path in explanation.paths:
        assert str(path).startswith("c ") and str(path).endswith(" a")
        assert ("a", "r", "c") not in {(edge.head, edge.relation, edge.tail) for edge in path.edges}


def test_no_relation(member, make_graph, make_network):
    graph = make_graph(NAMES, ["edge"], [(0, 0, 1), (1, 0, 2), (2, 0, 3), (3, 0, 0)], kind="homogeneous")
    undirected = Member(make_network(1, seed=2, symmetric=True), UNCALIBRATED, graph)
    assert explain_named(undirected, "a", None, "c") == explain_named(undirected, "a", "edge", "c")
    assert (
        explain_named(undirected, "a", None, "c", asked="head").paths == explain_named(undirected, "a", None, "c").paths
    )
    assert rules_of(undirected) == rules_of(undirected, "edge")
    for ask in (lambda: explain_named(member, "a", None, "c"), lambda: rules_of(member)):
        with pytest.raises(ExplanationError, match=r"small has 2: name one of 'r', 's'$"):
            ask()
    many = make_graph(NAMES, [f"r{i}" for i in range(23)], [(0, 0, 1)])
    with pytest.raises(ExplanationError, match=r"'r19' and 3 more$"):
        rules_of(Member(member.network, UNCALIBRATED, many))


def test_mistakes(member, make_graph):
    for query in (("x", "r", "c"), ("a", "x", "c"), ("a", "r", "x")):
        with pytest.raises(UnknownNameError, match="'x'"):
            explain_named(member, *query)
    with pytest.raises(ExplanationError):
        explain_named(member, "a", "r", "c", k=0)
    with pytest.raises(ExplanationError, match="'tail' or 'head'"):
        explain_named(member, "a", "r", "c", asked="relation")
    with pytest.raises(UnknownNameError, match="'x'"):
        rules_of(member, "x")
    bare = make_graph(NAMES, RELATIONS, [(0, 0, 1)])
    with pytest.raises(ExplanationError, match="no fact of the relation 's'"):
        rules_of(Member(member.network, UNCALIBRATED, bare), "s")
