"""Refusals: every 4xx that the API gives, as exceptions, and how any error becomes JSON."""

from __future__ import annotations

import math
from typing import Any

from nbfnet.errors import NbfnetError, UnknownNameError
from nbfnet.serve.settings import Limits


class RefusedError(Exception):
    """A request that is not served: its status, a word for programs and a sentence for people."""

    def __init__(self, status: int, kind: str, message: str, *, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.status, self.kind, self.message, self.retry_after = status, kind, message, retry_after


class TooBusyError(RefusedError):
    """Too many requests wait for a worker."""

    def __init__(self, limits: Limits) -> None:
        message = f"{limits.waiting} requests are waiting already: try again in a moment"
        super().__init__(429, "too_busy", message, retry_after=1)


class TookTooLongError(RefusedError):
    """The time of a request is up."""

    def __init__(self, limits: Limits) -> None:
        message = f"this took longer than {limits.seconds:g} seconds: ask for less, or ask the command line"
        super().__init__(408, "took_too_long", message, retry_after=math.ceil(limits.seconds))


class SessionGoneError(RefusedError):
    """A what-if session that the server does not have, or no longer has."""

    def __init__(self) -> None:
        super().__init__(404, "unknown_session", "this what-if session has ended: add the facts again")


def document(kind: str, message: str, **more: Any) -> dict[str, Any]:
    """The JSON of every error."""
    return {"error": {"kind": kind, "message": message, **more}}


def of_error(error: NbfnetError) -> tuple[int, dict[str, Any]]:
    """The status and the JSON of a mistake that the question made."""
    if isinstance(error, UnknownNameError):
        return 404, document("unknown_name", str(error), role=error.role, suggestions=error.suggestions)
    return 422, document("cannot_answer", str(error))
