"""``nbfnet explain``: the paths behind a prediction."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nbfnet.cli.options import Facts, Json, MoreFacts, RunArgument, TrainOnly
from nbfnet.cli.output import print_json, print_text, print_title
from nbfnet.cli.sources import open_run
from nbfnet.explanation.explanation import Asked, Explanation, PathOrder

Head = Annotated[str, typer.Argument(metavar="HEAD", help="The head of the link to explain.")]
Relation = Annotated[
    str,
    typer.Argument(metavar="RELATION", help="Its relation. Leave it out for an edge list, which has only one."),
]
Tail = Annotated[str | None, typer.Argument(metavar="TAIL", help="Its tail.", show_default=False)]
AskedOption = Annotated[
    Asked,
    typer.Option("--asked", metavar="head|tail", help="Which end the prediction asked for.", show_choices=False),
]
Count = Annotated[int, typer.Option("-k", metavar="NUMBER", min=1, help="How many paths.")]
Order = Annotated[
    PathOrder,
    typer.Option(
        metavar="deletion|weight",
        help="List paths by what their deletion does, or by weight, as the paper does.",
        show_choices=False,
    ),
]
Picture = Annotated[
    list[Path] | None,
    typer.Option(
        "--picture",
        metavar="FILE",
        help="Draw the paths, as the ending says: .svg, .html (a page to explore), .png or .pdf. May be repeated.",
    ),
]
Svg = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw them as SVG, whatever the ending.")]
Html = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw them as a page to explore, whatever the ending.")]
Beam = Annotated[
    int, typer.Option(metavar="NUMBER", min=1, help="How many partial paths the search keeps at each node.")
]


def explain(
    run: RunArgument,
    head: Head,
    relation: Relation,
    tail: Tail = None,
    asked: AskedOption = "tail",
    count: Count = 5,
    order: Order = "deletion",
    picture: Picture = None,
    svg: Svg = None,
    html: Html = None,
    facts: Facts = None,
    more_facts: MoreFacts = None,
    train_only: TrainOnly = False,
    beam: Beam = 32,
    json: Json = False,
) -> None:
    """Show the paths that make a network believe in a link.

    Each path is listed with how the score changes when its facts are deleted. The path that the network relies on most
    comes first. If the link is a known fact, it is hidden first, as in training.
    """
    from nbfnet.explanation.drawing.saving import PICTURES, check_format, save_explanation

    pictures = [(file, check_format(file, PICTURES)) for file in picture or ()]
    pictures += [(file, form) for file, form in ((svg, ".svg"), (html, ".html")) if file is not None]
    opened = open_run([run], facts, more_facts, train_only=train_only)
    link = (head, None, relation) if tail is None else (head, relation, tail)
    explanation = opened.explain(*link, asked=asked, k=count, beam=beam, order=order)
    for file, form in pictures:
        save_explanation(explanation, file, form)
    print_json(explanation.to_dict()) if json else print_explanation(explanation)


def print_explanation(explanation: Explanation) -> None:
    """A prediction and its paths, one on each line."""
    title, *lines = explanation.lines()
    print_title(title)
    for line in lines:
        print_text(line)
