"""Predictor: the best answers to a query on a graph, by one network or several together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from nbfnet.errors import QueryError
from nbfnet.evaluation.scorer import NetworkScorer, Scorer
from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import base, invert, is_inverse
from nbfnet.graph.triplets import Float64, Int32, Int64
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.prediction.calibration import Calibration, top_k
from nbfnet.sampling.known_answers import KnownAnswers
from nbfnet.sampling.possible_answers import Mask, PossibleAnswers, has_self_loops
from nbfnet.sampling.query_edges import Hiding, QueryEdges

Fact = tuple[int, int, int]  # source, relation, target
Ids = Int32 | Int64


@dataclass(frozen=True)
class Member:
    """A trained network with its calibration, on the edges of the graph that is asked."""

    network: NeuralBellmanFordNetwork
    calibration: Calibration
    graph: Graph  # the facts, with the relations numbered as this network learned them
    hiding: Hiding = "triplet"  # which edges training hid with an asked fact

    @cached_property
    def query_edges(self) -> QueryEdges:
        """Finds the edges to hide when a known fact is asked."""
        return QueryEdges(self.graph.message_csr, self.graph.kind, self.hiding)


@dataclass(frozen=True, eq=False)
class Ranking:
    """The best candidates of a query and its known answers, by score."""

    rank: Int64  # (answer,) from 1, among the candidates that are not known
    candidate: Int64  # (answer,) nodes, or relations
    score: Float64  # (answer,) what they are ordered by: the logit, or the mean probability of several networks
    probability: Float64  # (answer,)
    known: Mask  # (answer,) whether it is a fact already
    more_known: int  # known facts that are not listed


class Predictor:
    """Answers queries by number; several networks answer together, by the mean of their probabilities.

    A network learns with the asked fact hidden from it. So a known fact is scored as if it were not known, by hiding
    what training would have hidden with it.
    """

    def __init__(
        self, graph: Graph, members: Sequence[Member], device: str = "cpu", background_bytes: int = 256 << 20
    ) -> None:
        """``graph`` numbers what queries and answers name; the graph of a member may number relations differently.

        ``background_bytes`` is what may be kept from query to query.
        """
        assert members
        self.graph, self.members, self._device = graph, tuple(members), device
        scorers = [NetworkScorer(member.network, member.graph.message_csr, device) for member in members]
        for scorer in scorers:
            scorer.keep_backgrounds(background_bytes // len(members))
        self._scorers: Sequence[Scorer] = scorers
        self._relation = [member.graph.relations.ids(graph.relations) for member in members]  # (relation,) of each
        self._known = KnownAnswers.of(graph, graph.triplets)
        self._has_loops = has_self_loops(graph)
        self.possible = PossibleAnswers.of(graph)

    def tails(
        self, source: int, relation: int, k: int, *, exclude_known: bool = False, possible: Mask | None = None
    ) -> Ranking:
        """The k best new v for (source, relation, v), and known ones; an inverse relation asks for heads.

        ``possible`` (node,) says which nodes may be answers. The source itself is an answer only where a fact of the
        relation joins a node with itself.
        """
        allowed = np.ones(self.graph.num_nodes, dtype=np.bool_) if possible is None else possible.copy()
        allowed[source] &= self._has_loops[relation]
        known = self._known.of_query(source, relation)
        known = known[allowed[known]]
        allowed[known] = False
        table = self._score_nodes(source, relation)
        facts = {} if exclude_known else {node: (source, relation, node) for node in known.tolist()}
        return self._rank(table, np.flatnonzero(allowed), facts, k)

    def relations(self, source: int, target: int, k: int, *, exclude_known: bool = False) -> Ranking:
        """The k best new q for (source, q, target), and known ones."""
        count = self.graph.num_relations
        logits = []
        for scorer, ids in zip(self._scorers, self._relation, strict=True):
            every = torch.from_numpy(ids).long()
            nodes = torch.full((count,), source), torch.full((count, 1), target)
            logits.append(scorer.score(nodes[0], every, nodes[1])[:, 0].double().cpu().numpy())
        is_known = np.array([self.is_known(source, q, target) for q in range(count)], dtype=np.bool_)
        facts = {} if exclude_known else {q: (source, q, target) for q in np.flatnonzero(is_known).tolist()}
        return self._rank(self._combine(logits), np.flatnonzero(~is_known), facts, k)

    def score(self, source: Ids, relation: Ids, target: Ids) -> tuple[Float64, Float64]:
        """Scores and probabilities (query, candidate) of targets (query, candidate), with every fact in place."""
        asked, number = np.unique(relation, return_inverse=True)
        logits = []
        for i, scorer in enumerate(self._scorers):
            learned = np.array([self._learned(i, r) for r in asked.tolist()], dtype=np.int64)[number]
            ids = (torch.from_numpy(part.astype(np.int64)) for part in (source, learned, target))
            logits.append(scorer.score(*ids).double().cpu().numpy())
        return self._combine(logits)

    def is_known(self, source: int, relation: int, target: int) -> bool:
        """Whether the graph has a triplet as a fact."""
        return bool(target in self._known.of_query(source, relation))

    def score_as_new(self, source: int, relation: int, target: int) -> tuple[float, float]:
        """The score and the probability of a triplet, as if the graph did not have it."""
        logits = []
        for i, member in enumerate(self.members):
            learned = self._learned(i, relation)
            edges = member.query_edges.without(source, learned, target)
            scorer = NetworkScorer(member.network, edges, self._device)
            ids = torch.tensor([source]), torch.tensor([learned]), torch.tensor([[target]])
            logits.append(scorer.score(*ids).double().cpu().numpy()[0])
        score, probability = self._combine(logits)
        return float(score[0]), float(probability[0])

    def _rank(self, table: tuple[Float64, Float64], new: Int64, facts: dict[int, Fact], k: int) -> Ranking:
        """The k best candidates that are not known, and known ones whatever their score.

        Args:
            table: scores and probabilities (candidate,) with every fact in place.
            new: the candidates that are not known.
            facts: the known candidates, each with its fact. At most k are listed.
            k: how many answers.
        """
        score, probability = table
        k = min(k, len(score))
        best = new[top_k(score[new], k)]
        known = np.array(sorted(facts, key=lambda candidate: (-score[candidate], candidate))[:k], dtype=np.int64)
        as_new = np.array([self.score_as_new(*facts[candidate]) for candidate in known.tolist()]).reshape(-1, 2)
        candidates = np.concatenate([best, known])
        scores = np.concatenate([score[best], as_new[:, 0]])
        probabilities = np.concatenate([probability[best], as_new[:, 1]])
        above = [np.count_nonzero(score[new] > known_score) for known_score in as_new[:, 0]]
        ranks = 1 + np.concatenate([np.arange(len(best)), np.array(above, dtype=np.int64)])
        is_known = np.arange(len(candidates)) >= len(best)
        order = np.lexsort((candidates, is_known, -scores))
        columns = ranks[order], candidates[order], scores[order], probabilities[order], is_known[order]
        return Ranking(*columns, more_known=len(facts) - len(known))

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
