"""Homogeneous graphs: a split's links against as many pairs that are edges nowhere in the graph."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch

from nbfnet.distributed import ALONE, Team
from nbfnet.errors import EvaluationError
from nbfnet.evaluation.filtering import Split, links_of
from nbfnet.evaluation.metrics import PairMetrics, auroc_interval
from nbfnet.evaluation.ranks import draw_links
from nbfnet.evaluation.result import PairResult, Sample
from nbfnet.evaluation.scorer import Scorer
from nbfnet.graph.graph import Dataset
from nbfnet.graph.triplets import Float64, Int32
from nbfnet.progress import stage
from nbfnet.sampling.negatives import PairNegatives


def evaluate_pairs(
    scorer: Scorer,
    dataset: Dataset,
    split: Split,
    *,
    sample: int | None = None,
    seed: int = 0,
    batch_size: int = 64,
    team: Team = ALONE,
) -> PairResult:
    """Compare the links of a homogeneous graph with pairs without an edge; arguments as of ``evaluate``.

    Raises:
        EvaluationError: the split has no links, or a score is not a number.
        SamplingError: the graph has too few pairs without an edge.
    """
    begin = time.perf_counter()
    given = links_of(dataset, split)
    links = given.take(draw_links(len(given), sample, seed))
    u, v = negative_pairs(dataset, split, len(links), seed)
    sources, targets = np.concatenate([links.head, u]), np.concatenate([links.tail, v])
    with stage(f"evaluating {dataset.name}, {split}") as progress:
        scores = _score_pairs(scorer, sources, targets, batch_size, progress, team)
    positive, negative = np.split(scores, 2)
    return PairResult(
        dataset=dataset.name,
        split=split,
        protocol=f"links against as many pairs that are edges nowhere in the graph, seed {seed}",
        links=len(links),
        metrics=PairMetrics.of(positive, negative),
        sample=_describe_sample(positive, negative, len(given), seed),
        seconds=time.perf_counter() - begin,
    )


def _describe_sample(positive: Float64, negative: Float64, total: int, seed: int) -> Sample | None:
    if len(positive) == total:
        return None
    return Sample(len(positive), total, seed, "auroc", auroc_interval(positive, negative))


def negative_pairs(dataset: Dataset, split: Split, count: int, seed: int) -> tuple[Int32, Int32]:
    """(count,) u and v of different pairs without an edge in train, valid or test; the same for the same seed."""
    edges = (dataset.train.triplets, dataset.valid, dataset.test)
    generator = np.random.default_rng([seed, ("valid", "test").index(split)])
    return PairNegatives(*edges, num_nodes=dataset.train.num_nodes).draw_distinct(count, generator)


def _score_pairs(
    scorer: Scorer, source: Int32, target: Int32, batch_size: int, progress: Callable[[float], None], team: Team
) -> Float64:
    """(pair,) scores, computed in the order of the sources, so that a batch shares as much as it can."""
    order = np.argsort(source, kind="stable")[team.share(len(source))]
    scores = np.zeros(len(source), dtype=np.float64)
    for begin in range(0, len(order), batch_size):
        batch = order[begin : begin + batch_size]
        u, v = torch.from_numpy(source[batch]).long(), torch.from_numpy(target[batch]).long()
        scores[batch] = scorer.score(u, torch.zeros_like(u), v[:, None])[:, 0].cpu().numpy()
        progress((begin + len(batch)) / len(order))
    team.add(torch.from_numpy(scores))  # every process knows those of its own pairs
    if np.isnan(scores).any():
        bad = int(np.isnan(scores).sum())
        raise EvaluationError(
            f"{bad} of {len(scores)} pairs got a score that is not a number: the model's weights are broken; "
            "train again with a lower learning rate"
        )
    return scores
