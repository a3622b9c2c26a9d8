"""A generated power-law knowledge graph of any size, written by DuckDB row by row: nothing of it is held in memory."""

from __future__ import annotations

from math import gcd
from pathlib import Path

from nbfnet.graph.database import connect, execute

EXPONENT = 2.5  # of the degrees: the k-th most frequent entity has a share proportional to k^(-1 / (exponent - 1))


def write_graph(folder: Path, nodes: int, triplets: int, relations: int, held_out: int) -> None:
    """Write train, valid and test as Parquet files of names.

    A rank is drawn by the inverse of its distribution, u^(1 / (1 - a)) for a = 1 / (exponent - 1). Multiplied by a
    number without a common divisor with the number of nodes it becomes a name that says nothing about the rank. The u
    are hashes of the row, so that the same graph is written every time. The first triplets have one head each of all
    nodes: every node occurs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    connection = connect()
    power = 1 / (1 - 1 / (EXPONENT - 1))
    for part, begin, end in (
        ("train", 0, triplets),
        ("valid", triplets, triplets + held_out),
        ("test", triplets + held_out, triplets + 2 * held_out),
    ):
        drawn = [f"floor({nodes} * pow({_uniform(salt)}, {power}))::BIGINT" for salt in (1, 2)]
        ranks = [f"CASE WHEN i < {nodes} THEN i ELSE {drawn[0]} END", drawn[1]]
        ends = [f"'Q' || (({rank}) * {_stride(nodes)}) % {nodes}" for rank in ranks]
        relation = f"'P' || floor({relations} * pow({_uniform(3)}, 3))::BIGINT"
        rows = f"SELECT {ends[0]} AS head, {relation} AS relation, {ends[1]} AS tail FROM range({begin}, {end}) t(i)"
        execute(connection, f"COPY ({rows}) TO '{folder / part}.parquet' (FORMAT parquet)")


def _uniform(salt: int) -> str:
    """SQL: a number from 0 to 1, not included, of the row i."""
    return f"((hash(i * 4 + {salt}) >> 11)::DOUBLE / {2**53})"


def _stride(nodes: int) -> int:
    """A number near the golden section of the nodes that has no common divisor with them."""
    stride = int(0.618 * nodes) | 1
    while gcd(stride, nodes) > 1:
        stride += 2
    return stride
