"""The relation graph: how relations meet in a graph, whatever they are called.

Its nodes are the relation ids of a graph, inverses included. There is an edge from relation r to relation s of kind

    0  if they share a head,             1  if they share a tail,
    2  if a head of r is a tail of s,    3  if a tail of r is a head of s,

once for each kind, however many entities they meet at. A relation that has a fact meets itself: self loops are there.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nbfnet.graph.incidence import Incidence
from nbfnet.graph.inverse import inverse_ids
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Int64, Triplets

KINDS = 4
_PAIRS = 1 << 22  # of relations at a node, that are listed at a time
_MARKS = 1 << 27  # pairs of relations that are marked in a table instead of sorted


def relation_graph(csr: RelationalCSR) -> RelationalCSR:
    """The relation graph of some edges, in O(sum over nodes of (distinct relations that meet there)^2)."""
    heads, tails = csr.heads, csr.tails
    sharing_heads = _meetings(heads, heads)
    if _are_inverse(heads, tails):  # then the tails of a relation are the heads of its inverse
        inverse = inverse_ids(csr.num_relations)
        sharing_tails, head_to_tail = inverse[sharing_heads], np.stack([sharing_heads[0], inverse[sharing_heads[1]]])
    else:
        sharing_tails, head_to_tail = _meetings(tails, tails), _meetings(heads, tails)
    parts = [sharing_heads, sharing_tails, head_to_tail, head_to_tail[::-1]]  # kind 3 is kind 2 the other way round
    kind = np.repeat(np.arange(KINDS), [part.shape[1] for part in parts])
    first, second = np.concatenate(parts, axis=1)
    return RelationalCSR.from_triplets(Triplets.of(first, kind, second), csr.num_relations, KINDS)


def _are_inverse(heads: Incidence, tails: Incidence) -> bool:
    """Whether every fact has its inverse among the edges."""
    if heads.num_relations % 2 and heads.num_relations != 1:
        return False
    inverted = heads.node * heads.num_relations + inverse_ids(heads.num_relations)[heads.relation]
    return np.array_equal(np.sort(inverted), tails.node * tails.num_relations + tails.relation)


def _meetings(first: Incidence, second: Incidence) -> Int64:
    """(2, pair) the distinct pairs of relations, one of each incidence, that have a node in common; ascending."""
    count = first.num_relations
    if count * count <= _MARKS:
        marks = np.zeros(count * count, dtype=np.bool_)
        for keys in _pairs(first, second):
            marks[keys] = True
        found = np.flatnonzero(marks)
    else:
        found = np.empty(0, dtype=np.int64)
        for keys in _pairs(first, second):
            found = np.union1d(found, keys)
    return np.stack(np.divmod(found, max(1, count)))


def _pairs(first: Incidence, second: Incidence) -> Iterator[Int64]:
    """The numbers r * count + s of all pairs that meet at a node, node after node, some millions at a time."""
    begin = second.begin[first.node]
    partners = second.begin[first.node + 1] - begin  # of each entry of the first incidence
    total = np.cumsum(partners)
    start = 0
    while start < len(partners):
        listed = total[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(total, listed + _PAIRS, side="right")))
        entry = np.repeat(np.arange(start, stop), partners[start:stop])
        place = np.arange(len(entry)) - (total[entry] - partners[entry] - listed)
        yield first.relation[entry] * first.num_relations + second.relation[begin[entry] + place]
        start = stop
