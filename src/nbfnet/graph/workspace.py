"""Workspace: a folder for what does not fit into memory while a graph is read, and how much memory reading may take.

Within ``workspace`` DuckDB keeps to the limit, and what it reads ends in files that are mapped instead of arrays.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
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
        """The parts end to end, in a file that is mapped."""
        return self.map_columns([dtype], ([part] for part in parts))[0]

    def map_columns(
        self, dtypes: Sequence[type[np.generic]], parts: Iterable[Sequence[npt.NDArray[Any]]]
    ) -> list[npt.NDArray[Any]]:
        """Columns whose parts are given together, each end to end in a file that is mapped.

        They are written, not mapped to be filled: a mapped page that the disk has no room for ends the process.
        """
        files = [self.new_file(".bin") for _ in dtypes]
        with ExitStack() as stack:
            streams = [stack.enter_context(file.open("wb")) for file in files]
            for part in parts:
                for stream, dtype, column in zip(streams, dtypes, part, strict=True):
                    stream.write(np.ascontiguousarray(column, dtype=dtype).data)
        return [_map(file, dtype) for file, dtype in zip(files, dtypes, strict=True)]

    def new_file(self, suffix: str) -> Path:
        """A name that no other file has."""
        return self.folder / f"{next(self._numbers)}{suffix}"


def _map(file: Path, dtype: type[np.generic]) -> npt.NDArray[Any]:
    return np.memmap(file, dtype=dtype, mode="r") if file.stat().st_size else np.empty(0, dtype=dtype)


def release_pages(*arrays: npt.NDArray[Any] | None) -> None:
    """Let go of what was read of mapped files: it counts as this process's memory for as long as it is mapped.

    The system keeps it as long as it has room, so that reading it again is not slower. Other arrays stay as they are.
    """
    for array in arrays:
        file: object = array
        while isinstance(file, np.ndarray) and not file.flags.writeable:
            file = file.base
        if isinstance(file, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            file.madvise(mmap.MADV_DONTNEED)


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
