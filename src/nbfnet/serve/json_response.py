"""JSON responses in ASCII: names with lone surrogates or line ends of their own pass unharmed."""

from __future__ import annotations

from typing import Any

from starlette.responses import JSONResponse

from nbfnet.strict_json import strict_json


class StrictJSON(JSONResponse):
    """What is not a number is null; what is not ASCII is escaped."""

    def __init__(self, content: Any, status_code: int = 200, headers: dict[str, str] | None = None) -> None:
        super().__init__(content, status_code, {"cache-control": "no-store", **(headers or {})})

    def render(self, content: Any) -> bytes:
        """The bytes of a document."""
        return strict_json(content, separators=(",", ":")).encode("ascii")
