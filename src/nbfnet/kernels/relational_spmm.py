"""Relational SpMM: the message passing of one Bellman-Ford iteration, in plain PyTorch.

This is the specification of what compiled iterations compute. It serves any device and a user's own operators.
"""

from __future__ import annotations

import torch
from torch import Tensor

from nbfnet.errors import OperatorError
from nbfnet.kernels.shape_check import Shape, check_shape
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

    Every message is held in memory: (query, edge, dim).

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
        OperatorError: shapes or types do not fit each other or the message.
    """
    message = messages.make(message) if isinstance(message, str) else message
    aggregate = aggregates.make(aggregate) if isinstance(aggregate, str) else aggregate
    _check(source, edge_representation, boundary, indptr, source_index, relation, weight)
    message.check_dim(source.shape[2])
    sent = message(source.index_select(1, source_index), edge_representation.index_select(1, relation))
    if weight is not None:
        sent = sent * weight.to(source.dtype)[:, None]
    num_rows = boundary.shape[1]
    every_row = torch.arange(num_rows, device=indptr.device)
    row = every_row.repeat_interleave(indptr.diff())
    # The boundary joins as one more message of each row, whatever the aggregate.
    joined: Tensor = aggregate(torch.cat([sent, boundary], dim=1), torch.cat([row, every_row]), num_rows)
    return joined


def _check(
    source: Tensor,
    edge_representation: Tensor,
    boundary: Tensor,
    indptr: Tensor,
    source_index: Tensor,
    relation: Tensor,
    weight: Tensor | None,
) -> None:
    _expect("boundary", boundary, (None, None, None), boundary.dtype)
    num_queries, num_rows, dim = boundary.shape
    _expect("source", source, (num_queries, None, dim), boundary.dtype)
    _expect("edge_representation", edge_representation, (None, None, dim), boundary.dtype)
    _expect("indptr", indptr, (num_rows + 1,), torch.int64)
    _expect("source_index", source_index, (None,), torch.int32)
    num_edges = (len(source_index),)
    _expect("relation", relation, num_edges, torch.int32)
    if weight is not None:
        _expect("weight", weight, num_edges, weight.dtype)
    if len(edge_representation) not in (1, num_queries):
        raise OperatorError(f"edge_representation has {len(edge_representation)} queries, expected {num_queries}, or 1")


def _expect(name: str, tensor: Tensor, shape: Shape, dtype: torch.dtype) -> None:
    check_shape(name, tensor, shape)
    if tensor.dtype != dtype:
        raise OperatorError(f"{name} is of {tensor.dtype}, expected {dtype}")
