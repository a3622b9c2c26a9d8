"""The frontier: which pair representations a batch of queries has to compute, exactly, and no others.

A query's source u reaches a node v only after dist(u, v) iterations; before, h^(t)_v is the *background* b^(t)_v, what
the network computes with no source anywhere. And h^(t)_v matters only if some target is at most T - t edges away:

    v is a row at iteration t  <=>  dist(u, v) <= t  and  dist(v, nearest target) <= T - t.

Everywhere else the background is read. Queries whose edges have the same representations, a *family*, share one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from nbfnet.errors import QueryError
from nbfnet.graph.triplets import Int32, Int64
from nbfnet.model.iteration import RowEdges
from nbfnet.model.memory import composed_memory, fused_memory
from nbfnet.model.message_graph import MessageGraph
from nbfnet.native import native

_NONE = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32))  # no targets are named, no nodes changed


@dataclass(frozen=True, eq=False)
class Frontier:
    """The rows of a batch, iteration by iteration: first every query's, then every family's background."""

    graph: MessageGraph
    plan: Any  # RowPlan of the compiled extension
    source: Int32  # (query,)
    relation: Int64  # (query,)
    family_relation: Int64  # (family,) a relation of each family, which gives its edge representations
    origin: Int64 | None = None  # (node,) which node of a given background each one is a copy of; None: itself

    @classmethod
    def make(
        cls,
        graph: MessageGraph,
        source: Int32,
        relation: Int64,
        targets: tuple[Int64, Int32] | None,
        *,
        iterations: int,
        dependent: bool,
        frontier: bool,
        background_given: bool = False,
        changed: tuple[Int64, Int32] | None = None,
        origin: Int64 | None = None,
    ) -> Frontier:
        """Plan the rows of distinct queries (source, relation).

        Args:
            graph: the edges.
            source: (query,).
            relation: (query,).
            targets: begin (query + 1,) and nodes (target,) of each query's targets; None: every node.
            iterations: T.
            dependent: whether edge representations depend on the query's relation.
            frontier: False plans every node of every query.
            background_given: lists what queries read of the background, for the caller to fill in.
            changed: begin (query + 1,) and nodes of each query whose in-edges are not those of the given background.
                That background knows the source: only what a changed node reaches is a row.
            origin: (node,) which node of a given background each node is a copy of.

        Raises:
            QueryError: an id is not in the graph, or the arrays do not fit each other.
        """
        assert native is not None
        begin, target = _NONE if targets is None else targets
        changed_begin, changed_node = _NONE if changed is None else changed
        _check("source", source, graph.num_nodes)
        _check("relation", relation, graph.num_relations)
        _check("target", target, graph.num_nodes)
        if len(relation) != len(source):
            raise QueryError(f"relation has {len(relation)} entries, source {len(source)}")
        family_relation, family = np.unique(relation, return_inverse=True)
        if not dependent:
            family_relation, family = family_relation[:1], np.zeros(len(relation), dtype=np.int64)
        try:
            plan = native.plan_rows(
                graph.arrays,
                iterations,
                len(family_relation),
                np.ascontiguousarray(source, dtype=np.int32),
                family.astype(np.int32),
                np.ascontiguousarray(begin, dtype=np.int64),
                np.ascontiguousarray(target, dtype=np.int32),
                changed_begin,
                changed_node,
                frontier,
                background_given,
                torch.get_num_threads(),
            )
        except ValueError as error:
            raise QueryError(f"the rows of the queries cannot be planned: {error}") from None
        return cls(graph, plan, source, relation, family_relation, origin)

    @classmethod
    def of_background(cls, graph: MessageGraph, relation: int, iterations: int) -> Frontier:
        """Plan the background of every node, for the queries of a relation."""
        assert native is not None
        none, threads = np.zeros(0, dtype=np.int32), torch.get_num_threads()
        plan = native.plan_rows(graph.arrays, iterations, 1, none, none, *_NONE, *_NONE, True, False, threads)
        return cls(graph, plan, none, none.astype(np.int64), np.array([relation], dtype=np.int64))

    @classmethod
    def of_all_nodes(cls, graph: MessageGraph, source: Int32, relation: Int64, iterations: int) -> Frontier:
        """Plan every node of every query, where each query has edge representations of its own."""
        assert native is not None
        family, threads = np.arange(len(source), dtype=np.int32), torch.get_num_threads()
        plan = native.plan_rows(
            graph.arrays, iterations, len(source), source, family, *_NONE, *_NONE, False, False, threads
        )
        return cls(graph, plan, source, relation, relation)

    def family_of(self, relation: int) -> int:
        """The family of the queries of a relation; all queries are one where edges do not depend on them."""
        return 0 if self.plan.families == 1 else int(np.searchsorted(self.family_relation, relation))

    def memory(self, dim: int, itemsize: int, *, with_gradient: bool, fused: bool) -> int:
        """About how many bytes the batch takes, by compiled iterations (``fused``) or by plain PyTorch."""
        iterations = range(self.plan.iterations + 1)
        rows: list[int] = [self.plan.rows(t) for t in iterations]
        if fused:
            return fused_memory(rows, dim * itemsize, with_gradient=with_gradient)
        degree = self.graph.csr.degree
        messages = [int(degree[self.plan.node(t)].sum()) for t in iterations]
        return composed_memory(rows[1:], messages[1:], dim * itemsize, with_gradient=with_gradient)

    def first_rows(self) -> npt.NDArray[np.intp]:
        """The queries that have a row before the first iteration: the one of their source."""
        return np.flatnonzero(np.diff(self.plan.begin(0))[: self.plan.queries])

    def target_rows(self) -> Tensor:
        """(target,) the row of the last iteration where each target stands."""
        return torch.from_numpy(self.plan.target_row())

    def own_rows(self, iteration: int) -> Tensor:
        """(row,) where each row of an iteration stands in the one before; behind its rows if it has none there.

        Those of backgrounds have none: where they are asked for, in a linear iteration, backgrounds are zero.
        """
        node, begin = self.plan.node(iteration), self.plan.begin(iteration)
        earlier, earlier_begin = self.plan.node(iteration - 1), self.plan.begin(iteration - 1)
        own, row_of = np.full(len(node), len(earlier), dtype=np.int64), np.full(self.graph.num_nodes, len(earlier))
        for group in range(self.plan.queries):
            a, b = earlier_begin[group : group + 2]
            row_of[earlier[a:b]] = np.arange(a, b)
            own[begin[group] : begin[group + 1]] = row_of[node[begin[group] : begin[group + 1]]]
            row_of[earlier[a:b]] = len(earlier)
        return torch.from_numpy(own)

    def row_families(self, iteration: int) -> Tensor:
        """(row,) the family of each row of an iteration."""
        of_query = [self.family_of(relation) for relation in self.relation.tolist()]
        family = np.array([*of_query, *range(self.plan.families)], dtype=np.int64)
        return torch.from_numpy(np.repeat(family, np.diff(self.plan.begin(iteration))))

    def rows_by_group(self) -> list[tuple[int, Tensor]]:
        """For each query, then each family's background: its first row of the last iteration, and its nodes."""
        begin, node = self.plan.begin(self.plan.iterations), torch.from_numpy(self.plan.node(self.plan.iterations))
        return [(int(a), node[a:b]) for a, b in pairwise(begin)]

    def composed_rows(self, iteration: int, num_relations: int) -> ComposedRows:
        """The rows of an iteration as plain tensors, for the composed path, with so many edge representations."""
        assert native is not None
        indptr, source, relation, own = native.row_edges(self.plan, self.graph.arrays, iteration, num_relations)
        node, begin = self.plan.node(iteration), self.plan.begin(iteration)
        group = np.repeat(np.arange(len(begin) - 1), np.diff(begin))
        sources = np.concatenate([self.source, np.full(self.plan.families, -1, dtype=np.int32)])
        at_source = np.flatnonzero(node == sources[group])
        edges = RowEdges(torch.from_numpy(indptr), torch.from_numpy(source), torch.from_numpy(relation))
        tensors = (torch.from_numpy(a) for a in (own, node, at_source, group[at_source]))
        return ComposedRows(edges, *tensors)


def _check(role: str, ids: npt.NDArray[Any], count: int) -> None:
    """Before ids become int32, where one that is too large would be another one."""
    if ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer):
        raise QueryError(f"{role} is {ids.shape} of {ids.dtype}, expected a list of integers")
    outside = ids[(ids < 0) | (ids >= count)]
    if len(outside):
        raise QueryError(f"{role} holds the id {outside[0]}, expected 0 to {count - 1}")


@dataclass(frozen=True, eq=False)
class ComposedRows:
    """The rows of one iteration: their edges, and where each row comes from."""

    edges: RowEdges  # sources are rows of the iteration before, the zero row behind them; relations family * |R| + r
    own: Tensor  # (row,) the row itself in the iteration before
    node: Tensor  # (row,)
    at_source: Tensor  # rows that are their query's source
    query_at_source: Tensor  # and the query of each
