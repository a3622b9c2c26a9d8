"""A family whose relations follow known rules: what is stated follows from father, mother, husband and others."""

from __future__ import annotations

import itertools

import numpy as np

Fact = tuple[str, str, str]
Body = tuple[tuple[str, bool], ...]  # a relation, and whether it is followed backwards

RULES: dict[str, list[Body]] = {
    "ward": [(("guardian", True),)],
    "grandfather": [(("father", False), ("father", False)), (("father", False), ("mother", False))],
    "grandmother": [(("mother", False), ("father", False)), (("mother", False), ("mother", False))],
    "uncle": [(("brother", False), ("father", False)), (("brother", False), ("mother", False))],
    "mother_in_law": [(("mother", False), ("husband", False)), (("mother", False), ("husband", True))],
    "godparent_of_father_in_law": [(("godparent", False), ("father", False), ("husband", False))],
}


def family_facts(seed: int, size: int = 24, stated: float = 0.85) -> list[Fact]:
    """Four generations, and what follows from their facts, most of it stated.

    Fathers, mothers, husbands, brothers, godparents and guardians are drawn by themselves, as in no real family: so
    none of these relations says anything about another, and only the rules lead to what follows.
    """
    random = np.random.default_rng(seed)
    generations = [([f"m{g}_{i}" for i in range(size)], [f"w{g}_{i}" for i in range(size)]) for g in range(4)]
    everybody = [person for men, women in generations for person in (*men, *women)]
    facts: list[Fact] = []

    def draw(relation: str, heads: list[str], tails: list[str]) -> None:
        """A random head for each tail."""
        facts.extend((str(random.choice([h for h in heads if h != tail])), relation, tail) for tail in tails)

    for men, women in generations:
        facts += [(man, "husband", woman) for man, woman in zip(men, random.permutation(women).tolist(), strict=True)]
        draw("brother", men, [*men, *women])
        draw("godparent", everybody, men)
        draw("guardian", everybody, men)
    for (men, women), children in itertools.pairwise(generations):
        draw("father", men, [*children[0], *children[1]])
        draw("mother", women, [*children[0], *children[1]])
    return facts + [fact for fact in _conclusions(facts) if random.random() < stated]


def _conclusions(facts: list[Fact]) -> list[Fact]:
    """Everything that the rules say, each conclusion once."""
    found: dict[Fact, None] = {}
    for relation, bodies in RULES.items():
        for body in bodies:
            walks = {(x, x) for fact in facts for x in (fact[0], fact[2])}
            for name, inverse in body:
                edges = [(t, h) if inverse else (h, t) for h, r, t in facts if r == name]
                walks = {(x, y) for x, z in walks for a, y in edges if a == z}
            found.update(dict.fromkeys((x, relation, y) for x, y in sorted(walks) if x != y))
    return list(found)
