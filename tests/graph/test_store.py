"""Stores: what was written is read back as it was, and a damaged store is refused."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.errors import GraphFormatError, WriteError
from nbfnet.graph import store as store_module
from nbfnet.graph.fingerprint import fingerprint
from nbfnet.graph.folder_writing import write_folder
from nbfnet.graph.graph import Dataset, EntityTypes, Graph
from nbfnet.graph.leakage import report_leakage
from nbfnet.graph.loading import open_source
from nbfnet.graph.name_index import SortedIds
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.store import fill_store, is_store, new_folder, read_store, write_store
from nbfnet.graph.store_files import checksum
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.training.start import begin

NAMES = ["a", "b\tc\n", "\ud800", "", "é😀\u2028", "\0", "x" * 5000]


def knowledge(name: str = "g", *, weighted: bool = True) -> Graph:
    entities = Vocabulary.of(NAMES, labels={"a": "Alpha", "\ud800": "\udfff", "nobody": "x"})
    relations = Vocabulary.of(["r", "s"], role="relation", labels={"r": "likes"})
    types = EntityTypes(
        Vocabulary.of(["drug", "gène"], role="entity type"), np.array([0, 1, -1, -1, 0, 1, 0], np.int32)
    )
    weight = [0.1, 5e-324, 1e308] if weighted else None
    return Graph(name, "knowledge", entities, relations, Triplets.of([0, 1, 6], [0, 1, 0], [1, 1, 2], weight), types)


def dataset_of(what: str) -> Dataset:
    graph = knowledge(weighted=what != "unweighted")
    valid, test = Triplets.of([0], [1], [2]), Triplets.of([1, 2], [0, 1], [0, 3])
    if what == "empty parts":
        valid = test = Triplets.empty()
    if what == "without edges":
        graph = dataclasses.replace(graph, triplets=Triplets.empty())
    if what == "homogeneous":
        relations = Vocabulary.of(["edge"], role="relation")
        entities = Vocabulary.numbered(5).with_labels({"3": "three"})
        graph = Graph("h", "homogeneous", entities, relations, Triplets.of([0, 1], [0, 0], [1, 4]))
        valid, test = Triplets.of([0], [0], [2]), Triplets.of([1, 2], [0, 0], [0, 3])
    if what.startswith("inductive"):
        unseen = Vocabulary.of(["y", "z"], labels={"z": "Zed"})
        types = EntityTypes(Vocabulary.of(["t"], role="entity type"), np.array([-1, 0], np.int32))
        facts = Graph("facts", "knowledge", unseen, graph.relations, Triplets.of([0], [1], [1], [2.0]), types)
        extra = Triplets.of([0, 1], [0, 1], [0, 1]) if what == "inductive" else Triplets.empty()
        return Dataset("ind", graph, valid, Triplets.of([1], [0], [0]), facts, "by hand", extra)
    return Dataset("d é\ud800", graph, valid, test, split="in words")


KINDS = [
    "weighted",
    "unweighted",
    "empty parts",
    "without edges",
    "homogeneous",
    "inductive",
    "inductive without valid",
]


def assert_same_triplets(got: Triplets, expected: Triplets) -> None:
    for column in ("head", "relation", "tail", "weight"):
        here, there = getattr(got, column), getattr(expected, column)
        assert (here is None) == (there is None)
        if there is not None:
            np.testing.assert_array_equal(here, there)
            assert here.dtype == there.dtype


def assert_same_graph(got: Graph, expected: Graph) -> None:
    assert (got.name, got.kind) == (expected.name, expected.kind)
    for here, there in ((got.entities, expected.entities), (got.relations, expected.relations)):
        assert list(here) == list(there)
        assert here.labels == there.labels
        assert here.role == there.role
    assert_same_triplets(got.triplets, expected.triplets)
    assert (got.types is None) == (expected.types is None)
    if got.types is not None and expected.types is not None:
        assert list(got.types.names) == list(expected.types.names)
        np.testing.assert_array_equal(got.types.of_entity, expected.types.of_entity)


def assert_same(got: Dataset, expected: Dataset) -> None:
    assert (got.name, got.kind, got.split) == (expected.name, expected.kind, expected.split)
    assert_same_graph(got.train, expected.train)
    assert_same_triplets(got.valid, expected.valid)
    assert_same_triplets(got.test, expected.test)
    assert_same_triplets(got.test_graph_valid, expected.test_graph_valid)
    if expected.test_graph is not None:
        assert got.test_graph is not None
        assert_same_graph(got.test_graph, expected.test_graph)
        assert got.test_graph.relations is got.train.relations


@pytest.mark.parametrize("what", KINDS)
def test_a_store_gives_back_what_was_written(what: str, tmp_path: Path) -> None:
    dataset = dataset_of(what)
    write_store(dataset, tmp_path / "deep" / "store")
    assert is_store(tmp_path / "deep" / "store")
    assert not is_store(tmp_path)
    again = read_store(tmp_path / "deep" / "store")
    assert_same(again, dataset)
    write_store(again, tmp_path / "copy")  # from the mapped arrays
    assert_same(read_store(tmp_path / "copy"), dataset)


def test_arrays_are_mapped_and_serve_everywhere(tmp_path: Path) -> None:
    dataset = dataset_of("weighted")
    write_store(dataset, tmp_path / "store")
    again = read_store(tmp_path / "store")
    for array in (
        again.train.triplets.head,
        again.train.triplets.weight,
        again.valid.tail,
        again.train.entities.names.text,
    ):
        assert isinstance(array, np.memmap)
        assert not array.flags.writeable
    for column in ("indptr", "source", "relation", "edge", "weight"):
        np.testing.assert_array_equal(getattr(again.train.csr, column), getattr(dataset.train.csr, column))
    np.testing.assert_array_equal(again.train.csr.transpose.target, dataset.train.csr.transpose.target)
    assert again.train.entities.id("Alpha") == 0
    assert report_leakage(again) == report_leakage(dataset)


@pytest.mark.parametrize("what", KINDS)
def test_the_rows_of_a_store_are_those_of_its_facts(what: str, tmp_path: Path) -> None:
    write_store(dataset_of(what), tmp_path / "store")
    dataset = read_store(tmp_path / "store")
    for graph in (dataset.train, dataset.facts_of_test):
        assert "facts_csr" in graph.__dict__
        expected = RelationalCSR.from_triplets(graph.triplets, graph.num_nodes, graph.num_relations)
        for column in ("indptr", "source", "relation", "edge", "weight"):
            mapped, made = getattr(graph.facts_csr, column), getattr(expected, column)
            assert (mapped is None) == (made is None)
            if made is not None:
                np.testing.assert_array_equal(mapped, made)
                assert mapped.dtype == made.dtype
        for column in ("indptr", "target", "slot"):
            np.testing.assert_array_equal(
                getattr(graph.facts_csr.transpose, column), getattr(expected.transpose, column)
            )
        for column in ("into", "out"):
            np.testing.assert_array_equal(getattr(graph.facts_csr.records, column), getattr(expected.records, column))


def test_a_store_knows_its_fingerprint_and_what_is_made_of_it_does_not(tmp_path: Path) -> None:
    dataset = dataset_of("weighted")
    write_store(dataset, tmp_path / "store")
    stored = read_store(tmp_path / "store")
    assert stored.stored is not None
    assert stored.stored.fingerprint == fingerprint(dataset) == fingerprint(stored)
    other = dataclasses.replace(stored, test=Triplets.empty())
    assert fingerprint(other) == fingerprint(dataclasses.replace(dataset, test=Triplets.empty()))


def test_names_of_a_store_are_found_without_a_dictionary_of_all(tmp_path: Path) -> None:
    write_store(dataset_of("weighted"), tmp_path / "store")
    entities = read_store(tmp_path / "store").train.entities
    assert [entities.id(name) for name in NAMES] == list(range(len(NAMES)))
    assert isinstance(entities._ids, SortedIds)
    assert "nothing" not in entities


def test_a_large_store_is_read_only_where_it_is_used(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A flipped bit of a small store is found when it is opened, of a large one when it is asked for."""
    content = bytearray((store / "train/in/edge.npy").read_bytes())
    content[-1] ^= 1
    (store / "train/in/edge.npy").write_bytes(content)
    with pytest.raises(GraphFormatError, match=r"edge\.npy is not what was written"):
        read_store(store, check=None)
    monkeypatch.setattr(store_module, "_SMALL", 10)
    assert len(read_store(store, check=None).train.triplets) == 3


def test_another_process_reads_the_same(tmp_path: Path) -> None:
    write_store(dataset_of("weighted"), tmp_path / "store")
    code = (
        "import sys; from pathlib import Path; from nbfnet.graph.store import read_store\n"
        "d = read_store(Path(sys.argv[1])); print(ascii(list(d.train.entities)[:6]), d.train.triplets.weight.tolist())"
    )
    out = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, str(tmp_path / "store")], capture_output=True, check=True, text=True
    ).stdout
    assert out == f"{NAMES[:6]!a} [0.1, 5e-324, 1e+308]\n"


@given(names=st.lists(st.text(st.characters(), max_size=4), unique=True, min_size=1, max_size=8), data=st.data())
def test_any_names_and_edges(names: list[str], data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    node = st.integers(0, len(names) - 1)
    edges = data.draw(st.lists(st.tuples(node, st.just(0), node, st.floats(0, 1e300)), max_size=5))
    columns = zip(*edges, strict=True) if edges else ([], [], [], [])
    triplets = Triplets.of(*columns)
    labels = data.draw(st.dictionaries(st.sampled_from(names), st.text(st.characters(), max_size=3)))
    entities = Vocabulary.of(names, labels=labels)
    graph = Graph("g", "knowledge", entities, Vocabulary.of(["r"], role="relation"), triplets)
    dataset = Dataset("d", graph, triplets, Triplets.empty())
    folder = tmp_path_factory.mktemp("any") / "store"
    write_store(dataset, folder)
    assert_same(read_store(folder), dataset)


# Damage.


@pytest.fixture
def store(tmp_path: Path) -> Path:
    write_store(dataset_of("inductive"), tmp_path / "store")
    return tmp_path / "store"


FILES = [
    *("store.json", "train/head.npy", "train/relation.npy", "train/tail.npy", "train/weight.npy", "valid/head.npy"),
    *("test/tail.npy", "test_graph/head.npy", "train/entities/offsets.npy", "train/entities/text.npy"),
    *("train/relations/offsets.npy", "train/entities/labels.json", "train/type_of_entity.npy"),
    *("test_graph/entities/text.npy", "test_graph/type_of_entity.npy", "test_graph_valid/head.npy"),
    *("train/in/begin.npy", "train/in/edge.npy", "train/in/weight.npy", "train/in/fact.npy"),
    *("test_graph/out/fact.npy", "train/entities/sorted.npy"),
]
DAMAGE: dict[str, Callable[[Path], object]] = {
    "missing": Path.unlink,
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-3]),
    "cut at the front": lambda path: path.write_bytes(path.read_bytes()[5:]),
    "cut to a start": lambda path: path.write_bytes(path.read_bytes()[:7]),
    "noise": lambda path: path.write_bytes(bytes(range(256))),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("file", FILES)
def test_a_damaged_file_is_refused(file: str, damage: str, store: Path) -> None:
    DAMAGE[damage](store / file)
    with pytest.raises(GraphFormatError) as caught:
        read_store(store)
    assert str(store) in str(caught.value)
    assert caught.value.remedy


ARRAYS = {
    "too long": lambda array: np.concatenate([array, array]),
    "too short": lambda array: array[:-1],
    "of floats": lambda array: np.ones(len(array), dtype=np.float32),  # records cannot be cast
    "of 16 bits": lambda array: np.ones(len(array), dtype=np.int16),
    "of two dimensions": lambda array: array.reshape(-1, 1),
    "of objects": lambda array: array.astype(object),
    "of text": lambda array: np.full(len(array), "1"),
}


@pytest.mark.parametrize("kind", ARRAYS)
@pytest.mark.parametrize("file", [file for file in FILES if file.endswith(".npy")])
def test_an_array_of_the_wrong_kind_is_refused(file: str, kind: str, store: Path) -> None:
    np.save(store / file, ARRAYS[kind](np.ones_like(np.load(store / file))), allow_pickle=True)
    with pytest.raises(GraphFormatError) as caught:
        read_store(store)
    assert caught.value.remedy


@pytest.mark.parametrize(
    "change",
    [
        lambda manifest: [],
        lambda manifest: None,
        lambda manifest: "nbfnet-store",
        lambda manifest: {**manifest, "version": 99},
        lambda manifest: {**manifest, "format": "other"},
        lambda manifest: {**manifest, "train": None},
        lambda manifest: {**manifest, "train": {**manifest["train"], "entities": 5}},
        lambda manifest: {**manifest, "train": {**manifest["train"], "entities": {"numbered": "x"}}},
        lambda manifest: {**manifest, "train": {**manifest["train"], "entities": {"named": 6}}},
        lambda manifest: {**manifest, "train": {**manifest["train"], "kind": "other"}},
        lambda manifest: {**manifest, "train": {**manifest["train"], "types": ["x", "x"]}},
        lambda manifest: {**manifest, "test_graph": []},
        *(lambda m, key=key: {k: v for k, v in m.items() if k != key} for key in ("name", "split", "train")),
        *(
            lambda manifest, key=key: {**manifest, "train": {k: v for k, v in manifest["train"].items() if k != key}}
            for key in ("name", "kind", "entities", "relations")
        ),
    ],
)  # fmt: skip
def test_a_damaged_manifest_is_refused(change: Callable[..., object], store: Path) -> None:
    manifest = json.loads((store / "store.json").read_text())
    (store / "store.json").write_text(json.dumps(change(manifest)))
    with pytest.raises(GraphFormatError) as caught:
        read_store(store)
    assert caught.value.remedy


def test_a_store_of_version_1_is_read_if_it_has_no_rows(tmp_path: Path) -> None:
    """As runs of older releases hold them; the rows of such a store were other files."""
    dataset = dataset_of("inductive")
    for name, rows in (("with", True), ("without", False)):
        (tmp_path / name).mkdir()
        fill_store(dataset, tmp_path / name, rows=rows)
        manifest = {**json.loads((tmp_path / name / "store.json").read_text()), "version": 1}
        manifest["checksum"] = checksum(manifest)
        (tmp_path / name / "store.json").write_text(json.dumps(manifest))
    assert_same(read_store(tmp_path / "without"), dataset)
    with pytest.raises(GraphFormatError, match="expected nbfnet-store version 2, got nbfnet-store version 1") as caught:
        read_store(tmp_path / "with")
    assert "nbfnet data convert" in str(caught.value.remedy)


def test_edges_of_nodes_that_are_not_there_are_refused(store: Path) -> None:
    """A number out of range must never reach the compiled code as an index."""
    for file, number in (("train/tail.npy", 7), ("train/head.npy", -1), ("train/head.npy", 2**31 - 1)):
        array = np.load(store / file)
        np.save(store / file, np.full_like(array, number))
        with pytest.raises(GraphFormatError):
            _ = read_store(store).train.csr
        np.save(store / file, array)
    assert read_store(store).train.csr.num_edges == 6


@pytest.mark.parametrize("number", [-1, 3])
@pytest.mark.parametrize("use", [write_folder, lambda dataset, folder: begin(folder, dataset)])
def test_they_are_refused_where_no_rows_are_built_too(tmp_path: Path, use: Callable[..., object], number: int) -> None:
    edges = Triplets.of([0, number], [0, 0], [1, 2])
    graph = Graph("g", "knowledge", Vocabulary.of("abc"), Vocabulary.of(["r"], role="relation"), edges)
    with pytest.raises(GraphFormatError, match=f"the head {number}, but there are 3"):
        write_store(Dataset("g", graph, Triplets.empty(), Triplets.empty()), tmp_path / "store")
    assert not (tmp_path / "store").exists()
    (tmp_path / "store").mkdir()
    fill_store(Dataset("g", graph, Triplets.empty(), Triplets.empty()), tmp_path / "store", rows=False)
    with pytest.raises(GraphFormatError, match=f"the head {number}, but there are 3"):
        use(read_store(tmp_path / "store"), tmp_path / "new")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("number", [-2, 7, 2**31 - 1])
@pytest.mark.parametrize("file", ["valid/tail.npy", "test/head.npy", "test/relation.npy", "train/type_of_entity.npy"])
def test_numbers_of_links_and_types_that_stand_for_nothing_are_refused(store: Path, file: str, number: int) -> None:
    np.save(store / file, np.full_like(np.load(store / file), number))
    with pytest.raises(GraphFormatError, match=r"has no name|not that of"):
        read_store(store)


def test_a_store_is_never_a_pickle(store: Path) -> None:
    np.save(store / "train/head.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(GraphFormatError):
        read_store(store)


def test_what_is_not_a_store(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "missing"):
        assert not is_store(folder)
        with pytest.raises(GraphFormatError):
            read_store(folder)


@pytest.mark.parametrize("file", [file for file in FILES if file != "store.json"])
def test_a_flipped_bit_is_found_with_its_file(file: str, store: Path) -> None:
    content = bytearray((store / file).read_bytes())
    content[-1] ^= 1
    (store / file).write_bytes(content)
    with pytest.raises(GraphFormatError, match=f"{re.escape(file)} is not what was written"):
        read_store(store, check=True)
    with pytest.raises(GraphFormatError, match=f"{re.escape(file)} is not what was written"):
        open_source(store)


@pytest.mark.parametrize("place", ["name", "split", "kind", "number"])
def test_an_edited_manifest_is_refused(place: str, store: Path) -> None:
    text = (store / "store.json").read_text()
    old, new = {
        "name": ('"ind"', '"and"'),
        "split": ("by hand", "by mind"),
        "kind": ('"knowledge"', '"homogeneous"'),
        "number": ('"bytes": 1', '"bytes": 2'),
    }[place]
    assert old in text
    (store / "store.json").write_text(text.replace(old, new))
    with pytest.raises(GraphFormatError, match=r"store\.json is not what was written"):
        read_store(store)


def test_a_file_of_weights_or_labels_from_elsewhere_is_refused(tmp_path: Path) -> None:
    write_store(dataset_of("unweighted"), tmp_path / "store")
    np.save(tmp_path / "store" / "train" / "weight.npy", np.ones(3))
    with pytest.raises(GraphFormatError, match=r"train/weight\.npy was not written"):
        read_store(tmp_path / "store")


def without_checksums(store: Path) -> None:
    """As stores were before."""
    manifest = json.loads((store / "store.json").read_text())
    del manifest["files"], manifest["checksum"]
    (store / "store.json").write_text(json.dumps(manifest))


def test_a_store_without_checksums_still_opens(store: Path) -> None:
    without_checksums(store)
    assert_same(read_store(store, check=True), dataset_of("inductive"))


def test_offsets_that_fall_and_doubled_names_are_refused_without_checksums_too(store: Path) -> None:
    without_checksums(store)
    text = np.load(store / "test_graph/entities/text.npy")
    np.save(store / "test_graph/entities/text.npy", np.full_like(text, ord("y")))
    read_store(store)
    with pytest.raises(GraphFormatError, match="the same name"):
        read_store(store, check=True)
    offsets = np.load(store / "train/entities/offsets.npy")
    offsets[2] = offsets[1] - 1
    np.save(store / "train/entities/offsets.npy", offsets)
    with pytest.raises(GraphFormatError, match=r"train/entities/offsets\.npy falls"):
        read_store(store)


# Writing.


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "precious").write_text("x")
    (tmp_path / "file").write_text("x")
    for name in ("folder", "file"):
        with pytest.raises(WriteError, match="exists already") as caught:
            write_store(dataset_of("weighted"), tmp_path / name)
        assert caught.value.remedy
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder", "precious"]
    (tmp_path / "empty").mkdir()
    write_store(dataset_of("weighted"), tmp_path / "empty")
    assert is_store(tmp_path / "empty")


def test_a_failure_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "store") as draft:
        (draft / "half").write_text("half")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "store"):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_manifest_that_is_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "store.json")
    with pytest.raises(GraphFormatError, match=r"store\.json is a pipe"):
        read_store(tmp_path)
