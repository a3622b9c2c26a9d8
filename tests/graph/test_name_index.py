"""Names are found through their sorted index, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.errors import UnknownNameError
from nbfnet.graph import vocabulary
from nbfnet.graph.name_index import SortedIds, sort_names
from nbfnet.graph.packed_names import PackedNames
from nbfnet.graph.vocabulary import Vocabulary

# Names that share long beginnings, end in zeros, or are the beginning of another.
ugly = st.lists(
    st.one_of(
        st.text(st.characters(), max_size=12),
        st.text("a\0", max_size=20),
        st.integers(0, 30).map(lambda i: "http://example.org/entity/Q" + "1" * i),
    ),
    unique=True,
    max_size=30,
)


def indexed(names) -> PackedNames:
    packed = PackedNames.pack(names)
    return PackedNames(packed.offsets, packed.text, sort_names(packed))


@given(ugly)
def test_the_order_is_that_of_the_bytes(names) -> None:
    expected = sorted(range(len(names)), key=lambda i: names[i].encode("utf-8", "surrogatepass"))
    order = sort_names(PackedNames.pack(names))
    assert order.tolist() == expected
    assert order.dtype == np.int32


@given(ugly, st.text(st.characters(), max_size=4))
def test_every_name_is_found_and_no_other(names, other) -> None:
    packed = indexed(names)
    ids = SortedIds(packed, packed.order)
    assert [ids[name] for name in names] == list(range(len(names)))
    assert (other in ids) == (other in names)
    assert 5 not in ids
    entities = Vocabulary(packed)
    assert [entities.id(name) for name in names] == list(range(len(names)))


def test_a_damaged_index_finds_nothing_and_reads_nothing_else() -> None:
    packed = PackedNames.pack(["a", "b", "c"])
    for order in ([3, 3, 3], [-1, -1, -1], [2**31 - 1] * 3):
        ids = SortedIds(packed, np.array(order, dtype=np.int32))
        assert "b" not in ids


def test_among_very_many_names_those_beside_a_misspelt_one_are_suggested(monkeypatch) -> None:
    monkeypatch.setattr(vocabulary, "_MANY", 3)
    entities = Vocabulary(indexed(["Lyon", "London", "ex:Paris", "Zagreb"]), labels={"Zagreb": "Agram"})
    with pytest.raises(UnknownNameError, match="'London'"):
        entities.id("Londn")
    with pytest.raises(UnknownNameError):
        entities.find("Paris")  # short forms would need all names
    assert entities.find("Agram") == 3
