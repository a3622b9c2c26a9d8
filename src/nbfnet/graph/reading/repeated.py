"""Edges that are listed again, in the same direction or in the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nbfnet.graph.database import execute
from nbfnet.graph.graph import Kind
from nbfnet.graph.reading.findings import FEW, Finding, Severity, counted
from nbfnet.graph.triplets import Int64, Triplets

if TYPE_CHECKING:
    from nbfnet.graph.reading.triplet_table import TripletTable

_SOME, _MOST = 0.01, 0.9  # shares of pairs that are there both ways, between which a graph looks directed


def find_repeated(table: TripletTable, part: str, triplets: Triplets, num_nodes: int, kind: Kind) -> None:
    """Report triplets that a part lists more than once."""
    keys = _keys(triplets, num_nodes)
    ordered = np.sort(keys)
    again = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(again):
        return
    lines = table.lines(part, _rows(table, part, _repeats(keys, again)))
    if kind == "homogeneous":
        what = f"{counted(len(again), 'edge is', 'edges are')} listed again"
        remedy = "a split counts each edge once; remove the repeated lines"
    else:
        what = f"{counted(len(again), 'fact is', 'facts are')} listed again"
        remedy = "each counts as often as it is listed; remove the repeated lines"
    severity: Severity = "note" if kind == "homogeneous" else "important"
    table.findings.append(Finding("duplicates", what, table.origins[part].file, lines, len(again), remedy, severity))


def find_directions(table: TripletTable, part: str, edges: Triplets, num_nodes: int) -> None:
    """Report that edges without a relation were read without a direction, and whether they look as if they had one."""
    loops = edges.head == edges.tail
    one_way = np.unique(edges.head[~loops].astype(np.int64) * num_nodes + edges.tail[~loops])
    pairs = np.unique(edges.pairs(num_nodes)[~loops])
    both = len(one_way) - len(pairs)
    what = "the edges were read without a direction"
    if both:
        what += f", and {counted(both, 'pair is', 'pairs are')} listed both ways"
    remedy = "--directed (directed=True in Python) keeps the direction"
    severity: Severity = "important" if 0 < _SOME * len(pairs) <= both <= _MOST * len(pairs) else "note"
    table.findings.append(Finding("direction", what, table.origins[part].file, (), both, remedy, severity))


def _keys(triplets: Triplets, num_nodes: int) -> Int64:
    """A number for each triplet, the same for the same head, relation and tail."""
    pairs = triplets.head.astype(np.int64) * num_nodes + triplets.tail
    relations = int(triplets.relation.max(initial=0)) + 1
    if relations * num_nodes * num_nodes >= 2**63:
        pairs = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    return pairs * relations + triplets.relation


def _repeats(keys: Int64, again: Int64) -> Int64:
    """The positions of the first few triplets whose key was there before."""
    places = np.flatnonzero(np.isin(keys, np.unique(again)))
    _, first = np.unique(keys[places], return_index=True)
    return np.delete(places, first)[:FEW]


def _rows(table: TripletTable, part: str, places: Int64) -> list[int]:
    """Positions among a part's triplets as rows of the table, some of which may have been taken out."""
    query = "SELECT rowid AS row FROM triplet WHERE part = ? ORDER BY rowid"
    rows: list[int] = execute(table.connection, query, [part]).fetchnumpy()["row"][places].tolist()
    return rows
