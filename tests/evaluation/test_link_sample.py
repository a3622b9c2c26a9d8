from __future__ import annotations

import numpy as np
import pytest

from nbfnet.errors import EvaluationError
from nbfnet.evaluation.link_sample import draw_links, mean_interval


def test_all_or_different_ones():
    assert (
        draw_links(5, None, 0).tolist() == draw_links(5, 5, 0).tolist() == draw_links(5, 9, 3).tolist() == [*range(5)]
    )
    drawn = draw_links(100, 20, 0)
    assert len(np.unique(drawn)) == 20 and np.all(np.diff(drawn) > 0)
    assert np.array_equal(drawn, draw_links(100, 20, 0))
    assert not np.array_equal(drawn, draw_links(100, 20, 1))


def test_an_empty_sample():
    with pytest.raises(EvaluationError, match="a sample of 0 links"):
        draw_links(5, 0, 0)


def test_the_interval_holds_the_mean_of_all_19_times_of_20():
    generator = np.random.default_rng(0)
    everything = 1 / generator.integers(1, 30, size=2000)
    inside = 0
    for _ in range(1000):
        low, high = mean_interval(generator.choice(everything, size=500, replace=False), len(everything))
        inside += low <= everything.mean() <= high
    assert 930 <= inside <= 970  # 950 +- 3 standard deviations


def test_the_ends():
    everything = np.array([0.5, 1.0, 0.25])
    assert mean_interval(everything, 3) == pytest.approx((7 / 12, 7 / 12))
    assert mean_interval(np.array([0.5]), 3) == (0.0, 1.0)
    assert mean_interval(np.array([1.0, 0.1]), 1000) == (0.0, 1.0)
