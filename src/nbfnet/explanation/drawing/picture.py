"""The picture of an explanation as SVG: boxes at their places, edges through their bends, arrows along the facts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from nbfnet.explanation.drawing.layout import Box, DrawnEdge, LayeredGraph, lay_out
from nbfnet.explanation.drawing.text_fitting import fit_lines, text_width
from nbfnet.explanation.path import ExplainedPath, PathEdge, change_of_logit
from nbfnet.tables import clean

NODE_SIZE, LABEL_SIZE = 13, 11  # font sizes, as in picture.css
MARGIN, GAP, SPACING = 16.0, 27.0, 9.0
THINNEST, THICKEST, ARROW = 1.2, 4.0, 10.0
PORT = 11.0  # the room that an edge takes at the side of a node

Point = tuple[float, float]


class Picture:
    """The layered graph of some paths, from left to right, or from top to bottom on a narrow screen."""

    def __init__(self, query: PathEdge, paths: Sequence[ExplainedPath], *, upright: bool) -> None:
        self.graph = LayeredGraph.of(query, paths)
        self.upright = upright
        self.greatest = max(abs(edge.drop) for edge in self.graph.edges) or 1.0
        self.lines = {box: self._lines(box) for layer in self.graph.layers for box in layer}
        self.layout = lay_out(self.graph, self._length, self._breadth, gap=GAP, spacing=SPACING)

    @property
    def size(self) -> Point:
        """Width and height."""
        return self._point(self.layout.along[-1][1], self.layout.breadth)

    @property
    def has_against(self) -> bool:
        """Whether an edge is dashed."""
        return any(_against(edge) for edge in self.graph.edges)

    def elements(self) -> list[str]:
        """The edges, then the nodes."""
        edges = [self._draw_edge(edge) for edge in self.graph.edges]
        nodes = [self._draw_node(box) for box in self.lines if box.role not in ("label", "bend")]
        return edges + nodes

    def _lines(self, box: Box) -> list[str]:
        if box.role == "bend":
            return []
        if box.role == "label":
            return fit_lines(box.text, LABEL_SIZE, 88 if self.upright else 94)
        return fit_lines(box.text, NODE_SIZE, 104 if self.upright else 112)

    def _width(self, box: Box) -> float:
        size = LABEL_SIZE if box.role == "label" else NODE_SIZE
        padding = 8 if box.role == "label" else 20
        return max((text_width(line, size) for line in self.lines[box]), default=0) + padding if box.text else 0

    def _height(self, box: Box) -> float:
        line = 14 if box.role == "label" else 16
        padding = 4 if box.role == "label" else 14
        return line * len(self.lines[box]) + padding if box.text else 0

    def _length(self, box: Box) -> float:
        return self._height(box) if self.upright else self._width(box)

    def _breadth(self, box: Box) -> float:
        """Across the layers: as much as the text needs, and as the ports of all edges need."""
        if box.role == "bend":
            return PORT
        of_text = self._width(box) if self.upright else self._height(box)
        ports = max(len(side) for side in self.graph.neighbours[box]) if box.role != "label" else 0
        return max(of_text, ports * PORT + 6)

    def _point(self, along: float, across: float) -> Point:
        return (across, along) if self.upright else (along, across)

    def _extent(self, box: Box) -> tuple[float, float]:
        """Where a box begins and ends along the layers: nodes in the middle of theirs, all else over the whole."""
        begin, end = self.layout.along[box.layer]
        if box.role in ("label", "bend"):
            return begin, end
        middle, length = (begin + end) / 2, self._length(box)
        return middle - length / 2, middle + length / 2

    def _port(self, box: Box, other: Box, side: int) -> float:
        """Where an edge leaves or enters a box, across the layers: ports are in the order of the boxes they lead to."""
        middle = self.layout.across[box]
        if box.role in ("label", "bend"):
            return middle
        order = sorted(self.graph.neighbours[box][side], key=lambda linked: self.layout.across[linked])
        return middle + (order.index(other) - (len(order) - 1) / 2) * PORT

    def _draw_edge(self, edge: DrawnEdge) -> str:
        label = edge.label
        kind = "edge against" if _against(edge) else "edge"
        which = "its path is" if len(edge.paths) == 1 else "a path over it is"
        change = f"{change_of_logit(edge.drop)} if {which} deleted"
        title = f"{edge.edge} ({change}; first-order importance {edge.importance:+.3g})"
        width = THINNEST + (THICKEST - THINNEST) * abs(edge.drop) / self.greatest
        arrow_at = (0 if edge.forward == edge.edge.inverse else -1) if edge.edge.directed else None
        return (
            f'<g class="{kind}" data-paths="{_numbers(edge.paths)}"><title>{clean(title)}</title>'
            f'<path d="{self._route(edge.route, arrow_at)}" stroke-width="{width:.1f}"/>'
            f"{'' if arrow_at is None else self._arrow(edge.route, arrow_at)}"
            f"{self._draw_box(label, radius=3)}{self._draw_text(label, LABEL_SIZE, 14)}</g>"
        )

    def _route(self, route: list[Box], arrow_at: int | None) -> str:
        """Straight through every layer, curved between the layers; the line ends inside its arrow."""
        along, across = self._extent(route[0])[1], self._port(route[0], route[1], 1)
        along += ARROW / 2 if arrow_at == 0 else 0
        commands = ["M{:.1f} {:.1f}".format(*self._point(along, across))]
        for before, box in pairwise(route):
            left, right = self.layout.along[before.layer][1], self.layout.along[box.layer][0]
            commands.append("L{:.1f} {:.1f}".format(*self._point(left, across)))
            aim = self._port(box, before, 0)
            middle = (left + right) / 2
            curve = self._point(middle, across), self._point(middle, aim), self._point(right, aim)
            commands.append("C" + " ".join(f"{x:.1f} {y:.1f}" for x, y in curve))
            across = aim
        end = self._extent(route[-1])[0] - (ARROW / 2 if arrow_at == -1 else 0)
        commands.append("L{:.1f} {:.1f}".format(*self._point(end, across)))
        return "".join(commands)

    def _arrow(self, route: list[Box], arrow_at: int) -> str:
        if arrow_at == -1:
            along, across, back = self._extent(route[-1])[0], self._port(route[-1], route[-2], 0), -ARROW
        else:
            along, across, back = self._extent(route[0])[1], self._port(route[0], route[1], 1), ARROW
        corners = (along, across), (along + back, across - ARROW / 2), (along + back, across + ARROW / 2)
        points = " ".join("{:.1f},{:.1f}".format(*self._point(*corner)) for corner in corners)
        return f'<polygon points="{points}"/>'

    def _draw_node(self, box: Box) -> str:
        kind = "node" if box.role == "node" else f"node {box.role}"
        return (
            f'<g class="{kind}" data-paths="{_numbers(box.paths)}"><title>{clean(box.text)}</title>'
            f"{self._draw_box(box, radius=7)}{self._draw_text(box, NODE_SIZE, 16)}</g>"
        )

    def _middle(self, box: Box) -> Point:
        begin, end = self.layout.along[box.layer]
        return self._point((begin + end) / 2, self.layout.across[box])

    def _draw_box(self, box: Box, *, radius: float) -> str:
        x, y = self._middle(box)
        width, height = self._point(self._length(box), self._breadth(box))
        if box.role == "label":
            width, height = self._width(box), self._height(box)
        return (
            f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height:.1f}" '
            f'rx="{radius}"/>'
        )

    def _draw_text(self, box: Box, size: float, line_height: float) -> str:
        x, y = self._middle(box)
        lines = self.lines[box]
        top = y - (len(lines) - 1) * line_height / 2 + size * 0.35
        return "".join(
            f'<text x="{x:.1f}" y="{top + i * line_height:.1f}">{clean(line)}</text>' for i, line in enumerate(lines)
        )


def _against(edge: DrawnEdge) -> bool:
    """Whether deleting any path over the edge raises the score, by so much that the list shows it."""
    return round(edge.drop, 3) < 0


def _numbers(paths: set[int]) -> str:
    return " ".join(map(str, sorted(paths)))
