"""How much memory a batch of queries takes, about: what decides whether it is computed in parts."""

from __future__ import annotations

from collections.abc import Sequence

# What plain PyTorch keeps of an iteration for the way back, measured with PNA, which keeps most, in representations:
PER_MESSAGE = 5  # source, edge, message, message beside the boundary, its square
PER_ROW = 14  # boundary, own, statistics, projections, LayerNorm, ReLU, ...

PER_RELATION = 16  # of an update of the relations: received, beside its own, linear, LayerNorm, ReLU, edges, ...


def fused_memory(rows: Sequence[int], size: int, *, with_gradient: bool) -> int:
    """Bytes that compiled iterations take: all iterations' rows when gradients are wanted, else two iterations'.

    ``rows`` are those of each iteration, the one before the first among them; ``size`` is a representation's bytes.
    """
    held = sum(rows) + 2 * max(rows) if with_gradient else 2 * max(rows)
    return held * size


def composed_memory(rows: Sequence[int], messages: Sequence[int], size: int, *, with_gradient: bool) -> int:
    """Bytes that iterations in plain PyTorch take, which hold every message: all iterations', or the largest one's."""
    each = [PER_ROW * r + PER_MESSAGE * m for r, m in zip(rows, messages, strict=True)]
    return (sum(each) if with_gradient else max(each)) * size


def relation_update_memory(relations: int, rounds: int, size: int, *, with_gradient: bool) -> int:
    """Bytes that so many updates of the relations of all queries take: all rounds', or one's."""
    return PER_RELATION * relations * (rounds if with_gradient else 1) * size
