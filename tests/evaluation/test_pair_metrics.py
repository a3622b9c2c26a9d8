from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from nbfnet.evaluation.metrics import PairMetrics, auroc_interval

few_values = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=30)
floats = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


@settings(max_examples=80, deadline=None)
@given(st.one_of(st.tuples(few_values, few_values), st.tuples(floats, floats)))
def test_equal_to_scikit_learn(scores):
    positive, negative = (np.array(part) for part in scores)
    labels = np.concatenate([np.ones(len(positive)), np.zeros(len(negative))])
    both = np.concatenate([positive, negative])
    found = PairMetrics.of(positive, negative)
    assert found.auroc == pytest.approx(roc_auc_score(labels, both), abs=1e-12)
    assert found.ap == pytest.approx(average_precision_score(labels, both), abs=1e-12)


def test_by_hand():
    # from the highest: + (3), + - (2, tied), - (1)
    found = PairMetrics.of(np.array([3.0, 2.0]), np.array([2.0, 1.0]))
    assert found.auroc == (1 + 1 + 0.5 + 1) / 4
    assert found.ap == (1 / 1 + 2 / 3) / 2
    assert found.to_dict() == {"auroc": found.auroc, "ap": found.ap}


def test_an_interval_by_hand():
    # with one beyond either end: shares of the 4 negatives below 3, 2, 1.5, and of the 5 positives above 1 and 2,
    # ties as half
    low, high = auroc_interval(np.array([3.0, 2.0, 1.5]), np.array([1.0, 2.0]))
    wins, losses = [0.75, 0.625, 0.5, 0.125, 0.875], [0.8, 0.5, 0.9, 0.1]
    half = 1.959964 * (np.var(wins, ddof=1) / 5 + np.var(losses, ddof=1) / 4) ** 0.5
    mean = np.mean(wins)
    assert mean == pytest.approx(np.mean(losses))
    assert low == pytest.approx(mean - half, abs=1e-6)
    assert high == pytest.approx(min(1.0, mean + half), abs=1e-6)


@pytest.mark.parametrize("drawn", [1, 2, 5, 20, 60])
@pytest.mark.parametrize(("apart", "truth"), [(1.0, 0.7602499389), (3.289953, 0.99)])
def test_an_interval_covers_the_truth_as_often_as_it_says(drawn, apart, truth):
    """The truth of two normal distributions is Phi(apart / sqrt 2)."""
    generator = np.random.default_rng(0)
    samples = [(generator.normal(apart, 1, drawn), generator.normal(0, 1, drawn)) for _ in range(1000)]
    intervals = [auroc_interval(*sample) for sample in samples]
    assert sum(low <= truth <= high for low, high in intervals) >= 925
    seen = (PairMetrics.of(*sample).auroc for sample in samples)
    assert all(low <= value <= high for value, (low, high) in zip(seen, intervals, strict=True))


def test_an_interval_of_many_scores_is_no_wider_than_it_has_to_be():
    generator, truth = np.random.default_rng(0), 0.7602499389
    samples = ((generator.normal(1, 1, 300), generator.normal(0, 1, 300)) for _ in range(1000))
    covered = sum(low <= truth <= high for low, high in (auroc_interval(*sample) for sample in samples))
    assert 925 <= covered <= 975


def test_equal_scores_are_chance():
    found = PairMetrics.of(np.zeros(5), np.zeros(5))
    assert (found.auroc, found.ap) == (0.5, 0.5)


def test_infinite_scores():
    infinity = float("inf")
    assert PairMetrics.of(np.array([infinity, 1.0]), np.array([-infinity, -infinity])) == PairMetrics(1.0, 1.0)
