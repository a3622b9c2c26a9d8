"""Message passing in plain PyTorch against a loop over messages, operators of a user's own, and what is refused."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from nbfnet.errors import OperatorError, UnknownNameError
from nbfnet.kernels.relational_spmm import relational_spmm
from nbfnet.operators.aggregate import Aggregate
from nbfnet.operators.message import Message
from nbfnet.operators.registry import aggregates, messages


@pytest.mark.parametrize(
    ("name", "change", "complaint"),
    [
        ("source", lambda t: t[:1], r"source has the shape \(1, 20, 4\)"),
        ("source", lambda t: t[0], r"source has the shape \(20, 4\)"),
        ("source", lambda t: t.float(), "source is of torch.float32, expected torch.float64"),
        (
            "edge_representation",
            lambda t: t[..., :3],
            r"edge_representation has the shape \(2, 4, 3\), expected \(any, any, 4\)",
        ),
        (
            "edge_representation",
            lambda t: t[[0, 1, 1]],
            "edge_representation has 3 queries, expected 2, or 1",
        ),
        ("boundary", lambda t: t[..., 0], "boundary has the shape"),
        ("indptr", lambda t: t[1:], r"indptr has the shape \(20,\), expected \(21\)"),
        ("indptr", lambda t: t.int(), "indptr is of torch.int32, expected torch.int64"),
        ("relation", lambda t: t[1:], r"relation has the shape \(89,\)"),
        ("relation", lambda t: t.long(), "relation is of torch.int64, expected torch.int32"),
        ("weight", lambda t: t[1:], r"weight has the shape \(89,\)"),
    ],
)
def test_shapes_and_types_must_fit(make_inputs, name: str, change, complaint: str) -> None:
    inputs = make_inputs("random", 4, weighted=True)
    setattr(inputs, name, change(getattr(inputs, name)))
    with pytest.raises(OperatorError, match=complaint):
        relational_spmm(*inputs.tensors(), message="transe", aggregate="sum")


def test_operators_are_checked(make_inputs) -> None:
    inputs = make_inputs("random", 5)
    with pytest.raises(OperatorError, match="dim must be even, not 5"):
        relational_spmm(*inputs.tensors(), message="rotate", aggregate="sum")
    with pytest.raises(UnknownNameError, match="unknown message 'rotato'; did you mean 'rotate'"):
        relational_spmm(*inputs.tensors(), message="rotato", aggregate="sum")
    with pytest.raises(UnknownNameError, match="unknown aggregate 'median'"):
        relational_spmm(*inputs.tensors(), message="rotate", aggregate="median")


def test_weights_of_another_type_are_converted(make_inputs) -> None:
    inputs = make_inputs("random", 4, dtype=torch.float32, weighted=True)
    expected = relational_spmm(*inputs.tensors(), message="transe", aggregate="sum")
    inputs.weight = inputs.weight.double().requires_grad_()
    found = relational_spmm(*inputs.tensors(), message="transe", aggregate="sum")
    assert torch.equal(found, expected)
    found.sum().backward()
    assert inputs.weight.grad.dtype == torch.float64


def loop(inputs, message: Message, aggregate: Aggregate) -> Tensor:
    """The definition, one message after the other; the operators are tested by themselves elsewhere."""
    num_queries, num_rows, _ = inputs.boundary.shape
    queries = []
    for q in range(num_queries):
        rows = []
        for v in range(num_rows):
            received = [inputs.boundary[q, v]]
            for e in range(int(inputs.indptr[v]), int(inputs.indptr[v + 1])):
                x = inputs.source[q, int(inputs.source_index[e])]
                w = inputs.edge_representation[q % len(inputs.edge_representation), int(inputs.relation[e])]
                sent = message(x[None, None], w[None, None])[0, 0]
                received.append(sent if inputs.weight is None else sent * inputs.weight[e])
            alone = torch.zeros(len(received), dtype=torch.int64)
            rows.append(aggregate(torch.stack(received)[None], alone, 1)[0, 0])
        queries.append(torch.stack(rows))
    return torch.stack(queries)


@pytest.mark.parametrize("message", messages.names())
@pytest.mark.parametrize("aggregate", aggregates.names())
@pytest.mark.parametrize("values", ["normal", "tied"])
def test_reference_equals_a_loop_over_messages(make_inputs, message: str, aggregate: str, values: str) -> None:
    operators = (messages.make(message), aggregates.make(aggregate))
    for graph in ("random", "mostly empty rows", "multi-edges", "one node", "more rows than sources"):
        for shared, weighted in ((False, True), (True, False)):
            inputs = make_inputs(graph, 4, values=values, shared=shared, weighted=weighted).with_gradient()
            found = relational_spmm(*inputs.tensors(), message=message, aggregate=aggregate)
            expected = loop(inputs, *operators)
            torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
            direction = torch.randn_like(expected)
            leaves = inputs.differentiable()
            pairs = zip(
                torch.autograd.grad(found, leaves, direction, allow_unused=True),
                torch.autograd.grad(expected, leaves, direction, allow_unused=True),
                strict=True,
            )
            for found_gradient, expected_gradient in pairs:
                torch.testing.assert_close(found_gradient, expected_gradient, rtol=1e-9, atol=1e-11)


class GatedMessage(Message):
    """A message of a user's own, with a parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.tensor(0.3, dtype=torch.float64))

    def forward(self, source_rows: Tensor, edge_rows: Tensor) -> Tensor:
        return source_rows * torch.sigmoid(self.gate * edge_rows)


class LogSumExpAggregate(Aggregate):
    """An aggregate of a user's own."""

    def forward(self, messages: Tensor, row: Tensor, num_rows: int) -> Tensor:
        total = messages.new_zeros(messages.shape[0], num_rows, messages.shape[2])
        return total.index_add(1, row, messages.exp()).log()


def test_operators_of_a_users_own_work_at_once(make_inputs) -> None:
    inputs, message, aggregate = (
        make_inputs("random", 3, values="normal", weighted=True),
        GatedMessage(),
        None,
    )
    found = relational_spmm(*inputs.tensors(), message=message, aggregate="mean")
    torch.testing.assert_close(found, loop(inputs, message, aggregates.make("mean")))
    found.sum().backward()
    assert message.gate.grad is not None
    aggregate = LogSumExpAggregate()
    found = relational_spmm(*inputs.tensors(), message="transe", aggregate=aggregate)
    torch.testing.assert_close(found, loop(inputs, messages.make("transe"), aggregate))
    found = relational_spmm(*inputs.tensors(), message=message, aggregate=aggregate)
    torch.testing.assert_close(found, loop(inputs, message, aggregate))


def test_half_precision(make_inputs) -> None:
    inputs = make_inputs("random", 8, dtype=torch.bfloat16, values="tied")
    found = relational_spmm(*inputs.tensors(), message="distmult", aggregate="max")
    assert found.dtype == torch.bfloat16
