"""The leak-free split of the graph `world`."""

from __future__ import annotations

from collections import Counter, defaultdict
from hashlib import sha256

Triplet = tuple[str, str, str]
Pair = tuple[str, str]


def split(triplets: list[Triplet], held_out: float) -> tuple[list[Triplet], list[Triplet], list[Triplet]]:
    """Train, valid and test, with a share ``held_out`` of the triplets for valid and for test each.

    All triplets between two entities stay together, whatever their relations and directions.
    Every entity keeps a training triplet.
    """
    groups: dict[Pair, list[Triplet]] = defaultdict(list)
    for head, relation, tail in triplets:
        groups[min(head, tail), max(head, tail)].append((head, relation, tail))
    left = Counter(entity for pair, group in groups.items() for entity in set(pair) for _ in group)

    size = round(held_out * len(triplets))
    train: list[Triplet] = []
    valid: list[Triplet] = []
    test: list[Triplet] = []
    for pair in sorted(groups, key=chance):
        group = groups[pair]
        part = next((p for p in (test, valid) if len(p) + len(group) <= size), train)
        if min(left[entity] for entity in pair) <= len(group):
            part = train
        if part is not train:
            left.subtract(entity for entity in set(pair) for _ in group)
        part += group
    return train, valid, test


def chance(pair: Pair) -> bytes:
    """A random number for a pair, the same on every machine and whatever the other pairs are."""
    return sha256("\t".join(pair).encode("utf-8")).digest()
