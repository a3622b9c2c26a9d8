"""Graph: one indexed graph with its names; Dataset: a graph with the links to learn, select and test on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

from nbfnet.graph.inverse import with_inverse_count, with_inverses, with_reversals, with_self_loops
from nbfnet.graph.reading.findings import Finding
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Int32, Triplets
from nbfnet.graph.vocabulary import Vocabulary

Kind = Literal["knowledge", "homogeneous"]


@dataclass(frozen=True, eq=False)
class EntityTypes:
    """A type for each entity, such as 'drug' or 'disease'."""

    names: Vocabulary
    of_entity: Int32  # (node,) a type id, or -1 where none was given


@dataclass(frozen=True, eq=False)
class Graph:
    """G = (V, E, R): facts between named entities.

    A knowledge graph's edges have relations and directions; a homogeneous graph is undirected, with one relation.
    """

    name: str
    kind: Kind
    entities: Vocabulary
    relations: Vocabulary
    triplets: Triplets
    types: EntityTypes | None = None
    skipped_lines: int = 0  # bad lines left out on request while reading
    findings: tuple[Finding, ...] = ()  # what was odd about the source, as far as it was seen while reading

    @property
    def num_nodes(self) -> int:
        """|V|."""
        return len(self.entities)

    @property
    def num_relations(self) -> int:
        """|R| as in the data, inverses not counted."""
        return len(self.relations)

    @property
    def num_relation_ids(self) -> int:
        """How many relations a network tells apart: with the inverses, which an undirected graph does not have."""
        return self.num_relations if self.kind == "homogeneous" else with_inverse_count(self.num_relations)

    @cached_property
    def facts_csr(self) -> RelationalCSR:
        """The facts as they are, each one way: what is sampled. A store has it on disk."""
        return RelationalCSR.from_triplets(self.triplets, self.num_nodes, self.num_relations)

    @cached_property
    def csr(self) -> RelationalCSR:
        """Every fact both ways: with its inverse, or, in an undirected graph, reversed."""
        if self.kind == "homogeneous":
            return self._rows(with_reversals(self.triplets))
        return self._rows(with_inverses(self.triplets, self.num_relations))

    @cached_property
    def message_csr(self) -> RelationalCSR:
        """The edges that a network's messages pass over: ``csr``, and self loops in a homogeneous graph."""
        if self.kind != "homogeneous":
            return self.csr
        return self._rows(with_self_loops(with_reversals(self.triplets), self.num_nodes))

    def _rows(self, edges: Triplets) -> RelationalCSR:
        return RelationalCSR.from_triplets(edges, self.num_nodes, self.num_relation_ids)

    def __repr__(self) -> str:
        return (
            f"<Graph {self.name!r}: {self.kind}, {self.num_nodes:,} entities, "
            f"{self.num_relations:,} relations, {len(self.triplets):,} triplets>"
        )


@dataclass(frozen=True)
class Stored:
    """Where a dataset was opened from: a store, with the fingerprint that was written into it."""

    folder: Path
    fingerprint: str


@dataclass(frozen=True, eq=False)
class Dataset:
    """Links to learn from, to select by and to test on.

    Training facts are ``train.triplets``. The valid links are asked on the training graph, and so are the test
    links, except in an inductive dataset, where ``test_graph`` holds the facts of entities never seen in training.
    """

    name: str
    train: Graph
    valid: Triplets
    test: Triplets
    test_graph: Graph | None = None
    split: str = "as given"  # where the split came from, in words
    # Other held-out links of the test graph: they are right answers, but not queries.
    test_graph_valid: Triplets = field(default_factory=Triplets.empty)
    # Not an argument, so that a dataset that was made of this one, with other links, does not have it.
    stored: Stored | None = field(default=None, init=False)

    @property
    def kind(self) -> Literal["knowledge", "homogeneous", "inductive"]:
        """What sort of task this is."""
        return "inductive" if self.test_graph is not None else self.train.kind

    @cached_property
    def known_graph(self) -> Graph:
        """The training graph with every known link: the valid ones, and the test ones if they are of this graph."""
        held_out = self.valid if self.test_graph is not None else self.valid.concatenate(self.test)
        return replace(self.train, triplets=self.train.triplets.concatenate(held_out))

    @classmethod
    def nothing(cls, name: str) -> Dataset:
        """No entity and no link: what a network that is for any graph belongs to."""
        nobody = Vocabulary.of([])
        graph = Graph(name, "knowledge", nobody, Vocabulary.of([], role="relation"), Triplets.empty())
        return cls(name, graph, Triplets.empty(), Triplets.empty(), split="none")

    @property
    def facts_of_test(self) -> Graph:
        """The graph that test links are asked on."""
        return self.test_graph if self.test_graph is not None else self.train

    def __repr__(self) -> str:
        counts = f"{len(self.train.triplets):,} / {len(self.valid):,} / {len(self.test):,} train / valid / test"
        return f"<Dataset {self.name!r}: {self.kind}, {self.train.num_nodes:,} entities, {counts}>"
