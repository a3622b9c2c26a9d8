"""Link prediction by paths: any graph in, named answers with reasons out."""

import importlib
import os
from typing import TYPE_CHECKING, Any

from nbfnet.errors import NbfnetError

if TYPE_CHECKING:
    from nbfnet import paths
    from nbfnet.graph.graph import Dataset, Graph
    from nbfnet.graph.loading import load
    from nbfnet.graph.reading.read import read
    from nbfnet.model.network import NeuralBellmanFordNetwork
    from nbfnet.operators.aggregate import Aggregate
    from nbfnet.operators.message import Message
    from nbfnet.operators.registry import register_aggregate, register_message
    from nbfnet.peers.comparison import compare
    from nbfnet.run import Run, train, universal

__all__ = [
    "Aggregate",
    "Dataset",
    "Graph",
    "Message",
    "NbfnetError",
    "NeuralBellmanFordNetwork",
    "Run",
    "compare",
    "load",
    "paths",
    "read",
    "register_aggregate",
    "register_message",
    "train",
    "universal",
]

__version__ = "0.1.0"

# A thread that waits for another spins for a moment, then sleeps. GCC's runtime would spin for milliseconds, and beside
# other programs a step would take several times longer. It is read when PyTorch is loaded.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "2000")

_HOMES = {
    "Aggregate": "operators.aggregate",
    "Dataset": "graph.graph",
    "Graph": "graph.graph",
    "Message": "operators.message",
    "NeuralBellmanFordNetwork": "model.network",
    "Run": "run",
    "compare": "peers.comparison",
    "load": "graph.loading",
    "read": "graph.reading.read",
    "register_aggregate": "operators.registry",
    "register_message": "operators.registry",
    "train": "run",
    "universal": "run",
}


def __getattr__(name: str) -> Any:
    """The public interface, each part when it is needed: PyTorch takes a second to load, and paths do not need it."""
    if name == "paths":
        return importlib.import_module("nbfnet.paths")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"nbfnet.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
