"""AUROC and average precision of scores for links and non-links, exact where scores are equal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbfnet.errors import ParameterError
from nbfnet.graph.triplets import Float64, Int64


@dataclass(frozen=True)
class BinaryMetrics:
    """How well scores tell links from non-links."""

    auroc: float
    ap: float


def binary_metrics(positive: Float64, negative: Float64) -> BinaryMetrics:
    """Both metrics of the scores of links (positive,) and of non-links (negative,); infinities are allowed."""
    return BinaryMetrics(auroc(positive, negative), average_precision(positive, negative))


def auroc(positive: Float64, negative: Float64) -> float:
    """P(score of a link > score of a non-link) + P(equal) / 2: the area under the ROC curve."""
    links, others = _counts(positive, negative)
    lower = np.cumsum(others[::-1])[::-1] - others
    return float(links @ (lower + others / 2)) / (len(positive) * len(negative))


def average_precision(positive: Float64, negative: Float64) -> float:
    """Σ over distinct scores s of (recall(s) - recall(next higher)) · precision(s); pairs of equal score enter at once."""
    links, others = _counts(positive, negative)
    found, seen = np.cumsum(links), np.cumsum(links + others)
    return float(links @ (found / seen)) / len(positive)


def _counts(positive: Float64, negative: Float64) -> tuple[Int64, Int64]:
    """How many links and non-links have each distinct score, the highest score first."""
    if len(positive) == 0 or len(negative) == 0:
        raise ParameterError(f"AUROC and AP need links and non-links, got {len(positive)} and {len(negative)}")
    scores = np.concatenate([positive, negative])
    if np.isnan(scores).any():
        raise ParameterError("AUROC and AP need numbers, got NaN")
    distinct, which = np.unique(scores, return_inverse=True)
    links = np.bincount(which[: len(positive)], minlength=len(distinct))[::-1]
    others = np.bincount(which[len(positive) :], minlength=len(distinct))[::-1]
    return links, others
