"""Splits: every edge on one side, no link's twin on another, what is asked about is known from training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nbfnet.errors import DatasetError
from nbfnet.graph.graph import Dataset, Graph
from nbfnet.graph.reading.read import read
from nbfnet.graph.splits import split, without_duplicates
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary

Multiset = Callable[[Triplets], Counter[tuple[int, int, int, float]]]
Edge = tuple[int, int, int]


def knowledge(edges: list[Edge], num_nodes: int, num_relations: int) -> Graph:
    head, relation, tail = zip(*edges, strict=True) if edges else ((), (), ())
    triplets = Triplets.of(head, relation, tail, np.arange(len(edges)))  # the weight tells equal edges apart
    relations = Vocabulary.numbered(num_relations, role="relation")
    return Graph("g", "knowledge", Vocabulary.numbered(num_nodes), relations, triplets)


def homogeneous(edges: list[tuple[int, int]], num_nodes: int) -> Graph:
    head, tail = zip(*edges, strict=True) if edges else ((), ())
    relations = Vocabulary.of(["edge"], role="relation")
    triplets = Triplets.of(head, np.zeros(len(edges)), tail, np.arange(len(edges)))
    return Graph("g", "homogeneous", Vocabulary.numbered(num_nodes), relations, triplets)


def parts(dataset: Dataset) -> list[Triplets]:
    return [dataset.train.triplets, dataset.valid, dataset.test]


def pairs(triplets: Triplets) -> set[frozenset[int]]:
    return {frozenset(pair) for pair in zip(triplets.head.tolist(), triplets.tail.tolist(), strict=True)}


def entities(triplets: Triplets) -> set[int]:
    return {*triplets.head.tolist(), *triplets.tail.tolist()}


node, relation = st.integers(0, 7), st.integers(0, 2)
edge_lists = st.lists(st.tuples(node, relation, node), min_size=1, max_size=60)


@given(edges=edge_lists, seed=st.integers(0, 2**32))
def test_a_knowledge_split_is_a_partition_without_leaks(edges: list[Edge], seed: int, multiset: Multiset) -> None:
    graph = knowledge(edges, 8, 3)
    try:
        dataset = split(graph, seed=seed)
    except DatasetError:
        # Refused only when it is impossible: valid and test each need a pair that no relation depends on.
        assert not _two_pairs_can_leave(edges)
        return
    train, valid, test = parts(dataset)
    assert sum((multiset(part) for part in parts(dataset)), Counter()) == multiset(graph.triplets)
    assert not pairs(train) & pairs(valid)
    assert not pairs(train) & pairs(test)
    assert not pairs(valid) & pairs(test)
    assert {*valid.relation.tolist(), *test.relation.tolist()} <= set(train.relation.tolist())
    assert dataset.train.entities is graph.entities
    assert dataset.train.relations is graph.relations
    wanted = max(1, int(0.05 * len(edges)))
    largest = max(Counter(frozenset((h, t)) for h, _, t in edges).values())
    assert wanted <= len(valid) < wanted + largest
    assert 1 <= len(test) < wanted + largest
    for part in parts(dataset):  # the order of the edges is kept
        assert part.weight is not None
        assert (np.diff(part.weight) > 0).all()
    if _enough_spare(edges):
        assert entities(valid) | entities(test) <= entities(train)


def _two_pairs_can_leave(edges: list[Edge]) -> bool:
    """Whether two pairs of nodes can leave train for sure, whichever pair is kept for each relation."""
    groups = {frozenset((h, t)) for h, _, t in edges}
    return len(groups) >= 2 + len({r for _, r, _ in edges})


def _enough_spare(edges: list[Edge]) -> bool:
    """Whether valid and test can be filled for sure after a pair was kept for each entity and each relation."""
    sizes = sorted(Counter(frozenset((h, t)) for h, _, t in edges).values())
    kept = len({n for h, _, t in edges for n in (h, t)}) + len({r for _, r, _ in edges})
    return sum(sizes[: max(0, len(sizes) - kept)]) >= 2 * max(1, int(0.05 * len(edges))) + sizes[-1] - 1


@given(seed=st.integers(0, 1000), density=st.floats(0.3, 1), num_nodes=st.integers(8, 30))
def test_a_dense_graph_keeps_every_entity_and_the_exact_shares(seed: int, density: float, num_nodes: int) -> None:
    generator = np.random.default_rng(seed)
    edges = [(i, (i + j) % 3, j) for i in range(num_nodes) for j in range(i) if generator.random() < density]
    assume(len(edges) > 10 and _enough_spare(edges))
    dataset = split(knowledge(edges, num_nodes, 3), seed=seed)
    train, valid, test = parts(dataset)
    wanted = max(1, int(0.05 * len(edges)))
    assert (len(valid), len(test)) == (wanted, wanted)
    assert entities(train) == {n for i, _, j in edges for n in (i, j)}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("closed", [True, False], ids=["cycle", "path"])
def test_entities_are_spared_where_hardly_an_edge_can_be(seed: int, closed: bool) -> None:
    """Every node of a cycle or a path has two edges at most, yet the few that leave need not take one along."""
    edges = [(i, 0, i + 1) for i in range(79)] + ([(79, 0, 0)] if closed else [])
    train, valid, test = parts(split(knowledge(edges, 80, 1), seed=seed))
    assert (len(valid), len(test)) == (len(edges) // 20, len(edges) // 20)
    assert entities(train) == set(range(80))


def test_a_star_can_only_be_split_by_losing_leaves() -> None:
    train, valid, test = parts(split(knowledge([(0, 0, i) for i in range(1, 41)], 41, 1)))
    assert (len(train), len(valid), len(test)) == (36, 2, 2)
    assert not (entities(valid) | entities(test)) - {0} & entities(train)


def test_multi_edges_stay_together() -> None:
    edges = [(i, r, j) for i in range(10) for j in range(i) for r in range(3)]
    edges += [(j, 0, i) for i in range(10) for j in range(i)]
    train, valid, test = parts(split(knowledge(edges, 10, 3), seed=3))
    assert all(len(part) % 4 == 0 for part in (train, valid, test))
    assert len(train) + len(valid) + len(test) == len(edges)


def test_the_seed_decides() -> None:
    generator = np.random.default_rng(0)
    ends = [(int(u), int(v)) for u, v in generator.integers(0, 100, (500, 2))]
    for graph in (knowledge([(u, (u + v) % 3, v) for u, v in ends], 100, 3), homogeneous(ends, 100)):
        first, again, other = split(graph, seed=1), split(graph, seed=1), split(graph, seed=2)
        for part, same in zip(parts(first), parts(again), strict=True):
            np.testing.assert_array_equal(part.weight, same.weight)
        assert first.test.weight is not None
        assert other.test.weight is not None
        assert first.test.weight.tolist() != other.test.weight.tolist()
        assert "seed 1" in first.split


@pytest.mark.parametrize("edges", [[], [(0, 0, 1)], [(0, 0, 1), (1, 0, 0)], [(0, 0, 0)] * 30], ids=len)
@pytest.mark.parametrize("kind", ["knowledge", "homogeneous"])
def test_too_few_edges_are_an_error_with_a_way_out(kind: str, edges: list[Edge]) -> None:
    graph = knowledge(edges, 2, 1) if kind == "knowledge" else homogeneous([(h, t) for h, _, t in edges], 2)
    with pytest.raises(DatasetError, match=r"too few.*\bgive\b"):
        split(graph)


def test_the_papers_split_is_for_homogeneous_graphs() -> None:
    with pytest.raises(DatasetError, match="homogeneous"):
        split(knowledge([(0, 0, 1)] * 100, 2, 1), paper_split=True)


# Homogeneous graphs.


@given(edges=st.lists(st.tuples(node, node), min_size=1, max_size=80), seed=st.integers(0, 100))
def test_a_homogeneous_split_is_a_partition(edges: list[tuple[int, int]], seed: int, multiset: Multiset) -> None:
    graph = homogeneous(edges, 8)
    first = {}
    for i, (u, v) in enumerate(edges):
        if u != v:
            first.setdefault(frozenset((u, v)), i)
    honest = without_duplicates(graph)
    assert honest.weight is not None
    assert honest.weight.tolist() == sorted(first.values())

    for keep, expected in ((True, graph.triplets), (False, honest)):
        count = len(expected)
        shares = (count * 85 // 100, count * 5 // 100)
        try:
            dataset = split(graph, seed=seed, paper_split=keep)
        except DatasetError:
            assert min(shares) == 0 or count == sum(shares)
            continue
        assert (len(dataset.train.triplets), len(dataset.valid)) == shares
        assert len(dataset.test) == count - sum(shares)
        assert sum((multiset(part) for part in parts(dataset)), Counter()) == multiset(expected)
        if not keep:
            sides = [pairs(part) for part in parts(dataset)]
            assert sum(map(len, sides)) == len(set.union(*sides)) == count


@pytest.mark.parametrize(
    ("count", "expected"),
    [(5429, (4614, 271, 544)), (4732, (4022, 236, 474)), (44_338, (37_687, 2_216, 4_435)), (20, (17, 1, 2))],
)
def test_the_counts_of_the_paper(count: int, expected: tuple[int, int, int]) -> None:
    graph = homogeneous([(i % 7, i % 5) for i in range(count)], 7)  # duplicates and self loops, which stay
    dataset = split(graph, paper_split=True)
    assert tuple(len(part) for part in parts(dataset)) == expected
    assert "as in the paper" in dataset.split


@pytest.mark.parametrize(
    ("name", "listed", "honest"),
    [
        ("cora", (4614, 271, 544), 5278),
        ("citeseer", (4022, 236, 474), 4552),
        ("pubmed", (37_687, 2_216, 4_435), 44_324),
    ],
)
def test_the_benchmarks_split_as_published(
    name: str, listed: tuple[int, int, int], honest: int, data_folder: Path
) -> None:
    graph = read(data_folder / name / "edges.txt")
    assert tuple(len(part) for part in parts(split(graph, paper_split=True))) == listed
    dataset = split(graph, seed=5)
    counts = [len(part) for part in parts(dataset)]
    assert sum(counts) == honest
    assert counts[:2] == [honest * 85 // 100, honest * 5 // 100]
    sides = [pairs(part) for part in parts(dataset)]
    assert len(set.union(*sides)) == honest
    assert all(len(pair) == 2 for side in sides for pair in side)
    assert "removed" in dataset.split


def test_a_benchmark_splits_without_leaks(data_folder: Path) -> None:
    graph = read(data_folder / "wn18rr" / "train.txt")
    dataset = split(graph, seed=0)
    train, valid, test = parts(dataset)
    assert len(train) + len(valid) + len(test) == 86_835
    assert all(4341 <= len(part) <= 4344 for part in (valid, test))  # 5 %, and the rest of the last pair
    sides = [set(part.pairs(graph.num_nodes).tolist()) for part in (train, valid, test)]
    assert not (sides[0] & sides[1] or sides[0] & sides[2] or sides[1] & sides[2])
    assert set(np.unique(train.relation)) == set(range(11))
    assert entities(valid) | entities(test) <= entities(train)
