"""The compiled sampler beside a vectorised NumPy one and a plain Python one, on the same draws: a table, and JSON.

    python benchmarks/sampler.py [--nodes 1000000] [--triplets 5000000] [--json results.json]

The graph is a generated power law. The NumPy sampler is the one that serves where there is no compiled extension; the
plain one follows the definition with lists, sets and dictionaries. All three give the same samples, which is checked.
Each answers the same batches of queries in a row, no query twice, as in a training; the median time of the
processor counts.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from machine import machine_facts
from nbfnet.graph.relational_csr import RelationalCSR
from nbfnet.graph.triplets import Triplets
from nbfnet.sampling.bidirectional_bfs import BidirectionalBFS
from path_graphs import power_law

QUERIES, WARMING, BATCHES = 4, 2, 10
_WORD = 2**64 - 1
_GOLDEN = 0x9E3779B97F4A7C15


@dataclass
class Row:
    """One line of the table; seconds for each query."""

    hops: int
    neighbours: int | None
    candidates: int
    nodes: float  # of a sample, on average
    edges: float
    compiled: float
    numpy: float
    python: float

    def line(self) -> str:
        """The row as text."""
        return (
            f"{self.hops:4} {self.neighbours or 'all':>10} {self.candidates:10,} "
            f"{self.nodes:10,.0f} {self.edges:10,.0f} "
            f"{1e3 * self.compiled:11.2f} {1e3 * self.numpy:11.2f} {self.numpy / self.compiled:6.1f}x "
            f"{1e3 * self.python:11.2f} {self.python / self.compiled:6.1f}x"
        )


class PlainSampler:
    """The definition, with lists, sets and dictionaries."""

    def __init__(self, facts: RelationalCSR) -> None:
        out = facts.transpose
        self.indptr, self.source = facts.indptr.tolist(), facts.source.tolist()
        self.out_indptr, self.target, self.slot = out.indptr.tolist(), out.target.tolist(), out.slot.tolist()
        self.relation = facts.relation.tolist()

    def sample(self, starts: list[int], hops: int, neighbours: int | None, seed: int) -> tuple[list[int], ...]:
        """The entities of a sample, and the slots and relations of its edges, in the order they are met."""
        met = dict.fromkeys(starts)
        slots: dict[int, None] = {}
        level = list(met)
        for _ in range(hops):
            following: dict[int, None] = {}
            for side, indptr, ends in ((0, self.indptr, self.source), (1, self.out_indptr, self.target)):
                for entity in level:
                    begin, end = indptr[entity], indptr[entity + 1]
                    for position in _draw(begin, end, neighbours, entity, side, seed):
                        slots[position if side == 0 else self.slot[position]] = None
                        if (other := ends[position]) not in met:
                            following[other] = None
            met.update(following)
            level = list(following)
        return list(met), list(slots), [self.relation[slot] for slot in slots]


def _draw(begin: int, end: int, most: int | None, entity: int, side: int, seed: int) -> Any:
    if most is None or end - begin <= most:
        return range(begin, end)
    key = _mix(seed + _GOLDEN * (2 * entity + side + 1) & _WORD)
    drawn: dict[int, None] = {}
    for last in range(end - begin - most, end - begin):
        number = (_mix(key + _GOLDEN * last & _WORD) >> 32) * (last + 1) >> 32
        drawn[last if number in drawn else number] = None
    return (begin + position for position in drawn)


def _mix(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _WORD
    return x ^ x >> 31


def compare(facts: RelationalCSR, plain: PlainSampler, hops: int, neighbours: int | None, candidates: int) -> Row:
    """Measure one row, and make sure that all three found the same."""
    shape = (WARMING + BATCHES, QUERIES, 1 + candidates)
    batches = np.random.default_rng(candidates).integers(0, facts.num_nodes, shape).astype(np.int32)
    sampler = BidirectionalBFS(facts, hops=hops, neighbours=neighbours)
    methods: dict[str, Callable[[Any], Any]] = {
        "compiled": lambda starts: sampler._compiled(starts, 1, 1),
        "numpy": lambda starts: sampler._numpy(starts, 1),
        "python": lambda starts: [plain.sample(one.tolist(), hops, neighbours, 1) for one in starts],
    }
    seconds = {}
    for name, method in methods.items():
        times = []
        for starts in batches:
            begin = time.process_time()  # of this process alone: others may use the machine
            method(starts)
            times.append((time.process_time() - begin) / QUERIES)
        seconds[name] = float(np.median(times[WARMING:]))
    sizes = [check_equal(*(method(starts) for method in methods.values())) for starts in batches]
    nodes, edges = (np.array(sizes).sum(axis=0) / (len(batches) * QUERIES)).tolist()
    return Row(hops, neighbours, candidates, nodes, edges, **seconds)


def check_equal(compiled: Any, vectorised: Any, plain: Any) -> tuple[int, int]:
    """Make sure that all three found the same for a batch, and count its nodes and edges."""
    for fast, slow in zip(compiled, vectorised, strict=True):
        np.testing.assert_array_equal(fast, slow)
    node_begin, node, _, edge_begin, slot, relation, _, _ = compiled
    for query, (nodes, slots, relations) in enumerate(plain):
        edges = slice(edge_begin[query], edge_begin[query + 1])
        assert nodes == node[node_begin[query] : node_begin[query + 1]].tolist()
        assert (slots, relations) == (slot[edges].tolist(), relation[edges].tolist())
    return len(node), len(slot)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--triplets", type=int, default=5_000_000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    graph = power_law("power law", options.nodes, options.triplets)
    triplets = Triplets(graph.head, np.zeros_like(graph.head), graph.tail)
    facts = RelationalCSR.from_triplets(triplets, options.nodes, 1)
    plain = PlainSampler(facts)
    print(f"{options.nodes:,} nodes, {options.triplets:,} triplets, one thread, milliseconds for each query")
    print("hops neighbours candidates      nodes      edges    compiled       NumPy             Python")
    rows = []
    for hops, neighbours, candidates in [(1, 100, 1_000), (2, 10, 1_000), (2, 100, 32), (2, 100, 1_000), (2, None, 8)]:
        rows.append(compare(facts, plain, hops, neighbours, candidates))
        print(rows[-1].line(), flush=True)
    if options.json:
        document = {"machine": machine_facts(), "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
