"""The server: an application on a socket, until it is told to stop."""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from nbfnet.errors import ServeError
from nbfnet.serve.heap import keep_freed_memory

_GRACE = 5  # seconds that requests may take to end once the server stops


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        ServeError: the address cannot be used.
    """
    listening = None
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(512)
        return listening
    except OSError as error:
        if listening is not None:
            listening.close()
        raise ServeError(
            f"cannot listen on {host}, port {port}: {error.strerror or error}", remedy="give another --port or --host"
        ) from None


def address_of(listening: socket.socket, host: str) -> str:
    """Where a browser finds a server that listens."""
    port = listening.getsockname()[1]
    shown = "localhost" if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/"


def run_server(app: ASGIApp, listening: socket.socket, *, on_start: Callable[[], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; requests that are being answered get some seconds to end."""
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_GRACE,
        h11_max_incomplete_event_size=32 * 1024,
        limit_concurrency=1000,
    )
    server = uvicorn.Server(config)
    keep_freed_memory()
    # A computation releases Python's lock for microseconds, and would wait for five milliseconds to get it back.
    sys.setswitchinterval(0.0005)
    on_start()
    with listening, contextlib.suppress(KeyboardInterrupt):
        server.run(sockets=[listening])
