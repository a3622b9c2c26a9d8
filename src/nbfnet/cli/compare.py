"""``nbfnet compare``: other methods beside the network, in the same time, on the same links."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nbfnet.cli.evaluate import SampleSize
from nbfnet.cli.options import Json, PaperSplit, Reading, Seed, Source, reads_source
from nbfnet.cli.output import print_json, print_table, print_text, print_title, report_note
from nbfnet.cli.train import ConfigFile, Settings
from nbfnet.peers.methods import EXTRA, METHODS, missing_methods

if TYPE_CHECKING:
    from nbfnet.peers.comparison import Comparison

Folder = Annotated[
    Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where to keep results, and to resume from.")
]
MethodNames = Annotated[
    str | None,
    typer.Option(
        "--methods",
        metavar="NAMES",
        help=f"Names with commas between them, of {', '.join(METHODS)}. All that fit and are installed if not given.",
    ),
]
HoursOfEach = Annotated[
    float, typer.Option("--hours", metavar="NUMBER", help="Of training and validation, for each method that learns.")
]
Results = Annotated[
    Path | None, typer.Option("--results", metavar="FOLDER", help="Also write the results there, as compare-NAME.json.")
]


@reads_source()
def compare(
    source: Source,
    output: Folder,
    methods: MethodNames = None,
    hours: HoursOfEach = 1.0,
    seed: Seed = 0,
    sample: SampleSize = None,
    config: ConfigFile = None,
    settings: Settings = None,
    paper_split: PaperSplit = False,
    results: Results = None,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Compare the network with other methods in the same time.

    They are trained one after another, keep what is best on valid links, and are evaluated as 'nbfnet evaluate' does,
    on the same test links. FOLDER gets the results as compare.json and the valid metric over time as compare.png and
    compare.svg. The same command again trains only what is not done yet. --config and --set are for the method nbfnet.
    """
    from nbfnet.cli.sources import open_graph
    from nbfnet.config import configured, make_config, parse_settings
    from nbfnet.peers.comparison import compare as run_comparison
    from nbfnet.peers.comparison import write_document

    names = None if methods is None else [name.strip() for name in methods.split(",") if name.strip()]
    stated = make_config(*configured(config), parse_settings(settings or []))
    opened = open_graph(source, reading)
    try:
        comparison = run_comparison(
            opened,
            output,
            methods=names,
            hours=hours,
            seed=seed,
            sample=sample,
            config=stated.model_dump(mode="json", include={"model", "training", "sampling"}, exclude_unset=True),
            paper_split=paper_split,
            listener=_report,
        )
    except KeyboardInterrupt:
        report_note("stopped; the same command continues with what is not done")
        raise
    document = comparison.to_dict()
    if results is not None:
        write_document(results / f"compare-{document['dataset']}.json", document)
    if names is None and (missing := missing_methods(document["kind"])):
        left_out = ", ".join(method.name for method in missing)
        report_note(f"not installed, so left out: {left_out}; pip install '.[{EXTRA}]' in the folder of nbfnet")
    print_json(document) if json else _print(comparison, output)


def _report(method: str, point: dict[str, Any]) -> None:
    """One line on standard error for each validation."""
    metrics = "  ".join(f"{name} {value:.4f}" for name, value in point["valid"].items() if name != "mr")
    report_note(f"{method}  {point['seconds']:.0f} s  {metrics}")


def _print(comparison: Comparison, folder: Path) -> None:
    document = comparison.to_dict()
    first = next(iter(document["methods"].values()))
    hours = f"{document['hours']:.3g} hours for each method"
    print_title(f"{document['dataset']}, test: {first['queries']:,} queries, {hours}")
    rows = [
        (
            row["method"],
            *(f"{row[name]:.1f}" if name == "mr" else f"{row[name]:.4f}" for name in first["metrics"]),
            row["parameters"],
            _duration(row["training_seconds"]),
            _duration(row["ranking_seconds"]),
        )
        for row in comparison.rows()
    ]
    print_table(rows, ("", *first["metrics"], "parameters", "training", "ranking"))
    print_text()
    print_text(f"{first['protocol']}; ties {first['ties']}")
    print_text(f"results and plot: {folder}")


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else f"{seconds / 60:.1f} min"
