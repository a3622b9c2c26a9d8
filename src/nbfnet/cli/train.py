"""``nbfnet train``: learn a graph's links into a run folder."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nbfnet.cli.options import Json, PaperSplit, Reading, Source, reads_source
from nbfnet.cli.output import print_json, print_table, print_text, print_title, report_note

if TYPE_CHECKING:
    from nbfnet.config import Table
    from nbfnet.graph.graph import Dataset
    from nbfnet.run import Run

Output = Annotated[Path, typer.Option("--output", "-o", metavar="RUN", help="The run folder to write, or to resume.")]
ConfigFile = Annotated[Path | None, typer.Option("--config", metavar="FILE", help="A TOML file, as in experiments/.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Set one key, such as model.layers=4. May be repeated."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue from the folder's last checkpoint.")]
EpochCount = Annotated[int | None, typer.Option("--epochs", metavar="NUMBER", min=0, help="How many epochs in all.")]
Hours = Annotated[
    float | None,
    typer.Option(
        "--hours",
        metavar="NUMBER",
        min=0,
        help="A budget instead of epochs: steps, decay and validations are planned to be over after so many hours.",
    ),
]
SeedOption = Annotated[
    int | None, typer.Option("--seed", metavar="NUMBER", min=0, help="The seed of everything random.")
]
From = Annotated[
    Path | None,
    typer.Option(
        "--from",
        metavar="RUN",
        help="Begin with the network of this run, such as universal or one that 'nbfnet pretrain' made; or from "
        "'scratch', with random parameters. By default the graph decides.",
    ),
]
_FEW_VALID = 50
Plot = Annotated[bool, typer.Option("--plot", help="Draw the learning curves into RUN/curves.png (needs matplotlib).")]


@reads_source()
def train(
    source: Source,
    output: Output,
    config: ConfigFile = None,
    settings: Settings = None,
    continues: Resume = False,
    epochs: EpochCount = None,
    hours: Hours = None,
    seed: SeedOption = None,
    paper_split: PaperSplit = False,
    start_from: From = None,
    plot: Plot = False,
    json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Train a network on a graph.

    What is not configured is chosen from the graph, and printed. A graph that comes without a split is split by the
    seed. Training ends early when validation no longer improves. Ctrl-C stops with a checkpoint, and --resume
    continues from it, also after a kill. Under torchrun several processes share the work.
    """
    from nbfnet.cli.sources import open_graph
    from nbfnet.distributed import gather_team
    from nbfnet.run import Run
    from nbfnet.training.log import draw_curves, require_matplotlib
    from nbfnet.training.start import check_device, stated_config

    if plot:
        require_matplotlib()
    tables = stated_tables(config, settings, epochs=epochs, hours=hours, seed=seed)
    continues = continues and is_there(output)
    device = stated_config(output if continues else None, *tables).training.device
    check_device(device)
    opened = open_graph(source, reading)
    with gather_team(device) as team:
        start = Run.resume if continues else Run.begin
        note = {"source": source, "command": shlex.join(sys.argv)}
        run = start(output, opened, *tables, paper_split=paper_split, start_from=start_from, team=team, **note)
        if team.leads:
            _report_start(run)
        with reporting_interrupts():
            run.train(listener=report_validation, team=team)
        if team.leads:
            if plot:
                draw_curves(output)
            _report_end(run, json)


def stated_tables(config: Path | None, settings: list[str] | None, **numbers: float | None) -> list[Table]:
    """The configuration of a command line: a file, then single keys, then options."""
    from nbfnet.config import configured, parse_settings, stated
    from nbfnet.errors import ConfigError

    if numbers["epochs"] is not None and numbers["hours"] is not None:
        raise ConfigError("--epochs and --hours: give one of them; a budget of time takes the place of epochs")
    return [*configured(config), parse_settings(settings or []), stated("training", **numbers)]


def is_there(run: Path) -> bool:
    """Whether there is a run to resume; a note if not, as it may have been killed before it made the folder."""
    if not run.exists():
        report_note(f"there is no run in {run} yet: starting one")
    return run.exists()


@contextmanager
def reporting_interrupts() -> Iterator[None]:
    """Say after Ctrl-C how to continue."""
    try:
        yield
    except KeyboardInterrupt:
        report_note("stopped with a checkpoint; the same command with --resume continues")
        raise


def _report_start(run: Run) -> None:
    from nbfnet.training.checkpoint import read_progress

    dataset, config = run.dataset, run.config
    report_note(f"{dataset.name}: {dataset.kind}, {dataset.train.num_nodes:,} entities, split {dataset.split}")
    if dataset.train.triplets.weight is not None:
        report_note("the graph's weights are for 'nbfnet paths': a network learns from its links alone")
    if not len(dataset.valid):
        report_note("there are no valid links: the network of the last epoch is kept")
    elif len(dataset.valid) < _FEW_VALID:
        links = "link chooses" if len(dataset.valid) == 1 else "links choose"
        report_note(f"only {len(dataset.valid)} valid {links} the network: its metrics are mostly luck")
    if (stands := read_progress(run.folder.path)).step:
        of = f" of {config.training.epochs}" if config.training.hours is None else ""
        report_note(f"resuming after {stands.step:,} steps, in epoch {stands.epoch + 1}{of}")
    else:
        for choice in run.choices:
            report_note(f"chosen: {choice.key} = {_plain(choice.value)}: {choice.why}")
    for section in ("model", "training", *(["sampling"] if config.sampling.hops is not None else [])):
        table = getattr(config, section).model_dump()
        report_note(f"{section}: {', '.join(f'{key} {_plain(value)}' for key, value in table.items())}")


def _plain(value: object) -> object:
    return "none" if value is None else value


def report_validation(entry: dict[str, Any]) -> None:
    """One line on standard error for each validation."""
    from nbfnet.training.log import describe_entry

    report_note(describe_entry(entry))


def _report_end(run: Run, json: bool) -> None:
    dataset, folder, best, log = run.dataset, run.folder, run.folder.manifest["metrics"], run.history
    if log and run.config.training.hours is None and log[-1]["epoch"] < run.config.training.epochs:
        patience = f"{run.config.training.patience} validations"
        report_note(f"stopped after epoch {log[-1]['epoch']:.4g}: the last {patience} found no better network")
    if best and learned_nothing(best["valid"], dataset):
        report_note(
            "the network ranks valid links as chance would: it has learned nothing. The graph may be too small, or its "
            "links may not follow from paths; 'nbfnet evaluate --baselines' shows what simple methods reach"
        )
    print_best(folder.path, best, f"{'evaluate' if len(dataset.test) else 'info'} {folder.path}", json=json)


def print_best(run: Path, best: dict[str, Any], following: str, *, json: bool) -> None:
    """The network that was kept, and a command to follow."""
    if json:
        print_json({"run": str(run), "best": best})
        return
    if best:
        print_title(f"{run}: the {'best' if best['valid'] else 'last'} network, after epoch {best['epoch']:.4g}")
        print_table([(name, f"{value:.4f}") for name, value in best["valid"].items()])
    print_text(f"next: nbfnet {following}")


def learned_nothing(valid: dict[str, float], dataset: Dataset) -> bool:
    """Whether metrics are about those of a random order."""
    if not valid:
        return False
    return valid["auroc"] < 0.55 if "auroc" in valid else valid["mr"] > 0.4 * dataset.train.num_nodes
