"""Relational SpMM: the message passing of one Bellman-Ford iteration, for all nodes and queries at once.

One operation with one meaning, whoever computes it. The compiled kernel is PyTorch's operator
``nbfnet::relational_spmm`` (schema, shapes and gradient are registered here); elsewhere the reference serves.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from nbfnet.errors import OperatorError
from nbfnet.kernels import cpu
from nbfnet.kernels.backend import backend_for
from nbfnet.kernels.reference import relational_spmm_reference
from nbfnet.kernels.shapes import check_inputs
from nbfnet.operators.aggregate import Aggregate
from nbfnet.operators.message import Message
from nbfnet.operators.registry import aggregates, messages


def relational_spmm(
    source: Tensor,
    edge_representation: Tensor,
    boundary: Tensor,
    indptr: Tensor,
    source_index: Tensor,
    relation: Tensor,
    weight: Tensor | None = None,
    *,
    message: Message | str,
    aggregate: Aggregate | str,
) -> Tensor:
    """out_v = AGGREGATE({boundary_v} + {weight * MESSAGE(source_x, edge_r) : edge (x, r, v)}).

    Args:
        source: (query, source row, dim) the representations that messages start from.
        edge_representation: (query or 1, relation, dim).
        boundary: (query, row, dim), one more message of each row. Rows and source rows may differ in number.
        indptr: (row + 1,) int64; row v has the edges indptr[v] .. indptr[v + 1].
        source_index: (edge,) int32, the source row x of each edge.
        relation: (edge,) int32, the relation r of each edge.
        weight: (edge,) multiplies each message; degrees count edges, not weights. None: 1 everywhere.
        message: a registered name, or an operator.
        aggregate: a registered name, or an operator.

    Returns:
        (query, row, dim); for 'pna' the statistics mean, max, min, std as (query, row, statistic, dim).

    Raises:
        OperatorError: shapes, types or indices do not fit each other or the message.
        BackendError: a backend was chosen by name and cannot serve.
    """
    message = messages.make(message) if isinstance(message, str) else message
    aggregate = aggregates.make(aggregate) if isinstance(aggregate, str) else aggregate
    check_inputs(source, edge_representation, boundary, indptr, source_index, relation, weight)
    message.check_dim(source.shape[2])
    if weight is not None:
        weight = weight.to(source.dtype)
    tensors = (source, edge_representation, boundary, indptr, source_index, relation, weight)
    names = (messages.name_of(message), aggregates.name_of(aggregate))
    if backend_for(source.device, source.dtype, *names) == "reference":
        return relational_spmm_reference(*tensors, message, aggregate)
    out: Tensor = torch.ops.nbfnet.relational_spmm(*tensors, *names)
    return out


_INPUTS = (
    "Tensor source, Tensor edge_representation, Tensor boundary, Tensor indptr, Tensor source_index, "
    "Tensor relation, Tensor? weight, str message, str aggregate"
)
torch.library.define("nbfnet::relational_spmm", f"({_INPUTS}) -> Tensor")
torch.library.define(
    "nbfnet::relational_spmm_backward",
    f"(Tensor grad_out, {_INPUTS}, bool weight_gradient) -> (Tensor, Tensor, Tensor, Tensor)",
)
torch.library.impl("nbfnet::relational_spmm", "cpu")(cpu.forward)
torch.library.impl("nbfnet::relational_spmm_backward", "cpu")(cpu.backward)


def _fake_forward(*inputs: Any) -> Tensor:
    boundary, aggregate = inputs[2], inputs[8]
    fake: Tensor = boundary.new_empty(cpu.output_shape(boundary, aggregate))
    return fake


def _fake_backward(grad_out: Tensor, *inputs: Any) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    source, edge_representation, boundary, source_index = (inputs[i] for i in (0, 1, 2, 4))
    num_weights = len(source_index) if inputs[9] else 0
    of_source, of_edges, of_boundary = (t.new_empty(t.shape) for t in (source, edge_representation, boundary))
    return of_source, of_edges, of_boundary, source.new_empty(num_weights)


def _save_for_backward(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    *tensors, ctx.message, ctx.aggregate = inputs
    ctx.save_for_backward(*tensors)


def _backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
    weight_gradient = ctx.needs_input_grad[6]
    of_source, of_edges, of_boundary, of_weight = torch.ops.nbfnet.relational_spmm_backward(
        grad_out, *ctx.saved_tensors, ctx.message, ctx.aggregate, weight_gradient
    )
    return (
        of_source,
        of_edges,
        of_boundary,
        None,
        None,
        None,
        of_weight if weight_gradient else None,
        None,
        None,
    )


def _refuse_second_derivative(ctx: Any, *gradients: Tensor) -> None:
    raise OperatorError("the kernel has no second derivatives: choose the backend 'reference' for them")


torch.library.register_fake("nbfnet::relational_spmm", _fake_forward)
torch.library.register_fake("nbfnet::relational_spmm_backward", _fake_backward)
torch.library.register_autograd("nbfnet::relational_spmm", _backward, setup_context=_save_for_backward)
torch.library.register_autograd("nbfnet::relational_spmm_backward", _refuse_second_derivative)
