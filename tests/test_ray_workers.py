"""A real Ray cluster of two workers on this machine answers and evaluates as one process does, whoever dies."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import duckdb
import pytest

from nbfnet.errors import MissingExtraError
from nbfnet.graph.loading import load
from nbfnet.prediction.answer_parts import MANIFEST
from nbfnet.ray_workers import import_ray
from nbfnet.run import Run

TIMEOUT = 300  # seconds; a busy machine must not fail a test
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install '.[distributed]'")
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes as Linux lists them")
ENGINE = ["--engine", "ray", "--workers", "2"]
ONE_THREAD = dict(os.environ) | {"OMP_NUM_THREADS": "1"}
QUERIES = 700  # in 44 parts


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A network of some size that was not trained, on the graph of countries and cities."""
    folder = tmp_path_factory.mktemp("ray") / "run"
    Run.begin(folder, "world", {"model": {"dim": 16, "layers": 4, "hidden": [16]}})
    return folder


@pytest.fixture(scope="module")
def queries(tmp_path_factory) -> Path:
    """Questions for heads, relations and tails, as a Parquet file."""
    graph = load("world").train
    rows = []
    for i in range(QUERIES):
        fact = [part[20 * i] for part in (graph.triplets.head, graph.triplets.relation, graph.triplets.tail)]
        names = [graph.entities[fact[0]], graph.relations[fact[1]], graph.entities[fact[2]]]
        rows.append([*names[: i % 3], "?", *names[i % 3 + 1 :]])
    file = tmp_path_factory.mktemp("queries") / "big.parquet"
    connection = duckdb.connect()
    connection.execute("CREATE TABLE asked (head VARCHAR, relation VARCHAR, tail VARCHAR)")
    connection.executemany("INSERT INTO asked VALUES (?, ?, ?)", rows)
    connection.execute(f"COPY asked TO '{file}' (FORMAT parquet)")
    return file


@pytest.fixture(scope="module")
def expected(run, queries, tmp_path_factory) -> list[tuple]:
    """The answers of one process."""
    file = tmp_path_factory.mktemp("alone") / "answers.parquet"
    said = f"{file}: the answers to 700 queries\n"
    assert ended("predict", run, "--queries", queries, "-k", "3", "-o", file) == (0, said, "")
    return rows_of(file)


def start(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "nbfnet", *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=ONE_THREAD, start_new_session=True)


def ended(*arguments: object, process: subprocess.Popen[str] | None = None) -> tuple[int, str, str]:
    """The exit code of a command, its output, and what it said."""
    with process or start(*arguments) as running:
        try:
            out, err = running.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            raise
    return running.returncode, out, err


def rows_of(place: Path) -> list[tuple]:
    files = sorted(place.glob("part-*.parquet")) if place.is_dir() else [place]
    return [row for file in files for row in duckdb.sql(f"SELECT * FROM read_parquet('{file}')").fetchall()]


def wait_for_parts(folder: Path, count: int, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + TIMEOUT
    while len(list(folder.glob("part-*.parquet"))) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.005)


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """The processes of a command that do its work, by the name that Ray gives them."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            title = (entry / "cmdline").read_bytes().decode(errors="replace")
            session = int((entry / "stat").read_text().rpartition(")")[2].split()[3])
        except (OSError, ValueError):
            continue
        if title.startswith("ray::") and "MapWorker" in title and session == process.pid:
            found.append(int(entry.name))
    return found


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@needs_ray
@needs_linux
def test_a_worker_that_is_killed_midway(run, queries, expected, tmp_path):
    """Every query is answered once, with the answers of one process, and Ray says nothing of its own."""
    folder = tmp_path / "answers"
    process = start("predict", run, "--queries", queries, "-k", "3", "-o", folder, *ENGINE)
    wait_for_parts(folder, 3, process)
    workers = workers_of(process)
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    code, out, err = ended(process=process)
    assert (code, out, err) == (0, f"{folder}: the answers to 700 queries\n", "")
    assert rows_of(folder) == expected
    manifest = json.loads((folder / MANIFEST).read_text())
    assert names_in(folder) == sorted([MANIFEST, *(part["file"] for part in manifest["parts"])])
    assert manifest["queries"] == QUERIES and len(manifest["parts"]) == 44
    # Once more there is nothing left to do.
    before = {path: path.stat().st_mtime_ns for path in folder.glob("part-*")}
    code, out, err = ended("predict", run, "--queries", queries, "-k", "3", "-o", folder, *ENGINE, "--json")
    assert (code, json.loads(out)["answered_before"]) == (0, QUERIES), err
    assert {path: path.stat().st_mtime_ns for path in folder.glob("part-*")} == before


@needs_ray
@needs_linux
def test_an_interrupted_command_resumes_with_the_missing_parts(run, queries, expected, tmp_path):
    folder = tmp_path / "answers"
    arguments = ["predict", run, "--queries", queries, "-k", "3", "-o", folder, *ENGINE]
    process = start(*arguments)
    wait_for_parts(folder, 5, process)
    os.killpg(process.pid, signal.SIGINT)  # to all of them, as a terminal sends it
    code, out, err = ended(process=process)
    assert (code, out, err) == (130, "", "")
    kept = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert 5 <= len(kept) < 44 and all(path.match("part-*.parquet") for path in kept)
    code, out, err = ended(*arguments, "--json")
    done = {"output": str(folder), "queries": QUERIES, "answered_before": 16 * len(kept)}
    assert code == 0 and json.loads(out) == done, err
    assert err == f"resumed: {16 * len(kept)} queries were answered before\n"
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert rows_of(folder) == expected


@needs_ray
def test_an_evaluation_on_a_cluster(run, tmp_path):
    arguments = ["evaluate", run, "--sample", "300", "--baselines", "--json"]
    documents = []
    for options in ([], ENGINE):
        code, out, err = ended(*arguments, *options)
        assert (code, err) == (0, ""), err
        documents.append(json.loads(out))
    for document in documents:
        document.pop("seconds")
    assert documents[0] == documents[1]


@needs_ray
def test_what_a_worker_cannot_do_is_the_error_of_one_process(run, queries, tmp_path):
    """The run is damaged after the command has opened it: only the workers see that."""
    copy = tmp_path / "run"
    script = (
        "import shutil, sys\n"
        "from nbfnet.cli import main\n"
        "from nbfnet.prediction import answer_parts\n"
        "missing = answer_parts.AnswerParts.missing\n"
        "def spoil(self, parts):\n"
        f"    shutil.rmtree({str(copy)!r})\n"
        "    return missing(self, parts)\n"
        "answer_parts.AnswerParts.missing = spoil\n"
        "main()\n"
    )
    shutil.copytree(run, copy)
    command = [sys.executable, "-c", script, "predict", copy, "--queries", queries, "-o", tmp_path / "answers", *ENGINE]
    command.append("--quiet")  # a busy machine may take so long that progress is reported first
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env=ONE_THREAD, timeout=TIMEOUT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {copy}: there is no such folder\n"), done.stderr
    assert names_in(tmp_path) == []


@needs_ray
def test_a_cluster_that_is_not_there(run, queries, tmp_path):
    options = ["--engine", "ray", "--address", "127.0.0.1:1"]
    code, out, err = ended("predict", run, "--queries", queries, "-o", tmp_path / "answers", *options)
    assert (code, out) == (2, "")
    assert err.startswith("Error: no Ray cluster can be used at '127.0.0.1:1'") and err.count("\n") == 1, err
    assert names_in(tmp_path) == []


KILLER = """
import os
from functools import partial
from nbfnet.errors import TeamError
from nbfnet.ray_workers import RayWorkers
try:
    list(RayWorkers(count=1).map(partial(partial, os._exit), [1]))
except TeamError as error:
    print(error)
"""


@needs_ray
def test_work_that_kills_every_worker_comes_to_an_end():
    command = [sys.executable, "-c", KILLER]
    done = subprocess.run(command, capture_output=True, text=True, env=ONE_THREAD, timeout=TIMEOUT)
    assert done.stdout.startswith("the workers of Ray have stopped: ") and done.stderr == "", done


def test_without_ray_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[distributed\]'"):
        import_ray()
