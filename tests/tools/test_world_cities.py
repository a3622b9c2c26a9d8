"""Choosing, naming and pairing cities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest


@pytest.fixture
def cities(tool):
    return tool("world_cities")


@pytest.fixture
def make(cities):
    ids = itertools.count(1)

    def make(name="Here", latitude=0.0, longitude=0.0, country="FR", population=10_000, also_called=()):
        names = frozenset(also_called)
        return cities.City(next(ids), name, country, latitude, longitude, population, names, "Europe/Paris")

    return make


def test_nearest_equals_brute_force_over_the_poles_and_the_date_line(cities, make):
    random = np.random.default_rng(0)
    spans = ((-90, 90, 150), (85, 90, 20), (-3, 3, 30))
    latitude = np.concatenate([random.uniform(*span) for span in spans])
    longitude = np.concatenate([random.uniform(-180, 180, 170), random.choice([-179.5, 179.5], 30)])
    places = [make(latitude=float(a), longitude=float(b)) for a, b in zip(latitude, longitude, strict=True)]
    found = {(a.id, b.id) for a, b in cities.nearest(places, count=3, within=750.0)}

    a, b = np.radians(latitude), np.radians(longitude)
    points = np.stack([np.cos(a) * np.cos(b), np.cos(a) * np.sin(b), np.sin(a)], axis=1)
    km = 6371.0 * np.arccos(np.clip(points @ points.T, -1, 1))
    np.fill_diagonal(km, np.inf)
    closest = [(i, j) for i in range(len(km)) for j in np.argsort(km[i])[:3] if km[i, j] <= 750.0]
    expected = {(places[i].id, places[j].id) for i, j in closest}
    assert found == expected
    assert 0 < len(found) < 3 * len(places), "some places should have fewer than three neighbours in reach"


def test_distance_of_known_cities(cities, make):
    paris, lyon = make(latitude=48.8534, longitude=2.3488), make(latitude=45.7485, longitude=4.8467)
    assert cities.distance(paris, lyon) == pytest.approx(392, abs=2)
    assert cities.distance(paris, paris) == 0


def test_the_capital_comes_first_and_suburbs_and_namesakes_not_at_all(cities, make):
    capital = make("Small Capital", latitude=10, population=1_000)
    big = make("Big", latitude=0, population=4_000_000, also_called="abc")
    suburb = make("Suburb", latitude=0.1, population=3_000_000)  # 11 km from Big
    namesake = make("Bíg", latitude=20, population=500_000)
    far = make("Far", latitude=30, population=50_000)
    last = make("Last", latitude=40, population=40_000)
    places = [suburb, last, namesake, far, big, capital]
    assert cities.choose_cities(places, capital, share=3) == [capital, big, far]
    assert cities.choose_cities(places, capital, share=9) == [capital, big, far, last]


def test_a_capital_is_found_by_its_name_before_its_other_names(cities, make):
    plain, accented = make("Saint Paul", population=9_000_000, also_called=["Sao Paulo"]), make("São Paulo")
    assert cities.find_capital([plain, accented], "Sao Paulo") == accented
    assert cities.find_capital([plain], "Sao Paulo") == plain
    with pytest.raises(ValueError, match="empty"):
        cities.find_capital([plain], "Nowhere")


def test_names_are_unique_and_the_most_populous_keeps_the_plain_one(cities, make):
    countries = {"CR": "Costa Rica", "LU": "Luxembourg", "US": "United States", "BE": "Belgium"}
    places = [
        make("San José", country="CR", population=300_000),
        make("San Jose", country="US", population=900_000),
        make("Luxembourg", country="LU"),
        make("Luxembourg", country="BE"),
        make("Euro", country="US"),
    ]
    assert cities.name_cities(places, countries, taken=[*countries.values(), "Euro"]) == {
        1: "San José, Costa Rica",
        2: "San Jose",
        3: "Luxembourg City",
        4: "Luxembourg, Belgium",
        5: "Euro, United States",
    }


def test_two_cities_of_one_name_in_one_country_are_refused(cities, make):
    places = [make("Alba"), make("Alba"), make("Alba")]
    with pytest.raises(ValueError, match="Alba, France"):
        cities.name_cities(places, {"FR": "France"}, taken=[])


@pytest.mark.parametrize(
    ("name", "country", "expected"),
    [
        ("Saint John’s", "AG", "Saint John's"),
        ("Al ‘Amārah", "IQ", "Al Amarah"),
        ("Xi’an", "CN", "Xi'an"),
        ("Ryazan’", "RU", "Ryazan"),
        ("São Paulo", "BR", "São Paulo"),
        ("'s-Hertogenbosch", "NL", "'s-Hertogenbosch"),
        ("Sariwŏn-si", "KP", "Sariwon"),
        ("Dededo Village", "GU", "Dededo"),
    ],
)
def test_readable_names(cities, name, country, expected):
    assert cities.readable(name, country) == expected
