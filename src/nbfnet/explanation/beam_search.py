"""The beam search of ``native/beam_search.cpp`` in plain Python, for where the extension was not built."""

from __future__ import annotations

from collections import defaultdict

from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Float64, Int32

Slots = tuple[int, ...]


def beam_search(
    csr: RelationalCSR, importance: Float64, distance: Int32, source: int, target: int, beam: int, k: int
) -> list[tuple[float, Slots]]:
    """The k best paths, each with its weight, best first; see ``top_paths``.

    Args:
        csr: the edges.
        importance: (iteration, slot).
        distance: (node,) edges from each node to the target at least.
        source: u.
        target: v.
        beam: partial paths kept at each node.
        k: paths kept at the target.
    """
    heads, out = csr.source.tolist(), csr.transpose
    start: dict[Slots, float] = {(): 0.0}
    before: dict[int, dict[Slots, float]] = {source: start}
    found: dict[Slots, float] = {}
    for t, weights in enumerate(importance):
        left = len(importance) - t - 1
        after: defaultdict[int, dict[Slots, float]] = defaultdict(dict)
        for node, paths in before.items():  # a path may rest for an iteration
            if distance[node] <= left:
                after[node] |= paths
        for node, paths in before.items():
            ways = slice(out.indptr[node], out.indptr[node + 1])
            for slot, tail in zip(out.slot[ways].tolist(), out.target[ways].tolist(), strict=True):
                if tail != target and (tail in (source, node) or distance[tail] > left):
                    continue
                ending = found if tail == target else after[tail]
                for path, weight in paths.items():
                    if tail != target and any(heads[step] == tail for step in path):
                        continue
                    longer = (*path, slot)
                    ending[longer] = max(ending.get(longer, -float("inf")), weight + float(weights[slot]))
        found = _best(found, k)
        before = {node: _best(paths, beam) for node, paths in after.items() if node != source and node != target}
        before[source] = start
    return [(weight, path) for path, weight in found.items()]


def _best(paths: dict[Slots, float], count: int) -> dict[Slots, float]:
    """The best paths, best first: by weight, then fewer edges, then smaller slots."""
    return dict(sorted(paths.items(), key=lambda item: (-item[1], len(item[0]), item[0]))[:count])
