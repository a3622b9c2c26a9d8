"""The number of parameters: the paper's four parts and their formulas."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import pytest
import torch
from torch import Tensor, nn

from nbfnet.config import ModelConfig
from nbfnet.errors import OperatorError
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.operators.aggregate import Aggregate, sum_by_row
from nbfnet.operators.message import Message


def true_total(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def test_fb15k_237_has_the_papers_3103105_parameters() -> None:
    network = NeuralBellmanFordNetwork(ModelConfig(), 2 * 237)
    assert network.parameter_counts() == {
        "indicator": 15_168,
        "message": 3_003_264,
        "aggregate": 80_448,
        "score": 4_225,
        "total": 3_103_105,
    }
    assert true_total(network) == 3_103_105


@hypothesis.settings(deadline=None, derandomize=True, max_examples=40)
@hypothesis.given(
    relations=st.integers(1, 12),
    d=st.integers(1, 20),
    layers=st.integers(1, 5),
    m=st.integers(1, 40),
    dependent=st.booleans(),
    pna=st.booleans(),
    layer_norm=st.booleans(),
    learned_zero=st.booleans(),
)
def test_formulas(
    relations: int, d: int, layers: int, m: int, dependent: bool, pna: bool, layer_norm: bool, learned_zero: bool
) -> None:
    """The table's |R| d, T |R| d (d + 1), T d (13 d + 3), m (2 d + 1) + m + 1; and what other choices make of them."""
    config = ModelConfig(
        dim=d,
        layers=layers,
        hidden=(m,),
        edges="dependent" if dependent else "independent",
        aggregate="pna" if pna else "sum",
        layer_norm=layer_norm,
        learned_zero=learned_zero,
    )
    network = NeuralBellmanFordNetwork(config, relations)
    counts = network.parameter_counts()
    assert counts["indicator"] == relations * d + learned_zero * d
    assert counts["message"] == layers * relations * d * (d + 1 if dependent else 1)
    assert counts["aggregate"] == layers * d * ((13 if pna else 2) * d + (3 if layer_norm else 1))
    assert counts["score"] == m * (2 * d + 1) + m + 1
    assert counts["total"] == sum(v for k, v in counts.items() if k != "total") == true_total(network)


@pytest.mark.parametrize(("hidden", "expected"), [((), 17), ((5,), 5 * 17 + 6), ((5, 3), 5 * 17 + 3 * 6 + 4)])
def test_hidden_layers_of_the_score(hidden: tuple[int, ...], expected: int) -> None:
    network = NeuralBellmanFordNetwork(ModelConfig(dim=8, layers=1, hidden=hidden), 2)
    assert network.parameter_counts()["score"] == expected


class ScaledMessage(Message):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, source_rows: Tensor, edge_rows: Tensor) -> Tensor:
        return source_rows * edge_rows * self.scale


class ScaledSum(Aggregate):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, messages: Tensor, row: Tensor, num_rows: int) -> Tensor:
        return sum_by_row(messages, row, num_rows) * self.scale.mean()


def test_parameters_of_operators_that_iterations_share_are_counted_once() -> None:
    config = ModelConfig(dim=8, layers=4, edges="independent")
    network = NeuralBellmanFordNetwork(config, 2, message=ScaledMessage(), aggregate=ScaledSum())
    counts = network.parameter_counts()
    assert counts["message"] == 4 * 2 * 8 + 8
    assert counts["aggregate"] == 4 * 8 * (2 * 8 + 3) + 3
    assert counts["total"] == true_total(network)


def test_rotate_refuses_an_odd_dim() -> None:
    with pytest.raises(OperatorError, match="even, not 33"):
        NeuralBellmanFordNetwork(ModelConfig(dim=33, message="rotate"), 2)
