"""Which pairs of nodes the paths of a relation pattern connect, and for how many of them a relation is a fact."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbfnet.graph.graph import Graph
from nbfnet.graph.relational_csr import sort_by_key
from nbfnet.graph.triplets import Int32, Int64
from nbfnet.sampling.sorted_keys import expand_ranges, sort_distinct

Step = tuple[int, bool]


@dataclass(frozen=True)
class ConnectedPairs:
    """How many pairs (x, y) a pattern connects, and of how many of them the query's relation is a fact."""

    pairs: int
    true: int
    exact: bool

    @property
    def share(self) -> float | None:
        """The share of true pairs."""
        return self.true / self.pairs if self.pairs else None


class PatternPairs:
    """Counts over the facts of a graph, by joining one relation of a pattern after the other."""

    def __init__(self, graph: Graph, random: np.random.Generator, *, most_paths: int = 2_000_000) -> None:
        """Of a pattern with more paths than ``most_paths``, the paths of randomly drawn sources are counted."""
        self.graph, self.random, self.most_paths = graph, random, most_paths
        self._edges: dict[Step, tuple[Int64, Int32]] = {}

    def count(self, pattern: tuple[Step, ...], query: Step) -> ConnectedPairs:
        """Follow the pattern from every source, or from random ones until there are paths enough."""
        begin, _ = self._of(pattern[0])
        sources = np.flatnonzero(np.diff(begin))
        self.random.shuffle(sources)
        keys, exact, room, size, done = [], True, self.most_paths, 64, 0
        while done < len(sources) and room > 0:
            ends, all_of_them = self._follow(pattern, sources[done : done + size], room)
            done, room, exact = done + size, room - len(ends), exact and all_of_them
            keys.append(sort_distinct(ends))
            size *= 2
        connected = np.concatenate(keys) if keys else np.zeros(0, dtype=np.int64)  # no two parts share a source
        return ConnectedPairs(len(connected), self._true(connected, query), exact and done >= len(sources))

    def base_rate(self, query: Step) -> float:
        """How often the query's relation holds between a random entity that is a head of it and one that is a tail."""
        begin, target = self._of(query)
        head = np.repeat(np.arange(self.graph.num_nodes), np.diff(begin))
        facts = sort_distinct((head * self.graph.num_nodes + target)[head != target])
        heads, tails = sort_distinct(head), sort_distinct(target.astype(np.int64))
        pairs = len(heads) * len(tails) - len(np.intersect1d(heads, tails, assume_unique=True))  # x is not y
        return len(facts) / pairs if pairs else 0.0

    def _follow(self, pattern: tuple[Step, ...], sources: Int64, most: int) -> tuple[Int64, bool]:
        """The key x * |V| + y of every path of the pattern; where there are too many paths, some of them go on."""
        paths, exact = [sources], True  # (node of the path, path)
        for step in pattern:
            begin, target = self._of(step)
            paths, whole = _at_most(paths, begin, most, self.random)
            exact &= whole
            owner, position = expand_ranges(begin[paths[-1]], begin[paths[-1] + 1])
            ends = target[position].astype(np.int64)
            longer = [nodes[owner] for nodes in paths]
            simple = np.all([nodes != ends for nodes in longer], axis=0)
            paths = [nodes[simple] for nodes in [*longer, ends]]
        return paths[0] * self.graph.num_nodes + paths[-1], exact

    def _of(self, step: Step) -> tuple[Int64, Int32]:
        """The edges of one relation, one way: where each node's begin, and where they lead."""
        if step not in self._edges:
            relation, backwards = step
            facts = self.graph.triplets.take(self.graph.triplets.relation == relation)
            head, tail = (facts.tail, facts.head) if backwards else (facts.head, facts.tail)
            if self.graph.kind == "homogeneous":
                head, tail = np.concatenate([head, tail]), np.concatenate([tail, head])
            begin, order = sort_by_key(head, self.graph.num_nodes)
            self._edges[step] = begin, tail[order]
        return self._edges[step]

    def _true(self, connected: Int64, query: Step) -> int:
        begin, target = self._of(query)
        head = np.repeat(np.arange(self.graph.num_nodes), np.diff(begin))
        facts = head * self.graph.num_nodes + target
        return int(np.isin(connected, facts).sum())


def _at_most(paths: list[Int64], begin: Int64, most: int, random: np.random.Generator) -> tuple[list[Int64], bool]:
    """All paths if their next step gives no more than so many, else as many random ones as do; and whether all."""
    growth = begin[paths[-1] + 1] - begin[paths[-1]]
    if growth.sum() <= most:
        return paths, True
    order = random.permutation(len(growth))
    chosen = order[: max(1, int(np.searchsorted(np.cumsum(growth[order]), most, side="right")))]
    return [nodes[chosen] for nodes in paths], False
