"""The leakage report on datasets whose leaks are known, and against sets counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.errors import DatasetError
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.leakage import THRESHOLD, LeakageReport, RelationOverlap, SymmetricRelation, report_leakage
from nbfnet.graph.reading.folders import read_folder
from nbfnet.graph.reading.read import read
from nbfnet.graph.splits import split
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary

Edge = tuple[int, int, int]


def triplets_of(edges: list[Edge]) -> Triplets:
    return Triplets.of(*(zip(*edges, strict=True) if edges else ([], [], [])))


def dataset_of(train: list[Edge], test: list[Edge], *, homogeneous: bool = False, num_nodes: int = 30) -> Dataset:
    names = ["edge"] if homogeneous else ["r", "s", "t", "u"]
    relations = Vocabulary.of(names, role="relation", labels={"u": "you"})
    kind = "homogeneous" if homogeneous else "knowledge"
    graph = Graph("g", kind, Vocabulary.numbered(num_nodes), relations, triplets_of(train))  # type: ignore[arg-type]
    return Dataset("d", graph, Triplets.empty(), triplets_of(test))


CLEAN = LeakageReport(0, 0, 0, 0, [], [], [])


def test_a_clean_dataset() -> None:
    train = [(0, 0, 1), (1, 1, 2), (2, 2, 3)]
    report = report_leakage(dataset_of(train, [(0, 0, 2), (3, 1, 0)]))
    assert report == LeakageReport(2, 0, 0, 0, [], [], [])


def test_nothing_to_compare() -> None:
    assert report_leakage(dataset_of([], [])) == CLEAN
    assert report_leakage(dataset_of([], [(0, 0, 1)])).test_in_train == 0
    assert report_leakage(dataset_of([(0, 0, 1)], [])) == CLEAN


def test_each_sort_of_test_link() -> None:
    train = [(0, 0, 1), (2, 0, 3), (4, 0, 5), (6, 0, 6)]
    test = [
        (0, 0, 1),  # the same
        (3, 0, 2),  # reversed
        (4, 1, 5),  # the same pair, another relation
        (5, 2, 4),  # the same pair, another relation, reversed
        (6, 0, 6),  # a self loop: the same, and its own reverse
        (7, 0, 8),  # clean
        (0, 0, 1),  # the same once more counts once more
    ]
    report = report_leakage(dataset_of(train, test))
    assert report.test_links == 7
    assert report.test_in_train == 3
    assert report.test_reversed_in_train == 2
    assert report.test_pair_in_train == 6


def test_undirected_edges_are_the_same_both_ways() -> None:
    report = report_leakage(
        dataset_of([(0, 0, 1), (2, 0, 3), (4, 0, 4)], [(1, 0, 0), (2, 0, 3), (5, 0, 6)], homogeneous=True)
    )
    assert (report.test_links, report.test_in_train, report.test_reversed_in_train) == (3, 2, 0)
    assert report.test_pair_in_train == 2
    assert (report.near_inverse, report.near_duplicate, report.symmetric) == ([], [], [])


def test_an_inductive_test_is_compared_with_its_own_facts() -> None:
    train = dataset_of([(0, 0, 1), (1, 1, 2)], []).train
    facts = Graph("facts", "knowledge", Vocabulary.numbered(5), train.relations, triplets_of([(2, 0, 3), (3, 1, 4)]))
    dataset = Dataset("d", train, Triplets.empty(), triplets_of([(0, 0, 1), (2, 0, 3), (4, 1, 3)]), facts)
    report = report_leakage(dataset)
    assert (report.test_in_train, report.test_reversed_in_train, report.test_pair_in_train) == (1, 1, 2)


def test_relations_that_repeat_each_other() -> None:
    pairs = [(i, i + 10) for i in range(10)]
    train = [(h, 0, t) for h, t in pairs]
    train += [(t, 1, h) for h, t in pairs]  # s is the inverse of r
    train += [(h, 2, t) for h, t in pairs[:9]]  # t repeats 9 of 10 pairs of r
    train += [(h, 3, t) for h, t in pairs[:7]]  # u only 7 of them, but 7 of 9 of t
    train += train[:5]  # a fact listed twice is one fact
    report = report_leakage(dataset_of(train, []))
    assert report.near_inverse == [RelationOverlap("r", "s", 1.0), RelationOverlap("s", "t", 0.9)]
    assert report.near_duplicate == [RelationOverlap("r", "t", 0.9)]
    assert report.symmetric == []
    assert THRESHOLD == 0.8


def test_the_threshold_counts_and_labels_are_shown() -> None:
    train = [(i, 0, i + 10) for i in range(5)] + [(i, 3, i + 10) for i in range(4)]
    assert report_leakage(dataset_of(train, [])).near_duplicate == [RelationOverlap("r", "you", 0.8)]
    assert report_leakage(dataset_of(train[:-1], [])).near_duplicate == []


def test_symmetric_relations() -> None:
    train = [(0, 0, 1), (1, 0, 0), (2, 0, 3), (3, 0, 2), (4, 0, 5), (7, 0, 7)]  # 4 of 5, the self loop left out
    train += [(0, 1, 1), (1, 1, 0), (2, 1, 3)]  # 2 of 3
    train += [(8, 2, 8)]  # only a self loop: nothing to say
    report = report_leakage(dataset_of(train, []))
    assert report.symmetric == [SymmetricRelation("r", 0.8)]


node = st.integers(0, 4)
edges = st.lists(st.tuples(node, st.integers(0, 2), node), max_size=25)


@given(train=edges, test=edges, homogeneous=st.booleans())
def test_counting_with_sets_gives_the_same(train: list[Edge], test: list[Edge], homogeneous: bool) -> None:
    if homogeneous:
        train, test = ([(h, 0, t) for h, _, t in part] for part in (train, test))
    report = report_leakage(dataset_of(train, test, homogeneous=homogeneous))
    facts = set(train)
    turned = {(t, r, h) for h, r, t in facts}
    linked = {frozenset((h, t)) for h, _, t in facts}
    known = facts | turned if homogeneous else facts
    assert report.test_links == len(test)
    assert report.test_in_train == sum(edge in known for edge in test)
    assert report.test_reversed_in_train == (0 if homogeneous else sum(edge in turned for edge in test))
    assert report.test_pair_in_train == sum(frozenset((h, t)) in linked for h, _, t in test)

    names = ["edge"] if homogeneous else ["r", "s", "t", "you"]
    pairs = {r: {(h, t) for h, q, t in facts if q == r} for r in range(len(names))}
    for found, other in (
        (report.near_duplicate, pairs),
        (report.near_inverse, {r: {(t, h) for h, t in held} for r, held in pairs.items()}),
    ):
        expected = {}
        for a in pairs:
            for b in range(a + 1, len(names)):
                if pairs[a] | other[b]:
                    expected[names[a], names[b]] = len(pairs[a] & other[b]) / len(pairs[a] | other[b])
        assert {(o.first, o.second): o.overlap for o in found} == {
            key: pytest.approx(share) for key, share in expected.items() if share >= THRESHOLD
        }
        assert [o.overlap for o in found] == sorted((o.overlap for o in found), reverse=True)
    symmetric = {}
    for r, held in pairs.items():
        proper = {(h, t) for h, t in held if h != t}
        if proper and not homogeneous:
            symmetric[names[r]] = sum((t, h) in proper for h, t in proper) / len(proper)
    assert {s.relation: s.share for s in report.symmetric} == {
        name: pytest.approx(share) for name, share in symmetric.items() if share >= THRESHOLD
    }


@given(rows=st.lists(st.tuples(node, st.integers(0, 2), node), min_size=20, max_size=60), seed=st.integers(0, 9))
def test_our_own_splits_do_not_leak(rows: list[Edge], seed: int) -> None:
    try:
        dataset = split(dataset_of(rows, []).train, seed=seed)
    except DatasetError:
        return
    report = report_leakage(dataset)
    assert (report.test_in_train, report.test_reversed_in_train, report.test_pair_in_train) == (0, 0, 0)


def test_benchmarks(data_folder: Path) -> None:
    report = report_leakage(read_folder(data_folder / "wn18rr", "wn18rr"))
    assert (report.test_links, report.test_in_train) == (3134, 0)
    assert "_derivationally_related_form" in {s.relation for s in report.symmetric}
    assert report.test_reversed_in_train > 1000  # WN18RR keeps symmetric relations whose reverse is in train
    cora = read(data_folder / "cora" / "edges.txt")
    assert report_leakage(split(cora)).test_in_train == 0
    assert report_leakage(split(cora, paper_split=True)).test_in_train > 0  # pairs that are listed twice
