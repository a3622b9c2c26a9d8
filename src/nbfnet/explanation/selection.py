"""Which paths an explanation lists, and in which order: by what each adds to those before it.

A path is checked by deletion: take its facts away, score the query again, and see how far the score drops. Paths share
facts, so their drops overlap: a path that goes around over a colleague costs as much as the direct one, if both need
the same first fact. Paths are therefore chosen one after the other. The *added drop* of a path is how much further the
score falls when it is deleted together with those already listed. Next comes

1. a path whose added drop is within a fifth of the greatest, for a larger one is often only a detour;
2. of these, one of the fewest edges;
3. of these, the one with the greatest added drop. From three edges on it may still be a detour: another one with nearly
   the same drop comes first if its least important edge matters clearly more. Detours share the one edge that matters,
   and a path that was really used needs each of its edges.

A path whose facts are all in listed paths is left out. The added drops sum to the joint drop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nbfnet.explanation.deletion import Deletion
from nbfnet.explanation.top_paths import TopPath

_NEAR = 0.8  # of the greatest added drop: near enough for a shorter path to come first
_EQUAL = 0.95  # of the greatest among the shortest: near enough for a path to come first whose every edge matters
_FIRM = 0.1  # of the drop: by so much more its least important edge must matter
_SHORTEST_DETOUR = 3  # edges: to somebody like the source, and on from there
_MEASURED_TOGETHER = 8  # candidates, the most promising; all but a few are needed
_MOST_COMPARED = 6  # paths, the heaviest, whose edges are deleted one by one


@dataclass(frozen=True)
class Candidate:
    """A path that the search found, with the slots of its edges in the graph that the deletions are made in."""

    path: TopPath
    slots: tuple[int, ...]


@dataclass(frozen=True)
class Selected:
    """A listed path, its drop when it alone is deleted, and what that adds to the paths before it."""

    path: TopPath
    drop: float
    added_drop: float


class Selection:
    """The candidates of one prediction, measured as far as the choice needs it."""

    def __init__(self, deletion: Deletion, candidates: Sequence[Candidate]) -> None:
        self.deletion, self.candidates = deletion, candidates
        self._facts = [deletion.facts(candidate.slots) for candidate in candidates]
        logit, *without = deletion.logits_without_facts([frozenset(), *self._facts]).tolist()
        self.logit: float = logit
        self._drops = [logit - each for each in without]
        self._edge_drops: dict[int, float] = {}

    def best(self, k: int) -> list[Selected]:
        """The k best paths in order; fewer where no more are left that say anything new."""
        listed: list[Selected] = []
        gone: frozenset[int] = frozenset()
        left, logit = set(range(len(self.candidates))), self.logit
        expected = dict(enumerate(self._drops))  # the added drop of each candidate when it was last measured
        while len(listed) < k:
            left = {i for i in left if not self._facts[i] <= gone}
            if not left:
                break
            added = {i: self._drops[i] for i in left} if not listed else self._measure(left, expected, gone, logit)
            expected |= added
            chosen = self._choose(added)
            listed.append(Selected(self.candidates[chosen].path, self._drops[chosen], added[chosen]))
            logit -= added[chosen]
            gone |= self._facts[chosen]
        return listed

    def heaviest(self, k: int) -> list[Selected]:
        """The k paths of greatest weight, as the paper lists them, whatever their deletion does."""
        listed: list[Selected] = []
        gone, logit = frozenset[int](), self.logit
        for i in sorted(range(len(self.candidates)), key=lambda i: -self.candidates[i].path.weight)[:k]:
            gone |= self._facts[i]
            without = float(self.deletion.logits_without_facts([gone])[0])
            listed.append(Selected(self.candidates[i].path, self._drops[i], logit - without))
            logit = without
        return listed

    def _measure(
        self, left: set[int], expected: dict[int, float], gone: frozenset[int], logit: float
    ) -> dict[int, float]:
        """The added drops of the candidates that may come next, most promising first.

        The more is deleted, the less a path has to add: what was measured before is hardly ever exceeded, so no
        candidate is measured again whose last added drop is too small already.
        """
        added: dict[int, float] = {}
        order = sorted(left, key=lambda i: (-round(expected[i], 4), i))
        for begin in range(0, len(order), _MEASURED_TOGETHER):
            some = order[begin : begin + _MEASURED_TOGETHER]
            logits = self.deletion.logits_without_facts([gone | self._facts[i] for i in some])
            for i, without in zip(some, logits.tolist(), strict=True):
                if added and expected[i] < _NEAR * max(added.values()):
                    return added
                added[i] = logit - without
        return added

    def _choose(self, added: dict[int, float]) -> int:
        # Look-alike paths differ by rounding, which is the machine's own: the order must not depend on it.
        rounded = {i: round(drop, 4) for i, drop in added.items()}
        near = _within(rounded, _NEAR)
        fewest = min(len(self.candidates[i].slots) for i in near)
        short = {i: rounded[i] for i in near if len(self.candidates[i].slots) == fewest}
        ordered = sorted(short, key=lambda i: (-short[i], *self._by_weight(i)))
        best, drop = ordered[0], short[ordered[0]]
        rivals = sorted(_within(short, _EQUAL), key=self._by_weight)[:_MOST_COMPARED]
        if fewest < _SHORTEST_DETOUR or drop <= 0 or rivals in ([], [best]):
            return best
        least = dict(zip([best, *rivals], self._least_edges([best, *rivals]), strict=True))
        firmest = max(rivals, key=lambda i: round(least[i], 4))
        return firmest if least[firmest] > least[best] + _FIRM * drop else best

    def _by_weight(self, i: int) -> tuple[float, tuple[int, ...]]:
        path = self.candidates[i].path
        return -round(path.weight, 4), path.slots

    def _least_edges(self, paths: Sequence[int]) -> list[float]:
        """The smallest drop of one of each path's edges, deleted on its own."""
        slots = [self.candidates[i].slots for i in paths]
        new = list(dict.fromkeys(slot for path in slots for slot in path if slot not in self._edge_drops))
        drops = self.logit - self.deletion.logits_without([[slot] for slot in new])
        self._edge_drops |= dict(zip(new, drops.tolist(), strict=True))
        return [min(self._edge_drops[slot] for slot in path) for path in slots]


def _within(drops: dict[int, float], share: float) -> list[int]:
    """Those whose drop is at least a share of the greatest; where none is positive, those with the greatest."""
    greatest = max(drops.values())
    return [i for i, drop in drops.items() if drop >= min(greatest, share * greatest)]
