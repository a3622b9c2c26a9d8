"""Settings: where a server listens, who may ask, and how much."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass

from nbfnet.errors import ServeError

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Limits:
    """What a single client may cost; a request beyond one of them gets a 4xx that names it."""

    body: int = 64 * 1024  # bytes
    k: int = 200  # answers of one prediction
    paths: int = 20  # of one explanation
    workers: int = 2  # computations at the same time, one of them for explanations
    waiting: int = 64  # requests that wait for a worker
    seconds: float = 30.0  # until an answer must be there
    sessions: int = 1000
    session_seconds: float = 3600.0  # a session that nobody used for so long is forgotten
    facts: int = 50  # of one what-if session
    edited_graphs: int = 32  # graphs of sessions that stay in memory, fewer of a large graph; others are built again


@dataclass(frozen=True)
class Settings:
    """How a run is served."""

    host: str = "127.0.0.1"
    port: int = 8765
    token: str | None = None
    allowed_hosts: frozenset[str] = frozenset()  # names that a Host header may have, besides the obvious ones
    limits: Limits = Limits()

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect."""
        return is_loopback(self.host)

    def accepts_host(self, host: str) -> bool:
        """Whether a Host header, without its port, names this server.

        Another name that leads here may be DNS rebinding: a foreign page whose name was pointed to this machine. An
        address written in numbers cannot be.
        """
        if host in LOOPBACK_NAMES or host in self.allowed_hosts or host == self.host.casefold():
            return True
        if self.is_loopback:
            return False
        return host == socket.gethostname().casefold() or _is_address(host)


def check_exposure(host: str, token: str | None, no_auth: bool) -> None:
    """Refuse to let other machines ask unless that was said aloud.

    Raises:
        ServeError: the host is not loopback, and neither a token nor ``--no-auth`` was given.
    """
    if token is not None and no_auth:
        raise ServeError("--token asks for a token and --no-auth for none: give one of them")
    if token is not None and not (token.isascii() and token.isprintable() and token.strip() and " " not in token):
        raise ServeError("--token must be letters, digits and signs of ASCII without spaces")
    if not is_loopback(host) and token is None and not no_auth:
        raise ServeError(
            f"--host {host} lets other machines ask: give --token SECRET, which they must know, "
            "or --no-auth if everyone may ask"
        )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine for itself only."""
    if host.casefold() == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
