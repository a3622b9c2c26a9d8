"""--quiet, before or after the command: no notes on standard error; answers and errors stay."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

QUIET = [("before", "--quiet"), ("before", "-q"), ("after", "--quiet"), ("after", "-q"), ("between", "-q")]


def place(where: str, flag: str, *arguments: object) -> list[object]:
    group, command, *rest = arguments
    return {
        "before": [flag, *arguments],
        "between": [group, flag, command, *rest],
        "after": [*arguments, flag],
    }[where]


@pytest.mark.parametrize(("where", "flag"), QUIET)
def test_notes_are_silent_and_answers_stay(
    nbfnet: Callable[..., Any], inductive: Path, tmp_path: Path, where: str, flag: str
) -> None:
    loud = nbfnet("data", "split", inductive, "-o", tmp_path / "loud")
    quiet = nbfnet(*place(where, flag, "data", "split", inductive, "-o", tmp_path / "quiet"))
    assert (loud.code, quiet.code) == (0, 0)
    assert "its own split" in loud.err
    assert quiet.err == ""
    assert quiet.out == loud.out.replace("loud", "quiet")
    again = nbfnet("data", "split", inductive, "-o", tmp_path / "again")
    assert again.err == loud.err, "the next command in the same process talks again"


@pytest.mark.parametrize(("where", "flag"), QUIET)
def test_errors_stay(nbfnet: Callable[..., Any], tmp_path: Path, where: str, flag: str) -> None:
    nbfnet(*place(where, flag, "data", "info", tmp_path / "none.tsv")).assert_refused("none.tsv")
