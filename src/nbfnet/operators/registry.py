"""Operators by name: an operator's file registers it, and no list of the files has to be kept."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Generic, TypeVar

from nbfnet.errors import OperatorError, UnknownNameError

if TYPE_CHECKING:
    from nbfnet.operators.aggregate import Aggregate
    from nbfnet.operators.message import Message

Operator = TypeVar("Operator")


class Registry(Generic[Operator]):
    """The operators of one role, such as 'message', by name."""

    def __init__(self, role: str) -> None:
        self.role = role
        self._classes: dict[str, type[Operator]] = {}

    def register(self, name: str) -> Callable[[type[Operator]], type[Operator]]:
        """A class decorator that makes an operator known by a name."""

        def add(operator: type[Operator]) -> type[Operator]:
            if self._classes.setdefault(name, operator) is not operator:
                taken = self._classes[name].__qualname__
                raise OperatorError(f"the {self.role} {name!r} exists already ({taken}): choose another name")
            return operator

        return add

    def names(self) -> list[str]:
        """The names of all operators, sorted."""
        _import_operators()
        return sorted(self._classes)

    def make(self, name: str) -> Operator:
        """A new operator of that name.

        Raises:
            UnknownNameError: no operator has that name; the closest are suggested.
        """
        names = self.names()
        if name not in self._classes:
            raise UnknownNameError(self.role, name, names)
        return self._classes[name]()

    def name_of(self, operator: Operator) -> str | None:
        """The name of an operator's class, or None: a subclass of a registered operator is another one."""
        return next((name for name, known in self._classes.items() if known is type(operator)), None)


messages: Registry[Message] = Registry("message")
aggregates: Registry[Aggregate] = Registry("aggregate")
register_message, register_aggregate = messages.register, aggregates.register  # as users import them


@cache
def _import_operators() -> None:
    package = importlib.import_module("nbfnet.operators")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
