"""Isotonic regression against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from nbfnet.prediction.calibration import IsotonicCurve

# A grid: scikit-learn takes values for equal that are nearly so.
points = st.lists(st.tuples(st.integers(-20, 20), st.sampled_from([0.0, 1.0, 0.25])), min_size=1, max_size=40)


def fit_both(x, y):
    theirs = IsotonicRegression(out_of_bounds="clip").fit(x, y)
    return IsotonicCurve.fit(x, y), theirs.predict


@given(points)
def test_the_curve_is_that_of_scikit_learn(drawn):
    x, y = np.array(drawn, dtype=float).T / 4
    ours, theirs = fit_both(x, y)
    everywhere = np.concatenate([x, np.linspace(-7, 7, 97), ours.x])
    np.testing.assert_allclose(ours(everywhere), theirs(everywhere), atol=1e-12)


@given(points)
def test_it_never_descends_and_stays_between_its_ends(drawn):
    x, y = np.array(drawn, dtype=float).T / 3
    curve = IsotonicCurve.fit(x, y)
    heights = curve(np.linspace(-8, 8, 501))
    assert (np.diff(curve.x) > 0).all()
    assert (np.diff(curve.y) >= 0).all()
    assert (np.diff(heights) >= 0).all()
    assert heights.min() >= y.min()
    assert heights.max() <= y.max()


@given(st.lists(st.floats(-30, 30), min_size=2, max_size=30), st.randoms(use_true_random=False))
def test_between_any_knots_it_neither_descends_nor_overshoots(x, random):
    y = np.array([float(random.random() < 0.5) for _ in x])
    curve = IsotonicCurve.fit(np.array(x), y)
    fine = np.unique(
        np.concatenate([np.linspace(a, b, 33) for a, b in zip(curve.x, curve.x[1:], strict=False)] or [[0.0]])
    )
    heights = curve(fine)
    assert (np.diff(heights) >= 0).all()
    assert ((heights >= 0) & (heights <= 1)).all()


@pytest.mark.parametrize(
    ("x", "y", "knots", "heights"),
    [
        ([2.0], [1.0], [2.0], [1.0]),
        ([1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 1.0, 0.0], [1.0], [0.5]),
        ([3.0, 1.0, 2.0], [1.0, 1.0, 1.0], [1.0, 3.0], [1.0, 1.0]),
        ([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 0.0, 1.0], [0.0, 1.0, 2.0, 3.0], [0.0, 0.5, 0.5, 1.0]),
        ([0.0, 1.0, 1.0, 2.0], [1.0, 0.0, 0.0, 1.0], [0.0, 1.0, 2.0], [1 / 3, 1 / 3, 1.0]),  # weights of ties
    ],
)
def test_by_hand(x, y, knots, heights):
    curve = IsotonicCurve.fit(np.array(x), np.array(y))
    np.testing.assert_allclose(curve.x, knots)
    np.testing.assert_allclose(curve.y, heights)


def test_flat_outside_straight_between():
    curve = IsotonicCurve.fit(np.array([0.0, 4.0]), np.array([0.0, 1.0]))
    np.testing.assert_allclose(curve(np.array([-1e9, 0.0, 1.0, 2.0, 4.0, 1e9])), [0, 0, 0.25, 0.5, 1, 1])
