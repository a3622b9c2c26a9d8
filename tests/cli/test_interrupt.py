"""Ctrl-C: exit code 130, no traceback, and nothing half-written, whatever the command is doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.store import write_store
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary

TIMEOUT = 180  # seconds; a busy machine must not fail a test
LINES = 1_500_000

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="watches the process as only Linux lets it")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge graph of a million and a half lines."""
    path = tmp_path_factory.mktemp("large") / "graph.tsv"
    block = 100_000
    with path.open("w") as stream:
        for begin in range(0, LINES, block):
            rows = range(begin, begin + block)
            stream.writelines(f"entity{i * 7919 % 300_007}\tr{i % 40}\tentity{i * 104_729 % 299_993}\n" for i in rows)
    return path


@pytest.fixture(scope="module")
def large_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of two million triplets, which opens at once."""
    folder = tmp_path_factory.mktemp("large") / "store"
    number = np.arange(2_000_000)
    facts = Triplets.of(number * 7919 % 300_007, number % 40, number * 104_729 % 299_993)
    relations = Vocabulary.of([f"r{i}" for i in range(40)], role="relation")
    graph = Graph("large", "knowledge", Vocabulary.numbered(300_007), relations, facts)
    write_store(Dataset("large", graph, facts.take(number[:9]), facts.take(number[9:18])), folder)
    return folder


@pytest.fixture
def start(tmp_path: Path, nowhere: Path) -> Iterator[Callable[..., subprocess.Popen[bytes]]]:
    """Start the command; what still runs when the test ends is ended too."""
    started: list[subprocess.Popen[bytes]] = []
    # A suite that runs in the background may ignore the signal, and would hand that on.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def start(*arguments: object) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "nbfnet", *map(str, arguments)]
        environment = dict(os.environ) | {"TMPDIR": str(tmp_path)}
        started.append(
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path, env=environment)
        )
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()
    signal.signal(signal.SIGINT, before)


def wait_until(true: Callable[[], bool], process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + TIMEOUT
    while not true():
        assert process.poll() is None, "the command ended before it could be interrupted"
        assert time.monotonic() < until, "what was waited for never came"
        time.sleep(0.005)


def bytes_read(process: subprocess.Popen[bytes]) -> int:
    counters = dict(line.split(": ") for line in Path(f"/proc/{process.pid}/io").read_text().splitlines())
    return int(counters["rchar"])


def holds_open(process: subprocess.Popen[bytes], path: Path) -> bool:
    for handle in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            if handle.readlink() == path:
                return True
        except FileNotFoundError:  # closed meanwhile
            continue
    return False


def assert_interrupted(process: subprocess.Popen[bytes], folder: Path, note: bytes = b"") -> None:
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=TIMEOUT)
    assert (process.returncode, out, err) == (130, b"", note)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("command", ["info", "convert"])
def test_while_reading(start, large, tmp_path, command):
    output = [] if command == "info" else ["-o", tmp_path / "new" / "out"]
    process = start("data", command, large, *output)
    wait_until(lambda: holds_open(process, large), process)
    before = bytes_read(process)
    # More than the few lines that are looked at first: the long reading is under way.
    wait_until(lambda: bytes_read(process) > before + 4_000_000, process)
    assert_interrupted(process, tmp_path)


def test_while_numbering_names(start, large, tmp_path):
    process = start("data", "info", large)
    size = large.stat().st_size
    wait_until(lambda: bytes_read(process) > size and not holds_open(process, large), process)
    assert_interrupted(process, tmp_path)


def test_while_writing(start, large_store, tmp_path):
    output = tmp_path / "new" / "out"
    process = start("data", "split", large_store, "-o", output)
    wait_until(lambda: any(size > 0 for size in written(tmp_path)), process)
    assert_interrupted(process, tmp_path, b"large comes with its own split, which is kept\n")


def written(folder: Path) -> list[int]:
    """The sizes of the text files below a folder; files may vanish while they are looked at."""
    sizes = []
    for path in folder.rglob("*.txt"):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:
            continue
    return sizes
