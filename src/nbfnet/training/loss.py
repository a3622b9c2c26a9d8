"""The losses of a batch: the paper's, against some negatives, and cross entropy over all entities."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from nbfnet.graph.graph import Graph
from nbfnet.graph.triplets import Int32
from nbfnet.sampling.known_answers import KnownAnswers
from nbfnet.sampling.possible_answers import Mask, PossibleAnswers
from nbfnet.sampling.sorted_keys import expand_ranges


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


def softmax_loss(
    logits: Tensor, answer: Tensor, candidates: Tensor, learned: Tensor | None = None, rest: float = 0.0
) -> Tensor:
    """The mean over queries of the cross entropy of the answer among its candidates.

        - log (exp s(v) / (rest + sum_c exp s(c))),   c = v and the candidates

    Args:
        logits: (query, node) s, of every node.
        answer: (query,) v.
        candidates: (query, node) which nodes the answer competes with.
        learned: (query, node) which answers can be learned; others count, but without a gradient. None: all.
        rest: the odds of none of them.
    """
    competing = candidates.scatter(1, answer[:, None], True)
    everything = logits.masked_fill(~competing, -torch.inf).logsumexp(dim=1)
    if rest:
        everything = torch.logaddexp(everything, logits.new_tensor(math.log(rest)))
    loss = everything - logits.gather(1, answer[:, None])[:, 0]
    if learned is not None:
        loss = torch.where(learned.gather(1, answer[:, None])[:, 0], loss, loss.detach())
    return loss.mean()


class Candidates:
    """The nodes that a training answer competes with: not the query's other answers, nor what its type rules out."""

    def __init__(self, graph: Graph) -> None:
        self._known = KnownAnswers.of(graph, graph.triplets)
        self._possible = PossibleAnswers.of(graph)

    def mask(self, source: Int32, relation: Int32) -> Mask:
        """(query, node) true for candidates; false for every known answer, the one that is asked included."""
        mask = np.ones((len(source), self._known.num_nodes), dtype=np.bool_)
        if self._possible is not None:
            for r in np.unique(relation).tolist():
                mask[relation == r] = self._possible.mask(r)
        rows = self._known.rows(source, relation)
        query, position = expand_ranges(self._known.begin[rows], self._known.begin[rows + 1])
        mask[query, self._known.answer[position]] = False
        return mask
