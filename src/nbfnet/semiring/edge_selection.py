"""EdgeSelection: which relations a classical method follows, which way, and how much each of them weighs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from nbfnet.errors import PathError
from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import facts_of_edges
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Int64
from nbfnet.semiring.weighted_edges import WeightedEdges

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class EdgeSelection:
    """Relations by name. By default every fact is followed both ways, as the model does.

    ``along`` are the relations followed from head to tail, ``against`` those followed from tail to head: None for
    all, empty for none. A relation's weight multiplies those of its facts, which are 1 where the graph has none.
    """

    along: Sequence[str] | None = None
    against: Sequence[str] | None = None
    weights: Mapping[str, float] = field(default_factory=dict)

    def edges(self, graph: Graph) -> WeightedEdges:
        """The selected edges of a graph.

        Raises:
            UnknownNameError: a relation that the graph does not have; the closest names are suggested.
        """
        csr = graph.csr
        if self.along is not None or self.against is not None:
            fact, backwards = facts_of(graph, csr)
            relation = graph.triplets.relation[fact]
            along, against = _followed(graph, self.along), _followed(graph, self.against)
            csr = csr.keep(np.where(backwards, against[relation], along[relation]))
        if not self.weights:
            return WeightedEdges.of(csr)
        of_relation = np.ones(graph.num_relations)
        for name, given in self.weights.items():
            of_relation[graph.relations.find(name)] = _number(name, given)
        weight = of_relation[graph.triplets.relation[facts_of(graph, csr)[0]]]
        return WeightedEdges(csr, weight if csr.weight is None else weight * csr.weight)


def facts_of(graph: Graph, csr: RelationalCSR) -> tuple[Int64, Mask]:
    """(slot,) which fact of the graph each edge follows, and whether it does so from tail to head."""
    return facts_of_edges(csr.edge, len(graph.triplets))


def _number(relation: str, weight: float) -> float:
    try:
        return float(weight)
    except (OverflowError, TypeError, ValueError) as error:
        raise PathError(f"the weight of {relation!r} cannot be used: {error}") from None


def _followed(graph: Graph, names: Sequence[str] | None) -> Mask:
    """(relation,) whether it is among the names."""
    followed = np.full(graph.num_relations, names is None)
    for name in names or ():
        followed[graph.relations.find(name)] = True
    return followed
