"""Generated graphs: the same seed gives the same files, every graph can be read, and compositions are what they say."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import nbfnet


@pytest.mark.parametrize("number", range(12))
def test_every_graph_can_be_learned(tool, tmp_path, number):
    generate = tool("generate_graphs")
    random = np.random.default_rng([3, number])
    generate.write(tmp_path / "graph", generate.World(random).relations(), random)
    dataset = nbfnet.load(tmp_path / "graph")
    facts = dataset.train.triplets
    # The relation that passes the limit may have 2,000 facts, a partition several of these.
    assert generate.FEWEST_FACTS < len(facts) < 3 * generate.MOST_FACTS
    links = [*zip(facts.head.tolist(), facts.relation.tolist(), facts.tail.tolist(), strict=True)]
    assert len(set(links)) == len(links)
    assert not dataset.train.findings


def test_the_same_seed_gives_the_same_files(tool, tmp_path, monkeypatch):
    generate = tool("generate_graphs")
    for folder, seed in (("a", 0), ("b", 0), ("c", 1)):
        monkeypatch.setattr("sys.argv", ["generate", str(tmp_path / folder), "--graphs", "2", "--seed", str(seed)])
        generate.main()
    files = {
        folder: [file.read_bytes() for file in sorted((tmp_path / folder).rglob("*.txt"))] for folder in ("a", "b", "c")
    }
    assert len(files["a"]) == 6
    assert files["a"] == files["b"] != files["c"]


@pytest.mark.parametrize("seed", range(5))
def test_composition_follows_both_relations(tool, seed):
    random = np.random.default_rng(seed)
    world = tool("generate_graphs").World(random)
    first, second = random.integers(15, size=(2, 30, 2))
    graphs = [nx.DiGraph(pairs.tolist()) for pairs in (first, second)]
    expected = {(x, z) for x, y in graphs[0].edges if y in graphs[1] for z in graphs[1].successors(y)}
    composed = world._compose(first, second)
    assert {tuple(pair) for pair in composed.tolist()} == expected
    assert len(composed) == len(expected)
