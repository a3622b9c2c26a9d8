"""A trained network on a graph with planted rules: explanations and rules name what was planted."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from nbfnet import Run

BODIES = {
    "reports_to": [("manages", True)],
    "lives_in": [("works_at", False), ("based_in", False)],
    "votes_in": [("studied_at", False), ("campus_in", False), ("in_region", False)],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("planted")


@pytest.fixture
def run(benchmark_module: Callable[[str], ModuleType], folder: Path) -> Run:
    """One network for all tests."""
    if (folder / "run").exists():
        return Run.open(folder / "run")
    return benchmark_module("planted_reasons").train_planted(0, 3, folder / "run", people=200)


def test_the_facts_follow_the_rules(benchmark_module: Callable[[str], ModuleType]) -> None:
    facts = benchmark_module("planted_reasons").planted_facts(3, people=100)
    assert facts == benchmark_module("planted_reasons").planted_facts(3, people=100)
    for relation, body in BODIES.items():
        links = [(head, tail) for head, name, tail in facts if name == relation]
        followed = 0
        for head, tail in links:
            ends = {head}
            for name, backwards in body:
                known = [(t, h) if backwards else (h, t) for h, r, t in facts if r == name]
                ends = {b for a, b in known if a in ends}
            followed += tail in ends
        assert 70 <= len(links) < 100
        assert 0.8 * len(links) <= followed < len(links)


def test_the_planted_reason_comes_first(run: Run, benchmark_module: Callable[[str], ModuleType]) -> None:
    explain_planted = benchmark_module("planted_reasons").explain_planted
    found = {relation: explain_planted(run, relation, 14) for relation in BODIES}
    assert all(of_rule.explained >= 8 for of_rule in found.values()), found
    for relation in ("reports_to", "lives_in"):
        assert found[relation].first >= 0.9 * found[relation].explained, found
    assert sum(f.first for f in found.values()) >= 0.75 * sum(f.explained for f in found.values()), found


def test_paths_are_different_and_short(run: Run) -> None:
    """A detour over a colleague needs the same fact of where somebody works: it does not come before other reasons."""
    graph = run.graph
    facts = graph.triplets.take(graph.triplets.relation == graph.relations.id("lives_in"))
    for i in range(0, 60, 6):
        head, tail = graph.entities[int(facts.head[i])], graph.entities[int(facts.tail[i])]
        explanation = run.explain(head, "lives_in", tail)
        listed: set[tuple[str, str, str]] = set()
        for path in explanation.paths:
            edges = {(edge.head, edge.relation, edge.tail) for edge in path.edges}
            assert not edges <= listed
            listed |= edges
        assert explanation.joint_drop == pytest.approx(sum(path.added_drop for path in explanation.paths))


@pytest.mark.parametrize("relation", BODIES)
def test_the_planted_rule_is_the_first_of_nbfnet_rules(run: Run, relation: str) -> None:
    command = [sys.executable, "-m", "nbfnet", "rules", str(run.folder.path), relation, "--json"]
    ended = subprocess.run(command, capture_output=True, check=True, text=True)
    first = json.loads(ended.stdout)["rules"][0]
    assert [(step["relation"], step["inverse"]) for step in first["body"]] == BODIES[relation]
    assert first["confidence"] > 0.5
    assert first["lift"] > 5
