"""``python -m nbfnet`` is the command ``nbfnet``."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

from nbfnet.training.interrupt import interruptible


def main() -> None:
    """Run the command line; Ctrl-C ends it in the same way while its modules are still being loaded."""
    try:
        with interruptible():
            from nbfnet.cli import main as run

            run()
    except KeyboardInterrupt:
        _say_nothing_more()
        sys.exit(130)
    except SystemExit as end:
        if end.code in (130, 143):
            _say_nothing_more()
        raise
    finally:  # nothing is left to be stopped
        for number in (signal.SIGINT, signal.SIGTERM):  # which launchers send to all when one has failed
            signal.signal(number, signal.SIG_IGN)


def _say_nothing_more() -> None:
    """Close standard error: an interrupt inside DuckDB may leave objects of which its binding complains at the end."""
    with suppress(OSError, ValueError):  # it may be closed already, or nobody reads it
        sys.stderr.flush()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


if __name__ == "__main__":
    main()
