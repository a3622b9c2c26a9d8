"""Samples around queries: against an enumeration of paths, a search in plain Python, and damaged rows."""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.errors import GraphFormatError
from nbfnet.graph.relational_csr import FactRecords, RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.native import native
from nbfnet.sampling import bidirectional_bfs
from nbfnet.sampling.bidirectional_bfs import BidirectionalBFS, Subgraphs
from nbfnet.sampling.drawing import draw_keys, draw_positions


@pytest.fixture(params=["compiled", "numpy"])
def backend(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(bidirectional_bfs, "native", None)
    elif native is None:
        pytest.skip("needs the compiled extension")
    return request.param


def rows(num_nodes, edges, weights=None):
    head, relation, tail = np.array(edges, dtype=np.int32).reshape(-1, 3).T
    return RelationalCSR.from_triplets(Triplets.of(head, relation, tail, weights), num_nodes, 5)


def power_law(seed=0, num_nodes=300, num_edges=2_000):
    """Hubs, self loops, multi-edges and nodes without an edge."""
    generator = np.random.default_rng(seed)
    ends = (num_nodes * generator.random((2, num_edges)) ** 3).astype(int)
    return rows(num_nodes, np.stack([ends[0], generator.integers(0, 5, num_edges), ends[1]], axis=1))


def sample_of(facts, source, target, *, hops, neighbours=None, **options) -> Subgraphs:
    sampler = BidirectionalBFS(facts, hops=hops, neighbours=neighbours)
    return sampler.sample(np.array(source, dtype=np.int32), np.array(target, dtype=np.int32), **options)


def edges_of(sample: Subgraphs, query: int = 0):
    """The slots of a query's sample with the ends that they have in the graph."""
    which = slice(sample.triplet_begin[query], sample.triplet_begin[query + 1])
    ends = sample.node[sample.triplets.head[which]], sample.node[sample.triplets.tail[which]]
    parts = (sample.slot[which], ends[0], sample.triplets.relation[which], ends[1])
    return list(zip(*(part.tolist() for part in parts), strict=True))


def near(facts, starts, hops):
    """The slots that touch an entity which is less than so many hops away, by the definition."""
    target, source = facts.target.tolist(), facts.source.tolist()
    within, slots = set(starts), set()
    for _ in range(hops):
        slots |= {slot for slot in range(len(source)) if source[slot] in within or target[slot] in within}
        within |= {end for slot in slots for end in (source[slot], target[slot])}
    return slots, within


def paths_between(facts, u, v, most):
    """All sequences of at most so many slots that lead from u to v, edges walked either way."""
    found, target, source = [], facts.target.tolist(), facts.source.tolist()

    def walk(node, path):
        if path and node == v:
            found.append(path)
        if len(path) < most:
            for slot in range(len(source)):
                if source[slot] == node:
                    walk(target[slot], [*path, slot])
                elif target[slot] == node:
                    walk(source[slot], [*path, slot])

    walk(u, [])
    return found


NODES = 6
node = st.integers(0, NODES - 1)
ugly_edges = st.lists(st.tuples(node, st.integers(0, 4), node), max_size=9)


@given(edges=ugly_edges, source=node, target=st.lists(node, min_size=1, max_size=3), hops=st.integers(0, 2))
def test_every_path_of_twice_the_hops_is_there(edges, source, target, hops) -> None:
    facts = rows(NODES, edges)
    kept = set(sample_of(facts, [source], [target], hops=hops).slot.tolist())
    for candidate in target:
        for path in paths_between(facts, source, candidate, 2 * hops):
            assert kept.issuperset(path)


@given(edges=ugly_edges, starts=st.lists(node, min_size=2, max_size=4), hops=st.integers(0, 3))
def test_it_is_the_union_of_the_neighbourhoods(edges, starts, hops) -> None:
    facts = rows(NODES, edges)
    sample = sample_of(facts, starts[:1], [starts[1:]], hops=hops)
    slots, within = near(facts, starts, hops)
    assert set(sample.slot.tolist()) == slots
    assert set(sample.node.tolist()) == within
    assert len(sample.slot) == len(slots)
    assert len(sample.node) == len(within)


@pytest.mark.parametrize("neighbours", [None, 1, 3, 10, 500])
def test_edges_and_starts_are_those_of_the_graph(neighbours, backend) -> None:
    facts = power_law()
    source, target = [3, 3, 299, 0], [[7, 3, 200], [7, 3, 200], [1, 1, 1], [0, 250, 4]]
    sample = sample_of(facts, source, target, hops=2, neighbours=neighbours, seed=5)
    assert sample.node[sample.source].tolist() == source
    assert sample.node[sample.target].tolist() == target
    known = list(zip(facts.source.tolist(), facts.relation.tolist(), facts.target.tolist(), strict=True))
    for query in range(4):
        inside = range(sample.node_begin[query], sample.node_begin[query + 1])
        assert {int(sample.source[query]), *sample.target[query].tolist()} <= set(inside)
        nodes = sample.node[inside].tolist()
        assert len(nodes) == len(set(nodes))
        edges = edges_of(sample, query)
        assert len(edges) == len({slot for slot, *_ in edges})
        assert all(known[slot] == (head, relation, tail) for slot, head, relation, tail in edges)
        which = slice(sample.triplet_begin[query], sample.triplet_begin[query + 1])
        ends = np.concatenate([sample.triplets.head[which], sample.triplets.tail[which]])
        assert np.isin(ends, inside).all()


def test_the_same_query_has_the_same_sample_in_any_batch(backend) -> None:
    facts = power_law()
    alone = sample_of(facts, [3], [[7, 200]], hops=2, neighbours=4, seed=9)
    batch = sample_of(facts, [0, 3, 3], [[1, 2], [7, 200], [7, 200]], hops=2, neighbours=4, seed=9)
    assert edges_of(batch, 1) == edges_of(batch, 2) == edges_of(alone)
    other = sample_of(facts, [3], [[7, 200]], hops=2, neighbours=4, seed=10)
    assert edges_of(other) != edges_of(alone)


@pytest.mark.skipif(native is None, reason="needs the compiled extension")
@pytest.mark.parametrize("neighbours", [None, 1, 2, 7, 64])
@pytest.mark.parametrize("hops", [0, 1, 2, 3])
def test_compiled_and_numpy_are_the_same(hops, neighbours, monkeypatch) -> None:
    generator = np.random.default_rng(hops)
    facts = power_law(seed=hops)
    source, target = generator.integers(0, 300, 8), generator.integers(0, 300, (8, 5))
    options = {"hops": hops, "neighbours": neighbours, "seed": 2**64 - 3}
    fields = ("node", "node_begin", "slot", "triplet_begin", "source", "target")
    compiled = [sample_of(facts, source, target, threads=threads, **options) for threads in (1, 2, 3, 16)]
    monkeypatch.setattr(bidirectional_bfs, "native", None)
    expected = sample_of(facts, source, target, **options)
    for sample in compiled:
        for field in fields:
            np.testing.assert_array_equal(getattr(sample, field), getattr(expected, field))
            assert getattr(sample, field).dtype == getattr(expected, field).dtype
        for field in ("head", "relation", "tail"):
            np.testing.assert_array_equal(getattr(sample.triplets, field), getattr(expected.triplets, field))


@pytest.mark.parametrize("neighbours", [1, 2, 5, 40])
def test_at_most_so_many_edges_are_drawn_on_each_side(neighbours, backend) -> None:
    facts = power_law(num_edges=4_000)
    for start in range(0, 300, 37):
        sample = sample_of(facts, [start], [[start]], hops=1, neighbours=neighbours)
        into, out = int(facts.degree[start]), int(np.diff(facts.transpose.indptr)[start])
        edges = edges_of(sample)
        assert len([1 for _, _, _, tail in edges if tail == start]) <= min(into, neighbours) + neighbours
        loops = [1 for _, head, _, tail in edges if head == tail]
        outside = [1 for _, head, _, tail in edges if head != tail]
        assert len(outside) + 2 * len(loops) >= min(into, neighbours) + min(out, neighbours)
        assert len(edges) <= min(into, neighbours) + min(out, neighbours)


def test_weights_are_taken_along(backend) -> None:
    facts = rows(4, [(0, 0, 1), (1, 0, 2), (2, 0, 3)], [0.25, 0.5, 4.0])
    sample = sample_of(facts, [0], [[3]], hops=1)
    assert dict(zip(sample.slot.tolist(), sample.triplets.weight.tolist(), strict=True)) == {0: 0.25, 2: 4.0}


def test_no_query_no_edge(backend) -> None:
    sample = sample_of(rows(3, []), [2], [[1, 1]], hops=2)
    assert (sample.node.tolist(), len(sample.triplets)) == ([2, 1], 0)
    empty = sample_of(power_law(), np.empty(0), np.empty((0, 4)), hops=2)
    assert (empty.num_nodes, len(empty.triplets), empty.target.shape) == (0, 0, (0, 4))


# Drawing.


@given(size=st.integers(2, 5_000), key=st.integers(0, 2**64 - 1), count=st.integers(1, 64))
def test_draws_are_different_positions(size, key, count) -> None:
    count = min(count, size - 1)
    drawn = draw_positions(np.array([size]), count, np.array([key], dtype=np.uint64))[0]
    assert len(set(drawn.tolist())) == count
    assert 0 <= drawn.min() <= drawn.max() < size


@pytest.mark.parametrize(("size", "count"), [(2, 1), (3, 2), (7, 3), (8, 4), (33, 2), (100, 99)])
def test_every_set_is_drawn_as_often(size, count) -> None:
    """Chi-square over all sets, of many keys, stays within five deviations of what chance gives."""
    trials, sets = 50_000, comb(size, count)
    keys = draw_keys(3, np.arange(trials, dtype=np.int32), 0)
    drawn = np.sort(draw_positions(np.full(trials, size), count, keys), axis=1)
    _, times = np.unique(drawn, axis=0, return_counts=True)
    statistic = ((times - trials / sets) ** 2).sum() / (trials / sets) + (sets - len(times)) * trials / sets
    assert abs(statistic - (sets - 1)) < 5 * np.sqrt(2 * (sets - 1))


# Damage: rows of a store that nobody compared with their checksums.


@pytest.mark.skipif(native is None, reason="needs the compiled extension")
@pytest.mark.parametrize(
    "damage",
    [
        lambda facts: replace(facts, source=np.full_like(facts.source, 300)),
        lambda facts: replace(facts, source=np.full_like(facts.source, -1)),
        lambda facts: replace(facts, indptr=facts.indptr + 10_000),
        lambda facts: replace(facts, indptr=-facts.indptr),
        lambda facts: replace(facts, indptr=facts.indptr[::-1].copy()),
    ],
)
def test_damaged_rows_are_refused(damage) -> None:
    facts = power_law()
    damaged = damage(facts)
    damaged.__dict__["transpose"] = facts.transpose
    with pytest.raises(GraphFormatError, match="do not fit together"):
        sample_of(damaged, range(50), [[1]] * 50, hops=2)


@pytest.mark.skipif(native is None, reason="needs the compiled extension")
@pytest.mark.parametrize("field", ["tail", "slot", "indptr"])
@pytest.mark.parametrize("number", [-1, 2**31 - 1])
def test_damaged_out_edges_are_refused(field, number) -> None:
    facts = power_law()
    begin, out = facts.transpose.indptr.copy(), facts.records.out.copy()
    if field == "indptr":
        begin[:], begin[::2] = number, -number
    else:
        out[field] = number
    facts.__dict__["transpose"] = replace(facts.transpose, indptr=begin)
    facts.__dict__["records"] = FactRecords(facts.records.into, out)
    with pytest.raises(GraphFormatError, match="do not fit together"):
        sample_of(facts, range(50), [[1]] * 50, hops=1)


@pytest.mark.skipif(native is None, reason="needs the compiled extension")
@pytest.mark.parametrize(
    "change",
    [
        {"begin": np.array([0, 3])},
        {"begin": np.array([1, 2])},
        {"begin": np.array([], dtype=np.int64)},
        {"start": np.array([0, 300], dtype=np.int32)},
        {"start": np.array([-1, 0], dtype=np.int32)},
        {"start": np.array([0, 1])},
        {"hops": -1},
        {"neighbours": -1},
        {"seed": -1},
        {"threads": 0},
    ],
)
def test_hostile_arguments_are_refused(change) -> None:
    arguments = {
        "begin": np.array([0, 2]),
        "start": np.array([0, 1], dtype=np.int32),
        "hops": 1,
        "neighbours": 0,
        "seed": 0,
        "threads": 1,
    }
    facts = BidirectionalBFS(power_law(), hops=1)._arrays
    native.sample_neighbourhoods(facts, **arguments)
    with pytest.raises((ValueError, TypeError)):
        native.sample_neighbourhoods(facts, **(arguments | change))
