"""PossibleAnswers: the entities that can answer a relation's queries, judging by the facts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nbfnet.graph.graph import Graph
from nbfnet.graph.triplets import Int32

Mask = npt.NDArray[np.bool_]


class PossibleAnswers:
    """For every relation, inverses included, the nodes that may be its tail.

    A node is possible if its type is that of a tail of some fact of the relation, or if it has no type. A relation
    without facts leaves every node possible.
    """

    def __init__(self, graph: Graph) -> None:
        """Judge by the types and the facts of a graph, which has types."""
        assert graph.types is not None
        self._type: Int32 = graph.types.of_entity + np.int32(1)  # (node,) 0 where there is none
        edges = graph.csr
        self._allowed: Mask = np.zeros((edges.num_relations, len(graph.types.names) + 1), dtype=np.bool_)
        self._allowed[edges.relation, self._type[edges.target]] = True  # (relation, type)
        self._allowed[~self._allowed.any(axis=1)] = True
        self._allowed[:, 0] = True

    @classmethod
    def of(cls, graph: Graph) -> PossibleAnswers | None:
        """The possible answers of a knowledge graph whose entities have types; None of any other graph."""
        return None if graph.types is None or graph.kind == "homogeneous" else cls(graph)

    def mask(self, relation: int) -> Mask:
        """(node,) which nodes can answer the queries of a relation."""
        mask: Mask = self._allowed[relation][self._type]
        return mask


def has_self_loops(graph: Graph) -> Mask:
    """(relation,) whether a fact of the relation, inverses included, joins a node with itself."""
    edges = graph.csr
    found = np.zeros(edges.num_relations, dtype=np.bool_)
    found[edges.relation[edges.source == edges.target]] = True
    return found


def seen_answers(graph: Graph, relation: int) -> Mask:
    """(node,) which nodes are a tail of a relation's facts; all of them if the relation has no fact."""
    edges = graph.csr
    mask = np.zeros(graph.num_nodes, dtype=np.bool_)
    mask[edges.target[edges.relation == relation]] = True
    return mask if mask.any() else ~mask
