"""The shapes and types that the tensors of a relational SpMM must have."""

from __future__ import annotations

import torch
from torch import Tensor

from nbfnet.errors import OperatorError


def check_inputs(
    source: Tensor,
    edge_representation: Tensor,
    boundary: Tensor,
    indptr: Tensor,
    source_index: Tensor,
    relation: Tensor,
    weight: Tensor | None,
) -> None:
    """Shapes and types as ``relational_spmm`` describes them; weights may be of any type.

    Raises:
        OperatorError: names the tensor that does not fit, and what was expected.
    """
    expect("boundary", boundary, (None, None, None), boundary.dtype)
    num_queries, num_rows, dim = boundary.shape
    expect("source", source, (num_queries, None, dim), boundary.dtype)
    expect("edge_representation", edge_representation, (None, None, dim), boundary.dtype)
    expect("indptr", indptr, (num_rows + 1,), torch.int64)
    expect("source_index", source_index, (None,), torch.int32)
    num_edges = (len(source_index),)
    expect("relation", relation, num_edges, torch.int32)
    if weight is not None:
        expect("weight", weight, num_edges, weight.dtype)
    if len(edge_representation) not in (1, num_queries):
        raise OperatorError(f"edge_representation has {len(edge_representation)} queries, expected {num_queries}, or 1")


def expect(name: str, tensor: Tensor, shape: tuple[int | None, ...], dtype: torch.dtype) -> None:
    """Refuse a tensor of another shape or type; None stands for any size."""
    sizes = zip(tensor.shape, shape, strict=False)
    fits = tensor.dim() == len(shape) and all(wanted in (None, size) for size, wanted in sizes)
    if not fits or tensor.dtype != dtype:
        expected = ", ".join("any" if n is None else str(n) for n in shape)
        raise OperatorError(f"{name} is {tuple(tensor.shape)} of {tensor.dtype}, expected ({expected}) of {dtype}")
