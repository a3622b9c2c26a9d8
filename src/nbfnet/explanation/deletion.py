"""Deletion: the check of an explanation. Take a path's facts away, score the query again, and see what is lost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from nbfnet.graph.graph import Kind
from nbfnet.graph.triplets import Float64
from nbfnet.model.message_graph import MessageGraph
from nbfnet.model.network import NeuralBellmanFordNetwork
from nbfnet.sampling.query_edges import QueryEdges

Query = tuple[int, int, int]  # source, relation, target


class Deletion:
    """The logits of one prediction on a graph, as it is and without the facts of a path."""

    def __init__(self, network: NeuralBellmanFordNetwork, graph: MessageGraph, kind: Kind, query: Query) -> None:
        self.network, self.graph, self.query = network, graph, query
        self._edges = QueryEdges(graph.csr, kind, "triplet")

    def logit(self) -> float:
        """The logit on the whole graph."""
        return self._score(self.graph)

    def logits_without(self, paths: Sequence[Sequence[int]]) -> Float64:
        """(path,) the logit without each path alone; a path is the slots of its edges.

        Every copy of a path's edges is deleted, and their inverses: the same facts, read the other way. Each path
        leaves another graph, of which the network's frontier computes what the one answer needs.
        """
        return np.array([self.logit_without_facts(self.facts(path)) for path in paths], dtype=np.float64)

    def logit_without_facts(self, facts: frozenset[int]) -> float:
        """The logit without all edges in some slots."""
        hidden = np.fromiter(facts, dtype=np.int64, count=len(facts))
        return self._score(MessageGraph(self.graph.csr.hide(hidden), self.graph.device))

    def facts(self, path: Sequence[int]) -> frozenset[int]:
        """The slots of every copy of a path's edges, and of their inverses."""
        csr, slots = self.graph.csr, list(path)
        found = self._edges.slots(csr.source[slots], csr.relation[slots], csr.target[slots][:, None])
        return frozenset(found.tolist())

    def _score(self, graph: MessageGraph) -> float:
        source, relation, target = (torch.tensor([part], device=graph.device) for part in self.query)
        with torch.no_grad():
            return float(self.network.score(graph, source, relation, target[:, None]))
