"""Scorer: anything that scores the nodes of a graph as answers to queries, a network or a baseline."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from nbfnet.distributed import Team
from nbfnet.errors import EvaluationError
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Float64, Int32
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.model.row_evaluation import Backgrounds


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
        self._backgrounds: Backgrounds | None = None

    def keep_backgrounds(self, most_bytes: int) -> None:
        """From now on the network does not learn: what no source changes is kept for the relations asked last."""
        config = self.network.config
        most = most_bytes // (4 * config.layers * config.dim * max(1, self.graph.num_nodes))
        if most > 0 and self.network.has_background(self.graph):
            self._backgrounds = lru_cache(most)(partial(self.network.background, self.graph))

    def score_all(self, source: Tensor, relation: Tensor) -> Tensor:
        """Logits (query, node)."""
        device = self.graph.device
        with evaluating(self.network):
            return self.network.score_all(self.graph, source.to(device), relation.to(device), self._backgrounds)

    def score(self, source: Tensor, relation: Tensor, target: Tensor) -> Tensor:
        """Logits (query, candidate); only what the targets need is computed."""
        device = self.graph.device
        with evaluating(self.network):
            return self.network.score(self.graph, source.to(device), relation.to(device), target.to(device))


class MeanScorer(Scorer):
    """Several scorers of logits together: the mean of their probabilities sigmoid(logit), in double precision."""

    def __init__(self, scorers: Sequence[Scorer]) -> None:
        self._scorers = scorers

    def score_all(self, source: Tensor, relation: Tensor) -> Tensor:
        """Probabilities (query, node)."""
        return self._mean([scorer.score_all(source, relation) for scorer in self._scorers])

    def score(self, source: Tensor, relation: Tensor, target: Tensor) -> Tensor:
        """Probabilities (query, candidate)."""
        return self._mean([scorer.score(source, relation, target) for scorer in self._scorers])

    def _mean(self, logits: Sequence[Tensor]) -> Tensor:
        return torch.stack([each.double().sigmoid() for each in logits]).mean(dim=0)


@contextmanager
def evaluating(network: NeuralBellmanFordNetwork) -> Iterator[None]:
    """Without gradients, and as a network is when it is not trained."""
    training = network.training
    if training:  # it visits every module, which takes as long as a small query
        network.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        if training:
            network.train()


def score_in_batches(
    scorer: Scorer,
    source: Int32,
    relation: Int32,
    target: Int32,
    batch_size: int,
    team: Team,
    progress: Callable[[float], None],
) -> Float64:
    """Scores (query, candidate) of targets (query, candidate); each process of a team scores its share of the queries.

    Raises:
        EvaluationError: a score is not a number.
    """
    scores = np.zeros(target.shape)
    own = team.share(len(source))
    for begin in range(own.start, own.stop, batch_size):
        batch = slice(begin, min(begin + batch_size, own.stop))
        # Copies: the arrays of a store cannot be written, and tensors of them would give a warning.
        ids = (torch.from_numpy(part[batch].astype(np.int64)) for part in (source, relation, target))
        scores[batch] = scorer.score(*ids).cpu().numpy()
        progress((batch.stop - own.start) / (own.stop - own.start))
    team.add(torch.from_numpy(scores))  # every process knows those of its own queries
    if bad := int(np.isnan(scores).any(axis=1).sum()):
        raise EvaluationError(
            f"{bad} of {len(scores)} queries got scores that are not a number: the model's weights are broken; "
            "train again with a lower learning rate"
        )
    return scores
