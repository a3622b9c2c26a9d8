"""What forward and backward of 4 queries on 5,000 nodes add to the memory of a process, in MB.

    python benchmarks/kernel_memory.py EDGES

In a process of its own, so that nothing else counts.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from kernel_case import Case, compiled, random_graph

NODES, QUERIES = 5_000, 4


def main() -> None:
    """Print how far the peak lies above what the process held before."""
    case = Case(random_graph(NODES, int(sys.argv[1])), QUERIES)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _kilobytes("VmRSS")
    case.milliseconds(compiled)
    print((_kilobytes("VmHWM") - before) / 1024)


def _kilobytes(field: str) -> int:
    found = re.search(field + r":\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1])


if __name__ == "__main__":
    main()
