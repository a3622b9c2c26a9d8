"""JSON that every program can read: what is not a number is null, never a bare NaN."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any


def strict_json(document: object, **options: Any) -> str:
    """The text of a document; NaN and infinities, which JSON does not have, become null.

    >>> strict_json({"mrr": float("nan"), "ranks": [1.0, float("inf")]})
    '{"mrr": null, "ranks": [1.0, null]}'
    """
    return json.dumps(_finite(document), allow_nan=False, **options)


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_finite(item) for item in value]
    return value
