"""Explanation: a prediction, how likely the network finds it, and the paths that made it think so."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from nbfnet.explanation.drawing import draw_svg
from nbfnet.explanation.path import ExplainedPath, PathEdge


@dataclass(frozen=True)
class Explanation:
    """The most important paths of a prediction (head, relation, tail): first the one whose deletion costs most.

    A query that asks for the head is an inverse edge: its paths run from the tail to the head.
    """

    query: PathEdge
    probability: float
    paths: tuple[ExplainedPath, ...]

    def document(self) -> dict[str, Any]:
        """The explanation as JSON."""
        paths = [path.document() for path in self.paths]
        return {"query": self.query.document(), "probability": self.probability, "paths": paths}

    def __str__(self) -> str:
        lines = [f"{self.query}: probability {self.probability:.3g}"]
        if not self.paths:
            lines.append(f"  no path leads from {self.query.start} to {self.query.end} in so few steps")
        lines += [f"  {path.effect}   {path}" for path in self.paths]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{path.deletion_drop:+.3f}</td><td>{path.weight:+.3f}</td>"
            f'<td style="text-align: left">{escape(str(path))}</td></tr>'
            for path in self.paths
        )
        head = '<tr><th>deletion drop</th><th>weight</th><th style="text-align: left">path</th></tr>'
        return f"<div>{draw_svg(self)}<table>{head}{rows}</table></div>"
