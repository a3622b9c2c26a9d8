"""Every registered message against its formula, written out number by number."""

from __future__ import annotations

import pytest
import torch

from nbfnet.errors import OperatorError
from nbfnet.operators.registry import messages


def transe(x: list[float], w: list[float]) -> list[float]:
    return [a + b for a, b in zip(x, w, strict=True)]


def distmult(x: list[float], w: list[float]) -> list[float]:
    return [a * b for a, b in zip(x, w, strict=True)]


def rotate(x: list[float], w: list[float]) -> list[float]:
    half = len(x) // 2
    products = [complex(x[i], x[i + half]) * complex(w[i], w[i + half]) for i in range(half)]
    return [z.real for z in products] + [z.imag for z in products]


# A new message needs an entry here: its formula for one edge, on plain numbers.
FORMULAS = {"transe": transe, "distmult": distmult, "rotate": rotate}


def test_every_message_has_a_formula() -> None:
    assert messages.names() == sorted(FORMULAS)


@pytest.mark.parametrize("name", messages.names())
@pytest.mark.parametrize("edge_queries", [1, 3])
def test_message_equals_its_formula(name: str, edge_queries: int) -> None:
    generator = torch.Generator().manual_seed(1)
    source_rows = torch.randn(3, 5, 8, generator=generator, dtype=torch.float64)
    edge_rows = torch.randn(edge_queries, 5, 8, generator=generator, dtype=torch.float64)
    found = messages.make(name)(source_rows, edge_rows)
    expected = [
        [FORMULAS[name](source_rows[q, e].tolist(), edge_rows[q % edge_queries, e].tolist()) for e in range(5)]
        for q in range(3)
    ]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64), rtol=1e-14, atol=1e-14)


def test_rotate_needs_an_even_dim() -> None:
    rows = torch.ones(1, 2, 7)
    with pytest.raises(OperatorError, match=r"dim must be even, not 7: use 8"):
        messages.make("rotate")(rows, rows)
