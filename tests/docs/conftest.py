"""Pages that are run: their command lines and their Python, from top to bottom, in a folder of the test's own.

- A fenced block ``console`` is run. ``$ nbfnet ...`` runs in this process, ``$ cat FILE`` and ``$ head -n N FILE`` show
  a file. What is shown must come out again; a line ``...`` stands for any lines.
- A fenced block ``python`` is run too: as a doctest if it has prompts, else as it stands.
- A fenced block ``sh`` takes too long: its ``nbfnet`` commands, also under ``torchrun``, are only parsed.

With NBFNET_REWRITE_DOCS=1 what is shown is replaced by what came out, where no ``...`` stands.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed.run import get_args_parser
from typer.main import get_command

from nbfnet.cli import app, main
from nbfnet.native import native
from nbfnet.operators.registry import aggregates, messages
from nbfnet.progress import show_progress

REWRITE = os.environ.get("NBFNET_REWRITE_DOCS") == "1"
ANY_LINES = "..."
# What these print depends on a training, whose last digits are the machine's: their numbers are not compared.
TRAINED = ("train", "pretrain", "evaluate", "predict", "explain", "rules", "info", "demo", "reproduce")
_NUMBER = re.compile(r"(?<![\w-])[-+]?\d+(,\d{3})*(\.\d+)?(e[-+]?\d+)?%?(?![\w-])")
_FENCE = re.compile(r"^```(\w*)$")


@dataclass
class Block:
    """A fenced block: its language, its lines, and where it begins."""

    language: str
    first: int  # the number of its first line in the page, from 0
    lines: list[str] = field(default_factory=list)


@dataclass
class Command:
    """A command line and what is shown of its output."""

    arguments: list[str]
    first: int  # the number of the first line of output, from 0
    shown: list[str]

    @property
    def is_trained(self) -> bool:
        """Whether the output depends on a training."""
        program, *arguments = self.arguments
        return arguments[0] in TRAINED if program == "nbfnet" else arguments[-1].endswith(".csv")


def blocks_of(text: str) -> list[Block]:
    blocks: list[Block] = []
    within: Block | None = None
    for number, line in enumerate(text.splitlines()):
        fence = _FENCE.match(line)
        if within is None and fence:
            within = Block(fence[1], number + 1)
        elif within is not None and fence:
            blocks.append(within)
            within = None
        elif within is not None:
            within.lines.append(line)
    assert within is None, "a fenced block does not end"
    return blocks


def commands_of(block: Block, prompt: str) -> Iterator[Command]:
    lines, i = block.lines, 0
    while i < len(lines):
        assert lines[i].startswith(prompt), f"line {block.first + i + 1}: output without a command"
        text = lines[i].removeprefix(prompt)
        while text.endswith("\\"):
            i += 1
            text = text[:-1] + lines[i].strip()
        i += 1
        shown = list(takewhile(lambda line: prompt and not line.startswith(prompt), lines[i:]))
        if arguments := shlex.split(text, comments=True):
            yield Command(arguments, block.first + i, shown)
        i += len(shown)


class Page:
    """A page of the documentation, run in a folder."""

    def __init__(self, path: Path, run: Callable[[list[str]], tuple[int, str]]) -> None:
        self.path, self._run = path, run
        self.text = path.read_text(encoding="utf-8")
        self.blocks = blocks_of(self.text)
        self._names: dict[str, Any] = {"__name__": "page"}
        self._replaced: list[tuple[Command, list[str]]] = []

    def run(self) -> None:
        for block in self.blocks:
            if block.language == "console":
                for command in commands_of(block, "$ "):
                    self._check(command)
            elif block.language == "python":
                self._run_python(block)
            elif block.language == "sh":
                for command in commands_of(block, ""):
                    parse(command.arguments)
        if self._replaced:
            self._rewrite()

    def _check(self, command: Command) -> None:
        where = f"{self.path.name}, line {command.first}: {shlex.join(command.arguments)}"
        program, *arguments = command.arguments
        if program == "nbfnet":
            code, output = self._run(arguments)
            refused = bool(command.shown) and command.shown[0].startswith("Error: ")
            assert code == (2 if refused else 0), f"{where}\nexit code {code}\n{output}"
        else:
            output = _show_file(program, arguments)
        got = [line.rstrip() for line in output.rstrip("\n").split("\n")]
        if REWRITE and command.shown and ANY_LINES not in command.shown:
            self._replaced.append((command, got))
        elif command.shown:
            shown = [line.rstrip() for line in "\n".join(command.shown).rstrip().split("\n")]
            if command.is_trained:
                got, shown = _without_numbers(got), _without_numbers(shown)
            # Rules are in the order of numbers that may be close to each other; a page that cuts them shows the first.
            if command.arguments[1] == "rules" and ANY_LINES not in shown:
                got, shown = sorted(got), sorted(shown)
            assert _fits(got, shown), "\n".join([where, "--- shown", *shown, "--- came out", *got])

    def _run_python(self, block: Block) -> None:
        source = "\n".join(block.lines) + "\n"
        if ">>>" not in source:
            exec(compile("\n" * block.first + source, str(self.path), "exec"), self._names)
            return
        test = doctest.DocTestParser().get_doctest(source, self._names, self.path.name, str(self.path), block.first)
        report: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        failed = runner.run(test, out=report.append, clear_globs=False).failed
        assert failed == 0, "".join(report)
        self._names.update(test.globs)

    def _rewrite(self) -> None:
        lines = self.text.splitlines()
        for command, got in reversed(self._replaced):
            kept = len(command.shown) - len("\n".join(command.shown).rstrip().split("\n"))  # empty lines behind it
            lines[command.first : command.first + len(command.shown) - kept] = got
        self.path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _show_file(program: str, arguments: list[str]) -> str:
    file = Path(arguments[-1])
    if program == "head":
        assert arguments[0] == "-n"
        return "\n".join(file.read_text(encoding="utf-8").splitlines()[: int(arguments[1])])
    assert program == "cat", f"no test knows how to run {program!r}"
    return file.read_text(encoding="utf-8")


def parse(arguments: list[str]) -> None:
    """The parts of ``a && b`` that are commands of this package, maybe under torchrun, have known names and options."""
    for is_and, words in groupby(arguments, "&&".__eq__):
        program, *rest = words
        if program == "torchrun":
            launch = get_args_parser().parse_args(rest)
            assert launch.module, "torchrun without -m"
            program, rest = launch.training_script, launch.training_script_args
        if program == "nbfnet" and not is_and:
            command: Any = get_command(app)
            context = command.make_context("nbfnet", rest)
            while hasattr(command, "resolve_command"):  # a group, of all commands or of those of ``data``
                name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
                context = command.make_context(name, rest, parent=context)


def _without_numbers(lines: list[str]) -> list[str]:
    """Numbers become #; how far columns are apart depends on the numbers, too."""
    return [re.sub(r"\s+", " ", _NUMBER.sub("#", line)).strip() for line in lines]


def _fits(got: list[str], shown: list[str]) -> bool:
    parts = "\n".join(shown).split(ANY_LINES) if ANY_LINES in shown else ["\n".join(shown)]
    pattern = "".join(".*".join(re.escape(part) for part in parts))
    return re.fullmatch(pattern, "\n".join(got), re.DOTALL) is not None


@pytest.fixture(scope="module", autouse=True)
def any_machine() -> Iterator[None]:
    """One thread and the oldest instructions: a network of forty epochs may learn another second path with others."""
    threads, chosen = torch.get_num_threads(), native and native.instruction_set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")  # for what a test starts
        patch.setenv("NBFNET_INSTRUCTION_SET", "baseline")
        torch.set_num_threads(1)
        if native is not None:
            native.choose_instruction_set("baseline")
        yield
    torch.set_num_threads(threads)
    if native is not None:
        native.choose_instruction_set(chosen)


@pytest.fixture
def run_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[list[str]], tuple[int, str]]]:
    """Run ``nbfnet`` in this process: its exit code, and what a terminal shows."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    for shown in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(shown, raising=False)

    def run(arguments: list[str]) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["nbfnet", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main()
        shown = capsys.readouterr()
        return int(exit_.value.code or 0), shown.err + shown.out

    yield run
    show_progress(False)


@pytest.fixture
def parse_command() -> Callable[[list[str]], None]:
    return parse


@pytest.fixture
def open_page(
    run_command: Callable[[list[str]], tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> Callable[[Path], Page]:
    """A page that runs here; the operators that it registers are forgotten after it."""
    for registry in (messages, aggregates):
        registry.names()  # finds the package's own
        monkeypatch.setattr(registry, "_classes", dict(registry._classes))
    return lambda path: Page(path, run_command)
