"""``python -m nbfnet`` is the command ``nbfnet``."""

from __future__ import annotations

import signal
import sys

from nbfnet.training.interrupt import interruptible


def main() -> None:
    """Run the command line; Ctrl-C ends it in the same way while its modules are still being loaded."""
    try:
        with interruptible():
            from nbfnet.cli import main as run

            run()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:  # nothing is left to be stopped
        for number in (signal.SIGINT, signal.SIGTERM):  # which launchers send to all when one has failed
            signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    main()
