"""The negatives that come with a known dataset."""

from __future__ import annotations

from typing import Literal

from nbfnet.errors import DatasetError
from nbfnet.graph.datasets.ogb import read_biokg
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
