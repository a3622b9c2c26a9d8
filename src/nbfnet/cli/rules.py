"""``nbfnet rules``: the rules that a network has learned, or the relation patterns that it relies on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from nbfnet.cli.options import Facts, Json, RunArgument, Seed, TrainOnly
from nbfnet.cli.output import print_json, print_table, print_text, print_title
from nbfnet.cli.sources import open_run
from nbfnet.errors import ExplanationError
from nbfnet.explanation.explanation import Asked
from nbfnet.explanation.rule_format import RuleFormat

if TYPE_CHECKING:
    from nbfnet.explanation.learned_rules import LearnedRules
    from nbfnet.explanation.rules import Rules
    from nbfnet.run import Run

Order = Literal["weight", "support", "confidence", "lift"]
Relation = Annotated[
    str | None,
    typer.Argument(metavar="RELATION", help="What is predicted. Leave it out for an edge list, which has only one."),
]
Predictions = Annotated[
    int, typer.Option("--predictions", metavar="NUMBER", min=1, help="How many facts to explain; not of learned rules.")
]
Count = Annotated[
    int, typer.Option("-k", metavar="NUMBER", min=1, help="How many paths of each fact to count; not of learned rules.")
]
MinSupport = Annotated[
    int, typer.Option(metavar="NUMBER", min=1, help="Leave out rules that fewer facts rely on or agree with.")
]
Sort = Annotated[
    Order | None,
    typer.Option(
        metavar="weight|support|confidence|lift",
        help="What the rules are sorted by, greatest first: weight, of learned rules only, support, confidence, or "
        "lift, not of learned rules.",
    ),
]
Format = Annotated[
    RuleFormat, typer.Option("--format", metavar="text|json|csv|datalog", help="How the rules are written.")
]
Most = Annotated[int, typer.Option(metavar="NUMBER", min=1, help="How many learned rules, by weight, to list.")]
AskedOption = Annotated[
    Asked,
    typer.Option("--asked", metavar="head|tail", help="Which end learned rules predict.", show_choices=False),
]
Answer = Annotated[
    str | None,
    typer.Option(metavar="ENTITY", help="Answer the query of this entity by the listed learned rules alone."),
]


def rules(
    run: RunArgument,
    relation: Relation = None,
    predictions: Predictions = 50,
    count: Count = 3,
    min_support: MinSupport = 1,
    sort: Sort = None,
    most: Most = 30,
    asked: AskedOption = "tail",
    answer: Answer = None,
    facts: Facts = None,
    train_only: TrainOnly = False,
    seed: Seed = 0,
    form: Format = "text",
    json: Json = False,
) -> None:
    """Show the rules that a network relies on for a relation.

    A network of the kind drum or neurallp has learned rules, which are listed by their weight; support is how many
    facts a rule's paths connect, confidence how often they do so rightly. Of another network, facts of the relation,
    drawn by the seed, are explained: a rule's support is how many of them rely on it, its confidence how often it holds
    in the graph, and its lift how many times more often than by chance.
    """
    opened = open_run([run], facts, train_only=train_only)
    found: Rules | LearnedRules
    if opened.config.model.kind == "nbfnet":
        if sort == "weight" or answer is not None:
            raise ExplanationError(
                "this network has no learned rules to sort by weight or to answer by; train one with "
                "--set model.kind=drum, or leave out --sort weight and --answer"
            )
        order = "support" if sort is None else sort
        found = opened.rules(relation, predictions=predictions, k=count, min_support=min_support, sort=order, seed=seed)
    else:
        found = _learned(opened, relation, most, asked, min_support, sort, seed)
        if answer is not None:
            _print_answers(found, answer, json=json or form == "json")
            return
    if json or form == "json":
        print_json(found.to_dict())
    elif form != "text":
        typer.echo(found.to_csv() if form == "csv" else found.to_datalog(), nl=False)
    else:
        _print(found, min_support)


def _learned(
    run: Run, relation: str | None, most: int, asked: Asked, min_support: int, sort: Order | None, seed: int
) -> LearnedRules:
    if sort == "lift":
        raise ExplanationError("learned rules have no lift: use --sort weight, support or confidence")
    order = "weight" if sort is None else sort
    return run.learned_rules(relation, most=most, asked=asked, min_support=min_support, sort=order, seed=seed)


def _print(found: Rules | LearnedRules, min_support: int) -> None:
    print_title(f"Rules for {found.relation}")
    if not found:
        no_path = "none: no path leads from the one end of its facts to the other"
        print_text(no_path if min_support == 1 else f"none has a support of {min_support}; lower --min-support")
    for rule in found[:30]:
        print_text(str(rule))
    if len(found) > 30:
        print_text(f"... and {len(found) - 30} more; --json lists all")


def _print_answers(found: LearnedRules, entity: str, *, json: bool) -> None:
    scores = found.scores(entity)
    if json:
        print_json({**found.to_dict(), "entity": entity, "answers": scores})
        return
    print_title(f"By {len(found)} rules for {found.relation}")
    print_table([(f"{score:.4g}", name) for name, score in list(scores.items())[:30]], ("score", "answer"))
    if not scores:
        print_text("none: no rule leads anywhere from there")
