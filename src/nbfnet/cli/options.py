"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

if TYPE_CHECKING:
    from nbfnet.ray_workers import RayWorkers

EngineName = Literal["local", "ray"]
Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="A dataset's name, a folder with train, valid and test, a store, or a file of triplets or edges.",
    ),
]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder, which 'nbfnet train' wrote.")]
Facts = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="Use the graph of this file, folder or dataset instead of the run's own."),
]
MoreFacts = Annotated[
    Path | None, typer.Option(metavar="PATH", help="Add the facts of this file or folder to the graph.")
]
TrainOnly = Annotated[
    bool, typer.Option("--train-only", help="Use the training facts alone, without the run's valid and test links.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else on standard output.")]
Seed = Annotated[int, typer.Option(metavar="NUMBER", min=0, help="The seed of everything random.")]
PaperSplit = Annotated[
    bool, typer.Option("--paper-split", help="Homogeneous graphs: keep duplicates and self loops, as the paper did.")
]

Engine = Annotated[
    EngineName,
    typer.Option("--engine", help="Who does the work: this process, or the workers of a Ray cluster."),
]
RayWorkerCount = Annotated[
    int | None, typer.Option("--workers", metavar="NUMBER", min=1, help="With ray: how many; else one for each core.")
]
WorkerThreads = Annotated[
    int | None, typer.Option("--threads", metavar="NUMBER", min=1, help="With ray: threads of each worker; else 1.")
]
RayAddress = Annotated[
    str | None,
    typer.Option("--address", metavar="ADDRESS", help="With ray: of a running cluster; else this machine alone."),
]


@dataclass(frozen=True)
class Reading:
    """How to read a source: what is not stated is detected."""

    delimiter: Annotated[
        str | None,
        typer.Option(
            metavar="CHARACTER", help="What separates columns; 'tab', 'space' and 'comma' may be written as words."
        ),
    ] = None
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line names the columns.")
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="ROLES",
            help="What each column is, such as head,tail,weight or tail,relation,head; _ leaves a column out.",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The encoding of text that is not UTF-8, such as latin-1, cp1252 or utf-16."),
    ] = None
    skip_bad_lines: Annotated[
        bool, typer.Option("--skip-bad-lines", help="Leave out lines that cannot be read, and say how many.")
    ] = False
    directed: Annotated[
        bool,
        typer.Option("--directed", help="With two columns: keep the direction of edges, as facts of one relation."),
    ] = False
    names: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Readable names, one per line: entity TAB readable name.")
    ] = None
    types: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Types of entities, one per line: entity TAB type.")
    ] = None
    test_graph: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Test on this graph of unseen entities: a folder of facts (train) and links (test)."
        ),
    ] = None


def reads_source(*left_out: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of ``Reading``, but for some, and pass them to it as one object ``reading``.

    The command's signature is what typer makes options of: that of the decorated command has them one by one.
    """
    types = get_type_hints(Reading, include_extras=True)
    options = [
        Parameter(option.name, Parameter.KEYWORD_ONLY, default=option.default, annotation=types[option.name])
        for option in fields(Reading)
        if option.name not in left_out
    ]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in signature(command, eval_str=True).parameters.values() if p.name != "reading"]

        @wraps(command)
        def run(**given: Any) -> None:
            stated = {option.name: given.pop(option.name) for option in options}
            command(reading=Reading(**stated), **given)

        parameters = [parameter.replace(kind=Parameter.KEYWORD_ONLY) for parameter in own]
        run.__signature__ = Signature([*parameters, *options])  # type: ignore[attr-defined]
        return run

    return decorate


def output_folder(what: str) -> typer.models.OptionInfo:
    """The option -o for a folder that a command writes."""
    option: typer.models.OptionInfo = typer.Option(
        "--output", "-o", metavar="FOLDER", help=f"Where to write {what}. It must not exist yet."
    )
    return option


def ray_workers(engine: EngineName, count: int | None, threads: int | None, address: str | None) -> RayWorkers | None:
    """The workers that the options describe; None: this process works alone.

    Raises:
        QueryError: there are options of workers, but no engine that has any.
        MissingExtraError: Ray is not installed.
    """
    from nbfnet.errors import QueryError
    from nbfnet.ray_workers import RayWorkers, require_ray

    if engine == "ray":
        require_ray()
        return RayWorkers(count, threads or 1, address)
    given = (("--workers", count), ("--threads", threads), ("--address", address))
    for option in [option for option, value in given if value is not None]:
        raise QueryError(f"{option} is for the workers of a cluster: give --engine ray too")
    return None


def anywhere(path: Path) -> Path:
    """The path of a file or folder as a process in any folder may use it; the name of a dataset stays as it is."""
    return path.absolute() if path.exists() else path
