"""Strongly connected components: sets of nodes that all reach each other."""

from __future__ import annotations

import numpy as np

from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Int64


def strong_components(csr: RelationalCSR) -> Int64:
    """(node,) the number of each node's component; Tarjan's algorithm without recursion, in O(E + V).

    It walks edges backwards, which does not change what is connected.
    """
    begin, source = csr.indptr.tolist(), csr.source.tolist()
    component = [-1] * csr.num_nodes
    index = [-1] * csr.num_nodes  # when a node was met
    low = [0] * csr.num_nodes  # the earliest node known to be in the same component
    cursor = list(begin[:-1])  # the next edge to walk
    met, found = 0, 0
    stack: list[int] = []
    for root in range(csr.num_nodes):
        trail = [root] if index[root] < 0 else []
        while trail:
            node = trail[-1]
            if index[node] < 0:
                index[node] = low[node] = met
                met += 1
                stack.append(node)
            while cursor[node] < begin[node + 1]:
                other = source[cursor[node]]
                if index[other] < 0:
                    trail.append(other)
                    break
                if component[other] < 0:
                    low[node] = min(low[node], low[other])
                cursor[node] += 1
            else:
                trail.pop()
                if low[node] == index[node]:
                    while component[node] < 0:
                        component[stack.pop()] = found
                    found += 1
    return np.array(component, dtype=np.int64)
