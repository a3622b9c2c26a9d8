from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from nbfnet.errors import DatasetError
from nbfnet.graph.datasets import download as downloading
from nbfnet.graph.datasets.download import download
from nbfnet.graph.datasets.registry_entry import Checksum

CONTENT = random.Random(0).randbytes(300_000)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch):
    monkeypatch.setattr(downloading, "WAITS", [0.0, 0.01, 0.01])


def sha256(content):
    return Checksum("sha256", hashlib.sha256(content).hexdigest())


def fetch(url, target, content=CONTENT):
    download(url, target, sha256(content))


def assert_only(target):
    """Nothing is left beside the target."""
    assert [path.name for path in target.parent.iterdir()] == [target.name]


def test_a_file_arrives(file_server, tmp_path):
    target = tmp_path / "new" / "folder" / "file.bin"
    fetch(file_server.put("file.bin", CONTENT), target)
    assert target.read_bytes() == CONTENT
    assert_only(target)
    assert file_server.requests == [("file.bin", None)]


def test_an_md5_checksum_serves_too(file_server, tmp_path):
    target = tmp_path / "file.bin"
    url = file_server.put("file.bin", CONTENT)
    download(url, target, Checksum("md5", hashlib.md5(CONTENT).hexdigest()))
    assert target.read_bytes() == CONTENT


def test_an_empty_file_arrives(file_server, tmp_path):
    target = tmp_path / "file.bin"
    fetch(file_server.put("file.bin", b""), target, b"")
    assert target.read_bytes() == b""


@pytest.mark.parametrize("lengths", [True, False])
def test_a_file_of_unknown_length_arrives(file_server, tmp_path, lengths):
    file_server.lengths = lengths
    target = tmp_path / "file.bin"
    fetch(file_server.put("file.bin", CONTENT), target)
    assert target.read_bytes() == CONTENT


def test_a_dropped_connection_is_resumed_where_it_dropped(file_server, tmp_path):
    file_server.drop_after = [100_000, 50_000, None]
    target = tmp_path / "file.bin"
    fetch(file_server.put("file.bin", CONTENT), target)
    assert target.read_bytes() == CONTENT
    assert [asked for _, asked in file_server.requests] == [None, "bytes=100000-", "bytes=150000-"]
    assert_only(target)


def test_many_drops_are_survived_while_bytes_arrive(file_server, tmp_path):
    file_server.drop_after = [20_000] * 12
    target = tmp_path / "file.bin"
    fetch(file_server.put("file.bin", CONTENT), target)
    assert target.read_bytes() == CONTENT


def test_a_server_without_ranges_begins_anew(file_server, tmp_path):
    file_server.ranges = False
    file_server.drop_after = [100_000, None]
    target = tmp_path / "file.bin"
    fetch(file_server.put("file.bin", CONTENT), target)
    assert target.read_bytes() == CONTENT
    assert len(file_server.requests) == 2


@pytest.mark.parametrize("tag", ["", 'W/"weak"'])
def test_without_a_mark_of_the_version_nothing_is_resumed(file_server, tmp_path, tag):
    file_server.tagged = bool(tag)
    file_server.drop_after = [100_000, None]
    target = tmp_path / "file.bin"
    fetch(file_server.put("file.bin", CONTENT, tag), target)
    assert target.read_bytes() == CONTENT
    assert [asked for _, asked in file_server.requests] == [None, None]


def test_a_file_that_changed_between_two_tries_begins_anew(file_server, tmp_path):
    target = tmp_path / "file.bin"
    url = file_server.put("file.bin", CONTENT)
    file_server.drop_after = [100_000, 0, 0, 0, 0]
    with pytest.raises(DatasetError):
        fetch(url, target)
    assert (tmp_path / "file.bin.part").stat().st_size == 100_000
    changed = CONTENT[::-1]
    file_server.put("file.bin", changed, '"second"')
    file_server.drop_after = []
    fetch(url, target, changed)
    assert target.read_bytes() == changed
    assert_only(target)


def test_a_later_call_resumes_what_an_earlier_one_kept(file_server, tmp_path):
    target = tmp_path / "file.bin"
    url = file_server.put("file.bin", CONTENT)
    file_server.drop_after = [100_000, 0, 0, 0, 0]
    with pytest.raises(DatasetError, match="try again") as raised:
        fetch(url, target)
    assert url in str(raised.value)
    assert not target.exists()
    file_server.requests.clear()
    file_server.drop_after = []
    fetch(url, target)
    assert target.read_bytes() == CONTENT
    assert file_server.requests == [("file.bin", "bytes=100000-")]


def test_a_damaged_partial_file_is_fetched_anew(file_server, tmp_path):
    target = tmp_path / "file.bin"
    url = file_server.put("file.bin", CONTENT)
    (tmp_path / "file.bin.part").write_bytes(b"x" * 1000)
    (tmp_path / "file.bin.part.version").write_text('"first"')
    fetch(url, target)
    assert target.read_bytes() == CONTENT
    assert [asked for _, asked in file_server.requests] == ["bytes=1000-", None]


def test_a_partial_file_that_is_already_complete_is_not_fetched_again(file_server, tmp_path):
    target = tmp_path / "file.bin"
    url = file_server.put("file.bin", CONTENT)
    (tmp_path / "file.bin.part").write_bytes(CONTENT)
    (tmp_path / "file.bin.part.version").write_text('"first"')
    fetch(url, target)
    assert target.read_bytes() == CONTENT
    assert file_server.requests == [("file.bin", "bytes=300000-")]
    assert_only(target)


def test_a_wrong_checksum_leaves_nothing(file_server, tmp_path):
    target = tmp_path / "file.bin"
    url = file_server.put("file.bin", CONTENT + b"x")
    with pytest.raises(DatasetError, match="wrong sha256 checksum") as raised:
        fetch(url, target)
    message = str(raised.value)
    assert url in message
    assert sha256(CONTENT).digest in message
    assert sha256(CONTENT + b"x").digest in message
    assert list(tmp_path.iterdir()) == []


def test_a_target_that_is_there_stays_when_its_replacement_is_wrong(file_server, tmp_path):
    target = tmp_path / "file.bin"
    target.write_bytes(b"old")
    with pytest.raises(DatasetError):
        fetch(file_server.put("file.bin", b"something else"), target)
    assert target.read_bytes() == b"old"


def test_a_file_that_is_not_there_fails_at_once(file_server, tmp_path):
    with pytest.raises(DatasetError, match="404") as raised:
        fetch(file_server.url + "/nowhere.bin", tmp_path / "file.bin")
    assert "/nowhere.bin" in str(raised.value)
    assert len(file_server.requests) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_busy_server_is_asked_again(file_server, tmp_path):
    file_server.statuses = [503, 429]
    target = tmp_path / "file.bin"
    fetch(file_server.put("file.bin", CONTENT), target)
    assert target.read_bytes() == CONTENT


def test_a_server_that_stays_busy_is_given_up(file_server, tmp_path):
    file_server.statuses = [503] * 20
    with pytest.raises(DatasetError, match="503"):
        fetch(file_server.put("file.bin", CONTENT), tmp_path / "file.bin")
    assert len(file_server.requests) == 4


def test_a_slow_start_is_waited_for(file_server, tmp_path):
    file_server.delays = [0.5]
    target = tmp_path / "file.bin"
    fetch(file_server.put("file.bin", CONTENT), target)
    assert target.read_bytes() == CONTENT
    assert len(file_server.requests) == 1


def test_a_silent_server_counts_as_dropped(file_server, tmp_path, monkeypatch):
    monkeypatch.setattr(downloading, "TIMEOUT", 0.1)
    file_server.delays = [0.4]
    target = tmp_path / "file.bin"
    fetch(file_server.put("file.bin", CONTENT), target)
    assert target.read_bytes() == CONTENT
    assert len(file_server.requests) == 2


def test_nobody_listening_is_an_error_with_a_way_out(file_server, tmp_path):
    url = file_server.put("file.bin", CONTENT).replace(file_server.url, "http://127.0.0.1:9")
    with pytest.raises(DatasetError, match="check the connection"):
        fetch(url, tmp_path / "file.bin")


def test_a_full_disk_is_noticed_before_it_is_full(file_server, tmp_path):
    file_server.claimed_length = 10**18
    with pytest.raises(DatasetError, match="make room"):
        download(file_server.put("file.bin", CONTENT), tmp_path / "file.bin", sha256(CONTENT), largest=10**19)


def test_a_folder_that_cannot_be_written_is_an_error_with_a_way_out(file_server, tmp_path):
    (tmp_path / "taken").write_text("a file, not a folder")
    with pytest.raises(DatasetError, match="cannot be written"):
        fetch(file_server.put("file.bin", CONTENT), tmp_path / "taken" / "file.bin")


def test_nothing_is_printed_unless_progress_is_switched_on(file_server, tmp_path, capsys):
    fetch(file_server.put("file.bin", CONTENT), tmp_path / "file.bin")
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(os.name == "nt", reason="sends the signal of Ctrl-C")
def test_ctrl_c_keeps_what_has_arrived(file_server, tmp_path):
    target = tmp_path / "file.bin"
    partial = tmp_path / "file.bin.part"
    url = file_server.put("file.bin", CONTENT)
    file_server.pace = 0.02
    program = (
        "from pathlib import Path\n"
        "from nbfnet.graph.datasets.registry_entry import Checksum\n"
        "from nbfnet.graph.datasets.download import download\n"
        f"download({url!r}, Path({str(target)!r}), Checksum('sha256', {sha256(CONTENT).digest!r}))\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60
    while not (partial.exists() and partial.stat().st_size > 0) and time.monotonic() < deadline:
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode != 0
    assert b"KeyboardInterrupt" in errors
    assert not target.exists()
    kept = partial.read_bytes()
    assert 0 < len(kept) < len(CONTENT)
    assert CONTENT.startswith(kept)

    file_server.pace = 0.0
    fetch(url, target)
    assert target.read_bytes() == CONTENT
    assert file_server.requests[-1] == ("file.bin", f"bytes={len(kept)}-")
    assert_only(target)


@pytest.mark.parametrize("lengths", [True, False])
def test_a_file_that_is_too_large_is_not_kept(file_server, tmp_path, lengths):
    """Whether the server says how long it is, or just goes on."""
    file_server.lengths = lengths
    url = file_server.put("file.bin", CONTENT)
    with pytest.raises(DatasetError, match="more than 299,999 bytes"):
        download(url, tmp_path / "file.bin", sha256(CONTENT), largest=len(CONTENT) - 1)
    assert list(tmp_path.iterdir()) == []
    assert len(file_server.requests) == 1
    download(url, tmp_path / "file.bin", sha256(CONTENT), largest=len(CONTENT))


def test_a_link_is_not_written_through(file_server, tmp_path):
    precious = tmp_path / "precious"
    precious.write_bytes(CONTENT[:1000])
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file.bin.part").symlink_to(precious)
    (tmp_path / "data" / "file.bin.part.version").write_text('"first"')
    fetch(file_server.put("file.bin", CONTENT, '"first"'), tmp_path / "data" / "file.bin")
    assert precious.read_bytes() == CONTENT[:1000]
    assert_only(tmp_path / "data" / "file.bin")
