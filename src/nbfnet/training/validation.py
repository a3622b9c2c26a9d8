"""Validation: how well a network answers the valid links of one dataset, or of several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nbfnet.config import SamplingConfig
from nbfnet.distributed import Team
from nbfnet.evaluation.drawn_candidates import SampledScorer, evaluate_drawn
from nbfnet.evaluation.evaluator import evaluate
from nbfnet.evaluation.result import PairResult, RankingResult
from nbfnet.evaluation.scorer import NetworkScorer
from nbfnet.graph.datasets.given import given_negatives, given_tails
from nbfnet.graph.datasets.ogb import TailCandidates
from nbfnet.graph.datasets.ogb.biokg import GivenNegatives
from nbfnet.graph.graph import Dataset
from nbfnet.model.network import NeuralBellmanFordNetwork


class Validation:
    """The valid links of some datasets. Each dataset counts the same, whatever its size: metrics are their means."""

    def __init__(
        self, datasets: Sequence[Dataset], device: str, team: Team, sampling: SamplingConfig | None = None
    ) -> None:
        self.datasets, self._device, self._team = tuple(datasets), device, team
        self._sampling = sampling or SamplingConfig()
        self.links = sum(len(dataset.valid) for dataset in datasets)
        # What comes with a dataset to rank against.
        self._negatives = [given_negatives(dataset, "valid") for dataset in datasets]
        self._tails = [given_tails(dataset, "valid") if self._sampling.hops else None for dataset in datasets]

    @property
    def metric(self) -> str:
        """The metric that chooses the network."""
        return "auroc" if all(dataset.kind == "homogeneous" for dataset in self.datasets) else "mrr"

    def metrics(self, network: NeuralBellmanFordNetwork, links: int) -> dict[str, float]:
        """The metrics on so many links, drawn by a fixed seed, as many of each dataset as it has; {} if there is none.

        Raises:
            EvaluationError: a score is not a number.
        """
        found = []
        shares = share_links([len(dataset.valid) for dataset in self.datasets], links)
        for dataset, negatives, tails, count in zip(self.datasets, self._negatives, self._tails, shares, strict=True):
            if count:
                found.append(self._result(network, dataset, negatives, tails, count).metrics.to_dict())
        return {name: float(np.mean([each[name] for each in found])) for name in (found[0] if found else ())}

    def _result(
        self,
        network: NeuralBellmanFordNetwork,
        dataset: Dataset,
        negatives: GivenNegatives | None,
        tails: TailCandidates | None,
        count: int,
    ) -> RankingResult | PairResult:
        if self._sampling.hops is not None:
            sampled = SampledScorer(network, dataset.train, self._sampling, self._device)
            candidates = self._sampling.candidates
            return evaluate_drawn(
                sampled, dataset, "valid", candidates, given_tails=tails, sample=count, team=self._team
            )
        scorer = NetworkScorer(network, dataset.train.message_csr, self._device)
        return evaluate(scorer, dataset, "valid", negatives=negatives, sample=count, team=self._team)


def share_links(available: Sequence[int], wanted: int) -> list[int]:
    """How many links to take of each dataset: the same number of all, more of the larger ones where some have fewer.

    >>> share_links([100, 3, 100], 60)
    [28, 3, 29]
    """
    shares, left = [0] * len(available), min(wanted, sum(available))
    for place, (size, index) in enumerate(sorted((size, index) for index, size in enumerate(available))):
        shares[index] = min(size, left // (len(available) - place))
        left -= shares[index]
    return shares
