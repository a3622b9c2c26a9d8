"""Link prediction by paths: any graph in, named answers with reasons out."""

from nbfnet import paths
from nbfnet.errors import NbfnetError
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.loading import load
from nbfnet.graph.reading.read import read
from nbfnet.run import Run, train

__all__ = ["Dataset", "Graph", "NbfnetError", "Run", "load", "paths", "read", "train"]

__version__ = "0.1.0"
