"""NameSearch: completion over a million names, by the beginning, by a word, and with misspellings."""

from __future__ import annotations

import bisect
import re
import unicodedata
from collections.abc import Iterable, Iterator

import numpy as np

from nbfnet.graph.graph import Graph
from nbfnet.graph.relational_csr import sort_by_key
from nbfnet.graph.triplets import Int32, Int64

_LOOKED_AT = 2000  # matches by beginning or by word that are compared
_SIMILAR = 60  # names that share most trigrams, whose spelling is compared
_POSTINGS = 150_000  # names that the trigrams of a query stand in, at most; the rarest trigrams count first
_TRIGRAMS = 1 << 16  # numbers that trigrams are hashed to
_LONGEST = 64  # characters of a query that count
_END = b"\n"  # between the names; a folded name has no control character


class NameSearch:
    """Finds entities by what a person types; case, accents and the order of scripts' marks do not count.

    Names and labels are folded and laid end to end. The beginning is found by bisection, a word by a scan of the text,
    a misspelt name by the trigrams that it shares: an inverted index from trigrams to names.
    """

    def __init__(self, graph: Graph) -> None:
        names = graph.entities
        labelled = ((i, names.labels[name]) for i, name in enumerate(names) if names.labels.get(name, name) != name)
        aliases = list(labelled) if names.labels else []
        folded = [fold(name) for name in names] + [fold(label) for _, label in aliases]
        self._owner: Int32 = np.concatenate(
            [np.arange(len(names), dtype=np.int32), np.array([i for i, _ in aliases], dtype=np.int32)]
        )
        encoded = [text.encode() for text in folded]
        self._text = _END + _END.join(encoded) + _END
        lengths = np.array([len(part) for part in encoded], dtype=np.int64)
        self._begin: Int64 = 1 + np.concatenate([[0], np.cumsum(lengths + 1)]).astype(np.int64)
        self._length = lengths.astype(np.int32)
        self._order = np.array(sorted(range(len(encoded)), key=encoded.__getitem__), dtype=np.int32)
        self._degree = graph.csr.degree
        self._entry_of_posting, self._first_posting = self._index_trigrams()

    def find(self, query: str, limit: int = 10) -> list[int]:
        """The ids of entities for a query, the best first: equal, beginning, word, similar; of equals the best known.

        What is best known has most facts.
        """
        wanted = fold(query)[:_LONGEST].encode()
        if not wanted:
            return []
        found: dict[int, None] = {}
        for stage in (self._beginning, self._words, self._similar):
            for entry in stage(wanted):
                found.setdefault(int(self._owner[entry]))
                if len(found) == limit:
                    return list(found)
        return list(found)

    def best_known(self, limit: int) -> list[int]:
        """The entities with most facts, for an empty search box."""
        count = min(limit, len(self._degree))
        best = np.argpartition(-self._degree, count - 1)[:count] if count else np.zeros(0, dtype=np.int64)
        return [int(i) for i in best[np.argsort(-self._degree[best], kind="stable")]]

    def _folded(self, entry: int) -> bytes:
        return self._text[self._begin[entry] : self._begin[entry + 1] - 1]

    def _beginning(self, wanted: bytes) -> Iterator[int]:
        low = bisect.bisect_left(self._order, wanted, key=self._folded)
        high = bisect.bisect_left(self._order, wanted + b"\xff", lo=low, key=self._folded)
        entries = self._order[low : min(high, low + _LOOKED_AT)].tolist()
        equal = next((i for i, entry in enumerate(entries) if self._folded(entry) != wanted), len(entries))
        yield from self._best_known_first(entries[:equal])  # they are sorted: what is equal comes first
        yield from self._best_known_first(entries[equal:])

    def _words(self, wanted: bytes) -> Iterator[int]:
        """Names with a later word that begins so."""
        entries: list[int] = []
        position = self._text.find(b" " + wanted)
        while position >= 0 and len(entries) < _LOOKED_AT:
            entries.append(int(np.searchsorted(self._begin, position, side="right")) - 1)
            position = self._text.find(b" " + wanted, position + 1)
        yield from self._best_known_first(dict.fromkeys(entries))

    def _similar(self, wanted: bytes) -> Iterator[int]:
        """Names that share many trigrams with the query, ordered by the edits between them and it."""
        if len(wanted) < 3:
            return
        keys = np.unique(_trigram_keys(np.frombuffer(_END + wanted + _END, dtype=np.uint8)))
        length = self._first_posting[keys + 1] - self._first_posting[keys]
        rarest = keys[np.argsort(length, kind="stable")]
        fits = max(4, int(np.searchsorted(np.cumsum(np.sort(length)), _POSTINGS)))
        runs = [
            self._entry_of_posting[self._first_posting[key] : self._first_posting[key + 1]] for key in rarest[:fits]
        ]
        postings = np.concatenate(runs)
        if not len(postings):
            return
        shared = np.bincount(postings)
        candidates = np.flatnonzero(shared >= max(1, shared.max() // 2))
        likeness = shared[candidates] / (len(keys) + self._length[candidates])
        if len(candidates) > _SIMILAR:
            nearest = np.argpartition(-likeness, _SIMILAR)[:_SIMILAR]
            candidates, likeness = candidates[nearest], likeness[nearest]
        best = candidates[np.argsort(-likeness, kind="stable")]
        text = wanted.decode()
        allowed = max(1, len(text) // 3)
        edits = {int(entry): _edits(text, self._folded(int(entry)).decode(), allowed) for entry in best}
        near = [entry for entry, count in edits.items() if count <= allowed]
        yield from sorted(
            near, key=lambda entry: (edits[entry], self._folded(entry)[:1] != wanted[:1], -self._facts(entry))
        )

    def _best_known_first(self, entries: Iterable[int]) -> list[int]:
        return sorted(entries, key=lambda entry: -self._facts(entry))

    def _facts(self, entry: int) -> int:
        return int(self._degree[self._owner[entry]])

    def _index_trigrams(self) -> tuple[Int32, Int64]:
        text = np.frombuffer(self._text, dtype=np.uint8)
        keys = _trigram_keys(text)
        first, order = sort_by_key(keys, _TRIGRAMS)
        owner = np.repeat(np.arange(len(self._begin) - 1, dtype=np.int32), np.diff(self._begin))
        # Position i of the text begins with the separator before a name; the separator belongs to that name.
        return owner[np.minimum(order, len(owner) - 1)], first


def fold(text: str) -> str:
    """Text as it is compared: small letters without accents, single spaces, no control or formatting characters."""
    if text.isascii():
        plain = text.lower()
    else:
        spread = unicodedata.normalize("NFKD", text.encode("utf-8", "ignore").decode()).casefold()
        plain = "".join(c for c in spread if unicodedata.category(c) not in ("Mn", "Cf"))
    return re.sub(r"[\s\x00-\x1f\x7f-\x9f]+", " ", plain).strip()


def _trigram_keys(text: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> Int32:
    """(position,) the number of the three bytes from each position on."""
    if len(text) < 3:
        return np.zeros(0, dtype=np.int32)
    a, b, c = (text[i : len(text) - 2 + i].astype(np.uint32) for i in range(3))
    keys: Int32 = ((a * 2654435761 + b * 40503 + c * 69069) % _TRIGRAMS).astype(np.int32)
    return keys


def _edits(wanted: str, name: str, most: int) -> int:
    """Insertions, deletions, replacements and swaps that make the query the beginning of a name, or all of it.

    More than ``most`` count as one more than that.
    """
    before: list[int] = []
    row = list(range(min(len(name), len(wanted) + most) + 1))
    for i, letter in enumerate(wanted, start=1):
        previous, before, row = before, row, [i]
        for j in range(1, len(before)):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != name[j - 1]))
            if i > 1 and j > 1 and letter == name[j - 2] and wanted[i - 2] == name[j - 1]:
                cost = min(cost, previous[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return min(row)  # what follows in the name costs nothing: it is still being typed
