from __future__ import annotations

import json
import math
import os

import pytest

from nbfnet.errors import RunFolderError, WriteError
from nbfnet.training.log import Log, read_log

ENTRY = {"epoch": 1.0, "step": 3, "loss": 0.5, "valid": {"mrr": 0.1}, "training_seconds": 1, "validation_seconds": 2}


def test_lines_in_lines_out(tmp_path):
    assert read_log(tmp_path) == []
    log = Log(tmp_path, 0)
    lengths = [log.append(ENTRY), log.append(ENTRY | {"valid": {}})]
    assert lengths[1] == (tmp_path / "log.jsonl").stat().st_size
    assert read_log(tmp_path) == [ENTRY, ENTRY | {"valid": {}}]


def test_what_is_not_a_number_is_null_in_the_file(tmp_path):
    Log(tmp_path, 0).append(ENTRY | {"loss": float("inf"), "valid": {"mrr": float("nan"), "mr": 2.0}})
    assert b'"mrr": null' in (tmp_path / "log.jsonl").read_bytes()
    assert b"NaN" not in (tmp_path / "log.jsonl").read_bytes()
    [entry] = read_log(tmp_path)
    assert math.isnan(entry["loss"]) and math.isnan(entry["valid"]["mrr"]) and entry["valid"]["mr"] == 2


def test_what_came_after_the_state_is_cut_off(tmp_path):
    log = Log(tmp_path, 0)
    length = log.append(ENTRY)
    log.append(ENTRY | {"epoch": 2.0})
    with (tmp_path / "log.jsonl").open("ab") as file:
        file.write(b'{"epoch": 3')
    assert [entry["epoch"] for entry in read_log(tmp_path)] == [1.0, 2.0]  # a line that was cut off is no line
    Log(tmp_path, length).append(ENTRY | {"epoch": 2.5})
    assert [entry["epoch"] for entry in read_log(tmp_path)] == [1.0, 2.5]


def test_a_log_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "log.jsonl")
    with pytest.raises(RunFolderError, match="pipe"):
        read_log(tmp_path)
    with pytest.raises(WriteError, match="pipe"):
        Log(tmp_path, 0)


@pytest.mark.parametrize("content", ["precious", None])
def test_a_log_that_is_a_link_is_not_followed(tmp_path, tmp_path_factory, content):
    precious = tmp_path_factory.mktemp("home") / "precious"
    if content:
        precious.write_text(content)
    (tmp_path / "log.jsonl").symlink_to(precious)
    with pytest.raises(WriteError, match="symbolic link"):
        Log(tmp_path, 0)
    assert precious.read_text() == content if content else not precious.exists()


def test_a_log_that_is_too_short_or_gone(tmp_path):
    length = Log(tmp_path, 0).append(ENTRY)
    (tmp_path / "log.jsonl").write_text("")
    with pytest.raises(RunFolderError, match=f"it has 0 bytes, the checkpoint was written when it had {length}"):
        Log(tmp_path, length)
    (tmp_path / "log.jsonl").unlink()
    with pytest.raises(RunFolderError, match=r"log\.jsonl"):
        Log(tmp_path, length)


@pytest.mark.parametrize(
    "line",
    [
        b"no JSON",
        b"\xff\xfe",
        b"\0\0\0",
        b"[1, 2]",
        b"3",
        b"{}",
        json.dumps(ENTRY | {"valid": 3}).encode(),
        json.dumps(ENTRY | {"loss": "low"}).encode(),
        json.dumps(ENTRY | {"loss": "0.5"}).encode(),
        b"[" * 100_000,
    ],
)
def test_damaged_lines(tmp_path, line):
    (tmp_path / "log.jsonl").write_bytes(json.dumps(ENTRY).encode() + b"\n" + line + b"\n")
    with pytest.raises(RunFolderError, match=r"log\.jsonl: line 2 "):
        read_log(tmp_path)
