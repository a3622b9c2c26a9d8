"""A stand-in for PyTorch while a help page is made.

The page needs the options of a command, which stand in its module, and that imports the library. PyTorch takes a
second to load, and nothing of it is used.
"""

from __future__ import annotations

import sys
from abc import ABCMeta
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_STOOD_IN = ("torch", "safetensors")


@contextmanager
def without_torch() -> Iterator[None]:
    """Import modules as if there were a PyTorch that does nothing; the process must not do real work afterwards."""
    if "torch" in sys.modules:  # it costs nothing any more
        yield
        return
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)


class _Anything(ABCMeta):
    """A class that can be derived from, called, used as a decorator or as a type, and asked for any attribute."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __call__(cls, *args: Any, **options: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) else cls  # what it decorates

    def __getitem__(cls, item: Any) -> Any:
        return cls

    def __or__(cls, other: Any) -> Any:
        return cls

    __ror__ = __or__


class _Something(metaclass=_Anything):
    pass


class _Module(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Something


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.split(".")[0] in _STOOD_IN else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass
