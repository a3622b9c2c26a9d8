"""The authors' split of Cora: PyTorch's permutation of the archive's lines, recognised by the listing of the edges."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from nbfnet import read
from nbfnet.graph import splits as module
from nbfnet.graph.splits import published_split, split

NUM_EDGES = 5429
LISTINGS = json.loads(Path(module.__file__).with_name("published_splits.json").read_text(encoding="ascii")).values()


def test_the_archives_lines_are_permuted_as_the_authors_code_does_it():
    [archive] = [listing for listing in LISTINGS if "archive" in listing["listing"]]
    order = torch.randperm(NUM_EDGES, generator=torch.Generator().manual_seed(0)).tolist()
    train, valid = NUM_EDGES * 85 // 100, NUM_EDGES * 5 // 100
    assert archive["valid"] == sorted(order[train : train + valid])
    assert archive["test"] == sorted(order[train + valid :])


@pytest.mark.parametrize("listing", LISTINGS, ids=lambda listing: listing["listing"])
def test_a_line_is_on_one_side(listing):
    held_out = listing["valid"] + listing["test"]
    assert (len(listing["valid"]), len(listing["test"])) == (271, 544)
    assert len(set(held_out)) == len(held_out)
    assert 0 <= min(held_out) <= max(held_out) < NUM_EDGES


def test_cora_is_split_as_published_whatever_the_seed(data_folder):
    cora = read(data_folder / "cora" / "edges.txt")
    first, second = (split(cora, paper_split=True, seed=seed) for seed in (0, 1))
    assert "authors" in first.split
    assert first.test.head.tolist() == second.test.head.tolist()
    assert [len(first.train.triplets), len(first.valid), len(first.test)] == [4614, 271, 544]


def test_another_order_of_the_edges_is_not_taken_for_a_known_one(data_folder):
    edges = read(data_folder / "cora" / "edges.txt").triplets
    assert published_split(edges) is not None
    order = np.arange(NUM_EDGES)
    order[[0, 1]] = 1, 0
    assert published_split(edges.take(order)) is None
