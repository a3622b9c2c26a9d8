"""Asking by name: every form of a query, what restricts its answers, and what is a mistake."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from nbfnet.errors import NbfnetError, QueryError, UnknownNameError
from nbfnet.evaluation.scorer import NetworkScorer

HUB, PART = "北京 市", "has part"


def facts_of(run):
    graph = run.graph
    columns = (graph.triplets.head.tolist(), graph.triplets.relation.tolist(), graph.triplets.tail.tolist())
    return {(graph.entities[u], graph.relations[q], graph.entities[v]) for u, q, v in zip(*columns, strict=True)}


def names(answers):
    return [answer.name for answer in answers]


def test_tails_heads_and_relations(things_run):
    run, facts, entities = things_run, facts_of(things_run), list(things_run.graph.entities)
    tails = run.predict(HUB, PART, k=99, any_type=True)
    assert (tails.asked, tails.head, tails.relation, tails.tail) == ("tail", HUB, PART, None)
    assert sorted(names(tails)) == sorted(set(entities) - {HUB})  # no fact joins a node with itself
    assert {a.name for a in tails if a.known} == {t for h, r, t in facts if (h, r) == (HUB, PART)} != set()
    heads = run.predict(None, PART, "a,b", k=99, any_type=True)
    assert (heads.asked, heads.head, heads.tail) == ("head", None, "a,b")
    assert {a.name for a in heads if a.known} == {h for h, r, t in facts if (r, t) == (PART, "a,b")} != set()
    relations = run.predict(HUB, None, "bell\x07ring")
    assert relations.asked == "relation"
    assert sorted(names(relations)) == sorted(run.graph.relations)
    assert [a.name for a in relations if a.known] == ["next to"]


def test_heads_are_asked_by_the_inverse_relation(things_run):
    graph = things_run.graph
    scorer = NetworkScorer(things_run.folder.network(things_run.dataset), graph.message_csr)
    q, v = graph.relations.id("next to"), graph.entities.id(HUB)
    scores = scorer.score_all(torch.tensor([v]), torch.tensor([q + graph.num_relations]))[0].numpy()
    expected = [graph.entities[i] for i in np.lexsort((np.arange(len(scores)), -scores)).tolist() if i != v]
    answers = things_run.predict(None, "next to", HUB, k=99, any_type=True, exclude_known=True)
    known = {h for h, r, t in facts_of(things_run) if (r, t) == ("next to", HUB)}
    assert names(answers) == [name for name in expected if name not in known]


@pytest.mark.parametrize(
    ("head", "relation", "tail"), [(HUB, PART, None), (None, PART, "a,b"), (HUB, None, "Zoë, née X")]
)
def test_known_facts_are_left_out_and_nothing_else(things_run, head, relation, tail):
    every = things_run.predict(head, relation, tail, k=99)
    left = things_run.predict(head, relation, tail, k=99, exclude_known=True)
    assert [(a.name, a.probability) for a in every if not a.known] == [(a.name, a.probability) for a in left]
    assert not any(a.known for a in left)
    assert [a.rank for a in left] == list(range(1, len(left) + 1))
    assert [a.rank for a in every if not a.known] == [a.rank for a in left]


def test_k_cuts_the_list(things_run):
    for options in ({"any_type": True}, {}):
        every = names(things_run.predict(HUB, PART, k=10**99, exclude_known=True, **options))
        for k in (1, 2, 17, len(every) - 1, len(every)):
            assert names(things_run.predict(HUB, PART, k=k, exclude_known=True, **options)) == every[:k]


def test_known_facts_are_listed_whatever_their_rank(things_run):
    every = things_run.predict(HUB, PART, k=99)
    known = [a for a in every if a.known]
    assert len(known) == 9 and known[-1].rank > 9  # or this test proves nothing
    for k in (1, 3, 9, 10):
        answers = things_run.predict(HUB, PART, k=k)
        assert [a for a in answers if not a.known] == [a for a in every if not a.known and a.rank <= k]
        assert len([a for a in answers if a.known]) + answers.more_known == 9
        assert [a.rank for a in answers if not a.known] == list(range(1, k + 1))
        assert answers.to_dict()["more_known"] == max(0, 9 - k)


def test_answers_have_a_type_that_the_relation_has_on_that_side(things_run):
    types = dict.fromkeys(things_run.graph.entities, "none")
    for name, kind in zip(things_run.graph.entities, things_run.graph.types.of_entity.tolist(), strict=True):
        types[name] = things_run.graph.types.names[kind] if kind >= 0 else "none"
    greater = 'größer "als"'
    for query, allowed in (
        ({"head": HUB, "relation": PART}, {"leaf", "none"}),
        ({"relation": PART, "tail": "a,b"}, {"hub", "none"}),
        ({"head": HUB, "relation": "next to"}, {"hub", "leaf", "none"}),  # a valid link has a leaf there
        ({"relation": greater, "tail": "leaf 9"}, {"leaf", "none"}),
    ):
        answers = things_run.predict(**query, k=99)
        source = query.get("head", query.get("tail"))
        assert {types[a.name] for a in answers} == allowed
        assert set(names(answers)) == {n for n, kind in types.items() if kind in allowed and n != source}
        assert {types[n] for n in names(things_run.predict(**query, k=99, any_type=True))} == {"hub", "leaf", "none"}


def test_entities_seen_in_that_place(things_run):
    facts = facts_of(things_run)
    answers = things_run.predict(HUB, PART, k=99, seen=True)
    assert set(names(answers)) == {t for _, r, t in facts if r == PART}
    heads = things_run.predict(None, PART, "a,b", k=99, seen=True)
    assert set(names(heads)) == {h for h, r, _ in facts if r == PART}


def test_types_and_candidates(things_run):
    every = names(things_run.predict(HUB, PART, k=99, any_type=True))
    hubs = ['Ann "Nan" O\'Neil', "北京 市", "bell\x07ring", "Zoë, née X"]
    assert names(things_run.predict(HUB, PART, k=99, types=["hub"])) == [n for n in every if n in hubs]
    typed = names(things_run.predict(HUB, PART, k=99, types=["hub", "leaf"]))
    assert typed == [n for n in every if not n.startswith("alone")]
    listed = ["leaf 9", "alone 3", HUB, "leaf 9"]
    assert names(things_run.predict(HUB, PART, candidates=listed)) == [n for n in every if n in listed]
    assert names(things_run.predict(HUB, PART, candidates=listed, types=["leaf"])) == ["leaf 9"]
    assert (
        names(things_run.predict(HUB, PART, candidates=iter(listed), k=1))[:1] == [n for n in every if n in listed][:1]
    )
    assert names(things_run.predict(HUB, PART, candidates=["Fifth leaf"])) == ["leaf 5"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"candidates": []}, "no entity fits"),
        ({"candidates": ["alone 1"], "types": ["hub"]}, "no entity fits"),
        (
            {"candidates": ["alone 1", "x", "leaf 3", "y"]},
            "2 of 4 candidates are not in the graph:\n  unknown entity 'x'",
        ),
        ({"head": 7}, "give a name as text, for example '7'"),
        ({"head": ["a"]}, "give a name as text"),
        ({"types": ["hubb"]}, "did you mean 'hub'"),
        ({"candidates": ["leaf 99"]}, "unknown entity 'leaf 99'"),
        ({"k": 0}, "at least 1"),
        ({"tail": "a,b"}, "exactly one"),
        ({"relation": None}, "exactly one"),
        ({"head": None}, "exactly one"),
        ({"head": "Bejing"}, "unknown entity 'Bejing'"),
        ({"head": "laef 20"}, "did you mean 'leaf 20'"),
        ({"relation": "has parts"}, "unknown relation 'has parts'; did you mean 'has part'"),
        ({"head": "Twin"}, "use one of 'leaf 3', 'leaf 4'"),
        ({"head": ""}, "unknown entity ''"),
    ],
)
def test_mistakes(things_run, options, says):
    with pytest.raises(NbfnetError) as raised:
        things_run.predict(**({"head": HUB, "relation": PART} | options))
    assert says in str(raised.value)


def test_a_relation_has_no_type(things_run):
    for restricted in ({"types": ["hub"]}, {"candidates": ["a,b"]}, {"seen": True}):
        with pytest.raises(QueryError, match="choose entities"):
            things_run.predict(HUB, None, "a,b", **restricted)


def test_readable_names_ask_and_are_shown(things_run):
    by_label, by_name = things_run.predict("Fifth leaf", PART), things_run.predict("leaf 5", PART)
    assert by_label == by_name
    assert by_label.head == "leaf 5"
    shown = {a.name: a.label for a in things_run.predict(HUB, PART, k=99, any_type=True)}
    assert (shown["leaf 3"], shown["leaf 4"], shown["leaf 5"], shown["leaf 6"]) == (
        "Twin",
        "Twin",
        "Fifth leaf",
        "leaf 6",
    )


def test_a_homogeneous_graph_has_no_direction(friends_run):
    relation = friends_run.graph.relations[0]
    facts = {frozenset((h, t)) for h, _, t in facts_of(friends_run)}
    for name in ("a0", "b leaf 3"):
        forward, backward = friends_run.predict(name, k=99), friends_run.predict(tail=name, k=99)
        assert [(a.name, a.probability) for a in forward] == [(a.name, a.probability) for a in backward]
        assert (forward.asked, backward.asked) == ("tail", "head")
        assert friends_run.predict(name, relation, k=99) == forward
        assert {a.name for a in forward if a.known} == {n for n in friends_run.graph.entities if {n, name} in facts}
        assert not any(a.known for a in friends_run.predict(name, k=99, exclude_known=True))


def test_mistakes_about_a_homogeneous_graph(friends_run):
    with pytest.raises(UnknownNameError, match="unknown relation 'likes'"):
        friends_run.predict("a0", "likes")
    with pytest.raises(QueryError, match="exactly one"):
        friends_run.predict("a0", tail="a1")
    with pytest.raises(QueryError, match="no types"):
        friends_run.predict("a0", types=["person"])
