"""The command line: one file a command, one place for errors and exit codes."""

from __future__ import annotations

import sys

import typer

from nbfnet.cli import data, demo
from nbfnet.cli.output import report_error
from nbfnet.errors import NbfnetError
from nbfnet.progress import show_progress

app = typer.Typer(
    name="nbfnet",
    help="Link prediction by paths: any graph in, named answers with reasons out.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(data.app, name="data")
app.command()(demo.demo)


def main() -> None:
    """Run the command line: 0 is success, 2 a user's mistake in one clear message, 130 Ctrl-C."""
    show_progress(True)
    try:
        app()
    except NbfnetError as error:
        report_error(error)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        sys.stdout = None
        sys.exit(1)
    except OSError as error:
        report_error(f"{error.filename}: {error.strerror}" if error.filename else error)
        sys.exit(2)
