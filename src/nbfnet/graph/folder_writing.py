"""Write a dataset as a folder of text files that any tool can read, all or nothing."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from nbfnet.errors import SplitError
from nbfnet.graph.atomic import new_folder
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.reading.folders import ENTITY_LIST, inductive_twin
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary


def write_folder(dataset: Dataset, folder: Path) -> None:
    """Write train.txt, valid.txt and test.txt, tab-separated, with side files for labels, types and isolated nodes.

    An inductive dataset becomes the pair of folders X (train, valid) and X_ind (facts as train, queries as test).
    """
    with ExitStack() as drafts:
        parts = {"train": dataset.train.triplets, "valid": dataset.valid}
        draft = drafts.enter_context(new_folder(folder))
        if dataset.test_graph is None:
            parts["test"] = dataset.test
        else:
            twin = {"train": dataset.test_graph.triplets, "test": dataset.test}
            _write(dataset.test_graph, twin, drafts.enter_context(new_folder(inductive_twin(folder))))
        _write(dataset.train, parts, draft)


def _write(graph: Graph, parts: dict[str, Triplets], folder: Path) -> None:
    entities, relations = list(graph.entities), list(graph.relations)
    _check_names([*entities, *relations])
    for part, triplets in parts.items():
        _write_lines(folder / f"{part}.txt", _lines(triplets, entities, relations, graph.kind == "homogeneous"))
    for vocabulary, file in ((graph.entities, "entity_names.txt"), (graph.relations, "relation_names.txt")):
        if vocabulary.labels:
            _write_lines(folder / file, _label_lines(vocabulary))
    if graph.types is not None:
        typed = zip(entities, graph.types.of_entity.tolist(), strict=True)
        _write_lines(folder / "entity_types.txt", (f"{name}\t{graph.types.names[t]}" for name, t in typed if t >= 0))
    linked = np.concatenate([ends for triplets in parts.values() for ends in (triplets.head, triplets.tail)])
    if len(np.unique(linked)) < len(entities):
        _write_lines(folder / ENTITY_LIST, entities)


def _lines(triplets: Triplets, entities: list[str], relations: list[str], homogeneous: bool) -> Iterable[str]:
    columns = {"head": [entities[i] for i in triplets.head.tolist()]}
    if not homogeneous:
        columns["relation"] = [relations[i] for i in triplets.relation.tolist()]
    columns["tail"] = [entities[i] for i in triplets.tail.tolist()]
    if triplets.weight is not None:
        columns["weight"] = [repr(weight) for weight in triplets.weight.tolist()]
    if homogeneous and triplets.weight is not None:  # three columns would be taken for triplets without a header
        yield "\t".join(columns)
    for cells in zip(*columns.values(), strict=True):
        yield "\t".join(cells)


def _label_lines(vocabulary: Vocabulary) -> Iterable[str]:
    """Name TAB label, with what would end a column or a line made a space: a label is only for reading."""
    blank = str.maketrans("\t\r\n", "   ")
    for name in vocabulary:
        label = vocabulary.labels.get(name, "").translate(blank)
        if label.strip():
            yield f"{name}\t{label}"


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)


def _check_names(names: list[str]) -> None:
    for name in names:
        if any(character in name for character in "\t\r\n"):
            raise SplitError(
                f"the name {name!r} holds a tab or a line break, which a text file of triplets cannot; "
                "use 'nbfnet data convert' to keep it in a store"
            )
