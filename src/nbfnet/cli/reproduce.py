"""``nbfnet reproduce``: a published result, run here, beside the paper's."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nbfnet.cli.options import Json
from nbfnet.cli.output import print_json, print_table, print_text, print_title, report_note
from nbfnet.cli.train import EpochCount, report_validation

Experiment = Annotated[Path, typer.Argument(metavar="EXPERIMENT", help="A file of experiments/, or one like it.")]
Runs = Annotated[
    Path,
    typer.Option("--runs", metavar="FOLDER", help="Where the run folders are."),
]
StopAfter = Annotated[
    float | None,
    typer.Option(
        "--stop-after", metavar="HOURS", min=0, help="Train each run for so many hours in total, then evaluate it."
    ),
]
Results = Annotated[Path, typer.Option("--results", metavar="FOLDER", help="Where to write the result as a JSON file.")]


def reproduce(
    experiment: Experiment,
    runs: Runs = Path("runs"),
    results: Results = Path("results"),
    epochs: EpochCount = None,
    stop_after: StopAfter = None,
    json: Json = False,
) -> None:
    """Run an experiment, and print its result beside the paper's.

    There is one run for each seed in the file; the mean is reported. What was interrupted, or stopped by --stop-after,
    is resumed from its last checkpoint. Under torchrun several processes share the work.
    """
    from nbfnet.config import make_config, read_toml
    from nbfnet.distributed import gather_team
    from nbfnet.graph.atomic import replacing
    from nbfnet.reproduction import Reproduction
    from nbfnet.strict_json import strict_json
    from nbfnet.training.start import check_device

    config = make_config(read_toml(experiment), origin=str(experiment))
    reproduction = Reproduction(experiment.stem, config, runs)
    published = reproduction.publication
    report_note(f"{experiment.stem}: {published.source}, seeds {', '.join(map(str, published.seeds))}")
    results.mkdir(parents=True, exist_ok=True)  # if this fails, it should fail before hours of training
    check_device(config.training.device)
    with gather_team(config.training.device) as team:
        document = reproduction.run(listener=report_validation, epochs=epochs, stop_after=stop_after, team=team)
        if team.leads:
            with replacing(results / f"{experiment.stem}.json") as partial:
                partial.write_text(strict_json(document, indent=2) + "\n", encoding="utf-8")
            print_json(document) if json else _print(document)


def _print(document: dict[str, Any]) -> None:
    seeds = ", ".join(str(seed["seed"]) for seed in document["seeds"])
    print_title(f"{document['experiment']}: mean over the seeds {seeds}")
    paper = document["paper"]
    rows = [
        (name, f"{value:.4f}", f"{paper[name]:g}" if name in paper else "", _difference(value, paper.get(name)))
        for name, value in document["mean"].items()
    ]
    print_table(rows, ("", "here", "paper", "difference"))
    print_text(document["seeds"][0]["protocol"])


def _difference(value: float, paper: float | None) -> str:
    return "" if paper is None else f"{value - paper:+.4f}"
