"""A file server on this machine whose connections can be made to misbehave, as real ones do."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


class FileServer:
    """Serves the bytes of ``files`` by path; what goes wrong is taken from the lists, one item a request."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.tags: dict[str, str] = {}
        self.ranges = True  # whether it understands a Range header
        self.tagged = True  # whether it sends an ETag
        self.lengths = True  # whether it sends a Content-Length
        self.claimed_length: int | None = None
        self.drop_after: list[int | None] = []  # close the connection after so many bytes of the body
        self.statuses: list[int] = []  # answer with these first
        self.delays: list[float] = []  # seconds before the answer begins
        self.pace = 0.0  # seconds between blocks of the body
        self.requests: list[tuple[str, str | None]] = []  # path, Range header
        handler = type("Handler", (_Handler,), {"owner": self})
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def put(self, path: str, content: bytes, tag: str = '"first"') -> str:
        self.files[path], self.tags[path] = content, tag
        return f"{self.url}/{path}"


class _Handler(BaseHTTPRequestHandler):
    owner: FileServer

    def do_GET(self) -> None:
        owner, path = self.owner, self.path.lstrip("/")
        owner.requests.append((path, self.headers.get("Range")))
        if owner.delays:
            time.sleep(owner.delays.pop(0))
        if owner.statuses:
            return self._refuse(owner.statuses.pop(0))
        if path not in owner.files:
            return self._refuse(404)
        content, begin = owner.files[path], 0
        asked = self.headers.get("Range")
        if owner.ranges and asked and self.headers.get("If-Range") in (None, owner.tags[path]):
            begin = int(asked.removeprefix("bytes=").removesuffix("-"))
            if begin >= len(content):
                return self._refuse(416)
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {begin}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        body = content[begin:]
        if owner.lengths:
            self.send_header("Content-Length", str(owner.claimed_length or len(body)))
        if owner.tagged:
            self.send_header("ETag", owner.tags[path])
        self.end_headers()
        limit = owner.drop_after.pop(0) if owner.drop_after else None
        self._send(body if limit is None else body[:limit])
        self.close_connection = True
        return None

    def _send(self, body: bytes) -> None:
        try:
            for start in range(0, len(body), 4096):
                self.wfile.write(body[start : start + 4096])
                time.sleep(self.owner.pace)
        except ConnectionError:
            pass  # the client went away, as some tests make it do

    def _refuse(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def file_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = FileServer()
    thread = threading.Thread(target=server.http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.http.shutdown()
    server.http.server_close()
    thread.join()
