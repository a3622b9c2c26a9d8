"""Trainings in processes of their own that are killed, interrupted, or find no room on the disk."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nbfnet.errors import RunFolderError
from nbfnet.training.checkpoint import read_tensors
from nbfnet.training.run_folder import RunFolder

TIMEOUT = 180  # seconds; a busy machine must not fail a test
FILES = {"manifest.json", "model.safetensors", "data", "log.jsonl", "checkpoint.safetensors"}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="watches and limits processes as Linux lets it")


@pytest.fixture(scope="module")
def options(small):
    """A training of 96 steps that writes a checkpoint after every one of them."""
    often = ("--set", "training.checkpoint_minutes=1e-9", "--set", "training.validations_per_epoch=2")
    return [small.knowledge, *small.options, "--set", "training.batch_size=8", "--epochs", "12", *often]


@pytest.fixture(scope="module")
def uninterrupted(commands, options, tmp_path_factory):
    run = tmp_path_factory.mktemp("uninterrupted") / "run"
    ended = commands.run("train", *options, "-o", run)
    assert ended.code == 0, ended.err
    return run


def open_whole(run: Path) -> None:
    """Open a folder as any reader would, in the middle of whatever its writer does."""
    folder = RunFolder.open(run)
    folder.network(folder.dataset())


def wait_for(true, running) -> bool:
    """Until something is so; False if the process has ended before."""
    until = time.monotonic() + TIMEOUT
    while not true():
        if running.code() is not None:
            return False
        assert time.monotonic() < until, "what was waited for never came"
        time.sleep(0.001)
    return True


def checkpoint_of(run: Path):
    """Which file the checkpoint is: another one after each replacement."""
    try:
        status = (run / "checkpoint.safetensors").stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def resume_until_killed(commands, options, run: Path, delay: float) -> bool:
    """Begin or go on, and kill some time after the first checkpoint; False if it has ended before."""
    before = checkpoint_of(run)
    running = commands.start("train", *options, "-o", run, *(["--resume"] if run.exists() else []))
    if wait_for(lambda: checkpoint_of(run) != before, running):
        until = time.monotonic() + delay
        while time.monotonic() < until:
            open_whole(run)
    running.send(signal.SIGKILL)
    return running.wait().code == -signal.SIGKILL


def test_killed_twenty_times_at_random_moments(commands, options, uninterrupted, outcome, tmp_path):
    kills, runs, dice = 0, 0, random.Random(0)
    expected = outcome(uninterrupted)
    while kills < 20:
        runs += 1
        run = tmp_path / str(runs)
        while kills < 20 and resume_until_killed(commands, options, run, dice.uniform(0, 0.05)):
            kills += 1
            open_whole(run)
            left = {entry.name for entry in run.iterdir() if not entry.match(".*.nbfnet-????????.part")}
            assert left <= {*FILES, ".lock"}
        ended = commands.run("train", *options, "-o", run, "--resume")
        assert ended.code == 0, ended.err
        assert outcome(run) == expected
        assert {entry.name for entry in run.iterdir()} == FILES  # nothing of what was half-written is left


def test_the_command_itself_killed_twice(commands, options, uninterrupted, outcome, tmp_path):
    run, dice = tmp_path / "run", random.Random(1)
    for goes_on in ([], ["--resume"]):
        command = [sys.executable, "-m", "nbfnet", "train", *map(str, options), "-o", str(run), *goes_on]
        before = checkpoint_of(run)
        environment = dict(os.environ) | {"OMP_NUM_THREADS": "1"}
        with subprocess.Popen(command, stderr=subprocess.DEVNULL, env=environment) as process:
            until = time.monotonic() + TIMEOUT
            while checkpoint_of(run) == before:
                assert process.poll() is None and time.monotonic() < until
                time.sleep(0.001)
            time.sleep(dice.uniform(0, 0.1))
            process.kill()
        assert process.returncode == -signal.SIGKILL
        open_whole(run)
    assert commands.run("train", *options, "-o", run, "--resume").code == 0
    assert outcome(run) == outcome(uninterrupted)


DIES = """
import os, signal
from nbfnet.cli import main
from nbfnet.training.run_folder import RunFolder
from nbfnet.training.log import Log

def die_after(owner, name):
    do = getattr(owner, name)
    def do_and_die(*arguments, **options):
        do(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)
    setattr(owner, name, do_and_die)

die_after(*{WHERE})
main()
"""


@pytest.mark.parametrize("where", ["RunFolder, 'write_network'", "RunFolder, 'update'", "Log, 'append'"])
def test_killed_in_the_first_validation(commands, options, small, outcome, tmp_path, where):
    """One batch an epoch, no checkpoint yet but that of the beginning: the files of a validation are ahead of it."""
    script = tmp_path / "dies.py"
    script.write_text(DIES.replace("{WHERE}", f"({where})"))
    once = [small.knowledge, *small.options, "--set", "training.batch_size=100", "--epochs", "2"]
    assert commands.run("train", *once, "-o", tmp_path / "killed", script=script).code == -signal.SIGKILL
    open_whole(tmp_path / "killed")
    assert commands.run("train", *once, "-o", tmp_path / "killed", "--resume").code == 0
    assert commands.run("train", *once, "-o", tmp_path / "whole").code == 0
    assert outcome(tmp_path / "killed") == outcome(tmp_path / "whole")


def seconds_of(number: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_work(seconds: float, running) -> bool:
    """Until a process has worked so long, however little of the processor it gets; False if it has ended before."""
    begin = seconds_of(running.number)
    return wait_for(lambda: seconds_of(running.number) >= begin + seconds, running)


def test_ctrl_c_until_it_is_done(commands, options, uninterrupted, outcome, tmp_path):
    """No checkpoint but those of validations, every 4 steps: what Ctrl-C saves is of that very moment."""
    rarely = [*options, "--set", "training.checkpoint_minutes=1000"]
    run, steps, dice = tmp_path / "run", [], random.Random(2)
    while len(steps) < 5 or not any(step % 4 for step in steps):
        running = commands.start("train", *rarely, "-o", run, *(["--resume"] if run.exists() else []))
        assert wait_for(lambda running=running: "training: epochs" in running.err(), running)
        assert wait_for_work(dice.uniform(0.03, 0.1), running)
        running.send(signal.SIGINT)
        ended = running.wait()
        assert (ended.code, ended.out) == (130, "")
        assert not any(word in ended.err for word in ("Traceback", "Error", "Aborted"))
        assert {entry.name for entry in run.iterdir()} == FILES
        open_whole(run)
        steps.append(read_tensors(run / "checkpoint.safetensors")[1]["step"])
    assert sorted(steps) == steps and steps[0] < steps[-1]
    assert commands.run("train", *rarely, "-o", run, "--resume").code == 0
    assert outcome(run) == outcome(uninterrupted)


def test_ctrl_c_before_the_first_step_leaves_a_whole_folder_or_none(commands, options, tmp_path):
    for number in range(4):
        run = tmp_path / str(number) / "run"
        run.parent.mkdir()
        running = commands.start("train", *options, "-o", run)
        wait_for_work(number / 50, running)
        running.send(signal.SIGINT)
        assert running.wait().code == 130
        if run.exists():
            open_whole(run)
        else:
            assert list(run.parent.iterdir()) == []


def test_a_disk_without_room(commands, options, uninterrupted, outcome, tmp_path):
    """No file may grow beyond some size: at each of them a part fits and the next does not."""
    ends = set()
    for size in (40, 400, 2000, 4000, 8000):
        run = tmp_path / str(size) / "run"
        run.parent.mkdir()
        ended = commands.run("train", *options, "-o", run, largest_file=size)
        if ended.code == 0:
            continue
        ends.add(run.exists())
        assert ended.code == 2
        if size > 40:  # there is no room for the message either
            assert ended.err.count("Error: ") == 1 and "cannot be written: File too large" in ended.err
            assert "Traceback" not in ended.err
        if not run.exists():
            assert list(run.parent.iterdir()) == []
            continue
        open_whole(run)
        assert {entry.name for entry in run.iterdir()} <= FILES
        ended = commands.run("train", *options, "-o", run, "--resume")
        assert ended.code == 0, ended.err
        assert outcome(run) == outcome(uninterrupted)
    assert ends == {True, False}


def test_a_checkpoint_that_finds_no_room_leaves_the_one_before(commands, options, uninterrupted, outcome, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(uninterrupted, run)
    before = (run / "checkpoint.safetensors").read_bytes()
    more = ["train", *options, "-o", run, "--resume", "--epochs", "13"]
    ended = commands.run(*more, largest_file=len(before) - 100)
    assert ended.code == 2
    assert "checkpoint.safetensors: cannot be written: File too large" in ended.err and "--resume" in ended.err
    assert (run / "checkpoint.safetensors").read_bytes() == before
    assert commands.run(*more).code == 0
    with pytest.raises(RunFolderError, match="damaged"):
        (run / "checkpoint.safetensors").write_bytes(before[:-100])
        read_tensors(run / "checkpoint.safetensors")
