"""MESSAGE functions: the base of all of them, also of one that a user writes, and TransE, DistMult and RotatE."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from nbfnet.errors import OperatorError
from nbfnet.operators.registry import messages


class Message(nn.Module, ABC):
    """MESSAGE(h_x, w_q(x, r, v)): what an edge makes of its source's representation and its own.

    A subclass with nothing but a ``forward`` in PyTorch works at once, on any device.
    """

    @abstractmethod
    def forward(self, source_rows: Tensor, edge_rows: Tensor) -> Tensor:
        """(query, edge, dim) from source_rows (query, edge, dim) and edge_rows (query or 1, edge, dim)."""

    def check_dim(self, dim: int) -> None:
        """Raise OperatorError where the message is not defined for representations of this dim."""


@messages.register("transe")
class TransEMessage(Message):
    """MESSAGE(h, w) = h + w."""

    def forward(self, source_rows: Tensor, edge_rows: Tensor) -> Tensor:
        """(query, edge, dim) the sums."""
        return source_rows + edge_rows


@messages.register("distmult")
class DistMultMessage(Message):
    """MESSAGE(h, w) = h * w."""

    def forward(self, source_rows: Tensor, edge_rows: Tensor) -> Tensor:
        """(query, edge, dim) the products."""
        return source_rows * edge_rows


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
