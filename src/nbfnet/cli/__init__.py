"""The command line: one file per command, one place for errors and exit codes."""

from __future__ import annotations

import copy
import importlib
import importlib.metadata
import os
import re
import signal
import sys
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from nbfnet.cli.output import accept_any_name, print_text, report_error, show_notes
from nbfnet.errors import NbfnetError, closest
from nbfnet.progress import leads, show_progress
from nbfnet.training.interrupt import Terminated, interruptible, raise_terminated

# Each command with its line on the help page, so that the page does not load the commands.
COMMANDS = {
    "demo": "Ask, learn and explain a graph of countries and cities.",
    "data": "List known datasets; check, describe, split, convert graphs.",
    "paths": "Find the nodes closest to a node by a classical method.",
    "train": "Train a network on a graph.",
    "evaluate": "Evaluate a trained network, or several together.",
    "compare": "Compare the network with other methods in the same time.",
    "predict": "Name the best answers to a query.",
    "explain": "Show the paths that make a network believe in a link.",
    "rules": "Show the rules that a network relies on for a relation.",
    "serve": "Serve a trained network as a page and as a JSON API.",
    "info": "Show a run's parameters, configuration, metrics and graph.",
    "pretrain": "Train one network for any graph, on several graphs.",
    "import-ultra": "Make a run of ULTRA's published weights, for any graph.",
    "reproduce": "Run an experiment, and print its result beside the paper's.",
}


_NO_MEMORY = "out of memory|allocate memory|bad_alloc|can't start new thread"


class _Commands(TyperGroup):
    """The commands, each from the module of its name, which is loaded when it is called: PyTorch takes a second."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command as lists show it, on the help page and in completions."""
        return TyperCommand(cmd_name, help=COMMANDS[cmd_name])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is called, with the arguments for it."""
        name, *rest = args
        if name not in COMMANDS:
            if ctx.resilient_parsing:  # a shell asks for completions
                return None, None, args
            near = "".join(f" Did you mean {close!r}?" for close in closest(name, list(COMMANDS), limit=1))
            ctx.fail(f"No such command {name!r}.{near}")
        command = _load(name)
        quiet = copy.copy(next(option for option in self.params if option.name == "quiet"))
        quiet.expose_value = False  # its callback does it all
        for each in [command, *getattr(command, "commands", {}).values()]:
            each.params.append(quiet)
        return name, command, rest


def _load(name: str) -> Any:
    function = name.replace("-", "_")
    module = importlib.import_module(f"nbfnet.cli.{function}")
    if hasattr(module, "app"):
        return get_group(module.app)
    alone = _plain_app()
    alone.command(name)(getattr(module, function))
    return get_command(alone)


def _plain_app(**options: Any) -> typer.Typer:
    """Plain help pages: they fit a narrow terminal, and can be searched and quoted."""
    plain = {"add_completion": False, "pretty_exceptions_enable": False, "rich_markup_mode": None}
    return typer.Typer(**plain | options)


app = _plain_app(
    name="nbfnet",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        print_text(f"nbfnet {importlib.metadata.version('nbfnet')}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
]


def _be_quiet(asked: bool) -> None:
    if asked:
        show_notes(False)
        show_progress(False)


Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", callback=_be_quiet, help="No notes and no progress on standard error.")
]


@app.callback()
def nbfnet(version: Version = False, quiet: Quiet = False) -> None:
    """Link prediction by paths: any graph in, named answers with reasons out."""


def main() -> None:
    """Run the command line: 0 is success, 2 a user's mistake in one clear message, 130 Ctrl-C, 143 SIGTERM."""
    show_notes(leads())
    show_progress(leads())
    accept_any_name()
    signal.signal(signal.SIGTERM, raise_terminated)
    try:
        with interruptible():
            app(prog_name="nbfnet")
    except NbfnetError as error:
        report_error(error)
        _drop_unwritten()
        sys.exit(2)
    except OSError as error:
        report_error(f"{error.filename or 'the output'}: {error.strerror or error}")
        _drop_unwritten()
        sys.exit(2)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not re.search(_NO_MEMORY, str(error)):
            raise
        trains = any(command in sys.argv[1:2] for command in ("train", "pretrain", "reproduce", "compare", "demo"))
        what = (
            "lower training.batch_size, training.negatives or model.dim"
            if trains
            else "free some, or give a smaller graph"
        )
        report_error(f"there is not enough memory for this: {what}")
        sys.exit(2)
    except KeyboardInterrupt as interrupt:
        sys.exit(143 if isinstance(interrupt, Terminated) else 130)


def _drop_unwritten() -> None:
    """What is left of the output and cannot be written: Python would try again as it ends, and change the exit code."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):  # it is not a file
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
