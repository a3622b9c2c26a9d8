"""RelationalCSR: the in-edges of every node, with the transpose, and views of it with edges hidden.

Messages flow head -> tail, and a row gathers what flows *into* a node: rows are tails. This is said here once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from nbfnet.graph.incidence import Incidence
from nbfnet.graph.triplets import Float64, Int32, Int64, Triplets
from nbfnet.native import native


@dataclass(frozen=True, eq=False)
class RelationalCSR:
    """E(v) for every node v: slots ``indptr[v]:indptr[v + 1]`` hold the edges (source, relation, v).

    Slots of a row keep the order of the triplets they came from. Self loops, multi-edges and empty rows are legal.
    """

    num_nodes: int
    num_relations: int  # relation ids, inverses included
    indptr: Int64  # (node + 1,)
    source: Int32  # (slot,) the head x of edge (x, r, v)
    relation: Int32  # (slot,)
    edge: Int64  # (slot,) which triplet the slot came from
    weight: Float64 | None = None  # (slot,)
    whole: RelationalCSR | None = None  # of a view with edges hidden: the edges that it is a view of

    @classmethod
    def from_triplets(cls, triplets: Triplets, num_nodes: int, num_relations: int) -> RelationalCSR:
        """Sort the triplets by tail, in O(E + V)."""
        triplets.check(num_nodes, num_relations)
        indptr, order = sort_by_key(triplets.tail, num_nodes)
        weight = None if triplets.weight is None else triplets.weight[order]
        source, relation = triplets.head[order], triplets.relation[order]
        return cls(num_nodes, num_relations, indptr, source, relation, order, weight)

    @property
    def num_edges(self) -> int:
        """How many edges the rows hold."""
        return len(self.source)

    @cached_property
    def target(self) -> Int32:
        """(slot,) the tail v of every slot's edge, that is its row."""
        return np.repeat(np.arange(self.num_nodes, dtype=np.int32), self.degree)

    @cached_property
    def degree(self) -> Int64:
        """(node,) how many edges end in each node."""
        return np.diff(self.indptr)

    @cached_property
    def transpose(self) -> Transpose:
        """The same edges by head: the out-edges of every node."""
        indptr, slot = sort_by_key(self.source, self.num_nodes)
        return Transpose(indptr, self.target[slot], slot)

    @cached_property
    def records(self) -> FactRecords:
        """The same edges twice, by tail and by head, each with all that a search reads of it side by side."""
        into, out = np.empty(self.num_edges, dtype=IN_RECORD), np.empty(self.num_edges, dtype=OUT_RECORD)
        into["head"], into["relation"] = self.source, self.relation
        out["tail"], out["slot"] = self.transpose.target, self.transpose.slot
        out["relation"] = self.relation[self.transpose.slot]
        return FactRecords(into, out)

    @cached_property
    def copies(self) -> tuple[Int64, npt.NDArray[np.bool_]]:
        """The slots with equal edges one behind the other, and whether each is the first of its kind."""
        kind = self.source.astype(np.int64) * self.num_relations + self.relation
        order = np.lexsort((kind, self.target))  # stable: copies keep their order
        first = np.ones(self.num_edges, dtype=np.bool_)
        first[1:] = (np.diff(kind[order]) != 0) | (np.diff(self.target[order]) != 0)
        return order, first

    @cached_property
    def heads(self) -> Incidence:
        """Which relations each node is a head of, by these edges alone."""
        return Incidence(self, self.source)

    @cached_property
    def tails(self) -> Incidence:
        """Which relations each node is a tail of, by these edges alone."""
        return Incidence(self, self.target)

    @cached_property
    def relations(self) -> RelationalCSR:
        """The relation graph of these edges; of a view, that of all edges: hidden ones are facts all the same."""
        from nbfnet.graph.relation_graph import relation_graph  # which is made of such rows itself

        return relation_graph(self) if self.whole is None else self.whole.relations

    @cached_property
    def known(self) -> RelationalCSR:
        """Of a view, the edges that are also among those it is a view of: all, unless these are a sample of the facts.

        What entities tell about relations is told by these. A hidden edge is not among them: the nodes that it joins
        could give it away.
        """
        if self.whole is None:
            return self
        among = np.zeros(1 + int(max(self.edge.max(initial=-1), self.whole.edge.max(initial=-1))), dtype=np.bool_)
        among[self.whole.edge] = True
        return self.keep(among[self.edge])

    def hide(self, slots: Int64) -> RelationalCSR:
        """A view without the edges in some slots, in O(E + V): nothing is sorted again."""
        slots = np.unique(slots)
        if len(slots) <= _FEW:
            return self._hide_few(slots)
        keep = np.ones(self.num_edges, dtype=np.bool_)
        keep[slots] = False
        return self.keep(keep)

    def keep(self, mask: npt.NDArray[np.bool_]) -> RelationalCSR:
        """A view of only the edges whose slot is true in the mask."""
        survivors = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(mask, dtype=np.int64)])
        return RelationalCSR(
            self.num_nodes,
            self.num_relations,
            survivors[self.indptr],
            self.source[mask],
            self.relation[mask],
            self.edge[mask],
            None if self.weight is None else self.weight[mask],
            self if self.whole is None else self.whole,
        )

    def _hide_few(self, slots: Int64) -> RelationalCSR:
        """The same for a few slots, ascending: what is between them is copied as a whole, and the transpose with it."""
        hidden = RelationalCSR(
            self.num_nodes,
            self.num_relations,
            _begins_without(self.indptr, slots),
            _without(self.source, slots),
            _without(self.relation, slots),
            _without(self.edge, slots),
            None if self.weight is None else _without(self.weight, slots),
            self if self.whole is None else self.whole,
        )
        if "transpose" in self.__dict__:
            hidden.__dict__["transpose"] = self.transpose.without(slots, self.source)
        return hidden


IN_RECORD = np.dtype([("head", "<i4"), ("relation", "<i4")])
OUT_RECORD = np.dtype([("tail", "<i4"), ("relation", "<i4"), ("slot", "<i8")])


@dataclass(frozen=True, eq=False)
class FactRecords:
    """Edges in the order of a RelationalCSR, and of its transpose."""

    into: npt.NDArray[np.void]  # (slot,) of IN_RECORD
    out: npt.NDArray[np.void]  # (edge,) of OUT_RECORD


@dataclass(frozen=True, eq=False)
class Transpose:
    """The out-edges of every node u: ``indptr[u]:indptr[u + 1]`` lists the edges from u to ``target``."""

    indptr: Int64  # (node + 1,)
    target: Int32  # (edge,)
    slot: Int64  # (edge,) where the edge stands in the RelationalCSR

    def without(self, slots: Int64, source: Int32) -> Transpose:
        """Without the edges in a few slots, ascending, whose sources (slot,) are given."""
        places = []
        for s in slots.tolist():
            begin, end = self.indptr[source[s] : source[s] + 2].tolist()
            places.append(begin + int(np.searchsorted(self.slot[begin:end], s)))
        place = np.sort(np.array(places, dtype=np.int64))
        slot = _without(self.slot, place)
        for s in slots[::-1].tolist():
            slot -= slot > s
        return Transpose(_begins_without(self.indptr, place), _without(self.target, place), slot)


_FEW = 8  # edges that are hidden at once

Array = TypeVar("Array", Int32, Int64, Float64)


def _without(array: Array, places: Int64) -> Array:
    """A copy without the entries at some places, ascending."""
    begins, ends = [0, *(places + 1).tolist()], [*places.tolist(), len(array)]
    return np.concatenate([array[begin:end] for begin, end in zip(begins, ends, strict=True)])


def _begins_without(indptr: Int64, places: Int64) -> Int64:
    """Where runs begin when the entries at some places, ascending, are gone."""
    return indptr - np.searchsorted(places, indptr)


def sort_by_key(keys: Int32, num_keys: int) -> tuple[Int64, Int64]:
    """Where each key's run begins (num_keys + 1,), and the positions of the keys in stable order (n,)."""
    if native is None:
        order = np.argsort(keys, kind="stable")
        indptr = np.zeros(num_keys + 1, dtype=np.int64)
        np.cumsum(np.bincount(keys, minlength=num_keys), out=indptr[1:])
        return indptr, order
    indptr, order = np.empty(num_keys + 1, dtype=np.int64), np.empty(len(keys), dtype=np.int64)
    native.counting_sort(np.ascontiguousarray(keys), indptr, order)
    return indptr, order
