"""Workspace: a folder for what does not fit into memory while a graph is read, and how much memory reading may take.

Within ``workspace`` DuckDB keeps to the limit, and what it reads ends in files that are mapped instead of arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class Workspace:
    """A folder of scratch files, and the bytes of memory that may be used."""

    folder: Path
    memory: int
    _numbers: Iterator[int] = field(default_factory=count)

    def map_array(self, dtype: type[np.generic], parts: Iterable[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """The parts end to end, in a file that is mapped.

        They are written, not mapped to be filled: a mapped page that the disk has no room for ends the process.
        """
        file = self.folder / f"{next(self._numbers)}.bin"
        with file.open("wb") as stream:
            for part in parts:
                stream.write(np.ascontiguousarray(part, dtype=dtype).data)
        return np.memmap(file, dtype=dtype, mode="r") if file.stat().st_size else np.empty(0, dtype=dtype)


_current: ContextVar[Workspace | None] = ContextVar("workspace", default=None)


def current_workspace() -> Workspace | None:
    """The workspace that this thread reads in, if there is one."""
    return _current.get()


@contextmanager
def workspace(folder: Path, memory: int) -> Iterator[Workspace]:
    """Read in a workspace: a new folder, which the caller removes with everything that was read."""
    folder.mkdir(parents=True)
    here = Workspace(folder, memory)
    token = _current.set(here)
    try:
        yield here
    finally:
        _current.reset(token)
