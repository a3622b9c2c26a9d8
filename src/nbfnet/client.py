"""Client: asks a server of ``nbfnet serve`` from Python, without PyTorch and without packages of its own.

>>> from nbfnet.client import Client
>>> client = Client("http://127.0.0.1:8765")
>>> client.predict("Lyon", "in country")["answers"][0]["name"]  # doctest: +SKIP
'France'
"""

from __future__ import annotations

import http.client
import json
import threading
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit

from nbfnet.errors import NbfnetError

Document = dict[str, Any]
Fact = tuple[str, str | None, str]


class ServerError(NbfnetError):
    """A server refused a question, or could not be reached."""

    def __init__(self, message: str, status: int | None = None, kind: str | None = None) -> None:
        super().__init__(message)
        self.status, self.kind = status, kind


class Client:
    """One server, and one what-if session on it; the connection is kept open. Threads may share a client."""

    def __init__(self, url: str = "http://127.0.0.1:8765", token: str | None = None, *, timeout: float = 60.0) -> None:
        """``url`` is what ``nbfnet serve`` prints, ``token`` what it was started with."""
        parts = urlsplit(url if "//" in url else f"//{url}", scheme="http")
        try:
            port = parts.port
        except ValueError:
            port = -1
        if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
            raise ServerError(f"{url!r} is not the address of a server: give one such as http://127.0.0.1:8765")
        secure = parts.scheme == "https"
        make = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        self._connection = make(parts.hostname, port, timeout=timeout)
        self._url, self._path, self._token = url, parts.path.rstrip("/"), token
        self._lock = threading.Lock()
        self.session: str | None = None  # of the facts that were added or removed

    def predict(
        self,
        head: str | None = None,
        relation: str | None = None,
        tail: str | None = None,
        *,
        k: int = 10,
        exclude_known: bool = False,
        any_type: bool = False,
        types: tuple[str, ...] = (),
    ) -> Document:
        """The best answers to (head, relation, ?), (?, relation, tail) or (head, ?, tail), as ``Run.predict``."""
        options = {"k": k, "exclude_known": exclude_known, "any_type": any_type, "type": list(types)}
        return self._get("/api/predict", head=head, relation=relation, tail=tail, **options)

    def explain(
        self, head: str, relation: str | None, tail: str, *, k: int = 5, asked: Literal["head", "tail"] = "tail"
    ) -> Document:
        """The paths behind a prediction, as ``Run.explain``."""
        return self._get("/api/explain", head=head, relation=relation, tail=tail, k=k, asked=asked)

    def search(self, text: str, limit: int = 10) -> list[Document]:
        """Entities by the beginning of their name, by a word of it, or by a similar spelling."""
        found: list[Document] = self._get("/api/entities", q=text, limit=limit)["entities"]
        return found

    def relations(self, entity: str | None = None) -> list[Document]:
        """All relations; for an entity, each way of asking, those that make sense for it first."""
        found: list[Document] = self._get("/api/relations", entity=entity)["relations"]
        return found

    def neighbours(self, entity: str, limit: int = 100) -> Document:
        """An entity and its known facts."""
        return self._get("/api/neighbours", entity=entity, limit=limit)

    def what_if(self, add: list[Fact] | None = None, remove: list[Fact] | None = None) -> Document:
        """Add and remove facts for this client only; everything it asks from now on is asked with them."""

        def plain(facts: list[Fact] | None) -> list[Document]:
            return [dict(zip(("head", "relation", "tail"), fact, strict=True)) for fact in facts or ()]

        found = self._send("POST", "/api/facts", {"add": plain(add), "remove": plain(remove)})
        self.session = found["session"]
        return found

    def forget(self) -> None:
        """End the what-if session."""
        self._send("DELETE", "/api/facts")
        self.session = None

    def health(self) -> Document:
        """That the server lives, and what it serves."""
        return self._get("/api/health")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _get(self, path: str, **parameters: Any) -> Document:
        given = {name: _text(value) for name, value in parameters.items() if value is not None}
        return self._send("GET", f"{path}?{urlencode(given, doseq=True, errors='surrogatepass')}")

    def _send(self, method: str, path: str, body: Document | None = None) -> Document:
        headers = {"accept": "application/json"}
        if self._token is not None:
            headers["authorization"] = f"Bearer {self._token}"
        if self.session is not None:
            headers["nbfnet-session"] = self.session
        content = None if body is None else json.dumps(body)
        if content is not None:
            headers["content-type"] = "application/json"
        with self._lock:
            status, text = self._exchange(method, self._path + path, content, headers)
        try:
            found: Document = json.loads(text)
        except ValueError:
            raise ServerError(
                f"{self._url} is not a server of nbfnet: it answered {status} without JSON", status
            ) from None
        if status >= 400:
            error = found.get("error", {})
            raise ServerError(error.get("message", f"the server answered {status}"), status, error.get("kind"))
        return found

    def _exchange(self, method: str, path: str, body: str | None, headers: dict[str, str]) -> tuple[int, bytes]:
        """One request; a connection that the server closed meanwhile is opened once more."""
        for attempt in (1, 2):
            reused = self._connection.sock is not None
            try:
                self._connection.request(method, path, body, headers)
                response = self._connection.getresponse()
                return response.status, response.read()
            except (http.client.HTTPException, OSError) as error:
                self._connection.close()
                closed = isinstance(error, http.client.RemoteDisconnected | ConnectionError)
                if not (closed and reused and attempt == 1):
                    raise ServerError(
                        f"{self._url} cannot be reached: {error}; is 'nbfnet serve' running there?"
                    ) from None
        raise AssertionError


def _text(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value
