"""Describe a graph or a dataset: its counts and its leaks, as a document and as tables."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from nbfnet.available_memory import available_memory
from nbfnet.cli.output import print_table, print_text, print_title
from nbfnet.errors import DatasetError
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.leakage import report_leakage
from nbfnet.graph.splits import split, without_duplicates
from nbfnet.graph.triplets import Int32, Triplets
from nbfnet.graph.vocabulary import Vocabulary

_SHOWN_NAMES = 30
_CHUNK = 1 << 22  # numbers that are counted at once
_BYTES_TO_COMPARE = 150  # for each fact, to look for leaks


def describe(opened: Graph | Dataset) -> dict[str, Any]:
    """The JSON document of ``nbfnet data info``.

    A homogeneous graph that comes without a split is counted as the paper counts it, every line an edge, and
    ``honest_split`` says what is left when duplicates and self loops are removed first.
    """
    homogeneous = isinstance(opened, Graph) and opened.kind == "homogeneous"
    dataset = opened if isinstance(opened, Dataset) else _split_or_whole(opened, paper_split=homogeneous)
    document: dict[str, Any] = {"name": dataset.name, "kind": dataset.kind, "entities": dataset.train.num_nodes}
    if dataset.kind == "homogeneous":
        document["edges"] = len(dataset.train.triplets) + len(dataset.valid) + len(dataset.test)
    document |= {"relations": dataset.train.num_relations, **_counts(dataset)}
    document |= {"split": dataset.split, "skipped_lines": dataset.train.skipped_lines}
    document |= list_names(dataset)
    if dataset.train.types is not None:
        document["types"] = list(dataset.train.types.names)
    if dataset.test_graph is not None:
        document["test_graph"] = {
            "entities": dataset.test_graph.num_nodes,
            "facts": len(dataset.test_graph.triplets),
            "queries": len(dataset.test),
        }
    if homogeneous and isinstance(opened, Graph):
        honest = dataclasses.replace(opened, triplets=without_duplicates(opened))
        document["honest_split"] = {"edges": len(honest.triplets), **_counts(_split_or_whole(honest))}
    if _BYTES_TO_COMPARE * len(dataset.train.triplets) <= available_memory():
        document["leakage"] = dataclasses.asdict(report_leakage(dataset))
    return document


def print_description(document: dict[str, Any]) -> None:
    """The same for people."""
    print_title(f"{document['name']} ({document['kind']})")
    counted = ("entities", "edges", "relations", "train", "valid", "test")
    rows = [(key, document[key]) for key in counted if key in document]
    rows += [(f"test graph's {key}", count) for key, count in document.get("test_graph", {}).items()]
    print_table(rows)
    print_names(document)
    print_text(f"split: {document['split']}")
    if "honest_split" in document:
        honest = document["honest_split"]
        counts = " / ".join(f"{honest[part]:,}" for part in ("train", "valid", "test"))
        print_text(f"without duplicates and self loops: {honest['edges']:,} edges, split {counts}")
    if "leakage" in document:
        _print_leakage(document["leakage"], "the test graph" if "test_graph" in document else "train")
    else:
        print_text("leaks were not looked for: comparing all facts would take more memory than there is")


def _split_or_whole(graph: Graph, *, paper_split: bool = False) -> Dataset:
    """The split to count; all of a graph that is too small for one is train."""
    try:
        return split(graph, paper_split=paper_split)
    except DatasetError:
        return Dataset(graph.name, graph, Triplets.empty(), Triplets.empty(), split="none, the edges are too few")


def list_names(dataset: Dataset) -> dict[str, Any]:
    """Relations with how many links each has, train, valid and test together, and types with their entities."""
    graph = dataset.train
    parts = [graph.triplets, dataset.valid, *([] if dataset.test_graph else [dataset.test])]
    names = {"relation_names": _count_names(graph.relations, *(part.relation for part in parts))}
    if graph.types is not None:
        names["type_names"] = _count_names(graph.types.names, graph.types.of_entity)
    return names


def print_names(document: dict[str, Any]) -> None:
    """The same for people; the single relation of a homogeneous graph is not listed."""
    if document["kind"] != "homogeneous":
        print_text(f"relations: {_listed(document['relation_names'])}")
    if "type_names" in document:
        print_text(f"types of entities: {_listed(document['type_names'])}")


def _count_names(names: Vocabulary, *parts: Int32) -> dict[str, int]:
    """Name -> how often its number is there, the most frequent first; -1 is nothing. Parts may be mapped files."""
    counts = np.zeros(len(names), dtype=np.int64)
    for part in parts:
        for begin in range(0, len(part), _CHUNK):
            numbers = part[begin : begin + _CHUNK]
            counts += np.bincount(numbers[numbers >= 0], minlength=len(names))
    return {names.label(i): int(counts[i]) for i in np.argsort(-counts, kind="stable").tolist()}


def _listed(counts: dict[str, int]) -> str:
    shown = [f"{name} ({count:,})" for name, count in list(counts.items())[:_SHOWN_NAMES]]
    return ", ".join(shown) + (f" ... and {len(counts) - len(shown):,} more" if len(counts) > len(shown) else "")


def _counts(dataset: Dataset) -> dict[str, int]:
    return {"train": len(dataset.train.triplets), "valid": len(dataset.valid), "test": len(dataset.test)}


def _print_leakage(leakage: dict[str, Any], facts: str) -> None:
    if leakage["test_links"]:
        print_text()
        print_title("Test links that could leak")
        rows = [
            (f"also in {facts}", leakage["test_in_train"]),
            (f"also in {facts}, reversed", leakage["test_reversed_in_train"]),
            (f"between entities that {facts} links", leakage["test_pair_in_train"]),
            ("of all", leakage["test_links"]),
        ]
        print_table(rows)
    for key, title in (
        ("near_inverse", "Near-inverse relations, by the share of their pairs that both have"),
        ("near_duplicate", "Near-duplicate relations, by the share of their pairs that both have"),
    ):
        _print_shares(title, [(pair["overlap"], f"{pair['first']} and {pair['second']}") for pair in leakage[key]])
    symmetric = [(relation["share"], relation["relation"]) for relation in leakage["symmetric"]]
    _print_shares("Symmetric relations, by the share of their facts that hold both ways", symmetric)


def _print_shares(title: str, shares: list[tuple[float, str]]) -> None:
    if shares:
        print_text()
        print_title(title)
    for share, what in shares:
        print_text(f"{share:4.0%}  {what}")
