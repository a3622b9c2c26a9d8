"""The wrong answers that a benchmark gives with its links, to rank the true one against."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nbfnet.errors import GraphFormatError
from nbfnet.graph.triplets import Int32, Int64


@dataclass(frozen=True, eq=False)
class GivenNegatives:
    """Wrong heads and wrong tails for each link (u, q, v), as ids of the dataset's entities."""

    head: Int32  # (query, negative) to rank u among, given q and v
    tail: Int32  # (query, negative) to rank v among, given u and q


@dataclass(frozen=True, eq=False)
class TailCandidates:
    """Tails for each link (u, q, v), the true one among them; they stay on disk until they are asked for."""

    candidates: npt.NDArray[np.integer[Any]]  # (query, candidate)
    answer: Int64  # (query,) the column of v
    num_nodes: int
    file: Path  # where the candidates are, to name it when they are wrong

    def negatives(self, queries: Int64) -> Int32:
        """The wrong tails of some links: (query, candidate - 1)."""
        rows = np.asarray(self.candidates[queries])
        if rows.size and (rows.min() < 0 or rows.max() >= self.num_nodes):
            raise GraphFormatError(
                f"names entities {rows.min()}..{rows.max()}, but there are only 0..{self.num_nodes - 1}",
                file=self.file,
                remedy="get the dataset anew",
            )
        wrong = np.ones(rows.shape, dtype=np.bool_)
        wrong[np.arange(len(rows)), self.answer[queries]] = False
        return rows[wrong].reshape(len(rows), rows.shape[1] - 1).astype(np.int32)
