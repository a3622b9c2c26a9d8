"""Distinct edges: a fact that the data states twice is one edge to a reader, and one step of a path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Float64, Int64
from nbfnet.sampling.sorted_keys import first_of_runs


@dataclass(frozen=True, eq=False)
class DistinctEdges:
    """Every edge (source, relation, target) once; a copied edge is as important as its copies together."""

    csr: RelationalCSR
    importance: Float64  # (iteration, edge)
    slot: Int64  # (edge,) the first copy in the graph it came from

    @classmethod
    def of(cls, csr: RelationalCSR, importance: Float64) -> DistinctEdges:
        """Merge the copies of each edge; importance is (iteration, slot)."""
        kind = csr.source.astype(np.int64) * csr.num_relations + csr.relation
        order = np.lexsort((kind, csr.target))  # stable: the first copy of each edge stands first
        first = first_of_runs(kind[order]) | first_of_runs(csr.target[order].astype(np.int64))
        if first.all():
            return cls(csr, importance, np.arange(csr.num_edges))
        keep = np.zeros(csr.num_edges, dtype=np.bool_)
        keep[order[first]] = True
        together = np.add.reduceat(importance[:, order], np.flatnonzero(first), axis=1)
        by_slot = np.empty_like(importance)
        by_slot[:, order[first]] = together
        return cls(csr.keep(keep), by_slot[:, keep], np.flatnonzero(keep))
