"""Relation categories: 1-to-1, 1-to-N, N-to-1, N-to-N."""

from __future__ import annotations

import numpy as np

from nbfnet.graph.inverse import split_by_direction, with_inverse_count
from nbfnet.sampling.known_answers import KnownAnswers

CATEGORIES = ("1-to-1", "1-to-N", "N-to-1", "N-to-N")
THRESHOLD = 1.5  # from this average on, a side counts as many


def relation_categories(known: KnownAnswers) -> list[str | None]:
    """The category of each relation (inverses not counted), or None for a relation without a fact.

    A relation has N tails if its facts have on average at least 1.5 tails per head, and N heads if they have at least
    1.5 heads per tail; a fact that is listed twice counts once.
    """
    counts = with_inverse_count(known.num_relations)
    relation_of_row = known.relation_of_rows()
    answers = np.diff(known.begin)[: len(relation_of_row)]
    facts = np.bincount(relation_of_row, weights=answers, minlength=counts)
    rows = np.bincount(relation_of_row, minlength=counts)
    average = facts / np.maximum(rows, 1)  # of a relation the tails per head, of its inverse the heads per tail
    tails, heads = split_by_direction(average)
    return [_category(h, t) if t else None for h, t in zip(heads, tails, strict=True)]


def _category(heads_per_tail: float, tails_per_head: float) -> str:
    many_heads, many_tails = heads_per_tail >= THRESHOLD, tails_per_head >= THRESHOLD
    return CATEGORIES[2 * many_heads + many_tails]
