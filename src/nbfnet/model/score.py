"""The score f of a pair representation: p(v | u, q) = sigmoid(f(h_q(u, v)))."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn

_ROWS = 1 << 14  # of a block: what it needs stays in the cache


class Score(nn.Module):
    """f(h, q) = MLP([h, q]), a logit; ReLU between the layers."""

    def __init__(self, dim: int, hidden: tuple[int, ...]) -> None:
        super().__init__()
        sizes = [2 * dim, *hidden, 1]
        layers: list[nn.Module] = []
        for inputs, outputs in pairwise(sizes):
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        self.mlp = nn.Sequential(*layers[:-1])

    @property
    def constant(self) -> nn.Parameter:
        """(1,) what is added to every logit: the bias of the last layer."""
        last = self.mlp[-1]
        assert isinstance(last, nn.Linear)
        return last.bias

    def forward(self, representation: Tensor, query: Tensor) -> Tensor:
        """(...,) logits of pair representations (..., dim) and query embeddings (..., dim), or (dim,) for all.

        A matrix product rounds a row by where it stands in the matrix, so equal representations would get scores that
        differ in their last bits, and ties would be broken by chance. Where no gradient is needed the logits are
        computed in double precision and rounded once: ties stay ties.
        """
        if torch.is_grad_enabled() or representation.device.type != "cpu" or representation.ndim == 1:
            return self._logits(representation, query)
        blocks = torch.split(representation, max(1, _ROWS // max(1, representation.shape[1:-1].numel())))
        queries = (
            torch.split(query, len(blocks[0]) or 1) if query.ndim == representation.ndim else [query] * len(blocks)
        )
        logits = [self._logits(h.double(), q.double()).to(h.dtype) for h, q in zip(blocks, queries, strict=True)]
        return torch.cat(logits)

    def _logits(self, representation: Tensor, query: Tensor) -> Tensor:
        first, *others = (layer for layer in self.mlp if isinstance(layer, nn.Linear))
        dim, weight = representation.shape[-1], first.weight.to(representation.dtype)
        # [h, q] is never made: q is the same for all nodes of a query.
        of_query = nn.functional.linear(query, weight[:, dim:], first.bias.to(query.dtype))
        hidden = nn.functional.linear(representation, weight[:, :dim]) + of_query
        for layer in others:
            hidden = nn.functional.linear(hidden.relu(), layer.weight.to(hidden.dtype), layer.bias.to(hidden.dtype))
        return torch.squeeze(hidden, -1)
