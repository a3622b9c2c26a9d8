"""The classical methods by the short names a user gives them, and what their scores mean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from nbfnet.errors import UnknownNameError
from nbfnet.graph.triplets import Float64
from nbfnet.semiring import catalog
from nbfnet.semiring.semiring import MAX_MIN, MAX_TIMES, MIN_PLUS, PLUS_TIMES, Semiring


@dataclass(frozen=True)
class PathMethod:
    """A classical method: ``scores(edges, sources, ...)`` gives (source, node) in its semiring."""

    name: str
    title: str
    scores: Callable[..., Float64]
    semiring: Semiring

    def closeness(self, scores: Float64) -> Float64:
        """The scores turned so that more means closer."""
        return -scores if self.semiring == MIN_PLUS else scores


METHODS = {
    method.name: method
    for method in (
        PathMethod("katz", "Katz index", catalog.katz, PLUS_TIMES),
        PathMethod("ppr", "personalized PageRank", catalog.personalized_pagerank, PLUS_TIMES),
        PathMethod("distance", "graph distance", catalog.graph_distance, MIN_PLUS),
        PathMethod("widest", "widest path", catalog.widest_path, MAX_MIN),
        PathMethod("reliable", "most reliable path", catalog.most_reliable_path, MAX_TIMES),
    )
}


def path_method(name: str) -> PathMethod:
    """The method of a name.

    Raises:
        UnknownNameError: there is none; the closest names are suggested.
    """
    if name not in METHODS:
        raise UnknownNameError("method", name, METHODS)
    return METHODS[name]
