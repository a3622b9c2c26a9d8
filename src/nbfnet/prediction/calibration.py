"""Calibration: how often a candidate with such a score is the held-out answer, learned from the valid links."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch

from nbfnet.evaluation.ranks import draw_links
from nbfnet.evaluation.scorer import Scorer
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.inverse import with_inverses, with_reversals
from nbfnet.graph.triplets import Float64, Int32, Triplets
from nbfnet.progress import stage
from nbfnet.sampling.known_answers import KnownAnswers
from nbfnet.sampling.possible_answers import PossibleAnswers, has_self_loops
from nbfnet.training.validation import share_links

CANDIDATES = 10  # the best of each query, as they are shown to people
_FOLDS = 2
_LINKS, _PAIRS = 1000, 50  # valid links that are asked; an undirected graph's answers take a search from every node
_MOST_NODES = 100_000  # of an undirected graph
_TABLE = 1 << 30  # bytes of the scores of a batch


@dataclass(frozen=True)
class Calibration:
    """From a logit to a probability; without a curve, the network's own sigmoid."""

    curve: IsotonicCurve | None
    description: dict[str, Any]  # what the manifest states

    def probability(self, logit: Float64) -> Float64:
        """P(the candidate is the held-out answer)."""
        return sigmoid(logit) if self.curve is None else self.curve(logit)

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for the manifest."""
        curve = self.curve
        knots = {} if curve is None else {"logit": curve.x.tolist(), "probability": curve.y.tolist()}
        return {**self.description, **knots}

    @classmethod
    def read(cls, document: dict[str, Any] | None) -> Calibration:
        """What ``document`` wrote; none gives the sigmoid."""
        if not document or "logit" not in document:
            return cls(None, dict(document)) if document else UNCALIBRATED
        curve = IsotonicCurve(np.array(document["logit"], dtype=float), np.array(document["probability"], dtype=float))
        return cls(curve, {key: value for key, value in document.items() if key not in ("logit", "probability")})


UNCALIBRATED = Calibration(None, {"method": "none"})


def calibrate(scorer: Scorer, dataset: Dataset) -> Calibration:
    """Fit the probabilities of a scorer on the training graph, by the ten best candidates of valid queries.

    Known facts are not candidates. The error after is measured on queries that the curve was not fitted to: half of
    them against the other half.
    """
    return calibrate_together([(scorer, dataset)])


def calibrate_together(asked: Sequence[tuple[Scorer, Dataset]]) -> Calibration:
    """Fit the probabilities of a network on several graphs, each with its scorer; about as many links of each count."""
    shares = share_links([len(dataset.valid) for _, dataset in asked], _LINKS)
    found, queries = [], 0
    for (scorer, dataset), share in zip(asked, shares, strict=True):
        count = _PAIRS if dataset.kind == "homogeneous" else share
        links = dataset.valid.take(draw_links(len(dataset.valid), count, seed=0))
        if not len(links):
            continue
        if dataset.kind == "homogeneous" and dataset.train.num_nodes > _MOST_NODES:
            reason = f"it has more than {_MOST_NODES:,} nodes to search from"
            return Calibration(None, {"method": "none", "reason": reason})
        with stage("calibrating") as report:
            best = _best_candidates(scorer, dataset, links, report)
        found.append((best[0], best[1], best[2] + queries))
        queries += 2 * len(links)
    if not found:
        return Calibration(None, {"method": "none", "reason": "there are no valid links"})
    logit, is_answer, query = (np.concatenate(parts) for parts in zip(*found, strict=True))
    if not len(logit):
        return Calibration(None, {"method": "none", "reason": "no score is finite"})
    asked_queries = f"{int(query.max()) + 1} valid queries{f' of {len(found)} graphs' if len(found) > 1 else ''}"
    fold = query % _FOLDS
    crossed = np.empty_like(logit)
    for f in range(_FOLDS):
        fitted = logit[fold != f], is_answer[fold != f]
        crossed[fold == f] = IsotonicCurve.fit(*(fitted if len(fitted[0]) else (logit, is_answer)))(logit[fold == f])
    description = {
        "method": "isotonic",
        "fitted_on": f"the {CANDIDATES} best candidates of {asked_queries}, known facts removed",
        "expected_calibration_error": {
            "before": expected_calibration_error(sigmoid(logit), is_answer),
            "after": expected_calibration_error(crossed, is_answer),
        },
    }
    return Calibration(IsotonicCurve.fit(logit, is_answer), description)


def expected_calibration_error(probability: Float64, outcome: Float64, bins: int = 10) -> float:
    """Sum over equal bins of probability of (share of the bin) |mean outcome - mean probability|."""
    number = np.minimum((probability * bins).astype(int), bins - 1)
    gaps = np.bincount(number, weights=outcome - probability, minlength=bins)
    return float(np.abs(gaps).sum() / len(probability))


def sigmoid(logit: Float64) -> Float64:
    """1 / (1 + exp(-x)), without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * logit))


def _best_candidates(scorer: Scorer, dataset: Dataset, links: Triplets, report: Any) -> tuple[Float64, Float64, Int32]:
    """(candidate,) logits of the best candidates, whether each is the answer, and whose query it is.

    Candidates are those that a prediction lists: not the source itself, nor entities of an impossible type.
    """
    graph = dataset.train
    possible, has_loops = PossibleAnswers.of(graph), has_self_loops(graph)
    asked = queries_of(graph, links)
    known = KnownAnswers.of(graph, graph.triplets, dataset.valid)
    logits, answers, owners = [], [], []
    order = np.argsort(asked.relation, kind="stable")  # queries of a relation share much
    size = max(1, min(64, _TABLE // (8 * graph.num_nodes)))
    for begin in range(0, len(order), size):
        batch = order[begin : begin + size]
        source, relation = torch.from_numpy(asked.head[batch]).long(), torch.from_numpy(asked.relation[batch]).long()
        table = scorer.score_all(source, relation).double().cpu().numpy()
        for row, query in zip(table, batch.tolist(), strict=True):
            answer = int(asked.tail[query])
            others = known.of_query(int(asked.head[query]), int(asked.relation[query]))
            row[others[others != answer]] = -np.inf
            if not has_loops[asked.relation[query]]:
                row[asked.head[query]] = -np.inf
            if possible is not None:
                row[~possible.mask(int(asked.relation[query]))] = -np.inf
            best = top_k(row, CANDIDATES)
            best = best[np.isfinite(row[best])]
            logits.append(row[best])
            answers.append(best == answer)
            owners.append(np.full(len(best), query))
        report((begin + len(batch)) / len(order))
    return np.concatenate(logits), np.concatenate(answers).astype(np.float64), np.concatenate(owners)


def queries_of(graph: Graph, links: Triplets) -> Triplets:
    """Links asked both ways: (head, relation) for the tail, and back."""
    if graph.kind == "homogeneous":
        return with_reversals(links)
    return with_inverses(links, graph.num_relations)


def top_k(scores: Float64, k: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The positions of the k highest scores, highest first; of equal ones the lower position first."""
    if k < len(scores):
        threshold = np.partition(scores, len(scores) - k)[len(scores) - k]
        above = np.flatnonzero(scores > threshold)
        equal = np.flatnonzero(scores == threshold)[: k - len(above)]
        chosen = np.sort(np.concatenate([above, equal]))
    else:
        chosen = np.arange(len(scores))
    return chosen[np.argsort(-scores[chosen], kind="stable")]


@dataclass(frozen=True, eq=False)
class IsotonicCurve:
    """A non-decreasing curve through some knots, straight between them and flat outside."""

    x: Float64  # (knot,) ascending
    y: Float64  # (knot,) not descending

    @classmethod
    def fit(cls, x: Float64, y: Float64) -> Self:
        """The curve with the least squared error over points (x, y); the ends of each level stretch are knots."""
        assert len(x) == len(y) > 0
        order = np.argsort(x, kind="stable")
        levels, first = np.unique(x[order], return_index=True)
        weight = np.diff(first, append=len(x)).astype(np.float64)
        height, size = _pool(np.add.reduceat(y[order].astype(np.float64), first) / weight, weight)
        last = np.cumsum(size) - 1
        ends = np.unique(np.concatenate([last - size + 1, last]))
        return cls(levels[ends], np.repeat(height, size)[ends])

    def __call__(self, x: Float64) -> Float64:
        """The height at each x."""
        heights: Float64 = np.interp(x, self.x, self.y)
        return heights


def _pool(mean: Float64, weight: Float64) -> tuple[Float64, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """The height and the number of levels of each pool: a lower mean after a higher one joins it."""
    height: list[float] = []
    mass: list[float] = []
    size: list[int] = []
    for m, w in zip(mean.tolist(), weight.tolist(), strict=True):
        height.append(m)
        mass.append(w)
        size.append(1)
        while len(height) > 1 and height[-2] >= height[-1]:
            m, w, s = height.pop(), mass.pop(), size.pop()
            total = mass[-1] + w
            height[-1] = (height[-1] * mass[-1] + m * w) / total
            mass[-1], size[-1] = total, size[-1] + s
    return np.array(height), np.array(size, dtype=np.int64)
