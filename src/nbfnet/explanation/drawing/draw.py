"""Drawings of an explanation: an SVG picture, and a page of its own that needs nothing else."""

from __future__ import annotations

from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from nbfnet.explanation.drawing.picture import MARGIN, Picture
from nbfnet.explanation.drawing.text_fitting import fit_lines, text_width
from nbfnet.explanation.path import ExplainedPath, PathEdge, change_of_logit
from nbfnet.tables import clean

if TYPE_CHECKING:
    from nbfnet.explanation.explanation import Explanation

_HEADING = 64.0  # the room that the three lines above the picture take
_LEGEND_LINE, _SAMPLE = 18.0, 34.0  # the height of a line below it, and the room for the line drawn in front
_WIDER = "The wider an edge, the further the score falls when a path over it is deleted."
_DASHED = "Dashed: the score rises when the path is deleted. It speaks against the prediction."
_ARROWS = "Arrows point as the facts do."


def draw_svg(explanation: Explanation) -> str:
    """The paths as a layered graph, the source on the left and the answer on the right, as an SVG document.

    A node that several paths share is drawn once. The wider an edge, the further the score falls when a path over it
    is deleted; an edge is dashed if deleting any path over it raises the score. Arrows point as the facts do. Long
    names are shortened; hovering shows them in full. Follows the reader's light or dark scheme.
    """
    return _svg(explanation, upright=False, heading=True)


def draw_html(explanation: Explanation) -> str:
    """A page with the picture and the list of paths: pointing at a path, or tapping it, shows it in the picture."""
    return Template(_resource("page.html")).substitute(
        title=clean(explanation.fact),
        query=_fact(explanation),
        probability=f"{explanation.probability:.1%}",
        question=clean(explanation.question),
        style=_resource("picture.css"),
        wide=_svg(explanation, upright=False, heading=False),
        tall=_svg(explanation, upright=True, heading=False),
        legend=" ".join(map(clean, _legend(explanation))),
        paths="".join(_item(number, path) for number, path in enumerate(explanation.paths)),
        together=clean(explanation.together),
    )


def _svg(explanation: Explanation, *, upright: bool, heading: bool) -> str:
    elements, width, height = [], 0.0, 20.0
    if explanation.paths:
        picture = Picture(explanation.query, explanation.paths, upright=upright)
        elements, (width, height) = picture.elements(), picture.size
    else:
        text = _no_path(explanation)
        elements, width = [f'<text class="remark" x="0" y="14">{clean(text)}</text>'], text_width(text, 12)
    above, below, remarks = 0.0, 0.0, list[str]()
    if heading:
        lines = [f"probability {explanation.probability:.1%}", f"asked: {explanation.question}"]
        legend = _legend(explanation)
        longest = max(text_width(line, 12) for line in [lines[0], *legend])
        width = max(width, 400.0, longest + _SAMPLE)
        title = fit_lines(explanation.fact, 17, width, lines=1)[0]
        lines[1] = fit_lines(lines[1], 12, width, lines=1)[0]
        above, below = _HEADING, 10 + _LEGEND_LINE * len(legend) if legend else 0.0
        remarks = [_heading(explanation.fact, title, lines), _drawn_legend(legend, above + height)]
    # A page scrolls rather than shrink letters too far; a picture of its own fits where it is put.
    smallest = 0.0 if heading else 1.0 if upright else 0.72
    full_width, full_height = width + 2 * MARGIN, height + above + below + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="nbfnet" role="img" width="{full_width:.0f}" '
        f'height="{full_height:.0f}" viewBox="0 0 {full_width:.0f} {full_height:.0f}" '
        f'style="max-width: 100%; min-width: {smallest * full_width:.0f}px; height: auto">',
        f"<style>{_resource('picture.css')}</style>" if heading else "",
        f'<rect class="paper" width="{full_width:.0f}" height="{full_height:.0f}"/>',
        *remarks,
        f'<g transform="translate({MARGIN:.0f} {MARGIN + above:.0f})">',
    ]
    return "".join([*parts, *elements, "</g></svg>"])


def _heading(fact: str, title: str, lines: list[str]) -> str:
    remarks = "".join(
        f'<text class="remark" x="{MARGIN:.0f}" y="{MARGIN + 34 + 16 * i:.0f}">{clean(line)}</text>'
        for i, line in enumerate(lines)
    )
    return (
        f'<g><title>{clean(fact)}</title><text class="heading" x="{MARGIN:.0f}" y="{MARGIN + 16:.0f}">'
        f"{clean(title)}</text></g>{remarks}"
    )


def _drawn_legend(legend: list[str], top: float) -> str:
    """The lines below the picture, those about edges with a sample in front."""
    drawn = []
    for i, line in enumerate(legend):
        y = MARGIN + top + 22 + _LEGEND_LINE * i
        kind, width = ("legend against", 2.0) if line == _DASHED else ("legend", 4.0)
        sample = f'<path d="M{MARGIN:.0f} {y - 4:.0f}h{_SAMPLE - 8:.0f}" stroke-width="{width}"/>'
        x = MARGIN if line == _ARROWS else MARGIN + _SAMPLE
        drawn.append(
            f'<g class="{kind}">{"" if line == _ARROWS else sample}'
            f'<text class="remark" x="{x:.0f}" y="{y:.0f}">{clean(line)}</text></g>'
        )
    return "".join(drawn)


def _legend(explanation: Explanation) -> list[str]:
    """What the lines of the picture mean, as far as it has such lines."""
    if not explanation.paths:
        return []
    against = Picture(explanation.query, explanation.paths, upright=False).has_against
    return [_WIDER, *([_DASHED] if against else []), *([_ARROWS] if explanation.query.directed else [])]


def _fact(explanation: Explanation) -> str:
    """The prediction from head to tail, with an arrow that does not break."""
    query = explanation.query
    head, tail = (query.end, query.start) if query.inverse else (query.start, query.end)
    arrow = "→" if query.directed else "—"
    return clean(head) + clean(f" —\u00a0{query.label}\u00a0{arrow} ") + clean(tail)


def _item(number: int, path: ExplainedPath) -> str:
    """A path of the page's list: its figures, and its nodes and relations in turn."""
    steps = "".join(
        f'<span class="relation">{clean(_arrow(edge))}</span> <span class="entity">{clean(edge.end)}</span> '
        for edge in path.edges
    )
    drop, weight = f"{change_of_logit(path.deletion_drop)} if deleted", f"weight {path.weight:+.3f}"
    further = f"{change_of_logit(path.added_drop)} after those above" if path.overlaps else ""
    return (
        f'<li><button type="button" data-path="{number}" aria-pressed="false"><span class="figures">'
        f'<b title="how the score changes when the facts of the path are deleted">{drop}</b> '
        f'<span class="further" title="how much further, once the paths above are deleted">{further}</span> '
        f'<span title="first-order importance of the path: the sum of its edges\' derivatives">{weight}</span></span>'
        f'<span class="steps"><span class="entity">{clean(path.edges[0].start)}</span> {steps}</span></button></li>'
    )


def _arrow(edge: PathEdge) -> str:
    if not edge.directed:
        return f"—\u00a0{edge.label}\u00a0—"
    return f"←\u00a0{edge.label}\u00a0—" if edge.inverse else f"—\u00a0{edge.label}\u00a0→"


def _no_path(explanation: Explanation) -> str:
    return f"No path leads from {explanation.query.start} to {explanation.query.end} in so few steps."


def _resource(name: str) -> str:
    return files("nbfnet.explanation.drawing").joinpath(name).read_text(encoding="utf-8")
