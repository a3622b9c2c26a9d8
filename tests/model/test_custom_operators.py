"""Operators that a user writes in PyTorch work at once: scores, gradients, frontier."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from nbfnet.errors import BackendError
from nbfnet.kernels.backend import use_backend
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.native import native_available
from nbfnet.operators.aggregate import Aggregate, SumAggregate, messages_by_row, sum_by_row
from nbfnet.operators.message import DistMultMessage, Message

DIM = 8


class GatedMessage(Message):
    """MESSAGE(h, w) = tanh(A h) * w: with a parameter of its own, shared by the iterations."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(DIM, DIM, bias=False)

    def forward(self, source_rows: Tensor, edge_rows: Tensor) -> Tensor:
        gated: Tensor = torch.tanh(self.linear(source_rows)) * edge_rows
        return gated


class SquaredDistMult(DistMultMessage):
    """A subclass of an operator that the kernel knows is not that operator."""

    def forward(self, source_rows: Tensor, edge_rows: Tensor) -> Tensor:
        return super().forward(source_rows, edge_rows) ** 2


class SoftmaxAggregate(Aggregate):
    """log of the sum of exp(m)."""

    def forward(self, messages: Tensor, row: Tensor, num_rows: int) -> Tensor:
        return sum_by_row(messages.exp(), row, num_rows).log()


class MomentsAggregate(Aggregate):
    """Sum and mean square, both with the degree scale: statistics and features of its own."""

    def forward(self, messages: Tensor, row: Tensor, num_rows: int) -> Tensor:
        count = messages_by_row(row, num_rows, messages)
        first = sum_by_row(messages, row, num_rows)
        return torch.stack([first, sum_by_row(messages**2, row, num_rows) / count], dim=2)

    def features(self, aggregated: Tensor, scale: Tensor) -> Tensor:
        return (aggregated * scale[:, None, None]).flatten(start_dim=2)

    def feature_dim(self, dim: int) -> int:
        return 2 * dim


class HalfSum(SumAggregate):
    def forward(self, messages: Tensor, row: Tensor, num_rows: int) -> Tensor:
        return super().forward(messages, row, num_rows) / 2


OPERATORS: dict[str, Callable[[], dict[str, Any]]] = {
    "message": lambda: {"message": GatedMessage()},
    "message of a subclass": lambda: {"message": SquaredDistMult()},
    "aggregate": lambda: {"aggregate": SoftmaxAggregate()},
    "aggregate of statistics": lambda: {"aggregate": MomentsAggregate()},
    "aggregate of a subclass": lambda: {"aggregate": HalfSum()},
    "both": lambda: {"message": GatedMessage(), "aggregate": SoftmaxAggregate()},
}
SOURCE, RELATION = torch.tensor([0, 4, 4, 29]), torch.tensor([0, 1, 2, 1])
TARGET = torch.tensor([[0, 2, 25], [5, 5, 4], [29, 6, 1], [29, 0, 28]])


@pytest.fixture(params=OPERATORS)
def network(request: pytest.FixtureRequest, make_network: Callable[..., Any]) -> NeuralBellmanFordNetwork:
    torch.manual_seed(0)
    made: NeuralBellmanFordNetwork = make_network(3, dim=DIM, operators=OPERATORS[request.param]())
    return made


@pytest.fixture(scope="module")
def graph(make_graph: Callable[..., MessageGraph]) -> MessageGraph:
    chain = [(v, v % 3, v + 1) for v in range(24)]
    return make_graph(30, 3, [*chain, (3, 0, 3), (6, 1, 2), (6, 1, 2), (28, 2, 29)])


def by_the_formula(network: NeuralBellmanFordNetwork, graph: MessageGraph) -> Tensor:
    """(query, node) logits, node by node, message by message."""
    csr, config = graph.csr, network.config
    logs = np.log(csr.degree + 1)
    rows = []
    for u, r in zip(SOURCE.tolist(), RELATION.tolist(), strict=True):
        q = network.indicator.query.weight[r]
        boundary = [q if v == u else torch.zeros_like(q) for v in range(graph.num_nodes)]
        hidden = boundary
        for layer in network.layers:
            edge = layer.edges(q[None])[0]
            updated = []
            for v in range(graph.num_nodes):
                slots = range(csr.indptr[v], csr.indptr[v + 1])
                messages = [layer.message(hidden[csr.source[e]][None, None], edge[csr.relation[e]]) for e in slots]
                joined = torch.cat([*messages, boundary[v][None, None]], dim=1)
                aggregated = layer.aggregate(joined, torch.zeros(joined.shape[1], dtype=torch.int64), 1)
                features = layer.aggregate.features(aggregated, torch.tensor([logs[v] / logs.mean()]))[0, 0]
                new = layer.layer_norm(layer.linear(torch.cat([hidden[v], features]))).relu()
                updated.append(new + hidden[v] if config.shortcut else new)
            hidden = updated
        rows.append(torch.stack([network.score_function.mlp(torch.cat([h, q]))[0] for h in hidden]))
    return torch.stack(rows)


def test_scores_and_gradients(
    network: NeuralBellmanFordNetwork,
    graph: MessageGraph,
    gradients: Callable[..., dict[str, Tensor]],
    assert_same: Callable[..., None],
) -> None:
    formula = by_the_formula(network, graph)
    expected = formula.detach(), gradients(network, formula)
    chosen = by_the_formula(network, graph).gather(1, TARGET)
    expected_chosen = chosen.detach(), gradients(network, chosen)
    for frontier in ("auto", "off"):
        network.config = network.config.model_copy(update={"frontier": frontier})
        scores = network.score_all(graph, SOURCE, RELATION)
        assert_same(scores, expected[0])
        assert_same(gradients(network, scores), expected[1])
        scores = network.score(graph, SOURCE, RELATION, TARGET)
        assert_same(scores, expected_chosen[0])
        assert_same(gradients(network, scores), expected_chosen[1])


def test_edge_weights(network: NeuralBellmanFordNetwork, graph: MessageGraph, assert_same: Callable[..., None]) -> None:
    """A weight of 1 on every message changes nothing, and has a gradient."""
    weights = [torch.ones(graph.csr.num_edges, dtype=torch.float64, requires_grad=True) for _ in network.layers]
    weighted = network.pair_representation(graph, SOURCE, RELATION, weights)
    assert_same(weighted, network.pair_representation(graph, SOURCE, RELATION))
    assert all(slope.abs().sum() > 0 for slope in torch.autograd.grad(weighted.sum(), weights))


@pytest.mark.skipif(not native_available(), reason="without the extension that backend knows no operator at all")
def test_a_backend_that_does_not_know_them_is_an_error(network: NeuralBellmanFordNetwork, graph: MessageGraph) -> None:
    ask: list[Callable[[], Tensor]] = [
        lambda: network.score(graph, SOURCE, RELATION, TARGET),
        lambda: network.score_all(graph, SOURCE, RELATION),
    ]
    for question in ask:
        with use_backend("cpu"), pytest.raises(BackendError, match="'of your own'"):
            question()
