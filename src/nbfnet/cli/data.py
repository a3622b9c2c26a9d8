"""``nbfnet data``: list known datasets, check, describe, split and convert any source."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from nbfnet.available_memory import available_memory, parse_size
from nbfnet.cli.check import check_source, print_findings
from nbfnet.cli.describe import describe, print_description
from nbfnet.cli.options import Json, PaperSplit, Reading, Seed, Source, output_folder, reads_source
from nbfnet.cli.output import print_json, print_table, print_text, print_title, report_note
from nbfnet.cli.sources import open_graph
from nbfnet.errors import DatasetError, GraphFormatError
from nbfnet.graph.atomic import check_is_new
from nbfnet.graph.conversion import convert as convert_source
from nbfnet.graph.datasets.registry import RegistryEntry, known_datasets, locate
from nbfnet.graph.folder_writing import write_folder
from nbfnet.graph.graph import Dataset
from nbfnet.graph.loading import load
from nbfnet.graph.store import is_store, read_store
from nbfnet.progress import stage

app = typer.Typer(
    help="List known datasets; check, describe, split, convert graphs.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def list_datasets(json: Json = False) -> None:
    """List the known datasets, and where they are."""
    entries = [(entry, _whereabouts(entry)) for entry in known_datasets().values()]
    if json:
        print_json(
            [
                {
                    "name": entry.name,
                    "kind": entry.kind,
                    "found": str(place) if place else None,
                    "description": entry.description,
                    "source": entry.source,
                    **{key: count for key, count in asdict(entry.statistics).items() if count is not None},
                }
                for entry, place in entries
            ]
        )
        return
    rows = [
        (entry.name, entry.kind, entry.statistics.entities or "", "here" if place else "", entry.description)
        for entry, place in entries
    ]
    print_title("Known datasets")
    print_table(rows, ("name", "kind", "entities", "found", "what it is"))


@app.command()
@reads_source()
def info(
    source: Source,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare every file of a store with its checksum first.")
    ] = False,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Show a graph's statistics, and what could leak.

    A link leaks when training gives it away. A file is split first: a knowledge graph as 'nbfnet data split' does with
    seed 0, a homogeneous graph as the paper did, with --paper-split.
    """
    if verify:
        _verify(Path(source))
    opened = open_graph(source, reading)
    with stage("looking for leaks"):
        description = describe(opened)
    if json:
        print_json(description)
    else:
        print_description(description)


@app.command()
@reads_source()
def check(source: Source, json: Json = False, *, reading: Reading) -> None:
    """List what is odd about a source, and how to fix it.

    Nothing is written. The exit code is 0 if it can be read. Otherwise it is 2, and the bad lines are listed.
    """
    document = check_source(source, reading)
    print_json(document) if json else print_findings(document)
    if not document["readable"]:
        raise typer.Exit(2)


@app.command()
@reads_source()
def split(
    source: Source,
    output: Annotated[Path, output_folder("the folder of train.txt, valid.txt and test.txt")],
    paper_split: PaperSplit = False,
    seed: Seed = 0,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Split a graph into train, valid and test without leaks.

    A knowledge graph is split 90:5:5. Links between the same two entities, in any direction or relation, stay in the
    same part. A homogeneous graph is split 85:5:10, without duplicates and self loops. A graph that comes with a split
    keeps it.
    """
    check_is_new(output)
    opened = open_graph(source, reading)
    if isinstance(opened, Dataset):
        report_note(f"{opened.name} comes with its own split, which is kept")
    with stage("splitting"):
        dataset = load(opened, seed=seed, paper_split=paper_split)
    with stage("writing"):
        write_folder(dataset, output)
    _report(output, dataset.split, _counts(dataset), dataset.train.skipped_lines, json)


@app.command()
@reads_source()
def convert(
    source: Source,
    output: Annotated[Path, output_folder("the store, a folder of memory-mapped arrays")],
    paper_split: PaperSplit = False,
    no_split: Annotated[
        bool, typer.Option("--no-split", help="Keep every fact of a graph without a split for training.")
    ] = False,
    memory_limit: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="How much memory to use, such as 16GB; half of what is free if not given."),
    ] = None,
    seed: Seed = 0,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Convert a graph to a store, which opens at once.

    A store can be given wherever a graph can. A graph that comes without a split is split as 'nbfnet data split'
    does. The graph may be larger than memory: what does not fit is kept on disk, beside the output.
    """
    check_is_new(output)
    memory = available_memory() // 2 if memory_limit is None else parse_size(memory_limit)
    made = convert_source(
        lambda: open_graph(source, reading),
        output,
        memory=memory,
        seed=seed,
        paper_split=paper_split,
        no_split=no_split,
    )
    counts = {"train": made.train, "valid": made.valid, "test": made.test}
    _report(output, made.split, counts, made.skipped_lines, json)


def _verify(store: Path) -> None:
    """Read a store to its end.

    Raises:
        GraphFormatError: it is not a store, or one of its files is not what was written.
    """
    if not is_store(store):
        remedy = "give a folder that 'nbfnet data convert' wrote, or leave out --verify"
        raise GraphFormatError("only a store has checksums, and this is not one", file=store, remedy=remedy)
    with stage("comparing checksums"):
        read_store(store, check=True)


def _whereabouts(entry: RegistryEntry) -> Path | None:
    try:
        return locate(entry, download=False)
    except DatasetError:
        return None


def _report(folder: Path, split: str, counts: dict[str, int], skipped: int, json: bool) -> None:
    """Say what was written."""
    if json:
        print_json({"folder": str(folder), "split": split, **counts, "skipped_lines": skipped})
    else:
        written = ", ".join(f"{count:,} {part}" for part, count in counts.items())
        print_text(f"{folder}: {written} ({split})")


def _counts(dataset: Dataset) -> dict[str, int]:
    return {"train": len(dataset.train.triplets), "valid": len(dataset.valid), "test": len(dataset.test)}
