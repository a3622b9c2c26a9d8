"""What a Python user may state when a source is read: the names of the options, and the types of their values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import numpy as np

from nbfnet.errors import GraphFormatError

_EXPECTED = {
    "name": "text",
    "delimiter": "one character",
    "header": "True or False",
    "columns": "a list of roles, such as ['head', 'relation', 'tail']",
    "skip_bad_lines": "True or False",
    "encoding": "the name of an encoding, such as 'latin-1'",
    "directed": "True or False",
    "labels": "a file of name TAB label, or a dictionary",
    "types": "a file of entity TAB type, or a dictionary",
}


def check_options(options: Mapping[str, object]) -> None:
    """Refuse options that do not exist, and values that cannot be meant; None is an option that is not stated.

    Raises:
        GraphFormatError: names the option, its value and what is expected.
    """
    for option, value in options.items():
        if option not in _EXPECTED:
            raise GraphFormatError(f"there is no option {option!r}", remedy=f"choose from {', '.join(_EXPECTED)}")
        if value is not None and not _fits(option, value):
            what = f"{option}={value!r:.100} is a {type(value).__name__}, not {_EXPECTED[option]}"
            raise GraphFormatError(what, remedy=f"give {_EXPECTED[option]}")


def check_path(source: object, remedy: str) -> None:
    """Refuse what cannot be a path."""
    if not isinstance(source, str | os.PathLike):
        raise GraphFormatError(f"{source!r:.100} is a {type(source).__name__}, not a path", remedy=remedy)


def _fits(option: str, value: object) -> bool:
    if option in ("header", "skip_bad_lines", "directed"):
        return isinstance(value, bool | np.bool_)
    if option in ("labels", "types"):
        return isinstance(value, str | os.PathLike | Mapping)
    if option == "columns":
        return isinstance(value, Iterable) and all(isinstance(role, str) for role in value)
    return isinstance(value, str)
