"""Results of an evaluation, frozen and typed; ``to_dict()`` is the JSON of ``nbfnet evaluate``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from nbfnet.evaluation.filtering import Split, TiePolicy
from nbfnet.evaluation.metrics import DRAWN, PairMetrics, RankMetrics
from nbfnet.evaluation.ranks import LinkRanks, mean_interval
from nbfnet.tables import data_frame, html_table


@dataclass(frozen=True)
class DirectedMetrics:
    """The metrics of some links, asked for their heads, for their tails, and both together."""

    links: int
    both: RankMetrics
    head: RankMetrics
    tail: RankMetrics

    @classmethod
    def of(cls, ranks: LinkRanks, ties: TiePolicy, drawn: int = DRAWN) -> Self:
        """The metrics of some links' ranks."""
        parts = (ranks.both, ranks.head, ranks.tail)
        return cls(len(ranks.head), *(RankMetrics.of(part, ties, drawn) for part in parts))

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        return {"links": self.links, "head": self.head.to_dict(), "tail": self.tail.to_dict()}


@dataclass(frozen=True)
class RelationMetrics:
    """One row of the table of relations."""

    relation: str  # its name
    category: str
    metrics: DirectedMetrics


@dataclass(frozen=True)
class Sample:
    """A random sample of the links, and the 95 % confidence interval of a metric over all links."""

    links: int
    of: int
    seed: int
    metric: str
    interval: tuple[float, float]

    def to_dict(self) -> dict[str, Any]:
        """As plain data."""
        interval = {f"{self.metric}_interval": list(self.interval)}
        return {"links": self.links, "of": self.of, "seed": self.seed, **interval}


def describe_sample(ranks: LinkRanks, ties: TiePolicy, total: int, seed: int) -> Sample | None:
    """The sample of ``total`` links that was ranked; None if it is all of them.

    The two ranks of a link are not independent: the interval is over links.
    """
    drawn = len(ranks.head)
    if drawn == total:
        return None
    reciprocal = (1 / ranks.head.rank(ties) + 1 / ranks.tail.rank(ties)) / 2
    return Sample(drawn, total, seed, "mrr", mean_interval(reciprocal, total))


class _Result:
    """What results have in common: how they are shown."""

    dataset: str
    split: Split
    metrics: Any
    baselines: Mapping[str, Any]

    def to_pandas(self) -> Any:
        """One row for each scorer: this network, then the baselines."""
        return data_frame([{"scorer": name, **metrics} for name, metrics in self._by_scorer().items()])

    def __repr__(self) -> str:
        metrics = ", ".join(f"{name} {value:.4g}" for name, value in self.metrics.to_dict().items())
        return f"<{type(self).__name__} {self.dataset}, {self.split}: {metrics}>"

    def _repr_html_(self) -> str:
        titles = ("", *self.metrics.to_dict())
        rows = [(name, *metrics.values()) for name, metrics in self._by_scorer().items()]
        return html_table(f"{self.dataset}, {self.split}", titles, rows)

    def _by_scorer(self) -> dict[str, dict[str, float]]:
        return {name: found.to_dict() for name, found in {"this network": self.metrics, **self.baselines}.items()}

    def _baselines_document(self) -> dict[str, Any]:
        found = {name: metrics.to_dict() for name, metrics in self.baselines.items()}
        return {"baselines": found} if found else {}


@dataclass(frozen=True, repr=False)
class RankingResult(_Result):
    """How well the answers of a knowledge graph's links rank."""

    dataset: str
    split: Split
    protocol: str
    ties: TiePolicy
    overall: DirectedMetrics
    by_category: Mapping[str, DirectedMetrics]  # only categories that have a link
    by_relation: tuple[RelationMetrics, ...]  # only relations that have a link, in the order of their ids
    sample: Sample | None
    seconds: float
    ogb: Mapping[str, float] | None = None  # as OGB measures, where negatives come with the dataset
    baselines: Mapping[str, RankMetrics] = field(default_factory=dict)  # what methods reach that learn nothing
    drawn: int = DRAWN  # negatives that HITS@10 of 50 is against

    @property
    def metrics(self) -> RankMetrics:
        """Over heads and tails together: what papers report."""
        return self.overall.both

    def to_dict(self) -> dict[str, Any]:
        """The JSON of ``nbfnet evaluate``."""
        return {
            "dataset": self.dataset,
            "split": self.split,
            "protocol": self.protocol,
            "ties": self.ties,
            "drawn_negatives": self.drawn,
            "queries": 2 * self.overall.links,
            "metrics": self.metrics.to_dict(),
            "by_direction": {"head": self.overall.head.to_dict(), "tail": self.overall.tail.to_dict()},
            "by_category": {name: metrics.to_dict() for name, metrics in self.by_category.items()},
            "by_relation": [
                {"relation": row.relation, "category": row.category, **row.metrics.to_dict()}
                for row in self.by_relation
            ],
            "sample": None if self.sample is None else self.sample.to_dict(),
            "seconds": self.seconds,
            **({} if self.ogb is None else {"ogb": dict(self.ogb)}),
            **self._baselines_document(),
        }


@dataclass(frozen=True, repr=False)
class PairResult(_Result):
    """How well the links of a homogeneous graph are distinguished from pairs without an edge."""

    dataset: str
    split: Split
    protocol: str
    links: int  # and as many negative pairs
    metrics: PairMetrics
    sample: Sample | None
    seconds: float
    baselines: Mapping[str, PairMetrics] = field(default_factory=dict)  # what methods reach that learn nothing

    def to_dict(self) -> dict[str, Any]:
        """The JSON of ``nbfnet evaluate``."""
        return {
            "dataset": self.dataset,
            "split": self.split,
            "protocol": self.protocol,
            "ties": "realistic",  # both metrics count a tie as half, or as one step of the curve
            "queries": 2 * self.links,
            "metrics": self.metrics.to_dict(),
            "by_category": {},
            "sample": None if self.sample is None else self.sample.to_dict(),
            "seconds": self.seconds,
            **self._baselines_document(),
        }
