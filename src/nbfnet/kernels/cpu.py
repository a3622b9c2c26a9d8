"""Relational SpMM by the compiled kernel, on CPU tensors: nothing is ever stored for an edge and a dim."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy.typing as npt
import torch
from torch import Tensor

from nbfnet.errors import BackendError, OperatorError
from nbfnet.kernels import memory
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
    edges = _arrays(indptr, source_index, relation)
    threads = torch.get_num_threads()
    if not _kernel().edges_fit(*edges, source.shape[1], edge_representation.shape[1], threads):
        raise OperatorError(
            f"the edges do not fit: indptr must rise from 0 to the number of edges ({len(source_index)}), "
            f"source_index stay below {source.shape[1]}, relation below {edge_representation.shape[1]}"
        )
    out = memory.empty(output_shape(boundary, aggregate), boundary.dtype)
    inputs = _arrays(source, edge_representation, boundary)
    _kernel().relational_spmm_forward(*inputs, *edges, *_arrays(weight, out), message, aggregate, threads)
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
    of_source, of_edges, of_boundary = (memory.empty(tuple(t.shape), t.dtype) for t in like)
    of_weight = memory.empty((len(source_index) if weight_gradient else 0,), source.dtype)
    inputs = (*like, indptr, source_index, relation, weight)
    outputs = (of_source, of_edges, of_boundary, of_weight if weight_gradient else None)
    arrays = _arrays(grad_out, *inputs, *outputs)
    _kernel().relational_spmm_backward(*arrays, message, aggregate, torch.get_num_threads())
    return of_source, of_edges, of_boundary, of_weight


def output_shape(boundary: Tensor, aggregate: str) -> tuple[int, ...]:
    """The shape of the output: the boundary's, with one more dimension where there are several statistics."""
    num_queries, num_rows, dim = boundary.shape
    return (num_queries, num_rows, 4, dim) if aggregate == "pna" else (num_queries, num_rows, dim)


def _kernel() -> ModuleType:
    if native is None:
        raise BackendError("the compiled extension is not there (not built, or turned off by NBFNET_NATIVE=0)")
    return native


def _arrays(*tensors: Tensor | None) -> list[npt.NDArray[Any] | None]:
    return [None if tensor is None else tensor.detach().contiguous().numpy() for tensor in tensors]
