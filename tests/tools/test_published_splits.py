"""A split carried over to another listing of the same graph holds out the same edges, up to names."""

from __future__ import annotations

import random

import networkx
import pytest


def edges_with_ties_and_duplicates():
    """Two stars, whose leaves cannot be told apart, a path between them, a pair listed twice and a lonely pair."""
    return [(0, 1), (2, 0), (0, 3), (0, 4), (4, 5), (5, 6), (6, 7), (6, 8), (9, 6), (4, 5), (10, 11)]


def shuffled(edges, seed):
    numbers = random.Random(seed)
    nodes = list(range(12))
    numbers.shuffle(nodes)
    again = [(nodes[u], nodes[v]) if numbers.random() < 0.5 else (nodes[v], nodes[u]) for u, v in edges]
    numbers.shuffle(again)
    return again


def with_sides(edges, split):
    graph = networkx.MultiGraph()
    side = {line: part for part, lines in split.items() for line in lines}
    for line, (u, v) in enumerate(edges):
        graph.add_edge(u, v, side=side.get(line, "train"))
    return graph


@pytest.mark.parametrize("seed", range(10))
def test_the_same_edges_are_held_out(tool, seed):
    module, edges = tool("published_splits"), edges_with_ties_and_duplicates()
    split = {"valid": [seed], "test": sorted({(seed + 3) % 11, (seed + 5) % 11})}
    other = shuffled(edges, seed)
    carried = module.carry_over(edges, split, other)
    same = networkx.isomorphism.categorical_multiedge_match("side", None)
    assert networkx.is_isomorphic(with_sides(edges, split), with_sides(other, carried), edge_match=same)


def test_another_graph_is_refused(tool):
    module, edges = tool("published_splits"), edges_with_ties_and_duplicates()
    with pytest.raises(AssertionError, match="not of the same graph"):
        module.isomorphism(edges, [*edges[:-1], (10, 1)])
