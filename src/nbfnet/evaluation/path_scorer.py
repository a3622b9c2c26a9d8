"""PathScorer: the classical path methods as baselines, evaluated exactly as a model is."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from nbfnet.evaluation.scorer import Scorer
from nbfnet.graph.graph import Graph
from nbfnet.semiring.edge_selection import EdgeSelection
from nbfnet.semiring.methods import path_method


class PathScorer(Scorer):
    """score(u, q, v) = how close v is to u by a classical method over the facts, whatever the relation asked for."""

    def __init__(self, facts: Graph, method: str, **parameters: float | None) -> None:
        """``method`` is 'katz', 'ppr', 'distance', 'widest' or 'reliable', with its parameters."""
        self._method = path_method(method)
        self._edges = EdgeSelection().edges(facts)
        self._parameters = parameters

    def score_all(self, source: Tensor, relation: Tensor) -> Tensor:
        """Closeness (query, node); each distinct source is solved once."""
        sources, row = np.unique(source.cpu().numpy(), return_inverse=True)
        closeness = self._method.closeness(self._method.scores(self._edges, sources, **self._parameters))
        return torch.from_numpy(closeness)[torch.from_numpy(row.reshape(-1))]
