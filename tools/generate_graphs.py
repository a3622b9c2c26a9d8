"""Generate small knowledge graphs of many kinds, for pre-training.

    python tools/generate_graphs.py FOLDER [--graphs 64] [--seed 0]

A network for any graph must have seen many ways in which relations meet. Each graph here has a few types of entities,
relations of random kinds (random pairs, blocks of hidden classes, trees, neighbours in a plane, memberships, partitions
of all pairs as in kinship), and relations that follow from others by rules (inverse, symmetric, part, union,
composition, siblings), with gaps and noise. FOLDER/000 and so on are folders with train.txt, valid.txt and test.txt.
The same seed gives the same files, however many there are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

Pairs = npt.NDArray[np.int64]  # (fact, 2): head and tail
Numbers = npt.NDArray[np.int64]  # of entities, or a number for each entity
MOST_FACTS = 6_000  # of a graph
FEWEST_FACTS = 10  # of a relation
HELD_OUT = 0.04  # of the facts, for valid and for test each


def main() -> None:
    """Write all graphs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--graphs", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    for number in range(arguments.graphs):
        generator = np.random.default_rng([arguments.seed, number])
        write(arguments.folder / f"{number:03}", World(generator).relations(), generator)


def write(folder: Path, relations: list[Pairs], generator: np.random.Generator) -> None:
    """The facts in random order, split in three."""
    facts = [f"e{head}\tr{name}\te{tail}" for name, pairs in enumerate(relations) for head, tail in pairs.tolist()]
    facts = [facts[i] for i in generator.permutation(len(facts))]
    held_out = int(HELD_OUT * len(facts))
    parts = {"valid": facts[:held_out], "test": facts[held_out : 2 * held_out], "train": facts[2 * held_out :]}
    folder.mkdir(parents=True, exist_ok=True)
    for name, lines in parts.items():
        (folder / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


class World:
    """One graph: its entities with their types, hidden classes and places, and relations drawn between them."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.random = generator
        self.nodes = self._size(40, 1_500)
        types = self._size(1, 10)
        self.type = generator.choice(types, self.nodes, p=generator.dirichlet(np.full(types, 1.0)))
        self.classes = [generator.integers(self._size(2, 9), size=self.nodes) for _ in range(3)]
        self.place = generator.normal(size=(self.nodes, 2))
        self.popularity = generator.pareto(generator.uniform(0.8, 3.0), self.nodes) + 0.05

    def relations(self) -> list[Pairs]:
        """Relations of random kinds, then relations that follow from them, until there are enough facts."""
        base: list[Callable[[], list[Pairs]]] = [
            *(self._random, self._random, self._blocks, self._members, self._tree, self._neighbours, self._partition)
        ]
        kinds = self.random.dirichlet(np.full(len(base), 0.7))  # some graphs have relations of few kinds
        wanted = self._size(3, 40)
        follow = self.random.uniform(0.1, 0.7)  # the share of relations that follow from others
        found: list[Pairs] = []
        for _ in range(3 * wanted):
            if len(found) >= wanted or sum(map(len, found)) > MOST_FACTS:
                break
            if len(found) > 1 and self.random.random() < follow:
                made = [self._derived(found)]
            else:
                made = base[self.random.choice(len(base), p=kinds)]()
            found += [pairs for pairs in map(self._imperfect, made) if len(pairs) >= FEWEST_FACTS]
        found = found or [self._any_pairs(4 * self.nodes)]
        return [found[i] for i in self.random.permutation(len(found))]

    # Relations that follow from nothing.

    def _random(self) -> list[Pairs]:
        """Pairs of two types; each head, each tail, or neither has one partner."""
        heads, tails = self._some_type(), self._some_type()
        count = min(2_000, max(FEWEST_FACTS, int(len(heads) * self.random.uniform(0.3, 4))))
        pairs = np.stack([self._popular(heads, count), self._popular(tails, count)], axis=1)
        return [self._with_partners(pairs, self.random.choice(["one tail", "one head", "many", "many"]))]

    def _blocks(self) -> list[Pairs]:
        """A pair is related if its hidden classes are, with some probability."""
        head_class, tail_class = self._some_class(), self._some_class()
        related = self.random.random((head_class.max() + 1, tail_class.max() + 1)) < self.random.uniform(0.1, 0.4)
        pairs = self._any_pairs(int(self.random.uniform(3, 15) * self.nodes), self._some_type(), self._some_type())
        return [pairs[related[head_class[pairs[:, 0]], tail_class[pairs[:, 1]]]]]

    def _partition(self) -> list[Pairs]:
        """Kinship: the relation of any two entities is given by their classes; several relations at once."""
        few = self.random.choice(self.nodes, min(self.nodes, self._size(30, 110)), replace=False)
        head_class, tail_class = (self._some_class() for _ in range(2))
        if self.random.random() < 0.5:
            tail_class = head_class
        number = self._size(2, 16)
        relation = self.random.integers(number, size=(head_class.max() + 1, tail_class.max() + 1))
        pairs = self._any_pairs(int(self.random.uniform(0.1, 1) * min(len(few) ** 2, MOST_FACTS)), few, few)
        named = relation[head_class[pairs[:, 0]], tail_class[pairs[:, 1]]]
        return [pairs[named == r] for r in range(number)]

    def _members(self) -> list[Pairs]:
        """Each entity of a type belongs to one group of its class."""
        members, hidden = self._some_type(), self._some_class()
        groups = self._popular(self._some_type(), self._size(hidden.max() + 1, 40))
        per_class = max(1, len(groups) // (int(hidden.max()) + 1))
        chosen = (hidden[members] * per_class + self.random.integers(per_class, size=len(members))) % len(groups)
        return [np.stack([members, groups[chosen]], axis=1)]

    def _tree(self) -> list[Pairs]:
        """The parent of each entity, among those before it."""
        order = self.random.permutation(self._some_type())
        if len(order) < 2:
            return []
        below = self.random.uniform(0.3, 1)  # 1: any entity before it, a flat tree
        at = np.arange(1, len(order))
        parent = np.floor(at * self.random.random(len(at)) ** (1 / below)).astype(np.int64)
        return [np.stack([order[at], order[np.minimum(parent, at - 1)]], axis=1)]

    def _neighbours(self) -> list[Pairs]:
        """The nearest entities in the plane."""
        some = self._some_type()
        k = min(len(some) - 1, self._size(1, 6))
        if k < 1:
            return []
        distance = np.linalg.norm(self.place[some][:, None] - self.place[some][None], axis=2)
        np.fill_diagonal(distance, np.inf)
        nearest = np.argsort(distance, axis=1)[:, :k]
        return [np.stack([np.repeat(some, k), some[nearest].ravel()], axis=1)]

    # Relations that follow from others.

    def _derived(self, found: list[Pairs]) -> Pairs:
        """A relation that a rule gives."""
        rule = self.random.choice(
            ["inverse", "symmetric", "part", "union", "chain", "chain", "chain", "triple", "sibling"]
        )
        first, second, third = (self._either_way(found) for _ in range(3))
        if rule == "inverse":
            return first[:, ::-1]
        if rule == "symmetric":
            return np.concatenate([first, first[:, ::-1]])
        if rule == "part":
            hidden = self._some_class()
            return first.compress(hidden[first[:, 0]] == hidden[first[0, 0]], axis=0)
        if rule == "union":
            return np.concatenate([first, second])
        if rule == "sibling":
            second = first[:, ::-1]
        pairs = self._compose(first, second)
        if rule == "triple":
            pairs = self._compose(pairs, third)
        return pairs.compress(pairs[:, 0] != pairs[:, 1], axis=0)

    def _compose(self, first: Pairs, second: Pairs) -> Pairs:
        """(x, z) for (x, y) of the first and (y, z) of the second; at most so many, at random."""
        second = second[np.argsort(second[:, 0], kind="stable")]
        begin = np.searchsorted(second[:, 0], first[:, 1], side="left")
        end = np.searchsorted(second[:, 0], first[:, 1], side="right")
        count = end - begin
        if count.sum() > 20 * MOST_FACTS:  # of hubs, a few
            count = np.minimum(count, 5)
        step = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        pairs = np.stack([np.repeat(first[:, 0], count), second[np.repeat(begin, count) + step, 1]], axis=1)
        return self._at_most(np.unique(pairs, axis=0), 1_500)

    # What all of them use.

    def _imperfect(self, pairs: Pairs) -> Pairs:
        """Distinct pairs, some of which are missing, and a few that are wrong."""
        if not len(pairs):
            return pairs
        pairs = self._at_most(np.unique(pairs, axis=0), 2_000)
        pairs = pairs[self.random.random(len(pairs)) < self.random.uniform(0.5, 1)]
        wrong = int(len(pairs) * max(0, self.random.uniform(-0.1, 0.1)))
        return np.unique(np.concatenate([pairs, self._any_pairs(wrong)]), axis=0)

    def _either_way(self, found: list[Pairs]) -> Pairs:
        pairs = found[self.random.integers(len(found))]
        return pairs[:, ::-1] if self.random.random() < 0.3 else pairs

    def _with_partners(self, pairs: Pairs, how: str) -> Pairs:
        if how == "many":
            return pairs
        _, first = np.unique(pairs[:, 0 if how == "one tail" else 1], return_index=True)
        return pairs[first]

    def _any_pairs(self, count: int, heads: Numbers | None = None, tails: Numbers | None = None) -> Pairs:
        every = np.arange(self.nodes)
        sides = [self.random.choice(every if some is None else some, count) for some in (heads, tails)]
        return np.stack(sides, axis=1)

    def _at_most(self, pairs: Pairs, count: int) -> Pairs:
        return pairs if len(pairs) <= count else pairs[self.random.choice(len(pairs), count, replace=False)]

    def _popular(self, some: Numbers, count: int) -> Numbers:
        weight = self.popularity[some]
        return self.random.choice(some, count, p=weight / weight.sum())

    def _some_type(self) -> Numbers:
        """The entities of one type; now and then all."""
        if self.random.random() < 0.15:
            return np.arange(self.nodes)
        return np.flatnonzero(self.type == self.random.choice(self.type))

    def _some_class(self) -> Numbers:
        return self.classes[self.random.integers(len(self.classes))]

    def _size(self, least: int, most: int) -> int:
        """A whole number between two, uniform on a logarithmic scale."""
        return int(np.exp(self.random.uniform(np.log(least), np.log(most + 1))))


if __name__ == "__main__":
    main()
