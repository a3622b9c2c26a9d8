"""The deletion study: its random paths are uniform, and its figures tell a faithful network from a careless one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import networkx as nx
import numpy as np
import pytest

import nbfnet
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets


@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize(("source", "target"), [(0, 5), (3, 1)])
def test_random_paths_are_uniform(
    benchmark_module: Callable[[str], ModuleType], length: int, source: int, target: int
) -> None:
    random = np.random.default_rng(length)
    head, tail = random.integers(0, 7, (2, 24))
    csr = RelationalCSR.from_triplets(Triplets.of(head, np.arange(24), tail), 7, 24)
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(7))
    graph.add_edges_from((int(x), int(v), slot) for slot, (x, v) in enumerate(zip(csr.source, csr.target, strict=True)))
    every = [
        tuple(key for *_, key in path)
        for path in nx.all_simple_edge_paths(graph, source, target, cutoff=length)
        if len(path) == length
    ]
    module = benchmark_module("random_path")
    sampler = module.PathSampler(csr, source, target, length)
    excluded = module.facts_of(csr, np.array(every[0], dtype=np.int64)) if every else ()
    drawn = [sampler.draw(random, other_than=excluded) for _ in range(2000 if len(every) > 1 else 5)]
    if len(every) < 2:
        assert drawn == [None] * 5
        return
    counts = Counter(tuple(slots.tolist()) for slots in drawn)
    assert counts.keys() == set(every[1:])
    expected = 2000 / (len(every) - 1)
    assert all(abs(count - expected) < 6 * expected**0.5 for count in counts.values())


def test_the_study_counts_every_prediction(benchmark_module: Callable[[str], ModuleType], tmp_path: Path) -> None:
    run = nbfnet.train("world", tmp_path / "run", epochs=0, config={"model": {"dim": 8, "layers": 3}})
    study = benchmark_module("explanation").study
    found = study(run, 6, only_first=False)
    assert found.compared == 6 == found.asked - found.no_path - found.no_other
    assert 0 <= found.top_falls_further <= 1
    assert 0 <= found.heaviest_falls_further <= 1
    assert 0 < found.seconds <= found.slowest
    only_first = study(run, 1)
    assert only_first.compared == 1 <= only_first.asked - only_first.no_path - only_first.no_other
