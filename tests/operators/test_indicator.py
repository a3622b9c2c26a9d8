from __future__ import annotations

import torch

from nbfnet.operators.indicator import Indicator


def test_boundary_is_the_query_at_its_source_and_zero_elsewhere() -> None:
    indicator = Indicator(4, 3)
    boundary = indicator(torch.tensor([2, 0, 2]), torch.tensor([1, 3, 1]), 5)
    assert boundary.shape == (3, 5, 3)
    for query, (source, relation) in enumerate([(2, 1), (0, 3), (2, 1)]):
        for node in range(5):
            expected = indicator.query.weight[relation] if node == source else torch.zeros(3)
            torch.testing.assert_close(boundary[query, node], expected)


def test_learned_zero_is_everywhere_but_at_the_source() -> None:
    indicator = Indicator(4, 3, learned_zero=True)
    assert indicator.zero is not None
    torch.nn.init.normal_(indicator.zero)
    boundary = indicator(torch.tensor([1, 0]), torch.tensor([2, 2]), 4)
    torch.testing.assert_close(boundary[0, 3], indicator.zero)
    torch.testing.assert_close(boundary[0, 1], indicator.query.weight[2])
    boundary.sum().backward()
    assert indicator.zero.grad is not None
    assert indicator.zero.grad.tolist() == [6.0] * 3  # 3 other nodes of 2 queries
    assert indicator.query.weight.grad is not None
    assert indicator.query.weight.grad.sum(1).tolist() == [0.0, 0.0, 6.0, 0.0]


def test_no_query_and_one_node() -> None:
    indicator = Indicator(2, 3)
    nothing = torch.tensor([], dtype=torch.int64)
    assert indicator(nothing, nothing, 4).shape == (0, 4, 3)
    assert indicator(torch.tensor([0]), torch.tensor([1]), 1).shape == (1, 1, 3)


def test_parameters_of_the_benchmark() -> None:
    assert sum(p.numel() for p in Indicator(474, 32).parameters()) == 15_168
