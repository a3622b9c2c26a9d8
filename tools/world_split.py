"""The leak-free split of the graph `world`."""

from __future__ import annotations

from collections import defaultdict
from hashlib import sha256

Triplet = tuple[str, str, str]
Pair = tuple[str, str]
Neighbours = dict[str, set[str]]


def split(triplets: list[Triplet], held_out: float) -> tuple[list[Triplet], list[Triplet], list[Triplet]]:
    """Train, valid and test, with a share ``held_out`` of the triplets for valid and for test each.

    All triplets between two entities stay together, whatever their relations and directions.
    What the triplets join, train joins too: every question has a path to its answer.
    """
    groups: dict[Pair, list[Triplet]] = defaultdict(list)
    neighbours: Neighbours = defaultdict(set)
    for head, relation, tail in triplets:
        groups[min(head, tail), max(head, tail)].append((head, relation, tail))
        neighbours[head].add(tail)
        neighbours[tail].add(head)

    size = round(held_out * len(triplets))
    train: list[Triplet] = []
    valid: list[Triplet] = []
    test: list[Triplet] = []
    for pair in sorted(groups, key=chance):
        group = groups[pair]
        part = next((p for p in (test, valid) if len(p) + len(group) <= size), train)
        if part is not train and not part_them(neighbours, pair):
            part = train
        part += group
    return train, valid, test


def chance(pair: Pair) -> bytes:
    """A random number for a pair, the same on every machine and whatever the other pairs are."""
    return sha256("\t".join(pair).encode("utf-8")).digest()


def part_them(neighbours: Neighbours, pair: Pair) -> bool:
    """Make a pair no neighbours, if another path joins them; say whether it did."""
    a, b = pair
    neighbours[a].discard(b)
    neighbours[b].discard(a)
    if is_joined(neighbours, a, b):
        return True
    neighbours[a].add(b)
    neighbours[b].add(a)
    return False


def is_joined(neighbours: Neighbours, a: str, b: str) -> bool:
    """Whether a path of at least one step leads from a to b."""
    reached: set[str] = set()
    frontier = neighbours[a]
    while frontier and b not in reached:
        reached |= frontier
        frontier = {y for x in frontier for y in neighbours[x]} - reached
    return b in reached
