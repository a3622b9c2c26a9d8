"""Every registered aggregate, and its gradient, against dense reductions of one row at a time."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from nbfnet.operators.registry import aggregates


def pna(messages: Tensor) -> Tensor:
    variance = messages.square().mean(0) - messages.mean(0).square()
    deviation = variance.clamp(min=1e-6).sqrt()
    return torch.stack([messages.mean(0), messages.amax(0), messages.amin(0), deviation])


# A new aggregate needs an entry here: its formula for the messages (message, dim) of one row.
FORMULAS = {
    "sum": lambda messages: messages.sum(0),
    "mean": lambda messages: messages.mean(0),
    "max": lambda messages: messages.amax(0),
    "min": lambda messages: messages.amin(0),
    "pna": pna,
}


def test_every_aggregate_has_a_formula() -> None:
    assert aggregates.names() == sorted(FORMULAS)


@pytest.mark.parametrize("name", aggregates.names())
@pytest.mark.parametrize("values", ["normal", "tied", "equal"])
def test_aggregate_equals_its_formula(name: str, values: str) -> None:
    generator = torch.Generator().manual_seed(2)
    row = torch.tensor([2, 0, 2, 2, 3, 1, 0, 2, 2])
    messages = torch.randn(2, len(row), 5, generator=generator, dtype=torch.float64)
    if values == "tied":
        messages = messages.round()
    elif values == "equal":
        messages = torch.ones_like(messages)
    messages.requires_grad_()

    found = aggregates.make(name)(messages, row, 4)
    expected = torch.stack([torch.stack([FORMULAS[name](messages[q, row == v]) for v in range(4)]) for q in range(2)])
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)

    direction = torch.randn(expected.shape, generator=generator, dtype=torch.float64)
    (found_gradient,) = torch.autograd.grad(found, messages, direction)
    (expected_gradient,) = torch.autograd.grad(expected, messages, direction)
    torch.testing.assert_close(found_gradient, expected_gradient, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("value", [0.0, -3.0])
def test_tied_messages_share_the_gradient_equally(name: str, value: float) -> None:
    messages = torch.full((1, 4, 1), value, requires_grad=True)
    aggregates.make(name)(messages, torch.tensor([0, 0, 0, 0]), 1).sum().backward()
    assert messages.grad is not None
    assert messages.grad.flatten().tolist() == [0.25] * 4


@pytest.mark.parametrize("name", [name for name in aggregates.names() if name != "pna"])
def test_features_of_plain_aggregates_are_the_aggregate_itself(name: str) -> None:
    aggregate, aggregated = aggregates.make(name), torch.randn(2, 3, 4)
    assert aggregate.features(aggregated, torch.rand(3)) is aggregated
    assert aggregate.feature_dim(4) == 4
    weight = torch.randn(6, 4)
    torch.testing.assert_close(aggregate.project(aggregated, torch.rand(3), weight), aggregated @ weight.T)
