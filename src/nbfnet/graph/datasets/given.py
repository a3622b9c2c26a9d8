"""The negatives and the candidates that come with a known dataset."""

from __future__ import annotations

from typing import Literal

import numpy as np

from nbfnet.errors import DatasetError
from nbfnet.graph.datasets.ogb import TailCandidates, read_biokg, read_tail_candidates
from nbfnet.graph.datasets.ogb.biokg import GivenNegatives
from nbfnet.graph.datasets.registry import known_datasets, locate
from nbfnet.graph.datasets.registry_entry import count_dataset
from nbfnet.graph.fingerprint import fingerprint
from nbfnet.graph.graph import Dataset


def given_negatives(dataset: Dataset, split: Literal["valid", "test"]) -> GivenNegatives | None:
    """The negatives of a dataset's split, read from where the dataset is; None for one that has none.

    Another dataset of the same name has none.
    """
    entry = known_datasets().get(dataset.name)
    if entry is None or entry.layout != "biokg":
        return None
    try:
        biokg = read_biokg(locate(entry))
    except DatasetError:
        if entry.statistics.differences(count_dataset(dataset)):
            return None
        raise
    if fingerprint(biokg.dataset) != fingerprint(dataset):
        return None
    return biokg.test_negatives if split == "test" else biokg.valid_negatives


def given_tails(dataset: Dataset, split: Literal["valid", "test"]) -> TailCandidates | None:
    """The tails that the valid links of OGB's large-scale challenge are ranked among; None for any other dataset.

    They are read from where the dataset is. Another dataset of the same name has none, nor has one that is not here.
    """
    entry = known_datasets().get(dataset.name)
    if entry is None or entry.layout != "wikikg90m" or split != "valid":
        return None
    try:
        links, candidates = read_tail_candidates(locate(entry, download=False))
    except DatasetError:
        return None
    columns = ("head", "relation", "tail")
    same = all(np.array_equal(getattr(links, column), getattr(dataset.valid, column)) for column in columns)
    return candidates if same else None
