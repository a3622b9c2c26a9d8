"""Graphs: reading, indexing, splitting and storing them."""

import signal

# Ctrl-C in the middle of DuckDB's import would end the process with an error of its extension: it waits.
if hasattr(signal, "pthread_sigmask"):
    _before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        import duckdb  # noqa: F401
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, _before)
