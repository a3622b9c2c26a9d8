"""Paths as one layered graph: a node that several paths share stands once, and so does an edge.

Nodes stand in even layers, each behind all nodes that lead to it; the source in the first, the answer in the last. An
edge's label has a box of its own in an odd layer, and an edge that passes a layer has a bend there: so nothing that is
drawn can lie on top of anything else.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Literal

from nbfnet.explanation.path import ExplainedPath, PathEdge

Role = Literal["source", "answer", "node", "label", "bend"]


@dataclass(eq=False)
class Box:
    """A place in a layer: a node, the label of an edge, or a bend of an edge."""

    layer: int
    role: Role
    text: str = ""
    paths: set[int] = field(default_factory=set)


@dataclass(eq=False)
class DrawnEdge:
    """An edge of the picture, from an earlier layer to a later one, through its bends and its label."""

    edge: PathEdge
    route: list[Box]  # from node to node
    importance: float  # the greatest that a path sees in it, to first order
    drop: float  # the greatest deletion drop of a path over it
    paths: set[int]
    forward: bool  # whether paths follow it from the first box of the route to the last

    @property
    def label(self) -> Box:
        """The box of its label."""
        return next(box for box in self.route if box.role == "label")


Neighbours = dict[Box, tuple[list[Box], list[Box]]]  # of a box: those in the layer before, and in the one behind


@dataclass(eq=False)
class LayeredGraph:
    """The boxes of each layer, and the edges between them."""

    layers: list[list[Box]]
    edges: list[DrawnEdge]

    @classmethod
    def of(cls, query: PathEdge, paths: Sequence[ExplainedPath]) -> LayeredGraph:
        """The graph of some paths from the query's start to its end."""
        steps = _steps(paths)
        depth = _depths([(start, end) for start, end, _ in steps])
        texts = {node: text for start, end, edge in steps for node, text in ((start, edge.start), (end, edge.end))}
        texts |= {"source": query.start, "answer": query.end}
        roles: dict[Hashable, Role] = {"source": "source", "answer": "answer"}
        nodes = {node: Box(2 * level, roles.get(node, "node"), texts[node]) for node, level in depth.items()}
        boxes, edges = list(nodes.values()), []
        for (start, end, edge), seen in steps.items():
            forward = depth[start] < depth[end]
            ends = (nodes[start], nodes[end]) if forward else (nodes[end], nodes[start])
            owners = {path for path, _ in seen}
            between = _between(*ends, edge, owners)
            importance = max((value for _, value in seen), key=abs)
            drop = max(paths[path].deletion_drop for path in owners)
            edges.append(DrawnEdge(edge, [ends[0], *between, ends[1]], importance, drop, owners, forward))
            boxes += between
            for box in ends:
                box.paths |= owners
        layers: list[list[Box]] = [[] for _ in range(1 + max(box.layer for box in boxes))]
        for box in boxes:
            layers[box.layer].append(box)
        return cls(layers, edges)

    @cached_property
    def neighbours(self) -> Neighbours:
        """The boxes that edges lead to next, both ways."""
        neighbours: Neighbours = {box: ([], []) for layer in self.layers for box in layer}
        for edge in self.edges:
            for first, second in pairwise(edge.route):
                neighbours[first][1].append(second)
                neighbours[second][0].append(first)
        return neighbours


Step = tuple[Hashable, Hashable, PathEdge]


def _steps(paths: Sequence[ExplainedPath]) -> dict[Step, list[tuple[int, float]]]:
    """Every edge between two nodes of the picture, with the paths that take it and how important it is to each."""
    steps: dict[Step, list[tuple[int, float]]] = {}
    for number, path in enumerate(paths):
        # The ends are told apart even where source and answer are the same node.
        nodes: list[Hashable] = ["source", *(edge.nodes[1] for edge in path.edges[:-1]), "answer"]
        for place, (edge, importance) in enumerate(zip(path.edges, path.importance, strict=True)):
            steps.setdefault((nodes[place], nodes[place + 1], edge), []).append((number, importance))
    return steps


def _depths(links: Iterable[tuple[Hashable, Hashable]]) -> dict[Hashable, int]:
    """How many edges lead to each node at most; links that would close a cycle do not count."""
    after: dict[Hashable, set[Hashable]] = {"source": set(), "answer": set()}
    for start, end in links:
        after.setdefault(start, set())
        after.setdefault(end, set())
        if start not in _reachable(after, end):
            after[start].add(end)
    depth = dict.fromkeys(after, 0)
    waiting: list[Hashable] = ["source"]
    while waiting:
        node = waiting.pop()
        for following in after[node]:
            if depth[following] < depth[node] + 1:
                depth[following] = depth[node] + 1
                waiting.append(following)
    depth["answer"] = max(1, *depth.values())
    return depth


def _reachable(after: dict[Hashable, set[Hashable]], node: Hashable) -> set[Hashable]:
    found, waiting = {node}, [node]
    while waiting:
        for following in after[waiting.pop()] - found:
            found.add(following)
            waiting.append(following)
    return found


def _between(first: Box, last: Box, edge: PathEdge, paths: set[int]) -> list[Box]:
    """The bends of an edge, and its label in the odd layer nearest to the middle."""
    middle = first.layer + 1 + 2 * ((last.layer - first.layer - 2) // 4)
    return [
        Box(layer, "label", edge.label, set(paths)) if layer == middle else Box(layer, "bend", paths=set(paths))
        for layer in range(first.layer + 1, last.layer)
    ]
