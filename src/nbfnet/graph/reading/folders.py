"""Folders of splits: train, valid and test files, and the pairs of folders of inductive datasets."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Unpack, cast

import numpy as np

from nbfnet.errors import GraphFormatError
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.reading.findings import Finding, counted
from nbfnet.graph.reading.names import BLANKS
from nbfnet.graph.reading.opening import numbered_lines
from nbfnet.graph.reading.read import (
    ReadOptions,
    SourceOptions,
    kind_of_file,
    label_entities,
    place_of,
    read_part,
)
from nbfnet.graph.reading.side_files import read_labels, read_types
from nbfnet.graph.reading.triplet_table import IndexedTriplets, TripletTable
from nbfnet.graph.triplets import Int32, Triplets
from nbfnet.graph.vocabulary import Vocabulary

SUFFIXES = [f"{suffix}{gz}" for suffix in (".txt", ".tsv", ".csv", ".nt") for gz in ("", ".gz")] + [".parquet", ".pq"]
ENTITY_LIST = "entities.txt"
INDUCTIVE = "_ind"  # an inductive dataset X has its test graph in the folder X_ind beside it


def find_part(folder: Path, part: str) -> Path | None:
    """The file of a folder that holds a part, such as train.txt, train.tsv.gz or train.parquet."""
    return next((path for suffix in SUFFIXES if (path := folder / f"{part}{suffix}").is_file()), None)


def inductive_twin(folder: Path) -> Path:
    """The folder X_ind beside a folder X, whatever way X is written: '.' has a name too."""
    named = folder.resolve() if folder.name in ("", "..") else folder
    return named.parent / (named.name + INDUCTIVE)


def has_inductive_twin(folder: Path) -> bool:
    """Whether the facts of an unseen test graph lie in a folder beside this one."""
    return find_part(inductive_twin(folder), "train") is not None


def read_folder(folder: Path, name: str, **options: Unpack[SourceOptions]) -> Dataset:
    """Read train, valid and test; entities that stand only in valid or test are isolated nodes of the graph."""
    opened = _Folder(folder, ("train", "valid", "test"), options)
    indexed = opened.index()
    valid, test = (indexed.parts.get(part, Triplets.empty()) for part in ("valid", "test"))
    return Dataset(name, opened.graph(name, indexed, indexed.parts["train"]), valid, test)


def read_inductive(
    folder: Path, name: str, test_graph: Path | None = None, **options: Unpack[SourceOptions]
) -> Dataset:
    """Read a pair: train and valid of a folder, and the facts (train) and queries (test) of its test graph's folder.

    The test graph's valid links join as right answers, where its facts and queries have both their entities. Its
    folder is X_ind beside X if nothing else is said.
    """
    opened = _Folder(folder, ("train", "valid"), options)
    indexed = opened.index()
    graph = opened.graph(name, indexed, indexed.parts["train"])

    twin = _Folder(test_graph or inductive_twin(folder), ("train", "test", "valid"), options)
    unseen = twin.index(unnamed="valid")
    number = np.array([graph.relations.id(n) if n in graph.relations else -1 for n in unseen.relations], dtype=np.int32)
    links = {part: unseen.parts.get(part, Triplets.empty()) for part in twin.files}
    links["valid"] = links["valid"].take(number[links["valid"].relation] >= 0)
    twin.report_left_out("valid", len(links["valid"]))
    for part in ("train", "test"):
        _check_relations(links[part], number, unseen.relations, twin.files[part], twin.reading)
    facts, queries, answers = (dataclasses.replace(part, relation=number[part.relation]) for part in links.values())
    asked = dataclasses.replace(twin.graph(f"{name} (test graph)", unseen, facts), relations=graph.relations)
    graph = dataclasses.replace(graph, skipped_lines=graph.skipped_lines + asked.skipped_lines)
    valid = indexed.parts.get("valid", Triplets.empty())
    return Dataset(name, graph, valid, queries, asked, test_graph_valid=answers)


class _Folder:
    """The parts of a folder in one table, and the files beside them."""

    def __init__(self, folder: Path, parts: Sequence[str], options: SourceOptions) -> None:
        self.folder, self.table = folder, TripletTable()
        self.stated = {"labels": options.get("labels"), "types": options.get("types")}
        self.reading = cast(ReadOptions, {key: value for key, value in options.items() if key not in self.stated})
        self.files = {part: find_part(folder, part) for part in parts}
        if self.files["train"] is None:
            raise GraphFormatError(
                "the folder has no train file",
                file=folder,
                remedy="put train.txt (and valid.txt, test.txt) into it, or give the file of edges itself",
            )
        self.found: dict[str, str] = {}  # labels inside the parts
        texts = [path for path in self.files.values() if path is not None and kind_of_file(path) == "text"]
        for part, path in self.files.items():
            if path is not None:
                self.table.siblings = [other for other in texts if other != path]
                self.found.update(read_part(self.table, part, path, **self.reading))

    def index(self, unnamed: str | None = None) -> IndexedTriplets:
        """Number the names of all parts, and of the list of entities: the way to keep nodes that no edge mentions."""
        path, encoding = self.folder / ENTITY_LIST, self.reading.get("encoding")
        listed = [name.strip(BLANKS) for _, name in numbered_lines(path, encoding)] if path.is_file() else []
        directed = self.reading.get("directed")
        return self.table.index([name for name in listed if name], unnamed=unnamed, directed=directed)

    def graph(self, name: str, indexed: IndexedTriplets, facts: Triplets) -> Graph:
        """The graph of these facts, with what stands beside them, or was given instead."""
        encoding = self.reading.get("encoding")
        labels = self.stated["labels"] or find_part(self.folder, "entity_names")
        types = self.stated["types"] or find_part(self.folder, "entity_types")
        relation_names = find_part(self.folder, "relation_names")
        return Graph(
            name,
            indexed.kind,
            label_entities(indexed.entities, self.found, labels, encoding),
            indexed.relations.with_labels(read_labels(relation_names, encoding) if relation_names else {}),
            facts,
            read_types(types, indexed.entities, self.table.findings, encoding) if types else None,
            self.table.skipped,
            tuple(self.table.findings),
        )

    def report_left_out(self, part: str, kept: int) -> None:
        """Report links of a part that were left out because of their names."""
        path = self.files[part]
        left_out = 0 if path is None else self.table.count(part) - kept
        if left_out:
            what = f"{counted(left_out, 'link names', 'links name')} an entity or a relation that no fact has: left out"
            remedy = "nothing, unless a name is misspelt"
            self.table.findings.append(Finding("unknown names", what, str(path), (), left_out, remedy, "note"))


def _check_relations(
    triplets: Triplets, number: Int32, given: Vocabulary, file: Path | None, options: ReadOptions
) -> None:
    """Refuse facts and queries of the test graph with a relation that training never saw."""
    strange = number[triplets.relation] < 0
    if np.any(strange):
        name = given[int(triplets.relation[np.argmax(strange)])]
        raise GraphFormatError(
            f"the test graph has a relation that training never saw: {name!r}",
            file=None if file is None else place_of(file, name, **options),
            remedy="an inductive model knows only the relations of its training graph: leave such triplets out",
        )
