"""Security: who may ask, from which page, how much, and what a browser may do with the answer."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nbfnet.serve.json_response import StrictJSON
from nbfnet.serve.refusals import RefusedError, document
from nbfnet.serve.settings import Settings

# Nothing inline, nothing from elsewhere: a name that got into the page as HTML could still do nothing.
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
OPEN_PATHS = ("/api/health",)  # answered without the token


class Guard:
    """Every request passes here first. It is plain ASGI, so that a body is counted while it arrives."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the request, count its body, and add the headers to the response."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return  # a websocket is not accepted
        received, begun, too_large = 0, False, False

        async def counted() -> Message:
            nonlocal received, too_large
            message = await receive()
            if message["type"] == "http.request":
                received += len(message.get("body", b""))
                too_large = received > self._settings.limits.body
                if too_large:
                    raise self._too_large()
            return message

        async def guarded(message: Message) -> None:
            nonlocal begun
            if too_large and not begun:
                return  # what the application makes of the body that it could not read
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, counted, guarded)
            if too_large and not begun:
                raise self._too_large()
        except RefusedError as refusal:
            if begun:
                raise
            too_large = False
            await refuse(refusal)(scope, receive, guarded)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        host = _host(headers)
        if host is None or not self._settings.accepts_host(host):
            what = "this server does not have that name: ask it by its address, or start it with --allow-host NAME"
            raise RefusedError(421, "wrong_host", what)
        if not self._same_site(scope, headers):
            raise RefusedError(403, "cross_site", "another site's page may not ask this server")
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._settings.limits.body:
            raise self._too_large()
        if scope["path"].startswith("/api/") and scope["path"] not in OPEN_PATHS:
            self._check_token(headers)

    def _same_site(self, scope: Scope, headers: Mapping[str, str]) -> bool:
        """Whether a request comes from this server's own page, from no page, or is a link that was followed to it."""
        origin = headers.get("origin")
        if origin is not None and urlsplit_netloc(origin) != headers.get("host", "").casefold():
            return False
        followed = headers.get("sec-fetch-mode") == "navigate" and not scope["path"].startswith("/api/")
        return headers.get("sec-fetch-site") in (None, "same-origin", "none") or followed

    def _check_token(self, headers: Mapping[str, str]) -> None:
        token = self._settings.token
        if token is None:
            return
        scheme, _, given = headers.get("authorization", "").partition(" ")
        # compare_digest takes the same time wherever the first difference is.
        fits = hmac.compare_digest(given.strip().encode("utf-8", "surrogateescape"), token.encode())
        if scheme.casefold() != "bearer" or not fits:
            raise RefusedError(401, "no_token", "give the server's token: Authorization: Bearer TOKEN")

    def _too_large(self) -> RefusedError:
        return RefusedError(413, "too_large", f"a body may have {self._settings.limits.body:,} bytes")


def refuse(refusal: RefusedError) -> StrictJSON:
    """A refusal as a response."""
    headers = {}
    if refusal.retry_after is not None:
        headers["retry-after"] = str(refusal.retry_after)
    if refusal.status == 401:
        headers["www-authenticate"] = "Bearer"
    return StrictJSON(document(refusal.kind, refusal.message), refusal.status, headers)


def urlsplit_netloc(origin: str) -> str | None:
    """Host and port of an origin; None if it is none, such as 'null'."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.casefold() if parts.scheme in ("http", "https") else None


def _host(headers: Headers) -> str | None:
    """The host that a request names, without its port; None if it names none, or several."""
    given = headers.getlist("host")
    if len(given) != 1:
        return None
    try:
        parts = urlsplit(f"//{given[0]}")
        parts.port  # noqa: B018 - raises if it is not a number
    except ValueError:
        return None
    if parts.path or parts.query or parts.fragment or parts.username is not None:
        return None
    return parts.hostname
