"""Filtered ranks: where an answer stands among all entities that are not known to be right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from nbfnet.errors import EvaluationError
from nbfnet.graph.triplets import Float64, Int32, Int64
from nbfnet.sampling.known_answers import KnownAnswers

TiePolicy = Literal["realistic", "optimistic", "pessimistic"]
Mask = npt.NDArray[np.bool_]
_BLOCK = 1 << 24  # scores that are compared at once


@dataclass(frozen=True, eq=False)
class Ranks:
    """How each answer compares with its negatives, the entities that are neither it nor known answers."""

    better: Int64  # (answer,) negatives with a higher score
    tied: Int64  # (answer,) negatives with the same score
    negatives: Int64  # (answer,)

    @classmethod
    def empty(cls, count: int) -> Self:
        """Room for the ranks of some answers."""
        return cls(*(np.zeros(count, dtype=np.int64) for _ in range(3)))

    def __len__(self) -> int:
        return len(self.better)

    def put(self, which: Int64 | slice, ranks: Ranks) -> None:
        """Write the ranks of some of the answers."""
        self.better[which], self.tied[which], self.negatives[which] = ranks.better, ranks.tied, ranks.negatives

    def take(self, which: Int64 | Mask) -> Ranks:
        """The ranks of some of the answers."""
        return Ranks(self.better[which], self.tied[which], self.negatives[which])

    def concatenate(self, other: Ranks) -> Ranks:
        """These ranks, then the other ones."""
        pairs = ((self.better, other.better), (self.tied, other.tied), (self.negatives, other.negatives))
        return Ranks(*(np.concatenate(pair) for pair in pairs))

    def rank(self, ties: TiePolicy) -> Float64:
        """(answer,) from 1: tied negatives stand behind the answer (optimistic), before it (pessimistic), or half."""
        share = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}[ties]
        return 1 + self.better + share * self.tied


def filtered_ranks(
    scores: Tensor, source: Int32, relation: Int32, row: Int64, answer: Int32, known: KnownAnswers
) -> Ranks:
    """The ranks of answers among all nodes but the known answers of their query.

    Args:
        scores: (row, node) of the queries (source, relation).
        source: (row,).
        relation: (row,).
        row: (answer,) which query each answer belongs to.
        answer: (answer,).
        known: the filter; an answer is never its own negative, known or not.

    Raises:
        EvaluationError: a score is not a number.
    """
    _refuse_nan(scores, source, relation)
    ranks = Ranks.empty(len(answer))
    step = max(1, _BLOCK // max(1, scores.shape[1]))
    for begin in range(0, len(answer), step):
        part = slice(begin, begin + step)
        rows = row[part]
        filtered = known.gather(source[rows], relation[rows])
        ranks.put(part, _ranks(scores, rows, answer[part], *filtered))
    return ranks


def _ranks(scores: Tensor, row: Int64, answer: Int32, owner: Int64, known: Int32) -> Ranks:
    """Count over all nodes, then take away the known ones (known,), each of the answer ``owner`` (known,)."""
    own = scores[row, answer]
    all_scores, known_scores = scores[row], scores[row[owner], known]

    def count_known(mask: Mask) -> Int64:
        return np.bincount(owner[mask], minlength=len(answer))

    def count(all_mask: Tensor, known_mask: Tensor) -> Int64:
        total: Int64 = all_mask.sum(dim=1).cpu().numpy()
        return total - count_known(known_mask.cpu().numpy())

    itself = 1 - count_known(known == answer[owner])  # taken away already where the answer is known
    better = count(all_scores > own[:, None], known_scores > own[owner])
    tied = count(all_scores == own[:, None], known_scores == own[owner]) - itself
    return Ranks(better, tied, scores.shape[1] - np.bincount(owner, minlength=len(answer)) - itself)


def _refuse_nan(scores: Tensor, source: Int32, relation: Int32) -> None:
    bad = torch.isnan(scores).any(dim=1).nonzero()
    if len(bad):
        first = int(bad[0])
        raise EvaluationError(
            f"{len(bad)} of {len(scores)} queries got scores that are not a number, the first for source "
            f"{source[first]} and relation {relation[first]}: the model's weights are broken; "
            "train again with a lower learning rate"
        )
