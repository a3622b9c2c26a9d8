"""DuckDB as this project uses it: in memory, silent, and ended at once by Ctrl-C."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, wait

import duckdb


def connect() -> duckdb.DuckDBPyConnection:
    """A database in memory that knows how far a query is, and prints nothing.

    What it prints of itself where it takes the process for interactive, in a notebook or under ``python -m``, would
    stand between the lines of standard output.
    """
    connection = duckdb.connect(config={"temp_directory": tempfile.gettempdir()})
    connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    return connection


def execute(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Iterable[object] = ()
) -> duckdb.DuckDBPyConnection:
    """Run a query in a thread of its own, and end it when this one gets a KeyboardInterrupt.

    DuckDB itself looks for Ctrl-C only while the thread that asked has a share of the work, in a long query perhaps
    never, and then makes a RuntimeError of it.
    """
    with ThreadPoolExecutor(max_workers=1) as worker:
        running = worker.submit(connection.execute, query, list(parameters))
        try:
            return running.result()
        except KeyboardInterrupt:
            while not running.done():
                connection.interrupt()
                wait([running], timeout=0.1)  # and once more, if the query had not begun yet
            raise
