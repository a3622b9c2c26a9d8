"""The relation patterns of one to three edges that connect the ends of facts, without the facts themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import base, is_inverse
from nbfnet.graph.triplets import Int64
from nbfnet.prediction.pattern_pairs import Pattern, Step
from nbfnet.sampling.sorted_keys import expand_ranges, first_of_runs, number_in_runs

LONGEST = 3  # edges of a pattern
_NEIGHBOURS = 256  # of a fact's head that are looked at; random ones of a node that has more
_WALKS = 1024  # of two edges from a fact's head that are looked at


@dataclass(frozen=True, eq=False)
class _Walks:
    """Walks from the heads of facts that repeat no node and do not end in the fact's tail."""

    fact: Int64  # (walk,) whose head each one left
    nodes: tuple[Int64, ...]  # (walk,) for each node so far
    code: Int64  # (walk,) the relations so far, as the digits of a number

    @property
    def end(self) -> Int64:
        return self.nodes[-1]


class ConnectingPatterns:
    """Finds patterns over the edges of a graph, both ways; a path repeats no node, so it never uses the fact itself."""

    def __init__(self, graph: Graph) -> None:
        csr = graph.csr
        self.graph, self._begin = graph, csr.transpose.indptr  # the out-edges of each node, by target
        self._target, self._relation = csr.transpose.target, csr.relation[csr.transpose.slot]
        self._pair: Int64 = csr.source[csr.transpose.slot].astype(np.int64) * graph.num_nodes + self._target
        self._digits = graph.num_relation_ids + 1  # 0 is not a relation

    def of(self, head: Int64, tail: Int64, relation: int, random: np.random.Generator) -> list[tuple[Pattern, int]]:
        """The patterns that connect the facts (head_i, relation, tail_i), and how many of these facts each connects.

        The most frequent first, then the shorter. At nodes with many neighbours random ones are looked at, so a count
        is a lower bound.
        """
        fact = np.flatnonzero(head != tail)
        walks = _Walks(fact, (head[fact],), np.zeros_like(fact))
        facts, codes = [], []
        for length in range(1, LONGEST + 1):
            fact, code = self._arrivals(walks, tail)
            itself = code == relation + 1
            facts.append(fact[~itself])
            codes.append(code[~itself])
            if length < LONGEST:
                walks = self._longer(walks, tail, _NEIGHBOURS if length == 1 else _WALKS, random)
        return self._count(np.concatenate(facts), np.concatenate(codes))

    def _arrivals(self, walks: _Walks, tail: Int64) -> tuple[Int64, Int64]:
        """Fact and code of every walk with an edge on to the tail."""
        pair = walks.end * self.graph.num_nodes + tail[walks.fact]
        begin = np.searchsorted(self._pair, pair)
        arriving = np.flatnonzero(self._pair[np.minimum(begin, len(self._pair) - 1)] == pair)  # few of them
        end = np.searchsorted(self._pair, pair[arriving], side="right")
        which, position = expand_ranges(begin[arriving], end)
        walk = arriving[which]
        return walks.fact[walk], walks.code[walk] * self._digits + self._relation[position] + 1

    def _longer(self, walks: _Walks, tail: Int64, most: int, random: np.random.Generator) -> _Walks:
        """The walks with one more edge: all edges, or random ones where a fact would have more than so many walks."""
        begin = self._begin[walks.end]
        degree = self._begin[walks.end + 1] - begin
        share = most // np.maximum(1, np.bincount(walks.fact, minlength=len(tail)))  # edges for each of a fact's walks
        kept = np.minimum(degree, np.maximum(1, share)[walks.fact])
        walk = np.repeat(np.arange(len(kept)), kept)
        drawn = random.integers(0, degree[walk])  # some of them twice, which does no harm
        position = begin[walk] + np.where((kept == degree)[walk], number_in_runs(walk), drawn)
        node, fact = self._target[position].astype(np.int64), walks.fact[walk]
        nodes = (*(before[walk] for before in walks.nodes), node)
        new = np.all([tail[fact] != node, *(before != node for before in nodes[:-1])], axis=0)
        code = walks.code[walk] * self._digits + self._relation[position] + 1
        return _Walks(fact[new], tuple(each[new] for each in nodes), code[new])

    def _count(self, fact: Int64, code: Int64) -> list[tuple[Pattern, int]]:
        order = np.lexsort((fact, code))
        fact, code = fact[order], code[order]
        distinct = first_of_runs(fact) | first_of_runs(code)
        patterns, supports = np.unique(code[distinct], return_counts=True)
        best = np.lexsort((patterns, -supports))  # a shorter pattern is a smaller number
        return [(self._pattern(int(patterns[i])), int(supports[i])) for i in best]

    def _pattern(self, code: int) -> Pattern:
        steps: list[Step] = []
        while code:
            code, digit = divmod(code, self._digits)
            relation, count = digit - 1, self.graph.num_relations
            steps.append((base(relation, count), is_inverse(relation, count)))
        return tuple(reversed(steps))
