"""The command as a user runs it: in this process, where that is enough, or in one of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbfnet.cli import main
from nbfnet.progress import show_progress

TIMEOUT = 180  # seconds; a busy machine must not fail a test

Command = Callable[..., "Answer"]


@dataclass(frozen=True)
class Answer:
    """What a command gives back."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document of a command that succeeded; anything else on standard output is an error."""
        assert self.code == 0, self.err
        return json.loads(self.out)

    def assert_refused(self, *parts: str) -> None:
        """A user's mistake: exit code 2 and one message that holds these parts."""
        assert self.code == 2, (self.out, self.err)
        assert self.out == ""
        assert "Traceback" not in self.err
        assert sum(line.startswith("Error: ") for line in self.err.splitlines()) == 1, self.err
        for part in parts:
            assert part in self.err


@pytest.fixture
def nbfnet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], nowhere: Path) -> Iterator[Command]:
    """Run the command in this process."""

    def run(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["nbfnet", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_:
            main()
        shown = capsys.readouterr()
        return Answer(int(exit_.value.code or 0), shown.out, shown.err)

    yield run
    show_progress(False)


@pytest.fixture
def process(nowhere: Path) -> Command:
    """Run the command in a process of its own."""

    def run(*arguments: object, program: Sequence[str] = ("-m", "nbfnet")) -> Answer:
        command = [sys.executable, *program, *map(str, arguments)]
        ended = subprocess.run(command, capture_output=True, timeout=TIMEOUT)
        return Answer(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    return run


@pytest.fixture
def nowhere(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own, so that no dataset comes from the user's."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    for shown in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(shown, raising=False)
    return folder


@pytest.fixture
def triplets(tmp_path: Path) -> Path:
    """A knowledge graph of 600 lines, some of them there twice, with self loops and multi-edges."""
    random = np.random.default_rng(7)
    rows = random.integers([60, 5, 60], size=(600, 3))
    path = tmp_path / "graph.tsv"
    path.write_text("".join(f"e{h}\tr{r}\te{t}\n" for h, r, t in rows))
    return path


@pytest.fixture
def edges(tmp_path: Path) -> Path:
    """An edge list of 500 lines, with duplicates both ways and self loops."""
    rows = np.random.default_rng(8).integers(50, size=(500, 2))
    path = tmp_path / "edges.txt"
    path.write_text("".join(f"{u} {v}\n" for u, v in rows))
    return path


@pytest.fixture
def inductive(tmp_path: Path) -> Path:
    """A pair of folders: facts between a0..a19 to learn from, and others between b0..b9 to test on."""
    random = np.random.default_rng(9)

    def lines(letter: str, nodes: int, count: int) -> str:
        rows = random.integers([nodes, 3, nodes], size=(count, 3))
        return "".join(f"{letter}{h}\tr{r}\t{letter}{t}\n" for h, r, t in rows)

    folder, twin = tmp_path / "pair", tmp_path / "pair_ind"
    folder.mkdir()
    twin.mkdir()
    # A path through all nodes comes first, so that none is missing.
    path = [f"{a}{i}\tr{i % 3}\t{a}{i + 1}\n" for a, n in (("a", 20), ("b", 10)) for i in range(n - 1)]
    (folder / "train.txt").write_text("".join(path[:19]) + lines("a", 20, 60))
    (folder / "valid.txt").write_text(lines("a", 20, 7))
    (twin / "train.txt").write_text("".join(path[19:]) + lines("b", 10, 30))
    (twin / "test.txt").write_text(lines("b", 10, 5))
    return folder


@pytest.fixture(scope="session")
def listing() -> Callable[[Path], dict[str, bytes | None]]:
    """Everything below a folder, hidden files too, with the content of files."""

    def listing(folder: Path) -> dict[str, bytes | None]:
        return {
            str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in sorted(folder.rglob("*"))
        }

    return listing
