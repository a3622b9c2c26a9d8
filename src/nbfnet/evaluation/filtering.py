"""The protocol of a ranking: which links of a dataset are asked, on which facts, what is filtered, how ties count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nbfnet.errors import EvaluationError
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.sampling.known_answers import KnownAnswers
from nbfnet.sampling.possible_answers import PossibleAnswers

Split = Literal["valid", "test"]
Filter = Literal["known", "facts"]
TiePolicy = Literal["realistic", "optimistic", "pessimistic"]


@dataclass(frozen=True, eq=False)
class RankingProtocol:
    """What a ranking needs to know in addition to the scores."""

    facts: Graph  # the graph that the links are asked on
    links: Triplets
    filter: KnownAnswers  # answers that are not negatives
    possible: PossibleAnswers | None  # the entities that are ranked; None: all
    everything: KnownAnswers  # every fact and link among the graph's entities, to count relation categories
    text: str

    @classmethod
    def of(
        cls, dataset: Dataset, split: Split, *, filtered_by: Filter = "known", any_type: bool = False
    ) -> RankingProtocol:
        """The protocol of a knowledge graph.

        Args:
            dataset: the links and the facts.
            split: whose links are ranked.
            filtered_by: 'known' removes every known answer: facts, valid and test links of the graph that is asked.
                'facts' removes only the facts of an inductive dataset's graph, so that other held-out answers count
                as wrong: what the paper's table of inductive results was measured by.
            any_type: rank entities of every type, also where types say that they cannot be the answer.
        """
        facts, links = facts_of(dataset, split), links_of(dataset, split)
        if dataset.test_graph is None:
            held_out, graph = dataset.valid.concatenate(dataset.test), "train + valid + test"
        elif split == "test":
            held_out = dataset.test_graph_valid.concatenate(dataset.test)
            graph = "facts + valid + test of the test graph"
        else:
            held_out, graph = dataset.valid, "train + valid of the training graph"
        everything = KnownAnswers.of(facts, facts.triplets, held_out)
        known = everything
        if filtered_by == "facts" and dataset.test_graph is not None:
            known = KnownAnswers.of(facts, facts.triplets)
            graph = f"the facts of the {'test' if split == 'test' else 'training'} graph, and the answer itself"
        possible = None if any_type else PossibleAnswers.of(facts)
        against = "all entities" if possible is None else "the entities of the types that the relation has on that side"
        text = f"filtered ranking of heads and tails against {against}; filter: {graph}"
        return cls(facts, links, known, possible, everything, text)


def facts_of(dataset: Dataset, split: Split) -> Graph:
    """The graph that a split's links are asked on."""
    return dataset.facts_of_test if split == "test" else dataset.train


def links_of(dataset: Dataset, split: Split) -> Triplets:
    """The links of a split.

    Raises:
        EvaluationError: there is none.
    """
    links, others = (dataset.test, dataset.valid) if split == "test" else (dataset.valid, dataset.test)
    if not len(links):
        other = "valid" if split == "test" else "test"
        remedy = f"; --split {other} evaluates its {len(others):,} {other} links" if len(others) else ""
        raise EvaluationError(
            f"{dataset.name}: there are no {split} links to evaluate on; "
            f"give a folder with a file of them, or a single file of triplets, which is split{remedy}"
        )
    return links
