"""Message: the base of every MESSAGE function, and of one that a user writes."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor, nn


class Message(nn.Module, ABC):
    """MESSAGE(h_x, w_q(x, r, v)): what an edge makes of its source's representation and its own.

    A subclass with nothing but a ``forward`` in PyTorch works at once, on any device.
    """

    @abstractmethod
    def forward(self, source_rows: Tensor, edge_rows: Tensor) -> Tensor:
        """(query, edge, dim) from source_rows (query, edge, dim) and edge_rows (query or 1, edge, dim)."""

    def check_dim(self, dim: int) -> None:
        """Raise OperatorError where the message is not defined for representations of this dim."""
