"""Names in the order of their UTF-8 bytes, to find one among millions on disk without loading the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from nbfnet.graph.packed_names import PackedNames
from nbfnet.graph.triplets import Int32

_WORD = 8  # bytes that are compared at once
_CHUNK = 1 << 22  # names whose words are gathered at once


def sort_names(names: PackedNames) -> Int32:
    """(name,) the names' numbers in the order of their bytes.

    Eight bytes of all names are compared at once, then the next eight of those that are still equal.
    """
    order = np.arange(len(names), dtype=np.int32)
    place = np.arange(len(names), dtype=np.int64)  # where the names stand that are equal to another one so far
    group = np.zeros(len(names), dtype=np.int64)  # and which ones are equal
    depth = 0
    while len(place):
        tied = order[place]
        word, goes_on = _words(names, tied, depth)
        by = np.lexsort((word, group)) if depth else np.argsort(word, kind="stable")
        order[place], word, goes_on = tied[by], word[by], goes_on[by]
        differs = (np.diff(word) != 0) | (np.diff(group) != 0)
        first = np.concatenate([[True], differs])
        last = np.concatenate([differs, [True]])
        group = np.cumsum(first)
        open_ = ~(first & last)
        # Where every name of a group has ended, they differ in how many zero bytes stand at their end.
        ended = ~np.logical_or.reduceat(goes_on, np.flatnonzero(first))[group - 1]
        if (settle := open_ & ended).any():
            where = place[settle]
            length = np.diff(names.offsets)[order[where]]
            order[where] = order[where][np.lexsort((length, group[settle]))]
        place, group = place[open_ & ~ended], group[open_ & ~ended]
        depth += _WORD
    return order


def _words(names: PackedNames, which: Int32, depth: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """(name,) the eight bytes of some names from a depth on, zeros behind their end, and whether they go on after."""
    word, goes_on = np.zeros(len(which), dtype=np.uint64), np.zeros(len(which), dtype=np.bool_)
    for start in range(0, len(which), _CHUNK):
        part = slice(start, start + _CHUNK)
        ids = which[part].astype(np.int64)
        begin, end = np.asarray(names.offsets[ids]) + depth, np.asarray(names.offsets[ids + 1])
        chunk = np.zeros(len(ids), dtype=np.uint64)
        for byte in range(_WORD):
            inside = np.flatnonzero(begin + byte < end)
            shift = np.uint64(8 * (_WORD - 1 - byte))
            chunk[inside] |= np.asarray(names.text[begin[inside] + byte]).astype(np.uint64) << shift
        word[part], goes_on[part] = chunk, begin + _WORD < end
    return word, goes_on


class SortedIds(Mapping[str, int]):
    """From names to their numbers by bisection; only what it looks at is read."""

    def __init__(self, names: PackedNames, order: Int32) -> None:
        self._names, self._order = names, order

    def __getitem__(self, name: object) -> int:
        if isinstance(name, str):
            wanted = name.encode("utf-8", "surrogatepass")
            place = self._place(wanted)
            if place < len(self._order) and self._at(place) == wanted:
                return int(self._order[place])
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def around(self, name: str, count: int) -> list[str]:
        """The names that stand next to where a name would stand, at most so many on each side."""
        place = self._place(name.encode("utf-8", "surrogatepass"))
        return [self._names[int(number)] for number in self._order[max(0, place - count) : place + count]]

    def _place(self, wanted: bytes) -> int:
        """Where a name stands, or would stand."""
        low, high = 0, len(self._order)
        while low < high:
            middle = (low + high) // 2
            if self._at(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    def _at(self, place: int) -> bytes:
        number = int(self._order[place])
        if not 0 <= number < len(self._names):
            raise KeyError(number)  # the index is damaged
        return self._names.encoded(number)
