"""What the tests of the tools share."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Import a module of the folder tools."""
    monkeypatch.syspath_prepend(TOOLS)
    return importlib.import_module
