"""Results as tables: for pandas, which is not needed otherwise, and as HTML, which notebooks show."""

from __future__ import annotations

import html
import importlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from nbfnet.errors import MissingExtraError


def data_frame(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> Any:
    """A pandas DataFrame of some rows.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        raise MissingExtraError("a table for pandas", "pandas") from None
    return pandas.DataFrame(list(rows), columns=columns)


def html_table(caption: str, titles: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """An HTML table; text is set to the left, numbers, given as such or as text such as '12.5%', to the right."""

    def cell(tag: str, value: object) -> str:
        text = f"{value:.4g}" if isinstance(value, float) else "" if value is None else str(value)
        side = "right" if text[:1] in "+-0123456789" and text else "left"
        return f'<{tag} style="text-align: {side}">{clean(text)}</{tag}>'

    head = "".join(cell("th", title) for title in titles)
    body = "".join(f"<tr>{''.join(cell('td', value) for value in row)}</tr>" for row in rows)
    title = f"<caption>{clean(caption)}</caption>" if caption else ""
    return f"<table>{title}<tr>{head}</tr>{body}</table>"


def clean(text: str) -> str:
    """Text for HTML or XML: escaped, and without the control characters that XML cannot hold."""
    return html.escape("".join(c if c.isprintable() else " " for c in text))
