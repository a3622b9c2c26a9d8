"""The split of the graph `world`, on graphs of any shape."""

from __future__ import annotations

from collections import Counter

import networkx as nx
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

names = st.sampled_from("abcdefgh")
graphs = st.lists(st.tuples(names, st.sampled_from("rs"), names), unique=True, max_size=40)


@given(graphs, st.floats(0, 0.5))
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_nothing_is_lost_and_nothing_leaks(tool, triplets, held_out):
    parts = tool("world_split").split(triplets, held_out)
    train, valid, test = parts
    assert Counter(train + valid + test) == Counter(triplets)
    assert max(len(valid), len(test)) <= round(held_out * len(triplets))

    pairs = [{frozenset((head, tail)) for head, _, tail in part} for part in parts]
    assert not (pairs[0] & pairs[1] or pairs[0] & pairs[2] or pairs[1] & pairs[2])
    assert components(train) == components(triplets)


def components(triplets):
    graph = nx.Graph((head, tail) for head, _, tail in triplets)
    return {frozenset(component) for component in nx.connected_components(graph)}


def test_the_wanted_share_is_reached_and_order_does_not_matter(tool):
    split = tool("world_split").split
    triplets = [(f"a{i}", "r", f"b{j}") for i in range(20) for j in range(20)]
    train, valid, test = split(triplets, 0.05)
    assert (len(train), len(valid), len(test)) == (360, 20, 20)
    assert [set(part) for part in split(triplets[::-1], 0.05)] == [set(train), set(valid), set(test)]
