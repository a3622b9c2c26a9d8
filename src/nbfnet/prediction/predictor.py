"""Predictor: the best answers to a query on a graph, by one network or several together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from nbfnet.errors import QueryError
from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import base, invert, is_inverse
from nbfnet.graph.triplets import Float64, Int32, Int64
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.prediction.calibration import Calibration, top_k
from nbfnet.sampling.known_answers import KnownAnswers


@dataclass(frozen=True)
class Member:
    """A trained network with its calibration, on the edges of the graph that is asked."""

    network: NeuralBellmanFordNetwork
    calibration: Calibration
    graph: Graph  # the facts, with the relations numbered as this network learned them


@dataclass(frozen=True, eq=False)
class Ranking:
    """The best candidates of a query, best first."""

    candidate: Int64  # (k,) nodes, or relations
    probability: Float64  # (k,)
    known: np.ndarray[tuple[int], np.dtype[np.bool_]]  # (k,) whether it is a fact already


class Predictor:
    """Answers queries by number; several networks answer together, by the mean of their probabilities."""

    def __init__(self, graph: Graph, members: Sequence[Member], device: str = "cpu") -> None:
        """``graph`` numbers entities and relations as queries and answers do; a member's may number relations anew."""
        assert members
        self.graph, self.members = graph, tuple(members)
        self._scorers = [NetworkScorer(member.network, member.graph.message_csr, device) for member in members]
        self._relation = [member.graph.relations.ids(graph.relations) for member in members]  # (relation,) of each
        self._known = KnownAnswers.of(graph, graph.triplets)

    def tails(
        self, source: int, relation: int, k: int, *, exclude_known: bool = False, candidates: Int32 | None = None
    ) -> Ranking:
        """The best v for (source, relation, v); an inverse relation asks for heads."""
        order, probability = self._score_nodes(source, relation)
        known = self._known.of_query(source, relation)
        allowed = np.ones(self.graph.num_nodes, dtype=np.bool_)
        if candidates is not None:
            allowed[:] = False
            allowed[candidates] = True
        if exclude_known:
            allowed[known] = False
        nodes = np.flatnonzero(allowed)
        best = nodes[top_k(order[nodes], k)]
        return Ranking(best, probability[best], np.isin(best, known))

    def relations(self, source: int, target: int, k: int, *, exclude_known: bool = False) -> Ranking:
        """The best q for (source, q, target)."""
        count = self.graph.num_relations
        logits = []
        for scorer, ids in zip(self._scorers, self._relation, strict=True):
            every = torch.from_numpy(ids).long()
            nodes = torch.full((count,), source), torch.full((count, 1), target)
            logits.append(scorer.score(nodes[0], every, nodes[1])[:, 0].double().cpu().numpy())
        order, probability = self._combine(logits)
        known = np.array([target in self._known.of_query(source, q) for q in range(count)], dtype=np.bool_)
        allowed = np.flatnonzero(~known) if exclude_known else np.arange(count)
        best = allowed[top_k(order[allowed], k)]
        return Ranking(best, probability[best], known[best])

    def _score_nodes(self, source: int, relation: int) -> tuple[Float64, Float64]:
        logits = [
            scorer.score_all(torch.tensor([source]), torch.tensor([self._learned(i, relation)]))[0]
            for i, scorer in enumerate(self._scorers)
        ]
        return self._combine([logit.double().cpu().numpy() for logit in logits])

    def _combine(self, logits: Sequence[Float64]) -> tuple[Float64, Float64]:
        """What candidates are ordered by, and their probability.

        A single network orders by its logits, as ``evaluate`` does: a calibrated probability may be equal where they
        are not.
        """
        for logit in logits:
            if np.isnan(logit).any():
                raise QueryError("the scores are not numbers: the network's weights are broken; train again")
        each = [member.calibration.probability(logit) for member, logit in zip(self.members, logits, strict=True)]
        mean: Float64 = np.mean(each, axis=0)
        return (logits[0] if len(logits) == 1 else mean), mean

    def _learned(self, member: int, relation: int) -> int:
        """A relation of the graph, inverse or not, as a member numbers it."""
        if self.graph.kind == "homogeneous":
            return 0
        count = self.graph.num_relations
        learned = int(self._relation[member][base(relation, count)])
        there = self.members[member].graph.num_relations
        return invert(learned, there) if is_inverse(relation, count) else learned
