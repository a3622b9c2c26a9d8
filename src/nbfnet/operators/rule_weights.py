"""Edge weights of logic rules: how much each relation counts at each step, by an LSTM over the query, or given."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class RuleWeights(nn.Module, ABC):
    """w_q of every step: (query, step, relation + 1, rank), none of them negative; the last relation is "stay"."""

    @abstractmethod
    def forward(self, relation: Tensor) -> Tensor:
        """(query, step, relation + 1, rank) for the relations (query,) of queries."""


class LearnedRuleWeights(RuleWeights):
    """w_q^(t) = softmax(W s_t + b), with the state s_t of an LSTM that reads the query's embedding at each step.

    Every rank has an LSTM of its own; W and b are shared. DRUM reads both ways, NeuralLP forwards, with rank 1.
    """

    def __init__(self, num_relations: int, *, steps: int, rank: int, hidden: int, bidirectional: bool) -> None:
        super().__init__()
        self.steps = steps
        self.embedding = nn.Embedding(num_relations, hidden)
        self.lstms = nn.ModuleList(
            nn.LSTM(hidden, hidden, batch_first=True, bidirectional=bidirectional) for _ in range(rank)
        )
        self.linear = nn.Linear((2 if bidirectional else 1) * hidden, num_relations + 1)
        with torch.no_grad():  # staying begins as likely as all relations together: short rules are tried as well
            self.linear.bias[-1] += math.log(num_relations)

    def forward(self, relation: Tensor) -> Tensor:
        """(query, step, relation + 1, rank)."""
        read = self.embedding(relation)[:, None].expand(-1, self.steps, -1)
        states = torch.stack([lstm(read)[0] for lstm in self.lstms], dim=2)  # (query, step, rank, state)
        return torch.softmax(self.linear(states), dim=-1).transpose(2, 3)


class GivenRuleWeights(RuleWeights):
    """The weights of chosen rules, each a rank of its own; a query of another relation has none."""

    weights: Tensor  # (step, relation + 1, rank)

    def __init__(self, relation: int, weights: Tensor) -> None:
        super().__init__()
        self.relation = relation
        self.register_buffer("weights", weights)

    def forward(self, relation: Tensor) -> Tensor:
        """(query, step, relation + 1, rank)."""
        is_asked = (relation == self.relation).to(self.weights.dtype)
        return self.weights * is_asked[:, None, None, None]
