"""``nbfnet demo``: the embedded graph, and what can be done with it."""

from __future__ import annotations

import random

from nbfnet.cli.describe import describe, print_description
from nbfnet.cli.options import Json
from nbfnet.cli.output import print_json, print_text, print_title
from nbfnet.graph.loading import load


def demo(json: Json = False) -> None:
    """Show the embedded graph of countries and cities."""
    world = load("world")
    description = describe(world)
    if json:
        print_json(description)
        return
    print_description(description)
    print_text()
    print_title("Some of its facts")
    facts, graph = world.train.triplets, world.train
    for i in random.Random(0).sample(range(len(facts)), 5):
        head, tail = graph.entities.label(int(facts.head[i])), graph.entities.label(int(facts.tail[i]))
        print_text(f"{head} -{graph.relations.label(int(facts.relation[i]))}-> {tail}")
