"""What a training step computes: hide the batch's edges, score, loss, gradients; and Adam, which takes it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from nbfnet.config import TrainingConfig
from nbfnet.distributed import Team
from nbfnet.errors import TrainingError
from nbfnet.graph.graph import Graph
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.sampling.query_edges import QueryEdges
from nbfnet.training.batches import Batch
from nbfnet.training.loss import Candidates, link_loss, softmax_loss
from nbfnet.training.schedule import learning_rate

_OF_RELATIONS = 1  # tells these random numbers from those of the negatives


class MovingAverage:
    """a <- b a + (1 - b) p after each step, for every parameter p.

    b is the stated decay, and less in the first steps, (1 + k) / (10 + k) in step k, so that the beginning is soon
    forgotten.
    """

    def __init__(self, network: NeuralBellmanFordNetwork, decay: float) -> None:
        self.network = deepcopy(network)
        self.steps = 0
        self._of, self._decay = network, decay

    def update(self) -> None:
        """Count the parameters as they are now."""
        self.steps += 1
        decay = min(self._decay, (1 + self.steps) / (10 + self.steps))
        with torch.no_grad():
            for mean, parameter in zip(self.network.parameters(), self._of.parameters(), strict=True):
                mean.lerp_(parameter, 1 - decay)


class Optimization:
    """A network and its optimizer, on the facts of one graph, or of several.

    A team shares each batch: every process scores its part, on the same graph, and the gradients are summed, so that
    any number of processes takes the same step, to rounding.
    """

    def __init__(
        self,
        network: NeuralBellmanFordNetwork,
        graph: Graph | Sequence[Graph],
        config: TrainingConfig,
        team: Team,
    ) -> None:
        graphs = [graph] if isinstance(graph, Graph) else graph
        self.network, self.config, self.team = network, config, team
        self.optimizer = torch.optim.Adam(network.parameters(), lr=config.learning_rate)
        self.average = MovingAverage(network, config.average) if config.average else None
        self._graphs = graphs
        self._candidates = [Candidates(each) for each in graphs] if config.loss == "softmax" else None

    def compute_gradients(self, batch: Batch) -> float:
        """The batch's mean loss; its gradients are with the parameters, for the optimizer's step.

        Raises:
            TrainingError: the loss or a gradient is not finite.
        """
        self.network.train()
        self.optimizer.zero_grad(set_to_none=True)
        return self._gather_gradients(self._loss(batch))

    def take_step(self, position: float = 0.0) -> None:
        """Move the parameters along their gradients, at a position from 0 to 1 in the plan, as Adam does.

        Raises:
            TrainingError: a parameter is not finite any more.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.config, position)
        self.optimizer.step()
        if not all(bool(parameter.isfinite().all()) for parameter in self.network.parameters()):
            raise TrainingError("after it a parameter is not finite")
        if self.average is not None:
            self.average.update()

    @property
    def result(self) -> NeuralBellmanFordNetwork:
        """The network to validate and to keep: the moving average of the trained one, if there is one."""
        return self.network if self.average is None else self.average.network

    @cached_property
    def _edges(self) -> list[QueryEdges]:
        """Finds the edges to hide of each graph; samples come without them."""
        return [QueryEdges(graph.message_csr, graph.kind, self.config.hiding) for graph in self._graphs]

    def _loss(self, batch: Batch) -> Tensor:
        """This process's share of the batch's mean loss."""
        own = batch.take(self.team.share(batch.links))
        if own.sample is None:
            edges = self._edges[batch.graph]
            csr = edges.csr.hide(edges.slots(batch.source, batch.relation, batch.target))
            if self.config.relation_sample < 1:
                csr = replace(csr, whole=self._some_facts(edges.csr, batch))
        if not own.links:
            return torch.zeros((), device=self.config.device)
        if own.sample is None:
            graph = MessageGraph(csr, self.config.device)
        else:
            sample = own.sample
            graph = MessageGraph(sample.csr, self.config.device, mean_log_degree=sample.mean_log_degree)
            own = replace(own, source=sample.source, target=sample.target)
        return self._mean_loss(graph, own) * (own.links / batch.links)

    def _some_facts(self, csr: RelationalCSR, batch: Batch) -> RelationalCSR:
        """The edges of a random share of the facts, whose relation graph the batch has."""
        random = np.random.default_rng([*batch.seed, batch.graph, _OF_RELATIONS])
        share = self.config.relation_sample ** random.random()
        facts = len(self._graphs[batch.graph].triplets)
        taken = random.random(facts) < share
        return replace(csr.keep(taken[csr.edge % facts]), whole=None)  # an inverse edge goes with its fact

    def _mean_loss(self, graph: MessageGraph, batch: Batch) -> Tensor:
        parts = (batch.source, batch.relation, batch.target)
        source, relation, target = (torch.from_numpy(part).long().to(graph.device) for part in parts)
        if self._candidates is None:
            logits = self.network.score(graph, source, relation, target).view(batch.links, -1)
            return link_loss(logits, self.config.temperature)
        competing = self._candidates[batch.graph].mask(batch.source, batch.relation)
        candidates = torch.from_numpy(competing).to(graph.device)
        logits = self.network.score_all(graph, source, relation)
        score = self.network.score_function
        return softmax_loss(logits, target[:, 0], candidates, score.is_reached(logits), score.rest)

    def _gather_gradients(self, loss: Tensor) -> float:
        """The loss of the whole batch; every process gets the gradients of it."""
        if loss.requires_grad:
            loss.backward()  # type: ignore[no-untyped-call]
        if self._candidates is not None:
            # A softmax does not depend on it: its gradient is what rounding leaves, and Adam would make a step of that.
            self.network.score_function.constant.grad = None
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
