"""Graphs: reading, vocabularies, triplets, CSR, splits, stores, known datasets."""

import signal

# Ctrl-C in the middle of DuckDB's import would end the process with an error of its extension: it waits.
_HELD = {signal.SIGINT, signal.SIGTERM}
if hasattr(signal, "pthread_sigmask"):
    signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
try:
    import duckdb  # noqa: F401
finally:
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HELD)
