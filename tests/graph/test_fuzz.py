"""Random damage and random names: what is read is what was written, or an error says why not; never a wrong graph."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nbfnet.config import make_config
from nbfnet.errors import GraphFormatError, NbfnetError
from nbfnet.graph.fingerprint import fingerprint
from nbfnet.graph.graph import Dataset, EntityTypes, Graph
from nbfnet.graph.reading.names import BLANKS
from nbfnet.graph.reading.read import read
from nbfnet.graph.store import read_store, write_store
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.training.run_folder import RunFolder

# More than elsewhere: each example is small, and its place in the file or the text is what matters.
fuzz = settings(max_examples=max(50, settings.default.max_examples))

# Text: written by Python's csv module or by joining cells, read by the product.

ugly = st.sampled_from(list('ab""\',;| \r\n\t#%~*\\\x01\x1f\x85\u2028\ufeff\u00a0\u0130é北😀=/'))
any_character = st.characters(exclude_categories=("Cs",), exclude_characters="\0")
cells = st.text(ugly | any_character, min_size=1, max_size=6).filter(lambda cell: cell == cell.strip(BLANKS))


def is_read_literally(text: str) -> bool:
    """Whether nothing at the start of the file is taken for a comment, nor for the mark of UTF-8, which is not text."""
    return not text.startswith(("#", "%", "\ufeff"))


@fuzz
@given(
    rows=st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=8),
    delimiter=st.sampled_from(",;|"),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_what_the_csv_module_writes_is_read(rows, delimiter, end, quoting, tmp_path_factory, named):
    if any(ending in cell for row in rows for cell in row for ending in "\r\n"):
        quoting = csv.QUOTE_ALL  # Python leaves a carriage return without quotes where lines end in a line feed
    path = tmp_path_factory.getbasetemp() / "fuzz.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows(rows)
    assume(is_read_literally(path.read_bytes().decode()))
    columns = ["head", "relation", "tail"]
    assert named(read(path, delimiter=delimiter, header=False, columns=columns)) == rows


@fuzz
@given(
    rows=st.lists(st.tuples(cells, cells, cells), min_size=1, max_size=8),
    end=st.sampled_from(["\n", "\r\n", "\r", "mixed"]),
    data=st.data(),
)
def test_cells_that_are_joined_by_tabs_are_read(rows, end, data, tmp_path_factory, named):
    assume(not any(character in cell for row in rows for cell in row for character in "\t\r\n"))
    ends = [data.draw(st.sampled_from(["\n", "\r\n", "\r", "\r\r\n"])) if end == "mixed" else end for _ in rows]
    text = "".join("\t".join(row) + ending for row, ending in zip(rows, ends, strict=True))
    assume(is_read_literally(text))
    path = tmp_path_factory.getbasetemp() / "fuzz.tsv"
    path.write_bytes(text.encode())
    graph = read(path, delimiter="\t", header=False, columns=["head", "relation", "tail"])
    assert named(graph) == rows
    lone = sum(ending.count("\r") - ending.count("\r\n") for ending in ends)
    if lone and "\n" in text:
        assert any(found.kind == "line ends" and found.count == lone for found in graph.findings)


@fuzz
@given(
    content=st.binary(max_size=60) | st.text(ugly, max_size=60).map(str.encode), suffix=st.sampled_from(["csv", "tsv"])
)
def test_any_bytes_are_a_graph_or_an_error_in_words(content, suffix, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / f"bytes.{suffix}"
    path.write_bytes(content)
    try:
        graph = read(path)
    except NbfnetError as error:
        assert str(path) in str(error)
    else:
        assert len(graph.triplets) and all(name == name.strip(BLANKS) != "" for name in graph.entities)


# Stores.


def dataset() -> Dataset:
    entities = Vocabulary.of(["a", "b\tc", "é😀", "x" * 50], labels={"a": "Alpha"})
    types = EntityTypes(Vocabulary.of(["t", "u"], role="entity type"), np.array([0, 1, -1, 0], np.int32))
    facts = Triplets.of([0, 1, 3], [0, 1, 0], [1, 1, 2], [0.5, 1.0, 2.0])
    graph = Graph("g", "knowledge", entities, Vocabulary.of(["r", "s"], role="relation"), facts, types)
    return Dataset("d", graph, Triplets.of([0], [1], [2]), Triplets.of([1, 2], [0, 1], [0, 3]))


def content_of(opened: Dataset) -> tuple[Any, ...]:
    graph = opened.train
    assert graph.types is not None
    types = list(graph.types.names), graph.types.of_entity.tolist()
    return opened.name, opened.split, graph.name, graph.kind, graph.entities.labels, types, fingerprint(opened)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz") / "store"
    write_store(dataset(), folder)
    return folder


@contextmanager
def damaged_copy(folder: Path) -> Iterator[Path]:
    """A copy of a folder to damage."""
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    try:
        yield copy
    finally:
        shutil.rmtree(copy)


def damage(file: Path, data: st.DataObject) -> None:
    """Flip, cut, double or insert bytes of a file."""
    content = bytearray(file.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    match data.draw(st.sampled_from(["flip", "cut", "insert", "zeros", "empty", "gone"])):
        case "flip":
            content[place] ^= data.draw(st.integers(1, 255))
        case "cut":
            del content[place:]
        case "insert":
            content[place:place] = data.draw(st.binary(min_size=1, max_size=4))
        case "zeros":
            content[place:] = bytes(len(content) - place)
        case "empty":
            content.clear()
        case "gone":
            file.unlink()
            return
    file.write_bytes(content)


@fuzz
@given(data=st.data())
def test_a_damaged_store_is_never_another_graph(store, data):
    with damaged_copy(store) as copy:
        file = data.draw(st.sampled_from(sorted(path for path in copy.rglob("*") if path.is_file())))
        damage(file, data)
        try:
            opened = content_of(read_store(copy, check=True))
        except GraphFormatError as error:
            assert str(copy) in str(error) and error.remedy
        else:
            assert opened == content_of(dataset())  # a blank of the manifest


# Run folders.


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz") / "run"
    config = make_config({"model": {"dim": 4, "layers": 2, "hidden": [4]}})
    curve = {"epoch": 1, "logit": [-1.0, 0.5], "probability": [0.125, 0.5]}
    RunFolder.create(folder, dataset(), config).update(calibration=curve)
    return folder


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


def edit(document: Any, data: st.DataObject) -> None:
    """Replace, remove or add one value, anywhere."""
    while True:
        keys = sorted(document) if isinstance(document, dict) else list(range(len(document)))
        key = data.draw(st.sampled_from(keys))
        if isinstance(document[key], dict | list) and document[key] and data.draw(st.booleans()):
            document = document[key]
            continue
        match data.draw(st.sampled_from(["replace", "remove", "add"])):
            case "replace":
                document[key] = data.draw(values)
            case "remove":
                del document[key]
            case "add" if isinstance(document, dict):
                document[data.draw(st.text(max_size=5))] = data.draw(values)
        return


@fuzz
@given(data=st.data())
def test_an_edited_manifest_is_the_same_run_or_an_error_in_words(run, data):
    with damaged_copy(run) as copy:
        before = RunFolder.open(copy)
        manifest = json.loads((copy / "manifest.json").read_text())
        edit(manifest, data)
        (copy / "manifest.json").write_text(json.dumps(manifest))
        try:
            folder = RunFolder.open(copy)
            config, opened = folder.config(), folder.dataset()
            folder.network(opened)
        except NbfnetError as error:
            assert str(copy) in str(error)
        else:
            if "digests" in manifest and manifest["digests"] is not None:
                assert config == before.config()
                assert folder.manifest.get("calibration") == before.manifest.get("calibration")
            assert content_of(opened) == content_of(dataset())


@fuzz
@given(data=st.data())
def test_a_damaged_file_of_a_run_is_an_error_in_words_or_changes_nothing(run, data):
    with damaged_copy(run) as copy:
        file = data.draw(st.sampled_from(sorted(path for path in copy.rglob("*") if path.is_file())))
        damage(file, data)
        try:
            folder = RunFolder.open(copy)
            opened = folder.dataset()
            folder.network(opened)
        except NbfnetError as error:
            assert str(copy) in str(error)
        else:
            assert content_of(opened) == content_of(dataset())
