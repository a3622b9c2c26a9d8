"""``nbfnet serve``: a trained network as a page and as a JSON API."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nbfnet.cli.options import Facts, MoreFacts, TrainOnly
from nbfnet.cli.output import print_text, report_note
from nbfnet.cli.sources import open_run

if TYPE_CHECKING:
    from nbfnet.run import Run
    from nbfnet.serve.settings import Settings

RunFolder = Annotated[
    Path | None,
    typer.Argument(metavar="[RUN]", help="A run folder; without one, the graph of countries and cities is learned."),
]
Host = Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen; another than loopback lets others ask.")]
Port = Annotated[int, typer.Option(metavar="NUMBER", min=0, max=65535, help="0 takes any that is free.")]
Token = Annotated[
    str | None, typer.Option(metavar="SECRET", envvar="NBFNET_TOKEN", help="What clients must know to ask.")
]
NoAuth = Annotated[bool, typer.Option("--no-auth", help="Everyone who reaches the address may ask.")]
AllowHost = Annotated[
    list[str] | None,
    typer.Option("--allow-host", metavar="NAME", help="A name by which this server is reached. May be repeated."),
]
Workers = Annotated[
    int,
    typer.Option(metavar="NUMBER", min=1, max=64, help="Questions computed at the same time."),
]
Seconds = Annotated[float, typer.Option(metavar="NUMBER", min=0.1, help="How long a question may take.")]
Open = Annotated[bool, typer.Option("--open", help="Open the page in a browser.")]


def serve(
    run: RunFolder = None,
    host: Host = "127.0.0.1",
    port: Port = 8765,
    token: Token = None,
    no_auth: NoAuth = False,
    allow_host: AllowHost = None,
    workers: Workers = 2,
    seconds: Seconds = 30.0,
    facts: Facts = None,
    more_facts: MoreFacts = None,
    train_only: TrainOnly = False,
    open_: Open = False,
) -> None:
    """Serve a trained network as a page and as a JSON API.

    Only this machine can ask, unless --host names another address; then give --token or --no-auth too. What-if facts
    belong to one browser session and never change the run folder. Ctrl-C stops the server.
    """
    from nbfnet.serve.settings import Limits, Settings, check_exposure

    check_exposure(host, token, no_auth)
    _require_packages()
    opened = open_run([world_run() if run is None else run], facts, more_facts, train_only=train_only)
    names = frozenset(name.casefold() for name in allow_host or ())
    limits = Limits(workers=workers, seconds=seconds)
    _serve(opened, Settings(host, port, token, names, limits), open_page=open_)


def world_run() -> Path:
    """The run folder of the embedded graph ``world`` in the user's cache, trained when it is first needed."""
    from nbfnet.cli.demo import QUICK
    from nbfnet.cli.train import report_validation
    from nbfnet.graph.datasets.registry import cache_folder
    from nbfnet.run import Run

    path = cache_folder() / "world-run"
    if not path.exists():
        report_note("learning the graph of countries and cities, once: about a minute on two cores ...")
        path.parent.mkdir(parents=True, exist_ok=True)
    Run.resume(path, "world", *([] if path.exists() else [QUICK]), source="world").train(listener=report_validation)
    return path


def _serve(run: Run, settings: Settings, *, open_page: bool) -> None:
    """Serve an opened run until Ctrl-C."""
    from nbfnet.serve.app import make_app
    from nbfnet.serve.server import address_of, listen, run_server

    listening = listen(settings.host, settings.port)  # before anything takes long: the port may be taken
    app = make_app(run, settings)
    address = address_of(listening, settings.host)

    def announce() -> None:
        print_text(f"serving {run.dataset.name} at {address}")
        report_note(f"the API is described at {address}docs; Ctrl-C stops the server")
        if open_page:
            webbrowser.open(f"{address}#token={settings.token}" if settings.token else address)

    run_server(app, listening, on_start=announce)
    report_note("stopped")


def _require_packages() -> None:
    """Say at once which packages are missing."""
    import importlib.util

    from nbfnet.errors import MissingExtraError

    for package in ("fastapi", "uvicorn"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError("nbfnet serve", package, "serve")
