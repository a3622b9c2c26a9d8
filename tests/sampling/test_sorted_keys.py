from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nbfnet.sampling.sorted_keys import expand_ranges, number_in_runs, sort_distinct

numbers = st.lists(st.integers(-5, 5), max_size=20).map(lambda xs: np.array(xs, dtype=np.int64))


@settings(max_examples=50, deadline=None)
@given(numbers)
def test_sort_distinct(keys):
    assert sort_distinct(keys).tolist() == sorted(set(keys.tolist()))


@settings(max_examples=50, deadline=None)
@given(numbers)
def test_number_in_runs(keys):
    keys = np.sort(keys)
    expected = [keys[:i].tolist().count(key) for i, key in enumerate(keys.tolist())]
    assert number_in_runs(keys).tolist() == expected


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=8))
def test_expand_ranges(ranges):
    begin = np.array([b for b, _ in ranges], dtype=np.int64)
    length = np.array([n for _, n in ranges], dtype=np.int64)
    owner, position = expand_ranges(begin, begin + length)
    expected = [(i, b + k) for i, (b, n) in enumerate(ranges) for k in range(n)]
    assert list(zip(owner.tolist(), position.tolist(), strict=True)) == expected
