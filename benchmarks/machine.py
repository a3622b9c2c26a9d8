"""What a results file says about the machine: never its name."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np
import torch


def machine_facts() -> dict[str, str | int | None]:
    """Cores, processor and the versions that matter."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
