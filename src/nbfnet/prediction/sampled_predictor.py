"""SampledPredictor: answers on a graph that is too large to score every entity, from the neighbourhood of the head."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nbfnet.config import SamplingConfig
from nbfnet.evaluation.drawn_candidates import SampledScorer, score_sample
from nbfnet.graph.graph import Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.prediction.predictor import Member, Predictor, Ranking
from nbfnet.sampling.possible_answers import Mask
from nbfnet.sampling.query_sampler import QuerySampler
from nbfnet.sampling.row_answers import RowAnswers


class SampledPredictor(Predictor):
    """As ``Predictor``; the candidates of a query are the entities nearest to its source, and its known answers."""

    def __init__(
        self,
        graph: Graph,
        members: Sequence[Member],
        sampling: Sequence[SamplingConfig],
        device: str = "cpu",
        held_out: Sequence[Triplets] = (),
    ) -> None:
        """``sampling`` is how each member samples the graph; ``held_out`` are links that are known as well."""
        assert members
        self.graph, self.members, self._device = graph, tuple(members), device
        self._sampling = tuple(sampling)
        self._sampled = [
            SampledScorer(member.network, member.graph, how, device)
            for member, how in zip(members, sampling, strict=True)
        ]
        self._scorers = self._sampled
        self._relation = [member.graph.relations.ids(graph.relations) for member in members]
        self._hiding = [
            QuerySampler(member.graph, how.hops or 1, how.neighbours, member.hiding)
            for member, how in zip(members, sampling, strict=True)
        ]
        self._row_answers = RowAnswers(graph, *held_out)
        self.possible = None

    def tails(
        self, source: int, relation: int, k: int, *, exclude_known: bool = False, possible: Mask | None = None
    ) -> Ranking:
        """The k best new v for (source, relation, v) of those near the source, and known ones.

        ``possible`` (node,) says which nodes may be answers: those are the candidates then, near or not.
        """
        if possible is None:
            near = self._sampled[0].sampler.around(source, self._sampling[0].candidates)
        else:
            near = np.flatnonzero(possible).astype(np.int32)
        known = self._row_answers.of_query(source, relation)
        if possible is not None:
            known = known[possible[known]]
        new = np.setdiff1d(near, np.append(known, source)).astype(np.int64)
        listed = np.empty(0, dtype=np.int64) if exclude_known else known.astype(np.int64)
        candidate = np.concatenate([new, listed])
        if not len(candidate):
            whole, real = np.empty(0, dtype=np.int64), np.empty(0)
            return Ranking(whole, whole, real, real, np.empty(0, dtype=np.bool_), more_known=0)
        asked = np.array([source]), np.array([relation]), candidate[None]
        table = self.score(*asked)
        # Positions among the candidates stand for nodes here.
        facts = {len(new) + i: (source, relation, int(node)) for i, node in enumerate(listed.tolist())}
        ranking = self._rank((table[0][0], table[1][0]), np.arange(len(new)), facts, k)
        columns = ranking.rank, candidate[ranking.candidate], ranking.score, ranking.probability, ranking.known
        return Ranking(*columns, more_known=ranking.more_known)

    def is_known(self, source: int, relation: int, target: int) -> bool:
        """Whether the graph has a triplet as a fact."""
        return bool(target in self._row_answers.of_query(source, relation))

    def score_as_new(self, source: int, relation: int, target: int) -> tuple[float, float]:
        """The score and the probability of a triplet, as if the graph did not have it."""
        logits, known = [], self.is_known(source, relation, target)
        for i, (member, scorer) in enumerate(zip(self.members, self._sampled, strict=True)):
            sampler = self._hiding[i] if known else scorer.sampler
            learned = np.array([self._learned(i, relation)], dtype=np.int32)
            ends = np.array([source], dtype=np.int32), np.array([[target]], dtype=np.int32)
            sample = sampler.sample(ends[0], learned, ends[1])
            logits.append(score_sample(member.network, sample, learned, self._device).double().cpu().numpy()[0])
        score, probability = self._combine(logits)
        return float(score[0]), float(probability[0])
