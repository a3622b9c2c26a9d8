"""The compiled extension, if it was built: one place decides whether it is used.

The pure-Python path serves without it. ``NBFNET_NATIVE=0`` in the environment turns it off, and
``NBFNET_INSTRUCTION_SET`` ('baseline', 'avx2' or 'avx512') chooses older vector instructions than the machine has.
"""

from __future__ import annotations

import ctypes
import importlib
import importlib.util
import os
from pathlib import Path
from types import ModuleType

from nbfnet.errors import BackendError


def _share_openmp_with_torch() -> None:
    """Load PyTorch's OpenMP runtime before ours: two runtimes would each spin a thread pool on the same cores."""
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        return
    for runtime in sorted((Path(spec.origin).parent / "lib").glob("libgomp*.so*")):
        ctypes.CDLL(str(runtime), mode=ctypes.RTLD_GLOBAL)


def _load() -> ModuleType | None:
    if os.environ.get("NBFNET_NATIVE", "1") == "0":
        return None
    _share_openmp_with_torch()
    try:
        module = importlib.import_module("nbfnet._native")
    except ImportError:
        return None
    if chosen := os.environ.get("NBFNET_INSTRUCTION_SET"):
        _choose_instruction_set(module, chosen)
    return module


def _choose_instruction_set(module: ModuleType, name: str) -> None:
    known = module.instruction_sets()
    if name not in known:
        raise BackendError(f"NBFNET_INSTRUCTION_SET is {name!r}: choose one of {', '.join(map(repr, known))}")
    module.choose_instruction_set(name)


native: ModuleType | None = _load()


def native_available() -> bool:
    """Whether the compiled extension was built and is in use."""
    return native is not None
