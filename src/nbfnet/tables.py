"""Results as tables for pandas, which is not needed otherwise."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
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
