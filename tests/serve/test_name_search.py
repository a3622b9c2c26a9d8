"""Names are found by their beginning, by a word and in spite of misspellings; beside plain loops over all names."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbfnet.graph.graph import Graph
from nbfnet.graph.triplets import Triplets
from nbfnet.graph.vocabulary import Vocabulary
from nbfnet.serve.name_search import NameSearch, fold


def graph_of(names: list[str], labels: dict[str, str] | None = None, degree: dict[str, int] | None = None) -> Graph:
    """A graph in which a name has as many facts as its degree says."""
    entities = Vocabulary.of(names, labels=labels)
    heads = [entities.id(name) for name, count in (degree or {}).items() for _ in range(count)]
    triplets = Triplets.of(heads, np.zeros(len(heads)), [0] * len(heads))
    return Graph("g", "knowledge", entities, Vocabulary.of(["r"], role="relation"), triplets)


NAMES = ["", "Paris", "Parma", "New York", "York", "São Paulo", "Łódź", "Zürich", "北京", "paris (Texas)", "a", "Perth"]


@pytest.fixture(scope="module")
def cities() -> tuple[NameSearch, list[str]]:
    return NameSearch(graph_of(NAMES, degree={"Parma": 3, "New York": 9})), NAMES


def found(cities: tuple[NameSearch, list[str]], query: str, limit: int = 10) -> list[str]:
    return [cities[1][i] for i in cities[0].find(query, limit)]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("par", ["Parma", "Paris"]),  # the best known of those that begin so
        ("paris", ["Paris", "paris (Texas)"]),  # what is equal comes first
        ("YORK", ["York", "New York"]),
        ("sao", ["São Paulo"]),
        ("zurich", ["Zürich"]),
        ("北", ["北京"]),
        ("pairs", ["Paris"]),
        ("prais", ["Paris"]),
        ("pariss", ["Paris"]),
        ("new yrok", ["New York"]),
        ("  new   york ", ["New York"]),
    ],
)
def test_people_find_what_they_mean(cities: tuple[NameSearch, list[str]], query: str, first: list[str]) -> None:
    assert found(cities, query)[: len(first)] == first


@pytest.mark.parametrize("query", ["", "   ", "\x00", "\u202e", "qqqq", "zz", "%", "x" * 5000, "\ud800"])
def test_nothing_is_found_for_nothing(cities: tuple[NameSearch, list[str]], query: str) -> None:
    assert found(cities, query) == []


def test_labels_are_found_too() -> None:
    names = ["/m/01", "/m/02", "plain"]
    search = NameSearch(graph_of(names, labels={"/m/01": "Ada Lovelace", "/m/02": "Alan Turing"}))
    assert search.find("lovel") == [0]
    assert search.find("/m/02")[0] == 1


def test_an_empty_box_shows_what_is_best_known(cities: tuple[NameSearch, list[str]]) -> None:
    best = cities[0].best_known(2)
    assert {NAMES[i] for i in best} == {"", "New York"}  # every fact ends in the first
    assert NameSearch(graph_of([])).best_known(5) == []


@given(st.lists(st.text("abAB é", max_size=6), unique=True, max_size=40), st.text("abé", min_size=1, max_size=3))
def test_every_name_that_begins_so_is_found(names: list[str], query: str) -> None:
    search = NameSearch(graph_of(names))
    wanted = {i for i, name in enumerate(names) if fold(name).startswith(fold(query))}
    assert wanted <= set(search.find(query, limit=100))


@given(st.lists(st.text(max_size=8), unique=True, max_size=20), st.text(max_size=8))
def test_any_text_can_be_a_name_and_a_query(names: list[str], query: str) -> None:
    search = NameSearch(graph_of(names))
    assert all(0 <= i < len(names) for i in search.find(query))


def test_one_misspelling_is_forgiven() -> None:
    draw = random.Random(0)
    names = list(dict.fromkeys("".join(draw.choice("abcdefghijklmnop") for _ in range(9)) for _ in range(2000)))
    search, hits = NameSearch(graph_of(names)), 0
    for i in range(0, 400, 4):
        place = draw.randrange(1, 8)
        name = names[i]
        wrong = draw.choice(
            [
                name[:place] + name[place + 1 :],
                name[:place] + "z" + name[place:],
                name[:place] + "z" + name[place + 1 :],
            ]
        )
        hits += i in search.find(wrong, 5)
    assert hits == 100
