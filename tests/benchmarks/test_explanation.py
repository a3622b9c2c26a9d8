"""The deletion study: its random paths are uniform, and its figures tell a faithful network from a careless one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import networkx as nx
import numpy as np
import pytest
import torch

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


@pytest.fixture(scope="module")
def chains(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Test links a -asked-> c over chains of two facts, by 'first' and 'second' or by 'left' and 'right'.

    Six have one chain of each kind, two have two of the first kind, one has only one, and one has none.
    """
    kinds = {"good": ("first", "second"), "other": ("left", "right")}
    ways = [["good", "other"]] * 6 + [["good", "good"]] * 2 + [["good"]] + [[]]
    train, test = [("x", "asked", "y")], []
    for i, chosen in enumerate(ways):
        test.append((f"a{i}", "asked", f"c{i}"))
        for j, kind in enumerate(chosen):
            start, end = kinds[kind]
            train += [(f"a{i}", start, f"m{i} {j}"), (f"m{i} {j}", end, f"c{i}")]
    folder = tmp_path_factory.mktemp("data") / "chains"
    folder.mkdir()
    for part, links in (("train", train), ("valid", train[:1]), ("test", test)):
        (folder / f"{part}.txt").write_text("".join("\t".join(link) + "\n" for link in links))
    return folder


def make_run(source: Path, folder: Path, followed: list[tuple[str, str]]) -> nbfnet.Run:
    """A run whose network counts, twice, the chains of the followed relations: exactly, by weights set by hand.

    Dim 0 follows facts from head to tail and dim 1 from tail to head; a query asks in one of them. The source itself
    has 1, by the path of no edge, an answer 2 for each chain, and every other node 0.
    """
    model = {"dim": 2, "layers": 2, "aggregate": "sum", "edges": "independent", "hidden": [1]}
    run = nbfnet.train(source, folder, epochs=0, config={"model": {**model, "layer_norm": False, "shortcut": False}})
    network, relations = run.folder.network(run.dataset), run.graph.relations
    count, asked = len(relations), relations.id("asked")
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        network.indicator.query.weight[asked, 0] = network.indicator.query.weight[asked + count, 1] = 1
        for layer in network.layers:
            layer.linear.weight[:, 2:] = torch.eye(2)  # what was aggregated, as it is
        first, second = (layer.edges.relation.weight for layer in network.layers)
        for start, end in followed:
            first[relations.id(start), 0] = first[relations.id(end) + count, 1] = 1
            second[relations.id(end), 0] = second[relations.id(start) + count, 1] = 2
        network.score_function.mlp[0].weight[0, :2] = 1
        network.score_function.mlp[2].weight[:] = 1
    run.folder.write_network(network, 0)
    return run


@pytest.mark.parametrize("only_first", [True, False])
def test_the_study_tells_a_faithful_network_from_one_that_does_not_care(
    benchmark_module: Callable[[str], ModuleType], chains: Path, tmp_path: Path, only_first: bool
) -> None:
    """Without its chain the faithful network's logit falls by 2, unless a chain of the same kind is left beside it."""
    study = benchmark_module("explanation").study
    faithful = study(make_run(chains, tmp_path / "a", [("first", "second")]), 99, only_first=only_first)
    careless = study(
        make_run(chains, tmp_path / "b", [("first", "second"), ("left", "right")]), 99, only_first=only_first
    )
    for found in (faithful, careless):
        assert (found.asked, found.no_other, found.compared) == (10, 1, 8)
        assert found.no_path == (0 if only_first else 1)  # an answer that no path leads to is not ranked first
        assert 0 < found.seconds <= found.slowest
    assert (faithful.top_falls_further, faithful.heaviest_falls_further) == (6 / 8, 6 / 8)
    assert (faithful.mean_fall_top, faithful.mean_fall_random) == (2, 2 * 2 / 8)
    assert (careless.top_falls_further, careless.heaviest_falls_further) == (0, 0)
    assert (careless.mean_fall_top, careless.mean_fall_random) == (2, 2)


def test_the_study_ends_with_as_many_predictions_as_asked_for(
    benchmark_module: Callable[[str], ModuleType], chains: Path, tmp_path: Path
) -> None:
    found = benchmark_module("explanation").study(make_run(chains, tmp_path / "run", [("first", "second")]), 3)
    assert found.compared == 3 <= found.asked - found.no_path - found.no_other
