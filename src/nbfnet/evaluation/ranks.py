"""Filtered ranks: where an answer stands among all entities that are not known to be right."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from torch import Tensor

from nbfnet.errors import EvaluationError
from nbfnet.evaluation.filtering import TiePolicy
from nbfnet.graph.triplets import Float64, Int32, Int64
from nbfnet.sampling.known_answers import KnownAnswers
from nbfnet.sampling.possible_answers import Mask, PossibleAnswers

Scores = npt.NDArray[np.floating[Any]]


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
        """(answer,) from 1: tied negatives count as worse (optimistic), better (pessimistic), or half (realistic)."""
        share = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}[ties]
        return 1 + self.better + share * self.tied


def filtered_ranks(
    scores: Tensor,
    source: Int32,
    relation: Int32,
    row: Int64,
    answer: Int32,
    known: KnownAnswers,
    possible: PossibleAnswers | None = None,
) -> Ranks:
    """The ranks of answers among all nodes, or all possible ones, but the known answers of their query.

    Args:
        scores: (row, node) of the queries (source, relation).
        source: (row,).
        relation: (row,).
        row: (answer,) which query each answer belongs to.
        answer: (answer,).
        known: the filter; an answer is never its own negative, known or not.
        possible: which nodes are ranked at all; an answer that is not among them comes last.

    Raises:
        EvaluationError: a score is not a number.
    """
    table: Scores = scores.detach().cpu().numpy()
    _refuse_nan(table, source, relation)
    ranks = Ranks.empty(len(answer))
    known_row = known.rows(source, relation).tolist()
    masks = {} if possible is None else {r: possible.mask(r) for r in np.unique(relation).tolist()}
    # One answer at a time over its own row: nothing is copied, and a row has few answers.
    for i, (own_row, node) in enumerate(zip(row.tolist(), answer.tolist(), strict=True)):
        known_nodes = known.of_row(known_row[own_row])
        if masks:
            _rank_possible(ranks, i, table[own_row], node, known_nodes, masks[int(relation[own_row])])
        else:
            _rank(ranks, i, table[own_row], node, known_nodes)
    return ranks


def _rank(ranks: Ranks, i: int, scores: Scores, answer: int, known: Int32) -> None:
    """Count over all nodes, then take away the known answers and the answer itself."""
    own, known_scores = scores[answer], scores[known]
    itself = 1 - np.count_nonzero(known == answer)  # 0 where it is taken away as a known answer
    ranks.better[i] = np.count_nonzero(scores > own) - np.count_nonzero(known_scores > own)
    ranks.tied[i] = np.count_nonzero(scores == own) - np.count_nonzero(known_scores == own) - itself
    ranks.negatives[i] = len(scores) - len(known) - itself


def _rank_possible(ranks: Ranks, i: int, scores: Scores, answer: int, known: Int32, possible: Mask) -> None:
    """Count over the possible nodes that are neither known answers nor the answer itself."""
    is_negative = possible.copy()
    is_negative[known] = is_negative[answer] = False
    negatives = scores[is_negative]
    ranks.negatives[i] = len(negatives)
    if possible[answer]:
        ranks.better[i] = np.count_nonzero(negatives > scores[answer])
        ranks.tied[i] = np.count_nonzero(negatives == scores[answer])
    else:
        ranks.better[i] = len(negatives)


def _refuse_nan(scores: Scores, source: Int32, relation: Int32) -> None:
    bad = np.flatnonzero(np.isnan(scores).any(axis=1))
    if len(bad):
        first = int(bad[0])
        raise EvaluationError(
            f"{len(bad)} of {len(scores)} queries got scores that are not a number, the first for source "
            f"{source[first]} and relation {relation[first]}: the model's weights are broken; "
            "train again with a lower learning rate"
        )
