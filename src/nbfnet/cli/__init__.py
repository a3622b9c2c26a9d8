"""The command line: one file a command, one place for errors and exit codes."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import signal
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from nbfnet.cli.output import accept_any_name, print_text, report_error
from nbfnet.errors import NbfnetError, closest
from nbfnet.progress import leads, show_progress
from nbfnet.training.interrupt import Terminated, raise_terminated

COMMANDS = ("demo", "data", "paths", "train", "evaluate", "predict", "explain", "rules", "info", "reproduce")


class _Commands(TyperGroup):
    """The commands, each from the module of its name, which is loaded when it is needed: PyTorch takes a second."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            near = "".join(f" Did you mean {name!r}?" for name in closest(cmd_name, COMMANDS, limit=1))
            ctx.fail(f"No such command {cmd_name!r}.{near}")
        module = importlib.import_module(f"nbfnet.cli.{cmd_name}")
        if hasattr(module, "app"):
            return get_group(module.app)
        alone = _plain_app()
        alone.command(cmd_name)(getattr(module, cmd_name))
        return get_command(alone)


def _plain_app(**options: Any) -> typer.Typer:
    """Plain help pages: they fit a narrow terminal, and can be searched and quoted."""
    return typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, **options)


app = _plain_app(name="nbfnet", cls=_Commands, no_args_is_help=True)


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
    """Run the command line: 0 is success, 2 a user's mistake in one clear message, 130 Ctrl-C, 143 SIGTERM."""
    show_progress(leads())
    accept_any_name()
    signal.signal(signal.SIGTERM, raise_terminated)
    try:
        app(prog_name="nbfnet")
    except NbfnetError as error:
        report_error(error)
        sys.exit(2)
    except OSError as error:
        report_error(f"{error.filename or 'the output'}: {error.strerror or error}")
        sys.exit(2)
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError) and not re.search("out of memory|allocate memory", str(error)):
            raise
        report_error("there is not enough memory for this: lower training.batch_size, training.negatives or model.dim")
        sys.exit(2)
    except Terminated:
        sys.exit(143)
    except KeyboardInterrupt:
        sys.exit(130)
