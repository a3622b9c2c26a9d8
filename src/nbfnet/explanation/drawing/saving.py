"""Explanations as files: the ending of the name says in which format; PNG and PDF are rendered by Typst."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from nbfnet.errors import ExplanationError, MissingExtraError
from nbfnet.explanation.drawing.draw import draw_html, draw_svg
from nbfnet.graph.atomic import replacing
from nbfnet.strict_json import strict_json

if TYPE_CHECKING:
    from nbfnet.explanation.explanation import Explanation


# A page as large as the picture. One pixel of the SVG is 1/96 inch, that is 0.75 points.
_PAGE = """#set page(width: auto, height: auto, margin: 0pt)
#image(bytes(sys.inputs.picture), format: "svg", alt: sys.inputs.alt)
"""
_PIXELS_PER_INCH = 192  # two for each pixel of the SVG: sharp on today's screens, and in print


def check_can_render(what: str) -> None:
    """Whether pictures of a format can be made.

    Raises:
        MissingExtraError: the extra ``pictures`` is not installed.
    """
    if find_spec("typst") is None:
        raise MissingExtraError(f"a picture as {what}", "typst", "pictures")


def render_png(svg: str) -> bytes:
    """The picture as PNG, with two pixels for each one of the SVG."""
    return _render(svg, "png")


def render_pdf(svg: str) -> bytes:
    """The picture as PDF, drawn with lines and letters, on one page of its own size."""
    return _render(svg, "pdf")


def _render(svg: str, form: Literal["png", "pdf"]) -> bytes:
    check_can_render(f".{form}")
    import typst

    inputs = {"picture": svg, "alt": "The paths behind a prediction"}
    rendered: Any = typst.compile(_PAGE.encode(), format=form, ppi=_PIXELS_PER_INCH, sys_inputs=inputs)
    return bytes(rendered)


def _json(explanation: Explanation) -> bytes:
    return (strict_json(explanation.to_dict(), ensure_ascii=False, indent=2) + "\n").encode()


_FORMATS: dict[str, Callable[[Explanation], bytes]] = {
    ".svg": lambda explanation: draw_svg(explanation).encode(),
    ".html": lambda explanation: draw_html(explanation).encode(),
    ".png": lambda explanation: render_png(draw_svg(explanation)),
    ".pdf": lambda explanation: render_pdf(draw_svg(explanation)),
    ".json": _json,
}
PICTURES = (".svg", ".html", ".png", ".pdf")


def check_format(file: Path, allowed: tuple[str, ...] = tuple(_FORMATS)) -> str:
    """The format that a file's ending stands for, if it can be written here; before any work is done.

    Raises:
        ExplanationError: the ending is not that of a format.
        MissingExtraError: it needs the extra ``pictures``, which is not installed.
    """
    ending = file.suffix.lower()
    if ending not in allowed:
        known = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
        got = f"{ending} is not a format that can be written" if ending else "the name has no ending"
        raise ExplanationError(f"{file}: {got}; give the file a name that ends in {known}")
    if ending in (".png", ".pdf"):
        check_can_render(ending)
    return ending


def save_explanation(explanation: Explanation, file: Path, form: str | None = None) -> None:
    """Write an explanation in some format, else in the one of the file's ending; the file appears whole."""
    content = _FORMATS[form or check_format(file)](explanation)
    with replacing(file) as partial:
        partial.write_bytes(content)
