"""Files that appear whole or not at all: never through links, never over what is not a file, never over other files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from nbfnet.errors import NbfnetError, WriteError
from nbfnet.graph.atomic import new_folder, open_alone, replacing


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_the_target_is_replaced_when_all_is_written(tmp_path):
    target = tmp_path / "new" / "x.svg"
    with replacing(target) as partial:
        partial.write_text("first")
        assert not target.exists()
    with replacing(target) as partial:
        partial.write_text("second")
        assert target.read_text() == "first"
    assert target.read_text() == "second"
    with pytest.raises(ZeroDivisionError), replacing(target) as partial:
        partial.write_text("third")
        raise ZeroDivisionError
    assert target.read_text() == "second" and names(target.parent) == ["x.svg"]


def test_a_file_of_the_user_is_not_taken_for_a_partial_one(tmp_path):
    (tmp_path / "x.svg.part").write_text("mine")
    with replacing(tmp_path / "x.svg") as partial:
        partial.write_text("new")
    assert (tmp_path / "x.svg.part").read_text() == "mine"


def test_partial_files_have_names_that_nobody_can_foresee(tmp_path):
    seen = set()
    for _ in range(20):
        with replacing(tmp_path / "x") as partial:
            assert partial.is_file() and not partial.is_symlink() and ".nbfnet-" in partial.name
            seen.add(partial.name)
    assert len(seen) == 20


@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_is_neither_followed_nor_replaced(tmp_path, exists):
    precious, link = tmp_path / "precious", tmp_path / "link"
    if exists:
        precious.write_text("precious")
    link.symlink_to(precious)
    with pytest.raises(WriteError, match=r"symbolic link[\s\S]*precious"), replacing(link):
        pytest.fail("there is nothing to write to")
    assert link.is_symlink() and precious.exists() == exists
    assert not exists or precious.read_text() == "precious"


def test_what_is_not_a_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    refused = [(tmp_path / "pipe", "a pipe"), (tmp_path / "folder", "a folder"), (Path("/dev/null"), "a device")]
    for target, what in [*refused, (Path("/dev/stdout"), "symbolic link|device|pipe")]:
        with pytest.raises(WriteError, match=what), replacing(target):
            pytest.fail("there is nothing to write to")
    assert names(tmp_path) == ["folder", "pipe"] and (tmp_path / "pipe").is_fifo()


HANGS = """
import sys, time
from pathlib import Path
from nbfnet.graph.atomic import replacing
with replacing(Path(sys.argv[1])) as partial:
    partial.write_text("half")
    print("begun", flush=True)
    time.sleep(600)
"""


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path):
    target = tmp_path / "[x]*.svg"
    command = [sys.executable, "-c", HANGS, str(target)]
    living, killed = (subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2))
    try:
        for process in (living, killed):
            assert process.stdout is not None and process.stdout.readline() == "begun\n"
        assert len(names(tmp_path)) == 2
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        with replacing(target) as partial:
            partial.write_text("whole")
        assert len(names(tmp_path)) == 2 and target.read_text() == "whole"  # the target, and what the living one writes
    finally:
        for process in (living, killed):
            process.kill()
            process.wait()
            process.stdout.close()
    with replacing(target) as partial:
        partial.write_text("again")
    assert names(tmp_path) == [target.name]


def test_many_writers_of_one_file_leave_one_of_their_files(tmp_path):
    target, errors = tmp_path / "x", []

    def write(letter: str) -> None:
        try:
            for _ in range(30):
                with replacing(target) as partial:
                    partial.write_text(letter * 1000)
        except BaseException as error:
            errors.append(error)

    writers = [threading.Thread(target=write, args=(letter,)) for letter in "abc"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert not errors and names(tmp_path) == ["x"]
    assert target.read_text() in {letter * 1000 for letter in "abc"}


def test_a_file_is_opened_by_one_alone(tmp_path):
    first = open_alone(tmp_path / "x")
    with pytest.raises(BlockingIOError):
        open_alone(tmp_path / "x")
    (tmp_path / "x").unlink()  # another file of the same name is free
    second = open_alone(tmp_path / "x")
    os.close(first)
    os.close(second)
    os.close(open_alone(tmp_path / "x"))
    (tmp_path / "link").symlink_to(tmp_path / "x")
    with pytest.raises(OSError):
        open_alone(tmp_path / "link")


def test_a_folder_is_not_put_through_a_link(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    for name, place in (("link", "elsewhere"), ("dangling", "nowhere")):
        (tmp_path / name).symlink_to(tmp_path / place)
        with pytest.raises(NbfnetError), new_folder(tmp_path / name) as draft:
            (draft / "file").write_text("x")
    assert names(tmp_path) == ["dangling", "elsewhere", "link"] and names(tmp_path / "elsewhere") == []


def test_what_a_process_killed_before_its_first_file_left_is_removed(tmp_path):
    (tmp_path / ".x-abcd1234").mkdir()
    (tmp_path / ".x-abcd1235" / "draft").mkdir(parents=True)
    (tmp_path / ".x-mynotes1").mkdir()
    (tmp_path / ".x-mynotes1" / "note").write_text("mine")
    with new_folder(tmp_path / "x") as draft:
        (draft / "file").write_text("x")
    assert names(tmp_path) == [".x-mynotes1", "x"] and names(tmp_path / ".x-mynotes1") == ["note"]


def test_many_writers_of_one_folder_leave_one_of_their_folders(tmp_path):
    made, errors = [], []

    def write(letter: str) -> None:
        try:
            with new_folder(tmp_path / "x") as draft:
                (draft / "file").write_text(letter)
            made.append(letter)
        except NbfnetError as error:
            errors.append(str(error))

    writers = [threading.Thread(target=write, args=(letter,)) for letter in "abcdefgh"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(made) == 1 and len(errors) == 7, errors
    assert names(tmp_path) == ["x"] and (tmp_path / "x" / "file").read_text() == made[0]
    assert all("exists already" in error or "not empty" in error for error in errors), errors
