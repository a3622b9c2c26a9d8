"""An SVG picture as PNG and as PDF, by the typesetter Typst: it brings its own renderer and needs no other program."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Literal

from nbfnet.errors import MissingExtraError

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
