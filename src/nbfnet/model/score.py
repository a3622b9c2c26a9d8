"""The score f of a pair representation: p(v | u, q) = sigmoid(f(h_q(u, v)))."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import ClassVar

import torch
from torch import Tensor, nn

from nbfnet.native import native

_ROWS = 1 << 11  # of a block: what it needs stays in the cache


class Score(nn.Module):
    """f(h, q) = MLP([h, q]), a logit; ReLU between the layers."""

    rest: ClassVar[float] = 0.0  # the odds of no answer at all, in a softmax over all nodes

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

    def is_reached(self, logits: Tensor) -> Tensor:
        """Which logits can be learned from: all."""
        return torch.ones_like(logits, dtype=torch.bool)

    def forward(self, representation: Tensor, query: Tensor) -> Tensor:
        """(...,) logits of pair representations (..., dim) and query embeddings (..., dim), or (dim,) for all.

        A matrix product rounds a row by where it stands in the matrix, so equal representations would get scores that
        differ in their last bits, and ties would be broken by chance. Where no gradient is needed the logits are
        computed in double precision and rounded once: ties stay ties.
        """
        if torch.is_grad_enabled() or representation.device.type != "cpu" or representation.ndim == 1:
            return self._logits(representation, query)
        if (
            native is not None
            and query.ndim == 1
            and representation.ndim == 2
            and representation.dtype == torch.float32
        ):
            return self._compiled_logits(representation, query)
        blocks = torch.split(representation, max(1, _ROWS // max(1, representation.shape[1:-1].numel())))
        queries = (
            torch.split(query, len(blocks[0]) or 1) if query.ndim == representation.ndim else [query] * len(blocks)
        )
        logits = [self._logits(h.double(), q.double()).to(h.dtype) for h, q in zip(blocks, queries, strict=True)]
        return torch.cat(logits)

    def _compiled_logits(self, representation: Tensor, query: Tensor) -> Tensor:
        """(row,) logits of rows (row, dim) of one query (dim,), without gradients."""
        assert native is not None
        layers = [(layer.weight.double(), layer.bias.double()) for layer in self.mlp if isinstance(layer, nn.Linear)]
        (weight, bias), *others = layers
        of_query = nn.functional.linear(query.double(), weight[:, len(query) :], bias)
        layers = [(weight[:, : len(query)].contiguous(), of_query), *others]
        logits = representation.new_empty(len(representation))
        arrays = [(weight.numpy(), bias.numpy()) for weight, bias in layers]
        native.score_mlp(representation.contiguous().numpy(), arrays, torch.get_num_threads(), logits.numpy())
        return logits

    def _logits(self, representation: Tensor, query: Tensor) -> Tensor:
        first, *others = (layer for layer in self.mlp if isinstance(layer, nn.Linear))
        dim, weight = representation.shape[-1], first.weight.to(representation.dtype)
        # [h, q] is never made: q is the same for all nodes of a query.
        of_query = nn.functional.linear(query, weight[:, dim:], first.bias.to(query.dtype))
        hidden = nn.functional.linear(representation, weight[:, :dim]) + of_query
        for layer in others:
            hidden = nn.functional.linear(hidden.relu(), layer.weight.to(hidden.dtype), layer.bias.to(hidden.dtype))
        return torch.squeeze(hidden, -1)


LEAST_RULE_SCORE = 1e-20  # of a node that no rule leads to: the logarithm stays finite
LEAST_LOGIT = math.log(LEAST_RULE_SCORE) + 1e-3


class RuleScore(nn.Module):
    """f(h, q) = log(sum of h over the ranks) + c: the odds of an answer are e^c times the weight of its paths."""

    # Weight that is spent on relations which lead nowhere would cost nothing if scores only competed with each other.
    rest: ClassVar[float] = 1.0

    def __init__(self) -> None:
        super().__init__()
        self.constant = nn.Parameter(torch.zeros(1))

    def forward(self, representation: Tensor, query: Tensor) -> Tensor:
        """(...,) logits of pair representations (..., rank); the query counted in their weights already."""
        return representation.sum(dim=-1).clamp(min=LEAST_RULE_SCORE).log() + self.constant

    def is_reached(self, logits: Tensor) -> Tensor:
        """Which logits can be learned from: those of nodes that a rule leads to."""
        return logits - self.constant > LEAST_LOGIT
