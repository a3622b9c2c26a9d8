"""The Python client over a real server."""

from __future__ import annotations

import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import nbfnet
from nbfnet.client import Client, ServerError


@pytest.fixture
def client(drugs):
    with Client(drugs.url) as made:
        yield made


def test_it_gives_what_the_run_gives(client: Client, drugs_run: nbfnet.Run) -> None:
    answers = client.predict("captopril", "treats", k=3)["answers"]
    assert [a["name"] for a in answers] == [a.name for a in drugs_run.predict("captopril", "treats", k=3)]
    only_new = client.predict(None, "treats", "fever", exclude_known=True)["answers"]
    assert [a["name"] for a in only_new] == [
        a.name for a in drugs_run.predict(None, "treats", "fever", exclude_known=True)
    ]
    found = client.explain("captopril", "treats", "heart failure", k=2)
    expected = drugs_run.explain("captopril", "treats", "heart failure", k=2)
    assert [path["sentence"] for path in found["paths"]] == [str(path) for path in expected.paths]
    assert client.search("capto")[0]["name"] == "captopril"
    assert client.neighbours("ACE")["entity"]["type"] == "protein"
    assert {each["name"] for each in client.relations()} == {"treats", "targets", "involved in"}
    assert client.health()["graph"] == "drugs"


def test_what_if_belongs_to_one_client(client: Client, drugs) -> None:
    client.what_if(add=[("newdrug", "targets", "ACE")])
    assert client.predict("newdrug", "treats")["what_if"]
    with Client(drugs.url) as other, pytest.raises(ServerError, match="unknown entity 'newdrug'"):
        other.predict("newdrug", "treats")
    client.forget()
    with pytest.raises(ServerError):
        client.predict("newdrug", "treats")


def test_refusals_say_what_the_server_says(client: Client) -> None:
    with pytest.raises(ServerError, match="did you mean 'captopril'") as refused:
        client.predict("captoprill", "treats")
    assert refused.value.status == 404 and refused.value.kind == "unknown_name"


def test_a_token_is_sent(start, things_run: nbfnet.Run) -> None:
    server = start(things_run, token="s3cret")
    with Client(server.url, "s3cret") as client:
        assert client.relations()
    for wrong in (None, "other"):
        with Client(server.url, wrong) as client, pytest.raises(ServerError) as refused:
            client.relations()
        assert refused.value.status == 401


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "127.0.0.1:1"])
def test_a_server_that_is_not_there_is_named(url: str) -> None:
    with pytest.raises(ServerError, match="cannot be reached"):
        Client(url).health()


@pytest.mark.parametrize("url", ["", "ftp://x", "http://", "http://x:port"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ServerError, match="is not the address"):
        Client(url)


def test_a_connection_that_was_closed_is_opened_again(drugs) -> None:
    with Client(drugs.url) as client:
        client.health()
        client._connection.sock.shutdown(socket.SHUT_RDWR)
        assert client.health()["status"] == "ok"


def test_threads_may_share_a_client(client: Client) -> None:
    def ask(number: int) -> bool:
        name = ("captopril", "naproxen")[number % 2]
        return client.neighbours(name)["entity"]["name"] == name

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(ask, range(40)))


def test_it_needs_no_pytorch() -> None:
    """A program that only asks should start at once."""
    code = "import sys, nbfnet.client; sys.exit(any(name in sys.modules for name in ('torch', 'numpy', 'fastapi')))"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
