"""A path in words: the facts it follows, by name, and which of them it follows backwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import base, is_inverse


@dataclass(frozen=True, repr=False)
class PathEdge:
    """A fact (head, relation, tail) that a path follows; an inverse edge is followed from tail to head.

    >>> print(PathEdge("France", "capital", "Paris", inverse=True))
    Paris <-capital- France
    """

    head: str
    relation: str
    tail: str
    inverse: bool = False
    labels: tuple[str, str, str] | None = None  # what a person reads for head, relation and tail; None: the names
    ids: tuple[int, int, int] = (-1, -1, -1)  # of head, relation and tail
    directed: bool = True

    @classmethod
    def named(cls, graph: Graph, source: int, relation: int, target: int) -> PathEdge:
        """The fact behind an edge (source, relation, target) of the graph, whose relation may be an inverse."""
        directed = graph.kind != "homogeneous"
        inverse = directed and is_inverse(relation, graph.num_relations)
        head, tail = (target, source) if inverse else (source, target)
        fact = base(relation, graph.num_relations)
        return cls(
            graph.entities[head],
            graph.relations[fact],
            graph.entities[tail],
            inverse,
            (graph.entities.label(head), graph.relations.label(fact), graph.entities.label(tail)),
            (head, fact, tail),
            directed,
        )

    @property
    def start(self) -> str:
        """The label of the node that the path comes from."""
        return self._labels[2 if self.inverse else 0]

    @property
    def end(self) -> str:
        """The label of the node that the path goes to."""
        return self._labels[0 if self.inverse else 2]

    @property
    def nodes(self) -> tuple[tuple[int, str], tuple[int, str]]:
        """(id, name) of start and end, which tell nodes apart whose labels are the same."""
        head, tail = (self.ids[0], self.head), (self.ids[2], self.tail)
        return (tail, head) if self.inverse else (head, tail)

    @property
    def label(self) -> str:
        """The label of the relation."""
        return self._labels[1]

    @property
    def arrow(self) -> str:
        """The relation with its direction, as seen from the start of the edge."""
        if not self.directed:
            return f"-{self.label}-"
        return f"<-{self.label}-" if self.inverse else f"-{self.label}->"

    def to_dict(self) -> dict[str, Any]:
        """The edge as plain data."""
        return {"head": self.head, "relation": self.relation, "tail": self.tail, "inverse": self.inverse}

    def __str__(self) -> str:
        return f"{self.start} {self.arrow} {self.end}"

    def __repr__(self) -> str:
        return f"<PathEdge {self}>"

    @property
    def _labels(self) -> tuple[str, str, str]:
        return (self.head, self.relation, self.tail) if self.labels is None else self.labels


@dataclass(frozen=True, repr=False)
class ExplainedPath:
    """One path behind a prediction.

    >>> edges = PathEdge("France", "capital", "Paris", inverse=True), PathEdge("France", "borders", "Spain")
    >>> ExplainedPath(0.25, 0.1, 0.1, edges, (0.15, 0.1))
    <ExplainedPath -0.100 if deleted (weight +0.250): Paris <-capital- France -borders-> Spain>
    """

    weight: float  # the sum of its edges' importances, in units of the logit
    deletion_drop: float  # how much the logit falls when the path's facts are deleted from the graph
    added_drop: float  # how much further it falls when they are deleted together with the paths listed before
    edges: tuple[PathEdge, ...]
    importance: tuple[float, ...]  # (edge,) they sum to the weight

    @property
    def overlaps(self) -> bool:
        """Whether the paths before it change what deleting it does, by more than a tenth."""
        return abs(self.added_drop - self.deletion_drop) > max(0.1 * abs(self.deletion_drop), 5e-4)

    @property
    def effect(self) -> str:
        """What the path does to the score: measured, and to first order."""
        further = f", {change_of_logit(self.added_drop)} after those above" if self.overlaps else ""
        return f"{change_of_logit(self.deletion_drop)} if deleted{further} (weight {self.weight:+.3f})"

    def to_dict(self) -> dict[str, Any]:
        """The path as plain data."""
        return {
            "weight": self.weight,
            "deletion_drop": self.deletion_drop,
            "added_drop": self.added_drop,
            "edges": [edge.to_dict() for edge in self.edges],
        }

    def __repr__(self) -> str:
        return f"<ExplainedPath {self.effect}: {self}>"

    def __str__(self) -> str:
        return " ".join([self.edges[0].start, *(f"{edge.arrow} {edge.end}" for edge in self.edges)])


def change_of_logit(drop: float) -> str:
    """How the logit changes by a drop; a change too small to show has no sign."""
    return f"{-drop:+.3f}" if round(drop, 3) else "0.000"
