"""Relation patterns: which pairs of nodes their paths connect, and which patterns connect the ends of facts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import base, invert, is_inverse, with_inverse_count
from nbfnet.graph.triplets import Int64
from nbfnet.sampling.known_answers import KnownAnswers
from nbfnet.sampling.sorted_keys import expand_ranges, first_of_runs, number_in_runs, sort_distinct

Step = tuple[int, bool]  # a relation's id, and whether it is followed backwards
Pattern = tuple[Step, ...]


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


@dataclass(frozen=True, eq=False)
class Connections:
    """The pairs that the paths of a pattern connect, from some sources."""

    pair: Int64  # (pair,) x * |V| + y, ascending
    paths: Int64  # (pair,) how many paths connect it
    sources: int  # how many sources these are, with those that were left out
    whole: bool  # False: there are more sources, or one was left out


class PatternPairs:
    """Follows patterns over the distinct facts of a graph, one relation after the other.

    A path repeats no node. Walks may repeat any, but do not end where they began, nor pass the fact that is asked.
    """

    def __init__(
        self,
        graph: Graph,
        random: np.random.Generator,
        *,
        most_paths: int = 2_000_000,
        known: KnownAnswers | None = None,
        walks: bool = False,
    ) -> None:
        """Of a pattern with more paths than ``most_paths``, the paths of randomly drawn sources are counted.

        ``known`` are the graph's facts, if they are indexed already.
        """
        self.graph, self.random, self.most_paths, self._walks = graph, random, most_paths, walks
        self._known = KnownAnswers.of(graph, graph.triplets) if known is None else known
        self._source = self._known.source_of_rows()
        ids = np.arange(with_inverse_count(graph.num_relations) + 1)
        self._first_row: Int64 = np.searchsorted(self._known.relation_of_rows(), ids)  # of each relation
        self._last_query: Step | None = None
        self._last_facts: Int64 = np.zeros(0, dtype=np.int64)

    def count(self, pattern: Pattern, query: Step) -> ConnectedPairs:
        """Follow the pattern from every source, or from random ones until there are paths enough."""
        pairs, true, whole = 0, 0, True
        for found in self.follow(pattern, self.most_paths, query if self._walks else None):
            pairs, true = pairs + len(found.pair), true + int(self.are_facts(found.pair, query).sum())
            whole = found.whole
        return ConnectedPairs(pairs, true, whole)

    def base_rate(self, query: Step) -> float:
        """How often the query's relation holds between a random entity that is a head of it and one that is a tail."""
        heads, tails = np.divmod(self._facts(query), self.graph.num_nodes)
        facts = int(np.count_nonzero(heads != tails))
        heads, tails = sort_distinct(heads), sort_distinct(tails)
        pairs = len(heads) * len(tails) - len(np.intersect1d(heads, tails, assume_unique=True))  # x is not y
        return facts / pairs if pairs else 0.0

    def follow(self, pattern: Pattern, most_paths: int, query: Step | None = None) -> Iterator[Connections]:
        """The pairs of all sources in random order, in parts that share no source; at most so many paths in all.

        A source that has more paths alone is left out. Only the last part says whether everything was followed. With a
        query, walks are followed that do not pass the query's fact between their ends.
        """
        sources = self._sources(pattern[0])
        self.random.shuffle(sources)
        room, size, done, whole = most_paths, 64, 0, True
        while done < len(sources) and room > 0:
            part = sources[done : done + size]
            found = self._follow(pattern, part, room, most_paths, query)
            done, whole = done + found.sources, whole and found.whole
            room = room - int(found.paths.sum()) if found.sources == len(part) else 0
            size *= 2
            yield Connections(found.pair, found.paths, found.sources, whole and done == len(sources))

    def are_facts(self, pair: Int64, query: Step) -> npt.NDArray[np.bool_]:
        """(pair,) whether the query's relation is a fact between x and y."""
        facts = self._facts(query)
        if not len(facts):
            return np.zeros(len(pair), dtype=np.bool_)
        found: npt.NDArray[np.bool_] = facts[np.minimum(np.searchsorted(facts, pair), len(facts) - 1)] == pair
        return found

    def _facts(self, query: Step) -> Int64:
        """The pair of every fact of a relation, ascending; kept, as many patterns have the same query."""
        if self._last_query != query:
            first, last = self._rows(query)
            begin = self._known.begin
            source = np.repeat(self._source[first:last], np.diff(begin[first : last + 1]))
            pair = source * self.graph.num_nodes + self._known.answer[begin[first] : begin[last]]
            self._last_query, self._last_facts = query, pair
        return self._last_facts

    def _sources(self, step: Step) -> Int64:
        first, last = self._rows(step)
        return self._source[first:last].copy()

    def _follow(
        self, pattern: Pattern, sources: Int64, most: int, most_of_source: int, query: Step | None
    ) -> Connections:
        """The paths of as many of the sources, in their order, as have no more paths than ``most``."""
        paths, owner, followed, whole = [sources], np.arange(len(sources)), len(sources), True
        for step in pattern:  # paths: (node of the path, path)
            begin, end = self._edges(step, paths[-1])
            growth = end - begin
            if growth.sum() > most:
                of_source = np.bincount(owner, weights=growth, minlength=len(sources))
                small = of_source <= most_of_source
                within = int(np.searchsorted(np.cumsum(of_source * small), most, side="right"))
                followed, whole = min(followed, within), False
                kept = small[owner] & (owner < followed)
                paths, owner, begin, end = [nodes[kept] for nodes in paths], owner[kept], begin[kept], end[kept]
            path, position = expand_ranges(begin, end)
            ends = self._known.answer[position].astype(np.int64)
            longer = [nodes[path] for nodes in paths]
            paths, owner = [*longer, ends], owner[path]
            if query is None:
                simple = np.all([nodes != ends for nodes in longer], axis=0)
                paths, owner = [nodes[simple] for nodes in paths], owner[simple]
        if query is not None:
            allowed = _passes_no_fact_of(query, pattern, paths)
            paths = [nodes[allowed] for nodes in paths]
        pair = np.sort(paths[0] * self.graph.num_nodes + paths[-1])
        first = np.flatnonzero(first_of_runs(pair))
        return Connections(pair[first], np.diff(first, append=len(pair)), followed, whole)

    def _edges(self, step: Step, node: Int64) -> tuple[Int64, Int64]:
        """Where the edges of one relation, one way, begin and end for each node."""
        first, last = self._rows(step)
        source = self._source[first:last]
        if not len(source):
            return np.zeros_like(node), np.zeros_like(node)
        at = np.minimum(np.searchsorted(source, node), len(source) - 1)
        row, there = first + at, source[at] == node
        return np.where(there, self._known.begin[row], 0), np.where(there, self._known.begin[row + 1], 0)

    def _rows(self, step: Step) -> tuple[int, int]:
        relation, backwards = step
        if backwards and self.graph.kind != "homogeneous":
            relation = invert(relation, self.graph.num_relations)
        return int(self._first_row[relation]), int(self._first_row[relation + 1])


def _passes_no_fact_of(query: Step, pattern: Pattern, paths: list[Int64]) -> npt.NDArray[np.bool_]:
    """(walk,) whether a walk leads from x to another y without the fact query(x, y) among its steps."""
    x, y = paths[0], paths[-1]
    allowed: npt.NDArray[np.bool_] = x != y
    for (relation, backwards), start, end in zip(pattern, paths, paths[1:], strict=False):
        if relation == query[0]:
            along = backwards == query[1]
            allowed &= ~((start == x) & (end == y) if along else (start == y) & (end == x))
    return allowed


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
