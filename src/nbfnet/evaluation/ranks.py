"""Filtered ranks: how answers compare with the negatives of their queries; links asked both ways; samples of links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from nbfnet.distributed import ALONE, Team
from nbfnet.errors import EvaluationError
from nbfnet.evaluation.filtering import TiePolicy
from nbfnet.evaluation.scorer import Scorer
from nbfnet.graph.inverse import with_inverses
from nbfnet.graph.triplets import Float64, Int32, Int64, Triplets
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


@dataclass(frozen=True, eq=False)
class LinkRanks:
    """The ranks of links (u, q, v): u as the answer of (?, q, v), and v as the answer of (u, q, ?)."""

    head: Ranks  # (link,)
    tail: Ranks  # (link,)

    @property
    def both(self) -> Ranks:
        """(2 link,) all of them."""
        return self.tail.concatenate(self.head)

    def take(self, which: Int64 | Mask) -> LinkRanks:
        """The ranks of some of the links."""
        return LinkRanks(self.head.take(which), self.tail.take(which))


def rank_links(
    scorer: Scorer,
    links: Triplets,
    known: KnownAnswers,
    *,
    possible: PossibleAnswers | None = None,
    batch_size: int,
    progress: Callable[[float], None],
    team: Team = ALONE,
) -> LinkRanks:
    """Rank every link's head and tail; queries that share (source, relation) are scored once, by one of the team.

    Queries run in the order of their relations, so that those of a batch share as much as they can.
    """
    asked = with_inverses(links, known.num_relations)  # the tail queries, then the head queries
    distinct, row = np.unique(asked.relation.astype(np.int64) * known.num_nodes + asked.head, return_inverse=True)
    source, relation = distinct % known.num_nodes, distinct // known.num_nodes
    by_row = np.argsort(row, kind="stable")
    sorted_row = row[by_row]
    ranks = Ranks.empty(len(asked))
    own = team.share(len(distinct))
    for begin in range(own.start, own.stop, batch_size):
        end = min(begin + batch_size, own.stop)
        scores = scorer.score_all(torch.from_numpy(source[begin:end]), torch.from_numpy(relation[begin:end]))
        assert scores.shape == (end - begin, known.num_nodes)
        answers = by_row[np.searchsorted(sorted_row, begin) : np.searchsorted(sorted_row, end)]
        batch = source[begin:end].astype(np.int32), relation[begin:end].astype(np.int32)
        ranks.put(answers, filtered_ranks(scores, *batch, row[answers] - begin, asked.tail[answers], known, possible))
        progress((end - own.start) / (own.stop - own.start))
    team.add_counts(ranks.better, ranks.tied, ranks.negatives)  # every process knows those of its own queries
    tail, head = np.split(np.arange(len(asked)), 2)
    return LinkRanks(ranks.take(head), ranks.take(tail))


NORMAL_95 = 1.959963984540054  # the standard normal lies within +- this with probability 95 %


def draw_links(total: int, sample: int | None, seed: int) -> Int64:
    """Which links to ask, ascending: all, or ``sample`` different ones drawn by the seed."""
    if sample is None or sample >= total:
        return np.arange(total)
    if sample < 1:
        raise EvaluationError(f"a sample of {sample} links was asked for: ask for 1 to {total}, or leave it out")
    return np.sort(np.random.default_rng(seed).choice(total, size=sample, replace=False))


def mean_interval(values: Float64, total: int) -> tuple[float, float]:
    """Where the mean of ``total`` values in [0, 1] lies with 95 % confidence, of which ``values`` were drawn.

    mean +- 1.96 s / sqrt(n + 4 u) * sqrt(u), where u = 1 - n / total is the share that was not drawn, by the normal
    approximation. Four more values count u each, two of 0 and two of 1 (Agresti and Coull): twenty links that all
    rank first do not say that all others do.
    """
    n, undrawn = len(values), 1 - len(values) / total
    count = n + 4 * undrawn
    mean = (float(np.sum(values)) + 2 * undrawn) / count
    variance = max(0.0, (float(np.sum(values**2)) + 2 * undrawn) / count - mean**2)
    half = NORMAL_95 * (variance * undrawn / count) ** 0.5
    return max(0.0, mean - half), min(1.0, mean + half)
