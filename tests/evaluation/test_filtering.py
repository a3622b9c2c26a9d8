from __future__ import annotations

import dataclasses

import pytest

from nbfnet.errors import EvaluationError
from nbfnet.evaluation.filtering import RankingProtocol, facts_of
from nbfnet.graph.triplets import Triplets


def rows_of(*parts):
    columns = ((part.head.tolist(), part.relation.tolist(), part.tail.tolist()) for part in parts)
    return {row for head, relation, tail in columns for row in zip(head, relation, tail, strict=True)}


def rows_known(known):
    found = ((u, q, known.of_query(u, q).tolist()) for u in range(known.num_nodes) for q in range(known.num_relations))
    return {(u, q, v) for u, q, answers in found for v in answers}


@pytest.mark.parametrize("split", ["valid", "test"])
def test_transductive_filter_is_everything(knowledge, split):
    protocol = RankingProtocol.of(knowledge, split)
    everything = rows_of(knowledge.train.triplets, knowledge.valid, knowledge.test)
    assert rows_known(protocol.filter) == rows_known(protocol.everything) == everything
    assert protocol.facts is knowledge.train
    assert protocol.links is getattr(knowledge, split)
    assert protocol.text.endswith("filter: train + valid + test")


def test_inductive_filter_is_all_that_is_known_of_the_graph_that_is_asked(inductive):
    test = RankingProtocol.of(inductive, "test")
    known = rows_of(inductive.test_graph.triplets, inductive.test, inductive.test_graph_valid)
    assert rows_known(test.filter) == rows_known(test.everything) == known
    assert test.facts is inductive.test_graph is facts_of(inductive, "test")
    assert test.text.endswith("filter: facts + valid + test of the test graph")
    valid = RankingProtocol.of(inductive, "valid")
    assert rows_known(valid.filter) == rows_of(inductive.train.triplets, inductive.valid)
    assert valid.facts is inductive.train is facts_of(inductive, "valid")


def test_the_paper_filters_inductive_links_by_the_facts_alone(inductive, knowledge):
    test = RankingProtocol.of(inductive, "test", filtered_by="facts")
    assert rows_known(test.filter) == rows_of(inductive.test_graph.triplets)
    assert rows_known(test.everything) > rows_known(test.filter)
    assert test.text.endswith("filter: the facts of the test graph, and the answer itself")
    same = RankingProtocol.of(knowledge, "test", filtered_by="facts")
    assert rows_known(same.filter) == rows_known(RankingProtocol.of(knowledge, "test").filter)


def test_types_say_who_is_ranked(typed, knowledge):
    protocol = RankingProtocol.of(typed, "test")
    assert protocol.possible is not None and "of the types that the relation has on that side" in protocol.text
    assert RankingProtocol.of(typed, "test", any_type=True).possible is None
    assert RankingProtocol.of(knowledge, "test").possible is None


def test_a_split_without_links(knowledge):
    empty = dataclasses.replace(knowledge, valid=Triplets.empty())
    with pytest.raises(EvaluationError, match="tiny: there are no valid links"):
        RankingProtocol.of(empty, "valid")
