"""Store: a dataset on disk as flat arrays, opened by memory mapping, written all or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from nbfnet.errors import GraphFormatError
from nbfnet.graph.atomic import new_folder
from nbfnet.graph.graph import Dataset, EntityTypes, Graph
from nbfnet.graph.packed_names import NumberedNames, PackedNames
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary

FORMAT = "nbfnet-store"
VERSION = 1
MANIFEST = "store.json"


def is_store(folder: Path) -> bool:
    """Whether a folder is a store."""
    return (folder / MANIFEST).is_file()


def write_store(dataset: Dataset, folder: Path) -> None:
    """Write a dataset as a store; the folder appears complete or not at all."""
    with new_folder(folder) as draft:
        manifest: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": dataset.name, "split": dataset.split}
        manifest["train"] = _write_graph(dataset.train, draft / "train")
        if dataset.test_graph is not None:
            manifest["test_graph"] = _write_graph(dataset.test_graph, draft / "test_graph", shared_relations=True)
        for part in ("valid", "test"):
            _write_triplets(getattr(dataset, part), draft / part)
        (draft / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def read_store(folder: Path) -> Dataset:
    """Open a store; its arrays are read from disk as they are used."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if manifest.get("format") != FORMAT or manifest.get("version") != VERSION:
            found = f"{manifest.get('format')} version {manifest.get('version')}"
            remedy = "convert the graph again with 'nbfnet data convert'"
            raise GraphFormatError(f"expected {FORMAT} version {VERSION}, got {found}", file=folder, remedy=remedy)
        train = _read_graph(folder / "train", manifest["train"])
        test_graph = None
        if "test_graph" in manifest:
            test_graph = _read_graph(folder / "test_graph", manifest["test_graph"], relations=train.relations)
        valid, test = (_read_triplets(folder / part) for part in ("valid", "test"))
    except (OSError, ValueError, KeyError) as error:
        remedy = "convert the graph again with 'nbfnet data convert'"
        raise GraphFormatError(f"the store is damaged: {error}", file=folder, remedy=remedy) from None
    return Dataset(manifest["name"], train, valid, test, test_graph, manifest["split"])


def _write_graph(graph: Graph, folder: Path, *, shared_relations: bool = False) -> dict[str, Any]:
    _write_triplets(graph.triplets, folder)
    description: dict[str, Any] = {"name": graph.name, "kind": graph.kind}
    description["entities"] = _write_names(graph.entities, folder / "entities")
    if not shared_relations:
        description["relations"] = _write_names(graph.relations, folder / "relations")
    if graph.types is not None:
        np.save(folder / "type_of_entity.npy", graph.types.of_entity)
        description["types"] = list(graph.types.names)
    return description


def _read_graph(folder: Path, description: dict[str, Any], *, relations: Vocabulary | None = None) -> Graph:
    if relations is None:
        relations = _read_names(folder / "relations", description["relations"], "relation")
    types = None
    if "types" in description:
        of_entity = np.load(folder / "type_of_entity.npy", mmap_mode="r", allow_pickle=False)
        types = EntityTypes(Vocabulary.of(description["types"], role="entity type"), of_entity)
    entities = _read_names(folder / "entities", description["entities"], "entity")
    return Graph(description["name"], description["kind"], entities, relations, _read_triplets(folder), types)


def _write_triplets(triplets: Triplets, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for column in ("head", "relation", "tail", "weight"):
        array = getattr(triplets, column)
        if array is not None:
            np.save(folder / f"{column}.npy", array)


def _read_triplets(folder: Path) -> Triplets:
    columns = {}
    for column in ("head", "relation", "tail", "weight"):
        file = folder / f"{column}.npy"
        if column != "weight" or file.exists():
            columns[column] = np.load(file, mmap_mode="r", allow_pickle=False)
    return Triplets(**columns)


def _write_names(vocabulary: Vocabulary, folder: Path) -> dict[str, Any]:
    if isinstance(vocabulary.names, NumberedNames):
        return {"numbered": len(vocabulary)}
    folder.mkdir(parents=True)
    np.save(folder / "offsets.npy", vocabulary.names.offsets)
    np.save(folder / "text.npy", vocabulary.names.text)
    if vocabulary.labels:
        (folder / "labels.json").write_text(json.dumps(vocabulary.labels), encoding="utf-8")
    return {"named": len(vocabulary)}


def _read_names(folder: Path, description: dict[str, Any], role: str) -> Vocabulary:
    if "numbered" in description:
        return Vocabulary.numbered(description["numbered"], role=role)
    offsets = np.load(folder / "offsets.npy", mmap_mode="r", allow_pickle=False)
    text = np.load(folder / "text.npy", mmap_mode="r", allow_pickle=False)
    labels = folder / "labels.json"
    known = json.loads(labels.read_text(encoding="utf-8")) if labels.exists() else None
    return Vocabulary(PackedNames(offsets, text), role=role, labels=known)
