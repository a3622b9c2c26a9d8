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


def test_inductive_filter_is_the_facts_that_the_links_are_asked_on(inductive):
    test = RankingProtocol.of(inductive, "test")
    assert rows_known(test.filter) == rows_of(inductive.test_graph.triplets)
    assert rows_known(test.everything) == rows_of(inductive.test_graph.triplets, inductive.test)
    assert test.facts is inductive.test_graph is facts_of(inductive, "test")
    assert test.text.endswith("filter: the facts of the test graph, and the answer itself")
    valid = RankingProtocol.of(inductive, "valid")
    assert rows_known(valid.filter) == rows_of(inductive.train.triplets)
    assert valid.facts is inductive.train is facts_of(inductive, "valid")


def test_a_split_without_links(knowledge):
    empty = dataclasses.replace(knowledge, valid=Triplets.empty())
    with pytest.raises(EvaluationError, match="tiny: there are no valid links"):
        RankingProtocol.of(empty, "valid")
