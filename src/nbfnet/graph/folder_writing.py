"""Write a dataset as a folder of text files that any tool can read, all or nothing."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from nbfnet.errors import GraphFormatError, WriteError
from nbfnet.graph.atomic import new_folder
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.reading.dialect import TAB, Dialect, detect_dialect
from nbfnet.graph.reading.folders import ENTITY_LIST, inductive_twin
from nbfnet.graph.reading.names import BLANKS
from nbfnet.graph.reading.opening import is_utf8
from nbfnet.graph.reading.text import read_text
from nbfnet.graph.reading.triplet_table import TripletTable
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary

_MARK = "\ufeff"


def write_folder(dataset: Dataset, folder: Path) -> None:
    """Write train.txt, valid.txt and test.txt, tab-separated, with side files for labels, types and isolated nodes.

    An inductive dataset becomes the pair of folders X (train, valid) and X_ind: facts as train, queries as test, other
    right answers as valid. A part without triplets has no file. A header is written only where the first lines would
    be taken for one.
    """
    parts = {"train": dataset.train.triplets, "valid": dataset.valid}
    graphs = {folder: (dataset.train, parts, Triplets.empty())}
    if dataset.test_graph is None:
        parts["test"] = dataset.test
    else:
        graphs[inductive_twin(folder)] = (
            dataset.test_graph,
            {"train": dataset.test_graph.triplets, "test": dataset.test},
            dataset.test_graph_valid,
        )
    for graph, _, _ in graphs.values():
        _check_text(graph)
    with ExitStack() as drafts:  # both folders of a pair are begun before either is put into its place
        for place, (graph, triplets, answers) in graphs.items():
            _write(graph, triplets, answers, drafts.enter_context(new_folder(place)))


def _write(graph: Graph, parts: dict[str, Triplets], answers: Triplets, draft: Path) -> None:
    """Write one folder; ``answers`` are valid links that name no entity of their own when they are read."""
    entities, relations = list(graph.entities), list(graph.relations)
    for part, triplets in [*parts.items(), *([("valid", answers)] if len(answers) else [])]:
        triplets.check(len(entities), len(relations))
        if len(triplets):
            columns = _columns(triplets, entities, relations, graph.kind == "homogeneous")
            _write_triplets(draft / f"{part}.txt", columns)
    _write_labels(draft / "entity_names.txt", graph.entities)
    _write_labels(draft / "relation_names.txt", graph.relations)
    if graph.types is not None:
        typed = zip(entities, graph.types.of_entity.tolist(), strict=True)
        _write_pairs(draft / "entity_types.txt", ((name, graph.types.names[t]) for name, t in typed if t >= 0))
    linked = np.concatenate([ends for triplets in parts.values() for ends in (triplets.head, triplets.tail)])
    if len(np.unique(linked)) < len(entities):
        _write_lines(draft / ENTITY_LIST, entities)


def _columns(triplets: Triplets, entities: list[str], relations: list[str], homogeneous: bool) -> dict[str, list[str]]:
    """Role -> cells, in the order of the file's columns."""
    columns = {"head": [entities[i] for i in triplets.head.tolist()]}
    if not homogeneous:
        columns["relation"] = [relations[i] for i in triplets.relation.tolist()]
    columns["tail"] = [entities[i] for i in triplets.tail.tolist()]
    if triplets.weight is not None:
        columns["weight"] = [repr(weight) for weight in triplets.weight.tolist()]
    return columns


def _write_triplets(path: Path, columns: dict[str, list[str]]) -> None:
    lines = [TAB.join(cells) for cells in zip(*columns.values(), strict=True)]
    _write_lines(path, lines)
    if not _reads_as(path, tuple(columns)):
        _write_lines(path, [TAB.join(columns), *lines])


def _reads_as(path: Path, columns: tuple[str, ...]) -> bool:
    """Whether a file without a header is understood: no name looks like a comment, a title or another column."""
    try:
        dialect = detect_dialect(path)
        if dialect == Dialect(TAB, columns, skip=0, has_header=False):
            return True
        if dialect.delimiter != TAB or dialect.has_header or dialect.skip:
            return False
        table = TripletTable()  # only the whole file can tell
        read_text(table, "train", path)
    except GraphFormatError:
        return False
    return table.columns["train"] == columns and not any(found.kind == "header" for found in table.findings)


def _write_labels(path: Path, vocabulary: Vocabulary) -> None:
    labels = ((name, vocabulary.labels.get(name, "")) for name in vocabulary) if vocabulary.labels else ()
    _write_pairs(path, ((name, label.strip(BLANKS)) for name, label in labels if label.strip(BLANKS)))


def _write_pairs(path: Path, pairs: Iterable[tuple[str, str]]) -> None:
    lines = [TAB.join(pair) for pair in pairs]
    if lines:
        _write_lines(path, lines)


def _write_lines(path: Path, lines: list[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        # Readers drop one byte order mark at the start of a file: give one away to keep that of a name.
        stream.write(_MARK if lines[0].startswith(_MARK) else "")
        stream.writelines(f"{line}\n" for line in lines)


def _check_text(graph: Graph) -> None:
    types = [] if graph.types is None else list(graph.types.names)
    names = (*graph.entities, *graph.relations, *types)
    for text in (*names, *graph.entities.labels.values(), *graph.relations.labels.values()):
        if any(character in text for character in "\t\r\n\0") or not is_utf8(text):
            raise _cannot_hold(text, "a tab, a line break or another character")
    for text in names:
        if text != text.strip(BLANKS):
            raise _cannot_hold(text, "a space around it")


def _cannot_hold(text: str, what: str) -> WriteError:
    remedy = "use 'nbfnet data convert' to keep it in a store"
    return WriteError(f"{text!r} has {what} that a text file of triplets cannot hold", remedy=remedy)
