"""The short paths: all of them, weighed as the exhaustive search does, and every pattern before a second of one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.explanation.top_paths import short_paths, top_paths
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets


@given(data=st.data())
@pytest.mark.parametrize("iterations", [1, 2, 4])
def test_against_the_exhaustive_search(iterations: int, data: st.DataObject) -> None:
    nodes = data.draw(st.integers(1, 5))
    node = st.integers(0, nodes - 1)
    edges = data.draw(st.lists(st.tuples(node, st.integers(0, 1), node), max_size=12, unique=True))
    csr = RelationalCSR.from_triplets(Triplets.of(*np.array(edges, dtype=np.int32).reshape(-1, 3).T), nodes, 2)
    importance = np.random.default_rng(len(edges)).normal(size=(iterations, len(edges)))
    source, target = data.draw(node), data.draw(node)
    found = short_paths(csr, importance, source, target, most=10_000)
    every = top_paths(csr, importance, source, target, k=10_000, beam=10_000)
    expected = {path.slots: path for path in every if len(path.slots) <= 2}
    assert len(found) == len(expected)
    for path in found:
        assert path.weight == pytest.approx(expected[path.slots].weight, abs=1e-12)
        assert path.iterations == expected[path.slots].iterations


def test_a_pattern_with_many_paths_leaves_room_for_others() -> None:
    """Twenty heavy look-alikes of one pattern, and one light path of another."""
    middle = range(2, 22)
    edges = [(0, 0, z) for z in middle] + [(z, 1, 1) for z in middle] + [(0, 2, 22), (22, 2, 1)]
    csr = RelationalCSR.from_triplets(Triplets.of(*np.array(edges, dtype=np.int32).T), 23, 3)
    importance = np.where(csr.relation == 2, -1.0, 1.0 + csr.source / 100)[None].repeat(2, axis=0)
    found = short_paths(csr, importance, 0, 1, most=3)
    patterns = [tuple(csr.relation[list(path.slots)].tolist()) for path in found]
    assert patterns == [(0, 1), (2, 2), (0, 1)]
    assert found[0].weight > found[2].weight > found[1].weight
