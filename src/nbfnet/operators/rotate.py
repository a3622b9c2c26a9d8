"""RotatE as a message: rotation and scaling of complex numbers."""

from __future__ import annotations

import torch
from torch import Tensor

from nbfnet.errors import OperatorError
from nbfnet.operators.message import Message
from nbfnet.operators.registry import messages


@messages.register("rotate")
class RotatEMessage(Message):
    """MESSAGE(h, w) = h * w as complex numbers; the first half of the dims is real, the second imaginary."""

    def forward(self, source_rows: Tensor, edge_rows: Tensor) -> Tensor:
        """(query, edge, dim) the complex products."""
        self.check_dim(source_rows.shape[-1])
        source_real, source_imaginary = source_rows.chunk(2, dim=-1)
        edge_real, edge_imaginary = edge_rows.chunk(2, dim=-1)
        real = source_real * edge_real - source_imaginary * edge_imaginary
        imaginary = source_real * edge_imaginary + source_imaginary * edge_real
        return torch.cat([real, imaginary], dim=-1)

    def check_dim(self, dim: int) -> None:
        """RotatE needs an even dim."""
        if dim % 2:
            raise OperatorError(
                f"the message 'rotate' pairs real and imaginary parts, so the dim must be even, not {dim}: "
                f"use {dim + 1}"
            )
