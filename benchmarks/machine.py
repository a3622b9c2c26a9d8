"""What a results file says about the machine: never its name."""

from __future__ import annotations

from typing import Any

import numpy as np

from nbfnet.reproduction import describe_machine


def machine_facts() -> dict[str, Any]:
    """What ``nbfnet reproduce`` states too, and the version of NumPy."""
    return {**describe_machine(), "numpy": np.__version__}
