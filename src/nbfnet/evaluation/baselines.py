"""Baselines: scorers that learn nothing, which a trained network has to beat."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import torch
from torch import Tensor

from nbfnet.evaluation.scorer import Scorer
from nbfnet.graph.graph import Graph
from nbfnet.graph.relational_csr import sort_by_key
from nbfnet.graph.triplets import Int32
from nbfnet.semiring.catalog import METHODS, path_method
from nbfnet.semiring.edge_selection import EdgeSelection


class PathScorer(Scorer):
    """score(u, q, v) = how close v is to u by a classical method over the facts, whatever the relation asked for."""

    def __init__(self, facts: Graph, method: str, **parameters: float | None) -> None:
        """``method`` is a name of ``METHODS``, with its parameters."""
        self._method = path_method(method)
        self._edges = EdgeSelection().edges(facts)
        self._parameters = parameters

    def score_all(self, source: Tensor, relation: Tensor) -> Tensor:
        """Closeness (query, node); each distinct source is solved once."""
        sources, row = np.unique(source.cpu().numpy(), return_inverse=True)
        closeness = self._method.closeness(self._method.scores(self._edges, sources, **self._parameters))
        return torch.from_numpy(closeness)[torch.from_numpy(row.reshape(-1))]


class RelationFrequency(Scorer):
    """score(u, q, v) = how many facts (x, q, v) there are, whatever the source u; of an inverse relation, the heads."""

    def __init__(self, facts: Graph) -> None:
        csr = facts.csr
        self._num_nodes = csr.num_nodes
        self._begin, order = sort_by_key(csr.relation, csr.num_relations)
        self._tail = csr.target[order]  # (edge,) by relation

    def score_all(self, source: Tensor, relation: Tensor) -> Tensor:
        """Counts (query, node)."""
        asked, row = torch.unique(relation.cpu(), return_inverse=True)
        counts = [np.bincount(self._tails_of(r), minlength=self._num_nodes) for r in asked.tolist()]
        return torch.from_numpy(np.stack(counts)).double()[row]

    def _tails_of(self, relation: int) -> Int32:
        return self._tail[self._begin[relation] : self._begin[relation + 1]]


BASELINES: Mapping[str, Callable[[Graph], Scorer]] = {
    **{name: partial(PathScorer, method=name) for name, method in METHODS.items() if method.baseline},
    "relation frequency": RelationFrequency,
}
