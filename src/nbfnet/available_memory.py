"""How much memory there is, so that long work is refused before it begins instead of being killed in the middle."""

from __future__ import annotations

import os
import re
from pathlib import Path

from nbfnet.errors import ConfigError, NotEnoughMemoryError

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def available_memory() -> int:
    """Bytes of main memory that can be used without driving anything out; a control group may leave less.

    Where the system does not say, as on Windows and macOS, it is half of all there is.
    """
    return min([_available(), *_left_in_groups()])


def require_memory(what: str, needed: int, remedy: str) -> None:
    """Refuse work that needs more memory than there is.

    Raises:
        NotEnoughMemoryError: says how much it needs, how much there is, and what would make it fit.
    """
    there = available_memory()
    if needed > there:
        raise NotEnoughMemoryError(
            f"{what} needs about {show_size(needed)} of memory, and {show_size(there)} can be had", remedy=remedy
        )


def show_size(count: int) -> str:
    """Bytes as people write them.

    >>> show_size(17_000_000_000)
    '15.8 GB'
    """
    for unit in ("TB", "GB", "MB"):
        size = count / _UNITS[unit[0]]
        if size >= 1:
            return f"{size:.1f} {unit}"
    return f"{count / 1024:.0f} KB"


def parse_size(text: str) -> int:
    """The bytes that a text such as '16GB', '500 MiB' or '1.5g' names.

    >>> parse_size("16GB") == 16 << 30
    True

    Raises:
        ConfigError: it is not a size.
    """
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    if found is None or not float(found[1]):
        raise ConfigError(f"{text!r} is not an amount of memory: write a number with a unit, for example 16GB")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def _available() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
    except (AttributeError, OSError, ValueError):
        return 4 << 30


def _left_in_groups() -> list[int]:
    """What the limits of this process's control groups leave; pages of files that can be dropped are free."""
    left = []
    for folder, most, taken in (
        (Path("/sys/fs/cgroup"), "memory.max", "memory.current"),
        (Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        try:
            limit, used = int((folder / most).read_text()), int((folder / taken).read_text())
            stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):  # no such group, or "max"
            continue
        left.append(max(0, limit - used + int(stat.get("inactive_file", 0))))
    return left
