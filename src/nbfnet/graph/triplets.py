"""Triplets as arrays: the edges (head, relation, tail) of a graph, optionally weighted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from nbfnet.errors import GraphFormatError

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]
Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Triplets:
    """E = {(head_i, relation_i, tail_i)} with an optional weight, in the order they were given."""

    head: Int32  # (triplet,)
    relation: Int32  # (triplet,)
    tail: Int32  # (triplet,)
    weight: Float64 | None = None  # (triplet,)

    def __post_init__(self) -> None:
        for array in (self.relation, self.tail, self.weight):
            assert array is None or array.shape == self.head.shape

    @classmethod
    def of(
        cls,
        head: npt.ArrayLike,
        relation: npt.ArrayLike,
        tail: npt.ArrayLike,
        weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Triplets from anything array-like, converted to the right types."""
        return cls(
            np.ascontiguousarray(head, dtype=np.int32),
            np.ascontiguousarray(relation, dtype=np.int32),
            np.ascontiguousarray(tail, dtype=np.int32),
            None if weight is None else np.ascontiguousarray(weight, dtype=np.float64),
        )

    @classmethod
    def empty(cls) -> Self:
        """No triplet at all."""
        return cls.of([], [], [])

    def __len__(self) -> int:
        return len(self.head)

    def take(self, which: Int64 | npt.NDArray[np.bool_]) -> Self:
        """The triplets at some positions, or where a mask is true."""
        weight = None if self.weight is None else self.weight[which]
        return type(self)(self.head[which], self.relation[which], self.tail[which], weight)

    def check(self, num_nodes: int, num_relations: int) -> None:
        """Refuse numbers that are not the number of a node or relation: compiled code uses them as indices.

        Raises:
            GraphFormatError: names the first such number.
        """
        for role, count in (("head", num_nodes), ("relation", num_relations), ("tail", num_nodes)):
            ids: Int32 = getattr(self, role)
            if len(ids) and not (ids.min() >= 0 and ids.max() < count):
                wrong = int(ids.min() if ids.min() < 0 else ids.max())
                remedy = "number them from 0, or read the graph again"
                raise GraphFormatError(f"an edge has the {role} {wrong}, but there are {count}", remedy=remedy)

    def concatenate(self, other: Triplets) -> Self:
        """These triplets, then the other ones; a missing weight counts as 1."""
        weight = None
        if self.weight is not None or other.weight is not None:
            weight = np.concatenate([self.weight_or_ones(), other.weight_or_ones()])
        return type(self)(
            np.concatenate([self.head, other.head]),
            np.concatenate([self.relation, other.relation]),
            np.concatenate([self.tail, other.tail]),
            weight,
        )

    def weight_or_ones(self) -> Float64:
        """The weights, 1 for every triplet of an unweighted graph."""
        return np.ones(len(self), dtype=np.float64) if self.weight is None else self.weight

    def pairs(self, num_nodes: int) -> Int64:
        """A number for each unordered pair {head, tail}: min * V + max, the same for both directions."""
        low = np.minimum(self.head, self.tail).astype(np.int64)
        return low * num_nodes + np.maximum(self.head, self.tail)
