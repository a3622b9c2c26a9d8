"""A disk that is really full: a clear error, nothing half-written, and the same command works once there is room."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import duckdb
import numpy as np
import pytest

from nbfnet.graph.store import read_store
from nbfnet.run import Run

TIMEOUT = 300  # seconds; a busy machine must not fail a test
ONE_THREAD = dict(os.environ) | {"OMP_NUM_THREADS": "1"}


class SmallDisk:
    """A file system of its own in memory, of some kilobytes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def resize(self, kilobytes: int) -> None:
        subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", str(self.path)], check=True)

    def names(self) -> list[str]:
        return sorted(str(path.relative_to(self.path)) for path in self.path.rglob("*"))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("needs root on Linux to mount a small disk")
    path = tmp_path / "disk"
    path.mkdir()
    options = ["-t", "tmpfs", "-o", "size=64k", "tmpfs", str(path)]
    if subprocess.run(["mount", *options], capture_output=True).returncode:
        pytest.skip("file systems cannot be mounted here")
    try:
        yield SmallDisk(path)
    finally:
        subprocess.run(["umount", str(path)], check=True)


def nbfnet(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nbfnet", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=ONE_THREAD, timeout=TIMEOUT)


def assert_refused(ended: subprocess.CompletedProcess[str], place: Path) -> None:
    assert (ended.returncode, ended.stdout) == (2, ""), ended
    errors = [line for line in ended.stderr.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 1 and str(place) in errors[0] and "No space left" in ended.stderr, ended.stderr
    assert "what to do: " in ended.stderr and "Traceback" not in ended.stderr


@pytest.mark.parametrize("kilobytes", [0, 64, 400, 1500])
def test_converting(disk: SmallDisk, tmp_path: Path, kilobytes: int) -> None:
    """The disk is full when the draft is made, while DuckDB works, or while the arrays are written."""
    rows = np.random.default_rng(0).integers([9_000, 20, 9_000], size=(30_000, 3)).tolist()
    (tmp_path / "facts.tsv").write_text("".join(f"entity {h}\tr{r}\tentity {t}\n" for h, r, t in rows))
    disk.resize(max(kilobytes, 4))
    if not kilobytes:
        (disk.path / "large").write_bytes(bytes(4096))
    before = disk.names()
    arguments = [
        "data",
        "convert",
        tmp_path / "facts.tsv",
        "-o",
        disk.path / "below" / "store",
        "--memory-limit",
        "1GB",
    ]
    assert_refused(nbfnet(*arguments), disk.path / "below" / "store")
    assert disk.names() == before
    disk.resize(100_000)
    assert nbfnet(*arguments).returncode == 0
    assert len(read_store(disk.path / "below" / "store", check=True).train.triplets) > 20_000


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("full") / "run"
    Run.begin(folder, "world", {"model": {"dim": 4, "layers": 2, "hidden": [4]}})
    return folder


@pytest.fixture(scope="module")
def queries(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200 of them, in 13 parts."""
    graph = Run.open(run).graph
    file = tmp_path_factory.mktemp("queries") / "queries.tsv"
    names = [graph.entities[int(node)] for node in graph.triplets.head[:2000:10]]
    file.write_text("".join(f"{name}\tin country\t?\n" for name in names))
    return file


def test_answers_of_one_process(disk: SmallDisk, run: Path, queries: Path, tmp_path: Path) -> None:
    """What was answered is kept, and nothing else."""
    file = disk.path / "answers.csv"
    arguments = ["predict", run, "--queries", queries, "-o", file]
    assert_refused(nbfnet(*arguments), file)
    assert disk.names() == ["answers.csv.progress"]
    disk.resize(100_000)
    ended = nbfnet(*arguments, "--json")
    assert ended.returncode == 0 and json.loads(ended.stdout)["answered_before"] > 0
    assert disk.names() == ["answers.csv"]
    assert nbfnet(*arguments[:-1], tmp_path / "whole.csv").returncode == 0
    assert file.read_bytes() == (tmp_path / "whole.csv").read_bytes()


@pytest.mark.skipif(find_spec("ray") is None, reason="needs Ray: pip install '.[distributed]'")
def test_answers_of_a_cluster(disk: SmallDisk, run: Path, queries: Path, tmp_path: Path) -> None:
    """The parts that had room are kept, and nothing else."""
    folder = disk.path / "answers"
    disk.resize(40)
    arguments = ["predict", run, "--queries", queries, "--engine", "ray", "--workers", 1, "-o", folder]
    assert_refused(nbfnet(*arguments), folder)
    kept = disk.names()
    assert kept[0] == "answers" and 0 < len(kept) - 1 < 13
    assert all(name.startswith("answers/part-") and name.endswith(".parquet") for name in kept[1:])
    disk.resize(100_000)
    ended = nbfnet(*arguments, "--json")
    assert ended.returncode == 0 and json.loads(ended.stdout)["answered_before"] == 16 * (len(kept) - 1)
    assert nbfnet(*arguments[:4], "-o", tmp_path / "whole.parquet").returncode == 0
    order = "SELECT * FROM read_parquet('{}') ORDER BY query, known, rank, answer"
    parts, whole = (order.format(files) for files in (folder / "*.parquet", tmp_path / "whole.parquet"))
    assert duckdb.sql(parts).fetchall() == duckdb.sql(whole).fetchall()
