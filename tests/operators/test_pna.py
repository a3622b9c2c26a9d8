from __future__ import annotations

import math

import pytest
import torch

from nbfnet.operators.pna import PNAAggregate, degree_scale


def test_features_are_ordered_dim_statistic_scaler() -> None:
    statistics = torch.randn(2, 3, 4, 5, dtype=torch.float64)
    scale = torch.tensor([0.0, 0.5, 2.0], dtype=torch.float64)
    features = PNAAggregate().features(statistics, scale)
    assert features.shape == (2, 3, PNAAggregate().feature_dim(5)) == (2, 3, 60)
    for v, s in enumerate(scale.tolist()):
        for scaler, factor in enumerate((1.0, s, 1 / max(s, 0.01))):
            for dim in range(5):
                for statistic in range(4):
                    column = (dim * 4 + statistic) * 3 + scaler
                    expected = statistics[:, v, statistic, dim] * factor
                    torch.testing.assert_close(features[:, v, column], expected)


def test_projection_equals_a_linear_layer_on_the_features() -> None:
    statistics = torch.randn(2, 7, 4, 5, dtype=torch.float64, requires_grad=True)
    scale = torch.rand(7, dtype=torch.float64) * 2
    weight = torch.randn(6, 60, dtype=torch.float64, requires_grad=True)
    expected = PNAAggregate().features(statistics, scale) @ weight.T
    found = PNAAggregate().project(statistics, scale, weight)
    torch.testing.assert_close(found, expected)
    direction = torch.randn_like(expected)
    for a, b in zip(
        torch.autograd.grad(found, (statistics, weight), direction),
        torch.autograd.grad(expected, (statistics, weight), direction),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


def test_degree_scale() -> None:
    degrees = [0, 1, 4, 30]
    mean = sum(math.log(d + 1) for d in degrees) / 4
    found = degree_scale(torch.tensor(degrees), torch.float64)
    assert found.tolist() == pytest.approx([math.log(d + 1) / mean for d in degrees])


def test_degree_scale_is_one_where_all_degrees_are_equal() -> None:
    assert degree_scale(torch.tensor([3, 3, 3]), torch.float32).tolist() == [1.0, 1.0, 1.0]
    assert degree_scale(torch.tensor([0, 0]), torch.float32).tolist() == [1.0, 1.0]
    assert degree_scale(torch.tensor([], dtype=torch.int64), torch.float32).tolist() == []


def test_deviation_of_equal_messages_is_the_least_one_and_has_no_gradient() -> None:
    messages = torch.full((1, 3, 2), 0.5, dtype=torch.float64, requires_grad=True)
    statistics = PNAAggregate()(messages, torch.zeros(3, dtype=torch.int64), 1)
    assert statistics[0, 0, 3].tolist() == pytest.approx([1e-3, 1e-3])
    statistics[:, :, 3].sum().backward()
    assert messages.grad is not None
    assert not messages.grad.any()
