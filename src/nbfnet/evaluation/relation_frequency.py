"""RelationFrequency: the baseline that knows only which entities are usual tails of a relation."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from nbfnet.evaluation.scorer import Scorer
from nbfnet.graph.graph import Graph
from nbfnet.graph.relational_csr import sort_by_key


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

    def _tails_of(self, relation: int) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
        return self._tail[self._begin[relation] : self._begin[relation + 1]]
