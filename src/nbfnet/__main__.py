"""``python -m nbfnet`` is the command ``nbfnet``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it in the same way while its modules are still being loaded."""
    try:
        from nbfnet.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
