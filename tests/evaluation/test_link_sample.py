from __future__ import annotations

import numpy as np
import pytest

from nbfnet.errors import EvaluationError
from nbfnet.evaluation.ranks import draw_links, mean_interval


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


def test_by_hand():
    # 2 of 8 were drawn: u = 3/4, so that 0 and 1 have 1.5 more each among 5
    mean, square = (1.0 + 0.5 + 1.5) / 5, (1.0 + 0.25 + 1.5) / 5
    half = 1.959964 * ((square - mean**2) * 0.75 / 5) ** 0.5
    assert mean_interval(np.array([1.0, 0.5]), 8) == pytest.approx((mean - half, mean + half), abs=1e-6)


def test_all_links_leave_no_doubt():
    assert mean_interval(np.array([0.5, 1.0, 0.25]), 3) == pytest.approx((7 / 12, 7 / 12))


@pytest.mark.parametrize("drawn", [5, 10, 20, 100])
@pytest.mark.parametrize("first", [0.02, 0.5, 0.95])
def test_a_handful_covers_the_truth_nine_times_of_ten(drawn, first):
    """Where nearly all links rank first, or nearly none, a small sample often sees no other one."""
    generator = np.random.default_rng(0)
    everything = np.where(generator.random(400) < first, 1.0, 1 / generator.integers(2, 1000, 400))
    samples = (generator.choice(everything, size=drawn, replace=False) for _ in range(1000))
    intervals = [(mean_interval(sample, 400), sample.mean()) for sample in samples]
    assert sum(low <= everything.mean() <= high for (low, high), _ in intervals) >= 900
    assert all(low - 1e-12 <= seen <= high + 1e-12 for (low, high), seen in intervals)
