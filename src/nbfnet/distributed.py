"""Team: the processes that share one training, as ``torchrun`` starts them; alone, a team of one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist
from torch import Tensor

from nbfnet.errors import TeamError


@dataclass(frozen=True)
class Team:
    """This process's number among those that work together, and how many there are."""

    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process writes files and talks to the user."""
        return self.rank == 0

    def share(self, count: int) -> slice:
        """This process's part of ``count`` things; the parts of a team cover all, each once."""
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)

    def add(self, tensor: Tensor) -> None:
        """Sum a tensor over the team, in place."""
        if self.size > 1:
            dist.all_reduce(tensor)

    def add_counts(self, *counts: npt.NDArray[np.int64]) -> None:
        """Sum whole numbers over the team, in place and exactly."""
        for count in counts if self.size > 1 else ():
            dist.all_reduce(torch.from_numpy(count))

    def wait(self) -> None:
        """Until every process of the team is here."""
        if self.size > 1:
            dist.barrier()


ALONE = Team()


@contextmanager
def gather_team(device: str = "cpu") -> Iterator[Team]:
    """The team that ``torchrun`` described in the environment; it parts when the block ends."""
    size = _stated_size()
    if size == 1:
        yield ALONE
        return
    if device == "cuda":  # each process has a GPU of its own
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))
    # Counts are summed on the CPU whatever the device: both backends are needed there.
    dist.init_process_group("cpu:gloo,cuda:nccl" if device.startswith("cuda") else "gloo")
    try:
        yield Team(dist.get_rank(), size)
    except RuntimeError as error:
        if "Connection" not in str(error):
            raise
        raise TeamError("another process of the team has stopped; what it said tells why") from None
    finally:
        dist.destroy_process_group()


def _stated_size() -> int:
    """How many processes the environment says that there are; what else a team needs must be stated too."""
    stated = os.environ.get("WORLD_SIZE", "1")
    missing = [name for name in ("RANK", "MASTER_ADDR", "MASTER_PORT") if not os.environ.get(name)]
    if stated != "1" and (missing or not stated.isdecimal()):
        without = f" without {', '.join(missing)}" if missing else ""
        raise TeamError(f"WORLD_SIZE is {stated!r}{without}: start the processes with torchrun, or unset WORLD_SIZE")
    return int(stated)
