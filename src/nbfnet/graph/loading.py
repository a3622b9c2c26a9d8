"""load: a dataset's name, a folder, a store or a file, to links to learn from, select by and test on."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Unpack

import numpy as np

from nbfnet.errors import GraphFormatError, NbfnetError, SplitError, UnknownNameError
from nbfnet.graph.datasets.ogb import read_biokg, read_wikikg90m
from nbfnet.graph.datasets.registry import RegistryEntry, check_statistics, find_dataset, known_datasets, locate
from nbfnet.graph.datasets.statistics import count_dataset, count_graph
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.reading.folders import find_part, has_inductive_twin, read_folder, read_inductive
from nbfnet.graph.reading.read import ReadOptions, read
from nbfnet.graph.splits import split
from nbfnet.graph.store import is_store, read_store
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary


class SourceOptions(ReadOptions, total=False):
    """How to read a source: as a file is read, with its side files."""

    labels: Path | None  # a file of readable names
    types: Path | None  # a file of entity types


def load(source: str | Path, *, seed: int = 0, paper_split: bool = False, **options: Unpack[SourceOptions]) -> Dataset:
    """Load a dataset by name, or from a folder of splits, a store or a single file, which is split.

    >>> load("world").kind
    'knowledge'
    """
    return split_source(open_source(source, **options), seed=seed, paper_split=paper_split)


def split_source(opened: Graph | Dataset, *, seed: int = 0, paper_split: bool = False) -> Dataset:
    """Split what comes as one graph; a dataset keeps the split it has."""
    if isinstance(opened, Graph):
        return split(opened, seed=seed, paper_split=paper_split)
    if paper_split:
        raise SplitError(f"{opened.name} comes with its own split: the paper's split is for a graph that has none")
    return opened


def open_source(source: str | Path, **options: Unpack[SourceOptions]) -> Graph | Dataset:
    """Read a source as it is: a single file gives a graph, a known dataset or a folder its splits."""
    if isinstance(source, str) and source.casefold() in known_datasets():
        _refuse_options(options, source, "a known dataset")
        return _open_known(find_dataset(source))
    path = Path(source)
    if not str(source) or not path.exists():
        raise _not_found(source)
    if path.is_file():
        return read(path, **options)
    if not path.is_dir():
        remedy = "save its content as a file and give that"
        raise GraphFormatError("neither a file nor a folder", file=path, remedy=remedy)
    if is_store(path):
        _refuse_options(options, source, "a store")
        return read_store(path)
    labels, types = options.pop("labels", None), options.pop("types", None)
    if labels or types:
        remedy = "put them into the folder as entity_names.txt and entity_types.txt"
        raise GraphFormatError("side files are stated for a folder", file=path, remedy=remedy)
    return _open_folder(path, path.resolve().name, options)


def _open_folder(path: Path, name: str, options: ReadOptions) -> Graph | Dataset:
    train, edges = find_part(path, "train"), find_part(path, "edges")
    if edges and not train:
        return dataclasses.replace(read(edges, **options), name=name)
    if has_inductive_twin(path):
        return read_inductive(path, name, **options)
    dataset = read_folder(path, name, **options)
    return dataset if find_part(path, "valid") or find_part(path, "test") else dataset.train


def _not_found(source: str | Path) -> NbfnetError:
    """What names neither a dataset nor a path: a misspelt dataset if it looks like one."""
    misspelt = UnknownNameError("dataset, file or folder", str(source), known_datasets())
    if misspelt.suggestions and Path(source).name == str(source) and not Path(source).suffix:
        return misspelt
    remedy = "check the path, or see 'nbfnet data list'"
    return GraphFormatError("no such file, folder or dataset", file=source or "''", remedy=remedy)


def _refuse_options(options: SourceOptions, source: str | Path, what: str) -> None:
    """Options that say how to read would have no effect on what is known already."""
    stated = [name for name, value in options.items() if value is not None and name != "skip_bad_lines"]
    if stated:
        remedy = f"leave out what says how to read it: {', '.join(stated)}"
        raise GraphFormatError(f"this is {what}", file=source, remedy=remedy)


def _open_known(entry: RegistryEntry) -> Graph | Dataset:
    location = locate(entry)
    opened: Graph | Dataset
    match entry.layout:
        case "edges":
            opened = _number_nodes(read(location, name=entry.name), entry, location)
        case "inductive":
            opened = read_inductive(location, entry.name)
        case "biokg":
            opened = read_biokg(location).dataset
        case "wikikg90m":
            opened = read_wikikg90m(location).dataset
        case _:
            opened = read_folder(location, entry.name)
    check_statistics(entry, count_graph(opened) if isinstance(opened, Graph) else count_dataset(opened))
    return opened


def _number_nodes(graph: Graph, entry: RegistryEntry, location: Path) -> Graph:
    """Name nodes by their numbers 0 to |V| - 1, so that nodes without an edge count too."""
    strange = next((name for name in graph.entities if not (name.isascii() and name.isdigit())), None)
    if strange is not None:
        remedy = "give the nodes of this dataset as numbers from 0, or fetch it again"
        raise GraphFormatError(f"the node {strange!r} is not a number", file=location, remedy=remedy)
    number = np.array([int(name) for name in graph.entities], dtype=np.int32)
    edges = graph.triplets
    renumbered = Triplets(number[edges.head], edges.relation, number[edges.tail], edges.weight)
    nodes = entry.statistics.entities or int(number.max()) + 1
    return dataclasses.replace(graph, entities=Vocabulary.numbered(nodes), triplets=renumbered)
