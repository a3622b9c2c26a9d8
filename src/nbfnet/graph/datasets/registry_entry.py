"""RegistryEntry: what is known of a dataset before it is read: its files with their checksums, and its counts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from nbfnet.graph.graph import Dataset, Graph

CHUNK = 1 << 20


@dataclass(frozen=True)
class Checksum:
    """A digest, and how it is taken.

    The digest of a *text* file is that of its lines ended by a single line feed, however the file ends them:
    some hosts serve the very same lines with carriage returns.
    """

    algorithm: Literal["sha256", "md5"]
    digest: str  # in lower-case hexadecimal
    text: bool = False

    def of(self, file: Path) -> str:
        """The digest of a file, taken the same way."""
        # md5 serves where nothing better is published: it guards against damage, not against an attacker.
        running = hashlib.new(self.algorithm, usedforsecurity=False)
        held = b""  # a carriage return at the end of a chunk, whose line feed may open the next chunk
        with file.open("rb") as stream:
            while chunk := stream.read(CHUNK):
                chunk = held + chunk
                held = b"\r" if self.text and chunk.endswith(b"\r") else b""
                chunk = chunk[: len(chunk) - len(held)]
                running.update(chunk.replace(b"\r\n", b"\n") if self.text else chunk)
        running.update(held)
        return running.hexdigest()


@dataclass(frozen=True)
class Statistics:
    """How many of each there are; None where nobody said or counted."""

    entities: int | None = None  # of the training graph, where the dataset is inductive
    relations: int | None = None
    train: int | None = None
    valid: int | None = None
    test: int | None = None
    test_entities: int | None = None  # entities of an inductive dataset's test graph
    test_facts: int | None = None  # triplets of an inductive dataset's test graph
    total: int | None = None  # triplets or edges in all, however they are split

    def differences(self, got: Statistics) -> list[str]:
        """Where the counts that both sides have disagree, in words."""
        found = []
        for field in fields(self):
            here, there = getattr(self, field.name), getattr(got, field.name)
            if here is not None and there is not None and here != there:
                found.append(f"{field.name.replace('_', ' ')}: expected {here:,}, got {there:,}")
        return found


def count_graph(graph: Graph) -> Statistics:
    """The counts of one graph before it is split."""
    return Statistics(entities=graph.num_nodes, relations=graph.num_relations, total=len(graph.triplets))


def count_dataset(dataset: Dataset) -> Statistics:
    """The counts of a dataset that comes with its split."""
    inductive = dataset.test_graph
    return Statistics(
        entities=dataset.train.num_nodes,
        relations=dataset.train.num_relations,
        train=len(dataset.train.triplets),
        valid=len(dataset.valid),
        test=len(dataset.test),
        test_entities=None if inductive is None else inductive.num_nodes,
        test_facts=None if inductive is None else len(inductive.triplets),
    )


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
