"""The heap of a server: what one question frees, the next one uses."""

from __future__ import annotations

import ctypes
import sys

_TRIM, _MMAP = -1, -3  # M_TRIM_THRESHOLD and M_MMAP_THRESHOLD of malloc.h
_TOP, _LARGEST = 128 << 20, 64 << 20  # bytes


def keep_freed_memory() -> None:
    """Let the C library keep freed blocks instead of giving them back to the system after every question.

    A question over some thousand nodes frees megabytes. Taken from the system again for the next one, they cost a
    page fault for every 4 KB, over a thousand a question. Only glibc has these settings.
    """
    if not sys.platform.startswith("linux"):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP, _LARGEST)
        mallopt(_TRIM, _TOP)
