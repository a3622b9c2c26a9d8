"""Every command that writes, killed at random moments of its writing: nothing half-written, and it can be run again.

``tests/training/test_kill.py`` kills trainings while others read their folders.
"""

from __future__ import annotations

import json
import random
import shutil
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nbfnet.graph.fingerprint import fingerprint
from nbfnet.graph.store import read_store
from nbfnet.training.checkpoint import read_tensors
from nbfnet.training.run_folder import RunFolder

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="kills processes as Linux lets it")

KILLS = 20
KILLS_IN_A_ROW = 5  # before the command may end: each finds what the ones before it left

# Kills itself at the so many-th moment: just before it writes into a file below a folder, or some time after it opens,
# renames or removes one; without a number it writes down how many moments there are. In the second case another process
# sends the signal, so that it may fall anywhere.
KILLED = """
import os, signal, sys, time
from pathlib import Path

place, moment, delay = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
sys.argv = ["nbfnet", *sys.argv[4:]]
met = 0

def watch(event, arguments):
    global met
    if event not in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir"):
        return
    if not isinstance(arguments[0], str | Path) or not str(arguments[0]).startswith(place):
        return
    sys.setprofile(watch_writing)
    met += 1
    victim = os.getpid()
    if met == moment and os.fork() == 0:
        time.sleep(delay)
        if os.getppid() == victim:  # it may have ended meanwhile
            os.kill(victim, signal.SIGKILL)
        os._exit(0)

def watch_writing(frame, event, called):
    global met  # a file that is opened to be written is empty until the first write
    if event != "c_call" or called.__name__ not in ("write", "writelines"):
        return
    name = getattr(called.__self__, "name", None)
    if isinstance(name, str | Path) and str(name).startswith(place):
        met += 1
        if met == moment:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(watch)
if sys.argv[1] == "calibrate":
    from nbfnet.prediction.members import calibrate_run
    from nbfnet.training.run_folder import RunFolder
    folder = RunFolder.open(Path(sys.argv[2]))
    calibrate_run(folder, folder.dataset())
else:
    from nbfnet.cli import main
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
print(met, file=sys.stderr)
"""


@dataclass(frozen=True)
class Writer:
    """A command that writes into a folder, what may be there when it was killed, and what it must give."""

    arguments: Callable[[Path], list[object]]
    check: Callable[[Path], object]  # fails where something is half-written
    result: Callable[[Path], Any]  # what two runs must have in common
    prepare: Callable[[Path], object] = lambda place: None
    new: str = "nothing"  # the folder that it makes, which must be new: once it is there, all is done


def names_in(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*")}


@pytest.fixture
def survives(commands, tmp_path):
    """Kill a writer twenty times, five times in a row at most; then it is run to its end, with the same result."""
    script = tmp_path / "killed.py"
    script.write_text(KILLED)

    def run(writer: Writer, place: Path, moment: int = 0, delay: float = 0.0):
        arguments = [place, moment, delay, *writer.arguments(place)]
        return commands.start(*arguments, script=script, TMPDIR=tmp_path).wait()

    def new_place(writer: Writer, name: str) -> Path:
        place = tmp_path / name
        place.mkdir()
        (place / "precious").write_text("precious")
        writer.prepare(place)
        return place

    def survives(writer: Writer) -> None:
        whole = new_place(writer, "whole")
        ended = run(writer, whole)
        assert ended.code == 0, ended.err
        moments, expected = int(ended.err.split()[-1]), writer.result(whole)
        kills, places, dice = 0, 0, random.Random(0)
        while kills < KILLS:
            places += 1
            place = new_place(writer, str(places))
            for _ in range(KILLS_IN_A_ROW):
                ended = run(writer, place, dice.randint(1, moments), dice.choice([0, 0.001, 0.01]) * dice.random())
                if ended.code == 0:
                    break
                assert ended.code == -signal.SIGKILL, ended.err
                kills += 1
                writer.check(place)
                if (place / writer.new).exists():
                    break
            else:
                ended = run(writer, place)
                assert ended.code == 0, ended.err
            assert writer.result(place) == expected
            assert (place / "precious").read_text() == "precious"
            if ended.code == 0:
                assert names_in(place) == names_in(whole)  # nothing of what was half-written is left

    return survives


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_data_split(survives, small):
    def check(place: Path) -> None:
        if (place / "split").exists():
            assert {path.name for path in (place / "split").iterdir()} == {"train.txt", "valid.txt", "test.txt"}

    survives(
        Writer(
            lambda place: ["data", "split", small.knowledge / "train.txt", "-o", place / "split"],
            check,
            lambda place: content_of(place / "split"),
            new="split",
        )
    )


def test_data_convert(survives, small):
    survives(
        Writer(
            lambda place: ["data", "convert", small.knowledge, "-o", place / "store"],
            lambda place: not (place / "store").exists() or read_store(place / "store", check=True),
            lambda place: fingerprint(read_store(place / "store", check=True)),
            new="store",
        )
    )


@pytest.fixture
def queries(tmp_path, small):
    lines = (small.knowledge / "test.txt").read_text().splitlines()
    file = tmp_path / "queries.tsv"
    file.write_text("".join(f"{head}\t{relation}\t?\n" for head, relation, _ in map(str.split, lines)))
    return file


@pytest.fixture(scope="module")
def trained(commands, small, tmp_path_factory):
    run = tmp_path_factory.mktemp("trained") / "run"
    ended = commands.run("train", small.knowledge, *small.options, "--epochs", "1", "-o", run)
    assert ended.code == 0, ended.err
    return run


def test_predict(survives, trained, queries, tmp_path):
    def result(place: Path) -> bytes:
        return (place / "answers.csv").read_bytes()

    def check(place: Path) -> None:
        whole = tmp_path / "whole"
        assert result(place) in (b"before", result(whole))

    survives(
        Writer(
            lambda place: ["predict", trained, "--queries", queries, "-o", place / "answers.csv"],
            check,
            result,
            lambda place: (place / "answers.csv").write_bytes(b"before"),
        )
    )


def outcome(run: Path) -> Any:
    tensors, _ = read_tensors(run / "checkpoint.safetensors")
    manifest = json.loads((run / "manifest.json").read_text())
    parameters = {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}
    return (run / "model.safetensors").read_bytes(), parameters, manifest["metrics"], manifest["calibration"]


def open_whole(run: Path) -> None:
    if run.exists():
        folder = RunFolder.open(run)
        folder.network(folder.dataset())


def without_times(document: Any) -> Any:
    if isinstance(document, dict):
        return {key: without_times(value) for key, value in document.items() if not key.endswith("seconds")}
    return [without_times(value) for value in document] if isinstance(document, list) else document


def test_reproduce(survives, small, tmp_path):
    experiment = tmp_path / "tiny.toml"
    experiment.write_text(
        f'[experiment]\nsource = "{small.knowledge}"\ntable = "mine"\nseeds = [3, 4]\npaper = {{ mrr = 0.5 }}\n'
        "[model]\ndim = 4\nlayers = 2\nhidden = [4]\n"
        "[training]\nepochs = 1\nbatch_size = 32\nnegatives = 4\ncheckpoint_minutes = 1e-9\n"
    )
    runs = ("tiny-seed3", "tiny-seed4")

    def check(place: Path) -> None:
        for run in runs:
            open_whole(place / "runs" / run)
        if (place / "results" / "tiny.json").exists():
            json.loads((place / "results" / "tiny.json").read_text())

    def result(place: Path) -> Any:
        document = json.loads((place / "results" / "tiny.json").read_text())
        return without_times(document), [outcome(place / "runs" / run) for run in runs]

    survives(
        Writer(
            lambda place: ["reproduce", experiment, "--runs", place / "runs", "--results", place / "results"],
            check,
            result,
        )
    )


def test_calibrate(survives, trained):
    def prepare(place: Path) -> None:
        shutil.copytree(trained, place / "run")
        RunFolder.open(place / "run").update(calibration=None)

    def check(place: Path) -> None:
        open_whole(place / "run")
        assert outcome(place / "run")[:3] == outcome(trained)[:3]

    survives(Writer(lambda place: ["calibrate", place / "run"], check, lambda place: outcome(place / "run"), prepare))
