"""Ctrl-C and SIGTERM at random moments of several commands: exit code 130 or 143, and never a traceback."""

from __future__ import annotations

import random
import signal
import time

import pytest

TIMES = 6  # for each command

pytestmark = pytest.mark.usefixtures("nowhere")


@pytest.fixture(scope="module")
def run(commands, small, tmp_path_factory):
    folder = tmp_path_factory.mktemp("interrupted") / "run"
    ended = commands.run("train", small.knowledge, *small.options, "--epochs", 2, "-o", folder)
    assert ended.code == 0, ended.err
    return folder


@pytest.mark.parametrize("command", ["train", "evaluate", "predict", "data info"])
def test_at_random_moments(commands, small, run, tmp_path, command):
    queries = tmp_path / "queries.tsv"
    queries.write_text("".join(f"e{i}\tr0\t?\n" for i in range(24)))

    def start(number):
        if command == "train":
            return commands.start("train", small.knowledge, *small.options, "--epochs", 2, "-o", tmp_path / str(number))
        if command == "predict":
            return commands.start("predict", run, "--queries", queries, "-o", tmp_path / f"{number}.csv")
        return commands.start(*command.split(), run if command == "evaluate" else small.knowledge)

    begin = time.monotonic()
    ended = start("whole").wait()
    seconds = time.monotonic() - begin
    assert ended.code == 0, ended.err
    dice, codes = random.Random(command), []
    for number in range(TIMES):
        name = dice.choice([signal.SIGINT, signal.SIGINT, signal.SIGTERM])
        running = start(number)
        time.sleep(dice.uniform(0.02, 0.9) * seconds)
        running.send(name)
        ended = running.wait()
        assert "Traceback" not in ended.err and "Error" not in ended.err, ended.err
        # Before the command has begun, the system ends it.
        assert ended.code in (0, 128 + name, -signal.SIGTERM)
        codes.append(ended.code)
    assert any(codes)


def test_sigterm_is_143(commands, small, tmp_path):
    running = commands.start("train", small.knowledge, *small.options, "--epochs", 1000, "-o", tmp_path / "run")
    while "epoch 1:" not in running.err() and not (tmp_path / "run" / "log.jsonl").exists():
        assert running.code() is None, running.err()
        time.sleep(0.01)
    running.send(signal.SIGTERM)
    ended = running.wait()
    assert ended.code == 143 and "stopped with a checkpoint" in ended.err
