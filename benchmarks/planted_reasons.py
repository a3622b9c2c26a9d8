"""Do explanations find the reason that was planted? Graphs whose links follow known rules, learned and explained.

    python benchmarks/planted_reasons.py [--graphs 4] [--json FILE]

In every graph three relations follow a rule of one, two and three edges, with exceptions, among meaningless facts:

    reports_to(x, y) <- manages(y, x)
    lives_in(x, y)   <- works_at(x, z), based_in(z, y)
    votes_in(x, y)   <- studied_at(x, z1), campus_in(z1, z2), in_region(z2, y)

Colleagues and fellow students give the rules of two and three edges detours that predict the same. Networks are trained
on each graph, and facts are explained that they believe in when the fact itself is hidden. Counted is how often the
planted path is the first of the explanation, how often it is listed at all, and for how many of the networks the
planted rule is the first of ``nbfnet rules``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import nbfnet
from machine import machine_facts
from nbfnet.explanation.path import ExplainedPath

Body = tuple[tuple[str, bool], ...]  # a relation, and whether it is followed backwards
Fact = tuple[str, str, str]

PLANTED: dict[str, Body] = {
    "reports_to": (("manages", True),),
    "lives_in": (("works_at", False), ("based_in", False)),
    "votes_in": (("studied_at", False), ("campus_in", False), ("in_region", False)),
}
_STATED, _FOLLOWS = 0.9, 0.95  # of the people: whose link is a fact, and whose fact follows the rule


def planted_facts(seed: int, people: int = 300) -> list[Fact]:
    """The facts of a graph with planted rules."""
    random = np.random.default_rng(seed)
    sizes = {"company": people // 6, "city": people // 10, "region": people // 20, "school": people // 2}
    facts: list[Fact] = []

    def place(kind: str, relation: str, where: str) -> list[int]:
        """Every entity of a kind at a random place."""
        chosen: list[int] = random.integers(sizes[where], size=sizes[kind]).tolist()
        facts.extend((f"{kind} {i}", relation, f"{where} {place}") for i, place in enumerate(chosen))
        return chosen

    def conclude(person: str, relation: str, kind: str, answer: int) -> None:
        """What the rule says, for most people."""
        if random.random() < _STATED:
            other = int(random.integers(sizes[kind]))
            facts.append((person, relation, f"{kind} {answer if random.random() < _FOLLOWS else other}"))

    sizes["person"] = people
    city_of_company, region_of_city = place("company", "based_in", "city"), place("city", "in_region", "region")
    city_of_school = place("school", "campus_in", "city")
    company, school = place("person", "works_at", "company"), place("person", "studied_at", "school")
    for i in range(people):
        person = f"person {i}"
        conclude(person, "lives_in", "city", city_of_company[company[i]])
        conclude(person, "votes_in", "region", region_of_city[city_of_school[school[i]]])
        manager = (i + 1 + int(random.integers(people - 1))) % people
        facts.append((f"person {manager}", "manages", person))
        conclude(person, "reports_to", "person", manager)
        for relation, kind in (("follows", "person"), ("follows", "person"), ("visited", "city"), ("likes", "company")):
            facts.append((person, relation, f"{kind} {random.integers(sizes[kind])}"))
    return facts


def train_planted(seed: int, layers: int, folder: Path, *, people: int = 300, epochs: int = 15) -> nbfnet.Run:
    """A network that learned a graph with planted rules."""
    # A rule of one edge can only be learned where the other edges between two nodes are not hidden with the answer.
    config = {"model": {"layers": layers}, "training": {"hiding": "triplet", "batch_size": 32}}
    graph = nbfnet.read(planted_facts(seed, people))
    return nbfnet.train(graph, folder, config=config, epochs=epochs, seed=seed)


@dataclass
class Found:
    """How often a rule's planted path was found."""

    explained: int
    first: int
    listed: int


def explain_planted(run: nbfnet.Run, relation: str, most: int, *, least: float = 0.5, seed: int = 0) -> Found:
    """Explain so many facts that the planted rule gives and that the network believes in with some probability."""
    graph, body = run.graph, PLANTED[relation]
    facts = graph.triplets.take(graph.triplets.relation == graph.relations.id(relation))
    found = Found(0, 0, 0)
    for i in np.random.default_rng(seed).permutation(len(facts)).tolist():
        if found.explained == most:
            break
        head, tail = graph.entities[int(facts.head[i])], graph.entities[int(facts.tail[i])]
        if tail not in _ends(run, head, body):
            continue
        explanation = run.explain(head, relation, tail)
        if explanation.probability < least:
            continue
        found.explained += 1
        found.first += _is_planted(explanation.paths[0], body)
        found.listed += any(_is_planted(path, body) for path in explanation.paths)
    return found


def _ends(run: nbfnet.Run, start: str, body: Body) -> set[str]:
    """Where the steps of a rule lead to."""
    graph = run.graph
    nodes = {graph.entities.id(start)}
    for relation, backwards in body:
        facts = graph.triplets.take(graph.triplets.relation == graph.relations.id(relation))
        pairs = zip(facts.head.tolist(), facts.tail.tolist(), strict=True)
        nodes = {h if backwards else t for h, t in pairs if (t if backwards else h) in nodes}
    return {graph.entities[node] for node in nodes}


def _is_planted(path: ExplainedPath, body: Body) -> bool:
    return tuple((edge.relation, edge.inverse) for edge in path.edges) == body


@dataclass
class Study:
    """What was found in all graphs, by rule."""

    graphs: int
    networks: int
    explained: dict[str, int]
    planted_first: dict[str, int]
    planted_listed: dict[str, int]
    rule_first: dict[str, int]  # of the networks
    share_first: float


def study(graphs: int, folder: Path, *, layers: tuple[int, ...] = (3, 4), each: int = 10) -> Study:
    """Train on so many graphs, once for each number of layers, and explain so many facts of each rule."""
    explained, first, listed, rule_first = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    for seed in range(graphs):
        for depth in layers:
            run = train_planted(seed, depth, folder / f"{seed}-{depth}")
            for relation, body in PLANTED.items():
                found = explain_planted(run, relation, each)
                explained[relation] += found.explained
                first[relation] += found.first
                listed[relation] += found.listed
                rules = run.rules(relation)
                rule_first[relation] += bool(rules) and rules[0].body == body
    share = first.total() / max(1, explained.total())
    counts = (dict(explained), dict(first), dict(listed), dict(rule_first))
    return Study(graphs, graphs * len(layers), *counts, share)


def main() -> None:
    """Measure, print, and write the figures where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=4, help="how many, by seeds from 0 on")
    parser.add_argument("--json", type=Path, help="where to write the figures")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = asdict(study(arguments.graphs, Path(folder)))
    for name, value in found.items():
        print(f"{name.replace('_', ' '):>15}  {value}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"machine": machine_facts(), **found}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
