"""Metrics: MR, MRR and HITS@N of ranks, AUROC and average precision of scored pairs. Ties are exact."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import comb
from typing import Self

import numpy as np

from nbfnet.evaluation.filtering import TiePolicy
from nbfnet.evaluation.ranks import NORMAL_95, Ranks
from nbfnet.graph.triplets import Float64, Int64

DRAWN = 50  # negatives for HITS@10 of 50, as the paper says; GraIL draws 49, so that the answer is one of 50


@dataclass(frozen=True)
class RankMetrics:
    """Means over some ranked answers."""

    mr: float
    mrr: float
    hits_1: float
    hits_3: float
    hits_10: float
    hits_10_50: float  # HITS@10 if an answer were ranked against 50 random negatives only

    @classmethod
    def of(cls, ranks: Ranks, ties: TiePolicy, drawn: int = DRAWN) -> Self:
        """The metrics of at least one rank; ``drawn`` negatives for HITS@10 of 50."""
        assert len(ranks)
        rank = ranks.rank(ties)
        return cls(
            mr=float(np.mean(rank)),
            mrr=float(np.mean(1 / rank)),
            hits_1=float(np.mean(rank <= 1)),
            hits_3=float(np.mean(rank <= 3)),
            hits_10=float(np.mean(rank <= 10)),
            hits_10_50=float(np.mean(sampled_hits(rank, ranks.negatives, drawn=drawn))),
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


def sampled_hits(rank: Float64, negatives: Int64, *, hits: int = 10, drawn: int = DRAWN) -> Float64:
    """(answer,) the chance of a rank of at most ``hits`` against so many drawn negatives, from the rank among all.

    A negative drawn at random beats the answer with the false positive rate f = (rank - 1) / negatives, so

        sum over i < hits of C(drawn, i) f^i (1 - f)^(drawn - i).
    """
    f = (rank - 1) / np.maximum(negatives, 1)
    terms = [comb(drawn, i) * f**i * (1 - f) ** (drawn - i) for i in range(min(hits, drawn + 1))]
    chance: Float64 = np.sum(terms, axis=0)
    return chance


@dataclass(frozen=True)
class PairMetrics:
    """The area under the receiver operating characteristic curve, and average precision."""

    auroc: float
    ap: float

    @classmethod
    def of(cls, positive: Float64, negative: Float64) -> Self:
        """The metrics of the scores of edges (positive,) and of pairs without an edge (negative,)."""
        return cls(auroc(positive, negative), average_precision(positive, negative))

    def to_dict(self) -> dict[str, float]:
        """By their usual names."""
        return asdict(self)


def auroc(positive: Float64, negative: Float64) -> float:
    """P(a positive scores higher than a negative) + P(they tie) / 2."""
    positives, negatives = _levels(positive, negative)
    below = np.cumsum(negatives[::-1])[::-1] - negatives
    # Twice the sum is a whole number: nothing is rounded before the division.
    twice = int(np.sum(positives * (2 * below + negatives)))
    return twice / (2 * len(positive) * len(negative))


def auroc_interval(positive: Float64, negative: Float64) -> tuple[float, float]:
    """Where the AUROC of the populations lies with 95 % confidence, by DeLong's variance.

    Var = Var_i(P(positive_i wins)) / positives + Var_j(P(negative_j loses)) / negatives. Either side has two more
    scores, one above and one below all others: a few that happen to be told apart do not say that all are.
    """
    beyond = np.array([-np.inf, np.inf])
    positive, negative = np.concatenate([positive, beyond]), np.concatenate([negative, beyond])
    wins, losses = _share_below(positive, negative), 1 - _share_below(negative, positive)
    half = NORMAL_95 * float(np.var(wins, ddof=1) / len(wins) + np.var(losses, ddof=1) / len(losses)) ** 0.5
    mean = auroc(positive, negative)
    return max(0.0, mean - half), min(1.0, mean + half)


def _share_below(scores: Float64, others: Float64) -> Float64:
    """(score,) the share of the others that are below it, ties as half."""
    ordered = np.sort(others)
    below, at_most = (np.searchsorted(ordered, scores, side=side) for side in ("left", "right"))
    return (below + at_most) / (2 * len(others))


def average_precision(positive: Float64, negative: Float64) -> float:
    """Sum over the distinct scores, from the highest, of (recall_k - recall_(k-1)) precision_k."""
    positives, negatives = _levels(positive, negative)
    found = np.cumsum(positives)
    precision = found / (found + np.cumsum(negatives))
    return float(np.sum(positives * precision) / len(positive))


def _levels(positive: Float64, negative: Float64) -> tuple[Int64, Int64]:
    """How many positives and negatives have each distinct score, from the highest."""
    assert len(positive) and len(negative)
    levels, level = np.unique(np.concatenate([positive, negative]), return_inverse=True)
    positives = np.bincount(level[: len(positive)], minlength=len(levels))
    negatives = np.bincount(level[len(positive) :], minlength=len(levels))
    return positives[::-1], negatives[::-1]
