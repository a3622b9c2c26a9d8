"""The protocol of the Open Graph Benchmark: answers are ranked against negatives that come with the dataset."""

from __future__ import annotations

import importlib.util
import sys
import time
import warnings
from typing import Any

import numpy as np
import torch

from nbfnet.distributed import ALONE, Team
from nbfnet.evaluation.filtering import Split, TiePolicy, links_of
from nbfnet.evaluation.ranks import LinkRanks, Ranks, draw_links
from nbfnet.evaluation.result import DirectedMetrics, RankingResult, describe_sample
from nbfnet.evaluation.scorer import Scorer, score_in_batches
from nbfnet.graph.datasets.ogb.biokg import GivenNegatives
from nbfnet.graph.graph import Dataset
from nbfnet.graph.inverse import invert
from nbfnet.graph.triplets import Float64
from nbfnet.progress import stage

_OGB_METRICS = {"mrr_list": "mrr", "hits@1_list": "hits@1", "hits@3_list": "hits@3", "hits@10_list": "hits@10"}


def evaluate_given(
    scorer: Scorer,
    dataset: Dataset,
    split: Split,
    negatives: GivenNegatives,
    *,
    ties: TiePolicy = "realistic",
    sample: int | None = None,
    seed: int = 0,
    batch_size: int = 16,
    team: Team = ALONE,
) -> RankingResult:
    """Rank the answers of a split's links against their given negatives; arguments as of ``evaluate``.

    The result has the metrics of ogb's own evaluator too, if that package is installed.

    Raises:
        EvaluationError: the split has no links, or a score is not a number.
    """
    begin, given = time.perf_counter(), links_of(dataset, split)
    drawn = draw_links(len(given), sample, seed)
    links = given.take(drawn)
    tails = np.concatenate([links.tail[:, None], negatives.tail[drawn]], axis=1)
    heads = np.concatenate([links.head[:, None], negatives.head[drawn]], axis=1)
    backwards = invert(links.relation, dataset.train.num_relations)
    with stage(f"evaluating {dataset.name}, {split}") as report:
        asked = np.concatenate([links.head, links.tail]), np.concatenate([links.relation, backwards])
        scores = score_in_batches(scorer, *asked, np.concatenate([tails, heads]), batch_size, team, report)
    tail, head = np.split(scores, 2)
    ranks = LinkRanks(head=ranks_of(head), tail=ranks_of(tail))
    return RankingResult(
        dataset=dataset.name,
        split=split,
        protocol=f"OGB: heads and tails, each against {negatives.tail.shape[1]} given negatives",
        ties=ties,
        overall=DirectedMetrics.of(ranks, ties),
        by_category={},
        by_relation=(),
        sample=describe_sample(ranks, ties, len(given), seed),
        seconds=time.perf_counter() - begin,
        ogb=ogb_metrics(dataset.name, scores),
    )


def ranks_of(scores: Float64) -> Ranks:
    """The ranks of answers by scores (query, 1 + negative), the answer's first."""
    answer, others = scores[:, :1], scores[:, 1:]
    better, tied = (others > answer).sum(axis=1), (others == answer).sum(axis=1)
    return Ranks(better, tied, np.full(len(scores), others.shape[1], dtype=np.int64))


def ogb_metrics(name: str, scores: Float64) -> dict[str, float] | None:
    """What ogb's evaluator says of scores (query, 1 + negative), if the package is installed."""
    if importlib.util.find_spec("ogb") is None:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of all that it imports
        sys.modules.setdefault("outdated", None)  # type: ignore[arg-type]  # it would ask the network for a newer ogb
        from ogb.linkproppred import Evaluator

    given: dict[str, Any] = {
        "y_pred_pos": torch.from_numpy(scores[:, 0]),
        "y_pred_neg": torch.from_numpy(np.ascontiguousarray(scores[:, 1:])),
    }
    lists = Evaluator(name=name).eval(given)
    return {ours: float(lists[theirs].double().mean()) for theirs, ours in _OGB_METRICS.items()}
