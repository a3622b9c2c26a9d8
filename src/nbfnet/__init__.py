"""Link prediction by paths: any graph in, named answers with reasons out."""

from typing import TYPE_CHECKING, Any

from nbfnet import paths
from nbfnet.errors import NbfnetError
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.loading import load
from nbfnet.graph.reading.read import read

if TYPE_CHECKING:
    from nbfnet.run import Run, train

__all__ = ["Dataset", "Graph", "NbfnetError", "Run", "load", "paths", "read", "train"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """``Run`` and ``train``, when they are needed: PyTorch takes a second to load, and paths do without it."""
    if name in ("Run", "train"):
        from nbfnet import run

        return getattr(run, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
