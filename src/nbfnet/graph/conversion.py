"""convert: a source to a store, within a limit of memory; what does not fit lies on disk until the store is whole."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nbfnet.available_memory import show_size
from nbfnet.errors import ConfigError, NotEnoughMemoryError
from nbfnet.graph.atomic import new_folder
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.loading import load
from nbfnet.graph.store import fill_store
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.workspace import workspace
from nbfnet.progress import stage

_SCRATCH = "scratch"  # the folder in a draft for what does not fit into memory
_LEAST_MEMORY = 256 << 20  # DuckDB needs some for each thread
_BYTES_TO_SPLIT = 100  # for each fact


@dataclass(frozen=True)
class Converted:
    """What a store was made of."""

    split: str
    train: int
    valid: int
    test: int
    skipped_lines: int


def convert(
    open_source: Callable[[], Graph | Dataset],
    folder: Path,
    *,
    memory: int,
    seed: int = 0,
    paper_split: bool = False,
    no_split: bool = False,
) -> Converted:
    """Read a source and write it as a store; the folder appears complete or not at all.

    Args:
        open_source: reads it, which is done within the limit of memory.
        folder: of the store; everything that does not fit into memory lies beside it until it is complete.
        memory: bytes that may be used.
        seed: of the split of a graph that comes without one.
        paper_split: split a homogeneous graph as the paper did.
        no_split: keep every fact of a graph that comes without a split for training.

    Raises:
        ConfigError: the limit is too low for anything, or the source has a split that should not be.
        NotEnoughMemoryError: the graph has no split, and cannot be split within the limit.
        WriteError: the folder exists already, or the disk is full.
    """
    if memory < _LEAST_MEMORY:
        raise ConfigError(f"a memory limit of {show_size(memory)} is too low: at least {show_size(_LEAST_MEMORY)}")
    with new_folder(folder) as draft:
        with workspace(draft / _SCRATCH, memory):
            opened = open_source()
            dataset = _unsplit(opened) if no_split else _split(opened, memory, seed, paper_split)
            fill_store(dataset, draft, memory=memory // 3)
        counts = len(dataset.train.triplets), len(dataset.valid), len(dataset.test)
        converted = Converted(dataset.split, *counts, dataset.train.skipped_lines)
        del opened, dataset  # they have mapped what is removed now
        shutil.rmtree(draft / _SCRATCH)
    return converted


def _unsplit(opened: Graph | Dataset) -> Dataset:
    if isinstance(opened, Dataset):
        raise ConfigError(f"{opened.name} comes with its own split: leave out --no-split")
    return Dataset(opened.name, opened, Triplets.empty(), Triplets.empty(), split="none, every fact is for training")


def _split(opened: Graph | Dataset, memory: int, seed: int, paper_split: bool) -> Dataset:
    if isinstance(opened, Graph) and (needed := _BYTES_TO_SPLIT * len(opened.triplets)) > memory:
        raise NotEnoughMemoryError(
            f"splitting {len(opened.triplets):,} facts needs about {show_size(needed)} of memory, "
            f"and {show_size(memory)} may be used",
            remedy="raise --memory-limit, give a folder with train, valid and test, or keep all facts with --no-split",
        )
    with stage("splitting"):
        return load(opened, seed=seed, paper_split=paper_split)
