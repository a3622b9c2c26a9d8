"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A dataset's name, a folder with train, valid and test, a store, or a file of triplets or edges.",
    ),
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, which 'nbfnet train' wrote.")]
Facts = Annotated[
    Path | None, typer.Option(metavar="PATH", help="Ask on the graph of this file or folder instead of the run's own.")
]
MoreFacts = Annotated[
    Path | None, typer.Option(metavar="PATH", help="A file or folder of facts that join the graph that is asked on.")
]
TrainOnly = Annotated[
    bool, typer.Option("--train-only", help="Ask on the training facts alone, without the run's valid and test links.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else on standard output.")]
Seed = Annotated[int, typer.Option(metavar="NUMBER", min=0, help="The seed of everything random.")]
PaperSplit = Annotated[
    bool, typer.Option("--paper-split", help="Homogeneous graphs: keep duplicates and self loops, as the paper did.")
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER", help="What separates columns; tab, space and comma may be words. Detected if not given."
    ),
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether the first line names the columns. Detected if not given."),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="ROLES",
        help="What each column is, such as head,tail,weight or tail,relation,head. Detected if not given.",
    ),
]
SkipBadLines = Annotated[
    bool, typer.Option("--skip-bad-lines", help="Leave out lines that cannot be read, and say how many.")
]
Names = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Readable names, one a line: entity TAB readable name.")
]
Types = Annotated[Path | None, typer.Option(metavar="FILE", help="Types of entities, one a line: entity TAB type.")]


def output_folder(what: str) -> typer.models.OptionInfo:
    """The option -o for a folder that a command writes."""
    option: typer.models.OptionInfo = typer.Option(
        "--output", "-o", metavar="FOLDER", help=f"Where to write {what}. It must not exist yet."
    )
    return option
