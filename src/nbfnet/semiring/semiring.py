"""Semiring: how path representations are summed and edges multiplied, with laws that can be checked."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from nbfnet.errors import PathError
from nbfnet.graph.triplets import Float64

Operator = Callable[[Float64, Float64], Float64]  # vectorised: two arrays of equal shape in, one out

LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Monoid:
    """An associative operator with its identity."""

    operator: Operator
    identity: float


@dataclass(frozen=True)
class Semiring:
    """⟨⊕, ⊗⟩ with the identities 0̄ (no path) and 1̄ (the path of no edge).

    ``weights`` is the interval an edge's representation must lie in. NaN lies in none.
    """

    name: str
    summation: Monoid
    multiplication: Monoid
    weights: tuple[float, float] = (-LARGEST, LARGEST)

    @property
    def zero(self) -> float:
        """0̄, the sum over no path."""
        return self.summation.identity

    @property
    def one(self) -> float:
        """1̄, the product over no edge."""
        return self.multiplication.identity

    @property
    def idempotent(self) -> bool:
        """Whether a ⊕ a = a, as for min and max. By distributivity, it is enough that 1̄ ⊕ 1̄ = 1̄."""
        one = np.array([self.one])
        return bool(self.summation.operator(one, one)[0] == self.one)

    def check_laws(self, samples: Iterable[float]) -> None:
        """Check every law of a semiring on all triples of the samples and the two identities.

        Raises:
            PathError: names the law and the values that break it.
        """
        values = list(dict.fromkeys([*map(float, samples), self.zero, self.one]))
        a, b, c = (np.array(column) for column in zip(*itertools.product(values, repeat=3), strict=True))
        plus, times = self.summation.operator, self.multiplication.operator
        zero, one = np.full_like(a, self.zero), np.full_like(a, self.one)
        laws = [
            ("summation is commutative: a ⊕ b = b ⊕ a", plus(a, b), plus(b, a)),
            ("summation is associative: (a ⊕ b) ⊕ c = a ⊕ (b ⊕ c)", plus(plus(a, b), c), plus(a, plus(b, c))),
            ("summation has an identity: a ⊕ 0̄ = a", plus(a, zero), a),
            ("multiplication is associative: (a ⊗ b) ⊗ c = a ⊗ (b ⊗ c)", times(times(a, b), c), times(a, times(b, c))),
            ("multiplication has a right identity: a ⊗ 1̄ = a", times(a, one), a),
            ("multiplication has a left identity: 1̄ ⊗ a = a", times(one, a), a),
            ("0̄ absorbs from the right: a ⊗ 0̄ = 0̄", times(a, zero), zero),
            ("0̄ absorbs from the left: 0̄ ⊗ a = 0̄", times(zero, a), zero),
            ("left distributivity: a ⊗ (b ⊕ c) = a ⊗ b ⊕ a ⊗ c", times(a, plus(b, c)), plus(times(a, b), times(a, c))),
            ("right distributivity: (b ⊕ c) ⊗ a = b ⊗ a ⊕ c ⊗ a", times(plus(b, c), a), plus(times(b, a), times(c, a))),
        ]
        for law, left, right in laws:
            broken = ~np.isclose(left, right, rtol=1e-9, atol=0.0)
            if broken.any():
                i = int(np.argmax(broken))
                shown = f"a = {a[i]:g}, b = {b[i]:g}, c = {c[i]:g}: {left[i]:g} is not {right[i]:g}"
                raise PathError(f"{self.name} is not a semiring: {law} fails for {shown}")


PLUS_TIMES = Semiring("plus_times", Monoid(np.add, 0.0), Monoid(np.multiply, 1.0))
MIN_PLUS = Semiring("min_plus", Monoid(np.minimum, np.inf), Monoid(np.add, 0.0), weights=(-LARGEST, np.inf))
MAX_MIN = Semiring("max_min", Monoid(np.maximum, -np.inf), Monoid(np.minimum, np.inf), weights=(-np.inf, np.inf))
MAX_TIMES = Semiring("max_times", Monoid(np.maximum, 0.0), Monoid(np.multiply, 1.0), weights=(0.0, LARGEST))
