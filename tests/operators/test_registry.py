from __future__ import annotations

import pytest
from torch import Tensor

from nbfnet.errors import OperatorError, UnknownNameError
from nbfnet.operators.message import DistMultMessage, Message
from nbfnet.operators.registry import Registry, aggregates, messages


def test_every_operator_of_the_package_is_found() -> None:
    assert messages.names() == ["distmult", "rotate", "transe"]
    assert aggregates.names() == ["max", "mean", "min", "pna", "sum"]


@pytest.mark.parametrize("registry", [messages, aggregates])
def test_an_operator_knows_its_name(registry: Registry) -> None:
    for name in registry.names():
        assert registry.name_of(registry.make(name)) == name


def test_an_unknown_name_suggests_the_closest() -> None:
    with pytest.raises(UnknownNameError, match="unknown message 'dismult'; did you mean 'distmult'"):
        messages.make("dismult")


def test_a_name_is_taken_once() -> None:
    class Other(Message):
        def forward(self, source_rows: Tensor, edge_rows: Tensor) -> Tensor:
            return source_rows

    with pytest.raises(OperatorError, match="'distmult' exists already"):
        messages.register("distmult")(Other)
    assert isinstance(messages.make("distmult"), DistMultMessage)


def test_a_subclass_is_not_the_operator_it_inherits_from() -> None:
    class Louder(DistMultMessage):
        def forward(self, source_rows: Tensor, edge_rows: Tensor) -> Tensor:
            return 2 * super().forward(source_rows, edge_rows)

    assert messages.name_of(Louder()) is None
