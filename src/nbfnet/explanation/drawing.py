"""Drawings of an explanation: an SVG picture, and a page of its own that needs nothing else."""

from __future__ import annotations

from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING

from nbfnet.explanation.path import ExplainedPath, PathEdge
from nbfnet.explanation.picture import MARGIN, Picture, clean
from nbfnet.explanation.text_fitting import fit_lines, text_width

if TYPE_CHECKING:
    from nbfnet.explanation.explanation import Explanation

_HEADING = 48.0  # the room that the two lines above the picture take


def draw_svg(explanation: Explanation) -> str:
    """The paths as a layered graph, the source on the left and the answer on the right, as an SVG document.

    A node that several paths share is drawn once. The wider an edge, the more important; a dashed edge speaks against
    the prediction. Arrows point as the facts do. Long names are shortened; hovering shows them in full. Follows the
    reader's light or dark scheme.
    """
    return _svg(explanation, upright=False, heading=True)


def draw_html(explanation: Explanation) -> str:
    """A page with the picture and the list of paths: pointing at a path, or tapping it, shows it in the picture."""
    query = explanation.query
    return Template(_resource("page.html")).substitute(
        title=clean(str(explanation.query)),
        query=clean(f"{query.start} {_arrow(query)} {query.end}"),
        probability=f"{explanation.probability:.3g}",
        style=_resource("picture.css"),
        wide=_svg(explanation, upright=False, heading=False),
        tall=_svg(explanation, upright=True, heading=False),
        paths="".join(_item(number, path) for number, path in enumerate(explanation.paths)),
    )


def _svg(explanation: Explanation, *, upright: bool, heading: bool) -> str:
    elements, width, height = [], 0.0, 20.0
    if explanation.paths:
        picture = Picture(explanation.query, explanation.paths, upright=upright)
        elements, (width, height) = picture.elements(), picture.size
    else:
        text = _no_path(explanation)
        elements, width = [f'<text class="remark" x="0" y="14">{clean(text)}</text>'], text_width(text, 12)
    title = fit_lines(str(explanation.query), 17, max(width, 560), lines=1)[0]
    above = _HEADING if heading else 0.0
    if heading:
        remark = f"probability {explanation.probability:.3g}"
        width = max(width, text_width(title, 17), text_width(remark, 12))
    # A page scrolls rather than shrink letters too far; a picture of its own fits where it is put.
    smallest = 0.0 if heading else 1.0 if upright else 0.72
    full_width, full_height = width + 2 * MARGIN, height + above + 2 * MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="nbfnet" role="img" width="{full_width:.0f}" '
        f'height="{full_height:.0f}" viewBox="0 0 {full_width:.0f} {full_height:.0f}" '
        f'style="max-width: 100%; min-width: {smallest * full_width:.0f}px; height: auto">',
        f"<style>{_resource('picture.css')}</style>" if heading else "",
        f'<rect class="paper" width="{full_width:.0f}" height="{full_height:.0f}"/>',
    ]
    if heading:
        parts.append(
            f'<g><title>{clean(str(explanation.query))}</title><text class="heading" x="{MARGIN:.0f}" '
            f'y="{MARGIN + 16:.0f}">{clean(title)}</text></g>'
            f'<text class="remark" x="{MARGIN:.0f}" y="{MARGIN + 36:.0f}">{clean(remark)}</text>'
        )
    parts.append(f'<g transform="translate({MARGIN:.0f} {MARGIN + above:.0f})">')
    return "".join([*parts, *elements, "</g></svg>"])


def _item(number: int, path: ExplainedPath) -> str:
    """A path of the page's list: its figures, and its nodes and relations in turn."""
    steps = "".join(
        f'<span class="relation">{clean(_arrow(edge))}</span> <span class="entity">{clean(edge.end)}</span> '
        for edge in path.edges
    )
    drop, weight = f"{-path.deletion_drop:+.3f} if deleted", f"weight {path.weight:+.3f}"
    return (
        f'<li><button type="button" data-path="{number}" aria-pressed="false"><span class="figures">'
        f'<b title="change of the logit when the facts of the path are deleted">{drop}</b> '
        f'<span title="importance of the path: the sum of its edges\' derivatives">{weight}</span></span>'
        f'<span class="steps"><span class="entity">{clean(path.edges[0].start)}</span> {steps}</span></button></li>'
    )


def _arrow(edge: PathEdge) -> str:
    if not edge.directed:
        return f"—\u00a0{edge.label}\u00a0—"
    return f"←\u00a0{edge.label}\u00a0—" if edge.inverse else f"—\u00a0{edge.label}\u00a0→"


def _no_path(explanation: Explanation) -> str:
    return f"No path leads from {explanation.query.start} to {explanation.query.end} in so few steps."


def _resource(name: str) -> str:
    return files("nbfnet.explanation").joinpath(name).read_text(encoding="utf-8")
