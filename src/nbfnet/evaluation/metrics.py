"""Metrics of ranks: MR, MRR, HITS@N, and HITS@10 of 50 candidates."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Self

import numpy as np

from nbfnet.evaluation.filtering import TiePolicy
from nbfnet.evaluation.ranks import Ranks
from nbfnet.graph.triplets import Float64, Int64


@dataclass(frozen=True)
class RankMetrics:
    """Means over some ranked answers."""

    mr: float
    mrr: float
    hits_1: float
    hits_3: float
    hits_10: float
    hits_10_50: float  # HITS@10 if an answer were one of 50 candidates only: ranked against 49 negatives

    @classmethod
    def of(cls, ranks: Ranks, ties: TiePolicy) -> Self:
        """The metrics of at least one rank."""
        assert len(ranks)
        rank = ranks.rank(ties)
        return cls(
            mr=float(np.mean(rank)),
            mrr=float(np.mean(1 / rank)),
            hits_1=float(np.mean(rank <= 1)),
            hits_3=float(np.mean(rank <= 3)),
            hits_10=float(np.mean(rank <= 10)),
            hits_10_50=float(np.mean(sampled_hits(rank, ranks.negatives))),
        )

    def to_dict(self) -> dict[str, float]:
        """By their usual names."""
        return {
            "mr": self.mr,
            "mrr": self.mrr,
            "hits@1": self.hits_1,
            "hits@3": self.hits_3,
            "hits@10": self.hits_10,
            "hits@10_50": self.hits_10_50,
        }


def sampled_hits(rank: Float64, negatives: Int64, *, hits: int = 10, sample: int = 50) -> Float64:
    """(answer,) the chance of a rank of at most ``hits`` among ``sample`` candidates, from the rank among all.

    A negative drawn at random beats the answer with the false positive rate f = (rank - 1) / negatives, so

        sum over i < hits of C(sample - 1, i) f^i (1 - f)^(sample - 1 - i).
    """
    f = (rank - 1) / np.maximum(negatives, 1)
    draws = sample - 1
    terms = [comb(draws, i) * f**i * (1 - f) ** (draws - i) for i in range(hits)]
    chance: Float64 = np.sum(terms, axis=0)
    return chance
