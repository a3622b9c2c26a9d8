"""Learned rules: read off weights, against enumeration; planted rules found again; rule sets as scorers."""

from __future__ import annotations

import csv
import importlib.util
import io
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import nbfnet
from nbfnet.config import make_config
from nbfnet.errors import ExplanationError
from nbfnet.explanation.learned_rules import LearnedRule, LearnedRules, learned_rules, rules_by_weight, step_weights
from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import invert
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.prediction.calibration import UNCALIBRATED
from nbfnet.prediction.patterns import PatternPairs
from nbfnet.prediction.predictor import Member

PEOPLE = ["Ada", "Bob", "Cleo", "Rome", "Oslo", "Italy", "Norway"]
RELATIONS = ["nationality", "born in", "city of"]
FACTS = [(0, 1, 3), (1, 1, 3), (2, 1, 4), (3, 2, 5), (4, 2, 6), (0, 0, 5), (1, 0, 6), (2, 0, 6), (0, 1, 3)]


@pytest.fixture
def graph(make_graph: Callable[..., Graph]) -> Graph:
    return make_graph(PEOPLE, RELATIONS, FACTS)


def rule_network(num_relations: int, **options: Any) -> NeuralBellmanFordNetwork:
    settings = {"kind": "drum", "lstm": 6, "layers": 3, "rank": 2, **options}
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = NeuralBellmanFordNetwork(make_config({"model": settings}).model, num_relations).double()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(torch.randn_like(parameter))
    return network


def walks_along(graph: Graph, body: tuple[tuple[str, bool], ...], source: int) -> np.ndarray:
    """(node,) how many walks lead along a body, by products of adjacency matrices; repeated facts count again."""
    counts = np.zeros(graph.num_nodes)
    counts[source] = 1
    for name, inverse in body:
        matrix = np.zeros((graph.num_nodes, graph.num_nodes))
        for head, relation, tail in FACTS:
            if RELATIONS[relation] == name:
                matrix[(tail, head) if inverse else (head, tail)] += 1
        counts = counts @ matrix
    return counts


@pytest.mark.parametrize("steps", [1, 2, 3])
def test_weights_are_sums_over_ranks_and_stays(steps: int) -> None:
    random = np.random.default_rng(steps)
    weights = random.random((steps, 4, 2))  # three relations and "stay"
    expected: dict[tuple[int, ...], float] = {}
    for choice in itertools.product(range(4), repeat=steps):
        body = tuple(r for r in choice if r != 3)
        product = np.prod([weights[t, r] for t, r in enumerate(choice)], axis=0).sum()
        expected[body] = expected.get(body, 0.0) + product
    found = rules_by_weight(weights)
    assert dict(found) == pytest.approx(expected)
    assert [weight for _, weight in found] == pytest.approx(sorted(expected.values(), reverse=True))
    few = rules_by_weight(weights, beam=5)
    assert len(few) <= 5
    assert all(weight <= expected[body] + 1e-12 for body, weight in few)  # what was not kept is missing


@pytest.mark.parametrize("asked", ["tail", "head"])
def test_all_rules_together_are_the_network(graph: Graph, asked: Any) -> None:
    network = rule_network(graph.num_relation_ids)
    member = Member(network, UNCALIBRATED, graph)
    rules = learned_rules(member, "nationality", most=None, min_support=0, trivial=True, asked=asked)
    assert len(rules) == sum(6**length for length in range(4))
    relation = 0 if asked == "tail" else invert(0, graph.num_relations)
    for source, name in enumerate(PEOPLE):
        query = torch.tensor([source]), torch.tensor([relation])
        with torch.no_grad():
            logits = network.score_all(MessageGraph(graph.message_csr), *query)[0]
        expected = (logits - network.score_function.constant).exp().detach().numpy()
        scores = rules.scores(name)
        found = np.array([scores.get(other, 0.0) for other in PEOPLE])
        np.testing.assert_allclose(found, np.where(expected > 1e-19, expected, 0), rtol=1e-10)


def test_a_chosen_set_scores_by_itself(graph: Graph) -> None:
    """Weights times numbers of walks, over any number of rules, however many are asked at once."""
    member = Member(rule_network(graph.num_relation_ids), UNCALIBRATED, graph)
    every = learned_rules(member, "nationality", most=None, min_support=0, trivial=True)
    for chosen in (every.chosen(every[:1]), every.chosen(every[3:7]), every.chosen(every[::3]), every.chosen([])):
        for source, name in enumerate(PEOPLE):
            expected = sum((rule.weight * walks_along(graph, rule.body, source) for rule in chosen), np.zeros(7))
            scores = chosen.scores(name)
            assert list(scores.values()) == sorted(scores.values(), reverse=True)
            assert scores == pytest.approx({PEOPLE[v]: expected[v] for v in range(7) if expected[v] > 0}, rel=1e-12)


def test_a_negative_weight_is_refused(graph: Graph) -> None:
    bad = LearnedRule("nationality", False, (("born in", False),), -1.0, 0, 0, None, True)
    with pytest.raises(ExplanationError, match="weight -1"):
        LearnedRules([bad], graph, "nationality", "tail").scores("Ada")


def test_support_and_confidence_count_walks(graph: Graph) -> None:
    member = Member(rule_network(graph.num_relation_ids), UNCALIBRATED, graph)
    rules = {rule.text: rule for rule in learned_rules(member, "nationality", most=None, min_support=0)}
    by_birth = rules["born in(X, Z) and city of(Z, Y) => nationality(X, Y)"]
    assert (by_birth.support, by_birth.pairs, by_birth.confidence) == (2, 3, pytest.approx(2 / 3))
    # Ada and Bob are connected by Rome, each to the other's country; to go back to oneself would need the own fact.
    there = rules["born in(X, Z1) and born in(Z2, Z1) and nationality(Z2, Y) => nationality(X, Y)"]
    assert (there.support, there.pairs) == (0, 2)


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.booleans())
def test_counted_walks_by_brute_force(seed: int, length: int, inverse: bool) -> None:
    random = np.random.default_rng(seed)
    nodes, relations = 5, 2
    facts = np.unique(random.integers([nodes, relations, nodes], size=(9, 3)), axis=0)
    triplets = Triplets.of(*facts.T.astype(np.int32))
    graph = Graph("small", "knowledge", Vocabulary.of("abcde"), Vocabulary.of(["r", "s"], role="relation"), triplets)
    pattern = tuple((int(random.integers(relations)), bool(random.integers(2))) for _ in range(length))
    query = (0, inverse)
    edges = {(h, r, t, False) for h, r, t in facts.tolist()} | {(t, r, h, True) for h, r, t in facts.tolist()}
    connected = set()
    for x, *between in itertools.product(range(nodes), repeat=length + 1):
        y, walk = between[-1], [x, *between]
        taken = {(a, r, b, back) for (r, back), a, b in zip(pattern, walk, walk[1:], strict=False)}
        asked = {(x, 0, y, inverse), (y, 0, x, not inverse)}
        if x != y and taken <= edges and not taken & asked:
            connected.add((x, y))
    counted = PatternPairs(graph, np.random.default_rng(0), walks=True).count(pattern, query)
    true = {(x, y) for x, y in connected if (x, 0, y, inverse) in edges}
    assert (counted.pairs, counted.true, counted.exact) == (len(connected), len(true), True)


def test_what_is_left_out(graph: Graph) -> None:
    member = Member(rule_network(graph.num_relation_ids), UNCALIBRATED, graph)
    rules = {rule.text for rule in learned_rules(member, "nationality", most=None, min_support=0)}
    assert "nationality(X, Y) => nationality(X, Y)" not in rules
    assert all(rule.support for rule in learned_rules(member, "nationality", most=None))


def test_other_networks_have_no_rules_to_read(graph: Graph) -> None:
    network = NeuralBellmanFordNetwork(make_config({}).model, graph.num_relation_ids)
    with pytest.raises(ExplanationError, match="no rules to read off"):
        learned_rules(Member(network, UNCALIBRATED, graph), "nationality")


def test_step_weights_are_distributions(graph: Graph) -> None:
    weights = step_weights(rule_network(6, kind="neurallp", rank=3), 2)
    assert weights.shape == (3, 7, 1)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)


@pytest.fixture
def rules(make_graph: Callable[..., Graph]) -> LearnedRules:
    graph = make_graph(["a", "b"], ["it's", "Born In", "of\\all"], [(0, 0, 1)])
    body = (("Born In", False), ("of\\all", True))
    found = [
        LearnedRule("it's", False, body, 0.5, 3, 4, 0.75, True),
        LearnedRule("it's", False, (), 0.25, 0, 0, None, True),
    ]
    return LearnedRules(found, graph, "it's", "tail")


def test_the_formats(rules: LearnedRules) -> None:
    assert [str(rule) for rule in rules] == [
        "0.5000  Born In(X, Z) and of\\all(Y, Z) => it's(X, Y)   support 3, confidence 0.750",
        "0.2500  X = Y => it's(X, Y)   support 0, confidence unknown",
    ]
    assert rules.to_datalog() == (
        "% weight 0.5, support 3, pairs 4, confidence 0.75, exact True\n"
        "'it\\'s'(X, Y) :- 'Born In'(X, Z), 'of\\\\all'(Y, Z).\n"
        "% weight 0.25, support 0, pairs 0, confidence unknown, exact True\n"
        "'it\\'s'(X, Y) :- X = Y.\n"
    )
    header, *rows = csv.reader(io.StringIO(rules.to_csv()))
    assert header == ["rule", "weight", "support", "pairs", "confidence", "exact"]
    assert rows[0] == ["Born In(X, Z) and of\\all(Y, Z) => it's(X, Y)", "0.5", "3", "4", "0.75", "True"]
    assert rows[1][4] == ""
    document = json.loads(json.dumps(rules.to_dict()))
    assert document["rules"][0]["body"][1] == {"relation": "of\\all", "inverse": True}
    assert list(rules.to_pandas()["weight"]) == [0.5, 0.25]


@pytest.fixture(scope="module")
def family() -> Any:
    file = Path(__file__).parent / "family.py"
    spec = importlib.util.spec_from_file_location("family", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_planted_rules_are_found_again(family: Any, tmp_path: Path) -> None:
    """Every rule that the family's relations follow, and nothing else, stands at the top of its relation."""
    config = {
        "model": {"kind": "drum", "rank": 4, "lstm": 32},
        "training": {"batch_size": 32, "learning_rate": 0.01, "hiding": "triplet"},
    }
    run = nbfnet.train(family.family_facts(0), tmp_path / "run", config=config, epochs=12, seed=1, progress=False)
    for relation, bodies in family.RULES.items():
        found = run.learned_rules(relation, most=len(bodies))
        assert {rule.body for rule in found} == set(bodies), relation
        assert all(rule.confidence is not None and rule.confidence > 0.7 for rule in found)
