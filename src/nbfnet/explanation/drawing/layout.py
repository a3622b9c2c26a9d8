"""Where the boxes of a layered graph stand: few crossings, straight edges, nothing on top of anything else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from nbfnet.explanation.drawing.layered_graph import Box, LayeredGraph, Neighbours

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
