"""Which methods there are for a graph, and what is said where one does not fit."""

from __future__ import annotations

import importlib.util

import pytest

from nbfnet.errors import ConfigError, MissingExtraError
from nbfnet.evaluation.baselines import BASELINES
from nbfnet.peers import methods
from nbfnet.peers.methods import METHODS, choose_methods, missing_methods


def without(*packages):
    real = importlib.util.find_spec
    return lambda name: None if name in packages else real(name)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (
            "knowledge",
            "nbfnet neurallp drum transe distmult complex rotate rgcn katz ppr distance frequency",
        ),
        ("homogeneous", "nbfnet vgae deepwalk katz ppr distance"),
        ("inductive", "nbfnet neurallp drum katz ppr distance frequency"),
    ],
)
def test_what_fits_a_graph(kind, expected, monkeypatch):
    monkeypatch.setattr(methods.importlib.util, "find_spec", lambda name: object())
    assert [method.name for method in choose_methods(kind, None)] == expected.split()


def test_what_is_not_installed_is_left_out_unless_it_is_named(monkeypatch):
    monkeypatch.setattr(methods.importlib.util, "find_spec", without("pykeen", "gensim"))
    assert [m.name for m in choose_methods("knowledge", None)][:4] == ["nbfnet", "neurallp", "drum", "katz"]
    assert [m.name for m in missing_methods("knowledge")] == ["transe", "distmult", "complex", "rotate", "rgcn"]
    with pytest.raises(MissingExtraError, match=r"'transe' needs the package 'pykeen'.*pip install '\.\[peers\]'"):
        choose_methods("knowledge", ["katz", "transe"])


def test_names_are_taken_in_their_order_and_once():
    assert [m.name for m in choose_methods("homogeneous", ["katz", "nbfnet", "katz"])] == ["katz", "nbfnet"]


@pytest.mark.parametrize(
    ("kind", "names", "parts"),
    [
        ("knowledge", ["trans"], ["unknown method 'trans'", "did you mean 'transe'", "rotate", "katz"]),
        ("knowledge", ["word2vec"], ["unknown method 'word2vec'", "nbfnet, neurallp, drum"]),
        ("homogeneous", ["transe"], ["'transe' does not fit", "this graph is homogeneous", "vgae, deepwalk"]),
        ("inductive", ["complex"], ["only the entities of training", "drum"]),
        ("knowledge", [], ["no method", "rgcn"]),
    ],
)
def test_names_that_do_not_fit(kind, names, parts):
    with pytest.raises(ConfigError) as error:
        choose_methods(kind, names)
    for part in parts:
        assert part in str(error.value)


def test_classical_methods_are_our_baselines():
    classical = {m.name for m in METHODS.values() if m.family == "classical"}
    assert classical == {name.split()[-1] for name in BASELINES}
