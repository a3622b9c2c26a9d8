"""Names to ids and back, whatever the names; readable labels that need not be unique."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.errors import GraphFormatError, NbfnetError, UnknownNameError
from nbfnet.graph.packed_names import NumberedNames, PackedNames
from nbfnet.graph.vocabulary import AmbiguousNameError, Vocabulary

# Every code point, also lone surrogates, NUL and line ends.
names = st.lists(st.text(st.characters(), max_size=6), unique=True, max_size=20)


@given(names)
def test_any_names_come_back(given_names: list[str]) -> None:
    vocabulary = Vocabulary.of(given_names)
    assert len(vocabulary) == len(given_names)
    assert list(vocabulary) == given_names
    assert [vocabulary[i] for i in range(len(vocabulary))] == given_names
    assert [vocabulary[-i - 1] for i in range(len(vocabulary))] == given_names[::-1]
    assert vocabulary[1:-1] == given_names[1:-1]
    assert vocabulary[::-2] == given_names[::-2]
    assert [vocabulary.id(name) for name in given_names] == list(range(len(given_names)))
    ids = vocabulary.ids(reversed(given_names))
    assert ids.tolist() == list(range(len(given_names)))[::-1]
    assert ids.dtype == np.int32
    assert all(name in vocabulary for name in given_names)
    assert [vocabulary.label(i) for i in range(len(vocabulary))] == given_names
    for index in (len(given_names), -len(given_names) - 1):
        with pytest.raises(IndexError):
            vocabulary[index]


@given(names, st.text(st.characters(), max_size=6))
def test_a_name_that_is_not_there_is_refused(given_names: list[str], name: str) -> None:
    vocabulary = Vocabulary.of(n for n in given_names if n != name)
    assert name not in vocabulary
    with pytest.raises(UnknownNameError):
        vocabulary.id(name)


@pytest.mark.parametrize(
    "name",
    ["\ud800", "a\udfffb", "\0", "😀", "e\u0301", "é", "\u202eright to left", "\u2028", "\r\n", "", " ", "a" * 100_000],
)
def test_ugly_names(name: str) -> None:
    vocabulary = Vocabulary.of(["first", name, "last"])
    assert vocabulary[1] == name
    assert vocabulary.id(name) == 1
    assert vocabulary.id("last") == 2


def test_names_that_only_look_alike_differ() -> None:
    vocabulary = Vocabulary.of(["é", "e\u0301", "K", "\u212a", "a", "A", "a "])
    assert vocabulary.ids(["e\u0301", "é", "\u212a", "a ", "A"]).tolist() == [1, 0, 3, 6, 5]


def test_a_name_given_twice_is_an_error() -> None:
    with pytest.raises(GraphFormatError, match="'b'"):
        Vocabulary.of(["a", "b", "c", "b"])


def test_numbered_names() -> None:
    vocabulary = Vocabulary.numbered(1_000_000)
    assert (vocabulary[0], vocabulary[-1], vocabulary[41:43]) == ("0", "999999", ["41", "42"])
    assert vocabulary.id("999999") == 999_999
    assert "1000000" not in vocabulary
    assert 5 not in vocabulary
    for name in ("1000000", "-1", "01", " 1", "1.0", "٣", "9" * 5000, ""):
        with pytest.raises(UnknownNameError):
            vocabulary.id(name)
    with pytest.raises(IndexError):
        vocabulary[1_000_000]
    assert list(NumberedNames(3)) == ["0", "1", "2"]


def test_labels_are_for_reading_and_asking() -> None:
    vocabulary = Vocabulary.of(["m.1", "m.2", "m.3"], labels={"m.1": "Paris", "m.2": "Lyon", "m.9": "nowhere"})
    assert [vocabulary.label(i) for i in range(3)] == ["Paris", "Lyon", "m.3"]
    assert vocabulary.id("Lyon") == 1
    assert vocabulary.id("m.2") == 1
    assert "Lyon" not in vocabulary  # a label is not a name
    with pytest.raises(UnknownNameError):
        vocabulary.id("nowhere")  # the label of something that the graph does not have


def test_a_name_wins_over_a_label() -> None:
    vocabulary = Vocabulary.of(["a", "b"], labels={"a": "b", "b": "a"})
    assert vocabulary.id("a") == 0
    assert vocabulary.id("b") == 1
    assert vocabulary.label(0) == "b"


def test_a_shared_label_is_ambiguous_and_lists_the_names() -> None:
    owners = [f"m.{i}" for i in range(3)]
    vocabulary = Vocabulary.of([*owners, "other"], labels=dict.fromkeys(owners, "Paris"))
    with pytest.raises(AmbiguousNameError) as caught:
        vocabulary.id("Paris")
    assert all(repr(owner) in str(caught.value) for owner in owners)
    assert "'other'" not in str(caught.value)
    assert "3" in str(caught.value)
    assert isinstance(caught.value, NbfnetError)

    many = Vocabulary.of(map(str, range(50)), labels={str(i): "Springfield" for i in range(50)})
    with pytest.raises(AmbiguousNameError, match="50 different"):
        many.id("Springfield")


def test_short_forms() -> None:
    names = [
        "/people/person/nationality",
        "/film/film/language",
        "/tv/language",
        "http://x.org/Berlin#",
        "m.1",
        "m.2",
        "Rome",
    ]
    labels = {"m.1": "oliver hardy (Q72911)", "m.2": "hardy (film) (Q1)", "Rome": "Roma (city)"}
    vocabulary = Vocabulary.of(names, labels=labels)
    for short, full in (("nationality", 0), ("Berlin", 3), ("oliver hardy", 4), ("hardy (film)", 5), ("Roma", 6)):
        assert vocabulary.find(short) == full
        assert not vocabulary.knows(short)
        with pytest.raises(UnknownNameError):
            vocabulary.id(short)
    for exact in (*names, *labels.values()):
        assert vocabulary.find(exact) == vocabulary.id(exact)
    with pytest.raises(AmbiguousNameError, match=r"'language'.*'/film/film/language', '/tv/language'"):
        vocabulary.find("language")
    with pytest.raises(UnknownNameError, match="did you mean 'nationality'"):
        vocabulary.find("natoinality")
    assert Vocabulary.of(["a/b", "b"]).find("b") == 1  # a name before a short form
    assert Vocabulary.of(["c", "x.org/Rome"], labels={"x.org/Rome": "Rome (city)"}).find("Rome") == 1  # both ways
    with pytest.raises(UnknownNameError):
        Vocabulary.numbered(3).find("x")


def test_with_labels_replaces_them() -> None:
    vocabulary = Vocabulary.of(["a", "b"], labels={"a": "Alpha"}).with_labels({"b": "Beta"})
    assert [vocabulary.label(i) for i in range(2)] == ["a", "Beta"]
    assert vocabulary.id("Beta") == 1
    with pytest.raises(UnknownNameError):
        vocabulary.id("Alpha")


@pytest.mark.parametrize(
    ("asked", "best"),
    [("asprin", "aspirin"), ("ASPIRIN", "aspirin"), ("ibuprofin", "ibuprofen"), ("Headaches", "Headache")],
)
def test_a_misspelt_name_suggests_the_closest(asked: str, best: str) -> None:
    vocabulary = Vocabulary.of(["aspirin", "ibuprofen", "C0018681", "zinc"], labels={"C0018681": "Headache"})
    with pytest.raises(UnknownNameError) as caught:
        vocabulary.id(asked)
    assert caught.value.suggestions[0] == best
    assert repr(asked) in str(caught.value)
    assert repr(best) in str(caught.value)
    assert "entity" in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "best"),
    [("breathe", "breathe.v.01"), ("stephen spielberg", "Steven Spielberg (Q8877)"), ("xaris", "Paris")],
)
def test_among_very_many_names(asked: str, best: str) -> None:
    names = [f"{word}.{i % 7}" for i in range(5_000) for word in (f"m/0{i:x}", f"synset{i}", f"{i * 7919}")]
    vocabulary = Vocabulary.of(dict.fromkeys([*names, "breathe.v.01", "Steven Spielberg (Q8877)", "Paris"]))
    with pytest.raises(UnknownNameError) as caught:
        vocabulary.id(asked)
    assert caught.value.suggestions[0] == best


def test_only_what_the_graph_has_is_suggested() -> None:
    vocabulary = Vocabulary.of(["m.1"], labels={"m.1": "Paris", "m.2": "Lyon"})
    with pytest.raises(UnknownNameError) as caught:
        vocabulary.id("Lyons")
    assert caught.value.suggestions == []


def test_nothing_close_suggests_nothing_and_roles_are_named() -> None:
    with pytest.raises(UnknownNameError, match=r"^unknown relation 'qqqq'; known are 'likes'$"):
        Vocabulary.of(["likes"], role="relation").id("qqqq")


def test_suggestions_in_a_big_vocabulary() -> None:
    vocabulary = Vocabulary.of([*(f"drug {i}" for i in range(30_000)), "acetaminophen"])
    with pytest.raises(UnknownNameError) as caught:
        vocabulary.id("acetaminofen")
    assert caught.value.suggestions == ["acetaminophen"]


@given(names)
def test_packing_is_two_flat_arrays(given_names: list[str]) -> None:
    packed = PackedNames.pack(given_names)
    assert packed.offsets.dtype == np.int64
    assert packed.text.dtype == np.uint8
    assert len(packed.offsets) == len(given_names) + 1
    assert packed.offsets[-1] == len(packed.text)
    assert list(PackedNames(packed.offsets.copy(), packed.text.copy())) == given_names
