"""Relational SpMM by the compiled kernel, on CPU tensors: nothing is ever stored for an edge and a dim."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import torch
from torch import Tensor

from nbfnet.errors import BackendError, OperatorError
from nbfnet.kernels import memory
from nbfnet.kernels.backend import KERNEL_DTYPES
from nbfnet.kernels.shapes import check_inputs, expect
from nbfnet.native import native


def instruction_set() -> str:
    """Which vector instructions the kernel uses on this machine: 'avx512', 'avx2' or 'baseline'."""
    return str(_kernel().instruction_set())


def forward(
    source: Tensor,
    edge_representation: Tensor,
    boundary: Tensor,
    indptr: Tensor,
    source_index: Tensor,
    relation: Tensor,
    weight: Tensor | None,
    message: str,
    aggregate: str,
) -> Tensor:
    """(query, row, dim), or (query, row, 4, dim) for 'pna'; arguments as of ``relational_spmm``."""
    inputs = (source, edge_representation, boundary, indptr, source_index, relation, weight)
    _check(*inputs)
    out = memory.empty(output_shape(boundary, aggregate), boundary.dtype)
    _call(_kernel().relational_spmm_forward, (*inputs, out), message, aggregate)
    return out


def backward(
    grad_out: Tensor,
    source: Tensor,
    edge_representation: Tensor,
    boundary: Tensor,
    indptr: Tensor,
    source_index: Tensor,
    relation: Tensor,
    weight: Tensor | None,
    message: str,
    aggregate: str,
    weight_gradient: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of source, edge_representation, boundary and weight (empty where it is not asked for)."""
    like = (source, edge_representation, boundary)
    inputs = (*like, indptr, source_index, relation, weight)
    _check(*inputs)
    expect("grad_out", grad_out, output_shape(boundary, aggregate), boundary.dtype)
    of_source, of_edges, of_boundary = (memory.empty(tuple(t.shape), t.dtype) for t in like)
    of_weight = memory.empty((len(source_index) if weight_gradient else 0,), source.dtype)
    outputs = (of_source, of_edges, of_boundary, of_weight if weight_gradient else None)
    _call(_kernel().relational_spmm_backward, (grad_out, *inputs, *outputs), message, aggregate)
    return of_source, of_edges, of_boundary, of_weight


def output_shape(boundary: Tensor, aggregate: str) -> tuple[int, ...]:
    """The shape of the output: the boundary's, with one more dimension where there are several statistics."""
    num_queries, num_rows, dim = boundary.shape
    return (num_queries, num_rows, 4, dim) if aggregate == "pna" else (num_queries, num_rows, dim)


def _kernel() -> ModuleType:
    if native is None:
        raise BackendError("the compiled extension is not there (not built, or turned off by NBFNET_NATIVE=0)")
    return native


def _check(source: Tensor, *others: Any) -> None:
    """The operator may be called directly, as ``torch.ops.nbfnet.relational_spmm``: nobody has looked before."""
    weight = others[-1]
    check_inputs(source, *others)
    if source.dtype not in KERNEL_DTYPES:
        raise OperatorError(f"the kernel knows float32 and float64, not {source.dtype}")
    if weight is not None:
        expect("weight", weight, (None,), source.dtype)


def _call(function: Callable[..., None], tensors: Iterable[Tensor | None], message: str, aggregate: str) -> None:
    arrays = [None if tensor is None else tensor.detach().contiguous().numpy() for tensor in tensors]
    try:
        function(*arrays, message, aggregate, torch.get_num_threads())
    except ValueError as error:  # indices out of bounds, an operator that has no kernel
        raise OperatorError(str(error)) from None
