"""Store: a dataset on disk as flat arrays, opened by memory mapping, written all or not at all."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from tokenize import TokenError  # of an array's header that is damaged
from typing import IO, Any, get_args

import numpy as np
import numpy.typing as npt

from nbfnet.errors import GraphFormatError
from nbfnet.graph.atomic import new_folder
from nbfnet.graph.graph import Dataset, EntityTypes, Graph, Kind
from nbfnet.graph.packed_names import NumberedNames, PackedNames
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.regular_files import is_special

FORMAT = "nbfnet-store"
VERSION = 1
MANIFEST = "store.json"
_ALGORITHM = "blake2b"
_OPTIONAL = ("weight.npy", "labels.json")  # read where they are
_EXTRA = "test_graph_valid"  # a part that only stores of inductive datasets may have


def is_store(folder: Path) -> bool:
    """Whether a folder is a store."""
    return (folder / MANIFEST).is_file()


def write_store(dataset: Dataset, folder: Path) -> None:
    """Write a dataset as a store; the folder appears complete or not at all."""
    with new_folder(folder) as draft:
        fill_store(dataset, draft)


def fill_store(dataset: Dataset, folder: Path) -> None:
    """Write a dataset's files into a folder that nobody reads yet, each with its checksum in the manifest."""
    manifest: dict[str, Any] = {"format": FORMAT, "version": VERSION, "name": dataset.name, "split": dataset.split}
    files = _Files(folder)
    manifest["train"] = _write_graph(dataset.train, files, "train")
    if dataset.test_graph is not None:
        manifest["test_graph"] = _write_graph(dataset.test_graph, files, "test_graph", shared_relations=True)
    parts = ["valid", "test"]
    if len(dataset.test_graph_valid):
        manifest[_EXTRA] = len(dataset.test_graph_valid)
        parts.append(_EXTRA)
    for part in parts:
        _write_triplets(getattr(dataset, part), files, part)
    manifest["files"] = files.written
    manifest["checksum"] = _checksum(manifest)
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def read_store(folder: Path, *, check: bool = False) -> Dataset:
    """Open a store; its arrays are read from disk as they are used.

    The manifest, the readable labels and the sizes of all files are always checked. Numbers without a name are
    refused: those of valid and test links here, those of edges once they are used, so that a large graph still opens at
    once.

    Args:
        folder: of the store.
        check: whether to read every file to its end and compare it with its checksum.

    Raises:
        GraphFormatError: the store is damaged; names the file.
    """
    try:
        if is_special(folder / MANIFEST):
            raise ValueError(f"{MANIFEST} is a pipe or a device")
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if not isinstance(manifest, dict):
            raise ValueError(f"{MANIFEST} is not a JSON object")
        if manifest.get("format") != FORMAT or manifest.get("version") != VERSION:
            found = f"{manifest.get('format')} version {manifest.get('version')}"
            remedy = "convert the graph again with 'nbfnet data convert'"
            raise GraphFormatError(f"expected {FORMAT} version {VERSION}, got {found}", file=folder, remedy=remedy)
        _check_files(folder, manifest, content=check)
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
        return Dataset(manifest["name"], train, valid, test, test_graph, manifest["split"], extra)
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


class _Files:
    """The files of a store that is being written, with their sizes and checksums."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.written: dict[str, dict[str, Any]] = {}

    def save(self, name: str, array: npt.NDArray[Any]) -> None:
        self._write(name, lambda stream: np.lib.format.write_array(stream, np.asanyarray(array), allow_pickle=False))

    def save_json(self, name: str, document: object) -> None:
        self._write(name, lambda stream: stream.write(json.dumps(document).encode()))

    def _write(self, name: str, write: Callable[[Any], object]) -> None:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (self.folder / name).open("wb") as file:
            stream = _Hashing(file)
            write(stream)
        self.written[name] = {"bytes": stream.size, _ALGORITHM: stream.digest.hexdigest()}


class _Hashing:
    """A file to write to that takes the checksum of what is written."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.size, self.digest = file, 0, hashlib.blake2b(digest_size=16)

    def write(self, content: bytes) -> int:
        self.size += len(content)
        self.digest.update(content)
        return self.file.write(content)


def _checksum(manifest: dict[str, Any]) -> str:
    text = json.dumps({key: value for key, value in manifest.items() if key != "checksum"}, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def _check_files(folder: Path, manifest: dict[str, Any], *, content: bool) -> None:
    """Compare the manifest and the files with their checksums; of large files only the size, unless all is asked."""
    if "files" not in manifest and "checksum" not in manifest:
        return  # written before stores had checksums
    if manifest.get("checksum") != _checksum(manifest):
        raise ValueError(f"{MANIFEST} is not what was written")
    for name, written in manifest["files"].items():
        if is_special(folder / name):
            raise ValueError(f"{name} is a pipe or a device, not a file")
        size = (folder / name).stat().st_size
        if size != written["bytes"]:
            raise ValueError(f"{name} has {size:,} bytes, {written['bytes']:,} were written")
        if content or name.endswith(".json"):
            with (folder / name).open("rb") as stream:
                digest = hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()
            if digest != written[_ALGORITHM]:
                raise ValueError(f"{name} is not what was written: its checksum is wrong")
    for name in _OPTIONAL:
        stray = next(
            (path for path in folder.rglob(name) if path.relative_to(folder).as_posix() not in manifest["files"]), None
        )
        if stray is not None:
            raise ValueError(f"{stray.relative_to(folder)} was not written with the others")


def _check_names(names: Vocabulary) -> None:
    if isinstance(names.names, PackedNames) and len(set(names.names)) < len(names):
        raise ValueError(f"the same name stands for two of its {names.role} numbers")


def _write_graph(graph: Graph, files: _Files, place: str, *, shared_relations: bool = False) -> dict[str, Any]:
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
        of_entity = _load(folder / "type_of_entity.npy", np.int32, len(entities))
        types = EntityTypes(Vocabulary.of(description["types"], role="entity type"), of_entity)
        if len(of_entity) and not -1 <= of_entity.min() <= of_entity.max() < len(types.names):
            raise ValueError("type_of_entity.npy has a number that is not that of a type")
    return Graph(description["name"], description["kind"], entities, relations, _read_triplets(folder), types)


def _write_triplets(triplets: Triplets, files: _Files, place: str) -> None:
    for column in ("head", "relation", "tail", "weight"):
        array = getattr(triplets, column)
        if array is not None:
            files.save(f"{place}/{column}.npy", array)


def _read_triplets(folder: Path) -> Triplets:
    head = _load(folder / "head.npy", np.int32)
    relation, tail = (_load(folder / f"{column}.npy", np.int32, len(head)) for column in ("relation", "tail"))
    weight = folder / "weight.npy"
    return Triplets(head, relation, tail, _load(weight, np.float64, len(head)) if weight.exists() else None)


def _load(file: Path, dtype: type[np.generic], length: int | None = None) -> npt.NDArray[Any]:
    """Map an array, which must be of the type and length that it was written with."""
    if is_special(file):
        raise ValueError(f"{file.name} is a pipe or a device")
    array: npt.NDArray[Any] = np.load(file, mmap_mode="r", allow_pickle=False)
    if array.dtype != dtype or array.ndim != 1 or length not in (None, len(array)):
        wanted = "" if length is None else f"{length} "
        raise ValueError(f"{file.name} has {array.dtype} of shape {array.shape}, expected {wanted}{dtype.__name__}")
    return array


def _write_names(vocabulary: Vocabulary, files: _Files, place: str) -> dict[str, Any]:
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
    offsets = _load(folder / "offsets.npy", np.int64, description["named"] + 1)
    if offsets[0] != 0 or (np.diff(offsets) < 0).any():
        raise ValueError(f"{folder.parent.name}/{folder.name}/offsets.npy falls")
    text = _load(folder / "text.npy", np.uint8, int(offsets[-1]))
    return Vocabulary(PackedNames(offsets, text), role=role, labels=known)
