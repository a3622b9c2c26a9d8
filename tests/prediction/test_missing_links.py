"""Missing links against brute force: every pair scored alone by the plain network."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from nbfnet import Run
from nbfnet.config import ModelConfig
from nbfnet.errors import QueryError
from nbfnet.graph.graph import Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.prediction import missing_links as module
from nbfnet.prediction.calibration import UNCALIBRATED, Calibration, IsotonicCurve
from nbfnet.prediction.candidate_pairs import CandidatePairs, propose
from nbfnet.prediction.members import make_predictor
from nbfnet.prediction.missing_links import MissingLinks, missing_links
from nbfnet.prediction.patterns import ConnectingPatterns
from nbfnet.prediction.predictor import Member, Predictor

Fact = tuple[int, int, int]
HOUR = 3600.0
NEVER = float("inf")  # a time that never comes


def make_graph(facts: list[Fact], nodes: int, relations: int, kind: Any = "knowledge") -> Graph:
    columns = np.array(facts, dtype=np.int32).reshape(-1, 3).T
    return Graph("g", kind, Vocabulary.numbered(nodes), Vocabulary.numbered(relations), Triplets.of(*columns))


def make_network(graph: Graph, seed: int = 0, **config: Any) -> NeuralBellmanFordNetwork:
    torch.manual_seed(seed)
    config = {"dim": 4, "layers": 2, "hidden": (4,), "edges": "independent"} | config
    return NeuralBellmanFordNetwork(ModelConfig(**config), graph.num_relation_ids)


def predictor_on(graph: Graph, calibration: Calibration = UNCALIBRATED, **config: Any) -> Predictor:
    return Predictor(graph, [Member(make_network(graph, **config), calibration, graph)])


def random_facts(seed: int, nodes: int, relations: int, count: int) -> list[Fact]:
    random = np.random.default_rng(seed)
    return [tuple(row) for row in random.integers([nodes, relations, nodes], size=(count, 3)).tolist()]


def triplets_of(found: MissingLinks | CandidatePairs | Triplets) -> list[Fact]:
    return list(zip(found.head.tolist(), found.relation.tolist(), found.tail.tolist(), strict=True))


def may_be_missing(graph: Graph) -> Iterator[Fact]:
    """Every link that is not a fact, by the definition."""
    facts = set(triplets_of(graph.triplets))
    loops = {r for h, r, t in facts if h == t}
    for u, q, v in product(range(graph.num_nodes), range(graph.num_relations), range(graph.num_nodes)):
        undirected = graph.kind == "homogeneous"
        known = (u, q, v) in facts or (undirected and (v, q, u) in facts)
        if not known and (u != v or q in loops) and not (undirected and u > v):
            yield u, q, v


def ranked(predictor: Predictor, links: list[Fact]) -> list[tuple[float, float, Fact]]:
    """Probability, logit and link, best first, each pair scored alone."""
    (member,) = predictor.members
    messages = MessageGraph(member.graph.message_csr)
    rows = []
    with torch.no_grad():
        for u, q, v in links:
            logit = member.network.score(messages, torch.tensor([u]), torch.tensor([q]), torch.tensor([[v]])).item()
            probability = float(member.calibration.probability(np.array([logit]))[0])
            rows.append((probability, logit, (u, q, v)))
    return sorted(rows, key=lambda row: (-row[0], -row[1], row[2][0], row[2][2], row[2][1]))


def check_equal(found: MissingLinks, expected: list[tuple[float, float, Fact]], rounding: float = 0.0) -> None:
    """``rounding``: edges that depend on the query are made for a batch at once, and rounded by it."""
    assert triplets_of(found) == [link for _, _, link in expected]
    np.testing.assert_allclose(found.score, [logit for _, logit, _ in expected], rtol=0, atol=rounding)
    np.testing.assert_allclose(found.probability, [p for p, _, _ in expected], rtol=1e-12, atol=rounding)


@pytest.fixture
def only_proposed(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much time there is, not every pair is scored."""
    monkeypatch.setattr(module, "_SURE", 0.0)


PLATEAU = Calibration(IsotonicCurve(np.array([-9.0, 0.0, 9.0]), np.array([0.2, 0.2, 0.2])), {})


@pytest.mark.parametrize("calibration", [UNCALIBRATED, PLATEAU], ids=["sigmoid", "all equal"])
@pytest.mark.parametrize("seed", range(4))
def test_the_whole_graph_against_brute_force(seed: int, calibration: Calibration) -> None:
    """Every node is a head of every relation, so every pair is a candidate."""
    ring = [(u, q, (u + q + 1) % 9) for u in range(9) for q in range(3)]
    graph = make_graph([*ring, *random_facts(seed, 9, 2, 15)], 9, 3)
    edges, rounding = [("independent", 0.0), ("dependent", 1e-6)][seed % 2]
    predictor = predictor_on(graph, calibration, edges=edges)
    expected = ranked(predictor, list(may_be_missing(graph)))
    found = missing_links(predictor, 40, seconds=HOUR)
    check_equal(found, expected[:40], rounding)
    assert found.complete and found.exhaustive
    assert found.proposed == found.scored == len(expected)
    everything = missing_links(predictor, 10_000, seconds=HOUR)
    check_equal(everything, expected, rounding)


@pytest.mark.parametrize("symmetric", [True, False])
def test_a_homogeneous_graph_against_brute_force(symmetric: bool) -> None:
    facts = random_facts(3, 12, 1, 20)
    graph = make_graph([*facts, (2, 0, 2)], 13, 1, "homogeneous")  # a self loop; a node without an edge
    predictor = predictor_on(graph, symmetric=symmetric)
    found = missing_links(predictor, 10_000, seconds=HOUR)
    check_equal(found, ranked(predictor, list(may_be_missing(graph))))
    assert {frozenset((u, v)) for u, _, v in triplets_of(found)} == {
        frozenset((u, v)) for u, _, v in may_be_missing(graph)
    }


@given(data=st.data())
def test_any_graph_against_brute_force(data: st.DataObject) -> None:
    """Heads of a relation are those of its facts, and those of its candidates."""
    kind = data.draw(st.sampled_from(["knowledge", "homogeneous"]))
    nodes, relations = data.draw(st.integers(1, 7)), 3 if kind == "knowledge" else 1
    node, relation = st.integers(0, nodes - 1), st.integers(0, relations - 1)
    graph = make_graph(data.draw(st.lists(st.tuples(node, relation, node), max_size=20)), nodes, relations, kind)
    predictor = predictor_on(graph, seed=data.draw(st.integers(0, 3)))
    only = data.draw(st.one_of(st.none(), relation))
    asked = range(relations) if only is None else [only]
    candidates = triplets_of(propose(graph, asked, until=NEVER))
    heads = {(u, q) for u, q, _ in [*triplets_of(graph.triplets), *candidates]}
    links = [x for x in may_be_missing(graph) if x[1] in asked and (kind == "homogeneous" or x[:2] in heads)]
    found = missing_links(predictor, 25, relation=only, seconds=HOUR)
    check_equal(found, ranked(predictor, links)[:25])
    assert found.complete and found.exhaustive


@pytest.mark.usefixtures("only_proposed")
@pytest.mark.parametrize("kind", ["knowledge", "homogeneous"])
def test_candidates_are_scored_as_the_network_scores_them(kind: Any) -> None:
    relations = 3 if kind == "knowledge" else 1
    graph = make_graph(random_facts(1, 50, relations, 150), 50, relations, kind)
    predictor = predictor_on(graph, symmetric=kind == "homogeneous")
    candidates = propose(graph, range(relations), until=NEVER)
    assert len(candidates) > 500
    assert len(set(triplets_of(candidates))) == len(candidates)
    assert set(triplets_of(candidates)) <= set(may_be_missing(graph))
    found = missing_links(predictor, 80, seconds=HOUR)
    check_equal(found, ranked(predictor, triplets_of(candidates))[:80])
    assert (found.proposed, found.scored) == (len(candidates), len(candidates))
    assert found.complete and not found.exhaustive


def test_the_seed_decides() -> None:
    graph = make_graph(random_facts(5, 150, 2, 900), 150, 2)
    first, again = (propose(graph, [0, 1], until=NEVER, seed=1) for _ in range(2))
    assert triplets_of(first) == triplets_of(again)
    np.testing.assert_array_equal(first.promise, again.promise)
    assert triplets_of(propose(graph, [0, 1], until=NEVER, seed=2)) != triplets_of(first)


@pytest.mark.usefixtures("only_proposed")
def test_the_same_seed_gives_the_same_links() -> None:
    graph = make_graph(random_facts(5, 100, 2, 600), 100, 2)
    first, again = (missing_links(predictor_on(graph), 50, seconds=HOUR, seed=3) for _ in range(2))
    assert triplets_of(first) == triplets_of(again)
    np.testing.assert_array_equal(first.score, again.score)


def test_one_relation() -> None:
    graph = make_graph(random_facts(6, 30, 3, 120), 30, 3)
    found = missing_links(predictor_on(graph), 20, relation=2, seconds=HOUR)
    assert set(found.relation.tolist()) == {2}
    assert len(found) == 20


def test_a_relation_without_facts_has_no_missing_links() -> None:
    graph = make_graph(random_facts(6, 30, 2, 120), 30, 3)
    found = missing_links(predictor_on(graph), 20, relation=2, seconds=HOUR)
    assert (len(found), found.proposed, found.scored, found.complete) == (0, 0, 0, True)
    assert 2 not in missing_links(predictor_on(graph), 10_000, seconds=HOUR).relation


def test_a_graph_without_facts() -> None:
    found = missing_links(predictor_on(make_graph([], 5, 2)), 20, seconds=HOUR)
    assert (len(found), found.complete) == (0, True)


@pytest.mark.usefixtures("only_proposed")
def test_where_nothing_connects_nothing_is_proposed() -> None:
    graph = make_graph([(2 * i, 0, 2 * i + 1) for i in range(20)], 40, 1)
    found = missing_links(predictor_on(graph), 20, seconds=HOUR)
    assert (len(found), found.proposed, found.complete) == (0, 0, True)


def test_self_loops_only_where_the_relation_has_some() -> None:
    facts = [(u, q, (u + 1 + q) % 6) for u in range(6) for q in range(2)] + [(3, 1, 3)]
    found = triplets_of(missing_links(predictor_on(make_graph(facts, 6, 2)), 10_000, seconds=HOUR))
    assert {(u, q) for u, q, v in found if u == v} == {(u, 1) for u in range(6) if u != 3}


@pytest.mark.parametrize("exhaustive", [True, False])
@pytest.mark.parametrize("kind", ["knowledge", "homogeneous"])
def test_only_allowed_nodes(kind: Any, exhaustive: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not exhaustive:
        monkeypatch.setattr(module, "_SURE", 0.0)
    relations = 2 if kind == "knowledge" else 1
    graph = make_graph(random_facts(7, 30, relations, 120), 30, relations, kind)
    node, predictor = np.arange(30), predictor_on(graph)
    # Tails of relation 0, tails of relation 1, heads of relation 0, heads of relation 1: any.
    masks = [node % 2 == 0, node < 20, node % 3 == 0, None]
    everything = missing_links(predictor, 10_000, seconds=HOUR)
    predictor.possible = SimpleNamespace(mask=lambda relation: masks[relation])  # type: ignore[assignment]
    found = missing_links(predictor, 10_000, seconds=HOUR)
    assert (found.exhaustive, everything.exhaustive) == (exhaustive, exhaustive)

    def may(u: int, q: int, v: int) -> bool:
        heads, tails = (masks[0], masks[0]) if kind == "homogeneous" else (masks[q + 2], masks[q])
        return (heads is None or heads[u]) and (tails is None or tails[v])

    assert len(found) > 0
    assert triplets_of(found) == [x for x in triplets_of(everything) if may(*x)]


@pytest.mark.parametrize("seconds", [0.0, 1e-6, 0.05])
def test_little_time_gives_less_and_says_so(seconds: float) -> None:
    graph = make_graph(random_facts(8, 2000, 20, 20_000), 2000, 20)
    found = missing_links(predictor_on(graph), 50, seconds=seconds)
    assert not found.complete
    assert found.scored <= found.proposed
    assert len(found) == min(50, found.scored)
    facts = set(triplets_of(graph.triplets))
    assert not facts & set(triplets_of(found))
    assert len(set(triplets_of(found))) == len(found)


@pytest.mark.parametrize(("k", "relation", "says"), [(0, None, "at least 1"), (5, 3, "no relation number 3")])
def test_what_cannot_be_asked(k: int, relation: int | None, says: str) -> None:
    with pytest.raises(QueryError, match=says):
        missing_links(predictor_on(make_graph([(0, 0, 1)], 2, 3)), k, relation=relation)


def test_broken_weights_are_told() -> None:
    predictor = predictor_on(make_graph(random_facts(0, 9, 1, 20), 9, 1))
    with torch.no_grad():
        next(iter(predictor.members[0].network.score_function.parameters())).fill_(torch.nan)
    with pytest.raises(QueryError, match="not numbers"):
        missing_links(predictor, 5)


def test_of_a_trained_run(things_run: Run, friends_run: Run) -> None:
    """What is listed is what the predictor answers to the same query."""
    for run in (things_run, friends_run):
        predictor = make_predictor(run.graph, [run.folder], [run.dataset])
        found = missing_links(predictor, 30, seconds=HOUR)
        assert len(found) == 30
        for i, (u, q, v) in enumerate(triplets_of(found)):
            ranking = predictor.tails(u, q, 10_000)
            assert ranking.probability[ranking.candidate == v] == found.probability[i]
            assert not ranking.known[ranking.candidate == v]


def test_several_networks_that_number_relations_anew() -> None:
    """The second network learned the same relations in another order; the probabilities are averaged."""
    facts = random_facts(9, 12, 3, 40)
    graph, other = make_graph(facts, 12, 3), [2, 0, 1]
    renumbered = make_graph([(h, other[r], t) for h, r, t in facts], 12, 3)
    names = Vocabulary(["1", "2", "0"])  # relation r of the graph is other[r] there
    renumbered = Graph("g", "knowledge", renumbered.entities, names, renumbered.triplets)
    networks = make_network(graph, 0), make_network(graph, 1)
    members = [Member(network, UNCALIBRATED, g) for network, g in zip(networks, (graph, renumbered), strict=True)]
    predictor = Predictor(graph, members)
    source, relation = np.array([3, 5, 3], dtype=np.int32), np.array([0, 4, 2], dtype=np.int32)
    target = np.tile(np.arange(12, dtype=np.int32), (3, 1))
    order, probability = predictor.score(source, relation, target)
    np.testing.assert_array_equal(order, probability)
    for i, (u, q) in enumerate(zip(source.tolist(), relation.tolist(), strict=True)):
        ranking = predictor.tails(u, q, 12, exclude_known=True)
        np.testing.assert_array_equal(probability[i, ranking.candidate], ranking.probability)
    found = missing_links(predictor, 20, seconds=HOUR)
    np.testing.assert_array_equal(found.score, found.probability)
    assert (np.diff(found.probability) <= 0).all()


def planted(seed: int) -> tuple[list[Fact], list[Fact]]:
    """Facts with the rule 1(x, z), 2(z, y) => 0(x, y), a fifth of what follows from it taken away, and noise."""
    random = np.random.default_rng(seed)
    people, cities, countries = range(400), range(400, 460), range(460, 480)
    born = [(x, 1, int(random.choice(cities))) for x in people]
    lies = [(z, 2, int(random.choice(countries))) for z in cities]
    country = {z: y for z, _, y in lies}
    follows = [(x, 0, country[z]) for x, _, z in born]
    noise = [(int(random.choice(people)), 3, int(random.choice(people))) for _ in range(800)]
    noise += [(x, 0, int(random.choice(countries))) for x in random.choice(people, 20).tolist()]
    drawn = random.permutation(len(follows))
    removed = {follows[i] for i in drawn[: len(follows) // 5]} - set(noise)
    return [*born, *lies, *noise, *(fact for fact in follows if fact not in removed)], sorted(removed)


@pytest.mark.parametrize("seed", range(3))
def test_a_planted_rule_is_found(seed: int) -> None:
    facts, removed = planted(seed)
    best = propose(make_graph(facts, 480, 4), range(4), until=NEVER).best(2 * len(removed))
    assert len(removed) > 70
    assert len(set(removed) & set(triplets_of(best))) >= 0.8 * len(removed)


def test_more_paths_promise_more() -> None:
    """Friends of friends: within a group everyone has many common friends, between the groups few."""
    random = np.random.default_rng(0)
    edges = [(i, 0, j) for g in range(6) for i in range(20 * g, 20 * g + 20) for j in range(i + 1, 20 * g + 20)]
    kept = [edge for edge in edges if random.random() < 0.6]
    between = [(u, 0, v) for u, _, v in random_facts(0, 120, 1, 60) if u // 20 != v // 20]
    candidates = propose(make_graph([*kept, *between], 120, 1, "homogeneous"), [0], until=NEVER)
    missing = set(edges) - set(kept)
    assert len(set(triplets_of(candidates.best(len(missing)))) & missing) > 0.95 * len(missing)


def paths_between(
    edges: set[Fact], path: tuple[int, ...], pattern: tuple[int, ...], target: int
) -> Iterator[tuple[int, ...]]:
    """The relations of every path of at most three edges that goes on to a target and repeats no node."""
    for u, r, v in edges:
        if u == path[-1] and v == target:
            yield (*pattern, r)
        elif u == path[-1] and v not in path and len(pattern) < 2:
            yield from paths_between(edges, (*path, v), (*pattern, r), target)


@given(data=st.data())
@pytest.mark.parametrize("kind", ["knowledge", "homogeneous"])
def test_connecting_patterns_against_brute_force(kind: Any, data: st.DataObject) -> None:
    nodes, relations = data.draw(st.integers(1, 7)), 2 if kind == "knowledge" else 1
    node, relation = st.integers(0, nodes - 1), st.integers(0, relations - 1)
    facts = data.draw(st.lists(st.tuples(node, relation, node), min_size=1, max_size=16))
    asked = data.draw(relation)
    back = relations if kind == "knowledge" else 0
    edges = {edge for h, r, t in facts for edge in ((h, r, t), (t, r + back, h))}
    supports: Counter[tuple[tuple[int, bool], ...]] = Counter()
    chosen = [(h, t) for h, r, t in facts if r == asked]
    for h, t in chosen:
        if h != t:
            patterns = set(paths_between(edges, (h,), (), t)) - {(asked,)}
            supports.update(tuple((r % relations, r >= relations) for r in pattern) for pattern in patterns)
    head, tail = (np.array([pair[i] for pair in chosen], dtype=np.int64) for i in range(2))
    found = ConnectingPatterns(make_graph(facts, nodes, relations, kind)).of(
        head, tail, asked, np.random.default_rng(0)
    )
    assert dict(found) == supports
    assert [support for _, support in found] == sorted(supports.values(), reverse=True)


@pytest.mark.parametrize("exhaustive", [True, False])
def test_who_has_one_answer_misses_none(exhaustive: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of four cities have their one country; each country has its one capital; 'near' knows no such limit."""
    if not exhaustive:
        monkeypatch.setattr(module, "_SURE", 0.0)
    in_country, capital, near = 0, 1, 2
    homeless = set(range(3, 100, 4))
    facts = [(city, in_country, 100 + city // 4) for city in range(100) if city not in homeless]
    facts += [(100 + i, capital, 4 * i) for i in range(24)]  # the last country has none
    facts += [(city, near, (city + step) % 100) for city in range(100) for step in (1, 2)]
    found = triplets_of(missing_links(predictor_on(make_graph(facts, 125, 3)), 100_000, seconds=HOUR))
    heads = {relation: {head for head, r, _ in found if r == relation} for relation in range(3)}
    assert heads[in_country] & set(range(100)) == homeless
    assert heads[capital] & set(range(100, 125)) <= {124}
    assert not {tail for _, relation, tail in found if relation == capital} & set(range(0, 96, 4))  # capitals already
    assert heads[near] >= set(range(100))
