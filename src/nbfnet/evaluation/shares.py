"""An evaluation in shares that need not be computed at the same time, nor by processes that know of each other.

A ``Share`` is evaluated like the part of one process of a team, and keeps what it would add to the sums of the team.
``SumOfShares`` is the team of whoever adds them up: its own part is empty, and its sums are those of all shares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from nbfnet.distributed import Team

Found = list[npt.NDArray[Any]]  # what an evaluation adds to the sums of a team, in order
_BATCH = 64  # a multiple of every batch of an evaluation: shares have whole batches, so scores are the same to all bits


@dataclass(frozen=True)
class Share(Team):
    """Part ``rank`` of ``size`` of an evaluation. What it computes of its own part alone means nothing."""

    found: Found = field(default_factory=list)

    def share(self, count: int) -> slice:
        """This part of ``count`` queries, in whole batches."""
        batches = -(-count // _BATCH)
        begin, end = (_BATCH * (batches * rank // self.size) for rank in (self.rank, self.rank + 1))
        return slice(min(begin, count), min(end, count))

    def add(self, tensor: Tensor) -> None:
        """Keep what would be added."""
        self.found.append(tensor.numpy().copy())

    def add_counts(self, *counts: npt.NDArray[np.int64]) -> None:
        """Keep what would be added."""
        self.found.extend(count.copy() for count in counts)

    def wait(self) -> None:
        """For nobody."""


@dataclass(frozen=True)
class SumOfShares(Team):
    """Adds up shares, which are computed when the first sum is asked for."""

    compute: Callable[[], Iterable[Found]] = tuple
    _sums: Found = field(default_factory=list)

    def share(self, count: int) -> slice:
        """Nothing."""
        return slice(0, 0)

    def add(self, tensor: Tensor) -> None:
        """The sum over all shares, in place."""
        tensor += torch.from_numpy(self._next())

    def add_counts(self, *counts: npt.NDArray[np.int64]) -> None:
        """The sums over all shares, in place."""
        for count in counts:
            count += self._next()

    def wait(self) -> None:
        """For nobody."""

    def _next(self) -> npt.NDArray[Any]:
        if not self._sums:
            for found in self.compute():
                if self._sums:
                    for total, more in zip(self._sums, found, strict=True):
                        total += more
                else:
                    self._sums.extend(found)
        return self._sums.pop(0)
