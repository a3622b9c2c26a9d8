"""One Bellman-Ford iteration as a single compiled call, forward and backward, over the rows of a plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from nbfnet.errors import OperatorError
from nbfnet.kernels import memory
from nbfnet.kernels.backend import KERNEL_DTYPES
from nbfnet.kernels.shape_check import check_shape
from nbfnet.native import native

# How many dimensions each input has, in the order of the compiled call.
_DIMENSIONS = {
    "previous": 2,
    "edge_representation": 3,
    "weight": 2,
    "bias": 1,
    "norm_weight": 1,
    "norm_bias": 1,
    "query": 2,
    "zero": 1,
    "scale": 1,
    "edge_weight": 1,
}
_ZERO, _SCALE, _EDGE_WEIGHT = (list(_DIMENSIONS).index(name) for name in ("zero", "scale", "edge_weight"))


class FusedSettings(NamedTuple):
    """What kind of iteration it is."""

    message: str
    aggregate: str
    layer_norm: bool
    shortcut: bool


def fused_iteration(
    previous: Tensor,
    edge_representation: Tensor,
    weight: Tensor,
    bias: Tensor,
    norm_weight: Tensor,
    norm_bias: Tensor,
    query: Tensor,
    zero: Tensor,
    scale: Tensor,
    edge_weight: Tensor | None = None,
    *,
    plan: Any,
    graph: Any,
    iteration: int,
    settings: FusedSettings,
) -> Tensor:
    """h^(t) = shortcut h^(t-1) + ReLU(LayerNorm(W [h^(t-1), AGGREGATE(messages + boundary)] + b)), (row, dim).

    Args:
        previous: (row of the iteration before, dim).
        edge_representation: (family, relation, dim), at least as many relations as the edges have.
        weight: (dim, dim + features), in the order of ``Aggregate.features``.
        bias: (dim,).
        norm_weight: (dim,).
        norm_bias: (dim,).
        query: (query, dim) the boundary at each query's source.
        zero: (dim,) the boundary everywhere else.
        scale: (node,) the degree scale s_v.
        edge_weight: (edge,) multiplies each message; degrees count edges, not weights. None: 1 everywhere.
        plan: which rows there are, of the compiled extension's class ``RowPlan``.
        graph: the edges, of its class ``GraphArrays``.
        iteration: t, from 1.
        settings: the operators.

    Raises:
        OperatorError: a shape or a type does not fit.
    """
    tensors = [previous, edge_representation, weight, bias, norm_weight, norm_bias, query, zero, scale]
    tensors += [] if edge_weight is None else [edge_weight]
    for (name, dimensions), tensor in zip(_DIMENSIONS.items(), tensors, strict=False):
        if tensor.dtype not in KERNEL_DTYPES or tensor.dtype != previous.dtype or tensor.device.type != "cpu":
            raise OperatorError(
                f"{name} is of {tensor.dtype} on {tensor.device}: a compiled iteration takes float32 on the CPU, "
                "or float64, the same for all"
            )
        check_shape(name, tensor, (None,) * dimensions)
    apply: Callable[..., Tensor] = _FusedIteration.apply
    try:
        return apply(plan, graph, iteration, settings, *(tensor.contiguous() for tensor in tensors))
    except ValueError as error:  # a size that does not fit
        raise OperatorError(str(error)) from None


class _FusedIteration(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: Any, graph: Any, iteration: int, settings: FusedSettings, *tensors: Tensor) -> Tensor:
        zero = tensors[_ZERO]
        ctx.call = (plan, graph, iteration, *settings, zero.requires_grad, torch.get_num_threads())
        ctx.save_for_backward(*tensors)
        out = memory.empty((plan.rows(iteration), zero.numel()), zero.dtype)
        _compiled(ctx.call, tensors).forward(out.numpy())
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        tensors = ctx.saved_tensors
        learned = [tensor for place, tensor in enumerate(tensors) if place != _SCALE]
        gradients = [memory.empty(tuple(tensor.shape), tensor.dtype) for tensor in learned]
        for gradient in gradients[1:]:  # that of `previous` is written, not added to
            gradient.zero_()
        arrays: list[Any] = [gradient.numpy() for gradient in gradients]
        if len(tensors) == _EDGE_WEIGHT:
            arrays.append(None)
        _compiled(ctx.call, tensors).backward(grad_out.contiguous().numpy(), *arrays)
        return (None, None, None, None, *gradients[:_SCALE], None, *gradients[_SCALE:])


def _compiled(call: tuple[Any, ...], tensors: tuple[Tensor, ...]) -> Any:
    """The iteration on its inputs; without weights of the edges the last is None."""
    assert native is not None
    kind = native.FusedIterationFloat if tensors[0].dtype == torch.float32 else native.FusedIterationDouble
    arrays: list[Any] = [tensor.detach().numpy() for tensor in tensors]
    return kind(*call, *arrays, *([None] if len(arrays) == _EDGE_WEIGHT else []))
