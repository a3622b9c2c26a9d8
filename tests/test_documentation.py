"""Examples in docstrings are run, and the README's test command is the one that is checked. tests/docs runs pages."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import nbfnet

ROOT = Path(__file__).parents[1]
TEST_COMMAND = "pip install -c constraints.txt '.[test]' && pytest -n 2 --dist loadfile"


def modules():
    names = [module.name for module in pkgutil.walk_packages(nbfnet.__path__, "nbfnet.")]
    return ["nbfnet", *(name for name in names if not name.endswith(("__main__", "_native")))]


@pytest.mark.parametrize("name", modules())
def test_docstring_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_readme_command_is_what_is_checked():
    assert f"\n    {TEST_COMMAND}\n" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"\n{TEST_COMMAND}\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
