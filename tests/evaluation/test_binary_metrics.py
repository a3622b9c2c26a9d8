import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from nbfnet.errors import ParameterError
from nbfnet.evaluation.binary_metrics import auroc, average_precision, binary_metrics

# Few different scores, so that most are equal to others.
scores = st.lists(st.sampled_from([-2.0, 0.0, 0.5, 1.0, 1e300]), min_size=1, max_size=30)


@settings(max_examples=200, deadline=None)
@given(positive=scores, negative=scores)
def test_as_scikit_learn(positive, negative):
    labels = [1] * len(positive) + [0] * len(negative)
    got = binary_metrics(np.array(positive), np.array(negative))
    assert got.auroc == pytest.approx(roc_auc_score(labels, positive + negative), abs=1e-12)
    assert got.ap == pytest.approx(average_precision_score(labels, positive + negative), abs=1e-12)


def test_many_scores_as_scikit_learn():
    generator = np.random.default_rng(0)
    positive, negative = generator.normal(1, 1, 5000).round(2), generator.normal(0, 1, 7000).round(2)
    labels = np.repeat([1, 0], [5000, 7000])
    both = np.concatenate([positive, negative])
    assert auroc(positive, negative) == pytest.approx(roc_auc_score(labels, both), abs=1e-12)
    assert average_precision(positive, negative) == pytest.approx(average_precision_score(labels, both), abs=1e-12)


def test_by_hand():
    assert auroc(np.array([1.0, 1.0]), np.array([1.0, 0.0])) == 0.75
    assert average_precision(np.array([1.0, 1.0]), np.array([1.0, 0.0])) == pytest.approx(2 / 3)


def test_infinite_scores_are_scores():
    assert auroc(np.array([np.inf, -np.inf]), np.array([-np.inf, 0.0])) == (1 + 1 + 0.5 + 0) / 4


@pytest.mark.parametrize("pair", [([], [1.0]), ([1.0], []), ([np.nan], [1.0])])
def test_what_cannot_be_judged(pair):
    with pytest.raises(ParameterError):
        auroc(*map(np.array, pair))
