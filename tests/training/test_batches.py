"""Batches against brute force: every link once an epoch, both ways, with strict negatives."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from nbfnet.config import SamplingConfig, TrainingConfig
from nbfnet.distributed import Team
from nbfnet.errors import ConfigError, TrainingError
from nbfnet.training.batches import gather_relations, make_batches


def facts_of(graph):
    """The facts as (head, relation, tail), and those of the inverse relations."""
    given = graph.triplets
    facts = list(zip(given.head.tolist(), given.relation.tolist(), given.tail.tolist(), strict=True))
    return facts, {(t, r + graph.num_relations, h) for h, r, t in facts}


def asked_of(batch, num_relations):
    """Which facts the queries of a knowledge graph's batch ask for, and whether for the head."""
    asked, answers = [], batch.target[:, 0].tolist()
    for source, relation, answer in zip(batch.source.tolist(), batch.relation.tolist(), answers, strict=True):
        backwards = relation >= num_relations
        fact = (answer, relation - num_relations, source) if backwards else (source, relation, answer)
        asked.append((fact, backwards))
    return asked


def epoch_of(graph, epoch=0, **config):
    epochs = make_batches(graph, TrainingConfig(**config))
    return [epochs.batch(epoch, number) for number in range(epochs.length)]


def same(left, right):
    pairs = ((left.source, right.source), (left.relation, right.relation), (left.target, right.target))
    return left.links == right.links and all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("batch_size", [1, 7, 8, 25, 100])
def test_every_fact_once_an_epoch_half_of_a_batch_each_way(knowledge, batch_size):
    graph = knowledge.train
    facts, _ = facts_of(graph)
    for epoch in range(3):
        batches = epoch_of(graph, epoch, batch_size=batch_size, negatives=4)
        assert [batch.links for batch in batches[:-1]] == [batch_size] * (len(batches) - 1)
        assert 1 <= batches[-1].links <= batch_size
        asked = [asked_of(batch, graph.num_relations) for batch in batches]
        assert Counter(fact for part in asked for fact, _ in part) == Counter(facts)
        for part in asked:
            assert sum(backwards for _, backwards in part) - len(part) // 2 in {0, len(part) % 2}


@pytest.mark.parametrize("batch_size", [1, 8])
def test_every_fact_is_asked_both_ways_sooner_or_later(knowledge, batch_size):
    graph = knowledge.train
    asked = [pair for e in range(20) for b in epoch_of(graph, e, batch_size=batch_size) for pair in asked_of(b, 2)]
    assert set(asked) == {(fact, backwards) for fact in facts_of(graph)[0] for backwards in (False, True)}


def test_negatives_are_no_known_facts(knowledge):
    graph = knowledge.train
    facts, inverses = facts_of(graph)
    known, seen = {*facts, *inverses}, set()
    for epoch in range(5):
        for batch in epoch_of(graph, epoch, batch_size=8, negatives=300):
            assert batch.target.shape == (batch.links, 301)
            for source, relation, targets in zip(batch.source, batch.relation, batch.target, strict=True):
                queries = [(int(source), int(relation), int(node)) for node in targets]
                assert queries[0] in known
                assert not known & set(queries[1:])
                seen |= set(queries[1:])
    # ... and nothing else is spared: every other answer of a query that was asked is drawn some time.
    asked = {(source, relation) for source, relation, _ in seen}
    every = {(source, relation, node) for source, relation in asked for node in range(graph.num_nodes)}
    assert every - known == seen


@pytest.mark.parametrize(("negatives", "typed"), [(12, 9), (32, 24), (3, 3), (1, 1)])
def test_three_of_four_negatives_have_the_type_of_the_answer(graph_of, rows_of, negatives, typed):
    types = [0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, -1, -1, -1, -1, -1]
    graph = graph_of(16, 2, rows_of(3, 16, 2, 20), types=types)
    facts, inverses = facts_of(graph)
    known = {*facts, *inverses}
    others = set()
    for batch in epoch_of(graph, batch_size=6, negatives=negatives):
        of_target = np.array(types)[batch.target]
        assert (of_target[:, : 1 + typed] == of_target[:, :1]).all()
        others |= set((of_target[:, 1 + typed :] - of_target[:, :1]).ravel().tolist())
        for source, relation, targets in zip(batch.source, batch.relation, batch.target[:, 1:], strict=True):
            assert not known & {(int(source), int(relation), int(node)) for node in targets}
    assert (len(others) > 3) == (negatives > typed)  # the others are of any type


def test_what_has_no_wrong_answer_is_asked_the_other_way(graph_of):
    """Node 0 is linked to everything: (0, r, ?) has no negative, (?, r, v) has."""
    graph = graph_of(6, 1, [[0, 0, v] for v in range(6)])
    batches = epoch_of(graph, batch_size=4, negatives=3)
    asked = [pair for batch in batches for pair in asked_of(batch, 1)]
    assert Counter(asked) == Counter({((0, 0, v), True): 1 for v in range(6)})
    backwards = graph_of(6, 1, [[v, 0, 0] for v in range(6)])
    asked = [pair for batch in epoch_of(backwards, batch_size=4) for pair in asked_of(batch, 1)]
    assert Counter(asked) == Counter({((v, 0, 0), False): 1 for v in range(6)})


def test_what_has_no_wrong_answer_either_way_is_left_out(graph_of):
    """0 and 1 are alone of their types, so that nothing could stand in their places; 2, 3, 4 share one."""
    graph = graph_of(5, 1, [[0, 0, 1], [2, 0, 3], [0, 0, 2]], types=[0, 1, 2, 2, 2])
    asked = [pair for batch in epoch_of(graph, batch_size=1) for pair in asked_of(batch, 1)]
    assert sorted(fact for fact, _ in asked) == [(0, 0, 2), (2, 0, 3)]
    assert ((0, 0, 2), True) not in asked  # the head has no other of its type
    with pytest.raises(TrainingError, match="no training fact has a wrong answer"):
        epoch_of(graph_of(2, 1, [[0, 0, 1]], types=[0, 1]))


def test_graphs_without_a_negative(graph_of):
    complete = [[u, 0, v] for u in range(4) for v in range(4)]
    with pytest.raises(TrainingError, match="16 facts, 4 entities"):
        epoch_of(graph_of(4, 1, complete))
    with pytest.raises(TrainingError, match="joins every pair of its 4 nodes"):
        epoch_of(graph_of(4, 1, complete, kind="homogeneous"))
    for kind in ("knowledge", "homogeneous"):
        with pytest.raises(TrainingError, match="no training facts"):
            epoch_of(graph_of(4, 1, [], kind=kind))


@pytest.mark.parametrize("batch_size", [1, 7, 100])
def test_every_edge_of_a_homogeneous_graph_against_pairs_without_one(homogeneous, batch_size):
    graph = homogeneous.train
    edges = list(zip(graph.triplets.head.tolist(), graph.triplets.tail.tolist(), strict=True))
    joined = {frozenset(edge) for edge in edges}
    for epoch in range(3):
        asked = []
        for batch in epoch_of(graph, epoch, batch_size=batch_size, negatives=5):
            assert batch.target.shape == (batch.links * 6, 1)
            assert (batch.relation == 0).all()
            u, v = batch.source.reshape(-1, 6), batch.target.reshape(-1, 6)
            asked += zip(u[:, 0].tolist(), v[:, 0].tolist(), strict=True)
            negatives = {frozenset(pair) for pair in np.stack([u[:, 1:], v[:, 1:]], axis=2).reshape(-1, 2).tolist()}
            assert all(len(pair) == 2 for pair in negatives)
            assert not joined & negatives
        assert Counter(asked) == Counter(edges)


@pytest.mark.parametrize("kind", ["knowledge", "homogeneous"])
def test_a_batch_depends_on_seed_epoch_and_number_alone(kind, request):
    graph = request.getfixturevalue(kind).train
    config = TrainingConfig(batch_size=6, negatives=3, seed=5)
    forwards = [[make_batches(graph, config).batch(epoch, n) for n in range(4)] for epoch in range(2)]
    epochs = make_batches(graph, config)
    for epoch in (1, 0):
        for number in (3, 0, 2, 1):
            assert same(epochs.batch(epoch, number), forwards[epoch][number])
    assert not same(forwards[0][0], forwards[1][0])
    assert not same(forwards[0][0], make_batches(graph, config.model_copy(update={"seed": 6})).batch(0, 0))


@pytest.mark.parametrize("kind", ["knowledge", "homogeneous"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_the_parts_of_a_team_are_the_batch(kind, size, request):
    for batch in epoch_of(request.getfixturevalue(kind).train, batch_size=6, negatives=3):
        parts = [batch.take(Team(rank, size).share(batch.links)) for rank in range(size)]
        assert sum(part.links for part in parts) == batch.links
        for name in ("source", "relation", "target"):
            joined = np.concatenate([getattr(part, name) for part in parts])
            assert np.array_equal(joined, getattr(batch, name))


def test_an_epoch_of_fewer_batches_draws_other_links_each_time(knowledge):
    graph = knowledge.train
    every = epoch_of(graph, batch_size=4)
    some = [epoch_of(graph, epoch=epoch, batch_size=4, batches_per_epoch=2) for epoch in (0, 1)]
    assert [len(batches) for batches in some] == [2, 2] and len(every) > 2
    assert all(same(a, b) for a, b in zip(some[0], every, strict=False))
    first, second = ({link for batch in batches for link, _ in asked_of(batch, 2)} for batches in some)
    assert first != second
    assert len(epoch_of(graph, batch_size=4, batches_per_epoch=1000)) == len(every)


@pytest.mark.parametrize("answers", [2, 3, 100])
def test_two_epochs_ask_every_link_both_ways(knowledge, answers):
    graph = knowledge.train
    facts, _ = facts_of(graph)
    asked = [
        [pair for batch in epoch_of(graph, epoch, batch_size=7, answers=answers) for pair in asked_of(batch, 2)]
        for epoch in range(4)
    ]
    both = Counter((fact, backwards) for fact in facts for backwards in (False, True))
    for first, second in ((0, 1), (2, 3)):
        assert len(asked[first]) == len(asked[second]) == len(facts)
        assert Counter(asked[first] + asked[second]) == both
    assert asked[0] != asked[2]


@pytest.mark.parametrize("answers", [2, 5, 10])
def test_answers_of_a_question_are_asked_together(graph_of, answers):
    """A hub has ten answers, and each of these has the hub alone: their questions are many, the hub's are few."""
    graph = graph_of(20, 1, [[0, 0, v] for v in range(3, 13)])
    for seed in range(5):
        order = [b for e in (0, 1) for b in epoch_of(graph, e, batch_size=1, answers=answers, seed=seed)]
        places = np.array([place for place, batch in enumerate(order) if batch.source[0] == 0])
        groups = places.reshape(-1, answers)
        assert (groups == groups[:, :1] + np.arange(answers)).all()
        whole = [b for e in (0, 1) for b in epoch_of(graph, e, batch_size=100, answers=answers, seed=seed)]
        for batch in whole:  # which draws the hub's negatives once
            assert len(np.unique(batch.target[batch.source == 0, 1:], axis=0)) <= 1


def test_answers_that_are_asked_together_have_strict_negatives_of_their_types(graph_of, rows_of):
    types = [0, 0, 0, 1, 1, 1, 1, 1, 2, 2, 2, -1, -1, -1, -1, -1]
    graph = graph_of(16, 2, rows_of(3, 16, 2, 60), types=types)
    facts, inverses = facts_of(graph)
    known = {*facts, *inverses}
    for batch in epoch_of(graph, batch_size=30, negatives=8, answers=16):
        of_target = np.array(types)[batch.target]
        assert (of_target[:, :7] == of_target[:, :1]).all()
        for source, relation, targets in zip(batch.source, batch.relation, batch.target, strict=True):
            queries = [(int(source), int(relation), int(node)) for node in targets]
            assert queries[0] in known
            assert not known & set(queries[1:])


def test_answers_are_asked_together_of_knowledge_graphs_only(homogeneous):
    with pytest.raises(ConfigError, match=r"training\.answers = 4.*homogeneous"):
        epoch_of(homogeneous.train, answers=4)


@pytest.mark.parametrize("answers", [1, 3])
@pytest.mark.parametrize("relations", [1, 2, 7, 100])
def test_links_gathered_by_relation_are_the_same_links(graph_of, rows_of, answers, relations):
    graph = graph_of(30, 5, rows_of(4, 30, 5, 150))
    facts, _ = facts_of(graph)
    settings = {"batch_size": 8, "answers": answers, "relations": relations}
    asked = [[pair for b in epoch_of(graph, e, **settings) for pair in asked_of(b, 5)] for e in (0, 1)]
    if answers == 1:
        assert all(Counter(fact for fact, _ in part) == Counter(facts) for part in asked)
    else:
        both = Counter((fact, backwards) for fact in facts for backwards in (False, True))
        assert Counter(asked[0] + asked[1]) == both
    assert asked[0] != asked[1]
    again = epoch_of(graph, 1, **settings)
    assert all(same(a, b) for a, b in zip(again, epoch_of(graph, 1, **settings), strict=True))


@pytest.mark.parametrize(("relations", "answers"), [(1, 1), (2, 1), (4, 1), (1, 4), (2, 4)])
def test_a_batch_asks_about_few_relations(graph_of, rows_of, relations, answers):
    """As many as stated, but in batches that are made of what is left: there are as many relations as fill them."""
    graph = graph_of(60, 6, rows_of(7, 60, 6, 1200))
    batches = epoch_of(graph, batch_size=16, relations=relations, answers=answers)
    ways = 2 if (relations, answers) == (1, 1) else 1  # half of a batch asks for heads
    few = [len(np.unique(batch.relation)) <= relations * ways for batch in batches]
    left = (2 if answers > 1 else 1) * 6 * (16 // relations - 1)  # links, at most
    assert sum(few) >= len(batches) - -(-left // 16) - 1
    every = epoch_of(graph, batch_size=16, answers=answers)
    assert np.mean([len(np.unique(batch.relation)) for batch in every]) > 4
    kinds = {tuple(np.unique(batch.relation % 6)) for batch in batches}
    assert len(kinds) >= 6  # which relations come together is random


def test_pieces_of_relations_make_batches():
    relation = np.array([0] * 11 + [1] * 5 + [2] * 4)
    links = gather_relations(np.arange(20), relation, 4, 2, np.random.default_rng(0))
    assert sorted(links.tolist()) == list(range(20))
    batches = [relation[links[i : i + 4]] for i in range(0, 20, 4)]
    assert sum(len(np.unique(batch)) <= 2 for batch in batches) >= 4
    pieces = [tuple(piece) for batch in batches for piece in batch.reshape(-1, 2)]
    assert sum(len(set(piece)) == 1 for piece in pieces) == 9  # and one of two relations that were left


def test_a_sampled_graph_gathers_no_relations(graph_of, rows_of):
    graph = graph_of(30, 5, rows_of(4, 30, 5, 150))
    with pytest.raises(ConfigError, match=r"training\.relations = 2.*sample of its own"):
        make_batches(graph, TrainingConfig(relations=2), SamplingConfig(hops=1))
