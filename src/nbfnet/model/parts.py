"""Batches that do not fit into the memory: how much one takes, and how it is computed part by part."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from nbfnet.config import ModelConfig
from nbfnet.model.frontier import Frontier
from nbfnet.model.memory import composed_memory, fused_memory, relation_update_memory
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.row_evaluation import Iteration, is_fused


def plain_memory(graph: MessageGraph, queries: int, config: ModelConfig, like: Tensor) -> int:
    """About how many bytes every node of every query takes, in representations like a tensor's."""
    rows, messages = queries * graph.num_nodes, queries * graph.csr.num_edges
    size = config.width * like.element_size()
    return composed_memory(
        [rows] * config.layers, [messages] * config.layers, size, with_gradient=torch.is_grad_enabled()
    )


def frontier_memory(frontier: Frontier, layer: Iteration, config: ModelConfig, like: Tensor) -> int:
    """About how many bytes the rows of a frontier take, by such iterations, in representations like a tensor's."""
    return frontier.memory(
        config.width, like.element_size(), with_gradient=torch.is_grad_enabled(), fused=is_fused(layer, like)
    )


def relation_memory(graph: MessageGraph, queries: int, rounds: int, size: int) -> int:
    """About how many bytes so many updates of every relation of every query take; ``size`` is a representation's."""
    return relation_update_memory(queries * graph.num_relations, rounds, size, with_gradient=torch.is_grad_enabled())


def alternating_memory(graph: MessageGraph, queries: int, config: ModelConfig, like: Tensor, *, fused: bool) -> int:
    """About how many bytes rounds of alternating edges take: every relation and every node of every query."""
    size = config.dim * like.element_size()
    of_relations = relation_memory(graph, queries, config.layers, size)
    if not fused:
        return of_relations + plain_memory(graph, queries, config, like)
    rows = [queries * graph.num_nodes] * (config.layers + 1)
    return of_relations + fused_memory(rows, size, with_gradient=torch.is_grad_enabled())


def is_too_large(needed: int, limit: int, queries: int) -> bool:
    """Whether a batch takes more bytes than it may, and can be cut at all."""
    return needed > limit and queries > 1


def in_parts(needed: int, limit: int, compute: Callable[..., Tensor], graph: MessageGraph, *batch: Tensor) -> Tensor:
    """Computes a batch part by part; again on the way back, so that only one part is ever held.

    Args:
        needed: the bytes that the whole batch takes.
        limit: the bytes that a part may take.
        compute: from the graph and a part of the batch to a tensor (query, ...).
        graph: the edges.
        batch: tensors (query, ...) that are cut alike.
    """
    count = len(batch[0])
    parts = min(count, -(-needed // limit))
    bounds = pairwise(count * part // parts for part in range(parts + 1))
    return torch.cat([checkpoint(compute, graph, *(ids[a:b] for ids in batch), use_reentrant=False) for a, b in bounds])
