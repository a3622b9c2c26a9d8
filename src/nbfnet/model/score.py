"""The score f of a pair representation: p(v | u, q) = sigmoid(f(h_q(u, v)))."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn


class Score(nn.Module):
    """f(h, q) = MLP([h, q]), a logit; ReLU between the layers."""

    def __init__(self, dim: int, hidden: tuple[int, ...]) -> None:
        super().__init__()
        sizes = [2 * dim, *hidden, 1]
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(sizes):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        self.mlp = nn.Sequential(*layers[:-1])

    def forward(self, representation: Tensor, query: Tensor) -> Tensor:
        """(...,) logits of pair representations (..., dim) and query embeddings (..., dim), broadcast."""
        first = self.mlp[0]
        assert isinstance(first, nn.Linear)
        dim = representation.shape[-1]
        # [h, q] is never made: q is the same for all nodes of a query.
        of_query = nn.functional.linear(query, first.weight[:, dim:], first.bias)
        hidden = nn.functional.linear(representation, first.weight[:, :dim]) + of_query
        for layer in list(self.mlp)[1:]:
            hidden = layer(hidden)
        return torch.squeeze(hidden, -1)
