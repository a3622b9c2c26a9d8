"""What all tests share: benchmark graphs and small ones, processes of their own, how hard hypothesis tries."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

import nbfnet  # before torch: it tells waiting threads to sleep

if "PYTEST_XDIST_WORKER" in os.environ:  # one thread for each of several processes, and for what they start
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which xdist ignores, and what is started would too

import torch

from nbfnet.cli.output import show_notes
from nbfnet.graph.store import write_store
from nbfnet.progress import show_progress

TIMEOUT = 180  # seconds; a busy machine must not fail a test


# The same examples on every run, and no time limit for one example: a busy machine must not fail a test.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True, max_examples=20)
hypothesis.settings.register_profile("search", deadline=None, max_examples=300)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "suite"))


@pytest.fixture(autouse=True)
def notes_as_at_the_start() -> None:
    """A command that ran quietly in this process leaves its notes switched off."""
    show_notes(True)
    show_progress(False)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of benchmark graphs that NBFNET_DATA names; without it the test is skipped."""
    folder = os.environ.get("NBFNET_DATA")
    if not folder:
        pytest.skip("needs the benchmark graphs: set NBFNET_DATA to the folder that holds cora, fb15k-237, ...")
    if not Path(folder).is_dir():
        pytest.skip(f"needs the benchmark graphs: NBFNET_DATA names {folder}, which is not a folder")
    return Path(folder)


@pytest.fixture(scope="session")
def ultra_folder(data_folder: Path) -> Path:
    """The folder of ULTRA's published weights and expected scores, beside the benchmark graphs."""
    folder = data_folder.resolve().parent / "ultra"
    if not (folder / "ultra_3g.safetensors").is_file():
        pytest.skip(f"needs ULTRA's published weights in {folder}, beside the folder that NBFNET_DATA names")
    return folder


@dataclass(frozen=True)
class Ended:
    """What a command left behind."""

    code: int
    out: str
    err: str


class Running:
    """A command in a process of its own."""

    def __init__(self, server: CommandServer, number: int, folder: Path) -> None:
        self.number, self._server, self._folder = number, server, folder
        self._code: int | None = None

    def code(self) -> int | None:
        """Its exit code, negative if a signal ended it; None while it runs."""
        if self._code is None:
            self._code = self._server.ask(poll=self.number)
        return self._code

    def send(self, number: signal.Signals) -> None:
        """Send a signal, if it still runs."""
        if self.code() is None:
            os.kill(self.number, number)

    def wait(self) -> Ended:
        """Until it has ended."""
        until = time.monotonic() + TIMEOUT
        while (code := self.code()) is None:
            if time.monotonic() > until:
                self.send(signal.SIGKILL)
                pytest.fail(f"a command had not ended after {TIMEOUT} seconds: {self.err()}")
            time.sleep(0.002)
        return Ended(code, (self._folder / "out").read_text(), self.err())

    def err(self) -> str:
        """What it has written to standard error so far."""
        return (self._folder / "err").read_text()


class CommandServer:
    """``command_server.py``, and how it is asked."""

    def __init__(self, process: subprocess.Popen[str], folders: Iterator[Path]) -> None:
        self._process, self._folders = process, folders

    def ask(self, **order: object) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def start(
        self,
        *arguments: object,
        script: Path | None = None,
        largest_file: int | None = None,
        **environment: object,
    ) -> Running:
        """Start ``nbfnet`` with some arguments, or a script."""
        folder = next(self._folders)
        order = {
            "arguments": [str(argument) for argument in arguments],
            "script": None if script is None else str(script),
            "largest_file": largest_file,
            "environment": {key: str(value) for key, value in environment.items()},
            "folder": str(folder),
            "out": str(folder / "out"),
            "err": str(folder / "err"),
        }
        running = Running(self, self.ask(start=order), folder)
        while not (folder / "err").exists():
            assert running.code() is None, "a command could not be started"
        return running

    def run(self, *arguments: object, **options: Any) -> Ended:
        """Start it and wait until it has ended."""
        return self.start(*arguments, **options).wait()

    def run_team(self, size: int, *arguments: object, **options: Any) -> list[Ended]:
        """One command in several processes, described to each other as torchrun does."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        team = {"WORLD_SIZE": size, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
        members = [self.start(*arguments, RANK=rank, LOCAL_RANK=rank, **team, **options) for rank in range(size)]
        return [member.wait() for member in members]


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandServer]:
    """Commands in processes of their own that start at once, with one thread each."""
    if not hasattr(os, "fork"):
        pytest.skip("needs processes that fork")
    folders = (tmp_path_factory.mktemp("command") for _ in itertools.count())
    command = [sys.executable, str(Path(__file__).with_name("command_server.py"))]
    environment = dict(os.environ) | {"OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(next(folders))}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as process:
        yield CommandServer(process, folders)
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture
def one_thread() -> Iterator[None]:
    """Graphs of 20 nodes are done before a second thread has woken up."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@dataclass(frozen=True)
class SmallGraphs:
    """Folders of graphs that are trained in a moment; tests must not change them."""

    knowledge: Path  # 24 entities, 3 relations, 60 / 8 / 9 links; multi-edges and self loops
    homogeneous: Path  # 20 nodes, 41 / 6 / 7 edges
    inductive: Path  # a store like the knowledge graph, with a test graph of 12 entities
    test_graph: Path  # the folder of that test graph
    options: tuple[str, ...] = (  # of a small network
        *("--set", "model.dim=4", "--set", "model.layers=2", "--set", "model.hidden=[4]"),
        *("--set", "training.batch_size=16", "--set", "training.negatives=4"),
    )


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> SmallGraphs:
    """Small graphs of every kind."""
    from nbfnet.graph.loading import load

    folder, random = tmp_path_factory.mktemp("small"), np.random.default_rng(4)

    def write(path: Path, letter: str, nodes: int, relations: int, count: int) -> None:
        path.parent.mkdir(exist_ok=True, parents=True)
        # First a ring through all nodes, so that none is missing, nor a relation.
        ring = [(i, i % max(relations, 1), (i + 1) % nodes) for i in range(nodes)] if path.stem == "train" else []
        drawn = random.integers([nodes, max(relations, 1), nodes], size=(2 * count, 3)).tolist()
        # Each once, and without relations in one direction only: reading such a graph has nothing to note.
        keys = [(h, r, t) if relations else (min(h, t), r, max(h, t)) for h, r, t in [*ring, *drawn]]
        rows = list(dict(zip(keys, [*ring, *drawn], strict=True)).values())[:count]
        middle = [f"r{r}\t" if relations else "" for _, r, _ in rows]
        lines = [f"{letter}{h}\t{r}{letter}{t}\n" for (h, _, t), r in zip(rows, middle, strict=True)]
        path.write_text("".join(lines))

    for part, count in (("train", 60), ("valid", 8), ("test", 9)):
        write(folder / "knowledge" / f"{part}.txt", "e", 24, 3, count)
    for part, count in (("train", 41), ("valid", 6), ("test", 7)):
        write(folder / "homogeneous" / f"{part}.txt", "n", 20, 0, count)
    text, test_graph, store = folder / "text" / "inductive", folder / "text" / "test graph", folder / "inductive"
    for part, count in (("train", 60), ("valid", 8)):
        write(text / f"{part}.txt", "a", 24, 3, count)
    for part, count in (("train", 30), ("test", 9)):
        write(test_graph / f"{part}.txt", "b", 12, 3, count)
    write_store(load(text, test_graph=test_graph), store)
    return SmallGraphs(folder / "knowledge", folder / "homogeneous", store, test_graph)


# Names as people have them: spaces, quotes, commas, other scripts, characters that move a terminal or end a line.
HUBS = ('Ann "Nan" O\'Neil', "北京 市", "bell\x07ring", "Zoë, née X")
LEAVES = ("a,b", "two\u2028lines", "next\x85line", *(f"leaf {i}" for i in range(3, 24)))
ALONE = tuple(f"alone {i}" for i in range(8))  # in no training fact
RELATIONS = ("has part", "next to", 'größer "als"')
SMALL = {
    "model": {"dim": 8, "layers": 2, "hidden": [16]},
    "training": {"epochs": 1, "negatives": 4, "batch_size": 16},
}


@pytest.fixture(scope="session")
def small_config() -> dict[str, dict[str, object]]:
    """A network that is trained in a second."""
    return SMALL


@pytest.fixture(scope="session")
def things(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of train, valid and test: four stars in a ring, with leaves alike, and entities that no fact has.

    Two leaves share a readable name, a third has one of its own; hubs and leaves have types.
    """
    folder = tmp_path_factory.mktemp("data") / "things"
    has_part, next_to, greater = RELATIONS
    parts = [(HUBS[i % 4], has_part, leaf) for i, leaf in enumerate(LEAVES)]
    ring = [(HUBS[i], next_to, HUBS[(i + 1) % 4]) for i in range(4)]
    order = [(LEAVES[i], greater, LEAVES[i + 4]) for i in range(8)]
    splits = {
        "train": parts[:20] + ring + order,
        "valid": [
            *parts[20:22],
            (HUBS[0], next_to, HUBS[2]),
            (HUBS[1], has_part, ALONE[6]),
            (ALONE[7], next_to, "a,b"),
        ],
        "test": [
            *parts[22:],
            (HUBS[1], has_part, ALONE[1]),
            (HUBS[1], has_part, ALONE[2]),
            (ALONE[0], next_to, HUBS[0]),
            (LEAVES[2], greater, ALONE[3]),
            (ALONE[4], greater, ALONE[5]),
        ],
    }
    folder.mkdir()
    for part, links in splits.items():
        (folder / f"{part}.txt").write_text("".join("\t".join(link) + "\n" for link in links), encoding="utf-8")
    labels = "leaf 3\tTwin\nleaf 4\tTwin\nleaf 5\tFifth leaf\n"
    (folder / "entity_names.txt").write_text(labels, encoding="utf-8")
    types = [f"{name}\thub\n" for name in HUBS] + [f"{name}\tleaf\n" for name in LEAVES]
    (folder / "entity_types.txt").write_text("".join(types), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def things_run(things: Path, tmp_path_factory: pytest.TempPathFactory) -> nbfnet.Run:
    """A network that learned the things; nobody writes into its folder."""
    with single_thread():
        return nbfnet.train(things, tmp_path_factory.mktemp("runs") / "things", config=SMALL)


@pytest.fixture(scope="session")
def friends_run(tmp_path_factory: pytest.TempPathFactory) -> nbfnet.Run:
    """A network that learned a homogeneous graph: two rings with a leaf at every node, and a bridge."""
    edges = [(f"{ring}{i}", f"{ring}{(i + 1) % 10}") for ring in "ab" for i in range(10)]
    edges += [(f"{ring}{i}", f"{ring} leaf {i}") for ring in "ab" for i in range(10)] + [("a0", "b0")]
    config = {**SMALL, "training": {"epochs": 1, "batch_size": 16}}
    with single_thread():
        return nbfnet.train(
            nbfnet.read(edges, name="friends"), tmp_path_factory.mktemp("runs") / "friends", config=config
        )


@contextmanager
def single_thread() -> Iterator[None]:
    """Graphs of 40 nodes are done before a second thread has woken up."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def sigmoid_run(things_run: nbfnet.Run, tmp_path_factory: pytest.TempPathFactory) -> nbfnet.Run:
    """The same network without its curve: the least change of a score changes the probability."""
    folder = tmp_path_factory.mktemp("runs") / "sigmoid"
    shutil.copytree(things_run.folder.path, folder)
    run = nbfnet.Run.open(folder)
    run.folder.update(calibration=None)
    return run


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The golden values of the repository, and more where a folder has some."""
    if "golden_file" not in metafunc.fixturenames:
        return
    folders = [Path(__file__).parent / "model" / "golden"]
    if named := os.environ.get("NBFNET_GOLDEN"):
        folders.append(Path(named))
    elif data := os.environ.get("NBFNET_DATA"):
        folders.append(Path(data).resolve().parent / "golden")
    files = {file.stem: file for folder in folders[::-1] for file in sorted(folder.glob("*-*-*.safetensors"))}
    metafunc.parametrize("golden_file", [pytest.param(file, id=name) for name, file in sorted(files.items())])
