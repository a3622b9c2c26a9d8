"""Leakage report: what in a dataset would let a model cheat, or only look good."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import numpy as np

from nbfnet.graph.database import connect, execute
from nbfnet.graph.graph import Dataset
from nbfnet.graph.triplets import Triplets

THRESHOLD = 0.8  # from this overlap on, two relations count as (near) inverses or duplicates of each other


@dataclass(frozen=True)
class RelationOverlap:
    """Two relations that hold for nearly the same pairs of entities: |pairs of both| / |pairs of either|."""

    first: str
    second: str
    overlap: float


@dataclass(frozen=True)
class SymmetricRelation:
    """A relation with the share of its facts whose reverse is a fact too."""

    relation: str
    share: float


@dataclass(frozen=True)
class LeakageReport:
    """Links of the test set that training gives away, and relations that repeat each other."""

    test_links: int
    test_in_train: int  # the very same triplet, or undirected edge, is in train
    test_reversed_in_train: int  # (tail, the same relation, head) is in train
    test_pair_in_train: int  # the two entities are linked in train, by any relation, either way
    near_inverse: list[RelationOverlap]
    near_duplicate: list[RelationOverlap]
    symmetric: list[SymmetricRelation]


def report_leakage(dataset: Dataset) -> LeakageReport:
    """Compare the test links with the facts they are asked on, and the training relations with each other."""
    facts = dataset.facts_of_test
    undirected = dataset.kind == "homogeneous"
    same, reversed_ = _found(dataset.test, facts.triplets), _found(_reverse(dataset.test), facts.triplets)
    pair = np.isin(dataset.test.pairs(facts.num_nodes), facts.triplets.pairs(facts.num_nodes))
    relations = dataset.train.relations
    connection = connect()
    train = dataset.train.triplets
    given = {"h": train.head, "r": train.relation, "t": train.tail}
    connection.register("given", given)
    execute(connection, "CREATE TABLE fact AS SELECT DISTINCT h, r, t FROM given")
    overlaps = {
        kind: [RelationOverlap(relations.label(a), relations.label(b), share) for a, b, share in rows]
        for kind, rows in (
            ("near_duplicate", _overlaps(connection, "a.h = b.h AND a.t = b.t")),
            ("near_inverse", _overlaps(connection, "a.h = b.t AND a.t = b.h")),
        )
    }
    symmetric = [] if undirected else execute(connection, _SYMMETRIC, [THRESHOLD]).fetchall()
    return LeakageReport(
        test_links=len(dataset.test),
        test_in_train=int((same | reversed_ if undirected else same).sum()),
        test_reversed_in_train=0 if undirected else int(reversed_.sum()),
        test_pair_in_train=int(pair.sum()),
        symmetric=[SymmetricRelation(relations.label(r), share) for r, share in symmetric],
        **overlaps,
    )


def _found(links: Triplets, facts: Triplets) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """For each link, whether the facts hold it."""
    nodes = 1 + max((int(a.max()) for a in (links.head, links.tail, facts.head, facts.tail) if len(a)), default=0)
    both = [part.head.astype(np.int64) * nodes + part.tail for part in (links, facts)]
    # Pairs are renumbered: relation x node x node may not fit into 64 bits.
    pairs, pair = np.unique(np.concatenate(both), return_inverse=True)
    key = np.concatenate([links.relation, facts.relation]).astype(np.int64) * max(len(pairs), 1) + pair
    return np.isin(key[: len(links)], key[len(links) :])


def _reverse(triplets: Triplets) -> Triplets:
    return Triplets(triplets.tail, triplets.relation, triplets.head)


def _overlaps(connection: duckdb.DuckDBPyConnection, matching: str) -> list[tuple[int, int, float]]:
    return execute(connection, _OVERLAP.format(matching=matching), [THRESHOLD]).fetchall()


_OVERLAP = """
    WITH size AS (SELECT r, count(*) AS n FROM fact GROUP BY r),
    both_hold AS (
        SELECT a.r AS a, b.r AS b, count(*) AS n FROM fact a JOIN fact b ON {matching} AND a.r < b.r GROUP BY ALL)
    SELECT a, b, both_hold.n / (x.n + y.n - both_hold.n) AS share
    FROM both_hold JOIN size x ON x.r = a JOIN size y ON y.r = b WHERE share >= ? ORDER BY share DESC, a, b
"""
_SYMMETRIC = """
    SELECT a.r, count(b.h) / count(*) AS share FROM fact a LEFT JOIN fact b ON a.r = b.r AND a.h = b.t AND a.t = b.h
    WHERE a.h <> a.t GROUP BY a.r HAVING share >= ? ORDER BY share DESC, a.r
"""
