"""The command in a process of its own: streams, encodings, terminals, pipes that close."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import select
import shutil
import struct
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

TIMEOUT = 180  # seconds; a busy machine must not fail a test
COMMAND = [sys.executable, "-m", "nbfnet"]
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="uses devices and terminals as Linux has them")


def test_the_installed_command_is_the_module(process):
    script = Path(sysconfig.get_path("scripts")) / "nbfnet"
    if not script.exists():
        pytest.skip(f"nbfnet is not installed as a command in {script.parent}")
    shown = subprocess.run([script, "data", "list", "--json"], capture_output=True, text=True, timeout=TIMEOUT)
    answer = process("data", "list", "--json")
    assert (shown.returncode, shown.stdout) == (0, answer.out)
    assert answer.document[0]["name"] == "fb15k-237"


def test_success_and_mistake_use_their_own_streams(process, triplets):
    with triplets.open("a") as stream:
        stream.write("bad line\n")
    answer = process("data", "info", triplets, "--skip-bad-lines", "--json")
    assert answer.document["skipped_lines"] == 1
    assert answer.err.startswith("1 bad line skipped\n")
    process("data", "info", triplets, "--json").assert_refused("graph.tsv, line 601", "'bad line'")
    process("data", "info", triplets, "--bogus").assert_refused("--bogus", "Usage: nbfnet data info")


def test_help_and_version(nbfnet, monkeypatch):
    assert nbfnet("--version").out == f"nbfnet {importlib.metadata.version('nbfnet')}\n"
    monkeypatch.setenv("COLUMNS", "80")
    for page in (
        [],
        ["data"],
        ["data", "list"],
        ["data", "check"],
        ["data", "info"],
        ["data", "split"],
        ["data", "convert"],
        ["demo"],
    ):
        answer = nbfnet(*page, "--help")
        assert answer.code == 0
        assert answer.out.startswith(" ".join(["Usage: nbfnet", *page]))
        assert max(map(len, answer.out.splitlines())) <= 80
        assert "..." not in answer.out.replace("[ARGS]...", "")  # no sentence is cut short


UNICODE = "".join(f"é{i}\tgrößer als\t北京{i}\n北京{i}\tgrößer als\té{i}\n" for i in range(30))


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii"},
    ],
    ids=["C", "C and no UTF-8", "ascii"],
)
def test_names_that_the_terminal_cannot_show(tmp_path, nowhere, environment):
    path = tmp_path / "graph.tsv"
    path.write_text(UNICODE, encoding="utf-8")
    shown = {}
    for options in ([], ["--json"]):
        ended = subprocess.run(
            [*COMMAND, "data", "info", path, *options],
            capture_output=True,
            env=dict(os.environ) | environment,
            timeout=TIMEOUT,
        )
        assert (ended.returncode, ended.stderr) == (0, b"")
        shown[bool(options)] = ended.stdout
    assert json.loads(shown[True])["leakage"]["symmetric"] == [{"relation": "größer als", "share": 1.0}]
    if len(environment) == 1 and "LC_ALL" in environment:  # Python makes UTF-8 of it
        assert "100%  größer als\n".encode() in shown[False]
    else:
        assert rb"100%  gr\xf6\xdfer als" in shown[False]


def test_a_file_whose_name_is_not_unicode(process, triplets, tmp_path):
    odd = os.fsencode(tmp_path) + b"/caf\xe9.tsv"
    try:
        triplets.rename(os.fsdecode(odd))
    except OSError:
        pytest.skip("this file system takes only Unicode names")
    answer = process("data", "split", os.fsdecode(odd), "-o", os.fsdecode(odd) + "-out")
    assert answer.code == 0, answer.err
    assert process("data", "info", os.fsdecode(odd) + "-out", "--json").document["train"] == 540
    assert process("data", "info", os.fsdecode(odd), "--json").document["name"] == "caf\udce9"
    process("data", "info", os.fsdecode(odd) + ".gone").assert_refused("no such file")


@pytest.mark.parametrize("arguments", [["data", "list"], ["data", "list", "--json"], ["--help"]])
def test_a_reader_that_stops_early(arguments, nowhere):
    read, write = os.pipe()
    with subprocess.Popen([*COMMAND, *arguments], stdout=write, stderr=subprocess.PIPE) as running:
        os.close(write)
        os.close(read)  # nobody reads, from the first byte on
        _, err = running.communicate(timeout=TIMEOUT)
    assert err == b""
    assert running.returncode in (0, 1)


@pytest.mark.skipif(shutil.which("head") is None, reason="needs the command head")
def test_head_takes_the_first_line(nowhere):
    with subprocess.Popen([*COMMAND, "data", "list"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        head = subprocess.run(["head", "-1"], stdin=running.stdout, capture_output=True, timeout=TIMEOUT)
        assert head.stdout == b"Known datasets\n"
        running.stdout.close()
        assert running.stderr.read() == b""


@linux_only
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_standard_output_without_room(options, nowhere):
    with Path("/dev/full").open("w") as full:
        ended = subprocess.run(
            [*COMMAND, "data", "list", *options], stdout=full, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT
        )
    assert ended.returncode == 2
    assert ended.stderr == "Error: the output: No space left on device\n"


@pytest.mark.skipif(os.name == "nt", reason="closes streams as a Unix shell does")
def test_streams_that_are_closed(triplets, tmp_path, nowhere):
    triplets.write_text("".join(dict.fromkeys(triplets.read_text().splitlines(keepends=True))))  # nothing to note
    for number, closed in enumerate(["1>&-", "2>&-", "1>&- 2>&-"]):
        line = f'"{sys.executable}" -m nbfnet data split "{triplets}" -o "{tmp_path}/{number}" --json {closed}'
        ended = subprocess.run(line, shell=True, capture_output=True, timeout=TIMEOUT)
        assert (ended.returncode, ended.stderr) == (0, b"")
        assert len(list((tmp_path / str(number)).iterdir())) == 3


def in_a_terminal(columns: int, *arguments: object) -> tuple[int, str]:
    """Run the command in a terminal of that many columns; returns its exit code and all that it shows."""
    import fcntl
    import pty
    import termios

    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [*COMMAND, *map(str, arguments)]
    with subprocess.Popen(command, stdin=end, stdout=end, stderr=end, start_new_session=True) as running:
        os.close(end)
        shown, until = b"", time.monotonic() + TIMEOUT
        while time.monotonic() < until:
            if select.select([terminal], [], [], 1)[0]:
                try:
                    shown += os.read(terminal, 65536)
                except OSError:  # the way Linux says that the other end is closed
                    break
    os.close(terminal)
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode())
    return running.returncode, plain.replace("\r\n", "\n")


@linux_only
@pytest.mark.parametrize("columns", [40, 80, 120])
def test_terminals_of_any_width(columns, nowhere, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    code, shown = in_a_terminal(columns, "data", "list")
    assert code == 0
    lines = shown.splitlines()
    names = [line.split()[0] for line in lines if line and not line.startswith(" ")]
    assert {"fb15k-237-v4", "wikikg90m", "world"} <= set(names)  # no name is cut or broken
    if columns >= 80:
        assert max(map(len, lines)) <= columns


@linux_only
def test_a_narrow_terminal_shows_every_word(nowhere, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    code, shown = in_a_terminal(40, "data", "info", "world")
    assert code == 0
    assert "entities    4,411\n" in shown
    code, shown = in_a_terminal(40, "data", "info", "wordl")
    assert code == 2
    assert "did you mean 'world'" in shown
