"""The facts of a graph by tail and by head, made in passes that fit into memory, however many facts there are.

A pass takes the rows of some entities: it reads all facts from the first to the last, keeps those of its rows, and
sorts them. So every file is read and written in order, and nothing but the facts of one pass is held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from nbfnet.graph.relational_csr import IN_RECORD, OUT_RECORD, sort_by_key
from nbfnet.graph.triplets import Int32, Int64, Triplets
from nbfnet.graph.workspace import release_pages

_CHUNK = 1 << 22  # facts that are read at once
_BYTES_PER_FACT = 80  # of a pass: its columns, end to end, their order, and both sorted

Columns = dict[str, npt.NDArray[Any]]


def row_begins(key: Int32, num_rows: int) -> Int64:
    """(row + 1,) where each row begins, if the keys were sorted."""
    begin = np.zeros(num_rows + 1, dtype=np.int64)
    for start in range(0, len(key), _CHUNK):
        chunk = np.asarray(key[start : start + _CHUNK])
        low, high = int(chunk.min()), int(chunk.max()) + 1
        begin[low + 1 : high + 1] += np.bincount(chunk - low, minlength=high - low)
        release_pages(key)
    return np.cumsum(begin, out=begin)


def in_rows(facts: Triplets, begin: Int64, memory: int) -> Iterator[Columns]:
    """Fact, edge and, if there are any, weight of every slot, by tail and within it in the facts' order.

    A ``fact`` is an ``IN_RECORD``, ``edge`` its number. ``memory`` is how many bytes a pass may take.
    """

    def read(part: slice) -> Columns:
        fact = np.empty(part.stop - part.start, dtype=IN_RECORD)
        fact["head"], fact["relation"] = facts.head[part], facts.relation[part]
        columns: Columns = {"fact": fact, "edge": _numbers(part)}
        return columns if facts.weight is None else {**columns, "weight": facts.weight[part]}

    for rows in _passes(begin, memory):
        yield from _sorted_rows(facts.tail, read, rows, facts.head, facts.relation, facts.weight)


def out_rows(into: npt.NDArray[np.void], in_begin: Int64, begin: Int64, memory: int) -> Iterator[Columns]:
    """Every fact as an ``OUT_RECORD``, by head and within it in the order of slots.

    ``into`` (slot,) are the facts by tail, ``in_begin`` where each tail's begin, ``begin`` where each head's do.
    """

    def read(part: slice) -> Columns:
        low, high = np.searchsorted(in_begin, [part.start, part.stop - 1], side="right") - 1
        bound = np.clip(in_begin[low : high + 2], part.start, part.stop)
        fact = np.empty(part.stop - part.start, dtype=OUT_RECORD)
        fact["tail"] = np.repeat(np.arange(low, high + 1, dtype=np.int32), bound[1:] - bound[:-1])
        fact["relation"], fact["slot"] = into["relation"][part], _numbers(part)
        return {"fact": fact}

    for rows in _passes(begin, memory):
        yield from _sorted_rows(into["head"], read, rows)


def _passes(begin: Int64, memory: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows whose facts fit into memory; a row that alone does not is a pass of its own."""
    most, row, rows = max(1, memory // _BYTES_PER_FACT), 0, len(begin) - 1
    while row < rows:
        end = int(np.searchsorted(begin, begin[row] + most, side="right")) - 1
        end = min(max(end, row + 1), rows)
        yield row, end
        row = end


def _sorted_rows(
    keys_of_facts: Int32,
    read: Callable[[slice], Columns],
    rows: tuple[int, int],
    *read_arrays: npt.NDArray[Any] | None,
) -> Iterator[Columns]:
    """The columns of the facts whose key is in a range of rows, sorted by it."""
    first, last = rows
    count, keys, parts = len(keys_of_facts), [], []
    for start in range(0, count, _CHUNK):
        part = slice(start, min(start + _CHUNK, count))
        key = np.asarray(keys_of_facts[part])
        kept = (key >= first) & (key < last)
        if kept.any():
            whole = bool(kept.all())
            keys.append(key if whole else key[kept])
            parts.append({name: column if whole else column[kept] for name, column in read(part).items()})
        release_pages(keys_of_facts, *read_arrays)
    if keys:
        _, order = sort_by_key(np.concatenate(keys) - np.int32(first), last - first)
        yield {name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]}


def _numbers(part: slice) -> Int64:
    return np.arange(part.start, part.stop, dtype=np.int64)
