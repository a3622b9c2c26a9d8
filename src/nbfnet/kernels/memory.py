"""Tensors for large results, in memory that is kept when they are freed.

The C library gives large blocks back to the system at once, and mapping them afresh for every result takes
longer than to compute it.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from nbfnet.native import native

LARGE = 1 << 20  # bytes; smaller blocks stay with the C library anyway


def empty(shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """A tensor on the CPU with any content; a large one comes from the memory pool, and goes back there."""
    size = math.prod(shape) * dtype.itemsize
    if native is None or size < LARGE:
        return torch.empty(shape, dtype=dtype)
    return torch.from_numpy(native.pooled_bytes(size)).view(dtype).view(shape)
