"""Who is refused: foreign hosts and pages, wrong tokens, large bodies, paths that lead elsewhere."""

from __future__ import annotations

import http.client
import inspect
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import nbfnet
from nbfnet.errors import ServeError
from nbfnet.serve import security
from nbfnet.serve.settings import Settings, check_exposure

QUESTION = {"head": "captopril", "relation": "treats"}


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "192.168.0.7",
        "",
        "@127.0.0.1",
        "127.0.0.1:x",
    ],
)
def test_another_name_for_this_machine_is_refused(drugs, host: str) -> None:
    """DNS rebinding: a foreign page's name leads here, and its requests carry that name."""
    response = drugs.http.get("/api/health", headers={"host": host})
    assert response.status_code in (400, 421)
    assert "captopril" not in drugs.http.get("/api/predict", params=QUESTION, headers={"host": host}).text


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "LOCALHOST:1234", "[::1]:80"])
def test_the_names_of_loopback_are_accepted(drugs, host: str) -> None:
    assert drugs.http.get("/api/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "origin",
    ["http://evil.example", "null", "http://127.0.0.1:1", "https://localhost.evil.example", "file://", "http://["],
)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_pages_of_other_sites_are_refused(drugs, origin: str, method: str) -> None:
    response = drugs.http.request(method, "/api/facts", headers={"origin": origin})
    assert response.status_code == 403


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/api/health", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ("/api/health", {"sec-fetch-site": "same-site"}, 403),
        ("/api/card", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 403),
        ("/page.js", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}, 403),
        ("/card", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 200),  # a link that was followed
        ("/api/health", {"sec-fetch-site": "same-origin"}, 200),
    ],
)
def test_what_a_browser_says_about_a_request_counts(drugs, path: str, headers: dict[str, str], status: int) -> None:
    assert drugs.http.get(path, headers=headers).status_code == status


def test_the_own_page_may_ask(drugs) -> None:
    assert drugs.http.post("/api/facts", json={}, headers={"origin": drugs.url}).status_code == 200


def test_a_large_body_is_refused(drugs) -> None:
    response = drugs.http.post("/api/facts", content=b"x" * 70_000)
    assert response.status_code == 413 and "65,536" in response.json()["error"]["message"]


def test_a_large_body_without_a_length_is_refused(drugs) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(40):
            yield b" " * 4096

    response = drugs.http.post("/api/facts", content=endless(), headers={"content-type": "application/json"})
    assert response.status_code == 413


@pytest.mark.parametrize("length", ["-1", "1e3", "99999999999999999999", "+5"])
def test_a_length_that_cannot_be_is_refused(drugs, length: str) -> None:
    connection = http.client.HTTPConnection(drugs.url.removeprefix("http://"), timeout=30)
    connection.putrequest("POST", "/api/facts")
    connection.putheader("Content-Length", length)
    connection.endheaders()
    assert connection.getresponse().status in (400, 413)
    connection.close()


@pytest.mark.parametrize(
    "path",
    [
        "/../app.py",
        "/static/../app.py",
        "/%2e%2e/app.py",
        "/..%2fapp.py",
        "/%2e%2e%2f%2e%2e%2f%2e%2e%2fetc/passwd",
        "//etc/passwd",
        "/page.js/../../app.py",
        "/page.js%00.html",
        "/..\\..\\app.py",
        "/api/../app.py",
        "/index.html",
        "/manifest.json",
        "/data/train",
    ],
)
def test_no_path_leads_to_another_file(drugs, path: str) -> None:
    connection = http.client.HTTPConnection(drugs.url.removeprefix("http://"), timeout=30)
    connection.request("GET", path)  # as it stands: httpx would tidy it
    response = connection.getresponse()
    text = response.read().decode()
    assert response.status == 404
    assert "import" not in text and "root:" not in text
    connection.close()


@pytest.mark.parametrize(
    "path", ["/", "/ask?head=x", "/page.js", "/api/health", "/api/nothing", "/nothing", "/api/predict"]
)
def test_every_response_has_the_strict_headers(drugs, path: str) -> None:
    headers = drugs.http.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "access-control-allow-origin" not in headers


def test_a_token_is_asked_for(start, things_run: nbfnet.Run) -> None:
    server = start(things_run, token="s3cret")

    def ask(header: str | None) -> httpx.Response:
        headers = {} if header is None else {"authorization": header}
        return server.http.get("/api/relations", headers=headers)

    assert ask("Bearer s3cret").status_code == 200
    assert ask("bearer s3cret").status_code == 200
    for wrong in (None, "", "Bearer", "Bearer s3cre", "Bearer s3crets", "Basic s3cret", "s3cret"):
        response = ask(wrong)
        assert response.status_code == 401 and response.headers["www-authenticate"] == "Bearer"
    assert server.get("/api/health").json()["token"] is True
    assert server.get("/").status_code == 200  # the page itself has no secret, and asks for the token


def test_tokens_are_compared_in_constant_time() -> None:
    source = inspect.getsource(security.Guard._check_token)
    assert "compare_digest" in source and "==" not in source


@pytest.mark.parametrize(
    ("host", "token", "no_auth", "refused"),
    [
        ("127.0.0.1", None, False, False),
        ("::1", None, False, False),
        ("localhost", None, False, False),
        ("127.8.8.8", None, False, False),
        ("0.0.0.0", None, False, True),
        ("::", None, False, True),
        ("example.org", None, False, True),
        ("0.0.0.0", "t", False, False),
        ("0.0.0.0", None, True, False),
        ("0.0.0.0", "t", True, True),
        ("127.0.0.1", "", False, True),
        ("127.0.0.1", "two words", False, True),
        ("127.0.0.1", "schlüssel", False, True),
    ],
)
def test_other_machines_may_ask_only_if_that_was_said(
    host: str, token: str | None, no_auth: bool, refused: bool
) -> None:
    if refused:
        with pytest.raises(ServeError):
            check_exposure(host, token, no_auth)
    else:
        check_exposure(host, token, no_auth)


def test_an_open_server_knows_its_own_names_only() -> None:
    server = Settings(host="0.0.0.0", allowed_hosts=frozenset({"graphs.example"}))
    assert (
        server.accepts_host("192.168.0.7")
        and server.accepts_host("graphs.example")
        and server.accepts_host("localhost")
    )
    assert not server.accepts_host("evil.example")


def test_hostile_names_travel_unharmed(start, hostile_run: nbfnet.Run) -> None:
    server = start(hostile_run)
    graph = hostile_run.graph
    for name in graph.entities:
        found = server.get("/api/neighbours", entity=name)
        assert found.status_code == 200 and found.json()["entity"]["name"] == name
        assert found.headers["content-type"] == "application/json"
        assert found.content.isascii()


def test_the_log_of_the_server_never_holds_a_token(
    start, things_run: nbfnet.Run, caplog: pytest.LogCaptureFixture
) -> None:
    server = start(things_run, token="s3cret")
    server.http.get("/api/relations", headers={"authorization": "Bearer s3cret"})
    assert "s3cret" not in caplog.text
    assert not list(Path(things_run.folder.path).glob("*token*"))
