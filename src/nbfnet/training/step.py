"""What a training step computes: hide the batch's edges, score, loss, gradients; and Adam, which takes it."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from nbfnet.config import TrainingConfig
from nbfnet.distributed import Team
from nbfnet.errors import TrainingError
from nbfnet.graph.graph import Graph
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.sampling.query_edges import QueryEdges
from nbfnet.training.batches import Batch


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


class Optimization:
    """A network and its optimizer, on the facts of one graph.

    A team shares each batch: every process scores its part, on the same graph, and the gradients are summed, so that
    any number of processes takes the same step, to rounding.
    """

    def __init__(self, network: NeuralBellmanFordNetwork, graph: Graph, config: TrainingConfig, team: Team) -> None:
        self.network, self.config, self.team = network, config, team
        self.optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
        self._edges = QueryEdges(graph.message_csr, graph.kind, config.hiding)

    def compute_gradients(self, batch: Batch) -> float:
        """The batch's mean loss; its gradients are with the parameters, for the optimizer's step.

        Raises:
            TrainingError: the loss or a gradient is not finite.
        """
        self.network.train()
        self.optimizer.zero_grad(set_to_none=True)
        return self._gather_gradients(self._loss(batch))

    def take_step(self) -> None:
        """Move the parameters along their gradients, as Adam does.

        Raises:
            TrainingError: a parameter is not finite any more.
        """
        self.optimizer.step()
        if not all(bool(parameter.isfinite().all()) for parameter in self.network.parameters()):
            raise TrainingError("after it a parameter is not finite")

    def _loss(self, batch: Batch) -> Tensor:
        """This process's share of the batch's mean loss."""
        csr = self._edges.csr.hide(self._edges.slots(batch.source, batch.relation, batch.target))
        own = batch.take(self.team.share(batch.links))
        if not own.links:
            return torch.zeros((), device=self.config.device)
        graph = MessageGraph(csr, self.config.device)
        ids = (torch.from_numpy(part).long().to(graph.device) for part in (own.source, own.relation, own.target))
        logits = self.network.score(graph, *ids).view(own.links, -1)
        return link_loss(logits, self.config.temperature) * (own.links / batch.links)

    def _gather_gradients(self, loss: Tensor) -> float:
        """The loss of the whole batch; every process gets the gradients of it."""
        if loss.requires_grad:
            loss.backward()  # type: ignore[no-untyped-call]
        parameters = list(self.network.parameters())
        # A parameter that no query used has no gradient: zero, as in a process that did use it.
        parts = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        flat = torch.cat([loss.detach().reshape(1), *(part.reshape(-1) for part in parts)])
        self.team.add(flat)
        total, norm = float(flat[0]), float(flat[1:].norm())
        if not (math.isfinite(total) and math.isfinite(norm)):
            raise TrainingError(f"the loss is {total:g}, the norm of its gradient {norm:g}")
        pieces = torch.split(flat[1:], [p.numel() for p in parameters])
        for parameter, piece in zip(parameters, pieces, strict=True):
            parameter.grad = piece.view_as(parameter)
        return total
