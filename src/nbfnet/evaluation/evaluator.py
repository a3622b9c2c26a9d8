"""evaluate: every link of a split is asked both ways and ranked, or compared with pairs without an edge."""

from __future__ import annotations

import time

import numpy as np

from nbfnet.distributed import ALONE, Team
from nbfnet.errors import EvaluationError
from nbfnet.evaluation.filtering import Filter, RankingProtocol, Split, TiePolicy, links_of
from nbfnet.evaluation.given_negatives import evaluate_given
from nbfnet.evaluation.metrics import DRAWN, PairMetrics, auroc_interval
from nbfnet.evaluation.ranks import LinkRanks, draw_links, rank_links
from nbfnet.evaluation.result import (
    DirectedMetrics,
    PairResult,
    RankingResult,
    RelationMetrics,
    Sample,
    describe_sample,
)
from nbfnet.evaluation.scorer import Scorer, score_in_batches
from nbfnet.graph.datasets.ogb.biokg import GivenNegatives
from nbfnet.graph.graph import Dataset
from nbfnet.graph.inverse import split_by_direction, with_inverse_count
from nbfnet.graph.triplets import Float64, Int32
from nbfnet.progress import stage
from nbfnet.sampling.known_answers import KnownAnswers
from nbfnet.sampling.negatives import PairNegatives

CATEGORIES = ("1-to-1", "1-to-N", "N-to-1", "N-to-N")
THRESHOLD = 1.5  # from this average on, a side counts as many


def relation_categories(known: KnownAnswers) -> list[str | None]:
    """The category of each relation (inverses not counted), or None for a relation without a fact.

    A relation has N tails if its facts have on average at least 1.5 tails per head, and N heads if they have at least
    1.5 heads per tail; a fact that is listed twice counts once.
    """
    counts = with_inverse_count(known.num_relations)
    relation_of_row = known.relation_of_rows()
    answers = np.diff(known.begin)[: len(relation_of_row)]
    facts = np.bincount(relation_of_row, weights=answers, minlength=counts)
    rows = np.bincount(relation_of_row, minlength=counts)
    average = facts / np.maximum(rows, 1)  # of a relation the tails per head, of its inverse the heads per tail
    tails, heads = split_by_direction(average)
    return [_category(h, t) if t else None for h, t in zip(heads, tails, strict=True)]


def _category(heads_per_tail: float, tails_per_head: float) -> str:
    many_heads, many_tails = heads_per_tail >= THRESHOLD, tails_per_head >= THRESHOLD
    return CATEGORIES[2 * many_heads + many_tails]


def evaluate(
    scorer: Scorer,
    dataset: Dataset,
    split: Split = "test",
    *,
    negatives: GivenNegatives | None = None,
    ties: TiePolicy = "realistic",
    filtered_by: Filter = "known",
    any_type: bool = False,
    drawn: int = DRAWN,
    sample: int | None = None,
    seed: int = 0,
    batch_size: int = 64,
    team: Team = ALONE,
) -> RankingResult | PairResult:
    """Evaluate a scorer on a dataset's split, by the protocol of the dataset.

    The links of a knowledge graph are ranked, against the negatives that come with the dataset if there are any. The
    links of a homogeneous graph are compared with pairs without an edge.

    ``scorer`` scores on the graph that the split is asked on, ``facts_of(dataset, split)``. ``negatives`` are ranked
    against instead of all entities; nothing is filtered then. ``batch_size`` queries, or pairs, are scored at once. The
    other arguments are those of ``Run.evaluate``.

    Raises:
        EvaluationError: the split has no links, a score is not a number, or a tie policy is given for pairs.
        DatasetError: a homogeneous graph has too few pairs without an edge.
    """
    if dataset.kind == "homogeneous":
        if ties != "realistic":
            raise EvaluationError(f"ties can be {ties} only in a ranking: pairs that tie count half; leave it out")
        return evaluate_pairs(scorer, dataset, split, sample=sample, seed=seed, batch_size=batch_size, team=team)
    if negatives is not None:
        return evaluate_given(scorer, dataset, split, negatives, ties=ties, sample=sample, seed=seed, team=team)
    begin = time.perf_counter()
    protocol = RankingProtocol.of(dataset, split, filtered_by=filtered_by, any_type=any_type)
    total = len(protocol.links)
    links = protocol.links.take(draw_links(total, sample, seed))
    with stage(f"evaluating {dataset.name}, {split}") as progress:
        ranks = rank_links(
            scorer,
            links,
            protocol.filter,
            possible=protocol.possible,
            batch_size=batch_size,
            progress=progress,
            team=team,
        )
    by_category, by_relation = _break_down(links.relation, ranks, protocol, ties, drawn)
    return RankingResult(
        dataset=dataset.name,
        split=split,
        protocol=protocol.text,
        ties=ties,
        overall=DirectedMetrics.of(ranks, ties, drawn),
        drawn=drawn,
        by_category=by_category,
        by_relation=by_relation,
        sample=describe_sample(ranks, ties, total, seed),
        seconds=time.perf_counter() - begin,
    )


def _break_down(
    relation: Int32, ranks: LinkRanks, protocol: RankingProtocol, ties: TiePolicy, drawn: int
) -> tuple[dict[str, DirectedMetrics], tuple[RelationMetrics, ...]]:
    """The metrics of each category, and of each relation, that has a link."""
    categories = relation_categories(protocol.everything)
    of_link = np.array([categories[r] for r in relation])
    by_category = {
        category: DirectedMetrics.of(ranks.take(of_link == category), ties, drawn)
        for category in CATEGORIES
        if np.any(of_link == category)
    }
    names = protocol.facts.relations
    by_relation = tuple(
        RelationMetrics(names.label(r), categories[r], DirectedMetrics.of(ranks.take(relation == r), ties, drawn))
        for r in np.unique(relation).tolist()
    )
    return by_category, by_relation


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
        DatasetError: the graph has too few pairs without an edge.
    """
    begin = time.perf_counter()
    given = links_of(dataset, split)
    links = given.take(draw_links(len(given), sample, seed))
    u, v = negative_pairs(dataset, split, len(links), seed)
    sources, targets = np.concatenate([links.head, u]), np.concatenate([links.tail, v])
    order = np.argsort(sources, kind="stable")  # so that a batch shares as much as it can
    asked = sources[order], np.zeros_like(sources), targets[order][:, None]
    scores = np.empty(len(sources))
    with stage(f"evaluating {dataset.name}, {split}") as progress:
        scores[order] = score_in_batches(scorer, *asked, batch_size, team, progress)[:, 0]
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
