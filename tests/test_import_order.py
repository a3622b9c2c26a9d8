"""A package imports only what stands before it: read from the source of every module."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import nbfnet

ORDER = [
    *("errors", "native", "regular_files", "progress", "tables", "strict_json", "available_memory", "distributed"),
    *("ray_workers", "config", "graph"),
    *("semiring", "operators", "kernels", "model", "sampling", "evaluation", "training", "prediction", "explanation"),
    *("run", "reproduction", "peers", "serve", "client", "cli"),
]
FACADE = ("__init__", "__main__", "paths")  # what users import, and the entry point, may import everything
COMPILED = "_native"  # the extension: only the module that decides about it may import it

ROOT = Path(nbfnet.__file__).parent


def module_name(file: Path, root: Path) -> str:
    """'nbfnet.graph.splits' for graph/splits.py, 'nbfnet.graph' for graph/__init__.py."""
    parts = ["nbfnet", *file.relative_to(root).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(file: Path, root: Path) -> list[tuple[int, str]]:
    """Every nbfnet module that a file imports, also inside functions, with the line; relative ones made absolute."""
    found: list[tuple[int, str]] = []
    package = module_name(file, root).split(".")
    if file.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            # 'from nbfnet import graph' imports the package graph; 'from nbfnet.graph import x' is graph all the same.
            found += [(node.lineno, f"{module}.{alias.name}") for alias in node.names]
    return [(line, name) for line, name in found if name.split(".")[0] == "nbfnet"]


def violations(root: Path) -> list[str]:
    wrong: list[str] = []
    for file in sorted(root.rglob("*.py")):
        importer = file.relative_to(root).with_suffix("").parts[0]
        if importer in FACADE:
            continue
        if importer not in ORDER:
            wrong.append(f"{file.relative_to(root)}: {importer!r} has no place in the order of packages")
            continue
        for line, name in imported(file, root):
            package = [*name.split("."), ""][1]
            allowed = package in ORDER and ORDER.index(package) <= ORDER.index(importer)
            if not allowed and (importer, package) != ("native", COMPILED):
                wrong.append(f"{file.relative_to(root)}, line {line}: {importer!r} may not import {name!r}")
    return wrong


def test_packages_import_only_what_stands_before_them() -> None:
    assert len(list(ROOT.rglob("*.py"))) > 20, "the source of nbfnet was not found"
    assert violations(ROOT) == []


def test_nothing_imports_what_only_unix_has() -> None:
    unix = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
    for file in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names} | {getattr(node, "module", None) or ""}
                assert not {name.partition(".")[0] for name in names} & unix, f"{file}, line {node.lineno}"


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("graph/a.py", "from nbfnet.model.network import Network"),
        ("graph/a.py", "import nbfnet.cli"),
        ("graph/a.py", "def f():\n    from nbfnet import training"),
        ("graph/reading/a.py", "from ...model import network"),
        ("graph/a.py", "from nbfnet import _native"),
        ("graph/a.py", "from nbfnet import Graph"),
        ("errors.py", "from nbfnet.native import native"),
        ("surprise.py", ""),
    ],
)
def test_a_forbidden_import_is_found(tmp_path: Path, file: str, source: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(source)
    assert len(violations(tmp_path)) == 1


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("graph/a.py", "import numpy\nfrom nbfnet.errors import NbfnetError\nfrom nbfnet.graph.b import c"),
        ("graph/a.py", "from .b import c\nfrom ..errors import NbfnetError"),
        ("native.py", "from nbfnet import _native"),
        ("cli/train.py", "from nbfnet.explanation import rules\nfrom nbfnet.progress import stage"),
        ("__init__.py", "from nbfnet.cli import main"),
    ],
)
def test_a_rightful_import_passes(tmp_path: Path, file: str, source: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(source)
    assert violations(tmp_path) == []
