"""Paths as one layered graph, and where its boxes are: few crossings, straight edges, nothing on top of anything else.

A node that several paths share is drawn once, and so is an edge. Nodes are in even layers, each behind all nodes that
lead to it; the source is in the first, the answer in the last. The label of an edge has a box of its own in an odd
layer, and an edge that passes a layer has a bend there.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
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


_SWEEPS = 12


@dataclass(frozen=True, eq=False)
class Layout:
    """Coordinates: along the layers from source to answer, and across them."""

    along: list[tuple[float, float]]  # of each layer: where it begins and ends
    across: dict[Box, float]  # the middle of each box
    breadth: float  # everything lies between 0 and this, across the layers


def lay_out(
    graph: LayeredGraph,
    length_of: Callable[[Box], float],
    breadth_of: Callable[[Box], float],
    *,
    gap: float,
    spacing: float,
) -> Layout:
    """Place all boxes.

    Args:
        graph: the layers and edges.
        length_of: the size of a box along the layers.
        breadth_of: its size across the layers.
        gap: the room between layers.
        spacing: the room between the boxes of a layer.
    """
    layers = _order(graph.layers, graph.neighbours)
    across = _place(layers, graph.neighbours, breadth_of, spacing)
    low = min(across[box] - breadth_of(box) / 2 for layer in layers for box in layer)
    across = {box: place - low for box, place in across.items()}
    breadth = max(across[box] + breadth_of(box) / 2 for layer in layers for box in layer)
    along, begin = [], 0.0
    for layer in layers:
        end = begin + max(length_of(box) for box in layer)
        along.append((begin, end))
        begin = end + gap
    return Layout(along, across, breadth)


def _order(layers: list[list[Box]], neighbours: Neighbours) -> list[list[Box]]:
    """Sort each layer by the mean place of its neighbours, forth and back, and keep the best order met."""
    layers = [sorted(layer, key=lambda box: min(box.paths, default=0)) for layer in layers]
    best, fewest = layers, _crossings(layers, neighbours)
    for sweep in range(_SWEEPS):
        side = sweep % 2
        layers = [list(layer) for layer in layers]
        for layer in layers if side == 0 else reversed(layers):
            place = {box: (i + 0.5) / len(row) for row in layers for i, box in enumerate(row)}

            def mean(box: Box, place: dict[Box, float] = place, side: int = side) -> float:
                linked = neighbours[box][side]
                return sum(place[other] for other in linked) / len(linked) if linked else place[box]

            layer.sort(key=mean)
        if (crossings := _crossings(layers, neighbours)) < fewest:
            best, fewest = layers, crossings
    return best


def _crossings(layers: list[list[Box]], neighbours: Neighbours) -> int:
    count = 0
    for layer, following in pairwise(layers):
        place = {box: i for i, box in enumerate(following)}
        links = [sorted(place[other] for other in neighbours[box][1]) for box in layer]
        ends = [end for row in links for end in row]
        starts = [i for i, row in enumerate(links) for _ in row]
        count += sum(
            starts[a] < starts[b] and ends[a] > ends[b] for a in range(len(ends)) for b in range(a + 1, len(ends))
        )
    return count


def _place(
    layers: list[list[Box]], neighbours: Neighbours, breadth_of: Callable[[Box], float], spacing: float
) -> dict[Box, float]:
    """Draw every box towards its neighbours, as near as its layer's order and sizes allow."""
    across: dict[Box, float] = {}
    for layer in layers:
        total = sum(breadth_of(box) + spacing for box in layer) - spacing
        edge = -total / 2
        for box in layer:
            across[box] = edge + breadth_of(box) / 2
            edge += breadth_of(box) + spacing
    for sweep in range(2 * _SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = [_pull(box, neighbours[box], across) for box in layer]
            distances = [(breadth_of(a) + breadth_of(b)) / 2 + spacing for a, b in pairwise(layer)]
            across.update(zip(layer, spread(wanted, distances), strict=True))
    return across


def _pull(box: Box, sides: tuple[list[Box], list[Box]], across: dict[Box, float]) -> float:
    """Where a box would like to stand: between its neighbours, and in line with the bends of its own edge."""
    linked = [(across[other], 1.0 if "node" in (box.role, other.role) else 4.0) for side in sides for other in side]
    total = sum(strength for _, strength in linked)
    return sum(place * strength for place, strength in linked) / total if linked else across[box]


def spread(wanted: list[float], distances: list[float]) -> list[float]:
    """The places nearest to the wanted ones, in least squares, that keep their order and their distances.

    >>> spread([0.0, 0.0, 9.0], [2.0, 2.0])
    [-1.0, 1.0, 9.0]
    """
    offsets = [0.0]
    for distance in distances:
        offsets.append(offsets[-1] + distance)
    # Less the offsets, the places must only not descend: neighbours that do are pooled to their mean.
    pools: list[tuple[float, int]] = []
    for place, offset in zip(wanted, offsets, strict=True):
        mean, count = place - offset, 1
        while pools and pools[-1][0] > mean:
            other, others = pools.pop()
            mean, count = (mean * count + other * others) / (count + others), count + others
        pools.append((mean, count))
    means = [mean for mean, count in pools for _ in range(count)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
