"""Inverse relations: the one file that knows where they are.

With R relations, relation r < R has the inverse r + R, and every triplet (u, r, v) is joined by (v, r + R, u).
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from nbfnet.graph.triplets import Float64, Int64, Triplets

Relation = TypeVar("Relation", int, npt.NDArray[np.int32])


def with_inverses(triplets: Triplets, num_relations: int) -> Triplets:
    """The triplets, then their inverses in the same order: edge i + |E| is the inverse of edge i."""
    return triplets.concatenate(
        Triplets(triplets.tail, invert(triplets.relation, num_relations), triplets.head, triplets.weight)
    )


def with_reversals(triplets: Triplets) -> Triplets:
    """The edges of an undirected graph both ways, under the same relation: edge i + |E| is edge i reversed."""
    return triplets.concatenate(Triplets(triplets.tail, triplets.relation, triplets.head, triplets.weight))


def with_self_loops(triplets: Triplets, num_nodes: int) -> Triplets:
    """The edges of a homogeneous graph, then one from every node to itself."""
    node = np.arange(num_nodes, dtype=np.int32)
    return triplets.concatenate(Triplets(node, np.zeros_like(node), node))


def invert(relation: Relation, num_relations: int) -> Relation:
    """The inverse of a relation; the inverse of an inverse is the relation itself."""
    inverted = (relation + num_relations) % (2 * num_relations)
    if isinstance(inverted, np.ndarray):
        return inverted.astype(np.int32)
    return inverted


def inverse_ids(num_relation_ids: int) -> Int64:
    """(relation id,) the inverse of each; the only relation of an undirected graph is its own."""
    ids = np.arange(num_relation_ids)
    return ids if num_relation_ids == 1 else (ids + num_relation_ids // 2) % max(1, num_relation_ids)


def is_inverse(relation: int, num_relations: int) -> bool:
    """Whether a relation id stands for an inverse."""
    return relation >= num_relations


def base(relation: int, num_relations: int) -> int:
    """The relation as it stands in the data, whichever way it is read."""
    return relation % num_relations


def with_inverse_count(num_relations: int) -> int:
    """How many relation ids there are once the inverses are counted."""
    return 2 * num_relations


def without_inverse_count(num_relation_ids: int) -> int:
    """How many of the relation ids are not inverses."""
    return num_relation_ids // 2


def split_by_direction(by_relation: Float64) -> tuple[Float64, Float64]:
    """The values (relation id,) of the relations, and those of their inverses."""
    along, against = np.split(by_relation, 2)
    return along, against


def facts_of_edges(edge: Int64, num_facts: int) -> tuple[Int64, npt.NDArray[np.bool_]]:
    """Which fact each edge of ``with_inverses`` or ``with_reversals`` comes from, and whether it is reversed."""
    count = max(1, num_facts)
    return edge % count, edge >= count
