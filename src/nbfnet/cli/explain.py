"""``nbfnet explain``: the paths behind a prediction."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nbfnet.cli.options import Facts, Json, MoreFacts, RunArgument
from nbfnet.cli.output import print_json, print_text, print_title
from nbfnet.explanation.asking import explain_named
from nbfnet.explanation.drawing import draw_html, draw_svg
from nbfnet.explanation.explanation import Explanation
from nbfnet.graph.atomic import replacing
from nbfnet.prediction.loading import open_predictor

Head = Annotated[str, typer.Argument(metavar="HEAD", help="Where the paths begin.")]
Relation = Annotated[str, typer.Argument(metavar="RELATION", help="What is predicted.")]
Tail = Annotated[str, typer.Argument(metavar="TAIL", help="The answer, where they end.")]
Count = Annotated[int, typer.Option("-k", metavar="NUMBER", min=1, help="How many paths.")]
Svg = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the paths as a picture.")]
Html = Annotated[Path | None, typer.Option(metavar="FILE", help="Draw them as a page of its own, to explore.")]
Beam = Annotated[int, typer.Option(metavar="NUMBER", min=1, help="Partial paths that the search keeps at a node.")]


def explain(
    run: RunArgument,
    head: Head,
    relation: Relation,
    tail: Tail,
    count: Count = 5,
    svg: Svg = None,
    html: Html = None,
    facts: Facts = None,
    more_facts: MoreFacts = None,
    beam: Beam = 32,
    json: Json = False,
) -> None:
    """Show the paths that make a network believe in a link.

    Each path has its weight, the sum of its edges' importances, and how much the score falls when its facts are
    deleted. Where the link is a fact already, that fact is taken away first.
    """
    predictor = open_predictor([run], facts, more_facts)
    explanation = explain_named(predictor.members[0], head, relation, tail, k=count, beam=beam)
    for file, draw in ((svg, draw_svg), (html, draw_html)):
        if file is not None:
            with replacing(file) as partial:
                partial.write_text(draw(explanation), encoding="utf-8")
    print_json(explanation.document()) if json else print_explanation(explanation)


def print_explanation(explanation: Explanation) -> None:
    """A prediction and its paths, one a line."""
    print_title(f"{explanation.query}   probability {explanation.probability:.1%}")
    if not explanation.paths:
        print_text("no path leads there: the network knows no more than what the two ends look like")
    for path in explanation.paths:
        print_text(f"  {path.effect}   {path}")
