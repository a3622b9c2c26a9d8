from __future__ import annotations

from math import comb

import numpy as np
import pytest

from nbfnet.evaluation.metrics import RankMetrics, sampled_hits
from nbfnet.evaluation.ranks import Ranks


def ranks_of(better, tied, negatives):
    return Ranks(*(np.array(part, dtype=np.int64) for part in (better, tied, negatives)))


def test_by_hand():
    # realistic ranks 1, 2, 3.5, 11
    ranks = ranks_of([0, 1, 2, 10], [0, 0, 1, 0], [100, 100, 100, 100])
    found = RankMetrics.of(ranks, "realistic").to_dict()
    assert list(found) == ["mr", "mrr", "hits@1", "hits@3", "hits@10", "hits@10_50"]
    assert found["mr"] == pytest.approx(17.5 / 4)
    assert found["mrr"] == pytest.approx((1 + 1 / 2 + 1 / 3.5 + 1 / 11) / 4)
    assert (found["hits@1"], found["hits@3"], found["hits@10"]) == (0.25, 0.5, 0.75)
    optimistic, pessimistic = (RankMetrics.of(ranks, ties) for ties in ("optimistic", "pessimistic"))
    assert (optimistic.hits_3, pessimistic.hits_3) == (0.75, 0.5)
    assert (optimistic.mr, pessimistic.mr) == (17 / 4, 18 / 4)


def test_hits_of_fifty_is_the_expectation_over_draws():
    # 50 draws with replacement among 200 negatives, 30 of which beat the answer: a hit if fewer than 10 of them do
    found = float(sampled_hits(np.array([31.0]), np.array([200]))[0])
    generator = np.random.default_rng(0)
    beaten = (generator.integers(0, 200, size=(200_000, 50)) < 30).sum(axis=1)
    share = np.mean(beaten < 10)
    assert found == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 200_000))


@pytest.mark.parametrize("drawn", [50, 49, 5])
def test_hits_of_fifty_by_the_formula(drawn):
    f = 30 / 200
    expected = sum(comb(drawn, i) * f**i * (1 - f) ** (drawn - i) for i in range(min(10, drawn + 1)))
    assert sampled_hits(np.array([31.0]), np.array([200]), drawn=drawn)[0] == pytest.approx(expected, rel=1e-12)
    ranks = Ranks(np.array([30]), np.array([0]), np.array([200]))
    assert RankMetrics.of(ranks, "realistic", drawn).hits_10_50 == pytest.approx(expected, rel=1e-12)
    if drawn == 50:  # the paper's
        assert RankMetrics.of(ranks, "realistic").hits_10_50 == pytest.approx(expected, rel=1e-12)


def test_hits_of_fifty_at_the_ends():
    rank, negatives = np.array([1.0, 101.0, 1.0]), np.array([100, 100, 0])  # best, worst, and nothing to beat it
    assert sampled_hits(rank, negatives).tolist() == [1.0, 0.0, 1.0]
