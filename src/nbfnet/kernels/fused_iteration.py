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
from nbfnet.native import native


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
        plan: which rows there are, of the compiled extension's class ``RowPlan``.
        graph: the edges, of its class ``GraphArrays``.
        iteration: t, from 1.
        settings: the operators.

    Raises:
        OperatorError: a shape or a type does not fit; the compiled code would not notice.
    """
    tensors = (previous, edge_representation, weight, bias, norm_weight, norm_bias, query, zero, scale)
    _check(tensors, plan, graph, iteration, settings)
    apply: Callable[..., Tensor] = _FusedIteration.apply
    return apply(plan, graph, iteration, settings, *(tensor.contiguous() for tensor in tensors))


def _check(tensors: tuple[Tensor, ...], plan: Any, graph: Any, iteration: int, settings: FusedSettings) -> None:
    dim = tensors[1].shape[-1]
    if settings.message == "rotate" and dim % 2:
        raise OperatorError(f"the message 'rotate' needs an even dim, not {dim}")
    features = (12 if settings.aggregate == "pna" else 1) * dim
    expected: dict[str, tuple[int | None, ...]] = {
        "previous": (plan.rows(iteration - 1), dim),
        "edge_representation": (plan.families, None, dim),
        "weight": (dim, dim + features),
        "bias": (dim,),
        "norm_weight": (dim,),
        "norm_bias": (dim,),
        "query": (plan.queries, dim),
        "zero": (dim,),
        "scale": (graph.nodes,),
    }
    dtype = tensors[0].dtype
    if dtype not in KERNEL_DTYPES:
        raise OperatorError(f"the compiled iteration knows float32 and float64, not {dtype}")
    for (name, shape), tensor in zip(expected.items(), tensors, strict=True):
        fits = len(shape) == tensor.dim() and all(e in (None, g) for g, e in zip(tensor.shape, shape, strict=True))
        if not fits or tensor.dtype != dtype or tensor.device.type != "cpu":
            wanted = ", ".join("any" if size is None else str(size) for size in shape)
            raise OperatorError(
                f"{name} is {tuple(tensor.shape)} of {tensor.dtype} on {tensor.device}, "
                f"expected ({wanted}) of {dtype} on cpu"
            )
    num_relations = tensors[1].shape[1]
    if num_relations < graph.relations:
        raise OperatorError(
            f"edge_representation has {num_relations} relations, expected at least the {graph.relations} of the edges"
        )


class _FusedIteration(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, plan: Any, graph: Any, iteration: int, settings: FusedSettings, *tensors: Tensor) -> Tensor:
        assert native is not None
        edge_representation, zero = tensors[1], tensors[7]
        _, num_relations, dim = edge_representation.shape
        options = native.FusedOptions(*settings, zero.requires_grad, torch.get_num_threads(), dim, num_relations)
        out = memory.empty((plan.rows(iteration), dim), edge_representation.dtype)
        is_double = out.dtype == torch.float64
        native.fused_forward(plan, graph, iteration, options, is_double, _addresses(tensors), out.data_ptr())
        ctx.call = (plan, graph, iteration, options, is_double)
        ctx.save_for_backward(*tensors)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_out: Tensor) -> tuple[Tensor | None, ...]:
        assert native is not None
        tensors = ctx.saved_tensors
        gradients = [memory.empty(tuple(tensor.shape), tensor.dtype).zero_() for tensor in tensors[:-1]]
        grad_out = grad_out.contiguous()
        native.fused_backward(*ctx.call, _addresses(tensors), grad_out.data_ptr(), _addresses(gradients))
        return (None, None, None, None, *gradients, None)


def _addresses(tensors: Any) -> list[int]:
    return [tensor.data_ptr() for tensor in tensors]
