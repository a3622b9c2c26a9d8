"""The negatives that come with a known dataset."""

from __future__ import annotations

from typing import Literal

from nbfnet.graph.datasets.ogb import read_biokg
from nbfnet.graph.datasets.ogb.given import GivenNegatives
from nbfnet.graph.datasets.registry import known_datasets, locate


def given_negatives(name: str, split: Literal["valid", "test"]) -> GivenNegatives | None:
    """The negatives of a dataset's split, read from where the dataset is; None for one that has none."""
    entry = known_datasets().get(name)
    if entry is None or entry.layout != "biokg":
        return None
    biokg = read_biokg(locate(entry))
    return biokg.test_negatives if split == "test" else biokg.valid_negatives
