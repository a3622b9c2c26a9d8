"""The protocol of a ranking: which links of a dataset are asked, on which facts, and what is filtered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nbfnet.errors import EvaluationError
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.sampling.known_answers import KnownAnswers

Split = Literal["valid", "test"]


@dataclass(frozen=True, eq=False)
class RankingProtocol:
    """What a ranking knows besides the scores."""

    facts: Graph  # the graph that the links are asked on
    links: Triplets
    filter: KnownAnswers  # answers that are no negatives
    everything: KnownAnswers  # every fact and link among the graph's entities, to count relation categories
    text: str

    @classmethod
    def of(cls, dataset: Dataset, split: Split) -> RankingProtocol:
        """The protocol of a knowledge graph: filtered by train + valid + test, or, inductive, by the facts alone."""
        facts, links = facts_of(dataset, split), links_of(dataset, split)
        if dataset.kind == "inductive":
            known, everything = KnownAnswers.of(facts, facts.triplets), KnownAnswers.of(facts, facts.triplets, links)
            graph = "the test graph" if split == "test" else "the training graph"
            return cls(facts, links, known, everything, f"{_RANKING}: the facts of {graph}, and the answer itself")
        known = KnownAnswers.of(facts, facts.triplets, dataset.valid, dataset.test)
        return cls(facts, links, known, known, f"{_RANKING}: train + valid + test")


_RANKING = "filtered ranking of heads and tails against all entities; filter"


def facts_of(dataset: Dataset, split: Split) -> Graph:
    """The graph that a split's links are asked on."""
    return dataset.facts_of_test if split == "test" else dataset.train


def links_of(dataset: Dataset, split: Split) -> Triplets:
    """The links of a split.

    Raises:
        EvaluationError: there is none.
    """
    links = dataset.test if split == "test" else dataset.valid
    if not len(links):
        raise EvaluationError(
            f"{dataset.name}: there are no {split} links to evaluate on; "
            "give a folder with a file of them, or a single file of triplets, which is split"
        )
    return links
