import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbfnet.errors import PathError
from nbfnet.semiring.semiring import (
    MAX_MIN,
    MAX_TIMES,
    MIN_PLUS,
    PLUS_TIMES,
    Monoid,
    Semiring,
)

# Whole numbers and powers of two: sums and products of three are exact, so that only a broken law can fail.
exact = st.integers(-1000, 1000).map(float) | st.integers(-20, 20).map(lambda e: 2.0**e)
not_negative = exact.map(abs)


@pytest.mark.parametrize("semiring", [PLUS_TIMES, MIN_PLUS, MAX_MIN], ids=lambda s: s.name)
@settings(max_examples=30, deadline=None)
@given(samples=st.lists(exact, max_size=5))
def test_laws_hold(semiring, samples):
    semiring.check_laws(samples)


@settings(max_examples=30, deadline=None)
@given(samples=st.lists(not_negative, max_size=5))
def test_laws_of_max_times_hold_for_what_is_not_negative(samples):
    MAX_TIMES.check_laws(samples)


def test_the_identities_are_those_of_the_paper():
    pairs = {s.name: (s.zero, s.one) for s in (PLUS_TIMES, MIN_PLUS, MAX_MIN, MAX_TIMES)}
    assert pairs == {
        "plus_times": (0, 1),
        "min_plus": (np.inf, 0),
        "max_min": (-np.inf, np.inf),
        "max_times": (0, 1),
    }


def test_only_min_and_max_are_idempotent():
    assert [s.idempotent for s in (PLUS_TIMES, MIN_PLUS, MAX_MIN, MAX_TIMES)] == [False, True, True, True]


@pytest.mark.parametrize(
    ("plus", "times", "law"),
    [
        (Monoid(np.subtract, 0.0), Monoid(np.multiply, 1.0), "summation is commutative"),
        (Monoid(lambda a, b: (a + b) / 2, 0.0), Monoid(np.multiply, 1.0), "summation is associative"),
        (Monoid(np.minimum, 0.0), Monoid(np.add, 0.0), "summation has an identity"),
        (Monoid(np.add, 0.0), Monoid(lambda a, b: a * b + a * a * b * b, 1.0), "multiplication is associative"),
        (Monoid(np.maximum, 0.0), Monoid(np.multiply, 2.0), "multiplication has a right identity"),
        (Monoid(np.add, 0.0), Monoid(lambda a, b: a, 1.0), "multiplication has a left identity"),
        (Monoid(np.add, 0.0), Monoid(np.add, 0.0), "0̄ absorbs from the right"),
        (Monoid(np.maximum, 0.0), Monoid(np.maximum, 0.0), "0̄ absorbs from the right"),
        (Monoid(np.hypot, 0.0), Monoid(lambda a, b: np.where((a == 0) | (b == 0), 0, a + b - 1), 1.0), "left dist"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_broken_law_is_named_with_its_counterexample(plus, times, law):
    with pytest.raises(PathError) as caught:
        Semiring("mine", plus, times).check_laws([1.0, 2.0, 3.0])
    assert law in str(caught.value)
    assert "mine" in str(caught.value)
    assert all(f"{letter} = " in str(caught.value) for letter in "abc")


def test_the_counterexample_breaks_the_law():
    with pytest.raises(PathError) as caught:
        MAX_TIMES.check_laws([-1.0])
    assert "summation has an identity" in str(caught.value)
    a = float(str(caught.value).partition("a = ")[2].partition(",")[0])
    assert max(a, 0.0) != a
