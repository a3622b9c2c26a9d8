"""``nbfnet rules``: the relation patterns that a network relies on."""

from __future__ import annotations

from typing import Annotated

import typer

from nbfnet.cli.options import Facts, Json, RunArgument, Seed, TrainOnly
from nbfnet.cli.output import print_json, print_text, print_title
from nbfnet.cli.sources import open_run
from nbfnet.explanation.explanation import RuleOrder

Relation = Annotated[
    str | None,
    typer.Argument(metavar="RELATION", help="What is predicted. Leave it out for an edge list, which has only one."),
]
Predictions = Annotated[int, typer.Option("--predictions", metavar="NUMBER", min=1, help="How many facts to explain.")]
Count = Annotated[int, typer.Option("-k", metavar="NUMBER", min=1, help="How many paths of each fact to count.")]
MinSupport = Annotated[
    int, typer.Option(metavar="NUMBER", min=1, help="Leave out rules that fewer of the explained facts rely on.")
]
Sort = Annotated[
    RuleOrder, typer.Option(metavar="support|confidence|lift", help="What the rules are sorted by, greatest first.")
]


def rules(
    run: RunArgument,
    relation: Relation = None,
    predictions: Predictions = 50,
    count: Count = 3,
    min_support: MinSupport = 1,
    sort: Sort = "support",
    facts: Facts = None,
    train_only: TrainOnly = False,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Show the rules that a network relies on for a relation.

    Facts of the relation, drawn by the seed, are explained. A rule's support is how many of them rely on it, its
    confidence how often it holds in the graph, and its lift how many times more often than by chance.
    """
    opened = open_run([run], facts, train_only=train_only)
    found = opened.rules(relation, predictions=predictions, k=count, min_support=min_support, sort=sort, seed=seed)
    if json:
        print_json(found.to_dict())
        return
    print_title(f"Rules for {found.relation}")
    if not found:
        no_path = "none: no path leads from the one end of its facts to the other"
        print_text(no_path if min_support == 1 else f"none has a support of {min_support}; lower --min-support")
    for rule in found[:30]:
        print_text(str(rule))
    if len(found) > 30:
        print_text(f"... and {len(found) - 30} more; --json lists all")
