from __future__ import annotations

import csv
import gzip
import os
import pickle
import subprocess
import zipfile

import numpy as np
import pytest
import torch

from nbfnet.errors import GraphFormatError
from nbfnet.graph.datasets.ogb import read_biokg
from nbfnet.graph.datasets.registry_entry import Statistics, count_dataset

TYPES = {"disease": ["C1", "C2"], "drug": ["CID1"], "protein": ["7", "8", "9"], "sideeffect": ["C1"]}
NEGATIVES = 4


def write_names(file, heading, names):
    file.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(file, "wt", newline="") as stream:
        csv.writer(stream).writerows([heading, *enumerate(names)])


def split_fields(links, rng=None):
    """Links as (head type, head, relation, tail type, tail), laid out as OGB publishes them."""
    columns = [list(column) for column in zip(*links, strict=True)] if links else [[] for _ in range(5)]
    head_type, head, relation, tail_type, tail = columns
    fields = {
        "head_type": head_type,
        "head": np.array(head, dtype=np.int64),
        "relation": np.array(relation, dtype=np.int64),
        "tail_type": tail_type,
        "tail": np.array(tail, dtype=np.int64),
    }
    if rng is not None:
        for end, kinds in (("head", head_type), ("tail", tail_type)):
            rows = [rng.integers(0, len(TYPES[kind]), NEGATIVES) for kind in kinds]
            fields[f"{end}_neg"] = np.array(rows, dtype=np.int64).reshape(len(links), NEGATIVES)
    return fields


TRAIN = [("disease", 1, 0, "protein", 2), ("drug", 0, 1, "disease", 0), ("protein", 0, 2, "protein", 0)]
VALID = [("drug", 0, 3, "sideeffect", 0), ("protein", 1, 2, "protein", 2)]
TEST = [("disease", 0, 0, "protein", 1)]


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "ogbl_biokg"
    for kind, names in TYPES.items():
        write_names(root / "mapping" / f"{kind}_entidx2name.csv.gz", ["ent idx", "ent name"], names)
    relations = ["disease-protein", "drug-disease", "protein-protein, binding", "drug-sideeffect"]
    write_names(root / "mapping" / "relidx2relname.csv.gz", ["rel idx", "rel name"], relations)
    rng = np.random.default_rng(0)
    (root / "split" / "random").mkdir(parents=True)
    torch.save(split_fields(TRAIN), root / "split" / "random" / "train.pt")
    torch.save(split_fields(VALID, rng), root / "split" / "random" / "valid.pt")
    torch.save(split_fields(TEST, rng), root / "split" / "random" / "test.pt")
    return root


def change(folder, split, **fields):
    file = folder / "split" / "random" / f"{split}.pt"
    changed = torch.load(file, weights_only=False) | fields
    torch.save({key: value for key, value in changed.items() if value is not None}, file)
    return file


def named(dataset, triplets):
    entities, relations = dataset.train.entities, dataset.train.relations
    rows = zip(triplets.head, triplets.relation, triplets.tail, strict=True)
    return [(entities[int(h)], relations[int(r)], entities[int(t)]) for h, r, t in rows]


def test_names_and_types_are_kept(folder):
    dataset = read_biokg(folder).dataset
    assert count_dataset(dataset) == Statistics(7, 4, 3, 2, 1)
    assert dataset.kind == "knowledge"
    assert named(dataset, dataset.train.triplets) == [
        ("disease:C2", "disease-protein", "protein:9"),
        ("drug:CID1", "drug-disease", "disease:C1"),
        ("protein:7", "protein-protein, binding", "protein:7"),
    ]
    assert named(dataset, dataset.valid) == [
        ("drug:CID1", "drug-sideeffect", "sideeffect:C1"),
        ("protein:8", "protein-protein, binding", "protein:9"),
    ]
    assert named(dataset, dataset.test) == [("disease:C1", "disease-protein", "protein:8")]
    entities, types = dataset.train.entities, dataset.train.types
    assert [types.names[int(kind)] for kind in types.of_entity] == [name.split(":")[0] for name in entities]
    assert types.of_entity.dtype == np.int32
    # a label that one entity has is enough to ask for it; C1 is a disease and a side effect
    assert entities.id("CID1") == entities.id("drug:CID1")
    with pytest.raises(Exception, match="disease:C1"):
        entities.id("C1")


@pytest.mark.parametrize("split", ["valid", "test"])
def test_negatives_are_entities_of_the_type_they_stand_for(folder, split):
    read = read_biokg(folder)
    links = {"valid": read.dataset.valid, "test": read.dataset.test}[split]
    negatives = {"valid": read.valid_negatives, "test": read.test_negatives}[split]
    published = torch.load(folder / "split" / "random" / f"{split}.pt", weights_only=False)
    entities = read.dataset.train.entities
    for end in ("head", "tail"):
        given = getattr(negatives, end)
        assert given.dtype == np.int32
        assert given.shape == (len(links), NEGATIVES)
        for row, kind in enumerate(published[f"{end}_type"]):
            expected = [f"{kind}:{TYPES[kind][local]}" for local in published[f"{end}_neg"][row]]
            assert [entities[int(index)] for index in given[row]] == expected


def test_tensors_are_read_as_arrays_are(folder):
    before = read_biokg(folder).dataset.train.triplets
    fields = split_fields(TRAIN)
    change(folder, "train", **{key: torch.from_numpy(fields[key]) for key in ("head", "relation", "tail")})
    after = read_biokg(folder).dataset.train.triplets
    for column in ("head", "relation", "tail"):
        np.testing.assert_array_equal(getattr(before, column), getattr(after, column))


def test_files_of_an_older_numpy_are_read(folder):
    """Old pickles name ``numpy.core`` where new ones name ``numpy._core``; the files of OGB are old."""
    file = folder / "split" / "random" / "train.pt"
    expected = read_biokg(folder).dataset.train.triplets
    older = file.with_name("older.pt")
    with zipfile.ZipFile(file) as new, zipfile.ZipFile(older, "w") as old:
        for member in new.infolist():
            content = new.read(member)
            if member.filename.endswith("data.pkl"):
                assert b"numpy._core.multiarray" in content
                content = content.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
            old.writestr(member.filename, content)
    older.replace(file)
    np.testing.assert_array_equal(read_biokg(folder).dataset.train.triplets.tail, expected.tail)


def test_big_endian_arrays_are_read(folder):
    expected = read_biokg(folder).dataset.train.triplets
    change(folder, "train", tail=split_fields(TRAIN)["tail"].astype(">i8"))
    np.testing.assert_array_equal(read_biokg(folder).dataset.train.triplets.tail, expected.tail)
    assert np.dtype("i8").isnative


def test_files_of_an_older_torch_are_read(folder):
    expected = read_biokg(folder).dataset.train.triplets
    torch.save(split_fields(TRAIN), folder / "split" / "random" / "train.pt", _use_new_zipfile_serialization=False)
    np.testing.assert_array_equal(read_biokg(folder).dataset.train.triplets.head, expected.head)


def test_an_empty_split_is_read(folder):
    torch.save(split_fields([], np.random.default_rng(0)), folder / "split" / "random" / "test.pt")
    read = read_biokg(folder)
    assert len(read.dataset.test) == 0
    assert read.test_negatives.head.shape == (0, NEGATIVES)


class Malicious:
    def __init__(self, command):
        self.command = command

    def __reduce__(self):
        return (os.system, (self.command,))


class Sneaky(Malicious):
    def __reduce__(self):
        return (subprocess.check_output, (["sh", "-c", self.command],))


@pytest.mark.parametrize("kind", [Malicious, Sneaky])
@pytest.mark.parametrize("write", [torch.save, lambda value, file: file.write_bytes(pickle.dumps(value, protocol=2))])
def test_a_file_that_would_run_code_is_refused(folder, tmp_path, kind, write):
    evidence = tmp_path / "evidence"
    file = folder / "split" / "random" / "train.pt"
    write({**split_fields(TRAIN), "extra": kind(f"touch {evidence}")}, file)
    with pytest.raises(GraphFormatError, match="refused") as raised:
        read_biokg(folder)
    assert str(file) in str(raised.value)
    assert "weights_only" not in str(raised.value)
    assert not evidence.exists()


def test_an_array_of_objects_is_refused(folder):
    file = change(folder, "train", head=np.array([1, 0, "x"], dtype=object))
    with pytest.raises(GraphFormatError, match="refused") as raised:
        read_biokg(folder)
    assert str(file) in str(raised.value)


@pytest.mark.parametrize(
    ("split", "fields", "message"),
    [
        ("train", {"head": None}, "no field 'head'"),
        ("train", {"tail_type": None}, "no field 'tail_type'"),
        ("valid", {"tail_neg": None}, "no field 'tail_neg'"),
        ("train", {"head": np.array([2, 0, 0])}, "field 'head', row 0: id 2 does not exist"),  # two diseases
        ("train", {"tail": np.array([0, -1, 0])}, "field 'tail', row 1: id -1 does not exist"),
        ("train", {"relation": np.array([0, 4, 0])}, "field 'relation', row 1: id 4 does not exist"),
        ("test", {"tail_neg": np.array([[0, 1, 2, 3]])}, "field 'tail_neg', row 0: id 3 does not exist"),
        ("test", {"tail_neg": np.array([0])}, "'tail_neg' should be integers in 2 dimension"),
        ("test", {"head_neg": np.zeros((2, 4), dtype=int)}, "'head_type' should be a list of 2 types"),
        (
            "train",
            {"head": torch.tensor([0.0, 0.0, 0.0])},
            "'head' should be integers in 1 dimension.*float32",
        ),
        ("train", {"relation": np.array([0, 1])}, "3 heads, 2 relations"),
        ("train", {"head_type": ["disease", "drug", "planet"]}, "'head_type' names the types .*'planet'"),
        ("train", {"head_type": ["disease"]}, "'head_type' should be a list of 3 types"),
    ],
)
def test_damaged_fields_are_named(folder, split, fields, message):
    file = change(folder, split, **fields)
    with pytest.raises(GraphFormatError, match=message) as raised:
        read_biokg(folder)
    assert str(file) in str(raised.value)


@pytest.mark.parametrize(
    "missing",
    ["split/random/test.pt", "mapping/relidx2relname.csv.gz", "mapping"],
    ids=lambda path: path.split("/")[-1],
)
def test_a_missing_file_is_named(folder, missing):
    path = folder / missing
    for file in path.glob("*"):
        file.unlink()
    path.rmdir() if path.is_dir() else path.unlink()
    with pytest.raises(GraphFormatError) as raised:
        read_biokg(folder)
    assert str(path) in str(raised.value)


@pytest.mark.parametrize("content", [b"", b"not a tensor", b"\x80\x02"])
def test_a_damaged_file_is_named(folder, content):
    file = folder / "split" / "random" / "valid.pt"
    file.write_bytes(content)
    with pytest.raises(GraphFormatError) as raised:
        read_biokg(folder)
    assert str(file) in str(raised.value)


def test_a_truncated_file_is_named(folder):
    file = folder / "split" / "random" / "valid.pt"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(GraphFormatError, match="damaged") as raised:
        read_biokg(folder)
    assert str(file) in str(raised.value)


def test_a_file_of_something_else_is_named(folder):
    torch.save([1, 2, 3], folder / "split" / "random" / "test.pt")
    with pytest.raises(GraphFormatError, match="holds a list"):
        read_biokg(folder)


@pytest.mark.parametrize(
    "rows",
    [
        [["ent idx", "ent name"], ["0", "a"], ["2", "b"]],
        [["ent idx", "ent name"], ["0"]],
        [["ent idx", "ent name"], ["zero", "a"]],
    ],
)
def test_a_damaged_table_of_names_is_named(folder, rows):
    file = folder / "mapping" / "drug_entidx2name.csv.gz"
    with gzip.open(file, "wt", newline="") as stream:
        csv.writer(stream).writerows(rows)
    with pytest.raises(GraphFormatError) as raised:
        read_biokg(folder)
    assert str(file) in str(raised.value)


def test_a_table_that_is_not_compressed_is_named(folder):
    file = folder / "mapping" / "drug_entidx2name.csv.gz"
    file.write_text("ent idx,ent name\n0,a\n")
    with pytest.raises(GraphFormatError) as raised:
        read_biokg(folder)
    assert str(file) in str(raised.value)
