from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from nbfnet.evaluation.pair_metrics import PairMetrics, auroc_interval

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
    assert found.document() == {"auroc": found.auroc, "ap": found.ap}


def test_an_interval_by_hand():
    # shares of the negatives below: 1, 3/4, 1/2; of the positives above: 1, 1/2 (ties as half)
    low, high = auroc_interval(np.array([3.0, 2.0, 1.5]), np.array([1.0, 2.0]))
    wins, losses = [1, 0.75, 0.5], [1, (1 + 0.5) / 3]
    half = 1.959964 * (np.var(wins, ddof=1) / 3 + np.var(losses, ddof=1) / 2) ** 0.5
    assert low == pytest.approx(0.75 - half, abs=1e-6)
    assert high == 1.0  # cut off
    assert auroc_interval(np.array([1.0]), np.array([0.0, 0.5])) == (0.0, 1.0)


def test_an_interval_covers_the_truth_as_often_as_it_says():
    generator, truth = np.random.default_rng(0), 0.7602499389  # Phi(1 / sqrt 2): normal scores, one apart
    samples = ((generator.normal(1, 1, 60), generator.normal(0, 1, 60)) for _ in range(1000))
    covered = sum(low <= truth <= high for low, high in (auroc_interval(*sample) for sample in samples))
    assert 925 <= covered <= 975


def test_equal_scores_are_chance():
    found = PairMetrics.of(np.zeros(5), np.zeros(5))
    assert (found.auroc, found.ap) == (0.5, 0.5)


def test_infinite_scores():
    infinity = float("inf")
    assert PairMetrics.of(np.array([infinity, 1.0]), np.array([-infinity, -infinity])) == PairMetrics(1.0, 1.0)
