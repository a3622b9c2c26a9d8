"""The command line: one file a command, one place for errors and exit codes."""

from __future__ import annotations

import importlib.metadata
import sys
from typing import Annotated

import typer

from nbfnet.cli import data, demo, evaluate, info, paths, reproduce, train
from nbfnet.cli.output import accept_any_name, print_text, report_error
from nbfnet.distributed import leads
from nbfnet.errors import NbfnetError
from nbfnet.progress import show_progress

# Plain help pages: they fit a narrow terminal, and can be searched and quoted.
app = typer.Typer(
    name="nbfnet", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)
app.command()(demo.demo)
app.add_typer(data.app, name="data")
app.command()(paths.paths)
app.command()(train.train)
app.command()(evaluate.evaluate)
app.command()(info.info)
app.command()(reproduce.reproduce)


def _print_version(asked: bool) -> None:
    if asked:
        print_text(f"nbfnet {importlib.metadata.version('nbfnet')}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
]


@app.callback()
def nbfnet(version: Version = False) -> None:
    """Link prediction by paths: any graph in, named answers with reasons out."""


def main() -> None:
    """Run the command line: 0 is success, 2 a user's mistake in one clear message, 130 Ctrl-C."""
    show_progress(leads())
    accept_any_name()
    try:
        app(prog_name="nbfnet")
    except NbfnetError as error:
        report_error(error)
        sys.exit(2)
    except OSError as error:
        report_error(f"{error.filename}: {error.strerror}" if error.filename else error.strerror or error)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
