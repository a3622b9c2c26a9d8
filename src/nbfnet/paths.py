"""Classical path methods by name: ``nbfnet.paths.katz(graph, "aspirin")``."""

from nbfnet.semiring.edge_selection import EdgeSelection
from nbfnet.semiring.named import (
    NamedPath,
    NamedScore,
    Step,
    graph_distance,
    katz,
    most_reliable_path,
    path,
    personalized_pagerank,
    widest_path,
)

__all__ = [
    "EdgeSelection",
    "NamedPath",
    "NamedScore",
    "Step",
    "graph_distance",
    "katz",
    "most_reliable_path",
    "path",
    "personalized_pagerank",
    "widest_path",
]
