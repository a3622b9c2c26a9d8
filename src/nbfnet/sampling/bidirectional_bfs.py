"""BidirectionalBFS: for a query and its candidates, the part of a graph that is near them.

The neighbourhood of k hops of the head and of every candidate, regardless of the direction of edges, with at most m in-
and m out-edges drawn for each visited entity. Where nothing is drawn, because no entity has more, every path of at most
2 k edges between the head and a candidate is in it: each of its edges touches an entity that is less than k edges away
from one of the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from nbfnet.errors import GraphFormatError
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Int32, Int64, Triplets
from nbfnet.native import native
from nbfnet.sampling.drawing import draw_keys, draw_positions
from nbfnet.sampling.sorted_keys import expand_ranges


@dataclass(frozen=True, eq=False)
class Subgraphs:
    """The samples of some queries as one graph without an edge between two of them; entities are numbered anew."""

    node: Int32  # (node,) what each entity is in the graph; those of a query stand together
    node_begin: Int64  # (query + 1,)
    triplets: Triplets  # between the new numbers
    slot: Int64  # (triplet,) where each one stands in the rows of the graph
    triplet_begin: Int64  # (query + 1,)
    source: Int32  # (query,) the head by its new number
    target: Int32  # (query, candidate) by new numbers

    @property
    def num_nodes(self) -> int:
        """The entities of all samples."""
        return len(self.node)


class BidirectionalBFS:
    """Samples the facts of one graph, by as many threads as are given; the result does not depend on them."""

    def __init__(self, facts: RelationalCSR, *, hops: int, neighbours: int | None = None) -> None:
        """Sample ``hops`` hops, with at most ``neighbours`` in- and out-edges of each entity; None draws all.

        ``facts`` are the facts as they are, without inverses: ``Graph.facts_csr``.
        """
        assert hops >= 0 and (neighbours is None or neighbours >= 1)
        self.facts, self.hops, self.neighbours = facts, hops, neighbours

    def sample(self, source: Int32, target: Int32, *, seed: int = 0, threads: int = 1) -> Subgraphs:
        """The samples of queries from sources (query,) with candidates (query, candidate).

        What is drawn at an entity depends on the seed and the entity alone, so that a query has the same sample in any
        batch.

        Raises:
            GraphFormatError: an edge leads to an entity that is not there: the store is damaged.
        """
        start = np.concatenate([source[:, None], target], axis=1, dtype=np.int32)
        found = self._compiled(start, seed, threads) if native is not None else self._numpy(start, seed)
        node_begin, node, number, begin, slot, relation, head, tail = found
        weight = None if self.facts.weight is None else self.facts.weight[slot]
        triplets = Triplets(head, relation, tail, weight)
        starts = number.reshape(start.shape)
        return Subgraphs(node, node_begin, triplets, slot, begin, starts[:, 0], starts[:, 1:])

    def _compiled(self, start: Int32, seed: int, threads: int) -> tuple[Any, ...]:
        assert native is not None
        begin = np.arange(len(start) + 1, dtype=np.int64) * start.shape[1]
        flat = np.ascontiguousarray(start).ravel()
        try:
            found: tuple[Any, ...] = native.sample_neighbourhoods(
                self._arrays, begin, flat, self.hops, self.neighbours or 0, seed, threads
            )
        except ValueError as error:
            remedy = "compare the store with its checksums: nbfnet data info STORE --verify"
            raise GraphFormatError(f"the edges of the graph do not fit together: {error}", remedy=remedy) from None
        return found

    @cached_property
    def _arrays(self) -> Any:
        assert native is not None
        into, out = self.facts.records.into, self.facts.records.out
        return native.FactArrays(
            self.facts.indptr, into.view(np.int64), self.facts.transpose.indptr, out.view(np.int64)
        )

    def _numpy(self, start: Int32, seed: int) -> tuple[Any, ...]:
        """The same without the extension."""
        number = np.full(self.facts.num_nodes, -1, dtype=np.int32)  # of each entity in the sample that is being made
        samples = []
        for entities in start:
            samples.append(_Search(self, number, seed).run(entities))
            number[samples[-1][0]] = -1
        nodes, starts, slots, heads, tails = ([sample[i] for sample in samples] for i in range(5))
        node_begin, slot = _begin(nodes), _join(slots, np.int64)
        # Entities of a query are numbered after those of the queries before it.
        start, head, tail = (
            _join([part + first for part, first in zip(parts, node_begin[:-1], strict=True)], np.int32)
            for parts in (starts, heads, tails)
        )
        relation = np.asarray(self.facts.relation[slot])
        return node_begin, _join(nodes, np.int32), start, _begin(slots), slot, relation, head, tail


class _Search:
    """The breadth-first search of one query, level by level: first the in-edges of a level, then its out-edges."""

    def __init__(self, sampler: BidirectionalBFS, number: Int32, seed: int) -> None:
        csr = sampler.facts
        out = csr.transpose
        self._sides = ((csr.indptr, csr.source, None), (out.indptr, out.target, out.slot))
        self._hops, self._most, self._seed, self._number = sampler.hops, sampler.neighbours, seed, number
        self._nodes: list[Int32] = []
        self._count = 0

    def run(self, entities: Int32) -> tuple[Any, ...]:
        self._meet(entities)
        edges = [edge for _ in range(self._hops) for edge in self._expand(self._nodes[-1])]
        node = np.concatenate(self._nodes)
        slot = _join([edge[0] for edge in edges], np.int64)
        _, first = np.unique(slot, return_index=True)
        first = np.sort(first)
        head, tail = (self._number[_join([edge[i] for edge in edges], np.int32)[first]] for i in (1, 2))
        return node, self._number[entities], slot[first], head, tail

    def _expand(self, level: Int32) -> Iterator[tuple[Int64, Int32, Int32]]:
        """(edge,) slot, head and tail of what is drawn for a level; what it leads to becomes the next one."""
        met = []
        for side, (indptr, neighbour, slot) in enumerate(self._sides):
            owner, position = self._draw(level, np.asarray(indptr), side)
            near, far = level[owner], np.asarray(neighbour[position])
            met.append(far)
            yield (
                np.asarray(position if slot is None else slot[position]),
                *((far, near) if side == 0 else (near, far)),
            )
        self._meet(np.concatenate(met))

    def _draw(self, level: Int32, indptr: Int64, side: int) -> tuple[Int64, Int64]:
        """Whose each drawn edge is, and where it stands; in the order of the level."""
        begin, end = indptr[level], indptr[level + 1]
        if self._most is None or not (many := end - begin > self._most).any():
            return expand_ranges(begin, end)
        owner, position = expand_ranges(begin, np.where(many, begin + self._most, end))
        which = np.flatnonzero(many)
        keys = draw_keys(self._seed, level[which], side)
        drawn = begin[which, None] + draw_positions((end - begin)[which], self._most, keys)
        position[many[owner]] = drawn.ravel()
        return owner, position

    def _meet(self, entities: Int32) -> None:
        """Number what is new, in the order it is met."""
        new = entities[self._number[entities] < 0]
        distinct, first = np.unique(new, return_index=True)
        level = distinct[np.argsort(first)]
        self._number[level] = np.arange(self._count, self._count + len(level), dtype=np.int32)
        self._count += len(level)
        self._nodes.append(level)


def _join(parts: list[Any], dtype: type[np.generic]) -> Any:
    return np.concatenate([np.empty(0, dtype=dtype), *parts]).astype(dtype, copy=False)


def _begin(parts: list[Any]) -> Int64:
    begin = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([len(part) for part in parts], out=begin[1:])
    return begin
