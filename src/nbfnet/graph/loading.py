"""load: from whatever a user names or has to a dataset of train, valid and test links."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Unpack

import numpy as np

from nbfnet.errors import DatasetError, GraphFormatError, NbfnetError, UnknownNameError
from nbfnet.graph.datasets.ogb import read_biokg, read_wikikg90m
from nbfnet.graph.datasets.registry import RegistryEntry, check_statistics, find_dataset, known_datasets, locate
from nbfnet.graph.datasets.registry_entry import count_dataset, count_graph
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.reading.findings import Finding
from nbfnet.graph.reading.folders import find_part, has_inductive_twin, inductive_twin, read_folder, read_inductive
from nbfnet.graph.reading.option_check import check_options, check_path
from nbfnet.graph.reading.read import SourceOptions, place_of, read
from nbfnet.graph.splits import split
from nbfnet.graph.store import is_store, read_store
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary


def load(
    source: object,
    *,
    seed: int = 0,
    paper_split: bool = False,
    test_graph: str | Path | None = None,
    **options: Unpack[SourceOptions],
) -> Dataset:
    """The dataset that a source names, holds or is; a graph that comes without a split is split by the seed.

    The source is a dataset's name, a folder, a store, a file, a graph, or any Python object that ``read`` takes.
    ``test_graph`` is a folder of facts (train) and links (test) between entities that training never sees: the
    dataset is then inductive, and tested on it.

    >>> load("world").kind
    'knowledge'
    """
    opened = open_source(source, test_graph=test_graph, **options)
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise DatasetError(f"the seed {seed!r:.100} is not a whole number of at least 0")
    if isinstance(opened, Graph):
        return split(opened, seed=seed, paper_split=paper_split)
    if paper_split:
        raise DatasetError(f"{opened.name} comes with its own split: the paper's split is for a graph that has none")
    return opened


def open_source(
    source: object, *, test_graph: str | Path | None = None, **options: Unpack[SourceOptions]
) -> Graph | Dataset:
    """Read a source as it is: a known dataset, a folder or a store has its split, a file or an object has none.

    A graph or a dataset that was read already is its own source; any other Python object is what ``read`` takes.
    """
    check_options(options)
    if test_graph is not None:
        check_path(test_graph, "give the folder of the test graph")
    if isinstance(source, Graph | Dataset):
        _refuse_options(options, test_graph, source.name, "a graph that was read already")
        return source
    if not isinstance(source, str | Path):
        if test_graph is not None:
            remedy = "write the graph to a folder as train.txt, and give the folder"
            raise GraphFormatError("a test graph is stated for a Python object", remedy=remedy)
        return read(source, **options)
    if isinstance(source, str) and source.casefold() in known_datasets():
        _refuse_options(options, test_graph, source, "a known dataset")
        return _open_known(find_dataset(source))
    path = Path(source)
    if not str(source) or not path.exists():
        raise _not_found(source)
    if is_store(path):
        _refuse_options(options, test_graph, source, "a store")
        return read_store(path, check=None)
    if path.is_dir():
        return _open_folder(path, path.resolve().name, None if test_graph is None else Path(test_graph), options)
    if not path.is_file():
        remedy = "save its content as a file and give that"
        raise GraphFormatError("neither a file nor a folder", file=path, remedy=remedy)
    if test_graph is not None:
        remedy = "put the file into a folder as train.txt, and give the folder"
        raise GraphFormatError("a test graph is stated for a single file", file=path, remedy=remedy)
    return read(path, **options)


def _open_folder(path: Path, name: str, test_graph: Path | None, options: SourceOptions) -> Graph | Dataset:
    train, edges = find_part(path, "train"), find_part(path, "edges")
    if test_graph is not None:
        if not test_graph.is_dir():
            raise GraphFormatError("no such folder", file=test_graph, remedy="give the folder of the test graph")
        return read_inductive(path, name, test_graph, **options)
    if edges and not train:
        return dataclasses.replace(read(edges, **options), name=name)
    dataset = read_folder(path, name, **options)
    if has_inductive_twin(path):
        dataset = dataclasses.replace(dataset, train=_with_finding(dataset.train, _unread_twin(path)))
    return dataset if find_part(path, "valid") or find_part(path, "test") else dataset.train


def _unread_twin(folder: Path) -> Finding:
    twin = inductive_twin(folder)
    what = f"{twin} lies beside it and was not read"
    remedy = f"--test-graph {twin} (test_graph= in Python) tests on it"
    return Finding("test graph", what, str(folder), (), 1, remedy, "important")


def _with_finding(graph: Graph, finding: Finding) -> Graph:
    return dataclasses.replace(graph, findings=(*graph.findings, finding))


def _not_found(source: str | Path) -> NbfnetError:
    """What names neither a dataset nor a path: a misspelt dataset if it looks like one."""
    misspelt = UnknownNameError("dataset, file or folder", str(source), known_datasets())
    if misspelt.suggestions and Path(source).name == str(source) and not Path(source).suffix:
        return misspelt
    remedy = "check the path, or see 'nbfnet data list'"
    return GraphFormatError("no such file, folder or dataset", file=source or "''", remedy=remedy)


def _refuse_options(options: SourceOptions, test_graph: object, source: str | Path, what: str) -> None:
    """Options that say how to read would have no effect on what is known already."""
    given = {**options, "directed": options.get("directed") or None, "test_graph": test_graph}
    stated = [name for name, value in given.items() if value is not None and name != "skip_bad_lines"]
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
    # A published dataset is as it is: there is nothing to fix.
    if isinstance(opened, Graph):
        check_statistics(entry, count_graph(opened))
        return dataclasses.replace(opened, findings=())
    check_statistics(entry, count_dataset(opened))
    return dataclasses.replace(opened, train=dataclasses.replace(opened.train, findings=()))


def _number_nodes(graph: Graph, entry: RegistryEntry, location: Path) -> Graph:
    """Name nodes by their numbers 0 to |V| - 1, so that nodes without an edge count too."""
    nodes = entry.statistics.entities or 2**31 - 1
    for name in graph.entities:
        if not (name.isascii() and name.isdigit() and len(name) <= 10 and int(name) < nodes):
            what = f"the node {name[:100]!r} is not a number from 0 to {nodes - 1}"
            remedy = "give the nodes of this dataset as such numbers, or delete the file and let it be fetched again"
            raise GraphFormatError(what, file=place_of(location, name), remedy=remedy)
    number = np.array([int(name) for name in graph.entities], dtype=np.int32)
    edges = graph.triplets
    renumbered = Triplets(number[edges.head], edges.relation, number[edges.tail], edges.weight)
    entities = Vocabulary.numbered(entry.statistics.entities or int(number.max()) + 1)
    return dataclasses.replace(graph, entities=entities, triplets=renumbered)
