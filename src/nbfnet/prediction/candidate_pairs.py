"""Candidates for missing links: pairs that the good patterns of a relation connect and that are not facts yet.

The patterns are those that connect a sample of the relation's facts. A pattern's confidence is the share of facts among
the pairs that it connects, counted on a sample, for each order of magnitude of the number of its paths: two nodes with
ten common neighbours are a better guess than two with one. A pair's promise is the noisy-or of its patterns,

    1 - product over its patterns of (1 - confidence).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nbfnet.graph.graph import Graph
from nbfnet.graph.inverse import invert
from nbfnet.graph.relational_csr import sort_by_key
from nbfnet.graph.triplets import Float64, Int32, Int64
from nbfnet.prediction.patterns import ConnectingPatterns, Connections, Pattern, PatternPairs, Step
from nbfnet.progress import stage
from nbfnet.sampling.known_answers import KnownAnswers
from nbfnet.sampling.sorted_keys import first_of_runs

Allowed = Callable[[int], npt.NDArray[np.bool_] | None]  # from a relation id to a mask (node,) of its tails; None: all

_FACTS = 200  # of a relation, whose patterns are looked for
_PATTERNS = 32  # of a relation, whose confidence is counted
_SAMPLED_PATHS = 10_000  # that a confidence is counted over
_PATHS, _PATHS_ALONE = 200_000, 5_000_000  # that propose pairs of a relation; of the only relation that is asked
_FEW_PATHS = 1_000  # are not worth another pattern
_PAIRS, _PAIRS_ALONE = 100_000, 1_000_000  # of a relation that are kept
_MOST_PAIRS = 1_000_000  # of all relations that are kept
_LEAST_SECONDS = 0.25  # for a relation: with less, none would be done
_MAGNITUDES = 6  # 1, 2-3, 4-7, ... paths
_DOUBT = 5.0  # pairs that are taken to be wrong, so that a pattern with few pairs is not trusted


@dataclass(frozen=True, eq=False)
class CandidatePairs:
    """Pairs that are not facts, the most promising first."""

    head: Int32  # (pair,)
    relation: Int32  # (pair,)
    tail: Int32  # (pair,)
    promise: Float64  # (pair,)
    whole: bool = True  # False: the time was up before every relation was done

    def __len__(self) -> int:
        return len(self.head)

    def best(self, most: int) -> CandidatePairs:
        """The most promising ones; of equal ones those that come first."""
        order = np.argsort(-self.promise, kind="stable")[:most]
        return CandidatePairs(self.head[order], self.relation[order], self.tail[order], self.promise[order], self.whole)


def propose(
    graph: Graph,
    relations: Sequence[int],
    *,
    until: float,
    allowed: Allowed | None = None,
    known: KnownAnswers | None = None,
    seed: int = 0,
) -> CandidatePairs:
    """Candidates of some relations, each of which gets its share of the time; with little time, those with most facts.

    Args:
        graph: the facts.
        relations: relation ids, not inverse ones.
        until: the time on ``time.monotonic`` to be done by; what was found until then is returned.
        allowed: masks of the nodes that may be tails of a relation id; those of an inverse are its heads.
        known: the graph's facts, if they are indexed already.
        seed: of every sample. A relation's candidates do not depend on which others are asked.
    """
    search = _Search(graph, known, alone=len(relations) == 1)
    found, whole = _none(), True
    facts = np.diff(search.begin)
    with stage("looking for candidates") as report:
        for done, relation in enumerate(sorted(relations, key=lambda r: -facts[r])):  # those with most facts first
            now = time.monotonic()
            if now >= until:
                whole = False
                break
            share = now + max(_LEAST_SECONDS, (until - now) / (len(relations) - done))
            pairs = search.candidates(relation, allowed, share, np.random.default_rng([seed, relation]))
            found, whole = _join(found, pairs), whole and pairs.whole
            if len(found) > 2 * _MOST_PAIRS:
                found = found.best(_MOST_PAIRS)
            report((done + 1) / len(relations))
    order = np.random.default_rng(seed).permutation(len(found))  # no relation first among equals
    mixed = CandidatePairs(found.head[order], found.relation[order], found.tail[order], found.promise[order], whole)
    return mixed.best(_MOST_PAIRS)


class _Search:
    """The candidates of one relation after the other."""

    def __init__(self, graph: Graph, known: KnownAnswers | None, *, alone: bool) -> None:
        self.graph, self.alone = graph, alone
        self.known = KnownAnswers.of(graph, graph.triplets) if known is None else known
        self.connecting = ConnectingPatterns(graph)
        self.begin, self.order = sort_by_key(graph.triplets.relation, graph.num_relations)

    def candidates(
        self, relation: int, allowed: Allowed | None, until: float, random: np.random.Generator
    ) -> CandidatePairs:
        pairs = PatternPairs(self.graph, random, known=self.known)
        query: Step = (relation, False)
        confidences: list[tuple[Pattern, Float64]] = []
        whole, now = True, time.monotonic()
        for pattern in self._patterns(relation, random):
            if time.monotonic() >= now + (until - now) / 2:
                whole = False
                break
            confidences.append((pattern, _confidence(pairs, pattern, query)))
        confidences.sort(key=lambda each: -float(each[1].max()))
        room = _PATHS_ALONE if self.alone else _PATHS
        keys, doubts = [], []
        for pattern, confidence in confidences:
            if room < _FEW_PATHS:
                break
            # Half of the room for each: a pattern of many paths must not leave none to those after it.
            for found in pairs.follow(pattern, room // 2):
                if time.monotonic() >= until:
                    whole = False
                    break
                room -= int(found.paths.sum())
                key, confident = self._new_pairs(found, confidence, query, pairs, allowed)
                keys.append(key)
                doubts.append(np.log1p(-confident))
        return self._noisy_or(relation, keys, doubts, whole)

    def _patterns(self, relation: int, random: np.random.Generator) -> list[Pattern]:
        facts = self.order[self.begin[relation] : self.begin[relation + 1]]
        chosen = self.graph.triplets.take(random.permutation(facts)[:_FACTS])
        found = self.connecting.of(chosen.head.astype(np.int64), chosen.tail.astype(np.int64), relation, random)
        return [pattern for pattern, _ in found[:_PATTERNS]]

    def _new_pairs(
        self, found: Connections, confidence: Float64, query: Step, pairs: PatternPairs, allowed: Allowed | None
    ) -> tuple[Int64, Float64]:
        """The pairs that may be missing links, with the confidence of the pattern that found them."""
        keep = ~pairs.are_facts(found.pair, query)
        head, tail = np.divmod(found.pair, self.graph.num_nodes)
        if self.graph.kind == "homogeneous":
            keep &= head < tail
        for node, mask in zip((head, tail), sides(self.graph, query[0], allowed), strict=True):
            if mask is not None:
                keep &= mask[node]
        confident = confidence[_magnitude(found.paths)]
        keep &= confident > 0
        return found.pair[keep], confident[keep]

    def _noisy_or(self, relation: int, keys: list[Int64], doubts: list[Float64], whole: bool) -> CandidatePairs:
        if not keys:
            return _none()
        key, doubt = np.concatenate(keys), np.concatenate(doubts)
        order = np.argsort(key, kind="stable")
        first = first_of_runs(key[order])
        promise = -np.expm1(np.bincount(np.cumsum(first) - 1, weights=doubt[order]))
        head, tail = np.divmod(key[order][first], self.graph.num_nodes)
        relations = np.full(len(head), relation, dtype=np.int32)
        found = CandidatePairs(head.astype(np.int32), relations, tail.astype(np.int32), promise, whole)
        return found.best(_PAIRS_ALONE if self.alone else _PAIRS)


def sides(
    graph: Graph, relation: int, allowed: Allowed | None
) -> tuple[npt.NDArray[np.bool_] | None, npt.NDArray[np.bool_] | None]:
    """The masks (node,) of the heads and of the tails that a relation may have; None: all."""
    if allowed is None:
        return None, None
    undirected = graph.kind == "homogeneous"
    return allowed(relation if undirected else invert(relation, graph.num_relations)), allowed(relation)


def _confidence(pairs: PatternPairs, pattern: Pattern, query: Step) -> Float64:
    """(magnitude,) the share of facts among the pairs with so many paths; below 1, as nothing is certain."""
    count, true = np.zeros(_MAGNITUDES), np.zeros(_MAGNITUDES)
    for found in pairs.follow(pattern, _SAMPLED_PATHS):
        magnitude, right = _magnitude(found.paths), pairs.are_facts(found.pair, query)
        count += np.bincount(magnitude, minlength=_MAGNITUDES)
        true += np.bincount(magnitude, weights=right, minlength=_MAGNITUDES)
    share: Float64 = true / (count + _DOUBT)
    return share


def _magnitude(paths: Int64) -> Int64:
    """0 for 1 path, 1 for 2 or 3, 2 for 4 to 7, ...; the last for all that are more."""
    return np.minimum(np.log2(paths).astype(np.int64), _MAGNITUDES - 1)


def _none() -> CandidatePairs:
    nobody = np.zeros(0, dtype=np.int32)
    return CandidatePairs(nobody, nobody, nobody, np.zeros(0))


def _join(first: CandidatePairs, second: CandidatePairs) -> CandidatePairs:
    return CandidatePairs(
        np.concatenate([first.head, second.head]),
        np.concatenate([first.relation, second.relation]),
        np.concatenate([first.tail, second.tail]),
        np.concatenate([first.promise, second.promise]),
        first.whole and second.whole,
    )
