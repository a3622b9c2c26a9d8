"""Folders of splits: train, valid and test files, and the pairs of folders of inductive datasets."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Unpack

import numpy as np

from nbfnet.errors import GraphFormatError
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.reading.line_search import place_of
from nbfnet.graph.reading.opening import numbered_lines
from nbfnet.graph.reading.read import ReadOptions, label_entities, read_part
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


def read_folder(folder: Path, name: str, **options: Unpack[ReadOptions]) -> Dataset:
    """Read train, valid and test; entities that stand only in valid or test are isolated nodes of the graph."""
    table, parts = TripletTable(), ("train", "valid", "test")
    found = _read_parts(table, {part: find_part(folder, part) for part in parts}, folder, options)
    indexed = table.index(_listed_entities(folder))
    graph = dataclasses.replace(
        _graph(name, indexed, indexed.parts["train"], folder, found), skipped_lines=table.skipped
    )
    valid, test = (indexed.parts.get(part, Triplets.empty()) for part in ("valid", "test"))
    return Dataset(name, graph, valid, test)


def read_inductive(folder: Path, name: str, **options: Unpack[ReadOptions]) -> Dataset:
    """Read a pair: train and valid of a folder, and the facts (train) and queries (test) of its twin.

    The valid links of the twin join as right answers, where its facts and queries have both their entities.
    """
    twin = inductive_twin(folder)
    table = TripletTable()
    found = _read_parts(table, {part: find_part(folder, part) for part in ("train", "valid")}, folder, options)
    indexed = table.index(_listed_entities(folder))
    graph = _graph(name, indexed, indexed.parts["train"], folder, found)

    twin_table = TripletTable()
    twin_parts = {part: find_part(twin, part) for part in ("train", "test", "valid")}
    found = _read_parts(twin_table, twin_parts, twin, options)
    unseen = twin_table.index(_listed_entities(twin), unnamed="valid")
    number = np.array([graph.relations.id(n) if n in graph.relations else -1 for n in unseen.relations], dtype=np.int32)
    links = {part: unseen.parts.get(part, Triplets.empty()) for part in twin_parts}
    links["valid"] = links["valid"].take(number[links["valid"].relation] >= 0)
    for part in ("train", "test"):
        _check_relations(links[part], number, unseen.relations, twin_parts[part], options)
    facts, queries, answers = (dataclasses.replace(part, relation=number[part.relation]) for part in links.values())
    test_graph = _graph(f"{name} (test graph)", unseen, facts, twin, found)
    skipped = table.skipped + twin_table.skipped
    graph = dataclasses.replace(graph, skipped_lines=skipped)
    valid = indexed.parts.get("valid", Triplets.empty())
    test_graph = dataclasses.replace(test_graph, relations=graph.relations)
    return Dataset(name, graph, valid, queries, test_graph, test_graph_valid=answers)


def _read_parts(
    table: TripletTable, files: dict[str, Path | None], folder: Path, options: ReadOptions
) -> dict[str, str]:
    if files["train"] is None:
        raise GraphFormatError(
            "the folder has no train file",
            file=folder,
            remedy="put train.txt (and valid.txt, test.txt) into it, or give the file of edges itself",
        )
    labels: dict[str, str] = {}
    for part, path in files.items():
        if path is not None:
            labels.update(read_part(table, part, path, **options))
    return labels


def _listed_entities(folder: Path) -> list[str]:
    """The entities of a folder's list, one a line: the way to keep nodes that no edge mentions."""
    path = folder / ENTITY_LIST
    return [name for _, name in numbered_lines(path) if name.strip(" ")] if path.is_file() else []


def _graph(name: str, indexed: IndexedTriplets, facts: Triplets, folder: Path, labels: dict[str, str]) -> Graph:
    entities = label_entities(indexed.entities, labels, find_part(folder, "entity_names"))
    relation_names, types = find_part(folder, "relation_names"), find_part(folder, "entity_types")
    relations = indexed.relations
    if relation_names is not None:
        relations = relations.with_labels(read_labels(relation_names))
    return Graph(name, indexed.kind, entities, relations, facts, read_types(types, entities) if types else None)


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
