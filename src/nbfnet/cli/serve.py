"""``nbfnet serve``: a trained network as a page and as a JSON API."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nbfnet.cli.options import Facts, MoreFacts, TrainOnly
from nbfnet.cli.output import print_text, report_note

if TYPE_CHECKING:
    from nbfnet.run import Run

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
Workers = Annotated[int, typer.Option(metavar="NUMBER", min=1, max=64, help="Questions computed at the same time.")]
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
    from nbfnet.serve.settings import check_exposure

    check_exposure(host, token, no_auth)
    _require_packages()
    folder = world_run() if run is None else run
    opened = open_run(folder, train_only=train_only)
    opened = opened if facts is None else opened.on(facts)
    opened = opened if more_facts is None else opened.with_facts(more_facts)
    serve_run(opened, host, port, token, allow_host or [], workers=workers, seconds=seconds, open_page=open_)


def open_run(folder: Path, *, train_only: bool = False) -> Run:
    """Open a run folder."""
    from nbfnet.run import Run

    return Run.open(folder, train_only=train_only)


def world_run() -> Path:
    """The run folder of the embedded graph ``world`` in the user's cache, trained when it is first needed."""
    from nbfnet.cli.demo import QUICK
    from nbfnet.cli.train import report_validation
    from nbfnet.graph.datasets.registry import cache_folder
    from nbfnet.graph.loading import load
    from nbfnet.run import train

    path = cache_folder() / "world-run"
    begun = path.exists()
    if not begun:
        report_note("learning the graph of countries and cities, once: about a minute on two cores ...")
        path.parent.mkdir(parents=True, exist_ok=True)
    train(load("world"), path, config=None if begun else QUICK, resume=begun, progress=None, callback=report_validation)
    return path


def serve_run(
    run: Run,
    host: str = "127.0.0.1",
    port: int = 8765,
    token: str | None = None,
    allowed_hosts: list[str] | None = None,
    *,
    workers: int = 2,
    seconds: float = 30.0,
    open_page: bool = False,
) -> None:
    """Serve an opened run until Ctrl-C."""
    from nbfnet.serve.app import make_app
    from nbfnet.serve.server import address_of, open_socket
    from nbfnet.serve.server import serve as serve_app
    from nbfnet.serve.settings import Limits, Settings

    names = frozenset(name.casefold() for name in allowed_hosts or [])
    settings = Settings(host, port, token, names, Limits(workers=workers, seconds=seconds))
    listening = open_socket(host, port)
    app = make_app(run, settings)
    address = address_of(listening, host)
    page = f"{address}#token={token}" if token else address

    def announce() -> None:
        print_text(f"serving {run.dataset.name} at {address}")
        report_note(f"the API is described at {address}docs; Ctrl-C stops the server")
        if open_page:
            webbrowser.open(page)

    serve_app(app, listening, on_start=announce)
    report_note("stopped")


def _require_packages() -> None:
    """Say at once which packages are missing."""
    import importlib.util

    from nbfnet.errors import MissingExtraError

    for package in ("fastapi", "uvicorn"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtraError("nbfnet serve", package, "serve")
