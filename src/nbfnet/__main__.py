"""``python -m nbfnet`` is the command ``nbfnet``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; Ctrl-C counts from the first moment, while it is still being loaded."""
    try:
        from nbfnet.cli import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
