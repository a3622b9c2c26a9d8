"""Scorer: anything that scores the nodes of a graph as answers to queries, a network or a baseline."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import torch
from torch import Tensor

from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork


class Scorer(Protocol):
    """Scores on one graph: a higher score is a better answer; inverse relations ask for heads."""

    @abstractmethod
    def score_all(self, source: Tensor, relation: Tensor) -> Tensor:
        """Scores (query, node) of every node, for sources (query,) and relations (query,)."""

    def score(self, source: Tensor, relation: Tensor, target: Tensor) -> Tensor:
        """Scores (query, candidate) of targets (query, candidate)."""
        return self.score_all(source, relation).gather(1, target)


class NetworkScorer(Scorer):
    """A Neural Bellman-Ford Network on a graph's edges."""

    def __init__(
        self, network: NeuralBellmanFordNetwork, csr: RelationalCSR, device: torch.device | str = "cpu"
    ) -> None:
        self.network = network
        self.graph = MessageGraph(csr, device)

    def score_all(self, source: Tensor, relation: Tensor) -> Tensor:
        """Logits (query, node)."""
        device = self.graph.device
        with self._evaluating():
            return self.network.score_all(self.graph, source.to(device), relation.to(device))

    def score(self, source: Tensor, relation: Tensor, target: Tensor) -> Tensor:
        """Logits (query, candidate); only what the targets need is computed."""
        device = self.graph.device
        with self._evaluating():
            return self.network.score(self.graph, source.to(device), relation.to(device), target.to(device))

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        training = self.network.training
        if training:  # it visits every module, which takes as long as a small query
            self.network.eval()
        try:
            with torch.no_grad():
                yield
        finally:
            if training:
                self.network.train()
