"""``nbfnet rules``: the relation patterns that a network relies on."""

from __future__ import annotations

from typing import Annotated

import typer

from nbfnet.cli.options import Json, RunArgument, Seed
from nbfnet.cli.output import print_json, print_text, print_title
from nbfnet.explanation.asking import rules_of
from nbfnet.prediction.loading import open_predictor

Relation = Annotated[str, typer.Argument(metavar="RELATION", help="What is predicted.")]
Predictions = Annotated[int, typer.Option("--predictions", metavar="NUMBER", min=1, help="How many facts to explain.")]
Count = Annotated[int, typer.Option("-k", metavar="NUMBER", min=1, help="How many paths of each count.")]


def rules(
    run: RunArgument,
    relation: Relation,
    predictions: Predictions = 50,
    count: Count = 3,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Show the rules that a network relies on for a relation.

    Facts of the relation, drawn by the seed, are explained; a rule's support is in how many of them it is among the
    best paths, its confidence how often it holds in the graph.
    """
    member = open_predictor([run]).members[0]
    found = rules_of(member, relation, predictions=predictions, k=count, seed=seed)
    if json:
        print_json({"relation": relation, "rules": [rule.document() for rule in found]})
        return
    print_title(f"Rules for {relation}")
    if not found:
        print_text("none: no path leads from the one end of its facts to the other")
    for rule in found[:30]:
        print_text(str(rule))
    if len(found) > 30:
        print_text(f"... and {len(found) - 30} more; --json lists all")
