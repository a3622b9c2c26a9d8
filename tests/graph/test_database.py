"""DuckDB is silent; Ctrl-C while it works is a KeyboardInterrupt at once; other errors stay what they are."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import duckdb
import pytest

from nbfnet.errors import GraphFormatError
from nbfnet.graph.database import connect, execute


def test_too_little_memory_is_said_in_words():
    connection = connect()
    connection.execute("SET memory_limit = '5MB'; SET max_temp_directory_size = '1KB'")
    with pytest.raises(GraphFormatError, match=r"not enough memory for this graph[\s\S]*TMPDIR"):
        execute(connection, "CREATE TABLE t AS SELECT range, hash(range) FROM range(10_000_000)")


LIMITED = """
import re, resource, sys
from nbfnet.graph.reading.read import read
from nbfnet.errors import GraphFormatError
used = 1024 * int(re.search(r"VmSize:\\s+(\\d+)", open("/proc/self/status").read()).group(1))
resource.setrlimit(resource.RLIMIT_AS, (used + (int(sys.argv[1]) << 20),) * 2)
try:
    read(sys.argv[2])
except GraphFormatError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux how much memory is used")
@pytest.mark.parametrize("megabytes", [1, 30, 500])
def test_too_little_memory_to_begin_is_said_in_words(tmp_path, megabytes):
    """DuckDB itself ends the process where it cannot have a thread."""
    (tmp_path / "g.tsv").write_text("a\tr\tb\n")
    command = [sys.executable, "-c", LIMITED, str(megabytes), str(tmp_path / "g.tsv")]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "not enough memory to read a graph" in shown.stdout and "ulimit -v" in shown.stdout


def test_no_thread_for_a_query_is_said_in_words(monkeypatch):
    def refuse(*arguments):
        raise RuntimeError("can't start new thread")  # what Python says

    connection = connect()
    monkeypatch.setattr("_thread.start_new_thread", refuse)
    with pytest.raises(GraphFormatError, match="not enough memory for another thread"):
        execute(connection, "SELECT 1")


@pytest.mark.skipif(sys.platform == "win32", reason="sends the signal of Ctrl-C")
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_ctrl_c_during_a_query(threads):
    connection = connect()
    execute(connection, f"SET threads = {threads}")
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        # One thread alone works here, a minute at least: with several, the one that asks has nothing to do.
        execute(connection, "SELECT sum(sqrt(range)) FROM range(10_000_000_000)")
    assert time.monotonic() - begin < 30
    timer.join()
    assert execute(connection, "SELECT 1").fetchone() == (1,)


@pytest.mark.skipif(sys.platform == "win32", reason="sets an alarm as Unix has them")
def test_ctrl_c_at_any_moment_leaves_a_connection_that_works():
    connection, interrupted = connect(), 0
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for moment in range(150):
            try:
                signal.setitimer(signal.ITIMER_REAL, (moment + 1) * 1e-5)
                execute(connection, "SELECT sum(sqrt(range)) FROM range(10_000_000_000)")
            except KeyboardInterrupt:
                interrupted += 1
            assert execute(connection, "SELECT ?", [moment]).fetchone() == (moment,)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted == 150


def test_results_and_errors_are_those_of_the_query():
    connection = connect()
    assert execute(connection, "SELECT ? + 1", [41]).fetchone() == (42,)
    with pytest.raises(duckdb.CatalogException):
        execute(connection, "SELECT * FROM nothing")


def test_it_prints_nothing_where_it_thinks_that_somebody_watches():
    program = (
        "import nbfnet.graph.database as d; c = d.connect(); d.execute(c, 'SET progress_bar_time = 1');"
        "print(d.execute(c, 'SELECT count(*) FROM range(200_000_000) WHERE sqrt(range) > 1').fetchone()[0])"
    )
    # A program from the command line has no file: DuckDB takes it for a session.
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=180)
    assert (shown.stdout, shown.stderr) == ("199999998\n", "")


def test_how_far_a_query_is_can_be_asked():
    connection = connect()
    shares = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.01):
            shares.append(connection.query_progress())

    watcher = threading.Thread(target=watch)
    watcher.start()
    execute(connection, "SELECT count(*) FROM range(100_000_000) WHERE sqrt(range) > 1")
    done.set()
    watcher.join()
    assert any(0 < share < 100 for share in shares)


def test_temporary_files_lie_in_a_folder_of_this_process_that_is_gone_at_the_end(tmp_path):
    program = (
        "import os, nbfnet.graph.database as d; c = d.connect(); place = d.private_folder();"
        "print(d.execute(c, 'SELECT current_setting(\\'temp_directory\\')').fetchone()[0] == str(place));"
        "c.close();"  # its threads would be missing in the fork, which could wait for them for ever
        "print(oct(os.stat(place).st_mode & 0o777), os.fork() and os.wait() and d.private_folder() == place)"
    )
    environment = dict(os.environ) | {"TMPDIR": str(tmp_path)}
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=180, env=environment
    )
    assert "0o700 True" in shown.stdout and "False" not in shown.stdout, shown.stderr
    assert list(tmp_path.iterdir()) == []
