"""Team: the processes that share one training, as ``torchrun`` starts them; alone, a team of one."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist
from torch import Tensor

from nbfnet.errors import TeamError

_SECONDS = "NBFNET_TEAM_SECONDS"  # how long the processes of a team wait for each other at the start


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
    rank = _stated("RANK", size - 1)
    _stated("MASTER_PORT", 65535)
    if device == "cuda":  # each process has a GPU of its own
        torch.cuda.set_device(_stated("LOCAL_RANK", size - 1))
    store = _meet(rank, size)
    # Counts are summed on the CPU whatever the device: both backends are needed there.
    backend = "cpu:gloo,cuda:nccl" if device.startswith("cuda") else "gloo"
    dist.init_process_group(backend, store=store, rank=rank, world_size=size)
    try:
        yield Team(dist.get_rank(), size)
    except RuntimeError as error:
        if "Connection" not in str(error):
            raise
        raise TeamError("another process of the team has stopped; what it said tells why") from None
    finally:
        dist.destroy_process_group()


def _meet(rank: int, size: int) -> Any:
    """Wait until all processes of the team are there, but not without end.

    Raises:
        TeamError: says how many came.
    """
    seconds = _seconds_to_meet()
    until = time.monotonic() + seconds
    address = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    remedy = f"start all with torchrun, or unset WORLD_SIZE; {_SECONDS} gives more time"
    try:
        server = dist.TCPStore(  # type: ignore[attr-defined]
            os.environ["MASTER_ADDR"],
            int(os.environ["MASTER_PORT"]),
            size,
            is_master=rank == 0 and os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True",
            timeout=timedelta(seconds=seconds),
            wait_for_workers=False,
            multi_tenant=True,
        )
        store, came = _agree(dist.PrefixStore("nbfnet", server), rank, size, until)  # type: ignore[attr-defined]
    except (RuntimeError, ValueError, OSError) as error:  # as PyTorch reports what it could not reach
        reason = str(error).splitlines()[0]
        raise TeamError(
            f"process {rank} of {size} could not meet the others at {address} ({reason}): {remedy}"
        ) from None
    if store is None:
        raise TeamError(f"only {came} of {size} processes came within {seconds:g} seconds: {remedy}")
    return store


def _agree(server: Any, rank: int, size: int, until: float) -> tuple[Any, int]:
    """A part of the server that is this meeting's alone, or None if some did not come in time; and how many came.

    After a restart the server has what earlier processes wrote, and how often each machine has restarted may differ. So
    the leader opens every meeting under a name of its own. The others answer by names of their own; and it begins for
    those whose names the leader has read, because what is there of an earlier meeting has other ones.
    """
    own, meeting, came = secrets.token_hex(8), "", 0
    if rank == 0:
        server.set("meeting", own)
    while True:
        if server.check(["meeting"]):
            meeting = server.get("meeting").decode()
            if rank:
                server.set(f"{meeting}/{rank}", own)
            present = [f"{meeting}/{other}" for other in range(1, size) if server.check([f"{meeting}/{other}"])]
            came = 1 + len(present)
            if rank == 0 and came == size:
                server.set(f"{meeting}/begins", " ".join([own, *(server.get(key).decode() for key in present)]))
            begins = f"{meeting}/begins"
            if server.check([begins]) and own in server.get(begins).decode().split():
                return dist.PrefixStore(meeting, server), size  # type: ignore[attr-defined]
        if time.monotonic() >= until:
            return None, came
        time.sleep(0.05)


def _seconds_to_meet() -> float:
    stated = os.environ.get(_SECONDS, "300")
    try:
        seconds = float(stated)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 1e6:
        raise TeamError(f"{_SECONDS} is {stated!r}: give a number of seconds, such as 300")
    return seconds


def _stated(name: str, most: int) -> int:
    """A number of the environment, from 0."""
    stated = os.environ.get(name, "0")
    if not (stated.isascii() and stated.isdecimal() and len(stated) < 10 and int(stated) <= most):
        raise TeamError(f"{name} is {stated!r}, not a number from 0 to {most}: start the processes with torchrun")
    return int(stated)


def _stated_size() -> int:
    """How many processes the environment says that there are; what else a team needs must be stated too."""
    stated = os.environ.get("WORLD_SIZE", "1")
    missing = [name for name in ("RANK", "MASTER_ADDR", "MASTER_PORT") if not os.environ.get(name)]
    if stated != "1" and (
        missing or not (stated.isascii() and stated.isdecimal() and 0 < len(stated) < 7 and int(stated))
    ):
        without = f" without {', '.join(missing)}" if missing else ""
        raise TeamError(f"WORLD_SIZE is {stated!r}{without}: start the processes with torchrun, or unset WORLD_SIZE")
    return int(stated)
