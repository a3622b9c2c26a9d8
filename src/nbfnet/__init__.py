"""Link prediction by paths: any graph in, named answers with reasons out."""

from nbfnet.graph.graph import Dataset, Graph

__all__ = ["Dataset", "Graph"]

__version__ = "0.1.0"
