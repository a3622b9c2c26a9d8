"""Relational SpMM in plain PyTorch: the specification, for any device and for a user's own operators."""

from __future__ import annotations

import torch
from torch import Tensor

from nbfnet.operators.aggregate import Aggregate
from nbfnet.operators.message import Message


def relational_spmm_reference(
    source: Tensor,
    edge_representation: Tensor,
    boundary: Tensor,
    indptr: Tensor,
    source_index: Tensor,
    relation: Tensor,
    weight: Tensor | None,
    message: Message,
    aggregate: Aggregate,
) -> Tensor:
    """out_v = AGGREGATE({boundary_v} + {weight * MESSAGE(source_x, edge_r) : edge (x, r, v)}).

    Arguments as of ``relational_spmm``. Every message is held in memory: (query, edge, dim).
    """
    messages = message(source.index_select(1, source_index), edge_representation.index_select(1, relation))
    if weight is not None:
        messages = messages * weight[:, None]
    num_rows = boundary.shape[1]
    every_row = torch.arange(num_rows, device=indptr.device)
    row = every_row.repeat_interleave(indptr.diff())
    # The boundary joins as one more message of each row, whatever the aggregate.
    joined: Tensor = aggregate(torch.cat([messages, boundary], dim=1), torch.cat([row, every_row]), num_rows)
    return joined
