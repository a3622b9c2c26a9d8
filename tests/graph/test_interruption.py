"""Ctrl-C while DuckDB works is a KeyboardInterrupt at once; other errors stay what they are."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

import duckdb
import pytest

from nbfnet.graph.interruption import execute


@pytest.mark.skipif(sys.platform == "win32", reason="sends the signal of Ctrl-C")
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_ctrl_c_during_a_query(threads):
    connection = duckdb.connect(config={"threads": threads})
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        # One thread alone works here, a minute at least: with several, the one that asks has nothing to do.
        execute(connection, "SELECT sum(sqrt(range)) FROM range(10_000_000_000)")
    assert time.monotonic() - begin < 30
    timer.join()
    assert execute(connection, "SELECT 1").fetchone() == (1,)


def test_results_and_errors_are_those_of_the_query():
    connection = duckdb.connect()
    assert execute(connection, "SELECT ? + 1", [41]).fetchone() == (42,)
    with pytest.raises(duckdb.CatalogException):
        execute(connection, "SELECT * FROM nothing")
