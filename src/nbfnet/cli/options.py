"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Source = Annotated[
    str, typer.Argument(help="A dataset's name, a folder with train, valid and test, or a file of triplets or edges.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else on standard output.")]
Seed = Annotated[int, typer.Option(help="The seed of everything random.")]
PaperSplit = Annotated[
    bool, typer.Option("--paper-split", help="Homogeneous graphs: keep duplicates and self loops, as the paper did.")
]
Delimiter = Annotated[
    str | None, typer.Option(help="The character between columns; detected if not given. 'tab' and 'space' are words.")
]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether the first line names the columns; else detected.")
]
Columns = Annotated[
    str | None, typer.Option(help="The role of each column, such as head,tail,weight; detected if not given.")
]
SkipBadLines = Annotated[
    bool, typer.Option("--skip-bad-lines", help="Leave lines out that cannot be read, and say how many.")
]
Names = Annotated[Path | None, typer.Option(help="A file of readable names: name TAB readable name.")]
Types = Annotated[Path | None, typer.Option(help="A file of entity types: entity TAB type.")]


def output_folder(what: str) -> typer.models.OptionInfo:
    """The option -o for a folder that a command writes."""
    option: typer.models.OptionInfo = typer.Option("--output", "-o", help=f"Where to write {what}; must not exist yet.")
    return option
