"""Help pages and completions: complete, the same by every way to ask, and made without PyTorch."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nbfnet.cli import COMMANDS

PAGES = [
    [],
    *([name] for name in COMMANDS),
    *(["data", name] for name in ("list", "info", "check", "split", "convert")),
]


def imports_of(*arguments: str, **environment: str) -> tuple[str, str]:
    """What a process prints, and the log of all that it imports."""
    command = [sys.executable, "-X", "importtime", "-m", "nbfnet", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=True)
    return ended.stdout, ended.stderr


@pytest.mark.parametrize("page", PAGES, ids=" ".join)
def test_h_is_help(nbfnet: Callable[..., Any], page: list[str]) -> None:
    short, long = nbfnet(*page, "-h"), nbfnet(*page, "--help")
    assert (short.code, short.err) == (long.code, long.err) == (0, "")
    assert short.out == long.out
    assert "-h, --help" in short.out
    assert "-q, --quiet" in short.out


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_made_without_pytorch_is_the_same(nbfnet: Callable[..., Any], nowhere: Path, name: str) -> None:
    """The test's own process has PyTorch."""
    out, log = imports_of(name, "--help")
    assert out == nbfnet(name, "--help").out
    assert "torch._C" not in log


def test_the_list_of_commands_says_what_each_page_says(nbfnet: Callable[..., Any], nowhere: Path) -> None:
    listed, log = imports_of("--help")
    assert not any(module in log for module in ("torch._C", "numpy", "duckdb"))
    width = max(map(len, COMMANDS)) + 2
    for name, text in COMMANDS.items():
        assert f"  {name:<{width}}{text}\n" in listed
        page = " ".join(nbfnet(name, "--help").out.split("\n\n")[1].split())
        assert page == text, "the first paragraph of a page is what the list says"


def test_help_as_the_value_of_an_option_is_a_value(nbfnet: Callable[..., Any], tmp_path: Path) -> None:
    nbfnet("info", tmp_path / "none", "--json").assert_refused("none")
    nbfnet("predict", tmp_path / "none", "--head", "-h").assert_refused("none")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_learns_to_complete(nowhere: Path, shell: str) -> None:
    """Which shell it is, typer finds out; a test says so."""
    script, _ = imports_of("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert f"_NBFNET_COMPLETE=complete_{shell}" in script


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        (["ev"], ["evaluate"]),
        (["data", ""], ["list", "info", "check", "split", "convert"]),
        (["train", "--ep"], ["--epochs"]),
        (["train", "--q"], ["--quiet"]),
    ],
)
def test_what_a_shell_completes(nowhere: Path, words: list[str], completed: list[str]) -> None:
    asked = {"COMP_WORDS": " ".join(["nbfnet", *words]), "COMP_CWORD": str(len(words))}
    out, log = imports_of(_NBFNET_COMPLETE="complete_bash", **asked)
    assert out.split() == completed
    assert "torch._C" not in log
