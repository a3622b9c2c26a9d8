"""nbfnet serve as a process: it starts, answers, stops in good order, and refuses what it should."""

from __future__ import annotations

import re
import shlex
import signal
import socket
import time

import httpx
import pytest

import nbfnet as package


def wait_for_address(running) -> str:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        found = re.search(r"serving \S+ at (\S+)/", (running._folder / "out").read_text())
        if found:
            return found[1]
        assert running.code() is None, running.err()
        time.sleep(0.05)
    pytest.fail(f"the server did not start: {running.err()}")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_until_it_is_told_to_stop(commands, things_run: package.Run, number: signal.Signals) -> None:
    running = commands.start("serve", things_run.folder.path, "--port", 0)
    url = wait_for_address(running)
    assert httpx.get(f"{url}/api/health").json()["graph"] == things_run.dataset.name
    assert "<!doctype html>" in httpx.get(url).text
    running.send(number)
    ended = running.wait()
    assert "Traceback" not in ended.err and "stopped" in ended.err
    assert ended.code in (0, 130, 143)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/api/health")


def test_it_opens_the_page_with_the_token(commands, things_run: package.Run, tmp_path) -> None:
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > {shlex.quote(str(opened))}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o755)
    running = commands.start("serve", things_run.folder.path, "--port", 0, "--open", "--token", "t", BROWSER=browser)
    url = wait_for_address(running)
    until = time.monotonic() + 60
    while not opened.exists() and time.monotonic() < until:
        time.sleep(0.05)
    running.send(signal.SIGTERM)
    running.wait()
    assert opened.read_text() == f"{url}/#token=t"


def test_a_port_that_is_taken_is_named(nbfnet, things_run: package.Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ended = nbfnet("serve", things_run.folder.path, "--port", taken.getsockname()[1])
    assert ended.code == 2 and "--port" in ended.err


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--host", "0.0.0.0"), "--no-auth"),
        (("--host", "0.0.0.0", "--token", "t", "--no-auth"), "one of them"),
        (("--token", "zwei wörter"), "--token"),
        (("--port", "70000"), "65535"),
        (("--host", "no.such.host.invalid", "--token", "t"), "--host"),
    ],
)
def test_what_cannot_be_served_is_refused(nbfnet, things_run: package.Run, options: tuple[str, ...], word: str) -> None:
    ended = nbfnet("serve", things_run.folder.path, *options)
    assert ended.code == 2 and word in ended.err
    assert ended.out == ""


def test_a_run_that_is_not_there_is_named(nbfnet, tmp_path) -> None:
    ended = nbfnet("serve", tmp_path / "nothing")
    assert ended.code == 2 and "nothing" in ended.err


def test_without_the_extra_it_says_what_to_install(nbfnet, things_run: package.Run, monkeypatch) -> None:
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "fastapi" else find(name, *more)
    )
    ended = nbfnet("serve", things_run.folder.path)
    assert ended.code == 2 and "'.[serve]'" in ended.err


def test_without_a_run_the_world_is_learned_once(monkeypatch, tmp_path) -> None:
    from nbfnet.cli import demo
    from nbfnet.cli.serve import world_run
    from nbfnet.training.log import read_log

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    tiny = {
        "model": {"dim": 4, "layers": 1, "hidden": [4], "edges": "independent"},
        "training": {"epochs": 1, "batches_per_epoch": 1, "validation_sample": 2},
    }
    monkeypatch.setattr(demo, "QUICK", tiny)
    folder = world_run()
    assert folder.is_relative_to(tmp_path)
    assert package.Run.open(folder).dataset.name == "world"
    before = (folder / "model.safetensors").stat().st_mtime_ns
    assert world_run() == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == before
    assert len(read_log(folder)) == 1
