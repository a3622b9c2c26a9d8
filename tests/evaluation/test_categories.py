from __future__ import annotations

import os

import pytest

from nbfnet.evaluation.evaluator import CATEGORIES, relation_categories
from nbfnet.evaluation.filtering import RankingProtocol
from nbfnet.graph.loading import load
from nbfnet.sampling.known_answers import KnownAnswers


def test_by_hand(triplets_of):
    rows = [
        *[(0, 0, 1), (2, 0, 3)],  # one tail per head, one head per tail
        *[(0, 1, 1), (0, 1, 2)],  # 2 tails per head
        *[(1, 2, 0), (2, 2, 0), (3, 2, 0)],  # 3 heads per tail
        *[(0, 3, 0), (0, 3, 1), (1, 3, 0), (1, 3, 1)],  # 2 and 2
        *[(0, 5, 1), (0, 5, 2), (3, 5, 4)],  # 3 facts of 2 heads: exactly 1.5 tails per head
        *[(0, 6, 1)] * 3,  # one fact, listed three times
    ]
    known = KnownAnswers(triplets_of(rows), num_nodes=5, num_relations=7)
    expected = ["1-to-1", "1-to-N", "N-to-1", "N-to-N", None, "1-to-N", "1-to-1"]
    assert relation_categories(known) == expected


@pytest.mark.skipif("NBFNET_DATA" not in os.environ, reason="NBFNET_DATA is not set")
def test_fb15k_237():
    """The test triplets of each category, as other papers count them."""
    dataset = load("fb15k-237")
    categories = relation_categories(RankingProtocol.of(dataset, "test").everything)
    of_link = [categories[r] for r in dataset.test.relation.tolist()]
    counts = [of_link.count(category) for category in CATEGORIES]
    assert sum(counts) == 20_466
    assert counts[:2] == [192, 1_293]
