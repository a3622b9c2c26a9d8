"""The loss: binary cross entropy of an answer against its negatives."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid


def link_loss(logits: Tensor, temperature: float | None = None) -> Tensor:
    """The mean over queries of the weighted binary cross entropy.

        - (log p(v) + sum_i w_i log(1 - p(v_i))) / (1 + sum_i w_i),   p = sigmoid(logit),

    where w_i is 1 / n, or the self-adversarial softmax_i(logit_i / temperature), which no gradient passes through.

    Args:
        logits: (query, 1 + n), the answer first, then n >= 1 negatives.
        temperature: of the self-adversarial weights; None: every negative weighs 1 / n.
    """
    answer, negatives = logits[:, 0], logits[:, 1:]
    weight = negative_weights(negatives.detach(), temperature)
    loss = -logsigmoid(answer) - (weight * logsigmoid(-negatives)).sum(dim=1)
    return (loss / (1 + weight.sum(dim=1))).mean()


def negative_weights(negatives: Tensor, temperature: float | None) -> Tensor:
    """(query, n) the weights w_i of negative logits (query, n); they add up to 1."""
    assert negatives.shape[1] >= 1 and (temperature is None or temperature > 0)
    if temperature is None:
        return torch.full_like(negatives, 1 / negatives.shape[1])
    # Less the maximum before the division: a huge logit over a small temperature would overflow.
    below = negatives - negatives.amax(dim=1, keepdim=True)
    return torch.softmax(below / temperature, dim=1)
