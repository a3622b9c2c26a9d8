"""Links asked both ways: the ranks of their heads and of their tails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from nbfnet.distributed import ALONE, Team
from nbfnet.evaluation.ranks import Ranks, filtered_ranks
from nbfnet.evaluation.scorer import Scorer
from nbfnet.graph.inverse import with_inverses
from nbfnet.graph.triplets import Int64, Triplets
from nbfnet.sampling.known_answers import KnownAnswers
from nbfnet.sampling.possible_answers import Mask, PossibleAnswers


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
