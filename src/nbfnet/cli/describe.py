"""Describe a graph or a dataset: its counts and its leaks, as a document and as tables."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from nbfnet.cli.output import print_table, print_text
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.leakage import report_leakage
from nbfnet.graph.splits import split, without_duplicates


def describe(opened: Graph | Dataset) -> dict[str, Any]:
    """The JSON document of ``nbfnet data info``.

    A homogeneous graph that comes without a split is counted as the paper counts it, every line an edge, and
    ``honest_split`` says what is left when duplicates and self loops are removed first.
    """
    homogeneous = isinstance(opened, Graph) and opened.kind == "homogeneous"
    dataset = opened if isinstance(opened, Dataset) else split(opened, paper_split=homogeneous)
    document: dict[str, Any] = {"name": dataset.name, "kind": dataset.kind, "entities": dataset.train.num_nodes}
    if dataset.kind == "homogeneous":
        document["edges"] = len(dataset.train.triplets) + len(dataset.valid) + len(dataset.test)
    document |= {
        "relations": dataset.train.num_relations,
        "train": len(dataset.train.triplets),
        "valid": len(dataset.valid),
        "test": len(dataset.test),
        "split": dataset.split,
        "skipped_lines": dataset.train.skipped_lines,
    }
    if dataset.train.types is not None:
        document["types"] = list(dataset.train.types.names)
    if dataset.test_graph is not None:
        document["test_graph"] = {
            "entities": dataset.test_graph.num_nodes,
            "facts": len(dataset.test_graph.triplets),
            "queries": len(dataset.test),
        }
    if homogeneous and isinstance(opened, Graph):
        document["honest_split"] = _honest_split(opened)
    document["leakage"] = asdict(report_leakage(dataset))
    return document


def print_description(document: dict[str, Any]) -> None:
    """The same for people."""
    words = {"entities": "entities", "edges": "edges", "relations": "relations", "train": "train"}
    words |= {"valid": "valid", "test": "test"}
    rows = [(word, document[key]) for key, word in words.items() if key in document]
    if "test_graph" in document:
        rows += [(f"test graph's {key}", count) for key, count in document["test_graph"].items()]
    print_table(f"{document['name']} ({document['kind']})", ("", "count"), rows)
    print_text(f"split: {document['split']}")
    if "honest_split" in document:
        honest = document["honest_split"]
        counts = " / ".join(f"{honest[part]:,}" for part in ("train", "valid", "test"))
        print_text(f"honest split: {honest['edges']:,} edges without duplicates and self loops, {counts}")
    print_text()
    _print_leakage(document["leakage"])


def _print_leakage(leakage: dict[str, Any]) -> None:
    print_table(
        "Leakage",
        ("of the test links", "count"),
        [
            ("are all", leakage["test_links"]),
            ("stand in train too", leakage["test_in_train"]),
            ("stand in train reversed", leakage["test_reversed_in_train"]),
            ("join a pair that train joins", leakage["test_pair_in_train"]),
        ],
    )
    for key, title in (("near_inverse", "near-inverse relations"), ("near_duplicate", "near-duplicate relations")):
        for pair in leakage[key]:
            print_text(f"{title}: {pair['first']} and {pair['second']} ({pair['overlap']:.0%} of their pairs)")
    for relation in leakage["symmetric"]:
        print_text(f"symmetric relation: {relation['relation']} ({relation['share']:.0%} of its facts hold both ways)")


def _honest_split(graph: Graph) -> dict[str, int]:
    honest = split(graph)
    counts = {"train": len(honest.train.triplets), "valid": len(honest.valid), "test": len(honest.test)}
    return {"edges": len(without_duplicates(graph)), **counts}
