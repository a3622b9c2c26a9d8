"""Servers over small networks, in this process and on a real socket; a browser; the packages of the page."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import torch
import uvicorn

import nbfnet
from nbfnet.serve.app import make_app
from nbfnet.serve.server import address_of, listen
from nbfnet.serve.settings import Limits, Settings

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
TYPES = {"treats": ("drug", "disease"), "targets": ("drug", "protein"), "involved in": ("protein", "disease")}
# What could get out of its place on a page, or change what is around it.
HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\">",
    "<script>document.title='owned'</script>",
    "\u202egnp.exe",
    "bell\x07 and\x00 null",
    "javascript:alert(1)",
    "../../etc/passwd",
    "'; DROP TABLE facts; --",
    "{{constructor.constructor('return 1')()}}",
    "%3Cb%3E&lt;b&gt; # ? & = +",
    "a" * 300,
)


@dataclass(frozen=True)
class Server:
    """A server that listens."""

    url: str
    http: httpx.Client

    def get(self, path: str, **parameters: Any) -> httpx.Response:
        return self.http.get(path, params=parameters or None)


@contextmanager
def serving(run: nbfnet.Run, **settings: Any) -> Iterator[Server]:
    """The application over a run, on a free port, in a thread."""
    limits = Limits(**{k: settings.pop(k) for k in list(settings) if k in Limits.__dataclass_fields__})
    chosen = replace(Settings(), limits=limits, **settings)
    listening = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(make_app(run, chosen), log_level="critical", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    url = address_of(listening, "127.0.0.1").rstrip("/")
    with listening, httpx.Client(base_url=url, timeout=60) as client:
        until = time.monotonic() + 60
        while not server.started and time.monotonic() < until:
            time.sleep(0.01)
        try:
            yield Server(url, client)
        finally:
            client.close()
            server.should_exit = True
            thread.join(30)


@pytest.fixture(scope="session")
def drugs_run(tmp_path_factory: pytest.TempPathFactory) -> nbfnet.Run:
    """The toy of the guides, with types: drugs, proteins and diseases."""
    lines = (ROOT / "docs" / "guides" / "drugs.tsv").read_text().splitlines()
    facts = [tuple(line.split("\t")) for line in lines]
    types = {name: TYPES[relation][side] for h, relation, t in facts for side, name in enumerate((h, t))}
    graph = nbfnet.read(facts, name="drugs", types=types)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    config = {"model": {"layers": 3}, "training": {"epochs": 40, "seed": 3}}
    run = nbfnet.train(graph, tmp_path_factory.mktemp("runs") / "drugs", config=config, progress=False)
    torch.set_num_threads(threads)
    return run


@pytest.fixture(scope="session")
def hostile_run(tmp_path_factory: pytest.TempPathFactory, small_config: dict[str, Any]) -> nbfnet.Run:
    """A network over names that try to get out of their place."""
    ring = [(HOSTILE[i], "<b>next</b>", HOSTILE[(i + 1) % len(HOSTILE)]) for i in range(len(HOSTILE))]
    star = [(HOSTILE[0], "\u202eknows", name) for name in HOSTILE[2:]]
    types = dict.fromkeys(HOSTILE, "<i>type</i>")
    graph = nbfnet.read(ring + star, name="<u>hostile</u>", types=types)
    return nbfnet.train(graph, tmp_path_factory.mktemp("runs") / "hostile", config=small_config, progress=False)


@pytest.fixture(scope="session")
def drugs(drugs_run: nbfnet.Run) -> Iterator[Server]:
    """A server over the drugs."""
    with serving(drugs_run) as server:
        yield server


@pytest.fixture
def start() -> Iterator[Callable[..., Server]]:
    """Starts servers that end with the test."""
    with ExitStack() as stack:
        yield lambda run, **settings: stack.enter_context(serving(run, **settings))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, without a window."""
    if CHROMIUM is None:
        pytest.skip("needs a browser: no chromium is installed (on Debian: apt install chromium)")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install '.[test]'")
    with playwright.sync_playwright() as api:
        try:
            chromium = api.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        except playwright.Error as error:
            pytest.skip(f"needs a browser: {CHROMIUM} does not start: {str(error).splitlines()[0]}")
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources of the page with the packages that package-lock.json pins, in a folder of the tests' own."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("needs node and npm, which are not installed")
    folder = tmp_path_factory.mktemp("web") / "web"
    shutil.copytree(WEB, folder, ignore=shutil.ignore_patterns("node_modules"))
    command = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"]
    try:
        subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=180)
    except subprocess.SubprocessError as error:
        pytest.skip(f"needs the npm registry, which cannot be reached: {error}")
    return folder
