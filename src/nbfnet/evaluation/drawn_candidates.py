"""The protocol for graphs that are too large to rank all entities: an answer against some that are drawn.

The large-scale challenge of the Open Graph Benchmark asks so, with 1,000 other candidates for each tail.
"""

from __future__ import annotations

import time

import numpy as np
import torch
from torch import Tensor

from nbfnet.config import SamplingConfig
from nbfnet.distributed import ALONE, Team
from nbfnet.errors import EvaluationError
from nbfnet.evaluation.filtering import Split, TiePolicy, facts_of, links_of
from nbfnet.evaluation.given_negatives import ranks_of
from nbfnet.evaluation.ranks import LinkRanks, draw_links
from nbfnet.evaluation.result import DirectedMetrics, RankingResult, describe_sample
from nbfnet.evaluation.scorer import Scorer, evaluating, score_in_batches
from nbfnet.graph.datasets.ogb import TailCandidates
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.inverse import invert
from nbfnet.graph.triplets import Int32
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.progress import stage
from nbfnet.sampling.query_sampler import QuerySampler, SampledQueries
from nbfnet.sampling.row_answers import RowAnswers


class SampledScorer(Scorer):
    """A network on samples of a graph, one around each query and its candidates; the same in any batch."""

    def __init__(
        self, network: NeuralBellmanFordNetwork, graph: Graph, sampling: SamplingConfig, device: str = "cpu"
    ) -> None:
        assert sampling.hops is not None
        self.network, self._device = network, device
        self.sampler = QuerySampler(graph, sampling.hops, sampling.neighbours)

    def score(self, source: Tensor, relation: Tensor, target: Tensor) -> Tensor:
        """Logits (query, candidate)."""
        ids = (part.cpu().numpy().astype(np.int32) for part in (source, relation, target))
        sample = self.sampler.sample(*ids, threads=torch.get_num_threads())
        return score_sample(self.network, sample, relation.cpu().numpy(), self._device)

    def score_all(self, source: Tensor, relation: Tensor) -> Tensor:
        """Not every entity is in a sample.

        Raises:
            EvaluationError: always.
        """
        raise EvaluationError("a network that samples its graph scores some candidates of a query, not all entities")


def score_sample(network: NeuralBellmanFordNetwork, sample: SampledQueries, relation: Int32, device: str) -> Tensor:
    """Logits (query, candidate) of sampled queries of relations (query,)."""
    graph = MessageGraph(sample.csr, device, mean_log_degree=sample.mean_log_degree)
    parts = (sample.source, relation, sample.target)
    source, relations, target = (torch.from_numpy(part.astype(np.int64)).to(device) for part in parts)
    with evaluating(network):
        return network.score(graph, source, relations, target)


def evaluate_drawn(
    scorer: Scorer,
    dataset: Dataset,
    split: Split,
    candidates: int,
    *,
    given_tails: TailCandidates | None = None,
    ties: TiePolicy = "realistic",
    sample: int | None = None,
    seed: int = 0,
    batch_size: int = 4,
    team: Team = ALONE,
) -> RankingResult:
    """Rank the head and the tail of a split's links against so many entities that are not known answers.

    Other arguments are as of ``evaluate``; the candidates are drawn by the seed. ``given_tails`` are candidates for
    tails that come with the dataset: these are used instead, heads are ranked against as many, and the result has the
    metric of OGB's large-scale challenge, the mean reciprocal rank of tails in which a rank beyond ten counts nothing.

    Raises:
        EvaluationError: the split has no links, or a score is not a number.
    """
    begin, given = time.perf_counter(), links_of(dataset, split)
    drawn = draw_links(len(given), sample, seed)
    links = given.take(drawn)
    wrong_tails = None if given_tails is None else given_tails.negatives(drawn)
    candidates = candidates if wrong_tails is None else wrong_tails.shape[1]
    facts = facts_of(dataset, split)
    held_out = (dataset.test_graph_valid, dataset.test) if dataset.test_graph else (dataset.valid, dataset.test)
    known = RowAnswers(facts, *(held_out if split == "test" or not dataset.test_graph else (dataset.valid,)))
    source = np.concatenate([links.head, links.tail])
    relation = np.concatenate([links.relation, invert(np.asarray(links.relation), facts.num_relations)])
    answer = np.concatenate([links.tail, links.head])
    others = known.draw_others(source, relation, answer, candidates, np.random.default_rng([seed, candidates]))
    if wrong_tails is not None:
        others[: len(links)] = wrong_tails
    target = np.concatenate([answer[:, None], others], axis=1)
    with stage(f"evaluating {dataset.name}, {split}") as report:
        scores = score_in_batches(scorer, source, relation, target, batch_size, team, report)
    tail, head = np.split(scores, 2)
    ranks = LinkRanks(head=ranks_of(head), tail=ranks_of(tail))
    protocol = f"heads and tails, each against {candidates:,} drawn entities that are not known answers, seed {seed}"
    if wrong_tails is not None:
        protocol = (
            f"OGB-LSC: tails against {candidates:,} given entities; heads against as many drawn ones, seed {seed}"
        )
    reciprocal = 1 / ranks.tail.rank(ties)
    return RankingResult(
        dataset=dataset.name,
        split=split,
        protocol=protocol,
        ties=ties,
        overall=DirectedMetrics.of(ranks, ties),
        by_category={},
        by_relation=(),
        sample=describe_sample(ranks, ties, len(given), seed),
        seconds=time.perf_counter() - begin,
        ogb=None if wrong_tails is None else {"mrr": float(np.where(reciprocal >= 0.1, reciprocal, 0).mean())},
    )
