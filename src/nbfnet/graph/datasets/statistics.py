"""Statistics: the counts of a dataset, as a paper states them and as they were read."""

from __future__ import annotations

from dataclasses import dataclass, fields

from nbfnet.graph.graph import Dataset, Graph


@dataclass(frozen=True)
class Statistics:
    """How many of each there are; None where nobody said or counted."""

    entities: int | None = None  # of the training graph, where the dataset is inductive
    relations: int | None = None
    train: int | None = None
    valid: int | None = None
    test: int | None = None
    test_entities: int | None = None  # entities of an inductive dataset's test graph
    test_facts: int | None = None  # triplets of an inductive dataset's test graph
    total: int | None = None  # triplets or edges in all, however they are split

    def differences(self, got: Statistics) -> list[str]:
        """Where the counts that both sides have disagree, in words."""
        found = []
        for field in fields(self):
            here, there = getattr(self, field.name), getattr(got, field.name)
            if here is not None and there is not None and here != there:
                found.append(f"{field.name.replace('_', ' ')}: expected {here:,}, got {there:,}")
        return found


def count_graph(graph: Graph) -> Statistics:
    """The counts of one graph before it is split."""
    return Statistics(entities=graph.num_nodes, relations=graph.num_relations, total=len(graph.triplets))


def count_dataset(dataset: Dataset) -> Statistics:
    """The counts of a dataset that comes with its split."""
    inductive = dataset.test_graph
    return Statistics(
        entities=dataset.train.num_nodes,
        relations=dataset.train.num_relations,
        train=len(dataset.train.triplets),
        valid=len(dataset.valid),
        test=len(dataset.test),
        test_entities=None if inductive is None else inductive.num_nodes,
        test_facts=None if inductive is None else len(inductive.triplets),
    )
