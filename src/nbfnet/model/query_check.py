"""Whether queries fit a network and a graph: asked once, at the boundary. Compiled code takes ids as they are."""

from __future__ import annotations

import torch
from torch import Tensor

from nbfnet.errors import QueryError
from nbfnet.kernels.shape_check import Shape, check_shape
from nbfnet.model.message_graph import MessageGraph


def check_graph(graph: MessageGraph, num_relations: int, device: torch.device) -> None:
    """Raise QueryError where a network of so many relations on a device cannot pass messages over a graph."""
    if graph.num_relations != num_relations:
        raise QueryError(
            f"the graph has {graph.num_relations} relations (inverses included), the network {num_relations}: "
            "use a graph with the relations that the network was made for"
        )
    if graph.indptr.device != device:
        raise QueryError(
            f"the graph is on the device '{graph.indptr.device}', the network on '{device}': move one of them"
        )


def check_ids(role: str, ids: Tensor, shape: Shape, count: int, device: torch.device) -> Tensor:
    """The ids as int64, which must be 0 to count - 1; None in the expected shape stands for any size.

    Raises:
        QueryError: shape, type, device or an id does not fit.
    """
    check_shape(role, ids, shape, QueryError)
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise QueryError(f"{role} holds {ids.dtype}, expected ids as torch.int64")
    if ids.device != device:
        raise QueryError(f"{role} is on the device '{ids.device}', the network on '{device}': move one of them")
    if ids.numel():
        low, high = (int(end) for end in ids.aminmax())
        if low < 0 or high >= count:
            raise QueryError(f"{role} holds the id {low if low < 0 else high}, expected 0 to {count - 1}")
    return ids.long()
