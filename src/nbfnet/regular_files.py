"""Which paths can be read as files: a pipe that nobody writes to would be waited for without end."""

from __future__ import annotations

import stat
from pathlib import Path


def is_special(path: Path) -> bool:
    """Whether a path is a pipe, a socket or a device; one that is not there is not."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # whoever opens it tells what is wrong
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
