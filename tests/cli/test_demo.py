"""nbfnet demo: the embedded graph."""

from __future__ import annotations

from pathlib import Path

from nbfnet.graph.datasets import registry


def test_demo_shows_the_world_and_some_facts(nbfnet):
    document = nbfnet("demo", "--json").document
    assert document == nbfnet("data", "info", "world", "--json").document
    lines = nbfnet("demo").out.splitlines()
    facts = lines[lines.index("Some of its facts") + 1 :]
    world = Path(registry.__file__).parent / "world" / "train.txt"
    known = {"{} -{}-> {}".format(*line.split("\t")) for line in world.read_text(encoding="utf-8").splitlines()}
    assert len(facts) == 5
    assert set(facts) <= known
