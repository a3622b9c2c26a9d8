from __future__ import annotations

import dataclasses
import os

import numpy as np
import pytest
import torch

from nbfnet.errors import DatasetError, GraphFormatError
from nbfnet.graph.datasets import given
from nbfnet.graph.datasets.given import given_tails
from nbfnet.graph.datasets.ogb import read_wikikg90m, wikikg90m
from nbfnet.graph.datasets.registry_entry import Statistics, count_dataset

ENTITIES, RELATIONS, TRIPLETS, LINKS, CANDIDATES = 50, 7, 1000, 20, 11


def arrays(dtype):
    rng = np.random.default_rng(0)
    return {
        "train_hrt": rng.integers(0, [ENTITIES, RELATIONS, ENTITIES], (TRIPLETS, 3)).astype(dtype),
        "val_hr": rng.integers(0, [ENTITIES, RELATIONS], (LINKS, 2)).astype(dtype),
        "val_t_candidate": np.stack([rng.permutation(ENTITIES)[:CANDIDATES] for _ in range(LINKS)]).astype(dtype),
        "val_t_correct_index": rng.integers(0, CANDIDATES, LINKS).astype(np.int16),
    }


def write(root, **contents):
    (root / "processed").mkdir(parents=True, exist_ok=True)
    for name, array in contents.items():
        np.save(root / "processed" / f"{name}.npy", array)
    return root


@pytest.fixture(params=[np.int32, np.int64, np.uint32])
def folder(request, tmp_path):
    torch.save({"num_entities": ENTITIES, "num_relations": RELATIONS}, tmp_path / "meta.pt")
    return write(tmp_path, **arrays(request.param))


@pytest.mark.parametrize("block", [1, 7, 1000, 1 << 22])
def test_triplets_are_read_in_blocks(folder, monkeypatch, block):
    monkeypatch.setattr(wikikg90m, "BLOCK", block)
    dataset = read_wikikg90m(folder).dataset
    assert count_dataset(dataset) == Statistics(ENTITIES, RELATIONS, TRIPLETS, LINKS, 0)
    published = arrays(np.int64)
    triplets = dataset.train.triplets
    for index, column in enumerate((triplets.head, triplets.relation, triplets.tail)):
        assert column.dtype == np.int32
        assert column.flags.c_contiguous
        np.testing.assert_array_equal(column, published["train_hrt"][:, index])
    assert dataset.train.entities[49] == "49"
    assert dataset.train.relations[6] == "6"
    assert dataset.kind == "knowledge"


def test_the_answers_of_valid_links_are_marked_among_their_candidates(folder):
    read = read_wikikg90m(folder)
    published = arrays(np.int64)
    for row in range(LINKS):
        head, relation = published["val_hr"][row]
        tail = published["val_t_candidate"][row][published["val_t_correct_index"][row]]
        valid = read.dataset.valid
        assert (valid.head[row], valid.relation[row], valid.tail[row]) == (head, relation, tail)


def test_negatives_are_the_other_candidates(folder):
    read = read_wikikg90m(folder)
    published = arrays(np.int64)
    queries = np.array([3, 0, 19, 3])
    negatives = read.valid_candidates.negatives(queries)
    assert negatives.dtype == np.int32
    for row, query in zip(negatives, queries, strict=True):
        others = np.delete(published["val_t_candidate"][query], published["val_t_correct_index"][query])
        np.testing.assert_array_equal(row, others)
        assert read.dataset.valid.tail[query] not in row
    assert read.valid_candidates.negatives(np.array([], dtype=np.int64)).shape == (0, CANDIDATES - 1)


def test_candidates_stay_on_disk(folder):
    assert isinstance(read_wikikg90m(folder).valid_candidates.candidates, np.memmap)


def test_counts_may_be_numpy_numbers(folder):
    torch.save({"num_entities": np.int64(ENTITIES), "num_relations": np.int32(RELATIONS)}, folder / "meta.pt")
    assert read_wikikg90m(folder).dataset.train.num_nodes == ENTITIES


def test_a_graph_without_triplets_is_read(folder):
    write(folder, train_hrt=np.zeros((0, 3), dtype=np.int32), val_hr=np.zeros((0, 2), dtype=np.int32))
    write(
        folder,
        val_t_candidate=np.zeros((0, 5), dtype=np.int32),
        val_t_correct_index=np.zeros(0, dtype=np.int32),
    )
    read = read_wikikg90m(folder)
    assert count_dataset(read.dataset) == Statistics(ENTITIES, RELATIONS, 0, 0, 0)


def changed(name, where, value):
    array = arrays(np.int64)[name]
    array[where] = value
    return {name: array}


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        (changed("train_hrt", (700, 0), ENTITIES), r"train_hrt\.npy: row 700: id 50 is not in 0\.\.49"),
        (changed("train_hrt", (700, 1), RELATIONS), r"train_hrt\.npy: row 700: id 7 is not in 0\.\.6"),
        (changed("train_hrt", (999, 2), -1), r"train_hrt\.npy: row 999: id -1 is not in 0\.\.49"),
        (changed("train_hrt", (5, 2), 2**32), r"train_hrt\.npy: row 5: id 4294967296"),
        (changed("val_hr", (3, 1), RELATIONS), r"val_hr\.npy: row 3"),
        (
            changed("val_t_correct_index", 4, CANDIDATES),
            r"val_t_correct_index\.npy: row 4: id 11 is not in 0\.\.10",
        ),
        (changed("val_t_candidate", 6, ENTITIES), r"val_t_candidate\.npy: row 6"),
        ({"train_hrt": np.zeros((4, 3))}, r"train_hrt\.npy: should be integers in 2 dimension.*float64"),
        ({"train_hrt": np.zeros((4, 2), dtype=int)}, "should have 3 columns, but has 2"),
        ({"train_hrt": np.zeros(4, dtype=int)}, r"int64 in 1"),
        ({"val_hr": np.zeros((4, 2), dtype=int)}, r"20 rows, for 4 links and 20 answers"),
        ({"train_hrt": np.array([[{}, 1, 2]])}, r"train_hrt\.npy: cannot be read"),
    ],
)
def test_damaged_arrays_are_named(folder, monkeypatch, contents, message):
    monkeypatch.setattr(wikikg90m, "BLOCK", 64)
    write(folder, **contents)
    with pytest.raises(GraphFormatError, match=message):
        read_wikikg90m(folder)


def test_a_candidate_that_is_no_entity_is_named_when_it_is_asked_for(folder):
    index = arrays(np.int64)["val_t_correct_index"][6]
    write(folder, **changed("val_t_candidate", (6, (index + 1) % CANDIDATES), ENTITIES))
    candidates = read_wikikg90m(folder).valid_candidates
    candidates.negatives(np.array([0, 1]))
    with pytest.raises(GraphFormatError, match=r"val_t_candidate\.npy"):
        candidates.negatives(np.array([0, 6]))


@pytest.mark.parametrize("name", ["train_hrt", "val_hr", "val_t_candidate", "val_t_correct_index"])
def test_a_missing_or_truncated_array_is_named(folder, name):
    file = folder / "processed" / f"{name}.npy"
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(GraphFormatError, match=rf"{name}\.npy: cannot be read"):
        read_wikikg90m(folder)
    file.write_bytes(b"")
    with pytest.raises(GraphFormatError, match=rf"{name}\.npy: cannot be read"):
        read_wikikg90m(folder)
    file.unlink()
    with pytest.raises(GraphFormatError, match=rf"{name}\.npy: is missing"):
        read_wikikg90m(folder)


class Malicious:
    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return (os.mkdir, (str(self.file),))


def test_a_malicious_meta_file_is_refused(folder, tmp_path):
    meta = {"num_entities": ENTITIES, "num_relations": RELATIONS, "extra": Malicious(tmp_path / "evidence")}
    torch.save(meta, folder / "meta.pt")
    with pytest.raises(GraphFormatError, match="refused"):
        read_wikikg90m(folder)
    assert not (tmp_path / "evidence").exists()


@pytest.mark.parametrize(
    "meta",
    [
        [1, 2],
        {"num_entities": 50},
        {"num_entities": 50, "num_relations": "7"},
        {"num_entities": 2**31, "num_relations": 7},
    ],
)
def test_a_damaged_meta_file_is_named(folder, meta):
    torch.save(meta, folder / "meta.pt")
    with pytest.raises(GraphFormatError, match=r"meta\.pt: should hold num_entities"):
        read_wikikg90m(folder)


def test_given_tails_are_those_of_the_same_links_only(folder, monkeypatch):
    whole = read_wikikg90m(folder)
    monkeypatch.setattr(given, "locate", lambda entry, download: folder)
    found = given_tails(whole.dataset, "valid")
    every = np.arange(LINKS)
    np.testing.assert_array_equal(found.negatives(every), whole.valid_candidates.negatives(every))
    assert given_tails(whole.dataset, "test") is None
    shorter = dataclasses.replace(whole.dataset, valid=whole.dataset.valid.take(every[1:]))
    assert given_tails(shorter, "valid") is None
    assert given_tails(dataclasses.replace(whole.dataset, name="mine"), "valid") is None

    def missing(entry, download):
        raise DatasetError("not here")

    monkeypatch.setattr(given, "locate", missing)
    assert given_tails(whole.dataset, "valid") is None
