"""Store: a dataset on disk as flat arrays, opened by memory mapping, written all or not at all.

docs/STORE.md has the format.
"""

from __future__ import annotations

import json
from pathlib import Path
from tokenize import TokenError  # of an array's header that is damaged
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from nbfnet.errors import GraphFormatError
from nbfnet.graph.atomic import new_folder
from nbfnet.graph.fact_rows import in_rows, out_rows, row_begins
from nbfnet.graph.fingerprint import fingerprint
from nbfnet.graph.graph import Dataset, EntityTypes, Graph, Kind, Stored
from nbfnet.graph.name_index import sort_names
from nbfnet.graph.packed_names import NumberedNames, PackedNames
from nbfnet.graph.relational_csr import IN_RECORD, OUT_RECORD, FactRecords, RelationalCSR, Transpose
from nbfnet.graph.store_files import MANIFEST, StoreFiles, check_files, checksum, map_array
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.progress import stage
from nbfnet.regular_files import is_special

FORMAT = "nbfnet-store"
VERSION = 2  # in version 1 the rows were other files
_MEMORY = 1 << 30  # bytes to make rows in, where nothing else is said
_SMALL = 32 << 20  # bytes of a store that is compared with its checksums whenever it is opened
_AT_ONCE = 1 << 20  # numbers of a file that are looked at whenever it is opened
_EXTRA = "test_graph_valid"  # a part that only stores of inductive datasets may have


def is_store(folder: Path) -> bool:
    """Whether a folder is a store."""
    return (folder / MANIFEST).is_file()


def fingerprint_of(folder: Path) -> str | None:
    """The fingerprint that is written in a store, which is not opened; None of one that has none.

    Raises:
        GraphFormatError: the manifest cannot be read.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        found = manifest.get("fingerprint")
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        remedy = "convert the graph again with 'nbfnet data convert'"
        raise GraphFormatError(f"the store is damaged: {error}", file=folder, remedy=remedy) from None
    return None if found is None else str(found)


def write_store(dataset: Dataset, folder: Path) -> None:
    """Write a dataset as a store; the folder appears complete or not at all."""
    with new_folder(folder) as draft:
        fill_store(dataset, draft)


def fill_store(dataset: Dataset, folder: Path, *, rows: bool = True, memory: int = _MEMORY) -> None:
    """Write a dataset's files into a folder that nobody reads yet, each with its checksum in the manifest.

    Args:
        dataset: its arrays may be mapped files: they are read from the first to the last.
        folder: of the store.
        rows: write what is needed to sample the graph too: its facts by tail and by head, and its names sorted.
        memory: bytes that making the rows may take.
    """
    manifest: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": dataset.name, "split": dataset.split}
    files = StoreFiles(folder)
    graphs = {"train": dataset.train}
    if dataset.test_graph is not None:
        graphs["test_graph"] = dataset.test_graph
    for place, graph in graphs.items():
        manifest[place] = _write_graph(graph, files, place, shared_relations=place != "train")
        if rows:
            _write_rows(graph, files, place, memory)
            manifest[place]["rows"] = len(graph.triplets)
            manifest[place]["entities"] |= _write_order(graph.entities, files, f"{place}/entities")
    parts = ["valid", "test"]
    if len(dataset.test_graph_valid):
        manifest[_EXTRA] = len(dataset.test_graph_valid)
        parts.append(_EXTRA)
    for part in parts:
        _write_triplets(getattr(dataset, part), files, part)
    if rows:
        with stage("taking the fingerprint"):
            manifest["fingerprint"] = fingerprint(dataset)
    manifest["files"] = files.written
    manifest["checksum"] = checksum(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def read_store(folder: Path, *, check: bool | None = False) -> Dataset:
    """Open a store; its arrays are read from disk as they are used.

    The manifest, the readable labels and the sizes of all files are always checked. Numbers without a name are
    refused: those of valid and test links here, those of edges once they are used, so that a large graph still opens at
    once.

    Args:
        folder: of the store.
        check: whether to read every file to its end and compare it with its checksum; None does so if that takes no
            time, because the store is small.

    Raises:
        GraphFormatError: the store is damaged; names the file.
    """
    try:
        if is_special(folder / MANIFEST):
            raise ValueError(f"{MANIFEST} is a pipe or a device")
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if not isinstance(manifest, dict):
            raise ValueError(f"{MANIFEST} is not a JSON object")
        if manifest.get("format") != FORMAT or not _is_known(manifest):
            found = f"{manifest.get('format')} version {manifest.get('version')}"
            remedy = "convert the graph again with 'nbfnet data convert'"
            raise GraphFormatError(f"expected {FORMAT} version {VERSION}, got {found}", file=folder, remedy=remedy)
        if check is None:
            check = sum(written["bytes"] for written in manifest.get("files", {}).values()) <= _SMALL
        check_files(folder, manifest, content=check)
        train = _read_graph(folder / "train", manifest["train"])
        test_graph = None
        if "test_graph" in manifest:
            test_graph = _read_graph(folder / "test_graph", manifest["test_graph"], relations=train.relations)
        valid, test = (_read_triplets(folder / part) for part in ("valid", "test"))
        extra = _read_triplets(folder / _EXTRA) if _EXTRA in manifest else Triplets.empty()
        asked = test_graph or train
        for part, links, graph in (("valid", valid, train), ("test", test, asked), (_EXTRA, extra, asked)):
            try:
                links.check(graph.num_nodes, graph.num_relations)
            except GraphFormatError as error:
                raise ValueError(f"a number of {part} has no name: {error.what}") from None
        if check and "files" not in manifest:  # written before stores had checksums
            for names in (train.entities, train.relations, asked.entities):
                _check_names(names)
        dataset = Dataset(manifest["name"], train, valid, test, test_graph, manifest["split"], extra)
        if "fingerprint" in manifest:
            object.__setattr__(dataset, "stored", Stored(folder.resolve(), str(manifest["fingerprint"])))
        return dataset
    except (
        OSError,
        EOFError,
        ValueError,
        LookupError,
        TypeError,
        AttributeError,
        SyntaxError,
        TokenError,
        RecursionError,
    ) as error:
        remedy = "convert the graph again with 'nbfnet data convert'"
        raise GraphFormatError(f"the store is damaged: {error}", file=folder, remedy=remedy) from None


def _is_known(manifest: dict[str, Any]) -> bool:
    """Whether a store's version can be read: an older one, as runs have them, if it has no rows."""
    has_rows = any("rows" in manifest.get(place, {}) for place in ("train", "test_graph"))
    version = manifest.get("version")
    return version == VERSION or (version == 1 and not has_rows)


def _check_names(names: Vocabulary) -> None:
    if isinstance(names.names, PackedNames) and len(set(names.names)) < len(names):
        raise ValueError(f"the same name stands for two of its {names.role} numbers")


def _write_graph(graph: Graph, files: StoreFiles, place: str, *, shared_relations: bool = False) -> dict[str, Any]:
    _write_triplets(graph.triplets, files, place)
    description: dict[str, Any] = {"name": graph.name, "kind": graph.kind}
    description["entities"] = _write_names(graph.entities, files, f"{place}/entities")
    if not shared_relations:
        description["relations"] = _write_names(graph.relations, files, f"{place}/relations")
    if graph.types is not None:
        files.save(f"{place}/type_of_entity.npy", graph.types.of_entity)
        description["types"] = list(graph.types.names)
    return description


def _read_graph(folder: Path, description: dict[str, Any], *, relations: Vocabulary | None = None) -> Graph:
    if description["kind"] not in get_args(Kind):
        raise ValueError(f"{description['kind']!r} is not a kind of graph")
    if relations is None:
        relations = _read_names(folder / "relations", description["relations"], "relation")
    entities = _read_names(folder / "entities", description["entities"], "entity")
    types = None
    if "types" in description:
        of_entity = map_array(folder / "type_of_entity.npy", np.int32, len(entities))
        types = EntityTypes(Vocabulary.of(description["types"], role="entity type"), of_entity)
        if 0 < len(of_entity) <= _AT_ONCE and not -1 <= of_entity.min() <= of_entity.max() < len(types.names):
            raise ValueError("type_of_entity.npy has a number that is not that of a type")
    graph = Graph(description["name"], description["kind"], entities, relations, _read_triplets(folder), types)
    if "rows" in description:
        graph.__dict__["facts_csr"] = _read_rows(folder, graph, description["rows"])
    return graph


def _write_rows(graph: Graph, files: StoreFiles, place: str, memory: int) -> None:
    """The facts by tail (in) and by head (out), as ``Graph.facts_csr`` has them."""
    facts, count = graph.triplets, len(graph.triplets)
    facts.check(graph.num_nodes, graph.num_relations)
    columns: dict[str, npt.DTypeLike] = {"fact": IN_RECORD, "edge": np.int64}
    if facts.weight is not None:
        columns["weight"] = np.float64
    with stage("sorting facts by tail"):
        begin = row_begins(facts.tail, graph.num_nodes)
        files.save(f"{place}/in/begin.npy", begin)
        files.save_columns(f"{place}/in", columns, count, in_rows(facts, begin, memory))
    with stage("sorting facts by head"):
        out_begin = row_begins(facts.head, graph.num_nodes)
        files.save(f"{place}/out/begin.npy", out_begin)
        into = map_array(files.folder / place / "in" / "fact.npy", IN_RECORD, count)
        files.save_columns(f"{place}/out", {"fact": OUT_RECORD}, count, out_rows(into, begin, out_begin, memory))


def _read_rows(folder: Path, graph: Graph, count: int) -> RelationalCSR:
    """The rows of a graph as they were written; where they lead is looked at by whoever follows them."""

    def begins(place: str) -> npt.NDArray[np.int64]:
        begin = map_array(folder / place / "begin.npy", np.int64, graph.num_nodes + 1)
        if begin[0] != 0 or begin[-1] != count:
            raise ValueError(f"{folder.name}/{place}/begin.npy does not lead from 0 to {count}")
        return begin

    if count != len(graph.triplets):
        raise ValueError(f"{folder.name} has rows of {count:,} facts, and {len(graph.triplets):,} facts")
    into, out = (
        map_array(folder / "in" / "fact.npy", IN_RECORD, count),
        map_array(folder / "out" / "fact.npy", OUT_RECORD, count),
    )
    edge = map_array(folder / "in" / "edge.npy", np.int64, count)
    weight = None if graph.triplets.weight is None else map_array(folder / "in" / "weight.npy", np.float64, count)
    head, relation = into["head"], into["relation"]
    csr = RelationalCSR(graph.num_nodes, graph.num_relations, begins("in"), head, relation, edge, weight)
    # What these properties would compute.
    csr.__dict__["transpose"] = Transpose(begins("out"), out["tail"], out["slot"])
    csr.__dict__["records"] = FactRecords(into, out)
    return csr


def _write_triplets(triplets: Triplets, files: StoreFiles, place: str) -> None:
    for column in ("head", "relation", "tail", "weight"):
        array = getattr(triplets, column)
        if array is not None:
            files.save(f"{place}/{column}.npy", array)


def _read_triplets(folder: Path) -> Triplets:
    head = map_array(folder / "head.npy", np.int32)
    relation, tail = (map_array(folder / f"{column}.npy", np.int32, len(head)) for column in ("relation", "tail"))
    weight = folder / "weight.npy"
    return Triplets(head, relation, tail, map_array(weight, np.float64, len(head)) if weight.exists() else None)


def _write_names(vocabulary: Vocabulary, files: StoreFiles, place: str) -> dict[str, Any]:
    if vocabulary.labels:
        files.save_json(f"{place}/labels.json", vocabulary.labels)
    if isinstance(vocabulary.names, NumberedNames):
        return {"numbered": len(vocabulary)}
    files.save(f"{place}/offsets.npy", vocabulary.names.offsets)
    files.save(f"{place}/text.npy", vocabulary.names.text)
    return {"named": len(vocabulary)}


def _read_names(folder: Path, description: dict[str, Any], role: str) -> Vocabulary:
    labels = folder / "labels.json"
    if is_special(labels):
        raise ValueError(f"{labels.name} is a pipe or a device")
    known = json.loads(labels.read_text(encoding="utf-8")) if labels.exists() else None
    if "numbered" in description:
        return Vocabulary(NumberedNames(int(description["numbered"])), role=role, labels=known)
    offsets = map_array(folder / "offsets.npy", np.int64, description["named"] + 1)
    if offsets[0] != 0 or (len(offsets) <= _AT_ONCE and (np.diff(offsets) < 0).any()):
        raise ValueError(f"{folder.parent.name}/{folder.name}/offsets.npy falls")
    text = map_array(folder / "text.npy", np.uint8, int(offsets[-1]))
    order = map_array(folder / "sorted.npy", np.int32, description["named"]) if description.get("sorted") else None
    return Vocabulary(PackedNames(offsets, text, order), role=role, labels=known)


def _write_order(vocabulary: Vocabulary, files: StoreFiles, place: str) -> dict[str, Any]:
    if isinstance(vocabulary.names, NumberedNames):
        return {}
    with stage("sorting names"):
        order = vocabulary.names.order
        files.save(f"{place}/sorted.npy", sort_names(vocabulary.names) if order is None else order)
    return {"sorted": True}
