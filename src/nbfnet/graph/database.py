"""DuckDB as this project uses it: in memory, silent, and ended at once by Ctrl-C."""

from __future__ import annotations

import _thread
import atexit
import errno
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

import duckdb

from nbfnet.errors import GraphFormatError
from nbfnet.graph.workspace import current_workspace

_FULL = ("No space left", "Disk quota exceeded", "File too large", "Could not write")  # in what DuckDB says


def connect() -> duckdb.DuckDBPyConnection:
    """A database in memory that knows how far a query is, and prints nothing.

    What it prints of itself where it takes the process for interactive, in a notebook or under ``python -m``, would
    stand between the lines of standard output.

    Raises:
        GraphFormatError: there is too little memory to begin with.
    """
    _check_room()
    config: dict[str, str | bool | int | float | list[str]] = {"temp_directory": str(private_folder())}
    if (here := current_workspace()) is not None:
        # The rest is for what is computed of its results, and for the pages of files that are mapped.
        config = {"temp_directory": str(here.folder), "memory_limit": f"{here.memory * 2 // 5 >> 20}MiB"}
    try:
        connection = duckdb.connect(config=config)
    except (duckdb.OutOfMemoryException, MemoryError):
        raise _too_little_memory("there is not enough memory to read a graph") from None
    with suppress(duckdb.Error):  # in a notebook without ipywidgets DuckDB refuses; progress is then not known
        connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
    return connection


def _check_room() -> None:
    """Refuse to begin where a limit (``ulimit -v``) leaves less than DuckDB takes for itself and for each thread.

    It would not say so: without memory for a thread it ends the process.
    """
    room = (1 << 30) + (os.cpu_count() or 1) * (32 << 20)
    try:
        mmap.mmap(-1, room, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=mmap.PROT_READ).close()
    except (OSError, MemoryError):
        what = f"there is not enough memory to read a graph: less than {room / 1e9:.1f} GB can be had"
        raise _too_little_memory(what) from None


def _too_little_memory(what: str) -> GraphFormatError:
    return GraphFormatError(what, remedy="free memory, or raise the limit of this process (ulimit -v)")


def private_folder() -> Path:
    """A folder for temporary files that only this process uses, removed when it ends."""
    folder = _private_folder(os.getpid())
    if not folder.is_dir():  # somebody tidied up
        _private_folder.cache_clear()
    return _private_folder(os.getpid())


@cache
def _private_folder(process: int) -> Path:
    """By the process: one that was forked gets a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="nbfnet-"))

    def remove() -> None:
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder


def execute(
    connection: duckdb.DuckDBPyConnection, query: str, parameters: Iterable[object] = ()
) -> duckdb.DuckDBPyConnection:
    """Run a query in a thread of its own, and end it when this one gets a KeyboardInterrupt.

    DuckDB itself looks for Ctrl-C only while the thread that asked has a share of the work, in a long query perhaps
    never, and then makes a RuntimeError of it.

    Raises:
        GraphFormatError: there is not enough memory, nor room for what does not fit into it.
    """
    running = _Query(connection, query, list(parameters))
    try:
        try:
            _thread.start_new_thread(running.run, ())
        except RuntimeError:
            raise _too_little_memory("there is not enough memory for another thread") from None
        while not running.end.acquire(timeout=0.1):  # an endless wait may miss a Ctrl-C that comes just before it
            pass
    except KeyboardInterrupt:
        running.stop(connection)
        raise
    try:
        running.raise_error()
    except duckdb.Error as error:
        if (known := shortage(error)) is not None:
            raise known from None
        raise
    return connection


def shortage(error: Exception) -> Exception | None:
    """What is to be said of an error of DuckDB's that is about memory or the disk, and not about the query."""
    here, what = current_workspace(), str(error)
    if isinstance(error, duckdb.OutOfMemoryException) or what.startswith("Out of Memory"):
        remedy = f"free memory, or room in {tempfile.gettempdir()} (TMPDIR names another place)"
        if here is not None:
            remedy = "raise --memory-limit, or make room where the store is written"
        return GraphFormatError(f"there is not enough memory for this graph ({what.splitlines()[0]})", remedy=remedy)
    if here is not None and any(sign in what for sign in _FULL):
        # Of the operating system, as any other file would give it: the draft of the store is there.
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(here.folder))
    return None


class _Query:
    """One query, made so that Ctrl-C may come at any moment of it.

    Only bare locks are used here: Python's own events, and threads that wait for one when they start, can be left
    locked for good by a KeyboardInterrupt.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, query: str, parameters: list[object]) -> None:
        self.query, self.parameters = query, parameters
        # A thread that has no time left to end when Python does keeps what it refers to: not the connection.
        self.connection: duckdb.DuckDBPyConnection | None = connection
        self.claim = _thread.allocate_lock()  # whoever takes it decides: the query begins, or it never will
        self.end = _thread.allocate_lock()
        self.end.acquire()  # until the query has ended
        self.ended = False
        self.error: Exception | None = None

    def run(self) -> None:
        if self.connection is None or not self.claim.acquire(blocking=False):
            return
        try:
            self.connection.execute(self.query, self.parameters)
        except Exception as error:
            self.error = error
        finally:
            self.connection = None
            self.ended = True
            self.end.release()

    def stop(self, connection: duckdb.DuckDBPyConnection) -> None:
        if self.claim.acquire(blocking=False):
            self.connection = None
            return
        while not self.ended:
            connection.interrupt()  # again and again: DuckDB forgets one that comes before the first step
            self.end.acquire(timeout=0.05)

    def raise_error(self) -> None:
        if self.error is not None:
            try:
                raise self.error
            finally:
                self.error = None  # it refers to this frame
