"""The methods that can be compared: which graphs each is for, and what it needs. Nothing heavy is imported here."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass

from nbfnet.errors import ConfigError, MissingExtraError, closest

EXTRA = "peers"
_ANY = ("knowledge", "homogeneous", "inductive")
_RELATIONAL = ("knowledge", "inductive")


@dataclass(frozen=True)
class Method:
    """A method by its name."""

    name: str
    family: str  # network, embedding or classical: how it is trained
    kinds: tuple[str, ...]  # of datasets; an embedding has nothing to say of entities that training never saw
    package: str | None = None  # of the extra

    @property
    def is_installed(self) -> bool:
        """Whether its package is there."""
        return self.package is None or importlib.util.find_spec(self.package) is not None


METHODS = {
    method.name: method
    for method in (
        Method("nbfnet", "network", _ANY),
        Method("neurallp", "network", _RELATIONAL),
        Method("drum", "network", _RELATIONAL),
        *(
            Method(name, "embedding", ("knowledge",), "pykeen")
            for name in ("transe", "distmult", "complex", "rotate", "rgcn")
        ),
        Method("vgae", "embedding", ("homogeneous",), "torch_geometric"),
        Method("deepwalk", "embedding", ("homogeneous",), "gensim"),
        *(Method(name, "classical", _ANY) for name in ("katz", "ppr", "distance")),
        Method("frequency", "classical", _RELATIONAL),
    )
}


def choose_methods(kind: str, names: Sequence[str] | None) -> list[Method]:
    """The named methods, or all that fit a kind of dataset and are installed, each once.

    Raises:
        ConfigError: a name is unknown, or its method does not fit the dataset.
        MissingExtraError: its package is not installed.
    """
    fitting = [method for method in METHODS.values() if kind in method.kinds]
    if names is None:
        return [method for method in fitting if method.is_installed]
    chosen = {name: _find(name, kind, fitting) for name in names}
    if not chosen:
        raise ConfigError(f"there is no method to compare: name some of {_listed(fitting)}")
    return list(chosen.values())


def missing_methods(kind: str) -> list[Method]:
    """The methods that would fit a kind of dataset if their packages were installed."""
    return [method for method in METHODS.values() if kind in method.kinds and not method.is_installed]


def _find(name: str, kind: str, fitting: Sequence[Method]) -> Method:
    method = METHODS.get(name)
    if method is None:
        near = closest(name, METHODS, limit=1)
        hint = f"did you mean {near[0]!r}? There are" if near else "there are"
        raise ConfigError(f"unknown method {name!r}; {hint} {_listed(fitting)} for a graph of this kind")
    if method not in fitting:
        why = "it knows only the entities of training" if kind == "inductive" else f"this graph is {kind}"
        raise ConfigError(f"the method {name!r} does not fit: {why}; fitting are {_listed(fitting)}")
    if method.package is not None and not method.is_installed:
        raise MissingExtraError(f"the method {name!r}", method.package, EXTRA)
    return method


def _listed(methods: Sequence[Method]) -> str:
    return ", ".join(method.name for method in methods)
