"""RegistryEntry: what is known of a dataset before it is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nbfnet.graph.datasets.checksum import Checksum
from nbfnet.graph.datasets.statistics import Statistics

DatasetKind = Literal["knowledge", "homogeneous", "inductive"]

Layout = Literal["triplets", "edges", "inductive", "biokg", "wikikg90m", "embedded"]
"""How the files lie at the entry's location.

- ``triplets``: a folder of ``train.txt``, ``valid.txt`` and ``test.txt``;
- ``edges``: one file of edges;
- ``inductive``: two ``triplets`` folders, ``X`` to learn from and ``X_ind`` to test on;
- ``biokg``, ``wikikg90m``: OGB's own folders;
- ``embedded``: a ``triplets`` folder inside the package.
"""


@dataclass(frozen=True)
class RemoteFile:
    """A file to download."""

    url: str
    target: str  # where it goes, under a data folder
    checksum: Checksum
    largest: int = 1_000_000_000  # bytes, at least twice what was published; a larger file is another one


@dataclass(frozen=True)
class RegistryEntry:
    """A known dataset: where it lies, what it should hold, where it comes from."""

    name: str
    kind: DatasetKind
    layout: Layout
    location: str  # the folder or the file to read, under a data folder
    needs: tuple[str, ...]  # the files, under a data folder, without which the dataset is not there
    description: str
    source: str  # who made it, and under which licence
    statistics: Statistics  # as the paper states them
    files: tuple[RemoteFile, ...] = ()
    checksums: str = ""  # how the checksums of the files are known
    by_hand: str = ""  # how to get the dataset when there is nothing to download

    def missing(self, folder: Path) -> list[str]:
        """The needed files that a data folder does not hold."""
        return [needed for needed in self.needs if not (folder / needed).is_file()]
